"""A JSON document that a schema accepts.

`expected` is ``{"schema": …, "example": …}``: a JSON Schema (draft 2020-12 unless it names another) and a document
that it accepts. The answer is the document, alone or as the one code fence around it. A ``$ref`` is followed inside the
schema only and never fetched. `pattern` and `patternProperties` are refused: they would run in Python's own
backtracking engine, which an answer can stall; `format` is not asserted, as the drafts have it.
"""

import re
from typing import TYPE_CHECKING, TypeAlias

import orjson

from rsi.records import Outcome
from rsi.verifiers.outcomes import empty, invalid, scored, wrong_format

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
SIZE = 200_000
"""Most characters of a document or of an expectation."""
DEPTH = 64
"""Most levels of either."""
NODES = 20_000
"""Most values in either."""
_FENCE = re.compile(r"```[\w-]*\n(.*?)\n?```", re.DOTALL)
_REFUSED = ("pattern", "patternProperties", "$dynamicRef", "$recursiveRef")


def check(answer: str, expected: str) -> Outcome:
    """Right when the answer is a JSON document that the schema accepts."""
    found = _parse(expected)
    if isinstance(found, str):
        return invalid(found)
    said = answer.strip()
    if not said:
        return empty()
    fenced = _FENCE.fullmatch(said)
    document = document_of(fenced[1] if fenced else said)
    if document is None:
        return wrong_format("the answer is not a JSON document within the bounds")
    return _judged(found[0], document[0])


def gold(expected: str) -> str | None:
    """The example."""
    found = _parse(expected)
    return None if isinstance(found, str) else orjson.dumps(found[1]).decode()


def document_of(text: str) -> tuple[Json] | None:
    """A document in a tuple of its own, as null is one; None where it is none or beyond the bounds."""
    if len(text) > SIZE:
        return None
    try:
        found: Json = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return (found,) if within(found) else None


def within(document: Json) -> bool:
    """Whether a document has no more than `DEPTH` levels and `NODES` values."""
    level, nodes = [document], 0
    for _ in range(DEPTH):
        nodes += len(level)
        if not level or nodes > NODES:
            return not level
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
    return not level


def _parse(expected: str) -> tuple["Validator", Json] | str:
    """The schema's validator and the example, or what is wrong with them."""
    found = document_of(expected)
    if found is None or not isinstance(found[0], dict) or found[0].keys() != {"schema", "example"}:
        return "expected is not an object with schema and example"
    schema, example = found[0]["schema"], found[0]["example"]
    if not isinstance(schema, dict):
        return "the schema is not an object"
    refused = next((key for key in _keys(schema) if key in _REFUSED), None)
    if refused:
        return f"the schema uses {refused}, which is not supported"
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for
    from referencing import Registry

    kind = validator_for(schema)
    try:
        kind.check_schema(schema)
    except (SchemaError, RecursionError):
        return "the schema is none"
    validator: Validator = kind(schema, registry=Registry())
    outcome = _judged(validator, example)
    return (validator, example) if outcome.score == 1.0 else f"the example is refused: {outcome.detail}"


def _judged(validator: "Validator", document: Json) -> Outcome:
    from referencing.exceptions import Unresolvable

    try:
        flaw = next(validator.iter_errors(document), None)
    except Unresolvable:
        return invalid("the schema refers to something outside itself")
    except RecursionError:
        return invalid("the schema refers to itself without end")
    if flaw is None:
        return scored(True)
    return scored(False, f"{flaw.json_path}: {flaw.validator}")


def _keys(document: Json) -> list[str]:
    if isinstance(document, dict):
        return [*document, *(key for one in document.values() for key in _keys(one))]
    return [key for one in document for key in _keys(one)] if isinstance(document, list) else []
