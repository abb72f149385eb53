"""Which of the keys that mean something a span has.

Of all the keys that are known few are there, and spans of one kind have the same: they are looked for once for all.
"""

from collections.abc import Callable
from functools import lru_cache
from itertools import chain

from rsi.traces.rows import JsonObject

_KINDS = 1024
"""Sets of keys that are remembered."""

Found = tuple[tuple[str, ...], ...]


def table(*wanted: tuple[str, ...]) -> Callable[[JsonObject], Found]:
    """A function that gives those keys of each list that some attributes have, in the list's order."""
    known = frozenset(chain.from_iterable(wanted))

    @lru_cache(maxsize=_KINDS)
    def found(there: frozenset[str]) -> Found:
        return tuple(tuple(key for key in ones if key in there) for ones in wanted)

    return lambda attributes: found(known.intersection(attributes))
