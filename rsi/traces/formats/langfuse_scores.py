"""Langfuse's scores: numbers, truths, categories and texts of evaluators, annotators and programs, and corrections."""

from rsi.traces.formats import fields
from rsi.traces.formats.grades import Grade, grade, is_end_users
from rsi.traces.formats.langfuse_rows import traced
from rsi.traces.formats.run import Judgement
from rsi.traces.rows import Json, JsonObject, Reason, Refusal

_SOURCES = {"EVAL": "llm", "ANNOTATION": "human", "API": "code"}
_TYPES = ("NUMERIC", "BOOLEAN", "CATEGORICAL", "TEXT", "CORRECTION")


def matches(row: JsonObject) -> bool:
    """Whether a row (with its names in camel case) is a score: its type, or its source, beside a value."""
    typed = row.get("dataType") in _TYPES or str(row.get("source")) in _SOURCES
    return typed and isinstance(row.get("name"), str) and ("value" in row or "stringValue" in row)


def located(row: JsonObject) -> JsonObject:
    """A row that names what it judges in `subject` (version 3 of the API), with the ids of the older ones."""
    subject = fields.table(row.get("subject"))
    if subject.get("kind") == "trace":
        return {**row, "traceId": subject.get("id")}
    if subject.get("kind") == "observation":
        return {**row, "traceId": subject.get("traceId"), "observationId": subject.get("id")}
    return row


def judgement(row: JsonObject) -> Judgement | Refusal:
    """One score, which names its trace; a refusal where it says nothing or is of a whole session."""
    name = fields.named(row.get("name")) or "score"
    text = fields.first(row, "longStringValue", "stringValue")
    kind, given = row.get("dataType"), row.get("value")
    comment = fields.named(row.get("comment"))
    correction, found = None, Grade()
    if kind == "CORRECTION":
        correction, found = text or fields.text(given), Grade(basis="correction")
    elif kind == "TEXT":
        found = Grade(said=text if text is not None else given)
    elif kind == "BOOLEAN":
        found = grade(name, _truth(given, text))
    elif kind == "CATEGORICAL" or (kind is None and text is not None and fields.number(given) is None):
        found = grade(name, text if text is not None else given)
    else:
        found = grade(name, given)
    if found.value is None and found.said is None and correction is None and comment is None:
        return Refusal(Reason.MISSING_FIELD, "a score without value, correction or comment", traced(row))
    source = _SOURCES.get(str(row.get("source")), "code")
    return Judgement(
        name=name,
        value=found.value,
        said=found.said,
        correction=correction,
        source="end_user" if source == "code" and is_end_users(name) else source,
        annotator=fields.first(row, "authorUserId"),
        basis=found.basis,
        target=fields.first(row, "observationId"),
        comment=comment,
        ts_ns=next(
            (ns for key in ("timestamp", "createdAt") if (ns := fields.moment(row.get(key))[0])), None
        ),
        native_id=fields.first(row, "id"),
    )


def _truth(given: Json, text: str | None) -> Json:
    """A boolean score, which comes as 0 or 1 with "False" or "True" beside it."""
    number = fields.number(given)
    if number in (0, 1):
        return number == 1
    return {"true": True, "false": False}.get((text or "").lower(), given)
