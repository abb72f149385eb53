"""The account of questions: alpha over nights, retirement, retries, and what `rsi verify` says of a cheat."""

from pathlib import Path

import pytest

from rsi.errors import ContractError, RefusedError
from rsi.gate.budget import Books, allowance
from rsi.gate.contest import Contest, Means
from rsi.gate.gate import gate
from rsi.questions import Ask, Bounds, Certificate, Registration
from rsi.records import Judgement, LedgerRecord, Verdict, Version
from rsi.registry.questions import broken
from rsi.settings import Home
from rsi.statistics.spending import reused
from rsi.store.ledger import Ledger
from tests.gate.made import (
    BASE,
    CHAMPION,
    HARNESS,
    OLD_ANSWERS,
    OLD_ROUTES,
    Say,
    ScriptedEngine,
    World,
    answers_right,
    harness_of,
    routes_right,
    with_tables,
    world,
)
from tests.made import FixedClock

REUSED = {"items": "reused", "questions": 6, "accepts": 2, "starts": 2, "alpha": 0.05}
FRESH = {"items": "fresh", "questions": 3, "alpha": 0.06}


@pytest.fixture
def made(tmp_path: Path) -> World:
    small = world(tmp_path / "contracts", 8, 20, min_items=20)
    guard = {"suite": "easy/v1", "digest": small.contract.pins["easy/v1"], "min_items": 10, "max_tokens": 8}
    return with_tables(small, guards=[{**guard, "margin": 0.4}])


def candidate(number: int) -> Version:
    return Version(
        base=BASE, adapters={"L0": f"L0-new{number}"}, harness=HARNESS.digest, parent=CHAMPION.digest
    )


def ask(made: World, home: Path, number: int, routes: Say | None = OLD_ROUTES) -> Verdict:
    """Put a question with a candidate that routes so, or that the engine has not loaded."""
    new = candidate(number)
    name = new.adapters["L0"]
    engine = ScriptedEngine(
        {"L0-old": OLD_ROUTES} | ({name: routes} if routes else {}),
        {"L0-old": OLD_ANSWERS} | ({name: answers_right(3)} if routes else {}),
    )
    books = Books(Home(home), FixedClock(), f"2026-10-{number:02d}")
    return gate(
        Home(home),
        "made/v1",
        Contest(CHAMPION, new),
        Means(engine, harness_of),
        books,
        night=books.night,
        contracts=made.root,
    )


def records(home: Path) -> list[LedgerRecord]:
    return list(Ledger(Home(home).ledger, FixedClock()))


def test_without_a_budget_every_question_has_the_contracts_alpha(made: World, tmp_path: Path) -> None:
    """Each question and its certificate are in the ledger in that order; nothing is refused."""
    verdicts = [ask(made, tmp_path / "home", number) for number in (1, 2, 3)]
    found = records(tmp_path / "home")

    assert [one.kind for one in found] == ["ask", "verdict"] * 3
    assert [Ask.model_validate(one.body).allowance.alpha for one in found[::2]] == [0.05] * 3
    assert [one.input for one in found[1::2]] == [one.digest for one in verdicts]
    certificate = Certificate.model_validate(found[5].body)
    assert (certificate.question, certificate.spent, certificate.left) == (3, 0.15, None)
    assert list(broken(found)) == []


def test_reused_items_share_alpha_over_every_past_and_retire(made: World, tmp_path: Path) -> None:
    """Each question is asked at alpha over the number of pasts; after two passes the items are used up."""
    rich, home = with_tables(made, budget=REUSED), tmp_path / "home"
    no, first, second = (
        ask(rich, home, 1),
        ask(rich, home, 2, routes_right(1)),
        ask(rich, home, 3, routes_right(1)),
    )
    levels = [
        next(c for c in v.clauses if c.name == "target_gain").numbers["alpha"] for v in (no, first, second)
    ]
    certificate = Certificate.model_validate(records(home)[-1].body)

    assert [v.judgement for v in (no, first, second)] == [Judgement.FAIL, Judgement.PASS, Judgement.PASS]
    assert levels == [pytest.approx(reused(0.05, 6, 2), rel=1e-5)] * 3
    assert (certificate.questions_left, certificate.accepts_left, certificate.question) == (3, 0, 3)
    assert certificate.spent + (certificate.left or 0) == pytest.approx(0.05, rel=1e-4)
    with pytest.raises(RefusedError, match="retired: 2 candidates passed, 2 may"):
        ask(rich, home, 4)
    assert list(broken(records(home))) == []


def test_54_at_zero_the_gate_refuses_before_anything_is_asked(made: World, tmp_path: Path) -> None:
    """Three questions may be put; the fourth leaves no record and asks no engine."""
    few, home = with_tables(made, budget={**REUSED, "questions": 3}), tmp_path / "home"
    for number in (1, 2, 3):
        ask(few, home, number)
    before = records(home)

    with pytest.raises(RefusedError, match="3 of 3 questions were put"):
        ask(few, home, 4)
    assert records(home) == before


def test_another_contract_on_the_same_items_shares_their_account(made: World, tmp_path: Path) -> None:
    """A lower bar does not make used items new."""
    home = tmp_path / "home"
    ask(with_tables(made, budget={**REUSED, "questions": 2}), home, 1)
    lax = with_tables(made, budget={**REUSED, "questions": 2, "alpha": 0.2})
    ask(lax, home, 2)

    with pytest.raises(RefusedError, match="2 of 2 questions"):
        ask(lax, home, 3)


def test_a_question_without_a_budget_does_not_go_round_the_account(made: World, tmp_path: Path) -> None:
    """Not after one with a budget; and what it spent before counts."""
    free = (made.root / "gate/made/v1.toml").read_text()
    first, other = tmp_path / "first", tmp_path / "other"
    ask(made, other, 1)
    bounded = with_tables(made, budget=REUSED)
    ask(bounded, first, 1)

    with pytest.raises(RefusedError, match=r"the alpha of suite .* is spent: 0\.05 of 0\.05"):
        ask(bounded, other, 2)
    (made.root / "gate/made/v1.toml").write_text(free)
    before = records(first)
    with pytest.raises(RefusedError, match="has no budget, but its items were asked under one"):
        ask(made, first, 2)
    assert records(first) == before
    assert list(broken(records(first))) == list(broken(records(other))) == []


def test_54_retries_are_counted_and_change_nothing_else(made: World, tmp_path: Path) -> None:
    """A question that breaks off is begun again at the same level, as often as the contract says."""
    rich, home = with_tables(made, budget=REUSED), tmp_path / "home"

    def broken_off(home: Path) -> None:
        with pytest.raises(ContractError, match="not loaded"):
            ask(rich, home, 1, None)

    broken_off(home)
    again = ask(rich, home, 1)
    alone = ask(rich, tmp_path / "alone", 1)
    asks = [Ask.model_validate(one.body) for one in records(home) if one.kind == "ask"]

    assert again.digest == alone.digest
    assert [(one.allowance.question, one.allowance.start) for one in asks] == [(1, 1), (1, 2)]
    assert asks[0].allowance.alpha == asks[1].allowance.alpha
    assert records(home)[-1].output == records(tmp_path / "alone")[-1].output
    assert list(broken(records(home))) == []
    for _ in range(2):
        broken_off(tmp_path / "other")
    with pytest.raises(RefusedError, match="begun 2 times, 2 are allowed"):
        ask(rich, tmp_path / "other", 1)


def test_an_answered_question_is_not_asked_again(made: World, tmp_path: Path) -> None:
    """The same candidate once more gets the verdict that there is, and costs nothing."""
    rich, home = with_tables(made, budget=REUSED), tmp_path / "home"
    first = ask(rich, home, 1)
    before = records(home)

    assert ask(rich, home, 1, routes_right(1)) == first
    assert records(home) == before


def test_fresh_items_are_fresh(made: World, tmp_path: Path) -> None:
    """The first question spends a third of alpha; a second one on the same items is no fresh one."""
    fresh, home = with_tables(made, budget=FRESH), tmp_path / "home"
    verdict = ask(fresh, home, 1, routes_right(1))

    assert next(c for c in verdict.clauses if c.name == "target_gain").numbers["alpha"] == pytest.approx(0.02)
    with pytest.raises(ContractError, match="were asked before, but the contract says they are fresh"):
        ask(fresh, home, 2)


def test_a_ledger_that_was_asked_too_often_is_noticed(made: World, tmp_path: Path) -> None:
    """I7 names the record: too many questions, too many starts, a verdict without a question, another level."""
    rich, home = with_tables(made, budget=REUSED), tmp_path / "home"
    for number in (1, 2):
        ask(rich, home, number)
    good = records(home)

    def changed(at: int, **keys: object) -> list[str]:
        body = {**good[at].body, **keys}
        return list(broken([*good[:at], good[at].model_copy(update={"body": body}), *good[at + 1 :]]))

    bounds = {**good[2].body["bounds"], "questions": 1}
    allowance = {**good[2].body["allowance"], "alpha": 0.05}
    assert list(broken(good)) == []
    assert "question 2 to items that may be asked 1 times" in changed(2, bounds=bounds)[0]
    assert any("spent alpha" in text for text in changed(2, allowance=allowance))
    assert any("spend more than alpha" in text for text in changed(2, allowance=allowance))
    assert "no record before it tells of" in next(broken([good[0], good[1], good[3]]))
    thrice = [good[0].model_copy(update={"seq": seq}) for seq in (1, 2, 3)]
    assert any("begun 3 times, 2 are allowed" in text for text in broken(thrice))


def test_versions_of_a_suite_with_fresh_items_share_what_may_be_spent(made: World, tmp_path: Path) -> None:
    """A third for each of three nights, whichever version of the suite is asked; a fourth finds nothing left."""
    fresh, home = with_tables(made, budget=FRESH), tmp_path / "home"
    ask(fresh, home, 1)
    (first,) = [one for one in records(home) if one.kind == "ask"]

    def put(number: int, family: str = "routing") -> Registration:
        asked = Registration.model_validate(first.body["registration"])
        suites = {f"{family}/v{number}": f"{number}", "easy/v1": asked.suites["easy/v1"]}
        changed = {"target": f"{number}", "suites": suites, "items": f"items {number}"}
        return asked.model_copy(update=changed)

    told = [first]
    for number in (2, 3):
        found = allowance(told, fresh.contract, put(number))
        assert (found.question, found.alpha) == (number, pytest.approx(0.02))
        body = Ask(
            registration=put(number),
            allowance=found,
            bounds=Bounds(questions=3, starts=3, accepts=None, alpha=0.06),
            seed=1,
        )
        update = {"seq": number, "body": body.model_dump(mode="json")}
        told.append(first.model_copy(update=update))
    assert list(broken(told)) == []
    assert "it is question 2, start 1" in next(broken([told[0], told[2]]))
    with pytest.raises(RefusedError, match="3 of 3 questions were put"):
        allowance(told, fresh.contract, put(4))
    assert allowance(told, fresh.contract, put(4, "other")).question == 1
    assert allowance(told, with_tables(made, budget=REUSED).contract, put(4)).question == 1
