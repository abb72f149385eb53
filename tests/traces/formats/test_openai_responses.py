"""Logs of the Responses API: items, chains, hosted tools, how a response ended."""

import pytest
from hypothesis import given

from rsi.settings import Home
from rsi.traces.formats import fields, openai_responses
from rsi.traces.rows import JsonObject, Place, Reason, Refusal, Rows, Span
from tests.traces.inputs import SAMPLES, load, rows, write_lines
from tests.traces.mutated import mutated, sample

HERE = Place("default", None, "file", 1, 0)
ALL = sample("openai_responses.jsonl")
FIRST, SECOND, INCOMPLETE, FAILED, ALONE = ALL


def read(record: JsonObject) -> Rows:
    (found,) = openai_responses.read(record, HERE)
    assert isinstance(found, Rows)
    return found


def span(record: JsonObject) -> Span:
    (found,) = read(record).spans
    return found


@pytest.mark.parametrize("record", ALL)
def test_its_records_are_its_own(record: JsonObject) -> None:
    """By their keys."""
    assert openai_responses.matches(record)


@pytest.mark.parametrize(
    "record",
    [{}, {"response": {}}, {"object": "list"}, {"request": {"messages": []}, "response": {}}, {"input": "x"}],
)
def test_other_records_are_not(record: JsonObject) -> None:
    """Nor is a request without its response."""
    assert not openai_responses.matches(record)


def test_items_become_turns() -> None:
    """Instructions first; a thought goes with what was said next; each call is a turn, as it is in later input."""
    found = read(FIRST)
    assert [(one.role, one.content, one.reasoning) for one in found.messages] == [
        ("system", "You run a shop.", None),
        ("user", "Seed potatoes and onions left?", None),
        ("assistant", None, "Two look-ups."),
        ("assistant", None, None),
    ]
    assert [(one.native_id, one.name, one.arguments) for one in found.tool_calls] == [
        ("call_p", "stock", '{"item":"seed potatoes"}'),
        ("call_o", "stock", '{"item":"onions"}'),
    ]
    one = span(FIRST)
    tokens = (one.input_tokens, one.output_tokens, one.cache_read_tokens, one.reasoning_tokens)
    assert (*tokens, one.finish_reason) == (60, 30, 40, 12, "completed")


def test_a_chain_is_one_trace(home: Home) -> None:
    """Both responses, in time's order, whichever is read first; an encrypted thought is no turn."""
    load(home, SAMPLES / "openai_responses.jsonl")
    where = "from messages m join traces t using (trace_uid) where t.native_id = 'resp_0123456789abcdef'"
    assert rows(home, f"select m.role, m.content {where} order by m.at_ns, m.seq") == [
        ("system", "You run a shop."),
        ("user", "Seed potatoes and onions left?"),
        ("assistant", None),
        ("assistant", None),
        ("tool", "14 kg"),
        ("tool", "Error: no such item"),
        ("assistant", "14 kg of potatoes, no onions."),
    ]
    assert rows(
        home,
        "select input_text, output_text, conversation from traces where native_id = 'resp_0123456789abcdef'",
    ) == [("Seed potatoes and onions left?", "14 kg of potatoes, no onions.", "resp_0123456789abcdef")]


def test_results_in_the_next_request_meet_their_calls(home: Home) -> None:
    """By the id of the call within the chain, whichever record comes first; each call is there once."""
    for number, order in enumerate((ALL, ALL[::-1])):
        store = Home(home.root / f"store {number}")
        load(store, write_lines(home.root / f"{number}.jsonl", list(order)))
        assert rows(
            store,
            "select c.native_id, c.name, c.arguments, c.result, c.status "
            "from tool_calls c join traces t using (trace_uid) where t.native_id = 'resp_0123456789abcdef' order by 1",
        ) == [
            ("call_o", "stock", '{"item":"onions"}', "Error: no such item", "error"),
            ("call_p", "stock", '{"item":"seed potatoes"}', "14 kg", "ok"),
        ]
    # A result alone tells what it can.
    assert [(one.native_id, one.name, one.result) for one in read(SECOND).tool_calls] == [
        ("call_p", "unnamed", "14 kg"),
        ("call_o", "unnamed", "Error: no such item"),
    ]


def test_a_chain_of_other_ids_is_told_by_the_conversation() -> None:
    """Where ids do not share their beginning, each response is a trace, in the conversation of the one before."""
    body: JsonObject = {
        "object": "response",
        "id": "resp_b",
        "previous_response_id": "resp_a",
        "output": fields.table(SECOND["response"])["output"],
    }
    found = read({"request": {"input": "and?"}, "response": body})
    assert (found.native, found.session) == ("resp_b", "resp_a")


def test_history_in_the_input_is_the_same_messages() -> None:
    """A client that sends all items again instead of naming the response before."""
    before = read(FIRST)
    sent, answered = fields.table(FIRST["request"]), fields.table(FIRST["response"])
    again = [
        *fields.listing(sent["input"]),
        *fields.listing(answered["output"]),
        *fields.listing(fields.table(SECOND["request"])["input"]),
    ]
    request: JsonObject = {"instructions": "You run a shop.", "input": again}
    after = read({"request": request, "response": SECOND["response"]})
    assert {one.message_uid for one in before.messages} < {one.message_uid for one in after.messages}
    assert [(one.result, one.status) for one in after.tool_calls] == [
        ("14 kg", "ok"),
        ("Error: no such item", "error"),
    ]
    assert {one.call_uid for one in before.tool_calls} == {one.call_uid for one in after.tool_calls}


def test_how_a_response_ended() -> None:
    """Incomplete is no error, failed is one."""
    one = span(INCOMPLETE)
    assert (one.status, one.finish_reason, one.error) == ("ok", "max_output_tokens", None)
    one = span(FAILED)
    assert (one.status, one.finish_reason, one.error) == ("error", "failed", "the engine broke")
    trace = read(FAILED).trace
    assert trace is not None
    assert (trace.error, trace.conversation) == ("the engine broke", "s-draw")


def test_hosted_tools_bring_their_results() -> None:
    """A search has none recorded; a call over MCP has; the conversation names the trace."""
    found = read(ALONE)
    assert [(one.name, one.arguments, one.result, one.status) for one in found.tool_calls] == [
        ("web_search", '{"query":"box blight","type":"search"}', None, "no_result"),
        ("lookup", '{"plant":"box"}', "a fungus", "ok"),
    ]
    assert found.native == "conv_9"
    assert found.trace is not None
    assert found.trace.user_ref == "reader-1"


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"type": "code_interpreter_call", "id": "a", "code": "1+1", "outputs": [{"type": "logs", "logs": "2"}]},
         ("code_interpreter", '{"code":"1+1"}', "ok")),
        ({"type": "file_search_call", "id": "a", "queries": ["oak"], "results": None},
         ("file_search", '{"queries":["oak"]}', "no_result")),
        ({"type": "mcp_call", "id": "a", "name": "f", "arguments": "{}", "error": "refused"}, ("f", "{}", "error")),
        ({"type": "custom_tool_call", "call_id": "a", "name": "f", "input": "plain"}, ("f", None, "no_result")),
        ({"type": "image_generation_call", "id": "a", "result": "iVBORw0"}, ("image_generation", None, "ok")),
        ({"type": "local_shell_call", "call_id": "a", "action": {"command": ["ls"]}},
         ("local_shell", '{"command":["ls"]}', "no_result")),
    ],
)  # fmt: skip
def test_calls_of_all_kinds(item: JsonObject, expected: tuple[str, str | None, str]) -> None:
    """Name, arguments as an object, and whether there was a result."""
    (call,) = read({"object": "response", "id": "r", "output": [item]}).tool_calls
    assert (call.name, call.arguments, call.status) == expected


@pytest.mark.parametrize(
    "record",
    [
        {"object": "response", "id": "r", "output": []},
        {
            "object": "response",
            "id": "r",
            "output": [{"type": "reasoning", "summary": []}, 5, {"type": "message"}],
        },
        {"request": {"input": []}, "response": {}},
    ],
)
def test_nothing_was_said(record: JsonObject) -> None:
    """Refused with the reason."""
    (found,) = openai_responses.read(record, HERE)
    assert isinstance(found, Refusal)
    assert found.reason is Reason.BAD_VALUE


@given(mutated(ALL))
def test_damaged_records_never_raise(record: JsonObject) -> None:
    """Whatever is missing or of another type; and the same rows come out again."""
    if openai_responses.matches(record):
        assert openai_responses.read(record, HERE) == openai_responses.read(record, HERE)
