"""What commands print: lines for a person, or JSON for a program; warnings on standard error.

Text of traces is shown, never obeyed: control characters become visible, and no markup of rich is read.
"""

import re
import sys
from collections.abc import Iterable, Sequence
from typing import IO, Annotated

import orjson
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rsi.report.progress import err
from rsi.report.words import inert_terminal

out = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)

WIDTH = 200
"""Columns of a table that goes to a file or a pipe."""
_HIDDEN = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What JSON may hold as it is, and a terminal could take for a command."""

Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program.")]


def line(text: str) -> None:
    """One line for a person."""
    out.print(inert_terminal(text))


def warn(text: str) -> None:
    """One line on standard error."""
    err.print(inert_terminal(text))


def as_json(value: object) -> None:
    """One JSON document."""
    said = orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS, default=str).decode()
    sys.stdout.write(inert_json(said))
    sys.stdout.write("\n")


def inert_json(said: str) -> str:
    """The same JSON, with escapes for what a terminal could take for a command."""
    return _HIDDEN.sub(lambda found: f"\\u{ord(found.group()):04x}", said)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], title: str | None = None) -> None:
    """A table; numbers to the right."""
    page().print(drawn(columns, rows, title))


def drawn(columns: Sequence[str], rows: Iterable[Sequence[object]], title: str | None = None) -> Table:
    """A table to print."""
    kept = [list(row) for row in rows]
    shown = Table(title=title, title_justify="left", box=None, header_style="bold", pad_edge=False)
    for at, name in enumerate(columns):
        numeric = bool(kept) and all(isinstance(row[at], int | float | None) for row in kept)
        shown.add_column(Text(inert_terminal(name)), justify="right" if numeric else "left", overflow="fold")
    for row in kept:
        shown.add_row(*(Text("" if cell is None else inert_terminal(str(cell))) for cell in row))
    return shown


def page(file: IO[str] | None = None) -> Console:
    """Where wide things are printed: as wide as the terminal, or `WIDTH`; or a file."""
    width = None if file is None and sys.stdout.isatty() else WIDTH
    return Console(file=file, highlight=False, markup=False, emoji=False, width=width)
