"""MLflow's assessments: feedback of people, judges and programs, and expectations of what would have been right."""

from rsi.traces.formats import fields
from rsi.traces.formats.grades import grade, is_end_users
from rsi.traces.formats.mlflow_spans import identity
from rsi.traces.formats.run import Judgement
from rsi.traces.rows import Json, JsonObject, Reason, Refusal

_SOURCES = {"HUMAN": "human", "LLM_JUDGE": "llm", "AI_JUDGE": "llm", "CODE": "code"}


def judgement(told: JsonObject, part: bytes) -> Judgement | Refusal:
    """One assessment; `part` is its text. What another one overrides keeps what it said, without value."""
    name = fields.first(told, "assessment_name", "name") or "feedback"
    source = fields.table(told.get("source"))
    kind = _SOURCES.get(str(source.get("source_type")).upper(), "code")
    annotator = fields.first(source, "source_id")
    comment = fields.named(told.get("rationale"))
    given = told.get("feedback", told.get("expectation"))
    if not isinstance(given, dict):
        return Refusal(Reason.MISSING_FIELD, "an assessment with neither feedback nor expectation", part)
    common = Judgement(
        name=name,
        source="end_user" if kind == "human" and is_end_users(name) else kind,
        annotator=annotator if annotator != "default" else None,
        target=identity(told.get("span_id")),
        comment=comment,
        ts_ns=_when(told),
        native_id=fields.first(told, "assessment_id"),
    )
    if "feedback" not in told:
        value = _value(given)
        return common._replace(
            correction=value if isinstance(value, str) else fields.written(value), basis="expectation"
        )
    found = grade(name, _value(given))
    error = fields.table(given.get("error", told.get("error")))
    failed = fields.first(error, "error_message", "error_code")
    if told.get("valid") is False:
        return common._replace(said=_value(given), basis="overridden")
    if failed is not None and found.said is None and found.value is None:
        return common._replace(comment=comment or failed, basis="judge failed")
    if found.said is None and found.value is None and comment is None:
        return Refusal(Reason.MISSING_FIELD, "an assessment without value, rationale or error", part)
    return common._replace(value=found.value, said=found.said, basis=found.basis)


def expected(assessments: list[JsonObject]) -> JsonObject | None:
    """What the expectations say would be right, by name."""
    found: JsonObject = {}
    for one in assessments:
        given, name = one.get("expectation"), fields.first(one, "assessment_name", "name")
        if isinstance(given, dict) and name is not None:
            found[name] = _value(given)
    return found or None


def _value(given: JsonObject) -> Json:
    """The value, which for objects is JSON text one level down."""
    told = given.get("serialized_value")
    if isinstance(told, dict) and "value" not in given:
        return fields.parsed(told.get("value"))
    return given.get("value")


def _when(told: JsonObject) -> int | None:
    keys = ("create_time", "create_time_ms", "last_update_time", "last_update_time_ms")
    return next((ns for key in keys if (ns := fields.moment(told.get(key))[0]) is not None), None)
