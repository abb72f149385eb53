"""Ledgers whose chain is whole and whose records break a rule: `rsi verify` names each.

Nothing in the product writes such a record; here they are appended by hand.
"""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from rsi.records import Decision, Judgement, Verdict
from rsi.registry import champion, versions
from rsi.registry.verify import Finding, verify
from rsi.settings import Home
from rsi.store.ledger import Ledger
from tests.made import FixedClock
from tests.registry import asked
from tests.registry.asked import ask, passed, say


class Place(NamedTuple):
    """A home in which somebody breaks a rule."""

    home: Home
    ledger: Ledger
    first: str
    """The version in service."""

    def move(self, verdict: Verdict, kind: str = "promotion", **body: object) -> None:
        """A record that puts a verdict's candidate into service, and the pointer that belongs to it."""
        said = {"replaces": self.first, "effects": {}, **body}
        self.ledger.append(kind, input=verdict.digest, output=verdict.candidate, body=said)
        champion.point(self.home, FixedClock())

    def approved(self, verdict: Verdict) -> None:
        """An answer, whatever may be answered."""
        said = {
            "verdict": verdict.digest,
            "decision": "approve",
            "approver": "ada",
            "reason": "so",
            "via": "command",
        }
        self.ledger.append("approval", input=verdict.digest, body=dict(said))


@pytest.fixture
def place(home: Home) -> Place:
    """A first version in service, and nothing else."""
    first = asked.begin(home)
    return Place(home, Ledger(home.ledger, FixedClock()), first)


def told(place: Place, invariant: str) -> list[str]:
    """What `verify` says under an invariant."""
    found: tuple[Finding, ...] = verify(place.home, FixedClock()).findings
    return [one.text for one in found if one.invariant == invariant]


def unapproved(place: Place) -> None:
    place.move(passed(place.home, None, "1"))


def rejected(place: Place) -> None:
    made = passed(place.home, None, "1")
    ask(place.home, made)
    say(place.home, made, Decision.REJECT)
    place.move(made)


def failed(place: Place) -> None:
    made = asked.verdict(place.home, asked.candidate(place.home, None, "1"), judgement=Judgement.FAIL)
    place.approved(made)
    place.move(made)


def undecided(place: Place) -> None:
    made = asked.verdict(place.home, asked.candidate(place.home, None, "1"), judgement=Judgement.CANNOT_TELL)
    place.approved(made)
    place.move(made)


def without_a_verdict(place: Place) -> None:
    made = passed(place.home, None, "1")
    place.approved(made)
    (place.home.verdicts / made.digest / "verdict.json").unlink()
    place.move(made)


def another_candidate(place: Place) -> None:
    made, other = passed(place.home, None, "1"), asked.candidate(place.home, None, "2")
    place.approved(made)
    place.ledger.append(
        "promotion", input=made.digest, output=other.digest, body={"replaces": place.first, "effects": {}}
    )
    champion.point(place.home, FixedClock())


def stale(place: Place) -> None:
    """Two verdicts compare with the first version; both are promoted."""
    one, two = passed(place.home, None, "1"), passed(place.home, None, "2")
    for made in (one, two):
        place.approved(made)
        place.move(made)


def replaced_under_a_false_name(place: Place) -> None:
    one, two = passed(place.home, None, "1"), passed(place.home, None, "2")
    for made, before in ((one, place.first), (two, one.candidate)):
        place.approved(made)
        place.move(made, replaces=before)


def back_to_what_never_served(place: Place) -> None:
    made = asked.candidate(place.home, None, "1")
    body: dict[str, object] = {"replaces": place.first, "actor": "ada", "reason": "slow"}
    place.ledger.append("rollback", output=made.digest, body=body)
    champion.point(place.home, FixedClock())


def back_by_nobody(place: Place) -> None:
    made = passed(place.home, None, "1")
    place.approved(made)
    place.move(made)
    place.ledger.append("rollback", output=place.first, body={"replaces": made.candidate, "reason": "slow"})
    champion.point(place.home, FixedClock())


def begun_twice(place: Place) -> None:
    place.ledger.append("genesis", output=place.first)


def pointed_elsewhere(place: Place) -> None:
    made = asked.candidate(place.home, None, "1")
    versions.load(place.home, made.digest)
    place.home.champion.write_bytes(champion.pointer(place.home, made.digest))


BROKEN: dict[Callable[[Place], None], str] = {
    unapproved: "ledger record 2 (promotion) has no approval",
    rejected: "ledger record 4 (promotion) has no approval",
    failed: "ledger record 3 (promotion) stands on a verdict that says 'fail'",
    undecided: "ledger record 3 (promotion) stands on a verdict that says 'cannot tell'",
    without_a_verdict: "ledger record 3 (promotion): verdict",
    another_candidate: "ledger record 3 (promotion) and its verdict name other versions",
    stale: "ledger record 5 (promotion) does not name the champion before it",
    replaced_under_a_false_name: "ledger record 5 (promotion) and its verdict name other versions",
    back_to_what_never_served: "ledger record 2 (rollback) names no earlier champion, or no actor",
    back_by_nobody: "ledger record 4 (rollback) names no earlier champion, or no actor",
    begun_twice: "ledger record 2 (genesis): a second genesis",
    pointed_elsewhere: "does not say what the ledger says",
}
"""What was done -> what is said of it."""


@pytest.mark.parametrize("rule", BROKEN, ids=lambda rule: rule.__name__)
def test_i1_a_promotion_that_nobody_could_have_made_is_named(
    rule: Callable[[Place], None], place: Place
) -> None:
    """By the number of its record, and nothing else under I1."""
    assert told(place, "I1") == []

    rule(place)

    (said,) = told(place, "I1")
    assert BROKEN[rule] in said


def test_i1_a_promotion_as_it_should_be_is_not_named(place: Place) -> None:
    """The same steps by the product."""
    made = passed(place.home, None, "1")
    ask(place.home, made)
    say(place.home, made)
    place.move(made)

    assert told(place, "I1") == []


def test_i3_two_records_of_one_stage_are_named(place: Place) -> None:
    """For one night and one input; another input is another record."""
    for taken in ("a", "b"):
        place.ledger.append(
            "stage", night="2026-01-02", stage="discover", input=taken * 64, output=place.first
        )
    assert told(place, "I3") == []

    place.ledger.append("stage", night="2026-01-02", stage="discover", input="a" * 64, output=place.first)

    assert told(place, "I3") == ["night 2026-01-02 has 2 records of stage discover for one input"]


def test_i3_two_decisions_on_one_verdict_are_named(place: Place) -> None:
    """Also where both say the same."""
    made = passed(place.home, None, "1")
    ask(place.home, made)
    say(place.home, made)
    assert told(place, "I3") == []

    place.approved(made)

    assert told(place, "I3") == [f"verdict {made.digest[:12]} has 2 decisions"]


def test_i1_an_answer_that_cannot_be_read_is_named(place: Place) -> None:
    """And the other checks go on."""
    made = passed(place.home, None, "1")
    place.ledger.append("approval", input=made.digest, body={"decision": "yes"})
    place.move(made)

    (said,) = told(place, "I1")
    assert "ledger record 2 (approval)" in said
    assert told(place, "I2")
