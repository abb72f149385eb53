"""The spans of one trace as trees: roots first, then what has lost its parent, then what hangs in a circle."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_SPANS = """
select
    s.span_uid, l.parent_uid, s.native_id, s.native_parent_id, s.kind, s.name, s.status, s.error, s.model,
    (s.end_ns - s.start_ns) / 1e6 as ms, s.input_tokens, s.output_tokens, l.link_state, l.dup_of, l.dup_rule
from spans s
join span_links l using (span_uid)
where s.trace_uid = $uid
order by s.start_ns nulls first, s.native_id, s.span_uid
"""


class Span(NamedTuple):
    """A span and where it hangs; columns of `spans` and `span_links`."""

    span_uid: str
    parent_uid: str | None
    native_id: str
    native_parent_id: str | None
    kind: str
    name: str
    status: str
    error: str | None
    model: str | None
    ms: float | None
    input_tokens: int | None
    output_tokens: int | None
    link_state: str
    """root, linked, orphan or cycle."""
    dup_of: str | None
    dup_rule: str | None


@dataclass
class Branch:
    """A span with what hangs below it."""

    span: Span
    children: list["Branch"] = field(default_factory=list)


def forest(connection: "DuckDBPyConnection", trace_uid: str) -> list[Branch]:
    """The trees of a trace, each span once, siblings in order of their start."""
    return grown([Span(*row) for row in connection.execute(_SPANS, {"uid": trace_uid}).fetchall()])


def grown(spans: Sequence[Span]) -> list[Branch]:
    """Trees of some spans; a circle is cut at its first span."""
    branches = {one.span_uid: Branch(one) for one in spans}
    below: dict[str, list[Branch]] = {}
    for one in spans:
        if one.parent_uid is not None:
            below.setdefault(one.parent_uid, []).append(branches[one.span_uid])
    seen: set[str] = set()
    trees = []
    starts = [one for one in spans if one.link_state == "root"]
    starts += [one for one in spans if one.link_state == "orphan"]
    for one in [*starts, *spans]:
        if one.span_uid not in seen:
            trees.append(branches[one.span_uid])
            _grow(branches[one.span_uid], below, seen)
    return trees


def _grow(root: Branch, below: dict[str, list[Branch]], seen: set[str]) -> None:
    seen.add(root.span.span_uid)
    waiting = [root]
    while waiting:
        branch = waiting.pop()
        for child in below.get(branch.span.span_uid, ()):
            if child.span.span_uid not in seen:
                seen.add(child.span.span_uid)
                branch.children.append(child)
                waiting.append(child)
