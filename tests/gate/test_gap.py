"""Dev against gate: rare where both are alike, said of a new best alone."""

import pytest
from scipy.stats import binom

from rsi.gate.dev import Rung, told
from rsi.gate.gap import gap
from rsi.records import ItemResult, Outcome, OutcomeKind
from rsi.report.evidence import Example

RIGHT, WRONG = (Outcome(kind=OutcomeKind.SCORED, score=score) for score in (1.0, 0.0))
LOST = Outcome(kind=OutcomeKind.ERROR, detail="away")


def rung(mended: int, failed: int, risen: bool = True) -> Rung:
    """What dev showed."""
    return Rung(candidate="c", items=48, step=0.07, best=0.9, risen=risen, failed=failed, mended=mended)


def at_gate(mended: int, failed: int, size: int = 1, other: Outcome = WRONG) -> list[ItemResult]:
    """The champion's failures at the gate, in clusters of a size; what is not mended ends in another way."""
    return [
        ItemResult(
            item_id=f"{n}", suite="routing/v1", cluster=f"{n // size}", expected="L1", source="own", hard=False,
            champion=WRONG, candidate=RIGHT if n < mended else other, champion_answer="", candidate_answer="",
        )
        for n in range(failed)
    ]  # fmt: skip


@pytest.mark.parametrize("share", [0.4, 0.9])
def test_a_candidate_that_mends_as_much_there_as_here_is_seldom_named(share: float) -> None:
    """At most as often as a 95% interval may err, both ends together; by enumeration of all that can be seen."""
    failed, asked = 16, 24
    chances = [
        float(binom.pmf(here, asked, share) * binom.pmf(dev, failed, share))
        for here in range(asked + 1)
        for results in [at_gate(here, asked)]
        for dev in range(failed + 1)
        if (found := gap(rung(dev, failed), results)) and found.beyond
    ]

    assert 0 < sum(chances) < 0.05


def test_what_stands_together_or_is_missing_makes_it_rarer() -> None:
    """Twelve of forty in clusters of eight are five items; and an answer that is missing may have been right."""
    known = rung(18, 24)

    assert gap(known, at_gate(12, 40)).beyond
    assert not gap(known, at_gate(12, 40, size=8)).beyond
    assert not gap(known, at_gate(12, 40, other=LOST)).beyond


def test_of_what_is_no_new_best_on_dev_nothing_is_told() -> None:
    """Nor where the champion has no failure on one of the sides."""
    assert gap(rung(24, 24, risen=False), at_gate(0, 40)) is None
    assert gap(rung(0, 0), at_gate(0, 40)) is None
    assert gap(rung(24, 24), []) is None


def test_failures_of_the_champion_on_dev_are_counted_and_never_told(home) -> None:
    """They lie beside the ladder, among what only the gate opens; what may be told has neither."""
    looks = [Example(f"request {n}", "L1", "L1" if n < 6 else "L0", "L1" if n < 16 else "L2") for n in range(30)]
    seen = told(home, "L0", "c", looks)

    assert (seen.failed, seen.mended) == (24, 10)
    assert not {"failed", "mended"} & set(seen.score._fields)
