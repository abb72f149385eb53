"""The rules of the agent loop: when an episode ends, and how answers are drawn."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from rsi.records import Record


class Unread(StrEnum):
    """What happens after an answer that is no call."""

    END = "end"
    """The episode ends, as wrong format."""
    TELL = "tell"
    """The model is told what is wrong and has the rest of its turns."""


class Rules(Record):
    """One set of rules; its digest says what a rollout was made under."""

    turns: int = Field(3, ge=1, le=64)
    """Most answers."""
    answer_tokens: int = Field(24, ge=1, le=32768)
    """Most tokens of one answer."""
    context: int = Field(1024, ge=1)
    """Most tokens of the whole; an episode without room for another answer ends."""
    temperature: float = Field(1.0, ge=0, le=2)
    unread: Unread = Unread.TELL
    repeats: int = Field(2, ge=1)
    """How often in a row one answer may be given; the next time ends the episode and does nothing."""
    stop: str = Field("done", min_length=1, pattern=r"^\w+$")
    """The stop word. It is not heard behind a call that was refused."""
    role: Literal["tool", "user"] = "tool"
    """Who tells a result, in the chat template's words."""
    result_chars: int = Field(400, ge=16)
    """Most characters of a result; the rest is cut off."""
    tool_seconds: float = Field(10.0, gt=0)
    """How long one use of the environment may take."""
