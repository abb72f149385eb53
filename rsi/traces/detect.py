"""Which reader takes a record, decided for each record: files mix formats and versions."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import orjson

from rsi.traces.decode import decode_record, kind
from rsi.traces.formats import formats
from rsi.traces.formats.pages import MAX_DEPTH, inside
from rsi.traces.rows import Format, Json, JsonObject, Place, Reason, Refusal, Rows
from rsi.traces.values import Cut, Piece


def detect(record: JsonObject) -> Format | None:
    """The first format that says the record is its own."""
    return next((one for one in formats() if one.matches(record)), None)


def read(
    piece: Piece, place: Place, clean: Callable[[JsonObject], JsonObject] | None = None
) -> tuple[JsonObject | None, tuple[Rows | Refusal, ...]]:
    """The record as it was read (null where it is none), and rows by trace or refusals; at least one of either.

    `clean` is applied to the record before any reader sees it. Never raises.
    """
    record = decode_record(piece.body)
    if isinstance(record, Refusal):
        if piece.cut is Cut.PERHAPS and record.reason is Reason.NOT_JSON:
            record = Refusal(Reason.CUT_LINE, f"the file ends inside this line: {record.detail}")
        return None, (record,)
    if clean is not None:
        record = clean(record)
    return record, _found(record, place)


def _found(record: JsonObject, place: Place, depth: int = 0) -> tuple[Rows | Refusal, ...]:
    """What the record's reader finds; without one, what the readers of the records inside find."""
    format_ = detect(record)
    if format_ is None:
        keys = ", ".join(sorted(record)[:8])[:200]
        unknown = Refusal(Reason.UNKNOWN_FORMAT, f"no reader takes an object with keys {keys}")
        return (_opened(record, place, depth + 1) if depth < MAX_DEPTH else ()) or (unknown,)
    try:
        found = format_.read(record, place)
    except Exception as error:
        # One record that a reader did not foresee must not cost the rest of the folder.
        found = (
            Refusal(Reason.READER_FAILED, f"{format_.NAME}: {type(error).__name__}: {str(error)[:200]}"),
        )
    if not found:
        found = (Refusal(Reason.MISSING_FIELD, f"{format_.NAME}: nothing in this record says anything"),)
    return found


def _opened(record: JsonObject, place: Place, depth: int) -> tuple[Rows | Refusal, ...]:
    """The records of a page, each with its own text; nothing where no reader takes any of them."""
    found: list[Rows | Refusal] = []
    known = False
    for one in inside(record):
        if isinstance(one, dict):
            said = _found(one, place, depth)
            known = known or any(_is_known(part) for part in said)
        else:
            said = (Refusal(Reason.UNKNOWN_FORMAT, f"expected a JSON object in a page, found {kind(one)}"),)
        found += [_apart(part, one) for part in said]
    return tuple(found) if known else ()


def _is_known(found: Rows | Refusal) -> bool:
    return isinstance(found, Rows) or found.reason is not Reason.UNKNOWN_FORMAT


def _apart(found: Rows | Refusal, inner: Json) -> Rows | Refusal:
    """With the text of the record inside, where it has none of its own."""
    if isinstance(found, Rows):
        return found if found.own is not None else replace(found, own=partial(orjson.dumps, inner))
    return found if found.part is not None else replace(found, part=orjson.dumps(inner))
