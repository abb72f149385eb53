"""Items that are new for every question: drawn from a seed that nobody can tell beforehand who has not the gate's key.

The key is a file that only the gate's side reads (`rsi.settings.gate_key`; `rsi gate key` makes it). The seed of a
suite is HMAC-SHA-256 of its digest and of the occasion, so that a night that is begun again draws the same items and
another one others. What is told is a `Commitment`: whoever holds the key draws the items again, and shows that these
were asked.
"""

import hmac
import os
import secrets
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from rsi.errors import ContractError
from rsi.ids import Digest, canonical, digest, digest_bytes
from rsi.questions import Commitment
from rsi.records import Item
from rsi.store.files import naming, sync_folder

LENGTH = 32
"""Of a key, in bytes; the file has them as hex digits."""
_OPEN = 0o077
"""Rights of others."""


@dataclass(frozen=True)
class Draw:
    """What items are drawn by."""

    key: Path
    """The gate's key; read when a seed is asked for, so that it need not be there where every suite is frozen."""
    occasion: tuple[str, ...]
    """What they are drawn for, such as night, champion and candidate."""

    @classmethod
    def of(cls, key: Path, night: str, champion: str, candidate: str) -> Self:
        """For a question to the gate: the same night with the same versions is the same question."""
        return cls(key, (night, champion, candidate))

    def seed(self, suite: Digest) -> int:
        """Of a suite's items on this occasion, 63 bits.

        Raises:
            ContractError: there is no key, or others may read it.
        """
        mac = hmac.digest(read(self.key), canonical([suite, *self.occasion]), "sha256")
        return int.from_bytes(mac[:8]) >> 1

    def commitment(self, items: tuple[Item, ...]) -> Commitment:
        """What may be told of the items that were drawn."""
        return Commitment(key=committed(read(self.key)), items=items_digest(items))


def items_digest(items: tuple[Item, ...]) -> Digest:
    """Over all that items say."""
    return digest([one.model_dump(mode="json") for one in items])


def committed(key: bytes) -> Digest:
    """What a key is known by; it has too many digits for anybody to guess the key from it."""
    return digest_bytes(b"rsi.gate.key/1\n" + key)


def read(path: Path) -> bytes:
    """The key.

    Raises:
        ContractError: there is none, others may read it, or it is no key.
    """
    try:
        mode, said = path.stat().st_mode, path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        raise ContractError(
            f"no key of the gate can be read at {path}, by which fresh items are drawn: make it with `rsi gate key`, "
            "put it back from a backup, or name its place in RSI_GATE_KEY"
        ) from None
    if mode & _OPEN:
        raise ContractError(f"others may read {path}, and tell the items of every night by it: chmod 600 {path}")
    try:
        key = bytes.fromhex(said)
    except ValueError:
        key = b""
    if len(key) != LENGTH:
        raise ContractError(f"{path} is no key of the gate: expected {2 * LENGTH} hex digits")
    return key


def make(path: Path) -> bytes:
    """The key at a place, made for its owner alone where there is none.

    Raises:
        ContractError: what is there is no key, or others may read it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with naming(path), os.fdopen(handle, "w") as file:
            file.write(secrets.token_hex(LENGTH))
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            # A link, not a rename: a key that is there stays.
            os.link(draft, path)
    finally:
        Path(draft).unlink()
    sync_folder(path.parent)
    return read(path)
