"""A variant of a task: another request, another answer, or both."""

import re
from typing import NamedTuple

from rsi.records import ChatMessage, Task
from rsi.tasks.bank import task
from rsi.tasks.language import LEAST, UNKNOWN, language

SOURCE = "research"


class Variant(NamedTuple):
    """What became of a task's last request and its answer."""

    request: str
    expected: str


def request(one: Task) -> str:
    """The turn to be answered; empty where the last turn is not the user's."""
    last = one.messages[-1] if one.messages else None
    return last.content if last is not None and last.role == "user" else ""


def in_english(one: Task) -> str:
    """The request, where rules for English may change it; else empty."""
    text = request(one)
    told = language(text)
    # A few words of an imperative ("sort these names") tell no language: they count as English where they can.
    short = told == UNKNOWN and text.isascii() and len(text.split()) < LEAST
    return text if told == "en" or short else ""


def lowered(text: str) -> str:
    """A sentence as it stands inside another: its first letter small, unless a name or an acronym begins there."""
    first = text.split(maxsplit=1)[0] if text.split() else ""
    return text[:1].lower() + text[1:] if first[1:].islower() and first not in ("I", "I'm", "I'd") else text


def sentence(text: str) -> str:
    """A text that ends like a sentence."""
    stripped = text.strip()
    return stripped if re.search(r"[.!?…]$", stripped) else f"{stripped}."


def built(seed: Task, variant: Variant, kind: str) -> Task:
    """The task that a variant is."""
    last = ChatMessage(role="user", content=variant.request)
    return task(
        seed.hop,
        (*seed.messages[:-1], last),
        seed.verifier,
        variant.expected,
        seed.mode_id,
        seed.traces,
        SOURCE,
        tools=seed.tools,
        generator=f"{SOURCE}/{kind}",
    )
