"""`rsi contract`: from a folder of traces to a first promotion, as docs/own-traffic.md tells it."""

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import orjson
import pytest

from rsi.gate.suites import load
from rsi.ids import night
from rsi.intake import Splits
from rsi.night import run
from rsi.ports import Generation, Prompt
from rsi.registry import approval
from rsi.registry.genesis import found
from rsi.settings import PROJECT, Deployment, Home
from rsi.store.ledger import Ledger
from rsi.traces.ingest import ingest
from tests import night_made
from tests.commands.spoken import Terminal
from tests.fakes import Taught
from tests.made import FixedClock, base_digest, router

PAGE = (PROJECT / "docs/own-traffic.md").read_text()
BLOCKS = [block.strip().splitlines() for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)]
REQUESTS = [orjson.loads(line) for line in (PROJECT / "data/requests/traffic.jsonl").read_bytes().splitlines()]
OWN = [one for one in REQUESTS if "text" in one]


def logs(folder: Path, requests: Sequence[Mapping[str, object]]) -> None:
    """Chat logs in which everything went to L0, with what people said was right."""
    folder.mkdir()
    lines = [
        {
            "id": one["id"],
            "messages": [{"role": "user", "content": one["text"]}, {"role": "assistant", "content": "well"}],
            "scores": [
                {"name": "route", "value": float(one["label"] == "L0"), "correction": one["label"], "source": "human"}
            ],
        }
        for one in requests
    ]
    (folder / "chat.jsonl").write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))


class Schooled(Taught):
    """Also knows every other easy question, whoever is asked."""

    facts: Mapping[str, str]

    def generate(
        self,
        prompts: Sequence[Prompt],
        adapter: str | None,
        max_tokens: int,
        temperature: float = 0.0,
        seed: int = 0,
    ) -> list[Generation]:
        """What it knows, or that it does not."""
        said = (self.facts.get(prompt[-1].content, "I do not know") for prompt in prompts)
        return [Generation(text, (), (), "stop") for text in said]


@pytest.fixture
def rsi(terminal: Terminal, tmp_path, tiny_base, monkeypatch) -> Terminal:
    """A home of the tiny model without traces, and a folder of logs beside it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RSI_CONTRACTS", str(tmp_path / "contracts"))
    _settings(tiny_base, Splits()).write(terminal.home.deployment_file)
    (terminal.home.root / "key").write_bytes(b"0" * 64)
    logs(tmp_path / "logs", OWN[:320])
    return terminal


@pytest.fixture(scope="module")
def ingested(tmp_path_factory, tiny_base) -> Path:
    """The same with a small share of the logs held out."""
    home = Home(tmp_path_factory.mktemp("own") / "home")
    settings = _settings(tiny_base, Splits(gate=0.3))
    found(home, FixedClock(), settings, router(), base_digest(tiny_base))
    (home.root / "key").write_bytes(b"0" * 64)
    logs(home.root.parent / "logs", OWN[:100])
    ingest(home, FixedClock(), [home.root.parent / "logs"], deployment=settings)
    return home.root


@pytest.fixture
def held(terminal: Terminal, ingested, tmp_path, monkeypatch) -> Terminal:
    """A copy of it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RSI_CONTRACTS", str(tmp_path / "contracts"))
    shutil.copytree(ingested, terminal.home.root)
    return terminal


def _settings(base: Path, split: Splits) -> Deployment:
    made = Deployment.model_validate({**night_made.SETTINGS, "base": str(base), "split": split.model_dump()})
    return made.model_copy(update={"update": made.update.model_copy(update={"steps": 2, "prompts": 2})})


def test_the_page_from_traces_to_a_first_promotion(rsi: Terminal, tiny_base, tmp_path) -> None:
    """Its commands in their order; the night's model is one that learnt the requests by heart."""
    begin, label, freeze, seal, judge, promote = BLOCKS

    def said(line: str) -> str:
        if line.startswith("rsi "):
            return rsi.ok(*shlex.split(line)[1:])
        return subprocess.run(["bash", "-c", line.replace("0.2", "0.45")], check=True, text=True, cwd=tmp_path).stdout

    for line in [*begin[1:], *label, *freeze, *seal]:
        last = said(line)
    assert "approved" in last and "support/v1" in last
    suite = load("support/v1", None)
    answers: dict[str, list[str]] = {}
    for item in suite.items:
        answers.setdefault(item.expected, []).append(item.messages[-1].content)
    world = night_made.world(tiny_base)
    engine = Schooled(world.engine(), answers)
    easy = load("easy/v1", None).items
    engine.facts = {one.messages[-1].content: orjson.loads(one.expected)[0] for one in easy[::2]}
    clock = FixedClock("2026-11-30T02:00:00+00:00")
    told = run(
        rsi.home,
        Deployment.read(rsi.home.deployment_file),
        night_made.World(clock, world.progress, world.base, lambda: engine),
        night("2026-11-30"),
    )

    assert told.judgement == "pass", told.reason
    assert judge[0] == "rsi nightly" and "support/v1" in said(judge[1])
    digits = approval.waiting(Ledger(rsi.home.ledger, clock), clock.now())[0].verdict[:8]
    last = [said(line.replace("1a2b3c4d", digits)) for line in promote]
    assert "is in service" in last[1] and "all invariants hold" in last[2]
    texts = [text.encode() for texts in answers.values() for text in texts]
    leaks = [
        str(path.relative_to(rsi.home.root))
        for path in rsi.home.root.rglob("*")
        if path.is_file() and path.name != "scorecard.json" and any(text in path.read_bytes() for text in texts)
    ]
    assert [path for path in leaks if not path.startswith("heldout/")] == []


def test_a_person_labels_at_the_terminal_and_goes_on_later(held: Terminal, monkeypatch) -> None:
    """Words of the router do, nonsense is asked again, and what was said is kept."""
    typed = ["L7", "code", "", "s", "q", "n"]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(typed) + "\n"))

    first = held.ok("contract", "new", "support", "--from-traces")

    assert "Who should answer? L0, chat; L1, " in first
    assert "expected 'L7' is none of the harness's roles: L0, L1, L2, L3" in first
    kept = (held.home.heldout / "labels/support.jsonl").read_bytes().splitlines()
    assert orjson.loads(kept[0])["expected"] == "L2"
    assert len(kept) == 2, "the suggestion was taken, one was left out, then it was stopped"
    assert "run the same command again to go on" in first
    monkeypatch.setattr("sys.stdin", io.StringIO("q\ny\n"))
    again = held("contract", "new", "support", "--from-traces")
    assert (again.code, "too few requests are labelled" in again.err) == (1, True)
    assert "2 labels of" in again.out
    draft = orjson.loads(held.ok("contract", "draft", "support", "--out", "labels.jsonl", "--json"))
    assert draft["labelled"] == draft["requests"], "every log says what would have been right"


def test_where_a_model_is_to_judge_a_person_says_of_answers_whether_they_are_right(held: Terminal, monkeypatch) -> None:
    """By that the judge is held against people; one may say neither."""
    wanted = orjson.dumps({"question": "What?", "rubric": "Kind.", "reference": "So."}).decode()
    typed = [wanted, "maybe", "y", wanted, "n", wanted, "s", "q", "n"]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(typed) + "\n"))

    told = held.ok(
        "contract", "new", "talk", "--from-traces", "--hop", "answer", "--role", "L0", "--verifier", "judge"
    )
    kept = (held.home.heldout / "labels/talk.jsonl").read_bytes().splitlines()

    assert "was that answer right? y, n, s for neither" in told and "y, n or s" in told
    assert [orjson.loads(line)["right"] for line in kept] == [True, False, None]


def test_what_makes_no_suite_is_said(held: Terminal) -> None:
    """Before anything is written."""
    assert "--from-traces" in held.refused("contract", "new", "support")
    assert "neither route nor answer" in held.refused("contract", "draft", "a", "--out", "x", "--hop", "tool")
    assert "none of the harness's roles" in held.refused("contract", "draft", "a", "--out", "x", "--hop", "answer")
    assert "cannot be read" in held.refused("contract", "new", "support", "--from-traces", "--labels", "none")
    assert "effect" in held.refused("contract", "new", "support", "--from-traces", "--effect", "3")
    assert "no contract none/v1" in held.refused("contract", "approve", "none/v1", "--by", "a", "--reason", "b")


def test_a_proposal_is_shown_approved_and_named(held: Terminal) -> None:
    """With the state of each contract; the ledger has who approved."""
    held.ok("contract", "draft", "support", "--out", "labels.jsonl")
    few = ["--effect", "0.4", "--questions", "1", "--label-items", "1"]
    made = orjson.loads(
        held.ok("contract", "new", "support", "--from-traces", "--labels", "labels.jsonl", *few, "--json")
    )
    held.ok("contract", "approve", "support/v1", "--by", "ada", "--reason", "ours", "--use")

    told = held.ok("contract", "propose", "support/v1", "--set", "target.min_accuracy=0.7")

    assert made["name"] == "support/v1"
    assert "target.min_accuracy: 0.5 → 0.7" in told
    states = {one["contract"]: one["state"] for one in orjson.loads(held.ok("contract", "list", "--json"))}
    assert states == {"support/v1": "approved", "support/v2": "proposed"}
    assert Deployment.read(held.home.deployment_file).contract == "support/v1"
    record = Ledger(held.home.ledger, FixedClock()).last(lambda one: one.kind == "contract")
    assert (record.body["contract"], record.body["by"], record.body["reason"]) == ("support/v1", "ada", "ours")
    assert "nothing waits for a label" in held.refused("contract", "draft", "support", "--out", "again.jsonl")


@pytest.mark.slow
@pytest.mark.base
@pytest.mark.timeout(3600)
def test_the_page_with_the_real_model(tmp_path, smollm) -> None:
    """Its commands as a person types them, on all the written requests; sixty steps train enough."""
    logs(tmp_path / "logs", OWN)
    begin, label, freeze, seal, judge, promote = BLOCKS
    home = Home(tmp_path / "home")

    def said(line: str) -> str:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "RSI_HOME": str(home.root), "OMP_NUM_THREADS": "2"}
        environment["RSI_CONTRACTS"] = str(tmp_path / "contracts")
        done = subprocess.run(["bash", "-c", line], env=environment, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout

    for line in [*begin[1:], "sed -i 's/^steps = .*/steps = 60/' home/deployment.toml", *label, *freeze, *seal, *judge]:
        print(line, said(line), sep="\n")
    digits = approval.waiting(Ledger(home.ledger, FixedClock()), FixedClock().now())[0].verdict[:8]
    last = [said(line.replace("1a2b3c4d", digits)) for line in promote]
    assert "is in service" in last[1] and "all invariants hold" in last[2]
