"""Which reader takes a record, decided for each record: files mix formats and versions."""

from collections.abc import Callable

from rsi.traces.decode import decode_record
from rsi.traces.formats import formats
from rsi.traces.rows import Format, JsonObject, Place, Reason, Refusal, Rows
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
    format_ = detect(record)
    if format_ is None:
        keys = ", ".join(sorted(record)[:8])[:200]
        return record, (Refusal(Reason.UNKNOWN_FORMAT, f"no reader takes an object with keys {keys}"),)
    try:
        found = format_.read(record, place)
    except Exception as error:
        # One record that a reader did not foresee must not cost the rest of the folder.
        found = (
            Refusal(Reason.READER_FAILED, f"{format_.NAME}: {type(error).__name__}: {str(error)[:200]}"),
        )
    if not found:
        found = (Refusal(Reason.MISSING_FIELD, f"{format_.NAME}: nothing in this record says anything"),)
    return record, found
