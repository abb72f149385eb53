"""Which reader takes a record, decided for each record: files mix formats and versions."""

from rsi.traces.decode import decode_record
from rsi.traces.formats import FORMATS
from rsi.traces.rows import Format, JsonObject, Place, Reason, Refusal, Rows
from rsi.traces.values import Cut, Piece


def detect(record: JsonObject) -> Format | None:
    """The first format that says the record is its own."""
    return next((one for one in FORMATS if one.matches(record)), None)


def read(piece: Piece, place: Place) -> tuple[Rows | Refusal, ...]:
    """Rows by trace, or refusals; at least one of either. Never raises."""
    record = decode_record(piece.body)
    if isinstance(record, Refusal):
        if piece.cut is Cut.PERHAPS and record.reason is Reason.NOT_JSON:
            return (Refusal(Reason.CUT_LINE, f"the file ends inside this line: {record.detail}"),)
        return (record,)
    format_ = detect(record)
    if format_ is None:
        keys = ", ".join(sorted(record)[:8])
        known = ", ".join(one.NAME for one in FORMATS)
        return (
            Refusal(Reason.UNKNOWN_FORMAT, f"no reader takes an object with keys {keys}; known: {known}"),
        )
    try:
        return format_.read(record, place)
    except Exception as error:
        # One record that a reader did not foresee must not cost the rest of the folder.
        return (Refusal(Reason.READER_FAILED, f"{format_.NAME}: {type(error).__name__}: {error}"),)
