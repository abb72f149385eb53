"""Calls that were recorded with the last few messages only: which of equal messages each is.

A message is named by what it says and by how often the same was said before it in its call
(`rsi.traces.formats.run`), which a cut history does not tell. Where the calls of a run overlap, the whole
conversation does.
"""

from collections import Counter
from collections.abc import Sequence

from rsi.ids import digest
from rsi.traces.formats.run import Step
from rsi.traces.formats.turns import Turn


def counted(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps, in order of time, whose repeated messages have names of their own where histories were cut."""
    whole: list[str] = []
    places: list[int | None] = []
    for one in steps:
        keys = [_key(turn) for turn in one.asked]
        place = _place(whole, keys) if one.kind == "llm" and keys else None
        places.append(place)
        if place is not None:
            whole[place:] = [*keys, *map(_key, one.answered)]
    if not any(places):
        return tuple(steps)
    return tuple(
        one if place is None else _named(one, whole[:place]) for one, place in zip(steps, places, strict=True)
    )


def _place(whole: list[str], keys: list[str]) -> int | None:
    """Where in the conversation so far a history begins: the longest overlap; null where there is none."""
    if not whole:
        return 0
    for place in range(max(len(whole) - len(keys), 0), len(whole)):
        if whole[place:] == keys[: len(whole) - place]:
            return place
    return 0 if keys[: len(whole)] == whole else None


def _named(step: Step, before: list[str]) -> Step:
    seen = Counter(before)
    turns = []
    for turn in step.turns:
        key = _key(turn)
        turns.append(turn._replace(native_id=f"{key}#{seen[key]}") if seen[key] else turn)
        seen[key] += 1
    count = len(step.asked)
    return step._replace(asked=tuple(turns[:count]), answered=tuple(turns[count:]))


def _key(turn: Turn) -> str:
    calls = [[call.native_id, call.name, call.arguments, call.raw] for call in turn.calls]
    return digest([turn.role, turn.content or "", turn.answers, calls])[:24]
