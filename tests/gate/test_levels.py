"""Levels of a suite that is played: a gain on one does not hide a loss on another."""

from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest

from rsi.errors import ContractError
from rsi.gate import levels
from rsi.gate.contract import Contract, read
from rsi.gate.scorecard import Asked, Scorecard, summary
from rsi.gate.verdict import judge
from rsi.records import Item, ItemResult, Judgement, Outcome, OutcomeKind, Pool, WorldTask
from rsi.report.brief import brief
from rsi.report.card import card as card_of
from rsi.report.page import page
from rsi.settings import PROJECT
from tests.gate.made import with_tables, world
from tests.report import example

PASS, FAIL, DOUBT = Judgement.PASS, Judgement.FAIL, Judgement.CANNOT_TELL
RIGHT, WRONG = (Outcome(kind=OutcomeKind.SCORED, score=score) for score in (1.0, 0.0))
EACH = 50
BETTER = ((14, 48), (6, 8), (5, 7))
"""Right before and after at each level."""
LOPSIDED = ((14, 48), (6, 0), (5, 1))
"""As GRPO on tasks of one call did at the service desk (docs/desk.md), and enough of it for the bar of the sum."""


def items() -> tuple[Item, ...]:
    """Fifty episodes of each of three levels."""
    return tuple(
        Item(item_id=f"{level}-{n}", messages=(), expected="", cluster=f"{level}-{n}", source="own", world=task(level))
        for level in (1, 2, 3)
        for n in range(EACH)
    )


def task(level: int) -> str:
    """An episode of a level, of which nothing else is asked here."""
    said = {"task_id": "w", "environment": "desk", "world": "{}", "request": "", "expected": "", "oracle": ()}
    return WorldTask(**said, level=level, kind="", pool=Pool.REWORDED).model_dump_json()


def result(name: str, suite: str, before: bool, after: bool) -> ItemResult:
    """Both versions on one item."""
    return ItemResult(
        item_id=name, suite=suite, cluster=name, expected="", source="own", hard=False, champion_answer="",
        champion=RIGHT if before else WRONG, candidate=RIGHT if after else WRONG, candidate_answer="",
    )  # fmt: skip


def scored(contract: Contract, shares: tuple[tuple[int, int], ...], each: int = EACH) -> Scorecard:
    """So many right of each level; routing stays what it was."""
    target, guard = (part.suite for part in contract.parts)
    played = chain.from_iterable(
        (result(f"{level}-{n}", target, n < before, n < after) for n in range(each))
        for level, (before, after) in enumerate(shares, 1)
    )
    results = (*played, *(result(f"r{n}", guard, n % 2 == 0, n % 2 == 0) for n in range(200)))
    hops = {target: "world", guard: "route"}
    asked = (
        Asked(suite=name, pin=pin, hop=hops[name], items=sum(one.suite == name for one in results))
        for name, pin in contract.pins.items()
    )
    return Scorecard(
        contract_digest=contract.digest, champion="a" * 64, candidate="b" * 64, anchor="a" * 64,
        asked=tuple(asked), results=results,
    )  # fmt: skip


def judgements(name: str, shares: tuple[tuple[int, int], ...], each: int = EACH) -> dict[str, Judgement]:
    """What a shipped contract says, clause by clause, where it is no pass."""
    contract = read(name, PROJECT / "contracts")
    verdict = judge(contract, scored(contract, shares, each), "n", "L1", target=items())
    return {one.name: one.judgement for one in verdict.clauses if one.judgement is not PASS}


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        (BETTER, {}),
        (LOPSIDED, {"target_levels": DOUBT}),
        (((14, 50), (20, 0), (5, 7)), {"target_levels": FAIL}),
    ],
    ids=["better", "lopsided", "lost"],
)
def test_a_level_that_falls_is_named_whatever_the_others_gain(shares, said) -> None:
    """A loss that is not excluded cannot tell, one of the margin fails; without the bar both pass."""
    assert judgements("desk/v3", shares) == said
    assert judgements("desk/v2", shares) == {}


def test_both_contracts_with_a_bar_for_levels_have_the_same() -> None:
    """For items that are frozen, and for fresh ones."""
    frozen, fresh = (read(name, PROJECT / "contracts").levels for name in ("week-desk/v2", "desk/v3"))

    assert frozen == fresh and frozen is not None


def test_a_level_with_few_items_cannot_tell() -> None:
    """However they come out."""
    assert judgements("desk/v3", ((14, 44), (6, 8), (5, 7)), each=44)["target_levels"] is DOUBT


def test_levels_are_told_in_form_card_and_report() -> None:
    """Each with its interval; what fell comes first in the form. Under any contract, and in counts only."""
    contract = read("desk/v3", PROJECT / "contracts")
    found = scored(contract, LOPSIDED)
    verdict = judge(contract, found, "n", "L1", target=items())
    tables = summary(found, contract, levels.levels_of(items()))
    evidence = replace(example.evidence(), verdict=verdict, tables=tables)
    form, card, report = brief(evidence, example.certificate()), card_of(evidence), page(evidence)

    assert "| level 2 | 50 | 12.0% → 0.0% | −12.0 |" in form
    assert form.index("level 2") < form.index("level 3") and "level 1" not in form
    assert "| level 2 | 50 | 12.0% | 0.0% | −12.0 | −23.8 to −4.0 |" in card
    assert "Target: every level" in card and "level 2 12.0% → 0.0% of 50, at least −22.3" in card
    assert "Right answers by level" in report and "<td>level 3</td>" in report
    assert summary(found, contract)[0].by_level == ()


def test_a_bar_for_levels_wants_a_target_that_has_them(tmp_path: Path) -> None:
    """Rather than pass over nothing."""
    made = with_tables(world(tmp_path, 1, 1), levels={"min_items": 1, "margin": 0.2})

    with pytest.raises(ContractError, match="items of suite routing/v1 have none"):
        levels.check(made.contract, made.suites)
