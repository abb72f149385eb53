"""Spans as trees."""

from hypothesis import given
from hypothesis import strategies as st

from rsi.traces.tree import Branch, Span, grown


def span(name: int, parent: int | None, state: str) -> Span:
    up = None if parent is None else str(parent)
    return Span(
        str(name),
        up,
        str(name),
        up,
        "step",
        f"step {name}",
        "ok",
        None,
        None,
        None,
        None,
        None,
        state,
        None,
        None,
    )


def names(trees: list[Branch]) -> list[str]:
    found, waiting = [], list(trees)
    while waiting:
        one = waiting.pop()
        found.append(one.span.span_uid)
        waiting += one.children
    return found


def test_roots_come_first_then_orphans_then_circles() -> None:
    """Siblings in the order given; a circle is cut once."""
    trees = grown(
        [span(5, 4, "cycle"), span(4, 5, "cycle"), span(3, None, "orphan"), span(0, None, "root"),
         span(1, 0, "linked"), span(2, 0, "linked")]
    )  # fmt: skip

    assert [one.span.span_uid for one in trees] == ["0", "3", "5"]
    assert [one.span.span_uid for one in trees[0].children] == ["1", "2"]
    assert [one.span.span_uid for one in trees[2].children] == ["4"]
    assert trees[2].children[0].children == []


@given(st.lists(st.one_of(st.none(), st.integers(0, 19)), max_size=20))
def test_every_span_is_in_the_trees_once(parents: list[int | None]) -> None:
    """Whatever hangs where: itself, circles, parents that come later or never."""
    spans = []
    for name, parent in enumerate(parents):
        here = parent is not None and parent < len(parents)
        state = "root" if parent is None else "linked" if here else "orphan"
        spans.append(span(name, parent if here else None, state))

    assert sorted(names(grown(spans)), key=int) == [str(name) for name in range(len(parents))]


def test_a_chain_of_thousands_is_no_recursion() -> None:
    """Deeper than Python's stack."""
    spans = [span(0, None, "root"), *(span(name, name - 1, "linked") for name in range(1, 5000))]

    assert len(names(grown(spans))) == 5000
