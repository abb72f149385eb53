"""Tickets for what no training takes away."""

from rsi.discover.signals import signals
from rsi.discover.tickets import EXAMPLES, Desk
from rsi.discover.window import observe
from rsi.records import Blame, Ticket
from tests.discover.facts_made import call, facts, run


def tickets(*many: object) -> tuple[Ticket, ...]:
    window, desk = observe(many), Desk()  # type: ignore[arg-type]
    for one in many:
        desk.take(one.trace_uid, signals(one, window))  # type: ignore[attr-defined,arg-type]
    return desk.tickets()


def test_what_is_the_models_makes_no_ticket() -> None:
    """It is trained away."""
    assert tickets(facts("t", calls=(call("f", error="no seat"),))) == ()


def test_a_ticket_counts_traces_and_names_places() -> None:
    """One for each blame and signature, up to five places, the most frequent first."""
    lost = [facts(f"t{n}", calls=(call("f", error="connection reset"),)) for n in range(9)]
    made = tickets(*lost, facts("u", cut="s"))
    assert [(one.blame, one.signature, one.count) for one in made] == [
        (Blame.ENVIRONMENT, "tool_error:f:connection reset", 9),
        (Blame.HARNESS, "cut:answer", 1),
    ]
    assert [seen.trace_uid for seen in made[0].evidence] == [f"t{n}" for n in range(EXAMPLES)]
    assert made[0].title == "f answers with an error: connection reset"
    assert made[1].evidence[0].span_uid == "s"


def test_why_it_is_not_the_models() -> None:
    """The reasons of the runs, where they have that blame."""
    done = ("assistant", call("pay", b=1))
    good = run("g", done, ("assistant", "ok"), passed=True, expected=[("pay", {"b": 1})], task="another")
    broken = run("t", done, ("assistant", "ok"), expected=[("pay", {"b": 1})])
    (made,) = tickets(good, broken)
    assert made.blame is Blame.TASK
    assert made.reasons == ("all that is expected was done and said, and yet it failed",)
