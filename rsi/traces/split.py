"""The held-out split: every conversation falls by keyed hash into train, dev, gate or vault.

The key is the deployment's secret, so that nobody who writes traffic can choose the side. What one
conversation holds stays together; without a session, each trace is one of its own. The side of a trace is
decided once: later parts of it and feedback about it follow (`rsi.traces.load`). Feedback that comes before
its trace is placed by the trace's id, which is the same side unless the trace turns out to have a session: then
its rows go to the trace's side when the trace comes, its text stays where it is.

Gate takes the low end of the hash and vault the high end, so that larger shares only take from train and dev.
"""

import hashlib
import hmac

from rsi.errors import ContractError
from rsi.ids import canonical
from rsi.records import Split
from rsi.settings import Splits

HELD_OUT = (Split.GATE, Split.VAULT)
_RANGE = 2**64


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
        mac = hmac.new(self._key, canonical([namespace, conversation]), hashlib.sha256).digest()
        at = int.from_bytes(mac[:8]) / _RANGE
        if at < self._shares.gate:
            return Split.GATE
        if at >= 1 - self._shares.vault:
            return Split.VAULT
        return Split.DEV if at < self._shares.gate + self._shares.dev else Split.TRAIN
