"""The nouns of environments: tasks in small worlds. Part of `rsi.records`, where others find them."""

from enum import StrEnum

from rsi.record import Record

Argument = int | float | str
"""A value that a tool takes."""


class ToolCall(Record):
    """One use of a tool."""

    name: str
    arguments: dict[str, Argument]


class Pool(StrEnum):
    """Which tasks of a generator one may train on. What a request asks for, in whatever words, lies in one pool."""

    TRAIN = "train"
    HELD_OUT = "held_out"
    """Requests that training never asks, in the phrasings of training."""
    REWORDED = "reworded"
    """Requests that training never asks, in phrasings that it never uses."""


class WorldTask(Record):
    """A task in a small world, judged by the state that the world ends in."""

    task_id: str
    """`w-` and 16 hex digits of the hash of (environment, world, request, expected)."""
    environment: str
    """A name in `rsi.environments`."""
    world: str
    """The world at the start, as the environment's own JSON."""
    request: str
    """What the model is asked."""
    expected: str
    """What the verifier of final states expects; never shown."""
    oracle: tuple[ToolCall, ...]
    """Calls that solve it, one a turn, the last one with the stop word."""
    level: int
    """1: one call; 2: look up, then act; 3: a condition decides."""
    kind: str
    """What sort of request it is."""
    pool: Pool
