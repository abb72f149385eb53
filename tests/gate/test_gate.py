from dataclasses import replace
from itertools import count
from pathlib import Path

import orjson
import pytest

from rsi.errors import ContractError, IntegrityError
from rsi.gate.contest import Contest, Means
from rsi.gate.gate import Story, gate, open_scorecard
from rsi.prices import Prices
from rsi.records import BankManifest, Judgement, Verdict, Version
from rsi.settings import Home
from tests.gate.made import (
    BASE,
    CANDIDATE,
    CHAMPION,
    HARNESS,
    OTHER,
    ScriptedEngine,
    Unrecorded,
    World,
    answers_right,
    engine,
    harness_of,
    routes_right,
    world,
)

GOOD = engine(routes_right(1), answers_right(3))
BANK = BankManifest(
    night="2026-10-01",
    tasks=6,
    tasks_sha256="9" * 64,
    by_mode={},
    by_expected={"L2": 3, "L0": 3},
    rejected={},
    screens={},
)
STORY = Story(
    bank=BANK,
    texts=("write code", "a script", "a query", "tell me", "why", "advice please"),
    roles=("L2", "L2", "L2", "L0", "L0", "L0"),
    metrics=tuple({"step": n, "reward": n / 10} for n in range(10)),
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> World:
    return world(tmp_path_factory.mktemp("world"))


def run(
    made: World,
    home: Path,
    scripted: ScriptedEngine = GOOD,
    candidate: Version = CANDIDATE,
    story: Story | None = STORY,
    anchor: Version | None = None,
    prices: Prices | None = None,
) -> Verdict:
    return gate(
        Home(home),
        "made/v1",
        Contest(CHAMPION, candidate, anchor),
        Means(scripted, harness_of, prices=prices or Prices(), stopwatch=count(0, 0.25).__next__),
        Unrecorded(),
        night="2026-10-01",
        story=story,
        contracts=made.root,
    )


def test_a_verdict_is_a_folder_with_its_evidence(made: World, tmp_path: Path) -> None:
    """Eight files under the verdict's digest; the records read back as what they are called."""
    verdict = run(made, tmp_path)
    folder = tmp_path / "verdicts" / verdict.digest

    assert sorted(path.name for path in folder.iterdir()) == [
        "brief.md",
        "card.md",
        "certificate.json",
        "report.html",
        "scorecard.json",
        "sums.json",
        "took.json",
        "verdict.json",
    ]
    assert Verdict.parse((folder / "verdict.json").read_bytes()) == verdict
    assert open_scorecard(Home(tmp_path), verdict).digest == verdict.scorecard
    assert (verdict.judgement, verdict.role) == (Judgement.PASS, "L0")
    assert list((tmp_path / "verdicts").iterdir()) == [folder]


def test_the_same_inputs_give_the_same_bytes(made: World, tmp_path: Path) -> None:
    """Two runs, two homes, one digest and equal files; the story does not change the digest."""
    first, second = (run(made, tmp_path / name) for name in "ab")
    files = [sorted((tmp_path / name / "verdicts" / first.digest).iterdir()) for name in "ab"]

    assert first == second
    assert [path.read_bytes() for path in files[0]] == [path.read_bytes() for path in files[1]]
    assert run(made, tmp_path / "c", story=None).digest == first.digest


def test_nothing_of_a_held_out_item_leaves_with_card_and_report(made: World, tmp_path: Path) -> None:
    """No request, question, answer or item id, and no word of an error that might quote one."""
    scripted = replace(
        GOOD, fail=lambda adapter, text: ValueError(text) if text == "question 7 please" else None
    )
    verdict = run(made, tmp_path, scripted)
    folder = tmp_path / "verdicts" / verdict.digest
    held_out = ["request ", "question ", "fact1", "L2-17", "q17", "I do not know"]

    assert "question 7 please" in (folder / "scorecard.json").read_text()
    for name in ("card.md", "report.html", "verdict.json"):
        said = (folder / name).read_text()
        assert [text for text in held_out if text in said] == []
        assert "ValueError" in said


def test_cost_and_latency_of_both_versions_are_told(made: World, tmp_path: Path) -> None:
    """Summed for each, in a file of its own and in card, report and brief; the verdict's digests know nothing of it."""
    folder = tmp_path / "verdicts" / run(made, tmp_path).digest
    took = orjson.loads((folder / "took.json").read_bytes())
    card, report, brief = ((folder / name).read_text() for name in ("card.md", "report.html", "brief.md"))

    # A step of the stopwatch for each batch of a version: 13 batches of 200 requests, 10 of 150 questions.
    assert {name: arms["champion"] for name, arms in took.items()} == {
        "routing/v1": {"answers": 200, "seconds": 13 * 0.25, "read": None, "written": None},
        "easy/v1": {"answers": 150, "seconds": 10 * 0.25, "read": None, "written": None},
    }
    assert took["easy/v1"]["candidate"]["answers"] == 150
    assert "| together | seconds | 5.8 | 5.8 | +0% |" in card
    assert "Cost and latency" in report and "<td>seconds</td>" in report
    assert "easy: 14 → 14 characters an answer (+0%), 0.017 → 0.017 s (+0%)" in brief
    assert "took" not in (folder / "scorecard.json").read_text()


def test_money_is_told_of_each_version_where_there_is_a_price(made: World, tmp_path: Path) -> None:
    """By the hour of the engine, in form, card and report; without a price no sum of money is anywhere."""
    prices = Prices(usd_an_hour=7.2)
    paid, free = (
        tmp_path / name / "verdicts" / run(made, tmp_path / name, prices=price).digest
        for name, price in (("paid", prices), ("free", None))
    )
    card, report, brief = ((paid / name).read_text() for name in ("card.md", "report.html", "brief.md"))

    # 13 and 10 batches of a quarter of a second, at a fifth of a cent a second; per thousand of 200 and 150 answers.
    assert "| routing | US dollars | $0.0065 | $0.0065 | +0% |" in card.replace("\\", "")
    assert "| together | US dollars | $0.012 | $0.012 | +0% |" in card.replace("\\", "")
    assert "Money at $7.20 an hour of the engine." in card.replace("\\", "")
    assert "<td>US dollars</td>" in report and "Money at $7.20 an hour of the engine." in report
    assert "$0.033 → $0.033 for 1,000 answers (+0%)" in brief.replace("\\", "")
    assert paid.name == free.name, "the verdict's digest knows nothing of it"
    assert [file.name for file in free.iterdir() if "$" in file.read_text() or "US dollars" in file.read_text()] == []


def test_card_and_report_tell_the_story(made: World, tmp_path: Path) -> None:
    """Bank, reward curve, baseline and what changed are there when they are given."""
    folder = tmp_path / "verdicts" / run(made, tmp_path).digest
    card, report = (folder / "card.md").read_text(), (folder / "report.html").read_text()
    for said in (card, report):
        assert "L0-old → L0-new" in said
        assert "TF-IDF + logistic regression, trained on the same 6 texts" in said
        assert BANK.digest[:12] in said
    assert "Reward, each step" in report


def test_a_change_of_the_harness_alone_goes_through_the_same_gate(made: World, tmp_path: Path) -> None:
    """Another route text, no adapter: a verdict with no role, whatever it says."""
    version = Version(base=BASE, adapters=CHAMPION.adapters, harness=OTHER.digest, parent=CHAMPION.digest)
    verdict = run(made, tmp_path, candidate=version)
    card = (tmp_path / "verdicts" / verdict.digest / "card.md").read_text()

    assert (verdict.role, verdict.judgement) == (None, Judgement.FAIL)
    assert "harness only" in card and "Name the specialist" in card


def test_a_changed_suite_or_contract_stops_before_anything_is_asked(tmp_path: Path) -> None:
    """The pin is checked first; nothing is written."""
    made = world(tmp_path / "contracts", 2, 2)
    items = made.root / "suites/easy/v1/items.jsonl"
    items.write_bytes(items.read_bytes() + b"\n")
    scripted = engine(routes_right(1), answers_right(3))
    with pytest.raises(IntegrityError, match="easy/v1"):
        run(made, tmp_path / "home", scripted)
    with pytest.raises(ContractError, match="no contract made/v2"):
        gate(
            Home(tmp_path / "home"),
            "made/v2",
            Contest(CHAMPION, CANDIDATE),
            Means(scripted, harness_of),
            Unrecorded(),
            night="n",
            contracts=made.root,
        )

    assert scripted.asked == []
    assert not (tmp_path / "home").exists()


def test_a_full_disk_leaves_nothing_half_written(
    made: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No space left before the verdict is published: the error passes, no folder is there, a retry works."""
    monkeypatch.setenv("RSI_FAULT", "gate.before_verdict:enospc")
    with pytest.raises(OSError, match="No space"):
        run(made, tmp_path)
    assert not (tmp_path / "verdicts").exists()
    monkeypatch.delenv("RSI_FAULT")

    assert (tmp_path / "verdicts" / run(made, tmp_path).digest / "verdict.json").is_file()


def test_a_scorecard_that_was_touched_is_noticed(made: World, tmp_path: Path) -> None:
    """One changed answer, and it is no longer the evidence; a missing one is named."""
    verdict = run(made, tmp_path)
    path = tmp_path / "verdicts" / verdict.digest / "scorecard.json"
    path.write_bytes(path.read_bytes().replace(b"I do not know", b"I do now know", 1))
    with pytest.raises(IntegrityError, match="is not the scorecard of verdict"):
        open_scorecard(Home(tmp_path), verdict)
    path.unlink()
    with pytest.raises(IntegrityError, match=r"scorecard\.json is missing"):
        open_scorecard(Home(tmp_path), verdict)


def test_the_anchor_is_the_version_that_the_contract_names(tmp_path: Path) -> None:
    """Genesis has no parent; a digest is a digest."""
    genesis = Version(base=BASE, adapters={}, harness=HARNESS.digest, parent=None)
    made, pinned = world(tmp_path / "a", anchor="genesis"), world(tmp_path / "b", anchor="a" * 64)

    assert "guard_easy_anchor" in {one.name for one in run(made, tmp_path, anchor=genesis).clauses}
    with pytest.raises(ContractError, match="wants genesis as anchor"):
        run(made, tmp_path, anchor=CANDIDATE)
    with pytest.raises(ContractError, match="wants anchor aaaaaaaaaaaa"):
        run(pinned, tmp_path, anchor=genesis)
    with pytest.raises(ContractError, match="names anchor genesis"):
        run(made, tmp_path)
