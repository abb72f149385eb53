"""MLflow: traces as its SDK and its server write them.

- ``{"info": {…}, "data": {"spans": […]}}`` of version 3 (``trace_id``, base64 ids, times in nanoseconds) and of
  version 2 (``request_id``, hex ids, ``timestamp_ms``);
- the same as JSON text in a column ``trace``, and rows of a search (``trace_id``, ``spans``, ``trace_metadata``);
- what the server's API answers: ``{"trace_info": {…}, "spans": […]}``, also in ``trace``, or the info alone.
"""

import re

import orjson

from rsi.traces.formats import fields
from rsi.traces.formats.mlflow_assessments import expected, judgement
from rsi.traces.formats.mlflow_spans import attributes, identity, sides, step
from rsi.traces.formats.pairing import paired
from rsi.traces.formats.run import Judgement, Run, Step, rows
from rsi.traces.formats.sides import Side, answered, asked, opened
from rsi.traces.formats.turns import last, opening
from rsi.traces.formats.windows import counted
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows

NAME = "mlflow"
_IDS = ("trace_id", "request_id")
_MARKS = ("trace_metadata", "request_metadata", "trace_location", "execution_duration_ms", "execution_time_ms",
          "experiment_id", "request_preview", "timestamp_ms")  # fmt: skip
_INFOS = ("info", "trace_info")
_SECONDS = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)s")
_REPEATED = ("mlflow.traceInputs", "mlflow.traceOutputs")
"""Cut copies of what the root span holds."""


def matches(record: JsonObject) -> bool:
    """Info with an id and data or marks of MLflow, itself or in `trace`; or a row of a search."""
    whole = record.get("trace")
    if isinstance(whole, str) and '"info"' in whole:
        return True
    inner = fields.table(whole)
    if isinstance(inner.get("info"), dict) or _is_told(inner):
        return True
    if isinstance(record.get("info"), dict):
        info = fields.table(record["info"])
        return any(isinstance(info.get(key), str) for key in _IDS) and ("data" in record or _is_marked(info))
    has_id = any(isinstance(record.get(key), str) for key in _IDS)
    is_row = isinstance(record.get("spans"), list | str) and any(key in record for key in _MARKS)
    is_info = isinstance(record.get("trace_location"), dict) and "request_time" in record
    return (has_id and (is_row or is_info)) or _is_told(record)


def _is_told(told: JsonObject) -> bool:
    """Whether the server tells of a trace under `trace_info`."""
    info = fields.table(told.get("trace_info"))
    return any(isinstance(info.get(key), str) for key in _IDS) and _is_marked(info)


def _is_marked(info: JsonObject) -> bool:
    return any(key in info for key in _MARKS)


def read(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
    """One trace; assessments that say nothing are refused beside it."""
    whole = opened(record.get("trace"))
    told = whole if isinstance(whole, dict) and any(key in whole for key in _INFOS) else record
    named = next((key for key in _INFOS if key in told), None)
    info = told if named is None else fields.table(opened(told[named]))
    data = told if named is None or "data" not in told else fields.table(opened(told["data"]))
    spans = [one for one in map(opened, fields.listing(opened(data.get("spans")))) if isinstance(one, dict)]
    native = fields.first(info, *_IDS) or next((found for one in spans if (found := _trace_of(one))), None)
    if native is None:
        return (Refusal(Reason.MISSING_FIELD, "a trace without trace_id or request_id"),)
    refusals = [
        Refusal(Reason.MISSING_FIELD, "a span without id", orjson.dumps(one))
        for one in spans
        if _id_of(one) is None
    ]
    listed = [one for place_ in (info, record) for one in fields.tables(opened(place_.get("assessments")))]
    assessments = list({orjson.dumps(one): one for one in listed}.values())
    judged = [judgement(one, orjson.dumps(one)) for one in assessments]
    run = _run(native, info, data, [one for one in spans if _id_of(one) is not None])._replace(
        judgements=tuple(one for one in judged if isinstance(one, Judgement)), expected=expected(assessments)
    )
    return (rows(run, NAME, place), *refusals, *(one for one in judged if isinstance(one, Refusal)))


def _id_of(span: JsonObject) -> str | None:
    context = fields.table(span.get("context"))
    return identity(span.get("span_id", context.get("span_id")))


def _trace_of(span: JsonObject) -> str | None:
    found = fields.first(attributes(span), "mlflow.traceRequestId")
    native = identity(span.get("trace_id", fields.table(span.get("context")).get("trace_id")))
    return found or (f"tr-{native}" if native else None)


def _run(native: str, info: JsonObject, data: JsonObject, spans: list[JsonObject]) -> Run:
    steps = counted(paired([step(one, _id_of(one) or "") for one in spans]))
    known = {one.native_id for one in steps}
    root = next((one for one in steps if one.parent_id not in known), None)
    given, got = _outer(root, data, spans)
    if root is not None and not any(one.turns for one in steps) and root.tool is None:
        told = root._replace(asked=given.turns, answered=got.turns)
        steps = tuple(told if one is root else one for one in steps)
    said = {**fields.table(opened(info.get("tags"))), **fields.table(opened(info.get("trace_metadata"))),
            **fields.table(opened(info.get("request_metadata")))}  # fmt: skip
    start, state = fields.moment(info.get("request_time", info.get("timestamp_ms")))
    is_timed = any(one.start_ns for one in steps)
    failed = str(info.get("state", info.get("status"))).upper().endswith("ERROR")
    is_run = root is not None and root.kind != "llm"
    # Previews are cut, so that they stand for what nothing else tells.
    asked_cut, answered_cut = (
        (None, None)
        if any(one.turns for one in steps)
        else (info.get("request_preview"), info.get("response_preview"))
    )
    return Run(
        native=native,
        family=NAME,
        steps=steps,
        turns=() if steps else (*given.turns, *got.turns),
        conversation=fields.first(said, "mlflow.trace.session", "session_id", "mlflow.session"),
        user=fields.first(said, "mlflow.trace.user", "user_id"),
        agent=next((one.name for one in steps if one.kind == "agent" and one.name), None),
        release=fields.first(said, "mlflow.modelId", "mlflow.source.git.commit"),
        environment=fields.first(said, "environment", "mlflow.environment"),
        start_ns=None if is_timed else start,
        end_ns=None if is_timed or start is None else _end(start, info),
        time_state=None if is_timed else state,
        input_text=(opening if is_run else last)(given.turns, "user") or fields.named(asked_cut),
        output_text=last(got.turns, "assistant") or fields.named(answered_cut),
        error=(root.error if root is not None and root.error else "error") if failed else None,
        metadata=_metadata(info, said) or None,
    )


def _outer(root: Step | None, data: JsonObject, spans: list[JsonObject]) -> tuple[Side, Side]:
    """What the whole trace was asked and answered: by its root span, else by its data of version 2."""
    found = next((one for one in spans if root is not None and _id_of(one) == root.native_id), None)
    given, got = sides(attributes(found)) if found is not None else (Side(), Side())
    return given if given else asked(data.get("request")), got if got else answered(data.get("response"))


def _end(start: int, info: JsonObject) -> int | None:
    """Start and duration, which comes in milliseconds or as text like ``1.5s``."""
    took: Json = info.get(
        "execution_duration_ms", info.get("execution_time_ms", info.get("execution_duration"))
    )
    if isinstance(took, str) and (found := _SECONDS.fullmatch(took)):
        took = float(found[1]) * 1000
    milliseconds = fields.number(took)
    return (
        start + round(milliseconds * 1e6) if milliseconds is not None and 0 <= milliseconds < 1e12 else None
    )


def _metadata(info: JsonObject, said: JsonObject) -> JsonObject:
    kept: JsonObject = {
        key: value for key, value in said.items() if key not in _REPEATED and value not in (None, "", {}, [])
    }
    for key in ("client_request_id", "experiment_id", "state", "status"):
        if info.get(key) not in (None, ""):
            kept[key] = info[key]
    return kept
