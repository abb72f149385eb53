"""Writing files so that they are whole or absent: temporary name, fsync, rename, fsync of the folder."""

import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file by `data`; a reader sees the old file or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def publish_folder(target: Path, fill: Callable[[Path], None]) -> Path:
    """Make an immutable folder: fill a temporary one, sync it, rename it into place.

    A folder that is already there was complete when it got its name, and is kept as it is.
    """
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    try:
        fill(draft)
        for path in sorted(draft.rglob("*")):
            if path.is_file():
                with path.open("rb") as file:
                    os.fsync(file.fileno())
        draft.chmod(0o755)
        try:
            draft.rename(target)
        except OSError:
            if not target.exists():
                raise
            shutil.rmtree(draft)
    except BaseException:
        with suppress(OSError):
            shutil.rmtree(draft)
        raise
    _sync_folder(target.parent)
    return target
