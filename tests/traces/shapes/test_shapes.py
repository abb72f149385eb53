"""What each kind finds in a text, and what it leaves."""

import re
from itertools import pairwise

import pytest

from rsi.intake import Kind
from rsi.traces.shapes import SHAPES, Shape
from rsi.traces.shapes.edges import begins, field_before, is_id, opened
from tests.traces.shapes.examples import FOUND, LEFT

BY_KIND = {one.KIND: one for one in SHAPES}


@pytest.mark.parametrize(
    ("kind", "text", "value"), [(kind, *one) for kind, ones in FOUND.items() for one in ones], ids=str
)
def test_values_are_found_whole(kind: Kind, text: str, value: str) -> None:
    """And nothing else of the text; RE2 over raw JSON has a superset of it, tried here with Python's own."""
    shape = BY_KIND[kind]
    (found,) = shape.find(text)
    assert found.value == value
    assert re.search(shape.RAW.encode("latin-1"), f'"{text}'.encode()) or "\\u" in text


@pytest.mark.parametrize(
    ("kind", "text"), [(kind, one) for kind, ones in LEFT.items() for one in ones], ids=str
)
def test_what_only_looks_like_one_is_left(kind: Kind, text: str) -> None:
    """Dates, times, flights, ids, prices, versions, code and prose."""
    assert list(BY_KIND[kind].find(text)) == []


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.KIND)
def test_every_kind_has_examples_and_finds_in_order(shape: Shape) -> None:
    """Apart from each other, also where examples stand close together."""
    text = "\n".join(one for one, _ in FOUND[shape.KIND] if "cut" not in one)
    found = list(shape.find(text))
    assert len(found) >= len(FOUND[shape.KIND]) - 2
    assert all(one.end <= two.start for one, two in pairwise(found))


def test_every_kind_of_the_settings_has_its_shape() -> None:
    """The table is whole."""
    assert [one.KIND for one in SHAPES] == list(dict.fromkeys(one.KIND for one in SHAPES))
    assert set(BY_KIND) == set(Kind)


@pytest.mark.parametrize(
    ("text", "at", "may"),
    [("a", 0, True), (" a", 1, True), ("ba", 1, False), ("\\na", 2, True), ("\\a", 1, True), ("\\n", 1, False),
     ("\\u00e9a", 6, True), ("_a", 1, False), ("éa", 1, False), ("\\\\na", 3, True), ("xna", 2, False)],
)  # fmt: skip
def test_a_value_begins_behind_an_escape_and_never_inside(text: str, at: int, may: bool) -> None:
    """The letter of an escape belongs to it."""
    assert begins(text, at) is may


def test_edges() -> None:
    """Where an escape is left, which names mean ids, and which field a value stands in."""
    assert [opened("\\nab", 1), opened("\\u00e9b", 1), opened("\\user", 1), opened("ab", 1)] == [2, 6, 1, 1]
    assert [
        is_id(one) for one in ("spanId", "trace_id", "id", "startTimeUnixNano", "created_at", "uuid")
    ] == [True] * 6
    assert [is_id(one) for one in ("paid", "card", "phone", "number", "Valid", "")] == [False] * 6
    assert field_before('{\\"span_id\\": \\"', 15) == "span_id"
    assert field_before("id=", 3) == "id"
    assert field_before("see 12 ", 7) == ""
