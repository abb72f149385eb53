"""Leaves of a record and copies of it with some of them replaced."""

from hypothesis import given
from hypothesis import strategies as st

from rsi.traces.leaves import Leaves
from rsi.traces.rows import Json, JsonObject

SCALARS = st.none() | st.booleans() | st.integers(0, 3) | st.floats(0, 1) | st.text(max_size=2)
RECORDS = st.dictionaries(
    st.text(max_size=2),
    st.recursive(
        SCALARS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    ),
    max_size=3,
)


def upper(value: Json) -> Json:
    """The obvious way, by recursion."""
    if isinstance(value, str):
        return value + "!"
    if isinstance(value, dict):
        return {key: upper(one) for key, one in value.items()}
    return [upper(one) for one in value] if isinstance(value, list) else value


@given(record=RECORDS)
def test_replacing_every_string_is_the_same_as_by_recursion(record: JsonObject) -> None:
    """And leaves the record as it was."""
    before = repr(record)
    leaves = Leaves(record)
    assert leaves.replaced({leaf: f"{leaf.value}!" for leaf in leaves.strings}) == upper(record)
    assert repr(record) == before


@given(record=RECORDS)
def test_replacing_nothing_gives_the_record(record: JsonObject) -> None:
    """Not a copy of it."""
    assert Leaves(record).replaced({}) is record


def test_what_holds_no_change_is_shared() -> None:
    """Only the way to a change is copied."""
    kept: JsonObject = {"deep": ["x"]}
    record: JsonObject = {"kept": kept, "way": [{"a": "1", "b": 2}, kept]}
    leaves = Leaves(record)
    (one,) = [leaf for leaf in leaves.strings if leaf.value == "1"]
    new = leaves.replaced({one: "new"})
    assert isinstance(new, dict)
    assert new == {"kept": kept, "way": [{"a": "new", "b": 2}, kept]}
    assert new["kept"] is kept
    assert record["way"] == [{"a": "1", "b": 2}, kept]


def test_names_are_those_of_keys_lists_and_named_attributes() -> None:
    """As OTLP, Jaeger and HTTP logs write them."""
    record: JsonObject = {
        "plain": "a",
        "tags": ["b", ["c"]],
        "attributes": [
            {"key": "user.phone", "value": {"stringValue": "d"}},
            {"key": "many", "value": {"arrayValue": {"values": [{"stringValue": "e"}]}}},
            {"name": "Cookie", "value": "f"},
            {"name": "no value", "type": "g"},
        ],
        "count": 7,
        "flag": True,
    }
    leaves = Leaves(record)
    assert {leaf.value: leaf.name for leaf in leaves.strings} | {} == {
        "a": "plain", "b": "tags", "c": "tags", "user.phone": "key", "d": "user.phone", "many": "key", "e": "many",
        "Cookie": "name", "f": "Cookie", "no value": "name", "g": "type",
    }  # fmt: skip
    assert [(leaf.name, leaf.value) for leaf in leaves.numbers] == [("count", 7)]


def test_depth_is_no_danger() -> None:
    """Nothing is done by recursion."""
    record: JsonObject = {"a": "x"}
    for _ in range(50_000):
        record = {"a": record}
    leaves = Leaves(record)
    new = leaves.replaced({leaves.strings[0]: "y"})
    for _ in range(50_000):
        assert isinstance(new, dict)
        new = new["a"]  # type: ignore[assignment]
    assert new == {"a": "y"}
