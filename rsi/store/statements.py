"""SQL files that hold several statements, each under a line ``-- name: …``."""

import re
from collections.abc import Mapping
from pathlib import Path

_STATEMENT = re.compile(r"-- name: (\w+)\n(.*?)(?=\n-- name:|\Z)", re.DOTALL)


def named(path: Path) -> Mapping[str, str]:
    """The statements of a file by their names, each with the comments that stand in it."""
    return {found[1]: found[2] for found in _STATEMENT.finditer(path.read_text())}
