"""Instructions with one answer and no judgement: the sets that models are tuned on, and plain logs of that shape.

- Alpaca: ``{"instruction", "input", "output"}``, perhaps with `system` and `history`;
- ``{"prompt", "completion"}`` or ``{"prompt", "response"}``, of texts or of messages;
- ``{"query", "response"}``, perhaps with `history`.
"""

from rsi.ids import digest
from rsi.traces.formats import fields
from rsi.traces.formats.logged import Named, framed, logged
from rsi.traces.formats.preference import answer, asked
from rsi.traces.formats.run import rows
from rsi.traces.formats.turns import last
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows

NAME = "instruction"
_PAIRS = (("instruction", "output"), ("prompt", "completion"), ("prompt", "response"), ("query", "response"))
_KNOWN = {"instruction", "input", "output", "prompt", "completion", "query", "response", "history", "system"}


def matches(record: JsonObject) -> bool:
    """A question and an answer under one of the pairs of names."""
    return _pair(record) is not None


def read(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
    """One conversation; named by what was said, and by its id if it has one."""
    question, key = _pair(record) or ("", "")
    own = {question, "input", "history", "system"}
    prompt = asked({name: one for name, one in record.items() if name in own})
    answered = answer(record.get(key))
    if not prompt or not answered:
        return (Refusal(Reason.BAD_VALUE, f"{question} and {key} hold no text"),)
    frame = logged({name: one for name, one in record.items() if name not in _KNOWN}, {}, {})
    heard = (*prompt, *answered)
    content: list[Json] = [[one.role, one.content] for one in heard]
    name = Named(frame.trace_id or frame.record_id or "", None if frame.trace_id else digest(content))
    made = framed(frame, NAME, name)._replace(
        turns=heard, model=fields.first(record, "model"), input_text=last(heard, "user")
    )
    return (rows(made, NAME, place), *frame.refusals)


def _pair(record: JsonObject) -> tuple[str, str] | None:
    for question, key in _PAIRS:
        if isinstance(record.get(question), str | list) and isinstance(record.get(key), str | list):
            return question, key
    return None
