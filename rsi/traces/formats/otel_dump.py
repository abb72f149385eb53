"""Spans that were written out one by one, in documents of any shape: grouped by trace, and read."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import orjson

from rsi.traces.formats import fields, otel_run
from rsi.traces.formats.otel_span import Told
from rsi.traces.formats.run import Judgement, rows
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows


class Dumped(NamedTuple):
    """A span, its trace, and where it stood."""

    trace_id: str
    told: Told
    record: JsonObject
    group: str
    """Key of the list that it stood in."""
    judgements: tuple[Judgement, ...] = ()


def read(
    found: Sequence[Dumped | Refusal], name: str, place: Place, part: Callable[[list[Dumped]], Json]
) -> tuple[Rows | Refusal, ...]:
    """Rows by trace; `part` makes the document of one trace's spans, where there are several traces."""
    traces: dict[str, list[Dumped]] = {}
    refusals: list[Refusal] = []
    for one in found:
        if isinstance(one, Refusal):
            refusals.append(one)
        else:
            traces.setdefault(one.trace_id, []).append(one)
    several = len(traces) + len(refusals) > 1
    made: list[Rows | Refusal] = []
    for trace_id, ones in traces.items():
        told = list({one.told.span_id: one.told for one in ones}.values())
        judgements = [said for one in ones for said in one.judgements]
        run, refused = otel_run.run(trace_id, told, judgements)
        made.append(rows(run, name, place, orjson.dumps(part(ones)) if several else None))
        refusals += refused
    if not made and not refusals:
        refusals.append(Refusal(Reason.MISSING_FIELD, "a document of spans without spans"))
    return (*made, *refusals)


def nameless(record: JsonObject, name: Json, missing: str) -> Refusal:
    """What stands for a span whose trace or own id is not there."""
    detail = f"span {str(name)[:60]!r} without a usable {missing}"
    return Refusal(Reason.MISSING_FIELD, detail, orjson.dumps(record))


def identifier(value: Json, digits: int) -> str | None:
    """An id in lower-case hex with all its digits; other spellings as they are; null for zeros."""
    text = fields.named(value)
    if text is None:
        return None
    plain = text.lower().removeprefix("0x").replace("-", "")
    if len(plain) <= digits and all(one in "0123456789abcdef" for one in plain):
        return plain.zfill(digits) if plain.strip("0") else None
    return text


def by_group(ones: list[Dumped]) -> Json:
    """The spans under the keys they stood under."""
    groups: dict[str, Json] = {}
    for one in ones:
        groups[one.group] = [*fields.listing(groups.get(one.group)), one.record]
    return groups
