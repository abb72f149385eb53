"""The same call of a model, written as each library writes it, is the same conversation."""

import json
import random

import pytest

from rsi.traces.formats.otel_span import Told, kind_of, step
from rsi.traces.formats.otlp_content import Event
from rsi.traces.formats.run import Step
from rsi.traces.rows import Json, JsonObject

ARGUMENTS = {"place": "greenhouse"}
SAID: list[tuple[str, str | None]] = [
    ("system", "You watch a garden."),
    ("user", "Is it warm?"),
    ("assistant", None),
    ("tool", "9 degrees"),
    ("assistant", "No, 9 degrees."),
]


def genai(message: tuple[str, str | None]) -> JsonObject:
    role, text = message
    if role == "tool":
        part: JsonObject = {"type": "tool_call_response", "id": "c1", "response": text}
    elif text is None:
        part = {"type": "tool_call", "id": "c1", "name": "thermometer", "arguments": dict(ARGUMENTS)}
    else:
        part = {"type": "text", "content": text}
    return {"role": role, "parts": [part]}


def openai(message: tuple[str, str | None]) -> JsonObject:
    role, text = message
    found: JsonObject = {"role": role, "content": text}
    if role == "tool":
        found["tool_call_id"] = "c1"
    elif text is None:
        function: JsonObject = {"name": "thermometer", "arguments": json.dumps(ARGUMENTS)}
        found["tool_calls"] = [{"id": "c1", "type": "function", "function": function}]
    return found


def vercel(message: tuple[str, str | None]) -> JsonObject:
    role, text = message
    if role == "system":
        return {"role": role, "content": text}
    part: JsonObject = {"type": "text", "text": text}
    if role == "tool":
        output: JsonObject = {"type": "text", "value": text}
        part = {"type": "tool-result", "toolCallId": "c1", "toolName": "thermometer", "output": output}
    elif text is None:
        part = {"type": "tool-call", "toolCallId": "c1", "toolName": "thermometer", "input": dict(ARGUMENTS)}
    return {"role": role, "content": [part]}


def gemini(message: tuple[str, str | None]) -> JsonObject:
    role, text = message
    part: JsonObject = {"text": text}
    if role == "tool":
        response: JsonObject = {"content": [{"type": "text", "text": text}], "isError": False}
        part = {"function_response": {"id": "c1", "name": "thermometer", "response": response}}
    elif text is None:
        part = {"function_call": {"id": "c1", "name": "thermometer", "args": dict(ARGUMENTS)}}
    return {"role": "model" if role == "assistant" else "user", "parts": [part]}


def openllmetry(side: str, messages: list[tuple[str, str | None]]) -> JsonObject:
    found: JsonObject = {}
    for index, (role, text) in enumerate(messages):
        start = f"gen_ai.{side}.{index}"
        found[f"{start}.role"] = role
        if text is not None:
            found[f"{start}.content"] = text
        else:
            found[f"{start}.tool_calls.0.name"] = "thermometer"
            found[f"{start}.tool_calls.0.id"] = "c1"
            found[f"{start}.tool_calls.0.arguments"] = json.dumps(ARGUMENTS)
        if role == "tool":
            found[f"{start}.tool_call_id"] = "c1"
    return found


def openinference(side: str, messages: list[tuple[str, str | None]]) -> JsonObject:
    """Indexes with gaps, that sort as numbers only."""
    found: JsonObject = {"openinference.span.kind": "LLM"}
    for index, (role, text) in enumerate(messages):
        start = f"llm.{side}_messages.{8 + index}.message"
        found[f"{start}.role"] = role
        if text is not None:
            found[f"{start}.content"] = text
        else:
            call = f"{start}.tool_calls.3.tool_call"
            found[f"{call}.id"] = "c1"
            found[f"{call}.function.name"] = "thermometer"
            found[f"{call}.function.arguments"] = json.dumps(ARGUMENTS)
        if role == "tool":
            found[f"{start}.tool_call_id"] = "c1"
    return found


REQUEST: JsonObject = {"model": "small-1", "messages": [openai(one) for one in SAID[:4]]}
RESPONSE: JsonObject = {"choices": [{"index": 0, "message": openai(SAID[4]), "finish_reason": "stop"}]}
CHAT: JsonObject = {"gen_ai.operation.name": "chat"}
GENAI: JsonObject = {
    "gen_ai.system_instructions": [{"type": "text", "content": SAID[0][1]}],
    "gen_ai.input.messages": [genai(one) for one in SAID[1:4]],
    "gen_ai.output.messages": [{**genai(SAID[4]), "finish_reason": "stop"}],
}
BY_EVENT = [
    Event(f"gen_ai.{role}.message", 1, {**openai((role, text)), "id": "c1"}) for role, text in SAID[:4]
] + [Event("gen_ai.choice", 2, {"message": json.dumps(openai(SAID[4])), "finish_reason": "stop", "index": 0})]
GEMINI: JsonObject = {
    "config": {"system_instruction": SAID[0][1]},
    "contents": [gemini(one) for one in SAID[1:4]],
}


def texts(said: JsonObject) -> JsonObject:
    """Structure as JSON text, as spans hold it."""
    return {key: one if isinstance(one, str) else json.dumps(one) for key, one in said.items()}


SPELLINGS: dict[str, tuple[JsonObject, list[Event]]] = {
    "genai structure": ({**CHAT, **GENAI}, []),
    "genai text": ({**CHAT, **texts(GENAI)}, []),
    "genai details event": (CHAT, [Event("gen_ai.client.inference.operation.details", 1, GENAI)]),
    "genai events": (CHAT, BY_EVENT),
    "azure events": (
        CHAT,
        [Event(one.name, 1, {"gen_ai.event.content": json.dumps(one.attributes)}) for one in BY_EVENT],
    ),
    "openllmetry": (
        {"llm.request.type": "chat", **openllmetry("prompt", SAID[:4]), **openllmetry("completion", SAID[4:])},
        [],
    ),
    "openinference": ({**openinference("input", SAID[:4]), **openinference("output", SAID[4:])}, []),
    "openinference payload": (
        {"openinference.span.kind": "LLM", "input.value": json.dumps(REQUEST), "output.value": json.dumps(RESPONSE)},
        [],
    ),
    "vercel": (
        {
            "ai.operationId": "ai.streamText.doStream",
            "ai.prompt.messages": json.dumps([vercel(one) for one in SAID[:4]]),
            "ai.response.text": SAID[4][1],
        },
        [],
    ),
    "vercel 3": (
        {
            "ai.operationId": "ai.generateText.doGenerate",
            "ai.prompt": json.dumps({"system": SAID[0][1], "messages": [vercel(one) for one in SAID[1:4]]}),
            "ai.result.text": SAID[4][1],
        },
        [],
    ),
    "adk": (
        {
            "gen_ai.request.model": "small-1",
            "gcp.vertex.agent.llm_request": json.dumps(GEMINI),
            "gcp.vertex.agent.llm_response": json.dumps({"content": gemini(SAID[4]), "finish_reason": "STOP"}),
        },
        [],
    ),
    "langfuse": (
        {
            "langfuse.observation.type": "generation",
            "langfuse.observation.input": json.dumps([openai(one) for one in SAID[:4]]),
            "langfuse.observation.output": json.dumps(openai(SAID[4])),
        },
        [],
    ),
    "mlflow": (
        {
            "mlflow.spanType": "CHAT_MODEL",
            "mlflow.spanInputs": json.dumps(REQUEST),
            "mlflow.spanOutputs": json.dumps(RESPONSE),
        },
        [],
    ),
    "blobs": (
        {
            "gen_ai.request.model": "m",
            "gen_ai.prompt": json.dumps([openai(one) for one in SAID[:4]]),
            "gen_ai.completion": json.dumps([openai(SAID[4])]),
        },
        [],
    ),
    "pydantic ai": (
        {**CHAT, "events": json.dumps([{"event.name": one.name, **one.attributes} for one in BY_EVENT])},
        [],
    ),
}  # fmt: skip


def told(attributes: JsonObject, events: list[Event] | None = None, name: str = "chat") -> Step:
    """A step of a span with its attributes in some order."""
    keys = list(attributes)
    random.Random(5).shuffle(keys)
    shuffled = {key: attributes[key] for key in keys}
    return step(Told("ab", None, name, shuffled, 1, 2, "exact", events=events or ()))


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling_says_the_same(spelling: str) -> None:
    """Roles, texts, the call with its arguments, the result with its id; the attributes keep none of it."""
    one = told(*SPELLINGS[spelling])
    assert one.kind == "llm"
    assert [(turn.role, turn.content) for turn in one.turns] == SAID
    assert len(one.answered) == 1
    assert [turn.state for turn in one.turns] == ["full", "full", "absent", "full", "full"]
    (call,) = one.turns[2].calls
    assert (call.native_id, call.name, call.arguments) == ("c1", "thermometer", '{"place":"greenhouse"}')
    assert one.turns[3].answers == "c1"
    for _, text in SAID:
        assert text is None or text not in json.dumps(one.attributes)


@pytest.mark.parametrize(
    ("name", "attributes", "kind"),
    [
        ("chat m", {"gen_ai.operation.name": "chat"}, "llm"),
        ("x", {"gen_ai.operation.name": "embeddings"}, "embedding"),
        ("x", {"gen_ai.operation.name": "retrieval"}, "retrieval"),
        ("x", {"gen_ai.operation.name": "invoke_workflow"}, "step"),
        ("x", {"gen_ai.operation.name": "something new"}, "other"),
        ("x", {"gen_ai.operation.name": 5, "openinference.span.kind": "LLM"}, "llm"),
        ("x", {"openinference.span.kind": "RERANKER"}, "retrieval"),
        ("x", {"openinference.span.kind": "GUARDRAIL"}, "guardrail"),
        ("x", {"openinference.span.kind": "EVALUATOR"}, "evaluator"),
        ("x", {"openinference.span.kind": "CHAIN"}, "step"),
        ("x", {"openinference.span.kind": "PROMPT"}, "step"),
        ("x", {"traceloop.span.kind": "workflow"}, "step"),
        ("x", {"traceloop.span.kind": "agent"}, "agent"),
        ("x", {"llm.request.type": "embedding"}, "embedding"),
        ("x", {"ai.operationId": "ai.generateText"}, "step"),
        ("x", {"ai.operationId": "ai.embedMany.doEmbed"}, "embedding"),
        ("x", {"ai.operationId": "ai.toolCall"}, "tool"),
        ("x", {"langfuse.observation.type": "retriever"}, "retrieval"),
        ("x", {"mlflow.spanType": "TOOL"}, "tool"),
        ("x", {"gen_ai.tool.name": "f"}, "tool"),
        ("x", {"llm.model_name": "m"}, "llm"),
        ("invoke_agent a", {}, "agent"),
        ("execute_tool f", {}, "tool"),
        ("chat", {}, "other"),
        ("GET /", {"gen_ai.conversation.id": "c"}, "other"),
    ],
)
def test_kinds(name: str, attributes: JsonObject, kind: str) -> None:
    """By operation, by the library's own kind, by what is there; a name alone only where it cannot be another's."""
    assert kind_of(name, attributes) == kind


TOOLS: dict[str, JsonObject] = {
    "genai": {
        "gen_ai.tool.name": "f",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.call.arguments": {"a": 1},
        "gen_ai.tool.call.result": "ok",
    },
    "adk": {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "f",
        "gen_ai.tool.call.id": "c1",
        "gcp.vertex.agent.tool_call_args": '{"a": 1}',
        "gcp.vertex.agent.tool_response": '{"content": [{"type": "text", "text": "ok"}]}',
    },
    "vercel": {
        "ai.operationId": "ai.toolCall",
        "ai.toolCall.name": "f",
        "ai.toolCall.id": "c1",
        "ai.toolCall.args": '{"a":1}',
        "ai.toolCall.result": "ok",
    },
    "openinference": {
        "openinference.span.kind": "TOOL",
        "tool.name": "f",
        "tool_call.id": "c1",
        "input.value": '{"a": 1}',
        "input.mime_type": "application/json",
        "output.value": "ok",
    },
    "traceloop": {
        "traceloop.span.kind": "tool",
        "traceloop.entity.name": "f",
        "tool_call.id": "c1",
        "traceloop.entity.input": '{"a": 1}',
        "traceloop.entity.output": "ok",
    },
    "langfuse": {
        "langfuse.observation.type": "tool",
        "gen_ai.tool.call.id": "c1",
        "langfuse.observation.input": '{"a": 1}',
        "langfuse.observation.output": "ok",
    },
    "mlflow": {
        "mlflow.spanType": "TOOL",
        "gen_ai.tool.call.id": "c1",
        "mlflow.spanInputs": '{"a": 1}',
        "mlflow.spanOutputs": "ok",
    },
}


@pytest.mark.parametrize("spelling", TOOLS)
def test_tools_of_every_vocabulary(spelling: str) -> None:
    """Name, id, arguments and result of a tool's own span."""
    one = told(TOOLS[spelling], name="execute_tool f" if spelling == "genai" else "f")
    assert one.tool is not None
    assert one.kind == "tool"
    assert (one.tool.call.name, one.tool.call.native_id, one.tool.call.arguments) == ("f", "c1", '{"a":1}')
    assert (one.tool.result, one.tool.failed) == ("ok", False)
    assert '"a"' not in json.dumps(one.attributes).replace("\\", "")


def test_a_tool_that_says_it_failed() -> None:
    """By the span's status, or by MCP's own flag; arguments that were cut are kept as they are."""
    said: JsonObject = {
        "gen_ai.tool.name": "f",
        "gen_ai.tool.call.arguments": '{"a": "xx',
        "gen_ai.tool.call.result": '{"content": [{"type": "text", "text": "no such bed"}], "isError": true}',
    }
    one = told(said)
    assert one.tool is not None
    assert (one.tool.result, one.tool.failed) == ("no such bed", True)
    assert (one.tool.call.state, one.tool.call.raw) == ("invalid", '{"a": "xx')


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        (
            {
                "gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 5,
                "gen_ai.usage.cache_read.input_tokens": 4, "gen_ai.usage.cache_creation.input_tokens": 3,
                "gen_ai.usage.reasoning.output_tokens": 2,
            },
            (10, 5, 4, 3, 2, None),
        ),
        (
            {
                "gen_ai.usage.prompt_tokens": 10, "gen_ai.usage.completion_tokens": "5",
                "gen_ai.usage.cache_read_input_tokens": 4, "gen_ai.usage.reasoning_tokens": 0,
            },
            (10, 5, 4, None, 0, None),
        ),
        (
            {
                "llm.token_count.prompt": 10, "llm.token_count.completion": 5,
                "llm.token_count.prompt_details.cache_read": 4, "llm.token_count.prompt_details.cache_write": 3,
                "llm.token_count.completion_details.reasoning": 2, "llm.cost.total": 0.5,
            },
            (10, 5, 4, 3, 2, 0.5),
        ),
        (
            {"ai.usage.inputTokens": 10, "ai.usage.outputTokens": 5, "ai.usage.cachedInputTokens": 4},
            (10, 5, 4, None, None, None),
        ),
        ({"ai.usage.promptTokens": 10.0, "ai.usage.completionTokens": 5}, (10, 5, None, None, None, None)),
        (
            {
                "langfuse.observation.usage_details": '{"input": 10, "output": 5, "cache_read_input_tokens": 4}',
                "langfuse.observation.cost_details": '{"total": 0.25}',
            },
            (10, 5, 4, None, None, 0.25),
        ),
        (
            {
                "gcp.vertex.agent.llm_response":
                    '{"usage_metadata": {"prompt_token_count": 10, "candidates_token_count": 5}}',
            },
            (10, 5, None, None, None, None),
        ),
        ({"gen_ai.usage.input_tokens": -1, "gen_ai.usage.output_tokens": 2**70}, (None,) * 6),
        ({"gen_ai.usage.input_tokens": True, "gen_ai.usage.output_tokens": "many"}, (None,) * 6),
    ],
)  # fmt: skip
def test_usage(attributes: JsonObject, expected: tuple[Json, ...]) -> None:
    """Tokens and cost in every vocabulary; what is no count is none."""
    assert tuple(told({"gen_ai.request.model": "m", **attributes}).usage) == expected


def test_names_of_a_call() -> None:
    """Provider, model (the one that answered), response and why it ended."""
    said: JsonObject = {
        "gen_ai.operation.name": "chat", "gen_ai.system": "old", "gen_ai.provider.name": "new",
        "gen_ai.request.model": "m", "gen_ai.response.model": "m-2026", "gen_ai.response.id": "r",
        "gen_ai.response.finish_reasons": ["length"],
    }  # fmt: skip
    one = told(said)
    assert (one.provider, one.model, one.response_id, one.finish_reason) == ("new", "m-2026", "r", "length")
    assert told({**said, "gen_ai.response.finish_reasons": '["stop"]'}).finish_reason == "stop"


def test_content_that_is_off_is_no_turn() -> None:
    """ADK writes an empty object then; it stays with the attributes."""
    one = told(
        {
            "gen_ai.request.model": "m",
            "gcp.vertex.agent.llm_request": "{}",
            "gcp.vertex.agent.llm_response": "{}",
        }
    )
    assert one.turns == ()
    assert one.attributes is not None
    assert one.attributes["gcp.vertex.agent.llm_request"] == "{}"


def test_an_agents_payload_is_no_conversation() -> None:
    """What a chain was given is told by the calls inside it; its payload stays where it is."""
    one = told({"openinference.span.kind": "CHAIN", "input.value": "a question", "output.value": "an answer"})
    assert one.turns == ()
    assert one.attributes is not None
    assert one.attributes["input.value"] == "a question"


def test_parts_as_text_are_parts_and_a_users_json_is_text() -> None:
    """OpenLLMetry writes a list of parts as its JSON text; a list that a user wrote stays text."""
    parts = '[{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "x"}}]'
    said: JsonObject = {
        "gen_ai.request.model": "m",
        "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": parts,
        "gen_ai.prompt.1.role": "user", "gen_ai.prompt.1.content": '[{"bed": 1}]',
    }  # fmt: skip
    assert [turn.content for turn in told(said).asked] == ["see\n[image_url]", '[{"bed": 1}]']


def test_keys_that_contradict_each_other_lose_nothing() -> None:
    """A leaf where a branch is, no index, an index beyond reason: those stay attributes."""
    said: JsonObject = {
        "gen_ai.request.model": "m",
        "gen_ai.prompt.0": "leaf", "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Hi?",
        "gen_ai.prompt.x.content": "no index", f"gen_ai.prompt.{'9' * 5000}.content": "far",
        "gen_ai.prompt.0.content.deep": "clash",
    }  # fmt: skip
    one = told(said)
    assert [turn.content for turn in one.asked] in (["Hi?"], ['{"deep":"clash"}'])
    assert one.attributes is not None
    assert {
        "gen_ai.prompt.0",
        "gen_ai.prompt.x.content",
        f"gen_ai.prompt.{'9' * 5000}.content",
    } < one.attributes.keys()


def test_a_call_among_the_contents_is_told_once() -> None:
    """OpenInference tells a call of Anthropic's models among the contents and again in the list of calls."""
    message = "llm.output_messages.0.message"
    call: JsonObject = {
        "tool_call.id": "c1",
        "tool_call.function.name": "thermometer",
        "tool_call.function.arguments": json.dumps(ARGUMENTS),
    }
    attributes: JsonObject = {
        "openinference.span.kind": "LLM",
        f"{message}.role": "assistant",
        f"{message}.contents.0.message_content.type": "text",
        f"{message}.contents.0.message_content.text": "One moment.",
        f"{message}.contents.1.message_content.type": "tool_use",
        **{f"{message}.contents.1.{key}": value for key, value in call.items()},
    }
    again: JsonObject = {f"{message}.tool_calls.0.{key}": value for key, value in call.items()}
    for told_ in (attributes, attributes | again):
        (turn,) = told(told_).answered
        assert turn.content == "One moment."
        assert [(one.native_id, one.name, one.arguments) for one in turn.calls] == [
            ("c1", "thermometer", '{"place":"greenhouse"}')
        ]


def test_a_result_in_parts_of_bedrock_is_its_text() -> None:
    """Parts without a type, also as JSON text."""
    attributes: JsonObject = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "thermometer"}
    one = told({**attributes, "gen_ai.tool.call.result": '[{"text": "9 degrees"}]'})
    assert one.tool is not None
    assert one.tool.result == "9 degrees"
