"""Agent trajectories in ATIF, one run a document: steps of the system, the user and the agent.

Written to v1.8; of later minor versions what is known is read. A step of the agent is one call of the model,
unless it says that it made none. Steps copied from an earlier trajectory are history: they are read as what
was said, not as calls. Embedded trajectories of sub-agents are traces of their own, of the same session.
"""

from collections import Counter
from typing import NamedTuple

import orjson

from rsi.ids import digest
from rsi.traces.formats import fields
from rsi.traces.formats.logged import judgement
from rsi.traces.formats.run import Judgement, Run, Step, Usage
from rsi.traces.formats.told import Told, told_rows
from rsi.traces.formats.turns import Turn, message_turns
from rsi.traces.formats.usage import usage
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows

NAME = "atif"
WHOLE = "trajectory"
_VERSION = "ATIF-v"
_ROLES = {"agent": "assistant", "user": "user", "system": "system", "environment": "tool", "tool": "tool"}
_SCORES = ("reward", "score", "success", "resolved", "passed")
_HEAVY = ("prompt_token_ids", "completion_token_ids", "logprobs")
_COUNTS = ("prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd")


def matches(record: JsonObject) -> bool:
    """`schema_version` that begins with ``ATIF-v``."""
    version = record.get("schema_version")
    return isinstance(version, str) and version.startswith(_VERSION)


def read(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
    """The run, and a run for each embedded sub-agent."""
    return tuple(_trajectory(record, place, None, 0))


def _trajectory(record: JsonObject, place: Place, parent: Run | None, number: int) -> list[Rows | Refusal]:
    steps = record.get("steps")
    if not isinstance(steps, list):
        text = None if parent is None else orjson.dumps(record)
        return [Refusal(Reason.MISSING_FIELD, "a trajectory without a list `steps`", text)]
    refusals: list[Rows | Refusal] = [
        Refusal(Reason.BAD_VALUE, f"steps[{at}] is no object", orjson.dumps(one))
        for at, one in enumerate(steps)
        if not isinstance(one, dict)
    ]
    subagents = fields.tables(record.get("subagent_trajectories"))
    read_steps = _steps(steps)
    run = _run(record, read_steps, parent, number)
    told = [
        Told(_whole(record, run, read_steps)),
        *(Told(one.step, one.turns, one.start_ns) for one in read_steps),
    ]
    part = None
    if subagents or parent is not None:
        part = orjson.dumps({key: value for key, value in record.items() if key != "subagent_trajectories"})
    found: list[Rows | Refusal] = [told_rows(run, told, NAME, place, part), *refusals]
    for at, one in enumerate(subagents):
        found.extend(_trajectory(one, place, run, at))
    return found


class _Read(NamedTuple):
    """A step and what was said in it."""

    step: Step | None
    """Null for what is no operation: a message of the user, copied history."""
    turns: tuple[Turn, ...]
    start_ns: int | None
    end_ns: int | None
    time_state: str


def _steps(steps: list[Json]) -> list[_Read]:
    """Steps with names of their own: by their ids, and by how often the same id came before."""
    seen: Counter[str] = Counter()
    found = []
    for at, one in enumerate(steps):
        if isinstance(one, dict):
            number = fields.whole(one.get("step_id"))
            name = f"step {at + 1 if number is None else number}"
            seen[name] += 1
            found.append(_step(one, name if seen[name] == 1 else f"{name} again {seen[name]}"))
    return found


def _whole(record: JsonObject, run: Run, steps: list[_Read]) -> Step:
    """The span that the steps hang on; it has the totals where no step has counts."""
    counted = any(one.step is not None and one.step.usage != Usage() for one in steps)
    final = fields.table(record.get("final_metrics"))
    totals = {key: final.get(f"total_{key}") for key in _COUNTS}
    return Step(
        native_id=WHOLE,
        kind="agent",
        name=run.agent or NAME,
        start_ns=run.start_ns,
        end_ns=run.end_ns,
        time_state=run.time_state or "missing",
        usage=Usage() if counted else _usage(totals),
    )


def _step(record: JsonObject, name: str) -> _Read:
    source = fields.named(record.get("source")) or "system"
    copied = record.get("is_copied_context") is True
    turns = _turns(record, _ROLES.get(source, source), name, copied)
    extra = fields.table(record.get("extra"))
    invoked = fields.table(extra.get("invocation"))
    start_ns, state = fields.moment(invoked.get("start_timestamp"))
    end_ns, _ = fields.moment(invoked.get("end_timestamp"))
    if start_ns is None:
        start_ns, state = fields.moment(record.get("timestamp"))
    step = None
    if not copied and (source == "agent" or invoked):
        called = fields.whole(record.get("llm_call_count"))
        is_call = source == "agent" and called != 0
        within = fields.named(fields.table(extra.get("ancestry")).get("function_name"))
        broken = fields.named(invoked.get("status")) in ("error", "failed")
        step = Step(
            native_id=name,
            kind="llm" if is_call else "step",
            name="chat" if is_call else within or source,
            parent_id=WHOLE,
            start_ns=start_ns,
            end_ns=end_ns,
            time_state=state,
            status="error" if broken else "ok" if is_call else "unset",
            model=fields.named(record.get("model_name")),
            usage=_usage(fields.table(record.get("metrics"))) if is_call else Usage(),
            answered=tuple(one for one in turns if one.role == "assistant"),
            attributes=_attributes(record, extra),
        )
    return _Read(step, turns, start_ns, end_ns, state)


def _turns(record: JsonObject, role: str, name: str, copied: bool) -> tuple[Turn, ...]:
    """What was said in a step, then what came back; named by the step, so that a document may grow."""
    # What our own export puts beside the step, since ATIF has no place for it.
    beside = fields.table(fields.table(record.get("extra")).get("rsi"))
    if beside.get("content_state") == "silent":
        return ()
    message: JsonObject = {
        "role": fields.named(beside.get("role")) or role,
        "content": None if beside.get("content_state") == "absent" else record.get("message"),
        "name": beside.get("author"),
        "tool_calls": record.get("tool_calls", beside.get("tool_calls")),
        "tool_call_id": beside.get("tool_call_id"),
        "reasoning_content": record.get("reasoning_content", beside.get("reasoning_content")),
    }
    found = []
    for turn in message_turns(message):
        # A call that was copied is told where it was made.
        found.append(turn._replace(calls=()) if copied else turn)
    asked = {call.native_id: call.name for turn in found for call in turn.calls}
    for result in fields.tables(fields.table(record.get("observation")).get("results")):
        answers = fields.named(result.get("source_call_id"))
        extra = fields.table(result.get("extra"))
        for turn in message_turns(
            {"role": "tool", "content": result.get("content"), "tool_call_id": answers}
        ):
            failed = extra.get("is_error") is True or extra.get("status") in ("error", "failed")
            found.append(turn._replace(tool=asked.get(answers), failed=failed))
    return tuple(one._replace(native_id=f"{name} {place}") for place, one in enumerate(found))


def _usage(metrics: JsonObject) -> Usage:
    told = usage({key: metrics.get(key) for key in _COUNTS})
    reasoning = fields.whole(fields.table(metrics.get("extra")).get("reasoning_tokens"))
    return told._replace(cost_usd=fields.number(metrics.get("cost_usd")), reasoning=reasoning)


def _attributes(record: JsonObject, extra: JsonObject) -> JsonObject:
    found: JsonObject = {key: record[key] for key in ("reasoning_effort", "llm_call_count") if key in record}
    metrics = {
        key: value
        for key, value in fields.table(record.get("metrics")).items()
        if key not in _HEAVY and key not in _COUNTS
    }
    if metrics:
        found["metrics"] = metrics
    rest: JsonObject = {key: value for key, value in extra.items() if key != "rsi"}
    return {**found, **({"extra": rest} if rest else {})}


def _run(record: JsonObject, steps: list[_Read], parent: Run | None, number: int) -> Run:
    session, own = fields.named(record.get("session_id")), fields.named(record.get("trajectory_id"))
    if parent is not None:
        own = own or (session if session != parent.conversation else None) or f"{parent.native}/{number}"
        session = parent.conversation or session
    agent, extra = fields.table(record.get("agent")), fields.table(record.get("extra"))
    beside = fields.table(extra.get("rsi"))
    task = fields.named(extra.get("task_id"))
    starts = [one.start_ns for one in steps if one.start_ns is not None]
    ends = [*starts, *(one.end_ns for one in steps if one.end_ns is not None)]
    begin, end = min(starts, default=None), max(ends, default=None)
    if beside:
        begin, end = fields.moment(beside.get("start"))[0], fields.moment(beside.get("end"))[0]
    return Run(
        native=own or session or "trajectory",
        family=NAME,
        weak=_opening(record),
        conversation=fields.named(beside.get("conversation")) if beside else session,
        user=fields.named(beside.get("user")),
        task_id=task,
        trial=fields.whole(extra.get("trial")),
        agent=fields.named(agent.get("name")),
        model=fields.named(agent.get("model_name")),
        version=fields.named(beside.get("version")),
        route=fields.named(beside.get("route")),
        release=fields.named(agent.get("version")),
        environment=fields.named(beside.get("environment")),
        start_ns=begin,
        end_ns=end,
        time_state=next((one.time_state for one in steps if one.start_ns is not None), "missing"),
        error=fields.named(beside.get("error")),
        metadata=_metadata(record, agent, extra, parent),
        session=parent.session if parent is not None else f"task {task}" if task is not None else None,
        judgements=_judgements(extra),
    )


def _opening(record: JsonObject) -> str:
    """How a trajectory begins: it stays so when it grows, and tells apart those that share an id."""
    first = [
        [one.get(key) for key in ("source", "message", "timestamp")]
        for one in fields.tables(record.get("steps"))[:2]
    ]
    return digest([fields.table(record.get("agent")).get("name"), first])


def _metadata(record: JsonObject, agent: JsonObject, extra: JsonObject, parent: Run | None) -> JsonObject:
    found: JsonObject = dict(fields.table(fields.table(extra.get("rsi")).get("metadata")))
    found |= {
        key: record[key]
        for key in ("schema_version", "notes", "final_metrics", "continued_trajectory_ref")
        if record.get(key) is not None
    }
    tools: list[Json] = [
        name
        for one in fields.tables(agent.get("tool_definitions"))
        if (name := fields.named(fields.table(one.get("function", one)).get("name")))
    ]
    if tools:
        found["tools"] = tools
    rest: JsonObject = {key: value for key, value in extra.items() if key not in ("rsi", "scores")}
    for key, value in (("extra", rest), ("agent", fields.table(agent.get("extra")))):
        if value:
            found[key] = value
    if parent is not None:
        found["parent"] = parent.native
    return found


def _judgements(extra: JsonObject) -> tuple[Judgement, ...]:
    """Scores that stand in the trajectory; most producers keep theirs in the verifier's file."""
    listed = (judgement(one) for one in fields.tables(extra.get("scores")) if "name" in one)
    found = [one for one in listed if isinstance(one, Judgement)]
    for name in _SCORES:
        number = fields.number(extra.get(name))
        if number is not None:
            rates = 0 <= number <= 1
            value, said = (number, None) if rates else (None, extra[name])
            found.append(Judgement(name, value, said, source="env", basis="extra"))
    return tuple(found)
