"""What a task expects never reaches the policy: not in a prompt, a rollout, a metric, a log."""

import contextlib
import io
from pathlib import Path

import orjson
import pytest

from rsi.engine.local import LocalEngine
from rsi.expand.grow import grow
from rsi.expand.prepare import prepare
from rsi.harness import hcp
from rsi.records import ChatMessage
from rsi.settings import Home
from rsi.store.journal import Journal
from rsi.tasks import bank
from rsi.tasks.attempt import Attempts, Policy
from rsi.tasks.calls import expectation
from rsi.tasks.columns import rows
from rsi.tasks.prompt import render
from rsi.update.job import collect, submit
from rsi.update.worker import work
from rsi.verifiers.calls import Call
from tests.expand.agent_made import SETTINGS, context, world
from tests.made import REQUESTS, base_digest, router, tiny_job

CANARY = "zq-canary-7731"


def secret_harness() -> hcp.Harness:
    """The router's harness, in which a role is called like the canary; prompts only say its label."""
    said = router().model_dump()
    said["labels"] = {word: CANARY if role == "L3" else role for word, role in said["labels"].items()}
    return hcp.Harness.model_validate(said)


def tool_task(text: str) -> bank.Task:
    """A task whose right answer holds the canary."""
    definition = {
        "name": "open_door",
        "parameters": {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]},
    }
    tools = orjson.dumps([{"type": "function", "function": definition}]).decode()
    return bank.task(
        "tool",
        (ChatMessage(role="user", content=text),),
        "tool_call",
        expectation([Call("open_door", {"code": CANARY})], tools),
        "m-1",
        ("t",),
        "expected_action",
        tools=tools,
    )


def test_no_prompt_of_any_hop_holds_what_is_expected() -> None:
    """Nor do the columns of other trainers outside the place of the answer."""
    harness = secret_harness()
    routed = bank.task(
        "route", (ChatMessage(role="user", content="a page"),), "choice", CANARY, "m-1", ("t",), "correction"
    )
    tasks = [routed, tool_task("open the door with your code")]

    for one in tasks:
        assert CANARY in one.expected
        assert CANARY not in "".join(turn.content for turn in render(one, harness))
    for name in ("verl", "trl"):
        for row in rows(tasks, harness, name):
            assert CANARY not in orjson.dumps(row["prompt"]).decode()


def test_a_trainings_files_and_output_hold_no_expected_answer(
    home: Home, tiny_base: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside what the job was given: tasks, their counts, and the harness that names the roles."""
    job = tiny_job(home, tiny_base)
    harness = secret_harness()
    hcp.store(home.harnesses, harness)
    tasks = [
        bank.task(
            "route",
            (ChatMessage(role="user", content=text),),
            "choice",
            CANARY if role == "L3" else role,
            None,
            ("trace",),
            "correction",
        )
        for role, texts in REQUESTS.items()
        for text in texts
    ]
    tasks.append(tool_task("open the door, you know how"))
    name = bank.freeze(home, "2026-01-03", tasks)
    job = job.model_copy(update={"bank": name, "harness": harness.digest})
    told: list[str] = []
    place = submit(home, job)

    logged = io.StringIO()
    with contextlib.redirect_stderr(logged):
        end = work(place, tiny_base, lambda *what: told.append(str(what)))

    assert end.adapter is not None
    collect(home, place, end)
    given = ("tasks.parquet", "manifest.json", "harness.toml")
    written = [path for path in place.rglob("*") if path.is_file() and path.name not in given]
    written += [path for path in (home.adapters / end.adapter).rglob("*") if path.is_file()]
    assert any(path.name == "metrics.jsonl" for path in written)
    for path in written:
        assert CANARY.encode() not in path.read_bytes(), path
    captured = capsys.readouterr()
    assert CANARY not in "".join((*told, captured.out, captured.err, logged.getvalue()))


class Listening:
    """A real engine whose prompts are written down."""

    def __init__(self, real: LocalEngine) -> None:
        self.heard: list[str] = []
        self._real = real

    def __getattr__(self, name: str) -> object:
        found = getattr(self._real, name)
        if name not in ("choose", "generate"):
            return found

        def told(prompts: list[tuple[ChatMessage, ...]], *more: object) -> object:
            self.heard += [turn.content for prompt in prompts for turn in prompt]
            return found(prompts, *more)

        return told


def test_no_rollout_hears_what_is_expected(tiny_base: Path) -> None:
    """Of routes and of written answers."""
    engine = Listening(LocalEngine(tiny_base, base_digest(tiny_base), threads=1))
    said = secret_harness().model_dump()
    said["sampling"]["max_tokens"] = 4
    harness = hcp.Harness.model_validate(said)
    routed = bank.task(
        "route", (ChatMessage(role="user", content="a page"),), "choice", CANARY, "m-1", ("t",), "correction"
    )
    attempts = Attempts(lambda: engine, Policy("v", {}, harness), Journal(None), 10)  # type: ignore[arg-type, return-value]

    asked = attempts.ask([routed, tool_task("open the door")], 2)

    assert len(asked) == 2
    assert any("open the door" in one for one in engine.heard)
    assert not any(CANARY in one for one in engine.heard)


@pytest.mark.usefixtures("contracts")
def test_tasks_made_from_traces_do_not_tell_what_their_trace_expected(home: Home) -> None:
    """An expected action that nobody said in the run stands nowhere but in the answer."""
    from rsi.settings import Deployment

    home.inbox.mkdir(parents=True)
    call = {"id": "c", "function": {"name": "open_door", "arguments": '{"code": "guess"}'}}
    runs = [
        {
            "traj": [
                {"role": "user", "content": f"Open door number {number}, my name is on the list."},
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c", "name": "open_door", "content": "wrong code"},
            ],
            "reward": 0.0,
            "task_id": number,
            "trial": 0,
            "info": {"task": {"actions": [{"name": "open_door", "kwargs": {"code": CANARY}}], "outputs": []}},
        }
        for number in range(12)
    ]
    (home.inbox / "runs.json").write_bytes(orjson.dumps(runs))
    night, modes = context(home, Deployment.model_validate(SETTINGS), world())
    given = [one for one in grow(prepare(night, modes), None).tasks if not one.generator]

    assert given
    for one in given:
        assert CANARY in one.expected
        assert CANARY not in "".join(turn.content for turn in render(one, router()))
        assert CANARY not in one.tools
