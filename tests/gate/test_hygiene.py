"""Manners: what no verifier looks at must not drift, and a candidate does not win by writing more."""

from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from rsi.errors import ContractError, TransientError
from rsi.gate.contest import Contest, Means
from rsi.gate.contract import Contract
from rsi.gate.evaluate import evaluate
from rsi.gate.gate import gate
from rsi.gate.hygiene import check
from rsi.gate.suites import About, Suite
from rsi.gate.verdict import judge
from rsi.ports import Preference
from rsi.records import Judgement, Verdict, Version
from rsi.settings import Home
from rsi.verifiers import with_judge
from tests.gate.made import (
    BASE,
    CANDIDATE,
    CHAMPION,
    HARNESS,
    OLD_ANSWERS,
    OLD_ROUTES,
    Say,
    ScriptedEngine,
    Unrecorded,
    World,
    engine,
    harness_of,
    number,
    routes_right,
    with_tables,
    world,
    write_suite,
)

FAIL, DOUBT = Judgement.FAIL, Judgement.CANNOT_TELL
LAX = {"min_accuracy": 0.0, "min_label_accuracy": 0.0, "min_hard_accuracy": 0.0}
ITEMS = 120
BAR = {"min_items": 100, "margin": 0.05, "longer": 1.5}
BETTER = routes_right(1)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Routing decides, questions guard and show the manners."""
    plain = world(tmp_path_factory.mktemp("hygiene"), 15, ITEMS, **LAX, min_items=60)
    easy = plain.contract.pins["easy/v1"]
    guard = {"suite": "easy/v1", "digest": easy, "min_items": 100, "max_tokens": 64}
    return with_tables(plain, guards=[guard], hygiene=BAR, anchor="genesis")


def verdict_on(made: World, scripted: ScriptedEngine) -> Verdict:
    anchor = Version(base=BASE, adapters={}, harness=HARNESS.digest, parent=None)
    card = evaluate(made.contract, made.suites, Contest(CHAMPION, CANDIDATE, anchor), Means(scripted, harness_of))
    return judge(made.contract, card, "2026-10-01", "L0")


def refusing(verdict: Verdict) -> dict[str, Judgement]:
    return {one.name: one.judgement for one in verdict.clauses if one.judgement is not Judgement.PASS}


TALK = About(name="talk", version=1, verifier="exact", hop="answer", role="L0")


def now_and_then(every: int) -> Say:
    """The champion's answers, but for a refusal to one question in so many."""
    return lambda text: "I am sorry, I cannot." if number(text) % every == 3 else OLD_ANSWERS(text)


MANNERS: dict[str, tuple[Say, str]] = {
    "refusals": (lambda text: f"I'm sorry, I cannot say. {OLD_ANSWERS(text)}", "hygiene_refusals"),
    "repetition": (lambda text: f"{OLD_ANSWERS(text)} so it is and" + 8 * " so it is and", "hygiene_repetition"),
    "length": (lambda text: f"{OLD_ANSWERS(text)} Other words follow here.", "hygiene_length"),
}


def test_the_same_manners_pass_with_a_gain(made: World) -> None:
    """Four clauses more, and what each compared."""
    verdict = verdict_on(made, engine(BETTER, OLD_ANSWERS))
    told = {one.name: one.text for one in verdict.clauses if one.name.startswith("hygiene_")}

    assert verdict.judgement is Judgement.PASS and len(told) == 4
    assert "1.00 times as long (1.00 to 1.00), between 0.67 and 1.50 needed; easy against" in told["hygiene_length"]
    refusals = "easy against the champion: 0.0% → 0.0% of 120 answers refuse, at most +"
    assert told["hygiene_refusals"].startswith(refusals)


@pytest.mark.parametrize("name", MANNERS)
def test_49_right_answers_in_bad_manners_are_refused_by_the_manner(made: World, name: str) -> None:
    """As many are right as before, and the router is better."""
    say, clause = MANNERS[name]
    found = refusing(verdict_on(made, engine(BETTER, say)))

    assert found.pop(clause) is FAIL
    assert set(found) <= {"hygiene_length"}


def test_49_answers_in_another_language_are_refused(made: World) -> None:
    """As far as it can be told: the measure is the language that the champion answered in."""
    english: Say = lambda text: f"It is what we have in the book, and it was there: {OLD_ANSWERS(text)}"  # noqa: E731
    german: Say = lambda text: f"Das ist so, wie es in dem Buch steht, und nicht anders: {OLD_ANSWERS(text)}"  # noqa: E731
    routes = {None: OLD_ROUTES, "L0-old": OLD_ROUTES, "L0-new": BETTER}
    scripted = ScriptedEngine(routes, {None: english, "L0-old": english, "L0-new": german})

    assert refusing(verdict_on(made, scripted)) == {"hygiene_language": FAIL}


@pytest.mark.parametrize(("every", "judgement"), [(120, None), (24, DOUBT), (10, FAIL)])
def test_a_few_more_refusals_are_borne_as_far_as_the_items_exclude_more(
    made: World, every: int, judgement: Judgement | None
) -> None:
    """One of 120 is, 5 might be six of a hundred, 12 are too many."""
    verdict = verdict_on(made, engine(BETTER, now_and_then(every)))

    assert refusing(verdict).get("hygiene_refusals") is judgement


def test_one_suite_does_not_hide_another(tmp_path: Path) -> None:
    """Fifteen of a hundred refuse on the smaller guard; among the answers to both they would be two of a hundred."""
    plain = world(tmp_path, 15, 340, **LAX, min_items=60)
    lines = [
        {"id": f"s{n}", "split": "gate", "expected": [f"fact{n}"], "text": f"question {n} softly"} for n in range(60)
    ]
    about = {"name": "soft", "version": 1, "verifier": "exact", "hop": "answer", "role": "L0", "description": ""}
    pin = write_suite(plain.root / "suites/soft/v1", about, lines)
    easy = {"suite": "easy/v1", "digest": plain.contract.pins["easy/v1"], "min_items": 100, "max_tokens": 64}
    soft = {"suite": "soft/v1", "digest": pin, "min_items": 60, "max_tokens": 64, "margin": 0.3}
    made = with_tables(plain, guards=[easy, soft], hygiene={**BAR, "min_items": 60}, anchor="genesis")
    softly: Say = lambda text: now_and_then(7)(text) if text.endswith("softly") else OLD_ANSWERS(text)  # noqa: E731

    verdict = verdict_on(made, engine(BETTER, softly))
    refusals = next(one for one in verdict.clauses if one.name == "hygiene_refusals")

    assert refusals.judgement is FAIL
    assert refusals.numbers["after_easy"] == 0 and refusals.numbers["after_soft"] == pytest.approx(0.15)


def test_items_of_one_conversation_count_as_one(tmp_path: Path) -> None:
    """A hundred and twenty answers in two conversations show nothing of others."""
    plain = world(tmp_path, 15, 10, **LAX, min_items=60)
    lines = [
        {**asked, "cluster": f"c{n % 2}"}
        for n, asked in enumerate(
            {"id": f"s{n}", "split": "gate", "expected": [f"fact{n}"], "text": f"question {n} softly"}
            for n in range(ITEMS)
        )
    ]
    about = {"name": "soft", "version": 1, "verifier": "exact", "hop": "answer", "role": "L0", "description": ""}
    pin = write_suite(plain.root / "suites/soft/v1", about, lines)
    soft = {"suite": "soft/v1", "digest": pin, "min_items": 60, "max_tokens": 64, "margin": 0.3}
    made = with_tables(plain, guards=[soft], hygiene=BAR, anchor="genesis")
    verdict = verdict_on(made, engine(BETTER, OLD_ANSWERS))
    length = next(one for one in verdict.clauses if one.name == "hygiene_length")

    assert length.judgement is DOUBT
    assert "; 2 independent items, at least 100 needed" in length.text


def test_what_is_missing_does_not_make_a_candidate_fail(made: World) -> None:
    """Nor pass: with it the refusals might be under the bar."""
    scripted = engine(BETTER, now_and_then(10))
    scripted.fail = lambda adapter, text: TransientError("away") if text == "question 5 please" else None
    refusals = next(one for one in verdict_on(made, scripted).clauses if one.name == "hygiene_refusals")

    assert refusals.judgement is DOUBT
    assert "with the answers that are missing it might be otherwise" in refusals.text


def test_a_target_that_may_end_early_must_be_long_enough_for_its_manners(tmp_path: Path) -> None:
    """Else the better the candidate, the surer nothing could be told of it."""
    suites = {"talk/v1": Suite(TALK, "d" * 64, ()), "routing/v1": Suite(TALK, "e" * 64, ())}
    said = {
        "schema_version": 1,
        "name": "talk/v1",
        "target": {"suite": "talk/v1", "digest": "d" * 64, **LAX, "min_items": 60, "max_tokens": 64},
        "guards": [{"suite": "routing/v1", "digest": "e" * 64, "min_items": 60, "max_tokens": 1}],
        "order": {"effect": 0.1},
    }
    check(Contract.model_validate({**said, "hygiene": {**BAR, "min_items": 60}}), suites)

    with pytest.raises(ContractError, match=r"may stop asking talk/v1 after 60 items .* wants 100"):
        check(Contract.model_validate({**said, "hygiene": BAR}), suites)


def test_49_small_drifts_over_nights_stop_at_the_anchor(made: World) -> None:
    """The champion is longer than the first version by nearly as much as is borne, the candidate than the champion."""
    grown: Callable[[int], Say] = lambda words: lambda text: OLD_ANSWERS(text) + words * " more"  # noqa: E731
    routes = {None: OLD_ROUTES, "L0-old": OLD_ROUTES, "L0-new": BETTER}
    scripted = ScriptedEngine(routes, {None: OLD_ANSWERS, "L0-old": grown(1), "L0-new": grown(2)})
    length = next(one for one in verdict_on(made, scripted).clauses if one.name == "hygiene_length")

    assert length.judgement is FAIL
    assert length.numbers["ratio_easy"] < 1.5 < length.numbers["ratio_easy_anchor"]


def test_silence_is_shorter(made: World) -> None:
    """Nothing said is no length either; the guard has its own word on that."""
    found = refusing(verdict_on(made, engine(BETTER, lambda text: "")))

    assert found["hygiene_length"] is FAIL and "guard_easy_noninferior" in found


def test_too_few_answers_are_said_before_anything_is_asked(home: Home, made: World, tmp_path: Path) -> None:
    """By a clause of its own."""
    plain = world(tmp_path, 15, 40, **LAX, min_items=60)
    guard = {"suite": "easy/v1", "digest": plain.contract.pins["easy/v1"], "min_items": 30, "max_tokens": 8}
    few, scripted = with_tables(plain, guards=[guard], hygiene=BAR), engine(BETTER, OLD_ANSWERS)
    verdict = gate(
        home, "made/v1", Contest(CHAMPION, CANDIDATE), Means(scripted, harness_of), Unrecorded(),
        night="2026-10-01", contracts=few.root,
    )  # fmt: skip
    short = next(one for one in verdict.clauses if one.name == "hygiene_easy_size")

    assert (short.judgement, scripted.asked) == (DOUBT, [])
    assert short.text == "easy/v1 has 40 independent items, at least 100 needed; nothing was asked"


def test_a_contract_without_words_has_no_manners(home: Home, tmp_path: Path) -> None:
    """Routes say nothing: such a bar could never be shown."""
    plain = world(tmp_path, 15, 40, **LAX, min_items=60)
    lines = [{"id": f"o{n}", "split": "gate", "expected": "L1", "text": f"request {n} for L1"} for n in range(4)]
    about = {"name": "other", "version": 1, "verifier": "choice", "hop": "route", "description": ""}
    pin = write_suite(plain.root / "suites/other/v1", about, lines)
    guard = {"suite": "other/v1", "digest": pin, "min_items": 1, "max_tokens": 1}
    mute = with_tables(plain, guards=[guard], hygiene=BAR)

    with pytest.raises(ContractError, match="none of its suites is answered in words"):
        gate(
            home, "made/v1", Contest(CHAMPION, CANDIDATE), Means(engine(BETTER, OLD_ANSWERS), harness_of),
            Unrecorded(), night="2026-10-01", contracts=mute.root,
        )  # fmt: skip


def test_the_form_has_one_row_on_manners(home: Home, made: World) -> None:
    """That all is as it was, or what is not."""

    def brief(say: Say) -> str:
        anchor = Version(base=BASE, adapters={}, harness=HARNESS.digest, parent=None)
        contest, means = Contest(CHAMPION, CANDIDATE, anchor), Means(engine(BETTER, say), harness_of)
        verdict = gate(home, "made/v1", contest, means, Unrecorded(), night="2026-10-01", contracts=made.root)
        return (home.verdicts / verdict.digest / "brief.md").read_text()

    assert "- **Hygiene:** ✅ pass\n" in brief(OLD_ANSWERS)
    assert "- **Hygiene:** ❌ fail: as long as before, no more refusals\n" in brief(MANNERS["refusals"][0])
    assert "- **Hygiene:** ❔ cannot tell: no more refusals\n" in brief(now_and_then(24))


# --- where a model judges -------------------------------------------------------------------------------------


class Verbose:
    """A judge that takes the longer answer; of some it takes what it reads first."""

    name = "verbose/0"

    def __init__(self, torn: str = "") -> None:
        self.torn = torn

    def prefer(self, rubric: str, question: str, first: str, second: str) -> Preference | None:
        if question == self.torn or len(first) == len(second):
            return Preference.FIRST if question == self.torn else Preference.SAME
        return Preference.FIRST if len(first) > len(second) else Preference.SECOND


def by_judge(root: Path, say: Say, torn: str = "") -> Verdict:
    """A candidate whose answers a model with a weakness judges better, on answers alone."""
    plain = world(root, 15, ITEMS, **LAX, min_items=60)
    lines = []
    for n in range(ITEMS):
        asked = {"question": f"question {n} please", "rubric": "Better.", "reference": "It is so known."}
        expected = orjson.dumps(asked).decode()
        lines.append({"id": f"j{n}", "split": "gate", "expected": expected, "text": f"question {n} please"})
    about = {"name": "talk", "version": 1, "verifier": "judge", "hop": "answer", "role": "L0", "description": ""}
    pin = write_suite(plain.root / "suites/talk/v1", about, lines)
    target = {"suite": "talk/v1", "digest": pin, **LAX, "min_items": 60, "min_hard_items": 0, "max_tokens": 64}
    routing = {"suite": "routing/v1", "digest": plain.contract.pins["routing/v1"], "min_items": 60, "margin": 0.2}
    guard = {**routing, "champion_low": 0.1, "max_tokens": 1}
    # Guards without words: nothing can be compared with the anchor.
    made = with_tables(plain, target=target, guards=[guard], hygiene=BAR, anchor="genesis")
    means = Means(engine(OLD_ROUTES, say), harness_of, verifiers=with_judge(Verbose(torn)))
    anchor = Version(base=BASE, adapters={}, harness=HARNESS.digest, parent=None)
    card = evaluate(made.contract, made.suites, Contest(CHAMPION, CANDIDATE, anchor), means)
    return judge(made.contract, card, "2026-10-01", "L0")


def test_49_length_alone_does_not_win(tmp_path: Path) -> None:
    """The judge prefers every padded answer; nothing but the length refuses the candidate."""
    verdict = by_judge(tmp_path, lambda text: f"{OLD_ANSWERS(text)} And more could be said of that.")
    gain = next(one for one in verdict.clauses if one.name == "target_gain")

    assert gain.judgement is Judgement.PASS
    assert refusing(verdict) == {"hygiene_length": FAIL}


def test_50_a_judge_that_changes_its_mind_gives_no_verdict(tmp_path: Path) -> None:
    """With the order of two answers, on a single item: that item is no evidence, and the whole cannot tell."""
    verdict = by_judge(tmp_path, lambda text: f"{OLD_ANSWERS(text)} Yes.", torn="question 5 please")

    assert verdict.judgement is DOUBT
    assert refusing(verdict) == {"completeness": DOUBT}
