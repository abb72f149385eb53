"""LangSmith: batches of runs as clients send them, runs as the API and exports give them, and feedback.

- ``{"post": […], "patch": […]}``: a run is created by one half and completed by the other, in the same record or
  in another one; halves are joined by the run's id;
- single runs, also with ``child_runs`` inside; pages ``{"runs": […]}``;
- feedback: what somebody said of a run. It names the run, and its trace only in newer versions; else the run is
  taken to be the trace's root, as it mostly is.
"""

from collections.abc import Iterator

import orjson

from rsi.traces.formats import fields
from rsi.traces.formats.grades import grade, is_end_users
from rsi.traces.formats.langsmith_steps import ancestry, metadata, step
from rsi.traces.formats.pairing import paired
from rsi.traces.formats.run import Judgement, Run, Step, rows
from rsi.traces.formats.sides import answered, asked, opened
from rsi.traces.formats.turns import last, opening
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows

NAME = "langsmith"
_LISTS = ("post", "patch", "runs")
_DEEPEST = 100
_SOURCES = {"app": "human", "model": "llm", "auto_eval": "llm", "api": "code"}
_THREAD = ("session_id", "thread_id", "conversation_id")
_NOTHING: tuple[Json, ...] = (None, "", {}, [], "{}", "[]")


def matches(record: JsonObject) -> bool:
    """A batch or page of runs, a run, or feedback."""
    if any(_is_run(one) for key in _LISTS for one in fields.listing(record.get(key))[:1]):
        return True
    return _is_run(record) or _is_feedback(record)


def read(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
    """The parts of each trace that the record tells of."""
    traces: dict[str, dict[str, JsonObject]] = {}
    judgements: dict[str, list[Judgement]] = {}
    refusals: list[Refusal] = []
    for run, root in _runs(record):
        native = fields.first(run, "id")
        line = ancestry(run)
        trace = fields.first(run, "trace_id") or (line[0][0] if line else root or _own_trace(run))
        if native is None or trace is None:
            refusals.append(
                Refusal(Reason.MISSING_FIELD, "a run without id, or of no trace", orjson.dumps(run))
            )
            continue
        halves = traces.setdefault(trace, {})
        halves[native] = _joined(halves.get(native, {}), run)
    for one in [record] if _is_feedback(record) else fields.tables(record.get("feedback")):
        trace = fields.first(one, "trace_id", "run_id")
        said = _judgement(one, trace)
        if trace is None or isinstance(said, Refusal):
            refusals.append(said if isinstance(said, Refusal) else _of_nothing(one))
            continue
        judgements.setdefault(trace, []).append(said)
    several = len(traces | judgements) > 1
    found = []
    for trace in [*traces, *(one for one in judgements if one not in traces)]:
        runs = traces.get(trace, {})
        part = orjson.dumps({"runs": list(runs.values())}) if several and runs else None
        found.append(rows(_run(trace, runs, tuple(judgements.get(trace, ()))), NAME, place, part))
    if not found and not refusals:
        refusals.append(Refusal(Reason.MISSING_FIELD, "no run and no feedback in the record"))
    return (*found, *refusals)


def _is_run(value: Json) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("id"), str):
        return False
    if isinstance(value.get("dotted_order"), str) and ("trace_id" in value or "run_type" in value):
        return True
    return isinstance(value.get("run_type"), str) and any(
        key in value for key in ("trace_id", "start_time", "inputs")
    )


def _is_feedback(value: JsonObject) -> bool:
    return isinstance(value.get("key"), str) and isinstance(value.get("run_id"), str) and (
        "score" in value or "value" in value or "feedback_source" in value
    )  # fmt: skip


def _runs(record: JsonObject) -> Iterator[tuple[JsonObject, str | None]]:
    """Every run of a record with the id of the trace it is inside of, children behind their parents."""
    waiting: list[tuple[Json, str | None, int]] = []
    if _is_run(record):
        waiting.append((record, None, 0))
    else:
        waiting += [(one, None, 0) for key in _LISTS for one in fields.listing(record.get(key))]
    while waiting:
        run, root, depth = waiting.pop(0)
        if not isinstance(run, dict):
            continue
        yield run, root
        inside = root or fields.first(run, "trace_id", "id")
        if depth < _DEEPEST:
            waiting += [(one, inside, depth + 1) for one in fields.listing(run.get("child_runs"))]


def _own_trace(run: JsonObject) -> str | None:
    """A run without parent is its trace's root, whose id the trace has."""
    return fields.first(run, "id") if fields.first(run, "parent_run_id") is None else None


def _joined(before: JsonObject, after: JsonObject) -> JsonObject:
    """Both halves of a run: what the later one says stands, where it says something."""
    return {
        **before,
        **{key: value for key, value in after.items() if value not in _NOTHING or key not in before},
    }


def _run(native: str, runs: dict[str, JsonObject], judgements: tuple[Judgement, ...]) -> Run:
    steps = paired([step(one, name) for name, one in runs.items()])
    root = runs.get(native) or next(
        (one for one in runs.values() if fields.first(one, "parent_run_id") is None), {}
    )
    top = next((one for one in steps if runs[one.native_id] is root), None)
    given, got = asked(root.get("inputs")), answered(root.get("outputs"))
    if top is not None and not any(one.turns for one in steps) and top.kind in ("step", "agent", "other"):
        told = top._replace(asked=given.turns, answered=got.turns)
        steps = tuple(told if one is top else one for one in steps)
    about = [metadata(root), *(metadata(one) for one in runs.values())]
    conversation = _first(about, *_THREAD)
    task = fields.first(root, "reference_example_id")
    return Run(
        native=native,
        family=NAME,
        steps=steps,
        conversation=conversation,
        session=conversation or task,
        task_id=task,
        user=_first(about, "user_id"),
        agent=_agent(top, about),
        release=_first(about, "revision_id"),
        environment=_first(about, "environment", "env"),
        input_text=(opening if top and top.kind != "llm" else last)(given.turns, "user"),
        output_text=last(got.turns, "assistant"),
        error=fields.named(root.get("error")),
        metadata=_metadata(root) or None,
        judgements=judgements,
    )


def _first(about: list[JsonObject], *keys: str) -> str | None:
    return next((found for one in about if (found := fields.first(one, *keys))), None)


def _agent(top: Step | None, about: list[JsonObject]) -> str | None:
    named = _first(about, "lc_agent_name", "agent_name")
    return named or (top.name or None if top is not None and top.kind in ("step", "agent") else None)


def _metadata(root: JsonObject) -> JsonObject:
    keys = ("name", "session_name", "session_id", "tags", "feedback_stats", "reference_example_id")
    kept = {key: opened(root.get(key)) for key in keys}
    return {key: value for key, value in kept.items() if value not in _NOTHING}


def _judgement(said: JsonObject, trace: str | None) -> Judgement | Refusal:
    name = fields.named(said.get("key")) or "feedback"
    score, value = said.get("score"), said.get("value")
    found = grade(name, score if score is not None else value)
    told = found.said if score is None or value in (None, "") else value
    correction, comment = said.get("correction"), fields.named(said.get("comment"))
    if score is None and value is None and correction in _NOTHING and comment is None:
        return Refusal(
            Reason.MISSING_FIELD, "feedback without score, value, correction or comment", orjson.dumps(said)
        )
    source = fields.table(said.get("feedback_source"))
    kind = _SOURCES.get(str(source.get("type")), "code")
    run = fields.first(said, "run_id")
    return Judgement(
        name=name,
        value=found.value,
        said=told,
        correction=None if correction in _NOTHING else fields.text(correction) or fields.written(correction),
        source="end_user" if kind == "code" and is_end_users(name) else kind,
        annotator=fields.first(source, "user_name", "user_id"),
        basis=found.basis,
        target=run if run != trace else None,
        comment=comment,
        ts_ns=next(
            (ns for key in ("created_at", "modified_at") if (ns := fields.moment(said.get(key))[0])), None
        ),
        native_id=fields.first(said, "id"),
    )


def _of_nothing(said: JsonObject) -> Refusal:
    return Refusal(Reason.MISSING_FIELD, "feedback on no run", orjson.dumps(said))
