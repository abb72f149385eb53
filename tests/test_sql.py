"""No text from outside reaches SQL but as a parameter: a statement is a constant, filled from closed sets at most."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from rsi.settings import PROJECT, Home
from rsi.store.compact import compact
from rsi.store.query import ask
from rsi.store.snapshot import refresh
from tests.traces.inputs import CLOCK, SAMPLES, load, rows

SOURCES = [path for root in ("rsi", "flows", "dashboards") for path in sorted((PROJECT / root).rglob("*.py"))]
ASKED = {"execute", "executemany", "sql", "query", "extract_statements"}
KNOWN = {
    ("rsi/store/query.py", "sql"): "what an analyst asks of a read-only snapshot that reaches no file",
    ("rsi/store/compact.py", "text"): "the home's own path, quoted; ATTACH takes no parameter",
    ("rsi/store/migrate.py", "literal"): "the same",
    ("rsi/store/intact.py", "table"): "a table of the store, as DuckDB lists it",
    ("rsi/store/snapshot.py", "_quoted(copy)"): "the same",
    ("rsi/store/snapshot.py", "_quoted(draft)"): "the same",
    ("rsi/store/migrate.py", "table"): "a table of today's schema, as DuckDB lists it",
    ("rsi/store/migrate.py", "picked"): "its columns, each quoted or from defaults.sql",
    ("rsi/store/snapshot.py", "columns"): "those of LEFT_OUT, or a star",
    ("rsi/traces/load.py", "name"): "a key of rsi.traces.arrays.TABLES, which a batch is made of",
}
"""File and expression that no rule below calls closed -> what it is. Anything new is a finding."""


def is_constant(name: str) -> bool:
    return name.isupper()


class Module:
    """A source file, asked about the expressions that its statements are made of."""

    def __init__(self, path: Path) -> None:
        self.name = path.relative_to(PROJECT).as_posix()
        self.tree = ast.parse(path.read_text())
        self.above = {inner: node for node in ast.walk(self.tree) for inner in ast.iter_child_nodes(node)}

    def statements(self) -> Iterator[tuple[ast.expr, ast.FunctionDef | None]]:
        """What is asked, with the function that asks."""
        for node in ast.walk(self.tree):
            called = node.func if isinstance(node, ast.Call) and node.args else None
            if isinstance(node, ast.Call) and isinstance(called, ast.Attribute) and called.attr in ASKED:
                yield node.args[0], self.around(node)

    def around(self, node: ast.AST) -> ast.FunctionDef | None:
        """The innermost function that holds a node."""
        above = self.above.get(node)
        while above is not None and not isinstance(above, ast.FunctionDef):
            above = self.above.get(above)
        return above

    def open_parts(self, said: ast.expr, inside: ast.FunctionDef | None, depth: int = 0) -> list[str]:
        """Those parts of an expression that may be anything."""
        if depth > 6:
            return [ast.unparse(said)]
        parts: list[ast.expr]
        match said:
            case ast.Constant():
                return []
            case ast.Name(id=name):
                return self.open_name(name, inside, depth)
            case ast.Subscript(value=ast.Name(id=name)) if is_constant(name):
                return []
            case ast.IfExp(body=one, orelse=two):
                parts = [one, two]
            case ast.JoinedStr(values=values):
                parts = [one.value if isinstance(one, ast.FormattedValue) else one for one in values]
            case ast.Call(func=ast.Attribute(attr="read_text")):
                return []
            case ast.Call(func=ast.Attribute(value=template, attr="format"), args=args, keywords=more):
                parts = [template, *args, *(one.value for one in more)]
            case ast.Call(func=ast.Attribute(value=ast.Constant(), attr="join"), args=[ast.Name(id=name)]):
                return self.open_name(name, inside, depth)
            case _:
                return [ast.unparse(said)]
        return [left for one in parts for left in self.open_parts(one, inside, depth + 1)]

    def open_name(self, name: str, inside: ast.FunctionDef | None, depth: int) -> list[str]:
        """A constant; a name that runs through one; one that is given closed values only, by whoever calls."""
        if is_constant(name.lstrip("_")):
            return []
        if inside is None:
            return [name]
        given = [*self.loops(name, inside), *self.assigned(name, inside)]
        arguments = [one.arg for one in inside.args.args if one.arg not in ("self", "cls")]
        if name in arguments:
            given += self.passed(inside, arguments.index(name), name)
        left = [part for one, where in given for part in self.open_parts(one, where, depth + 1)]
        return [name] if left or not given else []

    def loops(self, name: str, inside: ast.FunctionDef) -> Iterator[tuple[ast.expr, ast.FunctionDef | None]]:
        """What it runs through: a constant of the module, or its items."""
        for node in ast.walk(inside):
            if isinstance(node, ast.For | ast.comprehension) and name in self.names(node.target):
                through = [one.id for one in ast.walk(node.iter) if isinstance(one, ast.Name)]
                through = [one for one in through if one not in ("enumerate", "zip", "sorted")]
                if isinstance(node.iter, ast.Tuple):
                    yield from ((one, inside) for one in self.column(node, name))
                else:
                    closed = bool(through) and all(is_constant(one.lstrip("_")) for one in through)
                    yield (ast.Constant("") if closed else ast.List([])), inside

    def column(self, loop: ast.For | ast.comprehension, name: str) -> list[ast.expr]:
        """What a name is in each row of a tuple that is written out."""
        rows = loop.iter.elts if isinstance(loop.iter, ast.Tuple) else []
        if isinstance(loop.target, ast.Name):
            return list(rows)
        at = [one.id if isinstance(one, ast.Name) else "" for one in getattr(loop.target, "elts", [])].index(
            name
        )
        return [row.elts[at] if isinstance(row, ast.Tuple) else row for row in rows]

    def assigned(
        self, name: str, inside: ast.FunctionDef
    ) -> Iterator[tuple[ast.expr, ast.FunctionDef | None]]:
        for node in ast.walk(inside):
            if isinstance(node, ast.Assign) and any(name in self.names(one) for one in node.targets):
                yield node.value, inside

    def passed(
        self, function: ast.FunctionDef, at: int, name: str
    ) -> Iterator[tuple[ast.expr, ast.FunctionDef | None]]:
        """What the callers in this file give it; a function that nobody here calls may be given anything."""
        found = False
        for node in ast.walk(self.tree):
            called = node.func if isinstance(node, ast.Call) else None
            if not isinstance(node, ast.Call) or function.name not in (
                getattr(called, "id", None),
                getattr(called, "attr", None),
            ):
                continue
            by_name = [one.value for one in node.keywords if one.arg == name]
            if by_name or at < len(node.args):
                found = True
                yield (by_name or [node.args[at]])[0], self.around(node)
        if not found:
            yield ast.List([]), function

    @staticmethod
    def names(target: ast.expr) -> set[str]:
        return {one.id for one in ast.walk(target) if isinstance(one, ast.Name)}


def opened(path: Path) -> set[tuple[str, str]]:
    """File and expression of everything open that a statement is made of."""
    module = Module(path)
    return {
        (module.name, part)
        for said, inside in module.statements()
        for part in module.open_parts(said, inside)
    }


def test_40_no_statement_is_made_of_outside_text() -> None:
    """Whoever adds one says here what it is, or uses a parameter."""
    found = set().union(*map(opened, SOURCES))

    assert found == set(KNOWN)


@pytest.mark.parametrize(
    "line",
    [
        "connection.execute(f\"select * from traces where id = '{said}'\")",
        "connection.execute('select * from t where id = ' + said)",
        "connection.sql('select %s' % said)",
        "connection.execute(_ONE.format(said=said))",
        "connection.execute(said.query)",
        "for one in said: connection.execute(f'from {one}')",
        "query = f'from {said}'; connection.execute(query)",
    ],
)
def test_40_the_rule_sees_what_it_forbids(line: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each way of putting text into a statement."""
    path = tmp_path / "bad.py"
    path.write_text(f"_ONE = 'from {{said}}'\n\ndef ask(connection, said):\n    {line}\n")
    monkeypatch.setattr("tests.test_sql.PROJECT", tmp_path)

    assert opened(path)


def test_40_a_home_may_have_any_name(tmp_path: Path) -> None:
    """Its path is the one text that stands in a statement: a quote in it ends nothing."""
    home = Home(tmp_path / 'it\'s; drop table traces; -- "x"')
    load(home, SAMPLES / "chat.jsonl")
    refresh(home, CLOCK)
    compact(home, CLOCK)

    told = ask(home, "select count(*) from traces").rows
    assert told == rows(home, "select count(*) from traces") != [(0,)]


def test_40_what_a_trace_says_is_only_data(tmp_path: Path) -> None:
    """Ids, roles, names and text that are SQL come back as they were, and every table is there."""
    said = "x'); drop table trace_parts; --"
    record = f'{{"id": "{said}", "user": "{said}", "messages": [{{"role": "user", "content": "{said}"}}]}}\n'
    (tmp_path / "log.jsonl").write_text(record)
    home = Home(tmp_path / "home")
    load(home, tmp_path / "log.jsonl")
    load(home, SAMPLES / "chat.jsonl")

    assert rows(home, "select count(*) > 1 from traces") == [(True,)]
    assert said in str(rows(home, "select * from messages"))
