"""What the home keeps under its digests, copied into tables for readers: banks, verdicts, versions, jobs that are over.

Such a thing never changes, so that only new ones are copied. One that cannot be read is left out: `rsi verify`
says what is wrong with it.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from rsi.settings import Home

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Said = Mapping[str, object]
_COLUMNS: Mapping[str, Mapping[str, str]] = {
    "banks": {
        "night": "night",
        "tasks": "tasks",
        "by_mode": "by_mode",
        "by_expected": "by_expected",
        "rejected": "rejected",
        "held_out": "screens",
        **{
            name: name
            for name in (
                "by_source",
                "phases",
                "asked",
                "empty",
                "research",
                "replayed",
                "synthetic",
                "measured",
            )
        },
    },
    "verdicts": {
        "night": "night",
        "champion": "champion",
        "candidate": "candidate",
        "role": "role",
        "contract": "contract",
        "judgement": "judgement",
        "suites": "suites",
        "clauses": "clauses",
    },
    "versions": {"parent": "parent", "base": "base", "harness": "harness", "adapters": "adapters"},
    "jobs": {
        name: name
        for name in (
            "role",
            "algorithm",
            "bank",
            "adapter",
            "steps",
            "ended",
            "reason",
            "seconds",
            "sampled",
        )
    },
}
"""Table -> column -> key of the file. Objects and lists become JSON."""
_THERE = "select {key} from {table}"
_COPY = "insert into {table} by name select * from kept_rows"


def mirror(connection: "DuckDBPyConnection", home: Home) -> None:
    """Copy what is not there yet. The caller holds the transaction."""
    _copy(connection, "banks", "bank", lambda: _folders(home.banks, "manifest.json"))
    _copy(connection, "verdicts", "verdict", lambda: _folders(home.verdicts, "verdict.json"))
    _copy(connection, "versions", "version", lambda: _files(home.versions))
    _copy(connection, "jobs", "job", lambda: _folders(home.jobs, "complete.json"), _job)


def _copy(
    connection: "DuckDBPyConnection",
    table: str,
    key: str,
    found: Callable[[], Iterator[tuple[str, Path]]],
    read: Callable[[Path], Said | None] | None = None,
) -> None:
    import pyarrow as pa

    read = read or _read

    there = {str(name) for (name,) in connection.execute(_THERE.format(key=key, table=table)).fetchall()}
    rows = []
    for name, path in found():
        said = None if name in there else read(path)
        if said is not None and set(_COLUMNS[table].values()) <= said.keys():
            rows.append({key: name, **{to: _cell(said[of]) for to, of in _COLUMNS[table].items()}})
    if rows:
        connection.register("kept_rows", pa.Table.from_pylist(rows))
        connection.execute(_COPY.format(table=table))
        connection.unregister("kept_rows")


def _folders(root: Path, name: str) -> Iterator[tuple[str, Path]]:
    return ((path.parent.name, path) for path in sorted(root.glob(f"*/{name}")) if path.parent.name[0] != ".")


def _files(root: Path) -> Iterator[tuple[str, Path]]:
    return ((path.stem, path) for path in sorted(root.glob("*.json")) if path.name[0] != ".")


def _read(path: Path) -> Said | None:
    try:
        said = orjson.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return said if isinstance(said, dict) else None


def _job(path: Path) -> Said | None:
    """A job's folder: what it was asked, how it ended, and what its steps took."""
    asked, done = _read(path.parent / "job.json"), _read(path)
    settings = asked.get("settings") if asked else None
    if asked is None or done is None or not isinstance(settings, dict):
        return None
    steps = _steps(path.parent / "metrics.jsonl")
    return {
        **done,
        "role": asked.get("role"),
        "bank": asked.get("bank"),
        "algorithm": settings.get("algorithm", "grpo"),
        "reason": done.get("reason", "steps"),
        "seconds": float(sum(row.get("seconds", 0.0) for row in steps)),
        "sampled": int(sum(row.get("sampled", 0.0) for row in steps)),
    }


def _steps(path: Path) -> list[dict[str, float]]:
    try:
        return [orjson.loads(line) for line in path.read_bytes().splitlines()]
    except (OSError, ValueError):
        return []


def _cell(value: object) -> object:
    return orjson.dumps(value).decode() if isinstance(value, dict | list) else value
