"""Rules of the house that a test can hold."""

import ast
import re
from collections import Counter

import pytest

from rsi.settings import PROJECT

ORDER = (
    "errors",
    "ids",
    "record",
    "task_records",
    "world_records",
    "mode_parts",
    "answer_records",
    "records",
    "questions",
    "algorithm",
    "intake",
    "expansion",
    "prices",
    "ports",
    "store.files",
    "settings",
    "context",
    "faults",
    "store.locks",
    "wheels",
    "gguf",
    "assets",
    "store",
    "statistics",
    "harness",
    "environments",
    "verifiers",
    "traces",
    "engine",
    "tasks",
    "registry",
    "report",
    "discover",
    "expand",
    "update",
    "gate",
    "serve",
    "world",
    "night",
    "rebase",
    "commands",
    "cli",
)
"""A module imports only what stands before it here (DESIGN, rule 3)."""
SOURCES = sorted((PROJECT / "rsi").rglob("*.py"))
BANNED = re.compile(
    r"\b(pickle\.loads?|torch\.load|joblib\.load|yaml\.load|pause_flow_run|executemany)\b|(?<![\w.])(eval|exec)\("
    r"|shell=True|ignore_errors\s*=\s*true",
    re.IGNORECASE,
)


def place(module: str) -> int:
    """Where a module stands in the order."""
    parts = module.removeprefix("rsi.").split(".")
    for name in (".".join(parts[:2]), parts[0]):
        if name in ORDER:
            return ORDER.index(name)
    raise AssertionError(f"{module} has no place in the order")


def imported(tree: ast.Module) -> list[str]:
    """Modules of ours that a file imports when it is loaded."""
    found = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("rsi"):
            names = [f"{node.module}.{one.name}" for one in node.names]
            paths = [PROJECT / (name.replace(".", "/")) for name in names]
            found += [
                name if path.with_suffix(".py").exists() or path.is_dir() else node.module
                for name, path in zip(names, paths, strict=True)
            ]
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PROJECT)))
def test_a_module_imports_only_what_stands_above_it(path):
    """Data flows one way, and so do imports."""
    module = ".".join(path.relative_to(PROJECT).with_suffix("").parts).removesuffix(".__init__")
    if module == "rsi":
        return
    for other in imported(ast.parse(path.read_text())):
        if other.split(".")[:2] != module.split(".")[:2]:
            assert place(other) <= place(module), f"{module} imports {other}"


def test_the_core_never_imports_prefect():
    """The whole loop runs without it."""
    assert [
        path for path in SOURCES if re.search(r"^\s*(import|from) prefect", path.read_text(), re.MULTILINE)
    ] == []


def test_nothing_loads_pickles_or_runs_text():
    """Neither in the core nor in the flows."""
    sources = [*SOURCES, *sorted((PROJECT / "flows").glob("*.py"))]
    found = [
        f"{path.name}:{number}"
        for path in sources
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if BANNED.search(line)
    ]

    assert found == []


def test_modules_stay_small():
    """About one noun each."""
    long = [path.name for path in SOURCES if path.read_text().count("\n") > 400]

    assert not long


def test_the_public_surface_is_a_dozen_names():
    """`rsi.__all__` and what is really there agree."""
    import rsi

    assert 8 <= len(rsi.__all__) <= 14
    assert all(hasattr(rsi, name) for name in rsi.__all__)


def test_no_two_files_of_tests_have_the_same_name() -> None:
    """Folders of tests are no packages: the second one of a name would not be collected."""
    named = Counter(path.name for path in (PROJECT / "tests").rglob("test_*.py"))

    assert [name for name, count in named.items() if count > 1] == []
