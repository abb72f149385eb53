"""Rows as Arrow tables, and Arrow without pandas."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from threading import get_ident
from types import ModuleType, NoneType, UnionType
from typing import TYPE_CHECKING, NamedTuple, Union, get_args, get_origin, get_type_hints

from rsi.traces.rows import Message, Score, Span, ToolCall, Trace
from rsi.traces.said import said, thought

if TYPE_CHECKING:
    import pyarrow as pa

TABLES: Mapping[str, type[NamedTuple]] = {
    "trace_parts": Trace,
    "span_parts": Span,
    "message_parts": Message,
    "tool_call_parts": ToolCall,
    "scores": Score,
}
"""Table -> the row that it is made of."""


class _Absent(MetaPathFinder):
    """Says to one thread that there is no pandas."""

    def __init__(self) -> None:
        self._thread = get_ident()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == "pandas" and get_ident() == self._thread:
            raise ModuleNotFoundError("not needed here", name=fullname)
        return None


def first_array() -> None:
    """Make one, and say that there is no pandas: pyarrow imports it for its first array.

    That is most of what a reading process needs to start, for frames that nobody here asks for. Who does later gets
    them: pyarrow tries again.
    """
    import pyarrow as pa

    with _absent():
        pa.array(("",), pa.string())


@contextmanager
def _absent() -> Iterator[None]:
    finder = _Absent()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def columns(table: str, row: type[NamedTuple], found: Mapping[str, tuple[int, NamedTuple]]) -> "pa.Table":
    """The rows of a table by part, each with the first unit that says it: its fields, `unit` and `part_uid`."""
    import pyarrow as pa

    made: dict[str, pa.Array] = {"unit": pa.array([unit for unit, _ in found.values()], pa.int64())}
    if table != "scores":
        made["part_uid"] = pa.array(list(found), pa.string())
    values = list(zip(*(one for _, one in found.values()), strict=True))
    for (name, hint), column in zip(get_type_hints(row).items(), values, strict=True):
        made[name] = pa.array(column, _kind(hint))
    if row is Message:
        # How much a message says, so that nobody has to read it to know.
        messages = [one for _, one in found.values() if isinstance(one, Message)]
        made["said"] = pa.array([said(one) for one in messages], pa.int64())
        made["thought"] = pa.array([thought(one) for one in messages], pa.int64())
    return pa.table(made)


def _kind(hint: object) -> "pa.DataType":
    """The Arrow type of a field."""
    import pyarrow as pa

    if get_origin(hint) in (Union, UnionType):
        hint = next(one for one in get_args(hint) if one is not NoneType)
    if get_origin(hint) is list:
        return pa.list_(pa.string())
    return pa.int64() if hint is int else pa.float64() if hint is float else pa.string()
