"""The leaves of a JSON record with the names of their fields, and a copy of the record with some of them replaced.

The name of a leaf is its key; in a list that of the list; where a producer writes named attributes as
``{"key": "user.phone", "value": {"stringValue": …}}``, what is said there.
"""

from collections.abc import Mapping
from typing import NamedTuple

from rsi.traces.rows import Json, JsonObject

_VALUE_KEYS = frozenset(("value", "values", "stringValue", "intValue", "arrayValue"))
"""Where the value of a named attribute lies."""


class Leaf(NamedTuple):
    """A string or a whole number."""

    holder: int
    key: str | int
    name: str
    value: str | int


class _Holder(NamedTuple):
    """An object or array, and its place in another."""

    inside: JsonObject | list[Json]
    parent: int
    key: str | int
    name: str


class Leaves:
    """All leaves of a record, found without recursion."""

    def __init__(self, record: JsonObject | list[Json]) -> None:
        self._holders = [_Holder(record, -1, "", "")]
        self.strings: list[Leaf] = []
        self.numbers: list[Leaf] = []
        for number, holder in enumerate(self._holders):
            # The list grows while it is gone through, so that inner holders have their turn.
            if isinstance(holder.inside, dict):
                self._object(number, holder.inside, holder.name)
            else:
                for at, one in enumerate(holder.inside):
                    self._add(number, at, holder.name, one)

    def replaced(self, new: Mapping[Leaf, Json]) -> JsonObject | list[Json]:
        """The record with new values in the place of some leaves; what holds none of them is shared."""
        copies: dict[int, JsonObject | list[Json]] = {}
        for leaf, value in new.items():
            _put(self._copy(leaf.holder, copies), leaf.key, value)
        return copies.get(0, self._holders[0].inside)

    def _object(self, number: int, inside: JsonObject, name: str) -> None:
        said = inside.get("key") or inside.get("name") if "value" in inside else None
        named = str(said) if isinstance(said, str | int) else name
        for key, one in inside.items():
            self._add(number, key, named if named and key in _VALUE_KEYS else key, one)

    def _add(self, holder: int, key: str | int, name: str, value: Json) -> None:
        kind = type(value)
        if kind is str:
            self.strings.append(Leaf(holder, key, name, value))  # type: ignore[arg-type]
        elif kind is int:
            self.numbers.append(Leaf(holder, key, name, value))  # type: ignore[arg-type]
        elif kind is dict or kind is list:
            self._holders.append(_Holder(value, holder, key, name))  # type: ignore[arg-type]

    def _copy(self, number: int, copies: dict[int, JsonObject | list[Json]]) -> JsonObject | list[Json]:
        """The copy of a holder, hung into the copies of those around it."""
        found = copies.get(number)
        if found is not None:
            return found
        made = first = self._holders[number].inside.copy()
        while number not in copies:
            copies[number] = made
            _, parent, key, _ = self._holders[number]
            if parent < 0:
                break
            outer = copies.get(parent)
            known = outer is not None
            outer = self._holders[parent].inside.copy() if outer is None else outer
            _put(outer, key, made)
            if known:
                break
            number, made = parent, outer
        return first


def _put(holder: JsonObject | list[Json], key: str | int, value: Json) -> None:
    if isinstance(holder, dict):
        assert isinstance(key, str)
        holder[key] = value
    else:
        assert isinstance(key, int)
        holder[key] = value
