"""A model that judges, held against people: shown where they marked answers, and believed as far as a contract says."""

from pathlib import Path

import orjson
import pytest

from rsi.errors import ContractError, TransientError
from rsi.gate.agreement import agreement
from rsi.gate.aside import Aside
from rsi.gate.contest import Contest, Means
from rsi.gate.freeze import Bars, freeze
from rsi.gate.gate import gate
from rsi.gate.labels import draft, read
from rsi.gate.suites import About, load
from rsi.ports import Preference
from rsi.records import ChatMessage, Judgement, Split, Verdict
from rsi.settings import Home
from rsi.verifiers import with_judge
from tests.gate.made import (
    CANDIDATE,
    CHAMPION,
    OLD_ROUTES,
    Unrecorded,
    World,
    engine,
    harness_of,
    with_tables,
    world,
    write_suite,
)

LAX = {"min_accuracy": 0.0, "min_label_accuracy": 0.0, "min_hard_accuracy": 0.0}
ITEMS, MARKED = 60, 40
RULE = {"min_marked": 15, "agreement": 0.8}


class Reader:
    """A judge that takes the answer with more of a word in it; `blind` to the marked ones with these numbers."""

    name = "reader/0"

    def __init__(self, blind: int = 0, torn: int = 0) -> None:
        self.blind, self.torn, self.asked = blind, torn, 0

    def prefer(self, rubric: str, question: str, first: str, second: str) -> Preference | None:
        self.asked += 1
        number = int(question.split()[1])
        if "known" not in first + second:
            return Preference.SAME
        if number < self.torn:
            return Preference.FIRST
        good = first.count("well") >= second.count("well"), second.count("well") >= first.count("well")
        if number < self.blind:
            good = good[::-1]
        return Preference.SAME if all(good) else Preference.FIRST if good[0] else Preference.SECOND


def expected(n: int) -> str:
    return orjson.dumps({"question": f"question {n} please", "rubric": "Good?", "reference": "Well, well."}).decode()


def judged(root: Path, marked: int = MARKED, rule: dict[str, object] | None = None) -> World:
    """Answers that a model judges decide; of the first ones people marked an answer, every other one as right."""
    plain = world(root, 15, 40, **LAX, min_items=60)
    lines: list[dict[str, object]] = []
    for n in range(ITEMS):
        text = f"question {n} please"
        one: dict[str, object] = {"id": f"j{n}", "split": "gate", "expected": expected(n), "text": text}
        if n < marked:
            right = n % 2 == 0
            one["marked"] = [{"answer": f"known: {'well well' if right else 'no'}", "right": right}]
        lines.append(one)
    about = {"name": "talk", "version": 1, "verifier": "judge", "hop": "answer", "role": "L0", "description": ""}
    pin = write_suite(plain.root / "suites/talk/v1", about, lines)
    target = {"suite": "talk/v1", "digest": pin, **LAX, "min_items": 60, "min_hard_items": 0, "max_tokens": 64}
    routing = {"suite": "routing/v1", "digest": plain.contract.pins["routing/v1"], "min_items": 60, "margin": 0.2}
    guard = {**routing, "champion_low": 0.1, "max_tokens": 1}
    return with_tables(plain, target=target, guards=[guard], **({"judge": rule} if rule else {}))


def asked(home: Home, made: World, judge: Reader) -> tuple[Verdict, str, str, str]:
    """The verdict, with form, card and report."""
    scripted = engine(OLD_ROUTES, lambda text: "well well well")
    means = Means(scripted, harness_of, verifiers=with_judge(judge))
    contest = Contest(CHAMPION, CANDIDATE)
    verdict = gate(home, "made/v1", contest, means, Unrecorded(), night="2026-10-01", contracts=made.root)
    if verdict.judgement is Judgement.CANNOT_TELL:
        assert scripted.asked == [], "nothing was asked"
    folder = home.verdicts / verdict.digest
    return verdict, *((folder / name).read_text() for name in ("brief.md", "card.md", "report.html"))


def test_how_far_the_judge_agrees_is_shown_where_people_marked_answers(home: Home, tmp_path: Path) -> None:
    """In form, card and report, without a rule: so many of the right ones, so many of the wrong ones."""
    _, *told = asked(home, judged(tmp_path), Reader(blind=4, torn=1))

    for one in told:
        assert "reader/0 agrees with people on 90.0% of 40 marked answers (95%: 76.9% to 96.0%)" in one
        assert "18 of 20 right ones, 18 of 20 wrong ones, no verdict on 1" in one


def test_where_nobody_marked_an_answer_nothing_is_said_of_it(home: Home, tmp_path: Path) -> None:
    """No judge is asked about any."""
    _, *told = asked(home, judged(tmp_path, marked=0), Reader())

    assert not any("agrees with people" in one for one in told)


@pytest.mark.parametrize(
    ("marked", "blind", "says"),
    [
        (40, 8, None),
        (40, 9, "reader/0 agrees with people on 77.5% of 40 marked answers"),
        (29, 0, "people marked 15 other answers than the reference as right and 14 as wrong, at least 15 of each"),
    ],
)
def test_a_judge_that_sees_otherwise_than_people_decides_nothing(
    home: Home, tmp_path: Path, marked: int, blind: int, says: str | None
) -> None:
    """By the contract's rule; then nothing is asked, and the gate cannot tell."""
    verdict, *_ = asked(home, judged(tmp_path, marked, RULE), Reader(blind))
    clause = next(one for one in verdict.clauses if one.name == "judge_agreement")

    if says is None:
        assert clause.judgement is Judgement.PASS
        assert (clause.numbers["agreed_right"], clause.numbers["agreed_wrong"]) == (0.8, 0.8)
    else:
        assert clause.judgement is verdict.judgement is Judgement.CANNOT_TELL
        assert clause.text.startswith(says) and clause.text.endswith("nothing was asked")


class Flatterer(Reader):
    """A judge to whom everything is as good as anything."""

    def prefer(self, rubric: str, question: str, first: str, second: str) -> Preference | None:
        self.asked += 1
        return Preference.SAME


def test_a_judge_that_always_says_yes_is_not_believed(home: Home, tmp_path: Path) -> None:
    """However many of the marked answers are right: the wrong ones count for themselves."""
    verdict, *_ = asked(home, judged(tmp_path, rule=RULE), Flatterer())
    clause = next(one for one in verdict.clauses if one.name == "judge_agreement")

    assert clause.judgement is Judgement.CANNOT_TELL
    assert (clause.numbers["agreed_right"], clause.numbers["agreed_wrong"]) == (1.0, 0.0)


def test_the_reference_itself_shows_nothing_of_a_judge(home: Home, tmp_path: Path) -> None:
    """It is right without anybody being asked, and so no evidence."""
    made = judged(tmp_path)
    suite = made.root / "suites/talk/v1/items.jsonl"
    lines = [orjson.loads(line) for line in suite.read_bytes().splitlines()]
    for one in lines:
        for mark in one.get("marked", ()):
            mark |= {"answer": "Well, well.", "right": True}
    suite.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    table, judge = with_judge(one := Reader()), load("talk/v1", None, made.root)

    assert agreement({"talk/v1": judge}, table) is None and len(judge.marks) == MARKED
    assert one.asked == 0


def test_a_contract_may_name_its_judge(home: Home, tmp_path: Path) -> None:
    """With another model, or another prompt, its results would not be comparable."""
    with pytest.raises(ContractError, match=r"is judged by reader/1, and .* names reader/0.*not compared"):
        asked(home, judged(tmp_path, rule={**RULE, "by": "reader/1"}), Reader())


class Away(Reader):
    """A judge that cannot be reached."""

    def prefer(self, rubric: str, question: str, first: str, second: str) -> Preference | None:
        raise TransientError("no route")


def test_a_judge_that_is_away_is_waited_for(home: Home, tmp_path: Path) -> None:
    """No verdict is written down, so that the night may be run again."""
    with pytest.raises(TransientError, match=r"the judge cannot be reached: no route \(40 of 40 marked answers\)"):
        asked(home, judged(tmp_path, rule=RULE), Away())

    assert not home.verdicts.exists() or list(home.verdicts.iterdir()) == []


def test_a_rule_for_a_judge_that_nobody_asks_is_refused(home: Home, tmp_path: Path) -> None:
    """It would say nothing."""
    made = with_tables(world(tmp_path, 15, 40, **LAX, min_items=60), judge=RULE)
    means = Means(engine(OLD_ROUTES, str), harness_of, verifiers=with_judge(Reader()))

    with pytest.raises(ContractError, match="no suite of it asks one"):
        contest = Contest(CHAMPION, CANDIDATE)
        gate(home, "made/v1", contest, means, Unrecorded(), night="2026-10-01", contracts=made.root)


def test_what_people_said_of_answers_comes_with_their_labels(tmp_path: Path) -> None:
    """From the traces, or from who labels; a suite keeps it, and no answer that nobody marked."""
    found = [
        Aside(
            f"trace{n:04}",
            Split.GATE,
            f"cluster{n}",
            (ChatMessage(role="user", content=f"question {n} please"),),
            f"answer {n}",
            "L0",
            expected(n),
            [True, False, None][n % 3],
        )
        for n in range(60)
    ]
    path = tmp_path / "labels.jsonl"
    assert draft(path, found, {}, "judge") == 60
    lines = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    assert [line["right"] for line in lines[:3]] == [True, False, None]
    lines[2]["right"] = False
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))

    labels = read(path, [one.item_id for one in found], lambda wanted: "")
    about = About(name="talk", version=1, verifier="judge", hop="answer", role="L0")
    mine = [(one, labels[one.item_id]) for one in found]
    made = freeze(tmp_path / "contracts", about, mine, ["easy/v1"], Bars(effect=0.35, discordance=0.4))
    suite = load(made.name, made.suite, tmp_path / "contracts")

    assert len(suite.marks) == 41
    assert [(one.answer, one.right) for one in suite.marks[:4]] == [
        ("answer 0", True), ("answer 1", False), ("answer 2", False), ("answer 3", True),
    ]  # fmt: skip
    exact = about.model_copy(update={"name": "facts", "verifier": "exact"})
    spelt = [(one, label.model_copy(update={"expected": ("so",)})) for one, label in mine]
    plain = freeze(tmp_path / "contracts", exact, spelt, ["easy/v1"], Bars(effect=0.35, discordance=0.4))
    assert load(plain.name, plain.suite, tmp_path / "contracts").marks == (), "only a judge is held against people"
    assert "zero_tolerance" not in (tmp_path / "contracts/gate/talk/v1.toml").read_text()
