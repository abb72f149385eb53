"""The version in service at work in a small world: each episode one trace in the inbox, and one score of its end.

The lines are those of the gateway (`rsi.traces.formats.gateway`). A trace says what was offered, asked, called and
answered, and which calls solve its task, as an audit of the desk would; the score `state` says whether the world ended
in the state that the task wants. All of it is simulated: requests come from the world's generator, scores from its
rules.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import orjson

from rsi.environments import kind
from rsi.harness import calls
from rsi.harness.episode import Episode, Speaker, Turn
from rsi.harness.loop import Play, Table, play
from rsi.ids import digest
from rsi.ports import Clock, Progress, Sampler, silent
from rsi.records import Origin, Outcome, WorldTask
from rsi.serve.capture import FEEDBACK, TRACE, nanoseconds
from rsi.tasks.worlds import VERIFIER
from rsi.traces.spool import Spool
from rsi.verifiers import verify

SCORE = "state"
"""Name of the score."""
TOGETHER = 16
"""Episodes side by side."""
Line = Mapping[str, object]


class Worker(NamedTuple):
    """Who works."""

    version: str
    """Digest of the version."""
    role: str
    adapter: str | None
    """That of the role; null where the bare base works."""
    namespace: str
    origin: Origin


class Tally(NamedTuple):
    """How it went."""

    episodes: int
    right: int


def work(
    tasks: Sequence[WorldTask],
    by: Worker,
    table: Table,
    sampler: Sampler,
    spool: Spool,
    clock: Clock,
    shift: str,
    progress: Progress = silent,
) -> Tally:
    """Play the tasks and write them down; `shift` names the occasion: its traces and draws are its own.

    Raises:
        TransientError: the engine is away, or the disk refuses a line.
        ContractError: the chat template refuses the conversation.
    """
    right = 0
    for start in range(0, len(tasks), TOGETHER):
        some = tasks[start : start + TOGETHER]
        began = nanoseconds(clock.now())
        plays = [
            Play(one, int(digest([shift, one.task_id])[:8], 16), kind(one.environment).open) for one in some
        ]
        episodes = play(plays, table, sampler, by.adapter)
        when = (began, nanoseconds(clock.now()))
        for task, episode in zip(some, episodes, strict=True):
            for line in lines(task, episode, by, table.rules.stop, f"{shift}:{task.task_id}", when):
                spool.append(line)
            right += episode.reward == 1.0
        progress("work", start + len(some), len(tasks), f"{right} solved")
    return Tally(len(tasks), right)


def judged(state: str, expected: str) -> Outcome:
    """The verdict on a world's last state."""
    return verify(VERIFIER, state, expected)


def lines(
    task: WorldTask, episode: Episode, by: Worker, stop: str, named: str, when: tuple[int, int]
) -> tuple[Line, ...]:
    """The trace, and the score where the episode has one: a crash of the world is nobody's failure.

    Args:
        named: what tells the episode from all others.
        when: nanoseconds at which it began and ended.
    """
    tools = calls.tools_of(_tools(task.environment))
    said = list(_messages(task, episode.turns, tools, stop))
    trace_id = digest(["episode", by.version, named])[:32]
    expected = [{"name": one.name, "arguments": one.arguments} for one in task.oracle]
    trace = {
        "schema": TRACE,
        "trace_id": trace_id,
        "namespace": by.namespace,
        "origin": by.origin.value,
        "version": by.version,
        "session": trace_id,
        "start_ns": when[0],
        "end_ns": when[1],
        "messages": said,
        "answer": None,
        "error": episode.outcome.detail if episode.reward is None else None,
        "route": {"role": by.role},
        "model": by.adapter or "base",
        "agent": task.environment,
        "task": task.task_id,
        "tools": list(tools),
        "expected": {"actions": expected, "outputs": []},
    }
    if episode.reward is None:
        return (trace,)
    score = {
        "schema": FEEDBACK,
        "feedback_id": f"{SCORE}-{trace_id}",
        "namespace": by.namespace,
        "trace_id": trace_id,
        "name": SCORE,
        "score": episode.reward,
        "source": "env",
        "basis": VERIFIER,
        "ts_ns": when[1],
    }
    return trace, score


def _tools(environment: str) -> Sequence[Mapping[str, object]]:
    shown = kind(environment).open()
    try:
        return shown.tools
    finally:
        shown.close()


def _messages(
    task: WorldTask, turns: Sequence[Turn], tools: Mapping[str, calls.Tool], stop: str
) -> Iterator[Line]:
    """Who said what, as the OpenAI chat API writes it; a call is named by its place."""
    asked = ""
    for place, turn in enumerate(turns):
        if turn.speaker is Speaker.PROMPT:
            system = turn.text.removesuffix(task.request).strip()
            yield {"role": "system", "content": system}
            yield {"role": "user", "content": task.request}
        elif turn.speaker is Speaker.RESULT:
            answers = {"tool_call_id": asked} if asked else {}
            failed = {"is_error": True} if turns[place - 1].failed else {}
            yield {"role": "tool", "content": turn.text, **answers, **failed}
        else:
            call = _call(turn.text, tools, stop)
            asked = f"call-{place}" if call else ""
            yield {
                "role": "assistant",
                "content": turn.text,
                **({"tool_calls": [{"id": asked, **call}]} if call else {}),
            }


def _call(text: str, tools: Mapping[str, calls.Tool], stop: str) -> Line | None:
    """The call in an answer; None where it makes none that fits a tool."""
    try:
        said = calls.read(text, stop)
        if not said.name:
            return None
        made = calls.fit(said, tools)
    except (calls.Unreadable, calls.Misfit):
        return None
    arguments = orjson.dumps(made.arguments, option=orjson.OPT_SORT_KEYS).decode()
    return {"type": "function", "function": {"name": made.name, "arguments": arguments}}
