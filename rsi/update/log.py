"""``metrics.jsonl``: a line a finished step."""

from pathlib import Path

import orjson

from rsi.ids import canonical
from rsi.store.files import write_whole
from rsi.update.guards import Row


def rows(path: Path) -> list[Row]:
    """The rows that are whole; what a kill has torn is no row."""
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return [orjson.loads(line) for line in lines]


def cut(path: Path, steps: int) -> list[Row]:
    """The rows of the first `steps` steps; all behind them is cut off."""
    kept = [row for row in rows(path) if row["step"] <= steps]
    whole = b"".join(canonical(row) + b"\n" for row in kept)
    if path.exists() and path.stat().st_size != len(whole):
        write_whole(path, whole)
    return kept


def add(path: Path, row: Row) -> None:
    """Add a row."""
    with path.open("ab") as file:
        file.write(canonical(row) + b"\n")
