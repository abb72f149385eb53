"""Records with fields missing or of the wrong type, made from the records of a sample file."""

from pathlib import Path

from hypothesis import strategies as st

from rsi.traces.decode import decode_record
from rsi.traces.pieces import pieces
from rsi.traces.rows import Json, JsonObject, Refusal
from rsi.traces.values import Piece
from tests.traces.inputs import SAMPLES

ODD: tuple[Json, ...] = (
    None, True, False, 0, -1, 1.5, 2**62, "", "None", "{}", "[]", "text", "2026-01-02", "C", [], {}, [[]], [{}], [None],
    ["text"], [1, 2], {"a": 1}, {"role": "user"}, {"type": "text"}, [{"role": 5, "content": 7}],
)  # fmt: skip


def sample(name: str) -> list[JsonObject]:
    """The records of a sample file."""
    return records(SAMPLES / name)


def records(path: Path) -> list[JsonObject]:
    """The records of a file; it has no flaws."""
    found = []
    for piece in pieces(path):
        assert isinstance(piece, Piece)
        record = decode_record(piece.body)
        assert not isinstance(record, Refusal)
        found.append(record)
    return found


@st.composite
def mutated(draw: st.DrawFn, originals: list[JsonObject]) -> JsonObject:
    """One of the records, with one to six changes anywhere in it."""
    value: Json = draw(st.sampled_from(originals))
    for _ in range(draw(st.integers(1, 6))):
        value = _changed(draw, value)
    return value if isinstance(value, dict) else {}


def _changed(draw: st.DrawFn, value: Json, top: bool = True) -> Json:
    """A copy in which one place is gone, doubled or something odd."""
    if isinstance(value, dict) and value and (top or draw(st.integers(0, 4))):
        key = draw(st.sampled_from(sorted(value)))
        rest = dict(value)
        if draw(st.integers(0, 5)) == 0:
            del rest[key]
        else:
            rest[key] = _changed(draw, value[key], False)
        return rest
    if isinstance(value, list) and value and draw(st.integers(0, 4)):
        at = draw(st.integers(0, len(value) - 1))
        if draw(st.integers(0, 5)) == 0:
            return value[:at] + draw(st.sampled_from(([], [value[at], value[at]]))) + value[at + 1 :]
        return [*value[:at], _changed(draw, value[at], False), *value[at + 1 :]]
    return draw(st.sampled_from(ODD))
