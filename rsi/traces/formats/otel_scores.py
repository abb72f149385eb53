"""What was said about spans: ``gen_ai.evaluation.result`` events, and OpenInference's annotations.

Scales differ from judge to judge: a number from 0 to 1 is the value, else a known word for good or bad, and
anything else is kept as it was said.
"""

from rsi.traces.formats import fields
from rsi.traces.formats.grades import Grade, grade, is_end_users
from rsi.traces.formats.otel_flat import drop, listed
from rsi.traces.formats.otlp_content import Event
from rsi.traces.formats.run import Judgement
from rsi.traces.rows import Json, JsonObject, Reason, Refusal

_SOURCES = {"human": "human", "llm": "llm", "code": "code"}
_LISTS = (
    ("annotations", "annotation", None),
    ("evaluations", "evaluation", None),
    ("trace.annotations", "annotation", "trace"),
    ("trace.evaluations", "evaluation", "trace"),
    ("session.annotations", "annotation", "session"),
    ("session.evaluations", "evaluation", "session"),
)
"""Where annotations are, under what name each, and what they are about where that is not the span."""
_FIRST = {f"{prefix}.0.{inner}.name": (prefix, inner, scope) for prefix, inner, scope in _LISTS}
"""By the key that each list has if it is there."""


def graded(name: str, given: Json, label: str | None) -> Grade:
    """The value that a number or else a label stands for, and what was said where that is not all."""
    number = grade(name, given)
    if label is None:
        return number
    word = grade(name, label)
    if given is None:
        return Grade(word.value, label, word.basis)
    if number.value is None:
        return Grade(word.value, {"score": given, "label": label}, word.basis)
    return Grade(
        number.value, label if number.said is None else {"score": given, "label": label}, number.basis
    )


def evaluation(event: Event, target: str | None) -> Judgement | Refusal:
    """The judgement of an evaluation event about a span; `target` null where it hangs on none."""
    said = event.attributes
    name = fields.first(said, "gen_ai.evaluation.name")
    if name is None:
        part = (fields.written(said) or "{}").encode()
        detail = "gen_ai.evaluation.result without gen_ai.evaluation.name"
        return Refusal(Reason.MISSING_FIELD, detail, part)
    label = fields.first(said, "gen_ai.evaluation.score.label")
    value, rest, basis = graded(name, said.get("gen_ai.evaluation.score.value"), label)
    # Under `rsi.evaluation`, our own export says what the conventions have no name for.
    source = fields.first(said, "rsi.evaluation.source")
    if source is not None:
        value = fields.number(said.get("gen_ai.evaluation.score.value"))
        rest = fields.parsed(said.get("rsi.evaluation.said"))
        basis = fields.first(said, "rsi.evaluation.basis")
    return Judgement(
        name=name,
        value=value,
        said=rest,
        correction=fields.text(said.get("rsi.evaluation.correction")),
        source=source or ("end_user" if is_end_users(name) else "code"),
        annotator=fields.first(said, "rsi.evaluation.annotator"),
        basis=basis,
        target=target or fields.first(said, "gen_ai.response.id", "rsi.evaluation.target"),
        comment=fields.text(said.get("gen_ai.evaluation.explanation")),
        ts_ns=event.ts_ns,
    )


def annotations(attributes: JsonObject, span_id: str) -> list[Judgement]:
    """Feedback in a span's own attributes, taken out of them."""
    found: list[Judgement] = []
    if attributes.keys().isdisjoint(_FIRST.keys()):
        return found
    for key, (prefix, inner, scope) in _FIRST.items():
        if key not in attributes:
            continue
        nodes, keys = listed(attributes, prefix)
        told = [
            annotation(fields.table(one.get(inner)), None if scope else span_id, None, scope) for one in nodes
        ]
        found += [one for one in told if one is not None]
        if all(told):
            drop(attributes, keys)
    return found


def annotation(
    said: JsonObject, target: str | None, ts_ns: int | None, basis: str | None = None
) -> Judgement | None:
    """One annotation; null where it has no name, or says nothing."""
    name = fields.named(said.get("name"))
    label, comment = fields.named(said.get("label")), fields.text(said.get("explanation"))
    given = said.get("score")
    if name is None or (given is None and label is None and not comment):
        return None
    value, rest, turned = graded(name, given, label)
    kind = (fields.named(said.get("annotator_kind")) or "").lower()
    return Judgement(
        name=name,
        value=value,
        said=rest,
        source=_SOURCES.get(kind, "code"),
        annotator=fields.named(said.get("identifier")),
        basis=basis or turned,
        target=target,
        comment=comment,
        ts_ns=ts_ns,
    )
