"""The gateway's spool: one line a request (``rsi.trace/1``) or a piece of feedback (``rsi.feedback/1``).

A run of several turns is one line as well: its messages hold the calls and what the tools said, and it may name its
`agent`, its `task`, the `tools` on offer and the actions that were `expected`.

Feedback names its trace by the gateway's `trace_id`, or any trace of the store by its `trace_uid`; so a label is
kept like everything else that somebody said.
"""

import re
from dataclasses import replace

from rsi.ids import uid
from rsi.records import Origin
from rsi.traces.formats import fields
from rsi.traces.formats.run import Judgement, Run, Step, rows, score
from rsi.traces.formats.turns import Turn, last, turns
from rsi.traces.formats.usage import usage
from rsi.traces.rows import JsonObject, Place, Reason, Refusal, Rows

NAME = "gateway"
TRACE = "rsi.trace/1"
FEEDBACK = "rsi.feedback/1"
_UID = re.compile(r"[0-9a-f]{32}")


def matches(record: JsonObject) -> bool:
    """`schema` names one of ours, in whatever version."""
    schema = record.get("schema")
    return isinstance(schema, str) and schema.startswith(("rsi.trace/", "rsi.feedback/"))


def read(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
    """One trace, or one score for a trace of the same namespace."""
    schema = record["schema"]
    if schema not in (TRACE, FEEDBACK):
        return (Refusal(Reason.UNKNOWN_FORMAT, f"schema {schema!r}; this rsi reads {TRACE} and {FEEDBACK}"),)
    place = replace(place, namespace=fields.named(record.get("namespace")) or place.namespace)
    if schema == FEEDBACK:
        return (_feedback(record, place),)
    native = fields.named(record.get("trace_id"))
    if native is None:
        return (Refusal(Reason.MISSING_FIELD, f"{schema} without trace_id"),)
    found = _run(record, native)
    return (rows(found, NAME, place) if isinstance(found, Run) else found,)


def _run(record: JsonObject, native: str) -> Run | Refusal:
    if not isinstance(record.get("messages"), list):
        return Refusal(Reason.MISSING_FIELD, f"{TRACE} without the list messages")
    origin = record.get("origin")
    if origin is not None and origin not in list(Origin):
        return Refusal(Reason.BAD_VALUE, f"origin {origin!r}; expected one of {', '.join(Origin)}")
    answer, route = fields.table(record.get("answer")), fields.table(record.get("route"))
    asked = turns(fields.listing(record.get("messages")))
    answered = turns([{"role": "assistant", **answer}]) if answer else ()
    start, state = fields.moment(record.get("start_ns"))
    run = Run(
        native=native,
        family=NAME,
        conversation=fields.named(record.get("session")),
        user=fields.named(record.get("user")),
        task_id=fields.named(record.get("task")),
        agent=fields.named(record.get("agent")),
        model=fields.named(record.get("model")),
        version=fields.named(record.get("version")),
        route=fields.named(route.get("role")),
        origin=Origin(str(origin)) if origin else None,
        start_ns=start,
        end_ns=fields.moment(record.get("end_ns"))[0],
        time_state=state,
        input_text=last(asked, "user"),
        output_text=last(answered, "assistant"),
        error=fields.named(record.get("error")),
        expected=fields.table(record.get("expected")) or None,
        metadata={
            **{key: answer[key] for key in ("finish_reason",) if key in answer},
            **{key: record[key] for key in ("tools",) if record.get(key)},
        },
    )
    return run._replace(steps=_hops(record, run, route, asked, answered))


def _hops(
    record: JsonObject, run: Run, route: JsonObject, asked: tuple[Turn, ...], answered: tuple[Turn, ...]
) -> tuple[Step, ...]:
    """The two hops. Only the whole request has times; the route hop's milliseconds stay an attribute."""
    answer = Step(
        native_id="answer",
        kind="llm",
        name="answer",
        start_ns=run.start_ns,
        end_ns=run.end_ns,
        time_state=run.time_state or "missing",
        status="error" if run.error is not None else "ok" if answered else "unset",
        error=run.error,
        model=run.model,
        finish_reason=fields.named(fields.table(record.get("answer")).get("finish_reason")),
        usage=usage(record.get("usage")),
        asked=asked,
        answered=answered,
    )
    if not route:
        return (answer,)
    return (Step(native_id="route", kind="llm", name="route", status="ok", attributes=route), answer)


def _feedback(record: JsonObject, place: Place) -> Rows | Refusal:
    native, trace_uid = fields.named(record.get("trace_id")), fields.named(record.get("trace_uid"))
    if native is not None:
        trace_uid = uid(place.namespace, NAME, native)
    elif trace_uid is None:
        return Refusal(Reason.MISSING_FIELD, f"{FEEDBACK} without trace_id or trace_uid")
    elif not _UID.fullmatch(trace_uid):
        return Refusal(Reason.BAD_VALUE, f"trace_uid {trace_uid[:80]!r}; expected 32 hex digits")
    name = fields.named(record.get("name"))
    if name is None:
        return Refusal(Reason.MISSING_FIELD, f"{FEEDBACK} without name")
    value = fields.number(record.get("score"))
    if record.get("score") is not None and (value is None or not 0 <= value <= 1):
        return Refusal(Reason.BAD_VALUE, f"score {record.get('score')!r}; expected a number from 0 to 1")
    said = Judgement(
        name=name,
        value=value,
        correction=fields.named(record.get("correction")),
        source=fields.named(record.get("source")) or "end_user",
        annotator=fields.named(record.get("annotator")),
        basis=fields.named(record.get("basis")),
        target=fields.named(record.get("target")),
        comment=fields.text(record.get("comment")),
        ts_ns=fields.moment(record.get("ts_ns"))[0],
        native_id=fields.named(record.get("feedback_id")),
    )
    return Rows(
        trace_uid,
        place.namespace,
        native or trace_uid,
        session=fields.named(record.get("session")),
        scores=(score(trace_uid, said),),
    )
