"""Examples from the dev side, and what an answer takes."""

import pytest

from rsi.context import Context, Start
from rsi.gate.dev import place, told
from rsi.gate.examples import examples, worth_showing
from rsi.gate.scorecard import Asked, Scorecard
from rsi.gate.spent import spent
from rsi.harness import hcp
from rsi.prices import Prices
from rsi.records import ItemResult, Outcome, OutcomeKind
from rsi.registry import champion, versions
from rsi.report.evidence import Example
from rsi.settings import Deployment
from rsi.store.ledger import Ledger
from rsi.traces.ingest import ingest
from tests import night_made
from tests.fakes import Taught
from tests.made import REQUESTS, FixedClock, router


@pytest.fixture
def dev(tmp_path, tiny_base):
    """A context whose labelled traces all lie on the dev side, and a candidate with another route text."""
    home = night_made.make_home(tmp_path / "home", tiny_base)
    plain = night_made.settings(tiny_base)
    split = {"dev": 0.999999, "gate": 0.0, "vault": 0.0}
    deployment = Deployment.model_validate({**plain.model_dump(), "split": split})
    ingest(home, FixedClock(), [home.inbox], deployment=deployment)
    now = champion.current(Ledger(home.ledger, FixedClock()))
    start = Start(night="2026-01-02", champion=now, ordinal=0, deployment=deployment.digest, previous=None)
    before = versions.load(home, now)
    changed = router().model_copy(update={"prompts": router().prompts.model_copy(update={"route": "Route."})})
    after = before.model_copy(update={"harness": hcp.store(home.harnesses, changed), "parent": now})
    return Context(home, deployment, night_made.world(tiny_base), start), before, after


def test_losses_come_first_and_at_most_three_are_shown(dev):
    """Of requests whose right role is known; both answers beside the right one."""
    context, before, after = dev
    real = context.world.engine()
    wrong = {"L1": REQUESTS["L0"], "L2": REQUESTS["L1"], "L3": REQUESTS["L2"], "L0": REQUESTS["L3"]}

    found = examples(context, before, after, Taught(real, wrong))
    lost = worth_showing(found)
    won = worth_showing(examples(context, before, after, Taught(real, REQUESTS)))

    right = {text: role for role, texts in REQUESTS.items() for text in texts}
    assert len(lost) == 3
    assert all(one.expected == right[one.request] and one.after != one.expected for one in lost)
    assert [one.before == one.expected for one in lost] == sorted(
        (one.before == one.expected for one in lost), reverse=True
    )
    assert len(found) > len(lost), "the score is over all that was asked"
    assert won and all(one.after == one.expected != one.before for one in won)


def looks(right: int) -> list[Example]:
    """A hundred requests, so many of them answered right by the candidate."""
    return [Example(f"request {n}", "L1", "L0", "L1" if n < right else "L0") for n in range(100)]


def test_of_dev_results_the_best_leaves_and_in_steps(home):
    """A step is 5 points here; what is no new best tells nothing. Who comes again is told what they were told first."""
    said = [told(home, "L0", name, looks(right)) for name, right in zip("abcd", (62, 60, 64, 71), strict=True)]

    assert [(round(one.best, 2), one.risen) for one in said] == [(0.6, True), (0.6, False), (0.6, False), (0.7, True)]
    assert said[0].step == 0.05
    assert told(home, "L0", "b", looks(100)) == said[1]
    assert told(home, "L1", "b", looks(50)).risen, "each role has a ladder of its own"
    assert told(home, "L0", "e", []) is None
    assert sorted(path.name for path in place(home, "L0").parent.iterdir()) == ["L0.json", "L1.json"]


def test_nothing_is_asked_where_both_route_alike(dev):
    """A candidate of another role; and requests of other sides are never examples."""
    context, before, _ = dev
    other = before.model_copy(update={"adapters": {"L1": "L1-0123456789ab"}})

    assert examples(context, before, other, None) == ()


def test_written_answers_are_measured_by_their_length():
    """A route is one choice, whatever version makes it."""

    def result(suite: str, before: str, after: str) -> ItemResult:
        right = Outcome(kind=OutcomeKind.SCORED, score=1.0)
        return ItemResult(
            item_id=before, suite=suite, cluster="c", expected="x", source="own", hard=False,
            champion=right, candidate=right, champion_answer=before, candidate_answer=after,
        )  # fmt: skip

    asked = (
        Asked(suite="routing/v1", pin="1" * 64, hop="route", items=1),
        Asked(suite="easy/v1", pin="2" * 64, hop="answer", items=2),
    )
    routed = result("routing/v1", "L0", "L1")
    results = (routed, result("easy/v1", "four", "x" * 6), result("easy/v1", "white2", "x" * 6))
    card = Scorecard(contract_digest="c" * 64, champion="a" * 64, candidate="b" * 64, asked=asked, results=results)

    assert spent(card, Prices()) == "easy: 5 → 6 characters an answer (+20%); routing: one choice, as before"
