"""``sums.json``: the SHA-256 of every file of an immutable folder, for those that no name binds."""

from pathlib import Path

import orjson

from rsi.errors import IntegrityError
from rsi.ids import canonical, digest_file

FILE = "sums.json"


def _of(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path != folder / FILE)
    return {path.relative_to(folder).as_posix(): digest_file(path) for path in files}


def seal(folder: Path) -> None:
    """Write down what lies in a folder, before it gets its name."""
    (folder / FILE).write_bytes(canonical(_of(folder)))


def check(folder: Path) -> None:
    """Hold a folder to what was written down; one of a version that wrote nothing is taken as it is.

    Raises:
        IntegrityError: a file was changed, is missing or was added.
    """
    try:
        data = (folder / FILE).read_bytes()
    except FileNotFoundError:
        return
    found = _of(folder)
    if data == canonical(found):
        return
    try:
        said = dict(orjson.loads(data))
    except (ValueError, TypeError):
        raise IntegrityError(f"{folder / FILE} was changed; restore the folder from a backup") from None
    names = sorted(name for name in {*said, *found} if said.get(name) != found.get(name))
    raise IntegrityError(
        f"{folder / (names[0] if names else FILE)} is not what {FILE} beside it says; restore it from a backup"
    )
