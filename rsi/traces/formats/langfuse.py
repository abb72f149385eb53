"""Langfuse: traces with observations and scores, in the shapes of its download, its API and its scheduled exports.

- ``{"trace": {…}, "observations": […]}`` (download), with scores at either place;
- a trace of the API with its observations and scores inside; pages of the API (``{"data": […], "meta": …}``);
- single rows: observations (also with the fields of their trace), traces, scores;
- batches of the older ingestion API (``{"batch": [{"type": "trace-create", "body": …}]}``).

All rows that name one trace are parts of it, in whichever record they come.
"""

from collections.abc import Iterator

import orjson

from rsi.traces.formats import fields, langfuse_scores
from rsi.traces.formats.langfuse_part import Part, inside
from rsi.traces.formats.langfuse_rows import shaped
from rsi.traces.formats.langfuse_steps import KINDS
from rsi.traces.formats.run import rows
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows

NAME = "langfuse"
_TRACE_ONLY = {
    "sessionId",
    "userId",
    "release",
    "version",
    "tags",
    "public",
    "bookmarked",
    "projectId",
    "htmlPath",
}


def matches(record: JsonObject) -> bool:
    """A trace with observations, a page or batch of rows, or one row."""
    if _is_download(record):
        return True
    for key in ("data", "batch"):
        first = next(iter(fields.tables(record.get(key))), None)
        if first is not None:
            return _event_kind(first) is not None if key == "batch" else _kind(shaped(first)) is not None
    return _kind(shaped(record)) is not None


def read(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
    """The parts of each trace that the record tells of."""
    refusals: list[Refusal] = []
    parts: dict[str, Part] = {}
    texts: dict[str, list[Json]] = {}
    for kind, row, told in _rows_of(record):
        native = _trace_of(kind, row)
        if native is None:
            about = "a score of no trace, but a session or experiment," if kind == "score" else kind
            refusals.append(
                Refusal(Reason.MISSING_FIELD, f"{about} without the id of a trace", orjson.dumps(told))
            )
            continue
        texts.setdefault(native, []).append(told)
        refusals += parts.setdefault(native, Part(native)).add(kind, row)
    found = []
    for native, part in parts.items():
        whole = {"batch" if "batch" in record else "data": texts[native]}
        found.append(rows(part.run(), NAME, place, orjson.dumps(whole) if len(parts) > 1 else None))
    if not found and not refusals:
        refusals.append(Refusal(Reason.MISSING_FIELD, "no trace, observation or score in the record"))
    return (*found, *refusals)


def _is_download(record: JsonObject) -> bool:
    trace = record.get("trace")
    return isinstance(trace, dict) and (
        "observations" in record or "observations" in trace or "projectId" in trace
    )


def _kind(row: JsonObject) -> str | None:
    """trace, observation or score, from the keys of a row in camel case."""
    if not isinstance(row.get("id"), str):
        return None
    if langfuse_scores.matches(row):
        return "score"
    if isinstance(row.get("traceId"), str) and "startTime" in row:
        is_known = str(row.get("type")).upper() in KINDS or (
            "type" not in row and "parentObservationId" in row
        )
        return "observation" if is_known else None
    if "timestamp" in row and len(_TRACE_ONLY.intersection(row)) >= 3 and "traceId" not in row:
        return "trace"
    return None


def _trace_of(kind: str, row: JsonObject) -> str | None:
    """The id of the trace that a row is, or is about."""
    if kind != "trace":
        return fields.first(row, "traceId")
    told = (fields.first(shaped(one), "traceId") for one in inside(row))
    return fields.first(row, "id") or next((one for one in told if one is not None), None)


def _rows_of(record: JsonObject) -> Iterator[tuple[str, JsonObject, JsonObject]]:
    """The record's rows with their kind: in camel case, and as they are."""
    if _is_download(record):
        trace = fields.table(record["trace"])
        beside = {key: record[key] for key in ("observations", "scores", "corrections") if key in record}
        yield "trace", {**shaped(trace), **{f"{key}Beside": value for key, value in beside.items()}}, record
    elif isinstance(record.get("batch"), list):
        for event in fields.tables(record["batch"]):
            yield from _event(event)
    else:
        data = record.get("data")
        for one in fields.tables(data) if isinstance(data, list) else [record]:
            row = shaped(one)
            kind = _kind(row)
            if kind == "trace":
                row = {**row, "isExport": "project_id" in one or "user_id" in one}
            if kind is not None:
                yield kind, langfuse_scores.located(row) if kind == "score" else row, one
            else:
                yield "a row", {}, one


def _event_kind(event: JsonObject) -> str | None:
    """trace, score, or the type of an observation ("" where its body says it)."""
    kind, _, verb = str(event.get("type")).rpartition("-")
    if verb not in ("create", "update") or not isinstance(event.get("body"), dict):
        return None
    if kind in ("trace", "score"):
        return kind
    return "" if kind == "observation" else kind.upper() if kind.upper() in KINDS else None


def _event(event: JsonObject) -> Iterator[tuple[str, JsonObject, JsonObject]]:
    kind, body = _event_kind(event), shaped(fields.table(event.get("body")))
    if kind in ("trace", "score"):
        yield kind, {"timestamp": event.get("timestamp"), **body}, event
    elif kind is not None:
        yield "observation", {**({"type": kind} if kind else {}), **body}, event
