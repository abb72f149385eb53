"""A target that is asked in order: no more items than the answer needs, in an order that nobody chose."""

from pathlib import Path

import pytest
import tomlkit

from rsi.errors import ContractError
from rsi.gate.contest import Contest, Means
from rsi.gate.gate import gate, open_scorecard
from rsi.questions import Certificate
from rsi.records import Clause, Judgement, Verdict
from rsi.settings import Home
from tests.gate.made import (
    CANDIDATE,
    CHAMPION,
    OLD_ANSWERS,
    OLD_ROUTES,
    WORDS,
    Say,
    ScriptedEngine,
    Unrecorded,
    World,
    engine,
    harness_of,
    number,
    routes_right,
    routing_lines,
    with_tables,
    world,
)

PASS, FAIL, DOUBT = Judgement.PASS, Judgement.FAIL, Judgement.CANNOT_TELL
LAX = {"min_accuracy": 0.0, "min_label_accuracy": 0.0, "min_hard_accuracy": 0.0, "min_items": 40}
ORDER = {"effect": 0.2, "beta": 0.05, "look_every": 20}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> World:
    """200 requests, asked in order; 20 questions that guard."""
    plain = world(tmp_path_factory.mktemp("order"), 50, 20, **LAX)
    guard = {"suite": "easy/v1", "digest": plain.contract.pins["easy/v1"], "min_items": 20, "max_tokens": 8}
    return with_tables(plain, guards=[{**guard, "margin": 0.3}], order=ORDER)


def asked(made: World, home: Path, routes: Say) -> tuple[Verdict, ScriptedEngine]:
    """The verdict on a candidate that routes so, and the engine that heard the questions."""
    scripted = engine(routes, OLD_ANSWERS)
    found = gate(
        Home(home),
        "made/v1",
        Contest(CHAMPION, CANDIDATE),
        Means(scripted, harness_of),
        Unrecorded(),
        night="n",
        contracts=made.root,
    )
    return found, scripted


def gain(verdict: Verdict) -> Clause:
    return next(one for one in verdict.clauses if one.name == "target_gain")


def heard(scripted: ScriptedEngine, what: str) -> int:
    return sum(text.startswith(what) for adapter, text in scripted.asked if adapter == "L0-new")


def test_a_plain_gain_is_seen_early_and_then_the_guards_are_asked(made: World, tmp_path: Path) -> None:
    """Forty of two hundred requests, the fewest that the contract wants, then every question."""
    verdict, scripted = asked(made, tmp_path, routes_right(1))
    certificate = Certificate.parse(
        (tmp_path / "verdicts" / verdict.digest / "certificate.json").read_bytes()
    )

    assert {one.judgement for one in verdict.clauses} == {PASS}
    assert (gain(verdict).numbers["n"], gain(verdict).numbers["planned"]) == (40, 200)
    assert (heard(scripted, "request"), heard(scripted, "question")) == (40, 20)
    assert (certificate.p, certificate.n, certificate.test) == (
        None,
        40,
        "capital, futility and last look, in order",
    )
    assert certificate.capital == pytest.approx(gain(verdict).numbers["capital"], rel=1e-4)


def test_a_hopeless_candidate_is_stopped_and_its_guards_are_spared(made: World, tmp_path: Path) -> None:
    """The same answers as the champion: far from all is asked, and the clause says why."""
    verdict, scripted = asked(made, tmp_path, OLD_ROUTES)

    assert gain(verdict).judgement is verdict.judgement is FAIL
    assert "the gain that must not be missed is not there" in gain(verdict).text
    assert heard(scripted, "request") < 100 and heard(scripted, "question") == 0


def test_a_gain_that_is_too_small_ends_at_the_last_look(tmp_path: Path) -> None:
    """Every item is asked where neither a gain nor its absence shows before."""
    plain = world(tmp_path / "contracts", 20, 20, **LAX)
    guard = {"suite": "easy/v1", "digest": plain.contract.pins["easy/v1"], "min_items": 20, "max_tokens": 8}
    made = with_tables(
        plain, guards=[{**guard, "margin": 0.3}], order={**ORDER, "effect": 0.06, "beta": 0.001}
    )

    def slightly(text: str) -> str:
        return WORDS[text.split()[3]] if number(text) == 1 and "L0" not in text else OLD_ROUTES(text)

    verdict, scripted = asked(made, tmp_path / "home", slightly)

    assert (gain(verdict).judgement, gain(verdict).numbers["n"], gain(verdict).numbers["b"]) == (DOUBT, 80, 3)
    assert "this could be chance" in gain(verdict).text
    assert heard(scripted, "question") == 0


def test_the_order_follows_from_the_question_alone(made: World, tmp_path: Path) -> None:
    """The same question asks the same items in the same order; they are not those that stand first in the suite."""
    orders = []
    for name in "ab":
        verdict, _ = asked(made, tmp_path / name, routes_right(1))
        orders.append(
            [one.item_id for one in open_scorecard(Home(tmp_path / name), verdict).of("routing/v1")]
        )

    assert orders[0] == orders[1]
    assert len({one.split("-")[0] for one in orders[0]}) == 4


def test_items_that_stand_together_are_not_asked_in_order(tmp_path: Path) -> None:
    """The rule counts items one by one; the contract is refused before anything is asked."""
    lines = [{**one, "cluster": f"c{at // 5}"} for at, one in enumerate(routing_lines(10))]
    plain = world(tmp_path / "contracts", routing=lines, **LAX)
    path = plain.root / "gate/made/v1.toml"
    path.write_text(path.read_text() + "\n" + tomlkit.dumps({"order": ORDER}))

    with pytest.raises(ContractError, match="its items stand in 8 clusters"):
        asked(plain, tmp_path / "home", routes_right(1))
    assert not (tmp_path / "home").exists()
