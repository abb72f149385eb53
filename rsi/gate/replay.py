"""Drawing a verdict's fresh items again, for whoever holds the gate's key: these were asked, and nobody chose them."""

from pathlib import Path
from typing import NamedTuple

from rsi.errors import ContractError, IntegrityError
from rsi.gate.gate import open_scorecard
from rsi.gate.suites import Draw, load
from rsi.questions import Certificate, Commitment
from rsi.records import Verdict
from rsi.registry import approval
from rsi.settings import Home, gate_key


class Redrawn(NamedTuple):
    """One suite of a verdict, drawn again."""

    suite: str
    items: int
    drawn: Commitment

    def plain(self) -> dict[str, object]:
        """For JSON."""
        return {"suite": self.suite, "items": self.items, "digest": self.drawn.items, "key": self.drawn.key}


def find(home: Home, prefix: str) -> str:
    """The one verdict whose digest starts with `prefix` (at least 6 digits).

    Raises:
        ContractError: none or several do.
    """
    found = sorted(path.name for path in home.verdicts.glob(f"{prefix}*")) if prefix.isalnum() else []
    if len(prefix) < 6 or len(found) != 1:
        raise ContractError(f"{prefix!r} names {len(found)} verdicts; give at least 6 digits of one of {home.verdicts}")
    return found[0]


def redraw(home: Home, contracts: Path, name: str) -> tuple[Redrawn, ...]:
    """The suites of a verdict that draw fresh items, each drawn again and found to be what was asked.

    Raises:
        ContractError: there is no key, the verdict has no certificate, or every suite of it is frozen.
        IntegrityError: another key drew them, other items come out, or the scorecard is about others.
    """
    verdict = approval.verdict(home, name)
    path = home.verdicts / name / "certificate.json"
    if not path.is_file():
        raise ContractError(f"no {path}: nothing was committed to when {name[:12]} was judged")
    certificate = Certificate.parse(path.read_bytes())
    if not certificate.fresh:
        raise ContractError(f"every suite of verdict {name[:12]} is frozen; their digests are in its certificate")
    draw = Draw.of(gate_key(home), verdict.night, certificate.champion, certificate.candidate)
    return tuple(_one(home, contracts, verdict, certificate, suite, draw) for suite in sorted(certificate.fresh))


def _one(
    home: Home, contracts: Path, verdict: Verdict, certificate: Certificate, name: str, draw: Draw
) -> Redrawn:
    suite, told = load(name, certificate.suites[name], contracts, draw=draw), certificate.fresh[name]
    if suite.drawn is None or suite.drawn.key != told.key:
        raise IntegrityError(
            f"{draw.key} is not the key that suite {name} was drawn by; the certificate names {told.key[:12]}"
        )
    if suite.drawn.items != told.items:
        raise IntegrityError(
            f"suite {name} draws items of digest {suite.drawn.items[:12]} for night {verdict.night}, the certificate "
            f"says {told.items[:12]}: its generator was changed since, or other items were asked"
        )
    known = {one.item_id: one.expected for one in suite.items}
    asked = open_scorecard(home, verdict).of(name)
    strange = [one.item_id for one in asked if known.get(one.item_id) != one.expected]
    if strange:
        raise IntegrityError(f"the scorecard of {name} is about item {strange[0]}, which was not drawn")
    return Redrawn(name, len(suite.items), suite.drawn)
