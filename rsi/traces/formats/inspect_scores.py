"""Scores of an Inspect sample: C, P, I and N, numbers, truth values, or several of them under one name."""

from rsi.ids import digest
from rsi.traces.formats import fields
from rsi.traces.formats.run import Judgement
from rsi.traces.rows import Json, JsonObject

_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Correct, partial, incorrect, no answer."""
_SAME = "UNCHANGED"


def judgements(sample: JsonObject) -> tuple[Judgement, ...]:
    """One for each scorer, or for each part of what it said. Older logs have one score without a name."""
    scores = fields.table(sample.get("scores"))
    if not scores and isinstance(sample.get("score"), dict):
        scores = {"score": sample["score"]}
    return tuple(one for name, score in scores.items() for one in _score(name, score))


def _score(name: str, score: Json) -> list[Judgement]:
    """A score as it stands now; who edited it is its source, what stood before is kept in what was said."""
    if not isinstance(score, dict):
        return [_judgement(name, score, {}, None, None)]
    told: JsonObject = {key: score.get(key) for key in ("value", "answer", "explanation", "metadata")}
    edits = fields.tables(score.get("history"))
    for edit in edits:
        told.update({key: edit[key] for key in told if key in edit and edit[key] != _SAME})
    last = fields.table(edits[-1].get("provenance")) if edits else {}
    beside = _beside(score, told)
    value = told["value"]
    comment = fields.named(last.get("reason")) or fields.text(told["explanation"])
    if not isinstance(value, dict):
        return [_judgement(name, value, beside, comment, last, _by_model(name, score))]
    return [
        _judgement(f"{name}.{key}", one, beside, comment, last, _by_model(name, score))
        for key, one in value.items()
    ]


def _judgement(
    name: str,
    value: Json,
    beside: JsonObject,
    comment: str | None,
    edited: JsonObject | None,
    by_model: bool = False,
) -> Judgement:
    known = _value(value)
    said = dict(beside) if known is not None and not isinstance(value, str) else {"value": value, **beside}
    source = "human" if edited else "llm" if by_model else "code"
    ts, _ = fields.moment(fields.table(edited).get("timestamp"))
    return Judgement(
        name,
        known,
        said=said or None,
        source=source,
        annotator=fields.named(fields.table(edited).get("author")),
        basis="edited" if edited else None,
        comment=comment or None,
        ts_ns=ts,
        native_id=digest([name, value])[:16],
    )


def _value(value: Json) -> float | None:
    if isinstance(value, str) and value in _LETTERS:
        return _LETTERS[value]
    number = fields.number(value)
    return number if number is not None and 0 <= number <= 1 else None


def _beside(score: JsonObject, told: JsonObject) -> JsonObject:
    """The answer that was judged, the scorer's notes without its talk with a grader, and earlier values."""
    notes = {key: value for key, value in fields.table(told["metadata"]).items() if key != "grading"}
    kept: JsonObject = {"answer": told["answer"], "metadata": notes, "history": score.get("history")}
    return {key: value for key, value in kept.items() if value}


def _by_model(name: str, score: JsonObject) -> bool:
    """Whether a model graded: its talk stands in the notes, or the scorer's name says so."""
    return "grading" in fields.table(score.get("metadata")) or name.startswith("model_graded")
