from pathlib import Path

import pytest

from rsi.gate.contest import Contest, Means
from rsi.gate.evaluate import evaluate
from rsi.gate.scorecard import Assume, count, paired, summary
from rsi.records import OutcomeKind
from tests.gate.made import (
    CANDIDATE,
    CHAMPION,
    answers_right,
    engine,
    harness_of,
    number,
    routes_right,
    world,
)


def test_a_summary_counts_and_forgets_the_items(tmp_path: Path) -> None:
    """By label, source and hardness, with wins, losses and ends; no id, text or answer is left in it."""
    made = world(tmp_path, per_label=8, easy=10)
    scripted = engine(routes_right(1), lambda text: "" if number(text) == 1 else answers_right(5)(text))
    card = evaluate(made.contract, made.suites, Contest(CHAMPION, CANDIDATE), Means(scripted, harness_of))
    target, guard = summary(card, made.contract)

    assert (target.part, target.margin, guard.part, guard.margin) == ("target", None, "guard", 0.08)
    assert target.total == ("all", 32, 8 + 3 * 2, 32)
    assert [one[:2] for one in target.by_label] == [("L0", 8), ("L1", 8), ("L2", 8), ("L3", 8)]
    assert [one[:2] for one in target.by_hardness] == [("easy", 24), ("hard", 8)]
    assert (target.wins, target.losses, target.difference) == (18, 0, 18 / 32)
    assert target.interval.low < target.difference < target.interval.high
    assert guard.by_label == ()
    assert (guard.total.before, guard.total.after) == (6, 9)
    assert (guard.wins, guard.losses) == (4, 1)
    assert guard.outcomes["candidate"] == {
        **dict.fromkeys(OutcomeKind, 0),
        OutcomeKind.SCORED: 9,
        OutcomeKind.EMPTY: 1,
    }
    assert "fact" not in repr((target, guard)) and "L0-3" not in repr((target, guard))


def test_missing_answers_count_as_assumed(tmp_path: Path) -> None:
    """Against: champion right and candidate wrong. For: the other way round. Never in between."""
    made = world(tmp_path, per_label=1, easy=4)
    scripted = engine(routes_right(1), answers_right(5))
    scripted.fail = lambda adapter, text: RuntimeError("x") if text == "question 3 please" else None
    results = evaluate(
        made.contract, made.suites, Contest(CHAMPION, CANDIDATE), Means(scripted, harness_of)
    ).of("easy/v1")

    assert count("all", results) == ("all", 4, 4, 3)
    assert count("all", results, Assume.FOR) == ("all", 4, 3, 4)
    assert (paired(results).losses, paired(results, Assume.FOR).wins) == (1, 1)


def test_clusters_widen_the_interval(tmp_path: Path) -> None:
    """The same answers in clusters of five are worth less; one cluster is worth nothing."""
    made = world(tmp_path, per_label=10, easy=1)
    scripted = engine(routes_right(1), answers_right(5))
    alone = evaluate(
        made.contract, made.suites, Contest(CHAMPION, CANDIDATE), Means(scripted, harness_of)
    ).of("routing/v1")

    def clustered(size: int) -> tuple[float, float]:
        grouped = [r.model_copy(update={"cluster": str(at // size)}) for at, r in enumerate(alone)]
        return paired(grouped).interval()

    low, high = paired(alone).interval()
    assert clustered(10)[1] - clustered(10)[0] > high - low
    assert clustered(100) == (-1, 1)
    assert paired(()).interval() == (-1, 1)
    assert clustered(1) == pytest.approx((low, high))
