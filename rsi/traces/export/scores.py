"""A score as an object that our readers of logs take again."""

from rsi.traces.formats import fields
from rsi.traces.rows import JsonObject, Score


def score(one: Score) -> JsonObject:
    """Its columns; what was said stands for a value that is no number from 0 to 1."""
    said = fields.parsed(one.said)
    found: JsonObject = {
        "name": one.name,
        "value": one.value if one.value is not None else said,
        "correction": one.correction,
        "source": one.source,
        "annotator": one.annotator,
        "basis": one.basis,
        "target": one.target,
        "comment": one.comment,
        "ts_ns": one.ts_ns,
    }
    return {key: value for key, value in found.items() if value is not None}
