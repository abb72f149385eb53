"""What is exported and read again says the same."""

from pathlib import Path
from typing import NamedTuple

import pytest

from rsi.settings import Home
from rsi.store.database import store_batch
from rsi.traces.export import TARGETS, export
from rsi.traces.export.whole import Chosen, Whole, wholes
from tests.traces.inputs import CLOCK, SAMPLES, SHARED, load

FILES = [
    "chat.jsonl",
    "otlp.json",
    "tau.json",
    "atif.json",
    "codex.jsonl",
    "claude_code.jsonl",
    "gateway.ndjson",
]


class Canon(NamedTuple):
    """What must come back, without ids."""

    conversation: list[tuple[str, str | None, str | None, str | None]]
    calls: list[tuple[str, ...]]
    scores: list[tuple[str, ...]]
    tokens: list[tuple[int, ...]]
    start_ns: int | None
    end_ns: int | None
    session: str | None


def canon(whole: Whole) -> Canon:
    calls = [one for one in whole.spans if one.kind == "llm"]
    trace = whole.trace
    return Canon(
        [(one.role, one.author, one.content, one.reasoning) for one in whole.messages],
        sorted(
            (
                one.name,
                one.requestor,
                one.arguments or "",
                one.arguments_raw or "",
                one.result or "",
                one.status,
            )
            for one in whole.calls
        ),
        sorted(
            (one.name, f"{one.value}", one.source, one.correction or "", one.comment or "", f"{one.ts_ns}")
            for one in whole.scores
        ),
        sorted(
            (
                one.input_tokens or 0,
                one.output_tokens or 0,
                one.cache_read_tokens or 0,
                one.reasoning_tokens or 0,
            )
            for one in calls
        ),
        trace.start_ns,
        trace.end_ns,
        trace.conversation,
    )


def all_of(home: Home) -> dict[str, Canon]:
    """By the producer's id of the trace."""
    with store_batch(home, CLOCK, "test") as connection:
        return {one.trace.native_id: canon(one) for one in wholes(connection, Chosen())}


def there_and_back(home: Home, target: str, *files: Path) -> list[tuple[str, Canon, Canon]]:
    """Each trace before and after; those that the target has nothing to say of are left out."""
    load(home, *files)
    out = home.root / "out.jsonl"
    with store_batch(home, CLOCK, "test") as connection:
        before = {
            one.trace.trace_uid: (one.trace.native_id, canon(one)) for one in wholes(connection, Chosen())
        }
        done = export(connection, target, out)
    again = Home(home.root / "again")
    totals = load(again, out)
    assert (totals.quarantined, done.traces) == (0, len(before))
    after = all_of(again)
    pairs = [
        (native, told, after.get(trace_uid) or after.get(native))
        for trace_uid, (native, told) in before.items()
    ]
    found = [(native, told, back) for native, told, back in pairs if back is not None]
    assert len(found) == len(before) - done.empty
    return found


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("target", ["otlp", "atif"])
def test_whole_traces_come_back(home: Home, target: str, file: str) -> None:
    """Conversation, calls with results, scores, tokens of each call, times and session."""
    for native, before, after in there_and_back(home, target, SAMPLES / file):
        assert after == before, native


@pytest.mark.parametrize("file", FILES)
def test_conversations_come_back(home: Home, file: str) -> None:
    """Lines of the chat API have all but the tokens of each call."""
    for native, before, after in there_and_back(home, "messages", SAMPLES / file):
        assert after == before._replace(tokens=[]), native


@pytest.mark.parametrize("target", list(TARGETS))
def test_a_result_that_only_the_tool_told_stands_in_the_conversation(home: Home, target: str) -> None:
    """Tools that read conversations need it there; a tool's span keeps it where there are spans."""
    ((_, before, after),) = there_and_back(home, target, SAMPLES / "atof.jsonl")
    added = [] if target == "otlp" else [("tool", None, "144", None)]
    assert after.conversation == before.conversation + added
    assert after.calls == before.calls
    assert after.calls


@pytest.mark.skipif(not SHARED.exists(), reason="the shared trace files are not here")
@pytest.mark.parametrize("target", ["otlp", "atif"])
@pytest.mark.parametrize(
    "files",
    [
        ["derived_tau6/otlp_genai.spans.jsonl.zst", "derived_tau6/otlp_genai.evaluation_events.json"],
        ["derived_tau6/flywheel_chat_log.jsonl.gz"],
        ["jaeger_json"],
        ["tau_bench/gpt-4o-airline.trials01.json"],
        ["claude_code"],
    ],
    ids=lambda files: files[0].partition("/")[0],
)
def test_shared_traces_come_back(home: Home, target: str, files: list[str]) -> None:
    """Real files, each call with its tokens."""
    pairs = there_and_back(home, target, *(SHARED / file for file in files))
    assert pairs
    for native, before, after in pairs:
        said = [one for one in after.conversation if one in before.conversation or one[0] != "tool"]
        # What only a tool's span told is in the conversation of a trajectory.
        assert (after.conversation if target == "otlp" else said) == before.conversation, native
        assert (after.calls, after.scores) == (before.calls, before.scores), native
        if target == "otlp":
            # A call that several libraries recorded is one step of a trajectory.
            assert after.tokens == before.tokens, native
