"""Writing files so that they are whole or absent: temporary name, fsync, rename, fsync of the folder."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """What the system says of an open file without its name, it says of `path`."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = str(path)
        raise


def sync(path: Path) -> None:
    """Put what a file holds on the disk."""
    with naming(path), path.open("rb") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Put the names in a folder on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with naming(folder):
            os.fsync(handle)
    finally:
        os.close(handle)


def size_of(place: Path) -> int:
    """Bytes of a file, or of all files below a folder; links count for themselves, what goes meanwhile not at all."""
    found = 0
    for path in place.rglob("*") if place.is_dir() and not place.is_symlink() else (place,):
        with suppress(FileNotFoundError):
            if path.is_symlink() or path.is_file():
                found += path.lstat().st_size
    return found


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file by `data`; a reader sees the old file or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with naming(path), os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


@contextmanager
def whole(path: Path) -> Iterator[IO[bytes]]:
    """A file to write piece by piece, in place of the one there is when all went well; its folder must exist."""
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    try:
        with naming(path), Path(draft).open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        # A temporary file is for its owner only; this one is as others are.
        mask = os.umask(0)
        os.umask(mask)
        Path(draft).chmod(0o666 & ~mask)
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def publish_folder(target: Path, fill: Callable[[Path], None]) -> Path:
    """Make an immutable folder: fill a temporary one, sync it, rename it into place.

    A folder that is already there was complete when it got its name, and is kept as it is.
    """
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    try:
        with naming(target):
            fill(draft)
        for path in sorted(draft.rglob("*")):
            if path.is_file():
                sync(path)
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
    sync_folder(target.parent)
    return target
