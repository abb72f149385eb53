"""docs/tested.md names tests that there are, says where they run, and claims nothing without one."""

import ast
import re
from functools import cache
from typing import NamedTuple

from rsi.settings import PROJECT

PAGE = (PROJECT / "docs" / "tested.md").read_text()
NAMED = re.compile(r"`([\w/]+\.py)::(test_\w+)`")
HEADS = ("What must hold", "Invariant")


class Row(NamedTuple):
    """One promise."""

    what: str
    tests: tuple[tuple[str, str], ...]
    """File below tests/, and function."""
    lanes: frozenset[str]
    shown: str


def rows() -> list[Row]:
    """Those of all tables."""
    cut = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in PAGE.splitlines()
        if line.startswith("| ")
    ]
    return [
        Row(what, tuple(NAMED.findall(tests)), frozenset(lanes.split(", ")) - {""}, shown)
        for what, tests, lanes, shown in cut
        if what not in HEADS and set(what) != {"-"}
    ]


@cache
def marks(file: str) -> dict[str, list[str]]:
    """Function -> marks of its own and of its file, as they are written."""
    body = ast.parse((PROJECT / "tests" / file).read_text()).body
    whole = [
        ast.unparse(one.value)
        for one in body
        if isinstance(one, ast.Assign) and "pytestmark" in ast.unparse(one)
    ]
    functions = [one for one in body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {one.name: [*whole, *map(ast.unparse, one.decorator_list)] for one in functions}


def lanes(file: str, name: str) -> set[str]:
    """Which of the commands run a test; both where some of its cases are slow."""
    said = marks(file)[name]
    if any("mark.vllm" in one for one in said):
        return {"vllm"}
    if "pytest.mark.slow" in said:
        return {"slow"}
    return {"test", "slow"} if any("mark.slow" in one for one in said) else {"test"}


def test_every_test_that_the_page_names_is_there():
    """In the file where it is said to be."""
    named = [one for row in rows() for one in row.tests]

    assert len(set(named)) > 100
    assert [f"{file}::{name}" for file, name in named if name not in marks(file)] == []


def test_tests_run_where_the_page_says():
    """`make test`, `make test-slow`, `make test-vllm`."""
    said = {row.what: row.lanes for row in rows()}
    found = {row.what: frozenset().union(*(lanes(*one) for one in row.tests)) for row in rows()}

    assert said == found


def test_nothing_is_shown_without_a_test():
    """A promise is shown, or partly and what lacks is said, or not at all."""
    shown = re.compile(r"yes$|yes[,;] .|partly: .|\*\*no\*\*")
    said = rows()

    assert [row.what for row in said if not shown.match(row.shown)] == []
    assert [row.what for row in said if not row.tests and row.shown != "**no**"] == []
