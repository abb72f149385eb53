"""What commands print: lines for a person, or JSON for a program; progress on standard error."""

import sys
from collections.abc import Iterable, Sequence
from typing import Annotated

import orjson
import typer
from rich.console import Console
from rich.table import Table

out = Console(highlight=False, markup=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)

WIDTH = 200
"""Columns of a table that goes to a file or a pipe."""

Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program.")]


def line(text: str) -> None:
    """One line for a person."""
    out.print(text)


def as_json(value: object) -> None:
    """One JSON document."""
    sys.stdout.write(
        orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS, default=str).decode()
    )
    sys.stdout.write("\n")


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], title: str | None = None) -> None:
    """A table; numbers to the right."""
    kept = [list(row) for row in rows]
    shown = Table(title=title, title_justify="left", box=None, header_style="bold", pad_edge=False)
    for at, name in enumerate(columns):
        numeric = bool(kept) and all(isinstance(row[at], int | float | None) for row in kept)
        shown.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in kept:
        shown.add_row(*("" if cell is None else str(cell) for cell in row))
    Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else WIDTH).print(shown)


class TerminalProgress:
    """Progress as one line that is rewritten on a terminal, and as a line every tenth of the way elsewhere."""

    def __init__(self) -> None:
        self._tenths: dict[str, int] = {}
        self._live = err.is_terminal

    def __call__(self, what: str, done: int, total: int, note: str = "") -> None:
        text = f"{what}: {done} of {total}" + (f" ({note})" if note else "")
        if self._live:
            err.print(f"\r\x1b[2K{text}", end="\n" if done >= total else "")
            return
        tenth = 10 * done // max(total, 1)
        if self._tenths.get(what) != tenth:
            self._tenths[what] = tenth
            err.print(text)
