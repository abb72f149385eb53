"""A made deployment's OTLP spans for measuring: ``gen_ai.*`` in current names, about 2 kB a span, never random twice.

A trace is an agent with two calls of a model and two of a tool; a line is one export request with four traces. One
trace in fifty names a mail address or a key, so that redaction has something to do.
"""

import random
from collections.abc import Iterator
from pathlib import Path

import orjson

START_NS = 1_780_000_000_000_000_000
TRACES_A_LINE = 4
SPANS_A_TRACE = 5
_TEXT = """
order refund flight cabin economy luggage reservation window station invoice customer account
balance delivery parcel address street morning evening ticket change cancel confirm policy payment
voucher travel agent request please thanks number status update detail summary before after within
because although several different simple
"""
_WORDS = _TEXT.split()


def lines(spans: int, seed: int = 7) -> Iterator[bytes]:
    """Export requests as JSON lines, about `spans` spans in all."""
    rng = random.Random(seed)
    traces = max(1, spans // SPANS_A_TRACE)
    for first in range(0, traces, TRACES_A_LINE):
        found = [
            span
            for number in range(first, min(first + TRACES_A_LINE, traces))
            for span in _trace(number, rng)
        ]
        request = {
            "resourceSpans": [
                {
                    "resource": {
                        "attributes": [
                            _text("service.name", "support-agent"),
                            _text("service.version", f"2026.{1 + first // 40_000}"),
                            _text("deployment.environment.name", "production"),
                        ]
                    },
                    "scopeSpans": [
                        {
                            "scope": {"name": "opentelemetry.instrumentation.openai_v2", "version": "2.4"},
                            "spans": found,
                        }
                    ],
                }
            ]
        }
        yield orjson.dumps(request) + b"\n"


def write(path: Path, spans: int) -> Path:
    """The lines as a file."""
    with path.open("wb") as file:
        for line in lines(spans):
            file.write(line)
    return path


def _words(rng: random.Random, count: int) -> str:
    return " ".join(rng.choices(_WORDS, k=count))


def _text(key: str, value: str) -> dict[str, object]:
    return {"key": key, "value": {"stringValue": value}}


def _number(key: str, value: int) -> dict[str, object]:
    return {"key": key, "value": {"intValue": str(value)}}


def _trace(number: int, rng: random.Random) -> Iterator[dict[str, object]]:
    trace_id = f"{number + 1:032x}"
    start = START_NS + number * 1_000_000_000
    span = iter(f"{number * SPANS_A_TRACE + k + 1:016x}" for k in range(SPANS_A_TRACE))
    root = next(span)
    asked = _words(rng, 40)
    if number % 50 == 0:
        asked += f" write to customer{number}@mail.example.org or use sk-proj-{number:040d}"
    history: list[dict[str, object]] = [{"role": "user", "parts": [{"type": "text", "content": asked}]}]
    shared = [
        _text("gen_ai.provider.name", "openai"),
        _text("gen_ai.conversation.id", f"conversation-{number}"),
        _text("gen_ai.agent.name", ("support", "booking", "billing")[number % 3]),
        _text("user.id", f"user-{number % 5000}"),
    ]
    text = _words(rng, 120)
    yield {
        "traceId": trace_id,
        "spanId": root,
        "name": "invoke_agent",
        "kind": 1,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 900_000_000),
        "status": {"code": 2 if number % 17 == 0 else 1},
        "attributes": [_text("gen_ai.operation.name", "invoke_agent"), *shared, _text("app.plan", text)],
    }
    for turn in range(2):
        call = {
            "type": "tool_call",
            "id": f"call_{number}_{turn}",
            "name": f"tool_{(number + turn) % 7}",
            "arguments": {"query": _words(rng, 6), "page": turn},
        }
        answer = {
            "role": "assistant",
            "parts": [{"type": "text", "content": _words(rng, 30)}, call],
            "finish_reason": "tool_calls",
        }
        at = start + 10_000_000 + turn * 400_000_000
        yield {
            "traceId": trace_id,
            "spanId": next(span),
            "parentSpanId": root,
            "name": "chat gpt-5",
            "kind": 3,
            "startTimeUnixNano": str(at),
            "endTimeUnixNano": str(at + 200_000_000),
            "status": {},
            "attributes": [
                _text("gen_ai.operation.name", "chat"),
                *shared,
                _text("gen_ai.request.model", "gpt-5"),
                _text("gen_ai.response.model", "gpt-5-2026-08-01"),
                _text("gen_ai.response.id", f"chatcmpl-{number:024x}{turn}"),
                _number("gen_ai.request.max_tokens", 1024),
                {"key": "gen_ai.request.temperature", "value": {"doubleValue": 0.2}},
                {
                    "key": "gen_ai.response.finish_reasons",
                    "value": {"arrayValue": {"values": [{"stringValue": "tool_calls"}]}},
                },
                _number("gen_ai.usage.input_tokens", 300 + turn * 90 + number % 50),
                _number("gen_ai.usage.output_tokens", 40 + number % 23),
                _text("gen_ai.input.messages", orjson.dumps(history).decode()),
                _text("gen_ai.output.messages", orjson.dumps([answer]).decode()),
                _text("server.address", "api.openai.example"),
                _number("server.port", 443),
            ],
        }
        result = _words(rng, 60)
        yield {
            "traceId": trace_id,
            "spanId": next(span),
            "parentSpanId": root,
            "name": f"execute_tool {call['name']}",
            "kind": 1,
            "startTimeUnixNano": str(at + 200_000_000),
            "endTimeUnixNano": str(at + 300_000_000),
            "status": {},
            "attributes": [
                _text("gen_ai.operation.name", "execute_tool"),
                *shared,
                _text("gen_ai.tool.name", str(call["name"])),
                _text("gen_ai.tool.call.id", str(call["id"])),
                _text("gen_ai.tool.call.arguments", orjson.dumps(call["arguments"]).decode()),
                _text("gen_ai.tool.call.result", result),
                _text("gen_ai.tool.description", _words(rng, 60)),
            ],
        }
        history = [
            *history,
            {k: answer[k] for k in ("role", "parts")},
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": call["id"], "response": result}]},
        ]
