"""Names made from content: digests over canonical JSON, the night, and safe file names."""

import hashlib
import re
from collections.abc import Iterable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import NewType

import orjson

from rsi.errors import ContractError

Digest = NewType("Digest", str)
"""64 lower-case hex digits of SHA-256."""

Night = NewType("Night", str)
"""A scheduled UTC date, ``YYYY-MM-DD``; a second run of one date is ``YYYY-MM-DD.2`` and so on."""

_CANONICAL = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_RESERVED = {"con", "prn", "aux", "nul", *(f"com{n}" for n in range(10)), *(f"lpt{n}" for n in range(10))}
_NIGHT = re.compile(r"\d{4}-\d{2}-\d{2}(\.[1-9]\d{0,3})?")


def canonical(value: object) -> bytes:
    """The one JSON text of a value: sorted keys, no spaces, UTF-8."""
    return orjson.dumps(value, option=_CANONICAL)


def digest_bytes(data: bytes) -> Digest:
    """SHA-256 of some bytes."""
    return Digest(hashlib.sha256(data).hexdigest())


def digest(value: object) -> Digest:
    """SHA-256 of a value's canonical JSON."""
    return digest_bytes(canonical(value))


def digest_file(path: Path) -> Digest:
    """SHA-256 of a file's bytes, read in blocks."""
    with path.open("rb") as file:
        return Digest(hashlib.file_digest(file, "sha256").hexdigest())


def digest_files(root: Path, names: Iterable[str]) -> Digest:
    """Digest of named files below a folder: of the sorted list of (name, SHA-256)."""
    return digest([[name, digest_file(root / name)] for name in sorted(names)])


def uid(*parts: object) -> str:
    """A 32-digit id from (namespace, format, native id, …) or other JSON values; equal parts give equal ids."""
    return hashlib.sha256(orjson.dumps(parts)).hexdigest()[:32]


def night(text: str | datetime | date) -> Night:
    """The night of a scheduled time (its UTC date), or of its name.

    Raises:
        ContractError: the text is not ``YYYY-MM-DD`` with an optional ``.N``.
    """
    if isinstance(text, datetime):
        text = text.astimezone(UTC).date()
    if isinstance(text, date):
        text = text.isoformat()
    if not _NIGHT.fullmatch(text):
        raise ContractError(
            f"night {text!r} is not YYYY-MM-DD (or YYYY-MM-DD.2 for a second run of that date)"
        )
    return Night(text)


def safe_name(text: str) -> str:
    """Outside text as a file name, refused rather than repaired.

    Raises:
        ContractError: anything but letters, digits, ``.``, ``_`` and ``-``, a leading dot or dash, over 100
            characters, ``..`` inside, or a name that Windows reserves.
    """
    stem = text.split(".", 1)[0].lower()
    if not _SAFE.fullmatch(text) or ".." in text or stem in _RESERVED:
        raise ContractError(
            f"{text[:80]!r} cannot be a name here: use up to 100 letters, digits, '.', '_' or '-', "
            "starting with a letter or digit"
        )
    return text
