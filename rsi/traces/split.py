"""The held-out split: every conversation falls by keyed hash into train, dev, gate or vault.

The key is the deployment's secret, so that nobody who writes traffic can choose the side. What one
conversation holds stays together; without a session, each trace is one of its own. Where a part of a trace, or
feedback about it, comes before the part that names the session, it is placed by the trace's own id; when the
session is known and gives another side, the trace goes there with its rows and its text (`rsi.traces.move`),
unless a night may have read it: then it stays. Of several sessions the one whose side is held out the furthest
counts, so that the order in which they come does not.

Gate takes the low end of the hash and vault the high end, so that larger shares only take from train and dev.
"""

import hmac
from enum import IntEnum

from rsi.errors import ContractError
from rsi.ids import canonical
from rsi.intake import Splits
from rsi.records import Split

HELD_OUT = (Split.GATE, Split.VAULT)
OUTWARD = (Split.TRAIN, Split.DEV, Split.GATE, Split.VAULT)
"""Sides from the loop's own to the one that is held out the furthest."""
_RANGE = 2**64


class Basis(IntEnum):
    """What a side was found by; what is known later in this order counts for more."""

    FEEDBACK = 0
    """The id that feedback names; it need not be the producer's."""
    TRACE = 1
    """The trace's own id."""
    SESSION = 2


def weight(basis: Basis, side: Split) -> int:
    """Of two sides of one trace the one of more weight counts, in whatever order they come."""
    return basis * len(OUTWARD) + OUTWARD.index(side)


class Splitter:
    """Decides sides with one secret and one set of shares."""

    def __init__(self, key: bytes, shares: Splits) -> None:
        """Check the shares.

        Raises:
            ContractError: they leave nothing to train on.
        """
        if shares.dev + shares.gate + shares.vault >= 1:
            raise ContractError(
                f"split shares dev {shares.dev}, gate {shares.gate} and vault {shares.vault} add up to 1 or "
                "more; leave a share for train in the deployment file"
            )
        self._key, self._shares = key, shares

    def of(self, namespace: str, conversation: str) -> Split:
        """The side of a conversation."""
        mac = hmac.digest(self._key, canonical([namespace, conversation]), "sha256")
        at = int.from_bytes(mac[:8]) / _RANGE
        if at < self._shares.gate:
            return Split.GATE
        if at >= 1 - self._shares.vault:
            return Split.VAULT
        return Split.DEV if at < self._shares.gate + self._shares.dev else Split.TRAIN
