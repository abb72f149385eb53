"""Which of two tellings of a message says more, field by field, in an order that no other order changes.

Of several parts of a message the view `messages` takes the longest text, the longest thought, the first of other
names and the earliest place, each for itself. A part is needed unless one that is kept already wins, or draws, in
all of them. Texts are compared by a number that tells length first, then content, so that nobody has to read them.
"""

from zlib import crc32

from rsi.traces.rows import Message

_STATES = {"absent": 0, "redacted": 1, "empty": 2, "cut": 3, "full": 4}
_LONGEST = 2**27
"""Of texts beyond that length the content alone decides."""


def said(message: Message) -> int:
    """How much its text says: 28 bits of length, 32 of content, 3 of its state; without a text, the state alone."""
    state = _STATES.get(message.content_state, 0)
    return state if message.content is None else _rank(message.content) << 3 | state


def thought(message: Message) -> int:
    """How much its thought says; 0 for none."""
    return 0 if message.reasoning is None else _rank(message.reasoning)


def says_more(one: Message, other: Message) -> bool:
    """Whether `one` wins in any field."""
    return (
        (one.at_ns, one.seq) < (other.at_ns, other.seq)
        or (
            (one.content != other.content or one.content_state != other.content_state)
            and said(one) > said(other)
        )
        or (one.reasoning != other.reasoning and thought(one) > thought(other))
        or _is_first(one.author, other.author)
        or _is_first(one.tool_call_id, other.tool_call_id)
        or one.role < other.role
    )


def _rank(text: str) -> int:
    return min(len(text) + 1, _LONGEST) << 32 | crc32(text.encode("utf-8", "surrogatepass"))


def _is_first(one: str | None, other: str | None) -> bool:
    return one is not None and (other is None or one < other)
