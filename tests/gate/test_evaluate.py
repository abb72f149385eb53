from pathlib import Path

import pytest

from rsi.errors import ContractError, IntegrityError, TransientError
from rsi.gate.contest import Contest, Means
from rsi.gate.evaluate import evaluate
from rsi.gate.scorecard import Scorecard
from rsi.records import OutcomeKind, Version
from tests.gate.made import (
    BASE,
    CANDIDATE,
    CHAMPION,
    HARNESS,
    LABELS,
    OTHER,
    answers_right,
    engine,
    harness_of,
    number,
    routes_right,
    world,
)


def test_both_versions_answer_the_same_items(tmp_path: Path) -> None:
    """Every item once, in order, with the role as the answer of a route and the text of an answer."""
    made = world(tmp_path, per_label=3, easy=4)
    card = evaluate(
        made.contract,
        made.suites,
        Contest(CHAMPION, CANDIDATE),
        Means(engine(routes_right(1), answers_right(5)), harness_of),
    )
    routed, easy = card.of("routing/v1"), card.of("easy/v1")

    assert [r.item_id for r in routed] == [i.item_id for i in made.suites["routing/v1"].items]
    assert (routed[4].champion_answer, routed[4].candidate_answer) == ("L0", "L1")
    assert (routed[4].champion.score, routed[4].candidate.score) == (0.0, 1.0)
    assert [r.candidate_answer for r in easy] == [f"It is fact{n}." for n in range(4)]
    assert [(a.suite, a.pin, a.items) for a in card.asked] == [
        (name, suite.digest, len(suite.items)) for name, suite in made.suites.items()
    ]
    assert Scorecard.parse(card.model_dump_json().encode()) == card.model_copy(update={"took": {}})


def test_versions_take_turns_batch_by_batch(tmp_path: Path) -> None:
    """Neither version is asked everything before the other begins; progress counts items."""
    made, seen = world(tmp_path, per_label=4, easy=2), []
    scripted = engine(routes_right(1), answers_right(5))
    evaluate(
        made.contract,
        made.suites,
        Contest(CHAMPION, CANDIDATE),
        Means(
            scripted,
            harness_of,
            progress=lambda what, done, total, note="": seen.append((what, done, total, note)),
        ),
        batch=8,
    )
    turns = [adapter for adapter, _ in scripted.asked]

    assert turns[:32] == ["L0-old"] * 8 + ["L0-new"] * 8 + ["L0-old"] * 8 + ["L0-new"] * 8
    assert seen == [
        ("gate routing/v1", 8, 16, ""),
        ("gate routing/v1", 16, 16, ""),
        ("gate easy/v1", 2, 2, ""),
    ]


def test_a_harness_that_touches_one_hop_is_asked_for_that_hop_only(tmp_path: Path) -> None:
    """Another route text, same adapter: routes are asked again, the answers of the guard are kept."""
    made = world(tmp_path, per_label=2, easy=6)
    scripted = engine(routes_right(1), answers_right(5))
    version = Version(base=BASE, adapters=CHAMPION.adapters, harness=OTHER.digest, parent=CHAMPION.digest)
    card = evaluate(made.contract, made.suites, Contest(CHAMPION, version), Means(scripted, harness_of))

    assert len(scripted.asked) == 2 * 8 + 6
    assert all(r.champion_answer == r.candidate_answer for r in card.of("easy/v1"))


def test_an_adapter_of_another_role_changes_nothing_that_is_asked(tmp_path: Path) -> None:
    """A candidate with a new L2 routes and answers with the champion's L0: no question is put twice."""
    made = world(tmp_path, per_label=2, easy=6)
    scripted = engine(routes_right(1), answers_right(5))
    adapters = {**CHAMPION.adapters, "L2": "L0-new"}
    version = Version(base=BASE, adapters=adapters, harness=HARNESS.digest, parent=CHAMPION.digest)
    evaluate(made.contract, made.suites, Contest(CHAMPION, version), Means(scripted, harness_of))

    assert len(scripted.asked) == len(set(scripted.asked)) == 8 + 6


def test_the_bare_base_and_a_tie(tmp_path: Path) -> None:
    """A version without adapters asks the base; where no label is best the router's own role answers."""
    made = world(tmp_path, per_label=2, easy=2)
    scripted = engine(lambda text: "tie", answers_right(5))
    bare = Version(base=BASE, adapters={}, harness=HARNESS.digest, parent=None)
    card = evaluate(made.contract, made.suites, Contest(bare, CANDIDATE), Means(scripted, harness_of))

    assert {adapter for adapter, _ in scripted.asked} == {None, "L0-new"}
    assert {r.candidate_answer for r in card.of("routing/v1")} == {LABELS["chat"]}


def test_an_item_that_breaks_the_engine_costs_that_item(tmp_path: Path) -> None:
    """The batch is asked again one by one; the error is counted apart, with its kind."""
    made, notes = world(tmp_path, per_label=3, easy=4), []
    scripted = engine(routes_right(1), answers_right(5))
    scripted.fail = lambda adapter, text: (
        RuntimeError("too long") if adapter == "L0-new" and text == "question 2 please" else None
    )
    card = evaluate(
        made.contract,
        made.suites,
        Contest(CHAMPION, CANDIDATE),
        Means(scripted, harness_of, progress=lambda what, done, total, note="": notes.append(note)),
    )
    kinds = [r.candidate.kind for r in card.of("easy/v1")]

    assert kinds == [OutcomeKind.SCORED, OutcomeKind.SCORED, OutcomeKind.ERROR, OutcomeKind.SCORED]
    assert card.of("easy/v1")[2].candidate.detail == "RuntimeError: too long"
    assert card.of("easy/v1")[2].champion.score == 1.0
    assert notes[-1] == "1 errors"


def test_scores_that_are_no_numbers_are_errors(tmp_path: Path) -> None:
    """NaN log-probabilities are missing evidence, not the first label."""
    made = world(tmp_path, per_label=1, easy=1)
    scripted = engine(routes_right(1), answers_right(5))
    plain = scripted.choose
    scripted.choose = (
        lambda prompts, choices, adapter: [  # type: ignore[method-assign]
            (float("nan"), *row[1:]) if adapter == "L0-new" else row
            for row in plain(prompts, choices, adapter)
        ]
    )
    card = evaluate(made.contract, made.suites, Contest(CHAMPION, CANDIDATE), Means(scripted, harness_of))

    assert {r.candidate.kind for r in card.of("routing/v1")} == {OutcomeKind.ERROR}
    assert {r.champion.kind for r in card.of("routing/v1")} == {OutcomeKind.SCORED}


def test_an_engine_that_was_away_all_the_time_may_be_tried_again(tmp_path: Path) -> None:
    """Nothing measured is no verdict; one answer is enough for a scorecard full of errors."""
    made = world(tmp_path, per_label=1, easy=2)
    scripted = engine(routes_right(1), answers_right(5))
    scripted.fail = lambda adapter, text: TransientError("connection refused")
    with pytest.raises(TransientError, match="none of 12 questions: connection refused"):
        evaluate(made.contract, made.suites, Contest(CHAMPION, CANDIDATE), Means(scripted, harness_of))
    scripted.fail = lambda adapter, text: TransientError("connection refused") if number(text) else None
    card = evaluate(made.contract, made.suites, Contest(CHAMPION, CANDIDATE), Means(scripted, harness_of))

    assert [r.champion.kind for r in card.of("easy/v1")] == [OutcomeKind.SCORED, OutcomeKind.ERROR]


def test_a_broken_file_stops_the_evaluation(tmp_path: Path) -> None:
    """IntegrityError is never an item's outcome."""
    made = world(tmp_path, per_label=1, easy=1)
    scripted = engine(routes_right(1), answers_right(5))
    scripted.fail = lambda adapter, text: IntegrityError("adapter L0-new is not what its name says")
    with pytest.raises(IntegrityError, match="L0-new"):
        evaluate(made.contract, made.suites, Contest(CHAMPION, CANDIDATE), Means(scripted, harness_of))


def test_what_the_engine_lacks_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    """Another base, an adapter that is not loaded, or an anchor that is missing."""
    made, anchored = world(tmp_path / "a", 1, 1), world(tmp_path / "b", 1, 1, anchor="genesis")
    scripted = engine(routes_right(1), answers_right(5))
    foreign = Version(base="c" * 64, adapters={}, harness=HARNESS.digest, parent=None)
    absent = Version(base=BASE, adapters={"L0": "L0-none"}, harness=HARNESS.digest, parent=None)
    for version, says in ((foreign, "base cccccccccccc"), (absent, "L0-none.*not loaded")):
        with pytest.raises(ContractError, match=says):
            evaluate(made.contract, made.suites, Contest(CHAMPION, version), Means(scripted, harness_of))
    with pytest.raises(ContractError, match="anchor genesis"):
        evaluate(
            anchored.contract, anchored.suites, Contest(CHAMPION, CANDIDATE), Means(scripted, harness_of)
        )

    assert scripted.asked == []


def test_the_anchor_is_asked_the_guards_only(tmp_path: Path) -> None:
    """A third version answers the guard, an anchor that is the champion costs nothing."""
    made = world(tmp_path, per_label=2, easy=5, anchor="genesis")
    scripted = engine(routes_right(1), answers_right(5))
    bare = Version(base=BASE, adapters={}, harness=HARNESS.digest, parent=None)
    card = evaluate(
        made.contract, made.suites, Contest(CHAMPION, CANDIDATE, bare), Means(scripted, harness_of)
    )
    same = evaluate(
        made.contract, made.suites, Contest(CHAMPION, CANDIDATE, CHAMPION), Means(scripted, harness_of)
    )

    assert [text for adapter, text in scripted.asked if adapter is None] == [
        f"question {n} please" for n in range(5)
    ]
    assert [r.item_id for r in card.anchor_of("easy/v1")] == [f"q{n}" for n in range(5)]
    assert (card.anchor, same.anchor) == (bare.digest, CHAMPION.digest)
    assert same.anchor_results == () and same.anchor_of("easy/v1") == same.of("easy/v1")
