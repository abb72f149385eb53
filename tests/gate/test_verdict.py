from math import isfinite
from pathlib import Path

import pytest

from rsi.errors import IntegrityError
from rsi.gate.contest import Contest, Means
from rsi.gate.contract import Contract
from rsi.gate.evaluate import evaluate
from rsi.gate.verdict import judge, whole
from rsi.records import Clause, Judgement, Verdict, Version
from tests.gate.made import (
    BASE,
    CANDIDATE,
    CHAMPION,
    HARNESS,
    OLD_ANSWERS,
    OLD_ROUTES,
    Say,
    ScriptedEngine,
    World,
    answers_right,
    engine,
    harness_of,
    number,
    routes_right,
    routing_lines,
    world,
)

PASS, FAIL, DOUBT = Judgement.PASS, Judgement.FAIL, Judgement.CANNOT_TELL


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> World:
    return world(tmp_path_factory.mktemp("world"))


def verdict_of(made: World, scripted: ScriptedEngine, anchor: Version | None = None) -> Verdict:
    card = evaluate(
        made.contract, made.suites, Contest(CHAMPION, CANDIDATE, anchor), Means(scripted, harness_of)
    )
    return judge(made.contract, card, "2026-10-01", "L0")


def clause(verdict: Verdict, name: str) -> Clause:
    return next(one for one in verdict.clauses if one.name == name)


def judgements(verdict: Verdict) -> dict[str, Judgement]:
    return {one.name: one.judgement for one in verdict.clauses}


def almost_right(text: str) -> str:
    """Right on 19 of 20 requests."""
    return routes_right(1)(text) if number(text) % 20 else "chat"


def test_a_better_router_that_forgot_nothing_passes(made: World) -> None:
    """Every clause holds and carries its numbers; the record survives its JSON with the same digest."""
    verdict = verdict_of(made, engine(almost_right, answers_right(3)))

    assert judgements(verdict) == dict.fromkeys(
        [
            "target_size",
            "target_gain",
            "target_accuracy",
            "target_labels",
            "target_hard",
            "guard_easy_size",
            "guard_easy_range",
            "guard_easy_noninferior",
            "completeness",
        ],
        PASS,
    )
    assert verdict.judgement is PASS
    gain = clause(verdict, "target_gain").numbers
    assert (gain["n"], gain["b"], gain["c"], gain["difference"]) == (200, 111, 9, 0.51)
    assert gain["p"] < 1e-6 and 0 < gain["low"] < gain["difference"] < gain["high"]
    accuracy = clause(verdict, "target_accuracy").numbers
    assert {"before", "after", "before_own", "after_own", "before_hard", "after_hard", "after_easy"} <= set(
        accuracy
    )
    labels = clause(verdict, "target_labels").numbers
    assert [labels[f"n_L{k}"] for k in range(4)] == [50] * 4
    assert (labels["before_L2"], labels["after_L2"]) == (0.26, 0.94)
    assert all(isfinite(value) for one in verdict.clauses for value in one.numbers.values())
    assert Verdict.parse(verdict.model_dump_json().encode()).digest == verdict.digest
    assert (verdict.suites, verdict.role, verdict.contract) == (made.contract.pins, "L0", "made/v1")


@pytest.mark.parametrize("answer", ["chat", "code", "L0"])
def test_a_perfect_router_that_answers_questions_with_a_label_fails_the_guard(
    made: World, answer: str
) -> None:
    """What the router learned must not leak into the answers: every target clause passes, the whole fails."""
    verdict = verdict_of(made, engine(routes_right(1), lambda text: answer))
    found = judgements(verdict)

    assert verdict.judgement is FAIL
    assert {name for name, said in found.items() if said is not PASS} == {"guard_easy_noninferior"}
    assert found["guard_easy_noninferior"] is FAIL
    assert clause(verdict, "guard_easy_noninferior").numbers["after"] == 0.0


def test_a_candidate_that_answers_like_the_champion_never_passes(made: World) -> None:
    """A null candidate shows no gain, whatever it is called."""
    verdict = verdict_of(made, engine(OLD_ROUTES, OLD_ANSWERS))
    gain = clause(verdict, "target_gain")

    assert verdict.judgement is FAIL
    assert gain.judgement is FAIL and (gain.numbers["b"], gain.numbers["c"]) == (0, 0)
    assert clause(verdict, "guard_easy_noninferior").judgement is PASS


def test_a_gain_that_could_be_chance_cannot_be_told(tmp_path: Path) -> None:
    """One more right answer among 200 is no proof and no failure either."""
    made = world(tmp_path, min_accuracy=0.2, min_label_accuracy=0.2, min_hard_accuracy=0.0)

    def lucky(text: str) -> str:
        return "code" if text == "request 1 for L2" else OLD_ROUTES(text)

    verdict = verdict_of(made, engine(lucky, OLD_ANSWERS))
    gain = clause(verdict, "target_gain")

    assert (gain.judgement, verdict.judgement) == (DOUBT, DOUBT)
    assert (gain.numbers["b"], gain.numbers["c"], gain.numbers["p"]) == (1, 0, 0.25)


def test_45_tiny_suites_cannot_tell(tmp_path: Path) -> None:
    """A perfect candidate on 8 requests and 10 questions proves nothing, and is not failed for it."""
    made = world(tmp_path, per_label=2, easy=10)
    verdict = verdict_of(made, engine(routes_right(1), answers_right(3)))
    found = judgements(verdict)

    assert verdict.judgement is DOUBT
    assert FAIL not in found.values()
    assert (found["target_size"], found["guard_easy_size"]) == (DOUBT, DOUBT)
    assert clause(verdict, "target_size").numbers == {"n": 8, "bar": 200, "clusters": 8}


def test_a_bad_candidate_on_tiny_suites_cannot_be_told_either(tmp_path: Path) -> None:
    """Below the least number of items neither no gain nor a loss is a failure."""
    made = world(tmp_path, per_label=2, easy=10, min_label_items=50, min_hard_items=10)
    verdict = verdict_of(made, engine(lambda text: "chat", lambda text: "chat"))

    assert set(judgements(verdict).values()) == {PASS, DOUBT}
    assert verdict.judgement is DOUBT


def test_accuracy_below_the_bar_fails_though_the_gain_is_real(made: World) -> None:
    """Better than before is not enough."""
    verdict = verdict_of(made, engine(lambda t: routes_right(1)(t) if number(t) % 7 else "chat", OLD_ANSWERS))
    found = judgements(verdict)

    assert (found["target_gain"], found["target_accuracy"], verdict.judgement) == (PASS, FAIL, FAIL)


def test_one_starved_label_fails_though_the_mean_is_high(made: World) -> None:
    """35 of 50 in one label, all else perfect: 92.5% overall, 70% there."""

    def starved(text: str) -> str:
        return "chat" if text.endswith("L3") and number(text) < 15 else routes_right(1)(text)

    verdict = verdict_of(made, engine(starved, OLD_ANSWERS))
    labels = clause(verdict, "target_labels")

    assert judgements(verdict)["target_accuracy"] is PASS
    assert (labels.judgement, labels.numbers["after_L3"], verdict.judgement) == (FAIL, 0.7, FAIL)
    assert "L3 70.0% of 50" in labels.text


def test_hard_requests_of_our_own_have_a_bar_of_their_own(made: World) -> None:
    """Wrong on 20 of 52 hard requests and on nothing else: 90% overall, and still a failure."""

    def careless(text: str) -> str:
        if number(text) % 12 == 1:
            return "code" if text.endswith("L0") else "chat"
        return routes_right(1)(text)

    verdict = verdict_of(made, engine(careless, OLD_ANSWERS))

    assert {n: said for n, said in judgements(verdict).items() if said is not PASS} == {"target_hard": FAIL}
    assert clause(verdict, "target_hard").numbers["after_own_hard"] == pytest.approx(32 / 52, abs=1e-5)


@pytest.mark.parametrize("known", [0, 1, 5])
def test_a_guard_on_which_no_loss_could_show_cannot_tell(made: World, known: int) -> None:
    """A champion that knows next to nothing, or everything, guards nothing."""
    scripted = ScriptedEngine(
        {"L0-old": OLD_ROUTES, "L0-new": routes_right(1)},
        {"L0-old": answers_right(known), "L0-new": answers_right(known)},
    )
    verdict = verdict_of(made, scripted)

    assert {n for n, said in judgements(verdict).items() if said is not PASS} == {"guard_easy_range"}
    assert verdict.judgement is DOUBT


def losing(count: int) -> Say:
    """The champion's answers, but for the first `count` facts that it knows."""
    lost = [n for n in range(150) if n % 5 < 3][:count]
    return lambda text: "?" if number(text) in lost else OLD_ANSWERS(text)


@pytest.mark.parametrize(("lost", "expected"), [(2, PASS), (9, DOUBT), (15, FAIL)])
def test_a_loss_near_the_margin_cannot_be_told(made: World, lost: int, expected: Judgement) -> None:
    """Non-inferiority asks for proof: of 150 questions 9 lost (6 points) leave doubt, 15 (10 points) fail."""
    one = clause(verdict_of(made, engine(routes_right(1), losing(lost))), "guard_easy_noninferior")

    assert (one.judgement, one.numbers["c"]) == (expected, lost)
    assert (one.numbers["lower"] >= -0.08) == (expected is PASS)


def test_missing_evidence_cannot_tell_and_never_counts_as_right(made: World) -> None:
    """One error among 350 items: every number counts it against the candidate, the whole cannot tell."""
    scripted = engine(almost_right, answers_right(3))
    scripted.fail = lambda adapter, text: (
        RuntimeError("secret words") if (adapter, text) == ("L0-new", "request 7 for L2") else None
    )
    verdict = verdict_of(made, scripted)
    complete = clause(verdict, "completeness")

    assert {n for n, said in judgements(verdict).items() if said is not PASS} == {
        "target_size",
        "completeness",
    }
    assert verdict.judgement is DOUBT
    assert (complete.numbers["error_candidate"], complete.numbers["error_champion"]) == (1, 0)
    assert "errors: RuntimeError 1" in complete.text and "secret" not in complete.text
    assert clause(verdict, "target_labels").numbers["after_L2"] == 0.92


@pytest.mark.parametrize(("broken", "expected"), [(1, FAIL), (6, DOUBT)])
def test_what_missing_answers_could_turn_is_not_judged(made: World, broken: int, expected: Judgement) -> None:
    """82% under a bar of 90%: 4 missing answers cannot lift it and it fails, 24 could and it is doubt."""

    def poor(text: str) -> str:
        if number(text) % 6 == 0:
            return "code" if text.endswith("L0") else "chat"
        return routes_right(1)(text)

    scripted = engine(poor, OLD_ANSWERS)
    scripted.fail = lambda adapter, text: (
        RuntimeError("x")
        if adapter == "L0-new" and "request" in text and number(text) in range(0, 6 * broken, 6)
        else None
    )
    accuracy = clause(verdict_of(made, scripted), "target_accuracy")

    assert (accuracy.judgement, accuracy.numbers["after"]) == (expected, 0.82)


def test_empty_and_misshapen_answers_are_wrong_and_counted_apart(made: World) -> None:
    """Silence is no way around the guard."""
    verdict = verdict_of(made, engine(routes_right(1), lambda text: ""))
    complete = clause(verdict, "completeness")

    assert (clause(verdict, "guard_easy_noninferior").judgement, verdict.judgement) == (FAIL, FAIL)
    assert complete.judgement is PASS
    assert (complete.numbers["empty_candidate"], complete.numbers["empty_champion"]) == (150, 0)
    assert "150 empty (candidate)" in complete.text


@pytest.mark.parametrize(("clustered", "expected"), [(False, (PASS, 200)), (True, (DOUBT, 4))])
def test_items_that_stand_together_count_as_one(
    tmp_path: Path, clustered: bool, expected: tuple[Judgement, int]
) -> None:
    """A gain in one cluster of fifty requests is one piece of luck; in fifty requests it is proof."""
    lines = routing_lines(50)
    if clustered:
        lines = [{**one, "cluster": f"c{n // 50}"} for n, one in enumerate(lines)]
    made = world(tmp_path, routing=lines)

    def better(text: str) -> str:
        return "agent" if text.endswith("L1") else OLD_ROUTES(text)

    gain = clause(verdict_of(made, engine(better, OLD_ANSWERS)), "target_gain")

    assert (gain.judgement, gain.numbers["clusters"]) == expected


def test_small_losses_do_not_add_up_against_the_anchor(tmp_path: Path) -> None:
    """Not worse than the champion, which is itself worse than the anchor: the anchor's clause fails."""
    made = world(tmp_path, anchor="genesis")
    scripted = engine(routes_right(1), OLD_ANSWERS)
    scripted.answers = {**scripted.answers, None: answers_right(4)}
    genesis = Version(base=BASE, adapters={}, harness=HARNESS.digest, parent=None)
    verdict = verdict_of(made, scripted, anchor=genesis)
    same = verdict_of(made, scripted, anchor=CHAMPION)

    assert {n for n, said in judgements(verdict).items() if said is not PASS} == {"guard_easy_anchor"}
    assert clause(verdict, "guard_easy_anchor").numbers["before"] == 0.8
    assert (verdict.judgement, same.judgement) == (FAIL, PASS)


def test_lost_and_doubled_items_are_missing_evidence(made: World) -> None:
    """A scorecard that does not hold every item once cannot tell."""
    card = evaluate(
        made.contract,
        made.suites,
        Contest(CHAMPION, CANDIDATE),
        Means(engine(almost_right, answers_right(3)), harness_of),
    )
    lost = card.model_copy(update={"results": card.results[1:]})
    doubled = card.model_copy(update={"results": (*card.results[1:], card.results[-1])})
    for broken in (lost, doubled):
        verdict = judge(made.contract, broken, "2026-10-01", "L0")
        assert (clause(verdict, "completeness").judgement, verdict.judgement) == (DOUBT, DOUBT)
        assert clause(verdict, "completeness").numbers["absent"] >= 1


def test_a_scorecard_of_another_contract_is_refused(made: World, tmp_path: Path) -> None:
    """Bars cannot be changed after the answers were seen."""
    card = evaluate(
        made.contract,
        made.suites,
        Contest(CHAMPION, CANDIDATE),
        Means(engine(almost_right, answers_right(3)), harness_of),
    )
    lax = world(tmp_path, min_label_accuracy=0.1).contract

    with pytest.raises(IntegrityError, match="not made under contract made/v1"):
        judge(lax, card, "2026-10-01", "L0")


def test_a_target_that_is_answered_in_words(made: World) -> None:
    """Facts as the target: the cap of the contract holds, and answers without labels have no label clause."""
    pins = made.contract.pins
    said = {
        "schema_version": 1,
        "name": "words/v1",
        "target": {"suite": "easy/v1", "digest": pins["easy/v1"], "min_items": 100, "min_accuracy": 0.7},
        "guards": [{"suite": "routing/v1", "digest": pins["routing/v1"], "min_items": 100, "max_tokens": 1}],
    }
    after = {}
    for cap in (1, 8):
        contract = Contract.model_validate({**said, "target": {**said["target"], "max_tokens": cap}})  # type: ignore[dict-item]
        scripted = engine(OLD_ROUTES, answers_right(4))
        card = evaluate(contract, made.suites, Contest(CHAMPION, CANDIDATE), Means(scripted, harness_of))
        verdict = judge(contract, card, "2026-10-01", "L0")
        after[cap] = clause(verdict, "target_accuracy").numbers["after"]

    assert after == {1: 0.0, 8: 0.8}
    assert "target_labels" not in judgements(verdict)
    assert judgements(verdict)["target_gain"] is PASS


def test_the_whole_is_as_good_as_its_worst_clause() -> None:
    """Fail beats doubt, doubt beats pass, and nothing at all is doubt."""

    def of(*said: Judgement) -> Judgement:
        return whole([Clause(name="x", judgement=one, text="", numbers={}) for one in said])

    assert of(PASS, PASS) is PASS
    assert of(PASS, DOUBT) is DOUBT
    assert of(DOUBT, FAIL, PASS) is FAIL
    assert of() is DOUBT
