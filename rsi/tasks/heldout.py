"""What the loop may know of held-out suites: the fingerprints of their items.

Reads ``fingerprints.json`` beside each suite and nothing else in the contracts' folder.
"""

import base64
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import orjson

from rsi.errors import ContractError
from rsi.ids import Digest, digest_bytes
from rsi.tasks.fingerprint import PERMUTATIONS, Fingerprint
from rsi.tasks.overlap import HeldOut

SCHEMA = "rsi.fingerprints/2"


class Fingerprints(NamedTuple):
    """The held-out items below one contracts folder."""

    digests: dict[str, Digest]
    """Suite -> SHA-256 of its fingerprints file."""
    items: tuple[HeldOut, ...]


def read(contracts: Path) -> Fingerprints:
    """All fingerprints of all suites.

    Raises:
        ContractError: a suite has no readable fingerprints: screening without them would let held-out items in.
    """
    digests: dict[str, Digest] = {}
    items: list[HeldOut] = []
    for folder in sorted(path for path in contracts.glob("suites/*/v*") if path.is_dir()):
        file, suite = folder / "fingerprints.json", f"{folder.parent.name}/{folder.name}"
        try:
            data = file.read_bytes()
            told = orjson.loads(data)
            if told["schema"] != SCHEMA:
                raise ValueError(f"schema {str(told['schema'])[:60]}, expected {SCHEMA}")
            items += [HeldOut(f"{suite}:{one['id']}", parsed(one)) for one in told["items"]]
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ContractError(
                f"{file} cannot be read ({error}); the suite's author writes it when freezing"
            ) from None
        digests[suite] = digest_bytes(data)
    return Fingerprints(digests, tuple(items))


def told(item: str, split: str, one: Fingerprint) -> dict[str, object]:
    """An item as ``fingerprints.json`` has it: arrays as base64 of little-endian numbers, 64 and 32 bits wide."""
    return {
        "id": item,
        "split": split,
        "exact": one.exact,
        "run": one.run,
        "grams": _packed(one.grams, 8),
        "minhash": _packed(one.minhash, 4),
    }


def parsed(row: Mapping[str, object]) -> Fingerprint:
    """The fingerprint that `told` wrote.

    Raises:
        ValueError, KeyError: it is none.
    """
    minhash = _unpacked(str(row["minhash"]), 4)
    if len(minhash) != PERMUTATIONS:
        raise ValueError(f"item {str(row['id'])[:60]} has {len(minhash)} MinHash values, not {PERMUTATIONS}")
    return Fingerprint(str(row["exact"]), int(str(row["run"])), _unpacked(str(row["grams"]), 8), minhash)


def _packed(values: Iterable[int], width: int) -> str:
    return base64.b64encode(b"".join(one.to_bytes(width, "little") for one in values)).decode()


def _unpacked(text: str, width: int) -> tuple[int, ...]:
    data = base64.b64decode(text, validate=True)
    if len(data) % width:
        raise ValueError(f"{len(data)} bytes are no numbers of {width} bytes")
    return tuple(int.from_bytes(data[at : at + width], "little") for at in range(0, len(data), width))
