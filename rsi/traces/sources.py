"""What a person may name to be ingested: files, folders, patterns, URLs of fsspec, and ``-`` for standard input.

What does not lie on this machine as a file is copied into the home first, since a file is read twice: once to know
it by its content, once for its records. Copies are removed after the ingest, or by a later one if that was killed.
"""

import glob
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING
from urllib.parse import urlsplit

from rsi.errors import ContractError, TransientError
from rsi.settings import Home
from rsi.traces.pieces import looks_like_json, taken

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

STDIN = "-"
SWEEP_S = 86_400
"""Age from which a copy that was left behind is removed."""

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(?:::[A-Za-z][A-Za-z0-9+.-]*)*://")
_PATTERN = re.compile(r"[*?\[]")
_SAFE = re.compile(r"[^A-Za-z0-9._-]+")
_ENDINGS = "a name ending in .json, .jsonl, .ndjson, .traj or .eval (also with .gz or .zst)"


@dataclass(frozen=True)
class Source:
    """One file to be read."""

    path: Path
    uri: str
    """What a person is shown; of a URL without user, password and query."""
    temporary: bool = False
    """Whether `path` is a copy, to be discarded."""
    skipped: bool = False
    """Whether it lay in a folder among others, and is of no kind that is read."""

    def discard(self) -> None:
        """Remove the copy, if it is one."""
        if self.temporary:
            self.path.unlink(missing_ok=True)


def listed(home: Home, inputs: Sequence[str], stdin: IO[bytes] | None = None) -> list[Source]:
    """The files that `inputs` stand for, each once, those of a folder or pattern in order of name.

    In folders names decide what is read, behind patterns also the content; others are skipped, and of a folder
    said to be. Hidden names are passed over. A file that is named is read if its name or its content is of a kind
    that is read.

    Raises:
        ContractError: there is nothing at an input, it is of no kind that is read, or its driver is not installed.
        TransientError: a URL could not be read.
    """
    copies = _Copies(home)
    found: dict[str, Source] = {}
    try:
        for one in inputs:
            for source in _sources(copies, one, stdin):
                name = source.uri if source.temporary else str(source.path)
                # What a folder skips may be named beside it.
                if name not in found or found[name].skipped:
                    found[name] = source
    except BaseException:
        copies.discard()
        raise
    return list(found.values())


def _sources(copies: "_Copies", one: str, stdin: IO[bytes] | None) -> Iterator[Source]:
    if one == STDIN:
        yield copies.of("stdin", "stdin", lambda: stdin or sys.stdin.buffer)
    elif _URL.match(one):
        yield from _remote(copies, one)
    elif not Path(one).exists() and _PATTERN.search(one):
        paths = [Path(name) for name in sorted(glob.glob(one, recursive=True))]  # noqa: PTH207
        if not paths:
            raise ContractError(f"nothing to ingest at {one}: no file or folder matches the pattern")
        for path in paths:
            yield from _folder(path) if path.is_dir() else _matched(path)
    else:
        yield from _local(copies, Path(one))


def _local(copies: "_Copies", path: Path) -> Iterator[Source]:
    if path.is_dir():
        yield from _folder(path)
    elif not path.exists():
        raise ContractError(f"nothing to ingest at {path}: no such file or folder")
    elif not stat.S_ISREG(path.stat().st_mode):
        yield copies.of(str(path), path.name, lambda: path.open("rb"))
    elif taken(path) or looks_like_json(path):
        yield _source(path)
    else:
        raise ContractError(
            f"{path} is no kind of file that is read; expected {_ENDINGS}, content that begins like JSON, or a "
            "folder of such files"
        )


def _folder(path: Path) -> Iterator[Source]:
    for one in sorted(path.rglob("*")):
        hidden = any(part.startswith(".") for part in one.relative_to(path).parts)
        if not hidden and one.is_file():
            yield _source(one, skipped=not taken(one))


def _matched(path: Path) -> Iterator[Source]:
    """A file that a pattern names among others is passed over where it is of no kind that is read."""
    if path.is_file() and (taken(path) or looks_like_json(path)):
        yield _source(path)


def _source(path: Path, skipped: bool = False) -> Source:
    # A name that is not UTF-8 cannot be stored.
    return Source(path, str(path).encode(errors="replace").decode(), skipped=skipped)


def _remote(copies: "_Copies", url: str) -> Iterator[Source]:
    files, root = _filesystem(url)
    if "file" in ((files.protocol,) if isinstance(files.protocol, str) else files.protocol):
        yield from _sources(copies, root, None)
        return
    for name in _names(files, root, url):
        shown = _shown(str(files.unstrip_protocol(name)))
        yield copies.of(shown, PurePosixPath(urlsplit(name).path).name, _opener(files, name))


def _opener(files: "AbstractFileSystem", name: str) -> Callable[[], IO[bytes]]:
    def opened() -> IO[bytes]:
        file: IO[bytes] = files.open(name, "rb")
        return file

    return opened


def _names(files: "AbstractFileSystem", root: str, url: str) -> list[str]:
    """The file, or the files of the folder or pattern that are read."""
    found = [root]
    pages = url.startswith("http")
    try:
        if "*" in root or (not pages and _PATTERN.search(root)):
            found = [name for name in sorted(files.glob(root)) if files.isfile(name) and _is_taken(name)]
        # A server of pages knows no folders; asking it for one costs a request for nothing.
        elif not pages and files.isdir(root):
            found = [name for name in sorted(files.find(root)) if _is_taken(name.removeprefix(root))]
    except Exception as error:  # drivers raise errors of their own
        raise _unread(_shown(url), error) from error
    if not found:
        raise ContractError(f"nothing to ingest at {_shown(url)}: no file there has {_ENDINGS}")
    return found


def _is_taken(name: str) -> bool:
    path = PurePosixPath(urlsplit(name).path)
    return taken(Path(path.name)) and not any(part.startswith(".") for part in path.parts)


def _filesystem(url: str) -> tuple["AbstractFileSystem", str]:
    from fsspec.core import url_to_fs

    try:
        files, root = url_to_fs(url)
    except ImportError as error:
        raise ContractError(f"cannot read {_shown(url)}: its driver is not installed ({error})") from None
    except ValueError as error:
        raise ContractError(f"cannot read {_shown(url)}: {error}; expected a URL that fsspec knows") from None
    except Exception as error:  # drivers raise errors of their own
        raise _unread(_shown(url), error) from error
    return files, str(root)


def _unread(shown: str, error: Exception) -> ContractError | TransientError:
    if isinstance(error, FileNotFoundError):
        return ContractError(f"nothing to ingest at {shown}: no such file or folder")
    said = (str(error).splitlines() or [""])[0]
    return TransientError(f"could not read {shown}: {type(error).__name__} {said}".rstrip())


def _shown(url: str) -> str:
    """A URL without what may be secret in it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


class _Copies:
    """Temporary files in the home."""

    def __init__(self, home: Home) -> None:
        self._folder = home.root / "incoming"
        self._made: list[Path] = []

    def of(self, uri: str, name: str, opened: Callable[[], IO[bytes]]) -> Source:
        """A copy of a stream, under a name that ends as its own does."""
        self._swept()
        handle, path = tempfile.mkstemp(dir=self._folder, suffix="-" + _SAFE.sub("-", name)[-80:])
        self._made.append(Path(path))
        try:
            with os.fdopen(handle, "wb") as copy, opened() as stream:
                shutil.copyfileobj(stream, copy, 1 << 20)
        except Exception as error:  # drivers raise errors of their own
            raise _unread(uri, error) from error
        return Source(Path(path), uri.encode(errors="replace").decode(), temporary=True)

    def discard(self) -> None:
        """Remove what was made."""
        for path in self._made:
            path.unlink(missing_ok=True)

    def _swept(self) -> None:
        """Make the folder; remove what a killed ingest left in it."""
        self._folder.mkdir(parents=True, exist_ok=True)
        for path in self._folder.iterdir():
            with suppress(OSError):
                if path not in self._made and time.time() - path.stat().st_mtime > SWEEP_S:
                    path.unlink()
