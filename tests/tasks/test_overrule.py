"""A person says that a refusal is wrong, and it stays said."""

import pytest

from rsi.errors import ContractError, RefusedError
from rsi.records import Refusal
from rsi.settings import Deployment
from rsi.store.ledger import Ledger
from rsi.tasks import refused
from rsi.tasks.overrule import KIND, find, known, overrule
from rsi.tasks.refused import Reason
from tests.made import FixedClock

CLOCK = FixedClock()
ANYBODY = Deployment()


def refusal(number: int, reason: Reason = Reason.HELD_OUT_NEAR) -> Refusal:
    """A refusal."""
    return Refusal(
        task_id=f"t-{number:016x}",
        reason=reason.value,
        source="correction",
        evidence="61% alike: dim the lamps",
        held_out="suite/v1:a" if reason is Reason.HELD_OUT_NEAR else None,
        text="dim the lamps",
        expected="L1",
        mode_id=None,
        traces=("trace",),
    )


@pytest.fixture
def kept(home):
    """A home with a night's refusals."""
    refused.write(
        home, "2026-01-02", [refusal(1), refusal(2, Reason.HELD_OUT_EXACT), refusal(3, Reason.SELF_CHECK)]
    )
    return home


def test_refusals_come_back_as_they_were(kept):
    """In the order of their ids; the same ones give the same bytes."""
    before = refused.path(kept, "2026-01-02").read_bytes()
    found = refused.read(kept)

    assert [one.task_id[-1] for one in found] == ["1", "2", "3"]
    refused.write(kept, "2026-01-02", found[::-1])
    assert refused.path(kept, "2026-01-02").read_bytes() == before


def test_the_last_night_is_the_last(kept):
    """Also where a date has more than nine."""
    for night in ("2026-01-02.10", "2026-01-02.2", "2026-01-01"):
        refused.write(kept, night, [])

    assert refused.nights(kept) == ("2026-01-01", "2026-01-02", "2026-01-02.2", "2026-01-02.10")
    assert refused.read(kept) == ()
    with pytest.raises(ContractError, match="2026-02-02"):
        refused.read(kept, "2026-02-02")


def test_a_decision_is_a_record_with_name_and_reason(kept):
    """Said twice it is one."""
    first = overrule(kept, CLOCK, ANYBODY, refusal(1).task_id[:18], "ada", "other lamps")
    again = overrule(kept, CLOCK, ANYBODY, refusal(1).task_id, "bob", "me too")

    assert again == first
    assert (first.kind, first.body["by"], first.body["why"]) == (KIND, "ada", "other lamps")
    assert known(Ledger(kept.ledger, CLOCK)) == {(refusal(1).task_id, "held_out_near")}


@pytest.mark.parametrize("number", [2, 3])
def test_some_refusals_stand(kept, number):
    """A verbatim held-out item, and what is no judgement."""
    with pytest.raises(RefusedError, match="stands"):
        overrule(kept, CLOCK, ANYBODY, refusal(number).task_id, "ada", "I want it")
    assert Ledger(kept.ledger, CLOCK).records() == ()


def test_somebody_must_say_why(kept):
    """And be an approver where the deployment names them."""
    named = Deployment(approvers=("ada",))
    for by, why, deployment in (("", "x", ANYBODY), ("ada", " ", ANYBODY), ("bob", "x", named)):
        with pytest.raises(RefusedError):
            overrule(kept, CLOCK, deployment, refusal(1).task_id, by, why)
    assert overrule(kept, CLOCK, named, refusal(1).task_id, "ada", "x").seq == 1


def test_a_night_knows_what_was_said_before_it_began(kept):
    """What is said while it runs belongs to the next: resumed, it makes the same bank."""
    ledger = Ledger(kept.ledger, CLOCK)
    ledger.append("night", night="2026-01-02")
    overrule(kept, CLOCK, ANYBODY, refusal(1).task_id, "ada", "other lamps")
    ledger.append("night", night="2026-01-03")

    assert known(ledger, "2026-01-02") == frozenset()
    assert known(ledger, "2026-01-03") == {(refusal(1).task_id, "held_out_near")}


def test_a_refusal_is_found_by_its_first_digits(kept):
    """One, or none."""
    assert find(kept, refusal(2).task_id)[1] == refusal(2, Reason.HELD_OUT_EXACT)
    with pytest.raises(ContractError, match="3 begin like"):
        find(kept, "t-0")
    with pytest.raises(ContractError, match="no refused task"):
        find(kept, "t-f")
