"""How tools were called: errors, arguments against their schemas, tools that are not there."""

from collections.abc import Iterator, Mapping
from functools import lru_cache

import orjson

from rsi.discover.actions import loaded
from rsi.discover.blame import name_of
from rsi.discover.facts import CallFact, TraceFacts
from rsi.discover.localise import Localisation
from rsi.discover.signs import Chance, Found, Kind, Sign, blame_of_error, words
from rsi.discover.window import Window
from rsi.records import Blame, Evidence

Schema = Mapping[str, object]
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "array": (list,),
    "object": (dict,), "null": (type(None),),
}  # fmt: skip
_UNNAMED = "unnamed"


def errors(facts: TraceFacts, window: Window, where: Localisation | None) -> Found:
    """A tool that is there answered with an error."""
    offered = _definitions(facts.offered)
    signs = [
        Sign(
            Kind.TOOL_ERROR,
            call.name,
            words(call.error or ""),
            Chance("called", call.name),
            blame_of_error(call.error or ""),
            (_seen(facts, call, (call.error or "an error without a message")[:200]),),
        )
        for call in facts.calls
        if call.status == "error" and (not offered or call.name in offered)
    ]
    return signs, {Chance("called", call.name) for call in facts.calls}


def arguments(facts: TraceFacts, window: Window, where: Localisation | None) -> Found:
    """Arguments that are no object, or not what the tool's schema takes; tools that are not on offer."""
    offered = _definitions(facts.offered)
    signs = []
    for call in facts.calls:
        if call.by_user:
            continue
        chance = Chance("called", call.name)
        if call.state == "invalid":
            seen = _seen(facts, call, "arguments that are no JSON object")
            signs.append(Sign(Kind.INVALID_ARGUMENTS, call.name, "unparsable", chance, evidence=(seen,)))
        elif offered and call.name not in offered and call.name != _UNNAMED:
            seen = _seen(facts, call, f"{call.name} is none of {len(offered)} tools on offer")
            signs.append(Sign(Kind.UNKNOWN_TOOL, "", "", Chance("offering tools"), evidence=(seen,)))
        elif schema := offered.get(call.name):
            for fault in sorted(set(faults(loaded(call.arguments), schema))):
                seen = _seen(facts, call, fault)
                signs.append(Sign(Kind.INVALID_ARGUMENTS, call.name, fault, chance, evidence=(seen,)))
    return signs, {Chance("offering tools")} if offered else set()


def broke(facts: TraceFacts, window: Window, where: Localisation | None) -> Found:
    """The run broke."""
    chance = Chance("trace")
    if facts.error is None:
        return [], {chance}
    last = facts.turns[-1].message_uid if facts.turns else None
    seen = Evidence(trace_uid=facts.trace_uid, message_uid=last, says=facts.error[:200])
    return [Sign(Kind.ERROR, words(facts.error), "", chance, blame_of_error(facts.error), (seen,))], {chance}


def slow_tools(facts: TraceFacts, window: Window, where: Localisation | None) -> Found:
    """A call that took far longer than others of its tool."""
    signs = []
    for span in facts.spans:
        limit = window.slow_tools.get(span.name)
        if limit is not None and span.seconds is not None and span.seconds > limit:
            says = f"{span.seconds:.3g} s, where {limit:.3g} s is unusual"
            seen = Evidence(trace_uid=facts.trace_uid, span_uid=span.span_uid, says=says)
            chance = Chance("timed", span.name)
            signs.append(Sign(Kind.SLOW, span.name, "tool", chance, Blame.ENVIRONMENT, (seen,)))
    return signs, {Chance("timed", span.name) for span in facts.spans if span.name in window.slow_tools}


def faults(given: Mapping[str, object], schema: Schema) -> Iterator[str]:
    """What is wrong with arguments, by the schema's required, properties (type, enum) and closedness."""
    properties, required = schema.get("properties"), schema.get("required")
    known = properties if isinstance(properties, dict) else {}
    for name in required if isinstance(required, list) else ():
        if isinstance(name, str) and name not in given:
            yield f"missing {name}"
    for name, value in given.items():
        rule = known.get(name)
        if not isinstance(rule, dict):
            if known and schema.get("additionalProperties") is False:
                yield "unknown argument"
            continue
        if not _typed(value, rule.get("type")):
            yield f"type of {name}"
        elif isinstance(rule.get("enum"), list) and value not in rule["enum"] and value is not None:
            yield f"value of {name}"


def _typed(value: object, wanted: object) -> bool:
    names = wanted if isinstance(wanted, list) else [wanted]
    kinds = [_TYPES.get(str(name).lower()) for name in names]
    if wanted is None or None in kinds:
        return True
    if isinstance(value, bool):
        return any(kind is not None and bool in kind for kind in kinds)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return any(kind is not None and isinstance(value, kind) for kind in kinds)


@lru_cache(maxsize=256)
def _definitions(offered: str | None) -> Mapping[str, Schema]:
    """Tool -> schema of its arguments, empty where only names are given."""
    try:
        found = orjson.loads(offered) if offered else []
    except orjson.JSONDecodeError:
        return {}
    known: dict[str, Schema] = {}
    for one in found if isinstance(found, list) else ():
        if isinstance(one, str):
            known[one] = {}
        elif (name := name_of(one)) is not None:
            inner = one["function"] if isinstance(one.get("function"), dict) else one
            schema: object = next(
                (inner[key] for key in ("parameters", "input_schema", "inputSchema") if key in inner), {}
            )
            known[name] = schema if isinstance(schema, dict) else {}
    return known


def _seen(facts: TraceFacts, call: CallFact, says: str) -> Evidence:
    return Evidence(trace_uid=facts.trace_uid, call_uid=call.call_uid or None, says=says)
