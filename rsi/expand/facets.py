"""What tasks differ in: the tools, types and value classes of its answer, and language and length of its request."""

import re
from collections.abc import Iterable, Sequence

from rsi.expand.tools import json_type
from rsi.records import Facets, Task
from rsi.tasks.calls import calls_of
from rsi.tasks.language import language
from rsi.tasks.prompt import TOOL
from rsi.tasks.worlds import HOP as WORLD
from rsi.tasks.worlds import world_of
from rsi.verifiers.calls import Call, Json

SHORT, MEDIUM = 12, 40
"""Words up to which a request is short, and medium."""
CLASSES: dict[str, tuple[str, ...]] = {
    "integer": ("zero", "negative", "small", "large"),
    "number": ("zero", "negative", "small", "large"),
    "boolean": ("true", "false"),
    "string": ("word", "words", "id", "date"),
    "array": ("empty", "one", "several"),
    "object": ("empty", "flat", "nested"),
}
"""JSON type -> classes of values that differ in what can go wrong with them."""
_SMALL = 10
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}")


def facets(task: Task) -> Facets:
    """The facets of a task."""
    request = next((one.content for one in reversed(task.messages) if one.role == "user"), "")
    calls = _calls(task)
    values = [value for call in calls for value in call.arguments.values()]
    return Facets(
        tools=_sorted(call.name for call in calls),
        arguments=_sorted(json_type(one) for one in values),
        slots=_sorted(map(value_class, values)) if calls else _label(task),
        language=language(request),
        length=length(request),
    )


def _calls(task: Task) -> Sequence[Call]:
    """The calls that answer it: of an episode, those that solve it."""
    if task.hop == WORLD:
        return [Call(one.name, dict(one.arguments)) for one in world_of(task).oracle]
    return calls_of(task.expected) if task.hop == TOOL else ()


def value_class(value: Json) -> str:
    """`<type>:<class>` of a value."""
    kind = json_type(value)
    return f"{kind}:{_class(value)}"


def length(text: str) -> str:
    """short, medium or long."""
    words = len(text.split())
    return "short" if words <= SHORT else "medium" if words <= MEDIUM else "long"


def _class(value: Json) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        if value <= 0:
            return "negative" if value else "zero"
        return "small" if value <= _SMALL else "large"
    if isinstance(value, str):
        if _DATE.fullmatch(value):
            return "date"
        if any(one.isdigit() for one in value) and " " not in value:
            return "id"
        return "words" if " " in value.strip() else "word"
    if isinstance(value, dict):
        nested = any(isinstance(one, dict | list) for one in value.values())
        return "nested" if nested else "flat" if value else "empty"
    return ("empty", "one", "several")[min(len(value), 2)] if isinstance(value, list) else "null"


def _label(task: Task) -> tuple[str, ...]:
    return (f"label:{task.expected}",) if task.verifier == "choice" else ()


def _sorted(found: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(found)))
