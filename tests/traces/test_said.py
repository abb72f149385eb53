"""Several tellings of one message: what the view says does not depend on the order in which they came."""

import importlib
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi.settings import Home
from rsi.traces.formats import ENTRY_POINTS, formats
from rsi.traces.rows import Message
from rsi.traces.said import said, says_more, thought
from tests.traces.inputs import load, rows, write_lines

READER = """
from rsi.traces.rows import Message, Rows, Trace

NAME = "telling"

def matches(record):
    return "telling" in record

def read(record, place):
    trace = Trace("t", place.namespace, NAME, "t")
    return (Rows("t", place.namespace, "t", trace=trace, messages=(Message("m", "t", *record["telling"]),)),)
"""
TEXTS = (None, "", "ab", "ba", "abc")
MESSAGES = st.builds(
    Message,
    st.just("m"),
    st.just("t"),
    at_ns=st.integers(0, 2),
    seq=st.integers(0, 2),
    role=st.sampled_from(["assistant", "user"]),
    author=st.sampled_from([None, "ada", "bob"]),
    content=st.sampled_from(TEXTS),
    content_state=st.sampled_from(["absent", "redacted", "empty", "cut", "full"]),
    reasoning=st.sampled_from(TEXTS),
    tool_call_id=st.sampled_from([None, "c1", "c2"]),
)
TELLINGS = (
    # A long thought beside a short text, and the other way round.
    [5, 1, "assistant", None, "short", "full", "a very long thought indeed", None],
    [5, 1, "assistant", None, "a much longer text", "full", "thought", None],
    # Equal length, another text; equal text, another state; other names; another place.
    [5, 1, "assistant", None, "a much LONGER text", "full", None, None],
    [5, 1, "assistant", None, "a much LONGER text", "cut", None, None],
    [5, 1, "assistant", "bob", None, "absent", "A VERY long thought indeed", None],
    [5, 1, "assistant", "ada", None, "redacted", None, "c2"],
    [3, 4, "assistant", None, None, "absent", None, "c1"],
    [3, 2, "assistant", "cy", "short", "full", None, None],
)


@pytest.fixture
def telling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A reader of somebody else whose records are messages of one name."""
    site = tmp_path / "site"
    about = site / "telling-1.0.dist-info"
    about.mkdir(parents=True)
    (site / "telling_traces.py").write_text(READER)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: telling\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{ENTRY_POINTS}]\ntelling = telling_traces\n")
    monkeypatch.syspath_prepend(str(site))
    formats.cache_clear()
    importlib.import_module("telling_traces")
    yield
    formats.cache_clear()
    del sys.modules["telling_traces"]


def told(home: Home) -> list[tuple[object, ...]]:
    """The message, as the view tells it."""
    columns = "at_ns, seq, role, author, content, content_state, reasoning, tool_call_id"
    return rows(home, f"select {columns} from messages")


def test_each_field_is_that_of_the_telling_which_says_most_of_it(telling: None, tmp_path: Path) -> None:
    """In any order, in one file, in several, and again."""
    draw = random.Random(3)
    found = set()
    for number in range(5):
        home = Home(tmp_path / f"home {number}")
        order = draw.sample(TELLINGS, len(TELLINGS))
        cut = number % 4 * 2
        for part, some in enumerate((order[:cut], order[cut:], order)):
            records = [{"telling": one} for one in some]
            load(home, write_lines(tmp_path / f"{number}-{part}.jsonl", records))
        found |= set(told(home))
    ((at_ns, seq, role, author, content, state, reasoning, call),) = found
    assert (at_ns, seq, role, author, state, call) == (3, 2, "assistant", "ada", "full", "c1")
    assert str(content).lower() == "a much longer text"
    assert str(reasoning).lower() == "a very long thought indeed"


def test_what_adds_nothing_is_not_kept(telling: None, home: Home, tmp_path: Path) -> None:
    """Neither from the same file nor from a later one."""
    most = [3, 2, "assistant", "ada", "a much longer text", "full", "a long thought", "c1"]
    less = [[3, 2, "assistant", None, "short", "full", "a", None], [4, 0, *most[2:]], most]
    records = [{"telling": one} for one in (most, *less)]
    load(home, write_lines(tmp_path / "a.jsonl", records))
    load(home, write_lines(tmp_path / "b.jsonl", records[1:]))
    assert rows(home, "select count(*) from message_parts") == [(1,)]


@given(MESSAGES, MESSAGES)
def test_of_two_that_differ_one_says_more(one: Message, other: Message) -> None:
    """And one that does not say more is not missed in what both tell."""
    if one != other:
        assert says_more(one, other) or says_more(other, one)
    else:
        assert not says_more(one, other)
    if not says_more(one, other):
        assert merged([one, other]) == merged([other])


@given(st.text(max_size=20), st.text(max_size=20))
def test_the_longer_text_says_more(one: str, other: str) -> None:
    """Whatever stands in it; every text more than none."""
    first, second = (Message("m", "t", 0, 0, "user", None, text, "full", text) for text in (one, other))
    if len(one) > len(other):
        assert said(first) > said(second)
        assert thought(first) > thought(second)
    silent = Message("m", "t", 0, 0, "user", None, None, "full")
    assert said(first) > said(silent)
    assert thought(first) > thought(silent) == 0
    assert said(first) < 2**63


def merged(tellings: list[Message]) -> tuple[object, ...]:
    """What the view makes of them."""
    place = min((one.at_ns, one.seq) for one in tellings)
    most = max(tellings, key=said)
    authors = [one.author for one in tellings if one.author is not None]
    calls = [one.tool_call_id for one in tellings if one.tool_call_id is not None]
    return (
        place,
        min(one.role for one in tellings),
        min(authors, default=None),
        most.content,
        most.content_state,
        max(tellings, key=thought).reasoning,
        min(calls, default=None),
    )
