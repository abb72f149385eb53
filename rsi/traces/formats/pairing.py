"""Tools' spans and the calls that models made: the same call told twice, often without its id on the span.

A record that tells both a model's calls and its tools' spans is taken as a whole conversation: a result that only
the tool's span tells, because no further call of the model was given it, is a message of that span.
"""

import re
from collections.abc import Sequence

from rsi.traces.formats import fields
from rsi.traces.formats.run import Step, ToolUse
from rsi.traces.formats.turns import Call, Turn, state_of
from rsi.traces.rows import JsonObject

_COUNTED = re.compile(r"_\d{1,4}\Z")


def paired(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps in order of time, where spans of tools without an id have that of the call they ran.

    It is the first call of that name with the same arguments, else with the same result, that no other span ran.
    """
    ordered = sorted(steps, key=lambda one: (one.start_ns or one.end_ns or 0, one.native_id))
    if not any(one.tool for one in ordered):
        return tuple(ordered)
    ran = {one.tool.call.native_id for one in ordered if one.tool}
    free = [one for one in _told(ordered) if one[0].native_id not in ran]
    found = []
    for one in ordered:
        if one.tool is not None and one.tool.call.native_id is None and (match := _match(free, one.tool)):
            free.remove(match)
            one = one._replace(tool=one.tool._replace(call=match[0]))
        found.append(one)
    return _spoken(found) if any(one.kind == "llm" and one.turns for one in found) else tuple(found)


def _match(free: list[tuple[Call, str | None]], use: ToolUse) -> tuple[Call, str | None] | None:
    same = next((one for one in free if _same_arguments(one[0], use)), None)
    named = (one for one in free if _same_name(one[0], use))
    return same or next((one for one in named if one[1] and one[1] == use.result), None)


def _spoken(steps: list[Step]) -> tuple[Step, ...]:
    """Results that no turn tells, as turns of the spans that ran."""
    heard = [turn for one in steps for turn in one.turns if turn.role == "tool"]
    ids, texts = {turn.answers for turn in heard} - {None}, {_shape(turn.content) for turn in heard}
    found = []
    for one in steps:
        use = one.tool
        if (
            use
            and use.result is not None
            and use.call.native_id not in ids
            and _shape(use.result) not in texts
        ):
            told = Turn(
                "tool", use.result, state_of(use.result), (), use.call.native_id, use.call.name, use.failed
            )
            one = one._replace(answered=(told,))
        found.append(one)
    return tuple(found)


def _shape(text: str | None) -> str | None:
    """A result for comparison: JSON in one spelling."""
    inner = fields.parsed(text) if text and text.lstrip()[:1] in ("{", "[") else None
    return text if inner is None else fields.written(inner)


def _told(steps: Sequence[Step]) -> list[tuple[Call, str | None]]:
    """The calls with ids that models made, each once, with their results where somebody tells them."""
    calls: dict[tuple[str | None, str, str | None], Call] = {}
    results: dict[str, str | None] = {}
    for one in steps:
        for turn in one.turns:
            for call in turn.calls:
                if call.native_id is not None:
                    calls.setdefault((call.native_id, call.name, call.arguments), call)
            if turn.role == "tool" and turn.answers is not None:
                results.setdefault(turn.answers, turn.content)
    return [(call, results.get(call.native_id or "")) for call in calls.values()]


def _same_arguments(call: Call, use: ToolUse) -> bool:
    """Equal arguments; LangChain's tools log them one level down, under ``input``."""
    if not _same_name(call, use) or call.arguments is None:
        return False
    if call.arguments == use.call.arguments:
        return True
    told = fields.parsed(use.call.arguments)
    inner: JsonObject = told if isinstance(told, dict) else {}
    wrapped = inner.get("input", inner.get("args")) if len(inner) == 1 else None
    return wrapped is not None and fields.arguments(wrapped)[0] == call.arguments


def _same_name(call: Call, use: ToolUse) -> bool:
    """Equal names; MLflow counts spans of one name: ``search``, ``search_1``."""
    return call.name == use.call.name or _COUNTED.sub("", use.call.name) == call.name
