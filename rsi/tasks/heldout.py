"""What the loop may know of held-out suites: their fingerprints, by suite and split.

Reads ``fingerprints.json`` beside each suite and nothing else in the contracts' folder.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import orjson

from rsi.errors import ContractError
from rsi.ids import Digest, digest_bytes
from rsi.tasks.fingerprint import Fingerprint, Index


class Fingerprints(NamedTuple):
    """The held-out fingerprints below one contracts folder."""

    digests: dict[str, Digest]
    """Suite -> SHA-256 of its fingerprints file."""
    prints: tuple[Fingerprint, ...]


def read(contracts: Path) -> Fingerprints:
    """All fingerprints of all suites.

    Raises:
        ContractError: a suite has no readable fingerprints: screening without them would let held-out items in.
    """
    digests: dict[str, Digest] = {}
    prints: list[Fingerprint] = []
    for folder in sorted(path for path in contracts.glob("suites/*/v*") if path.is_dir()):
        file = folder / "fingerprints.json"
        try:
            data = file.read_bytes()
            splits = orjson.loads(data)["splits"].values()
            prints += [
                Fingerprint(exact, tuple(minhash))
                for split in splits
                for exact, minhash in zip(split["exact"], split["minhash"], strict=True)
            ]
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ContractError(
                f"{file} cannot be read ({error}); the suite's author writes it when freezing"
            ) from None
        digests[f"{folder.parent.name}/{folder.name}"] = digest_bytes(data)
    return Fingerprints(digests, tuple(prints))


def index(prints: Iterable[Fingerprint], bound: float) -> Index:
    """Fingerprints to screen against, with neighbours from a Jaccard similarity of `bound` on."""
    return Index(prints, bound)
