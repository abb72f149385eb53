"""Streams of model APIs as they came: a record of all chunks, or one chunk or event by itself.

``{"chunks": […]}`` is what `rsi.traces.streams` makes of the adjacent lines of a stream; logs that keep the chunks
of an answer in a list have the same shape, perhaps with the request beside it. A stream is named by its id and its
first words, and its message too: read again when more of it had come, it is the same message, longer.
"""

from rsi.ids import digest
from rsi.traces.formats import fields
from rsi.traces.formats.assembly import is_chunk, is_event, stream
from rsi.traces.formats.bodies import Api, api, run
from rsi.traces.formats.logged import logged
from rsi.traces.formats.run import Run, Step, rows
from rsi.traces.formats.stream_bodies import Body
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows

NAME = "openai_stream"
_LISTS = ("chunks", "events")


def matches(record: JsonObject) -> bool:
    """A chunk or an event, or a list of them under `chunks` or `events`."""
    return is_chunk(record) or is_event(record) or any(_is_stream(record.get(key)) for key in _LISTS)


def read(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
    """One trace: the answer put together, with what it answers where the record has that."""
    is_alone = is_chunk(record) or is_event(record)
    key = next((key for key in _LISTS if _is_stream(record.get(key))), None)
    found = stream([record] if key is None else record.get(key))
    request = fields.table(record.get("request"))
    kind = api(request, found.body) if found else None
    if found is None or kind is None or (is_alone and fields.first(found.body, "id") is None):
        return (Refusal(Reason.MISSING_FIELD, "an event of a stream, and nothing says of which"),)
    outer = {} if is_alone else {name: one for name, one in record.items() if name != key}
    frame = logged(outer, request, found.body)
    made = run(kind, request, found.body, frame, whole=found.whole)
    if not any(one.error or _speaks(one) for one in made.steps):
        return (Refusal(Reason.MISSING_FIELD, "a part of a stream in which nothing is said"),)
    if not request and frame.trace_id is None:
        made = _named(made, kind, found)
    return (rows(made, NAME, place), *frame.refusals)


def _is_stream(value: Json) -> bool:
    """Chunks or events, or what they were put together to."""
    if isinstance(value, dict):
        return isinstance(value.get("assembled"), dict)
    first = next(iter(fields.tables(value)), {})
    return is_chunk(first) or is_event(first)


def _speaks(step: Step) -> bool:
    return any(one.content is not None or one.calls or one.reasoning for one in step.turns)


def _named(made: Run, kind: Api, found: Body) -> Run:
    """Names that stay while a stream goes on: its id, and how it began, since ids repeat."""
    native = fields.first(found.body, "id")
    if native is None:
        return made
    if kind is not Api.RESPONSES:
        made = made._replace(native=native, weak=digest([found.body.get("created"), found.began]))
    return made._replace(steps=tuple(_step(one, native) for one in made.steps))


def _step(step: Step, native: str) -> Step:
    answered = tuple(one._replace(native_id=f"{native}.{seq}") for seq, one in enumerate(step.answered))
    return step._replace(native_id=native, answered=answered)
