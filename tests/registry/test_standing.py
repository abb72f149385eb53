"""How requests stand: open, expired, superseded, stale, rebased, decided; and who may answer them."""

from concurrent.futures import ThreadPoolExecutor

import orjson
import pytest

from rsi.errors import RefusedError
from rsi.records import Decision, Rule
from rsi.registry import approval, approvers
from rsi.settings import Home
from rsi.store.ledger import Ledger
from tests.made import FixedClock
from tests.registry.asked import ask, begin, candidate, kinds, move, passed, say, standing


@pytest.fixture
def asked(home):
    """A home with one request about the adapter of L0."""
    begin(home)
    verdict = passed(home, "L0", "a")
    ask(home, verdict)
    return home, verdict


def waiting(home: Home, clock: FixedClock | None = None) -> list[str]:
    """Verdicts that can be answered now."""
    clock = clock or FixedClock()
    return [one.verdict for one in approval.waiting(Ledger(home.ledger, clock), clock.now())]


def test_requests_wait_in_the_order_in_which_they_were_made(asked):
    """One a role; each with its role, its authors and its end."""
    home, first = asked
    clock = FixedClock()
    clock.move(hours=1)
    second = passed(home, "L1", "b")
    ask(home, second, clock)

    found = approval.requests(Ledger(home.ledger, clock))

    assert waiting(home) == [first.digest, second.digest]
    assert [one.role for one in found] == ["L0", "L1"]
    assert found[0].created < found[1].created < found[0].expires
    assert found[0].authors == (approvers.author(),)


@pytest.mark.parametrize("role", ["L0", None])
def test_a_newer_candidate_of_the_same_role_supersedes(home, role):
    """The old one waits no longer and cannot be approved; its reason names the new one."""
    begin(home)
    old, new = passed(home, role, "a"), passed(home, role, "b")
    ask(home, old)
    ask(home, new)

    assert (standing(home, old), standing(home, new)) == ("superseded", "open")
    assert waiting(home) == [new.digest]
    with pytest.raises(RefusedError, match=f"superseded: verdict {new.digest[:12]}"):
        say(home, old)
    assert list(approval.over(Ledger(home.ledger, FixedClock()), FixedClock().now())) == [old.digest]


def test_a_candidate_of_another_role_supersedes_nothing(asked):
    """Both wait; a change of the harness alone is a role of its own here."""
    home, first = asked
    other = passed(home, None, "b")
    ask(home, other)

    assert waiting(home) == [first.digest, other.digest]


def test_16_a_request_ends_by_itself_and_cannot_be_approved_then(asked):
    """Days later; saying no is still possible, so that the ledger knows that somebody looked."""
    home, verdict = asked
    late = FixedClock()
    late.move(days=8)

    assert (standing(home, verdict, late), waiting(home, late)) == ("expired", [])
    with pytest.raises(RefusedError, match="expired at 2026-01-09"):
        say(home, verdict, clock=late)
    assert say(home, verdict, Decision.REJECT, clock=late) == "approval"
    assert standing(home, verdict, late) == "rejected"


def test_16_what_another_promotion_made_stale_is_refused_and_says_how_to_go_on(asked):
    """Another role went into service: the evidence is about the past, and the change can be gated again."""
    home, verdict = asked
    move(home, candidate(home, "L1", "b").digest)

    assert (standing(home, verdict), waiting(home)) == ("stale", [])
    with pytest.raises(RefusedError, match=f"stale evidence.*rsi rebase {verdict.digest[:8]}"):
        say(home, verdict)


def test_a_change_that_was_gated_again_ends_its_first_request_as_rebased(asked):
    """The new one keeps the authors of the old one."""
    home, verdict = asked
    move(home, candidate(home, "L1", "b").digest)
    again = passed(home, "L0", "a")
    ask(home, again, authors=("grace",))
    approval.settle_rebase(home, FixedClock(), verdict.digest, again)

    assert (standing(home, verdict), standing(home, again)) == ("rebased", "open")
    with pytest.raises(RefusedError, match=f"rebased: verdict {again.digest[:12]}"):
        say(home, verdict)
    with pytest.raises(RefusedError, match="'grace' made this candidate"):
        say(home, again, approver="grace")


def test_16_reject_then_approve_stays_rejected(asked):
    """And the same decision by somebody else is a row of its own that says who decided."""
    home, verdict = asked
    say(home, verdict, Decision.REJECT)

    with pytest.raises(RefusedError, match="was decided already: reject by ada"):
        say(home, verdict)
    with pytest.raises(RefusedError, match="was decided already: reject by ada"):
        say(home, verdict, Decision.REJECT, approver="grace")
    assert say(home, verdict, Decision.REJECT) == "approval"
    assert kinds(home)[-3:] == ["approval", "refusal", "refusal"]


def test_16_of_eight_answers_at_once_one_is_the_decision(asked):
    """Half of them say no; the others are told so, and every one of them is one row."""
    home, verdict = asked

    def give(number: int) -> str:
        decision = (Decision.APPROVE, Decision.REJECT)[number % 2]
        try:
            return say(home, verdict, decision, approver=f"person {number}")
        except RefusedError as refused:
            return str(refused)

    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(give, range(8)))

    assert told.count("approval") == 1
    assert sum("was decided already" in one for one in told) == 7
    assert (kinds(home).count("approval"), kinds(home).count("refusal")) == (1, 7)


def test_nobody_approves_what_they_made(asked, monkeypatch):
    """The user of the machine that ran the night, in whatever case the name is written."""
    home, verdict = asked
    with pytest.raises(RefusedError, match="somebody else has to answer"):
        say(home, verdict, approver=approvers.author().upper())
    assert kinds(home)[-1] == "refusal"
    monkeypatch.setenv("LOGNAME", "somebody")
    assert approvers.author() == "somebody"
    assert say(home, verdict, approver="somebody") == "approval"


def test_only_whom_the_contract_names_may_answer(home):
    """The verdict repeats the contract's rule, so that it is bound to the evidence digest."""
    begin(home)
    free = passed(home, "L1", "b")
    verdict = passed(home, "L0", "a", Rule(approvers=("grace",)))
    ask(home, verdict)

    assert verdict.digest != free.digest
    assert "rule" not in orjson.loads(orjson.dumps(free.model_dump(exclude_none=True)))
    with pytest.raises(RefusedError, match="'ada' may not answer here; the contract names grace"):
        say(home, verdict)
    assert say(home, verdict, approver="grace") == "approval"


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"approver": " ada"}, "no space around it"),
        ({"approver": "ada\u202e"}, "no control characters"),
        ({"approver": "a" * 101}, "at most 100 characters"),
        ({"reason": " \n"}, "needs the approver's name and a reason"),
        ({"reason": "x" * 1_000_000}, "at most 2000 characters; this one has 1,000,000"),
        ({"evidence": "{{ x }}"}, "does not begin with"),
        ({"signature": "x"}, "names no allowed signers"),
    ],
    ids=["space", "control", "long name", "no reason", "megabyte", "template", "signature"],
)
def test_18_an_answer_that_cannot_be_read_is_refused_and_kept_short(asked, how, why):
    """One row each, cut to what an answer may hold."""
    home, verdict = asked

    with pytest.raises(RefusedError, match=why):
        say(home, verdict, **how)

    last = Ledger(home.ledger, FixedClock()).records()[-1]
    assert last.kind == "refusal"
    assert len(orjson.dumps(last.body)) < 20_000
    assert waiting(home) == [verdict.digest]


def test_a_ledger_from_before_roles_were_written_down_still_reads(asked):
    """Its requests supersede nothing and have no known author."""
    home, _ = asked
    ledger = Ledger(home.ledger, FixedClock())
    old = ledger.records()[-1]
    body = {"expires": old.body["expires"], "replaces": old.body["replaces"]}
    bare = passed(home, "L1", "c")
    ledger.append("request", night="2026-01-01", input=bare.digest, output=bare.candidate, body=body)
    ask(home, passed(home, None, "d"))

    assert standing(home, bare) == "open"
    assert say(home, bare, approver=approvers.author()) == "approval"
