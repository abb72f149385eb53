"""Where spans hang, and which of them tell the same call again."""

from pathlib import Path

from rsi.settings import Home
from tests.traces.inputs import load, rows, write_lines

LINKS = """
select s.native_id, l.link_state, l.depth, k.native_id, l.dup_rule
from span_links l join spans s using (span_uid) left join spans k on k.span_uid = l.dup_of
order by s.native_id
"""


def span(number: int, parent: int | None, at: int, lasts: int = 10, **said: object) -> dict[str, object]:
    """A span of one trace; `said` are attributes without their prefix."""
    attributes = []
    for key, value in said.items():
        kind = "intValue" if isinstance(value, int) else "stringValue"
        attributes.append({"key": f"gen_ai.{key.replace('__', '.')}", "value": {kind: value}})
    return {
        "traceId": "0" * 31 + "1", "spanId": f"{number:016x}", "parentSpanId": f"{parent:016x}" if parent else "",
        "name": f"span {number}", "startTimeUnixNano": str(1_780_000_000_000_000_000 + at),
        "endTimeUnixNano": str(1_780_000_000_000_000_000 + at + lasts), "attributes": attributes,
    }  # fmt: skip


def call(
    number: int, parent: int | None, at: int, tokens: int | None = None, **said: object
) -> dict[str, object]:
    """A call of a model."""
    counts = {} if tokens is None else {"usage__input_tokens": tokens, "usage__output_tokens": tokens}
    return span(number, parent, at, operation__name="chat", request__model="m", **counts, **said)


def store(home: Home, path: Path, *spans: tuple[str, dict[str, object]]) -> None:
    """One document a span, each from the library named before it."""
    scopes = [{"scope": {"name": name}, "spans": [one]} for name, one in spans]
    documents = [{"resourceSpans": [{"scopeSpans": [scope]}]} for scope in scopes]
    load(home, write_lines(path, documents))


def test_late_parents_link_up_and_orphans_and_cycles_stay(home: Home, tmp_path: Path) -> None:
    """In whatever order they come; each with its depth where it has one."""
    found = [
        ("a", span(3, 2, 2)),
        ("a", span(2, 1, 1)),
        ("a", span(4, 99, 3)),
        ("a", span(5, 4, 4)),
        ("a", span(6, 7, 5)),
        ("a", span(7, 6, 6)),
        ("a", span(8, 8, 7)),
        ("a", span(1, None, 0)),
    ]
    store(home, tmp_path / "a.jsonl", *found)
    assert [(int(str(native), 16), state, depth) for native, state, depth, *_ in rows(home, LINKS)] == [
        (1, "root", 0),
        (2, "linked", 1),
        (3, "linked", 2),
        (4, "orphan", 0),
        (5, "linked", 1),
        (6, "cycle", None),
        (7, "cycle", None),
        (8, "cycle", None),
    ]
    assert rows(home, "select count(*) from v_trace_tree") == [(8,)]


def test_a_call_told_by_libraries_inside_one_another_counts_once(home: Home, tmp_path: Path) -> None:
    """Three nested tell one call; a step between them does not hide it, a tool does."""
    store(
        home,
        tmp_path / "a.jsonl",
        ("adk", call(1, None, 0, 7)),
        ("other", span(2, 1, 1)),
        ("openai", call(3, 2, 2, 7)),
        ("deeper", call(4, 3, 3)),
        ("adk", span(5, 1, 40, operation__name="execute_tool", tool__name="t")),
        ("openai", call(6, 5, 45, 7)),
    )
    told = [(int(str(n), 16), int(str(kept), 16), rule) for n, _, _, kept, rule in rows(home, LINKS) if kept]
    assert told == [(3, 1, "nested"), (4, 1, "nested")]
    assert rows(home, "select count(*), sum(output_tokens) from v_llm_calls") == [(2, 14)]
    assert rows(home, "select instrumentation, kept_instrumentation from v_duplicates order by 1") == [
        ("deeper", "adk"),
        ("openai", "adk"),
    ]


def test_a_call_inside_another_with_other_tokens_is_another(home: Home, tmp_path: Path) -> None:
    """A wrapper that asked twice is one more call than it says, never one less."""
    store(
        home,
        tmp_path / "a.jsonl",
        ("a", call(1, None, 0, 9)),
        ("b", call(2, 1, 1, 4)),
        ("b", call(3, 1, 2, 5)),
    )
    assert rows(home, "select count(*) from v_llm_calls") == [(3,)]


def test_the_same_response_or_the_same_moment_counts_once(home: Home, tmp_path: Path) -> None:
    """Beside each other: by response id, or by model, tokens and time from another library."""
    store(
        home,
        tmp_path / "a.jsonl",
        ("a", span(1, None, 0)),
        ("a", call(2, 1, 1, 3, response__id="r1")),
        ("b", call(3, 1, 50, 3, response__id="r1")),
        ("a", call(4, 1, 100, 5)),
        ("b", call(5, 1, 102, 5)),
        ("a", call(6, 1, 104, 5)),
        ("b", call(7, 1, 200, 5)),
    )
    told = [(int(str(n), 16), int(str(kept), 16), rule) for n, _, _, kept, rule in rows(home, LINKS) if kept]
    assert told == [(3, 2, "response"), (5, 4, "overlap"), (6, 5, "overlap")]


def test_calls_inside_one_that_knows_no_tokens_are_counted(home: Home, tmp_path: Path) -> None:
    """The wrapper is told by them, not they by it: no token is lost, and what they hold again counts once."""
    store(
        home,
        tmp_path / "a.jsonl",
        ("langchain", call(1, None, 0)),
        ("openai", call(2, 1, 1, 7)),
        ("deeper", call(3, 2, 2, 7)),
        ("openai", call(4, 1, 50, 9)),
        ("deeper", call(5, 4, 51)),
    )
    told = [(int(str(n), 16), int(str(kept), 16), rule) for n, _, _, kept, rule in rows(home, LINKS) if kept]
    assert told == [(1, 2, "nested"), (3, 2, "nested"), (5, 4, "nested")]
    assert rows(home, "select count(*), sum(output_tokens) from v_llm_calls") == [(2, 16)]
