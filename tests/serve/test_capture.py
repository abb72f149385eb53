"""Every request becomes one line of the spool."""

import time

import httpx
import openai
import pytest

from rsi.records import Origin
from rsi.serve.service import Options
from rsi.settings import Home
from rsi.traces.formats import gateway as reader
from rsi.traces.rows import Place, Rows
from tests.serve.served import CODER, ROUTER, Site, opened, publish

KEYS = {
    "schema",
    "trace_id",
    "namespace",
    "origin",
    "version",
    "session",
    "start_ns",
    "end_ns",
    "messages",
    "answer",
    "error",
    "route",
    "model",
    "usage",
}


def ask(site: Site, text: str, model: str = "auto", **more: object) -> None:
    site.client.chat.completions.create(  # type: ignore[call-overload]
        model=model, messages=[{"role": "user", "content": text}], **more
    )


def test_a_trace_has_the_native_schema(home: Home) -> None:
    """All keys, times in nanoseconds around the call, the router's scores, the session."""
    version = publish(home, {"L0": ROUTER, "L2": CODER})
    before = time.time_ns()
    with opened(home, Options(namespace="shop", origin=Origin.DEMO)) as site:
        ask(site, "code it", metadata={"session": "s-1"}, user="u-1")
        (line,) = site.lines()
    route = line.pop("route")
    start, end = line.pop("start_ns"), line.pop("end_ns")

    assert isinstance(start, int)
    assert isinstance(end, int)
    assert before // 1000 * 1000 <= start <= end <= time.time_ns()
    assert isinstance(route, dict)
    assert set(line) | {"route", "start_ns", "end_ns"} == KEYS
    assert isinstance(line.pop("trace_id"), str)
    assert line == {
        "schema": "rsi.trace/1",
        "namespace": "shop",
        "origin": "demo",
        "version": version,
        "session": "s-1",
        "messages": [{"role": "user", "content": "code it"}],
        "answer": {"content": f"{CODER}: You write code. / code it", "finish_reason": "stop"},
        "error": None,
        "model": CODER,
        "usage": {"prompt_tokens": 5, "completion_tokens": 7},
    }
    assert (route["role"], route["label"], route["reason"]) == ("L2", "code", "chosen")
    assert set(route["logprobs"]) == {"chat", "agent", "code", "ui"}
    assert route["ms"] > 0


def test_ingest_reads_what_the_gateway_writes(site: Site) -> None:
    """The trace, its two hops, and feedback on the same trace."""
    reply = site.client.chat.completions.create(
        model="auto", messages=[{"role": "user", "content": "code it"}], metadata={"session": "s-1"}
    )
    body = {"trace_id": reply.id, "name": "route", "score": 0, "correction": "ui", "source": "label"}
    assert httpx.post(f"{site.url}/v1/feedback", json=body).status_code == 200
    place = Place(namespace="other", origin=None, file_id="f", line=1, byte_offset=0)
    (trace,), (score,) = (reader.read(line, place) for line in site.lines())  # type: ignore[arg-type]

    assert isinstance(trace, Rows)
    assert isinstance(score, Rows)
    assert trace.trace is not None
    assert trace.trace.native_id == reply.id.removeprefix("chatcmpl-")
    assert (trace.trace.namespace, trace.trace.origin, trace.session) == ("test", Origin.TRAFFIC, "s-1")
    assert (trace.trace.route, trace.trace.model, trace.trace.version) == ("L2", CODER, site.admin.version())
    assert trace.trace.time_state == "exact"
    assert trace.trace.output_text == reply.choices[0].message.content
    assert [span.name for span in trace.spans] == ["route", "answer"]
    assert [one.trace_uid for one in score.scores] == [trace.trace_uid]
    assert [(one.name, one.value, one.correction) for one in score.scores] == [("route", 0.0, "L3")]


@pytest.mark.parametrize("model", ["auto", "L2"])
def test_a_request_that_fails_leaves_a_trace_with_the_error(site: Site, model: str) -> None:
    """The caller gets a 500 that names the trace, and no inside of the machine."""

    def fail(*_: object, **__: object) -> object:
        raise RuntimeError("out of paper")

    site.engine.choose = fail  # type: ignore[method-assign,assignment]
    site.engine.generate = fail  # type: ignore[method-assign,assignment]
    with pytest.raises(openai.InternalServerError) as caught:
        ask(site, "code", model)
    (line,) = site.lines()

    assert line["error"] == "RuntimeError: out of paper"
    assert line["answer"] is None
    assert line["route"] is None
    assert line["messages"] == [{"role": "user", "content": "code"}]
    assert caught.value.response.headers["x-rsi-trace-id"] == line["trace_id"]
    assert str(line["trace_id"]) in caught.value.message
    assert "paper" not in caught.value.message


def test_streams_leave_traces_too(site: Site) -> None:
    """Written before the first chunk."""
    with site.client.chat.completions.create(
        model="auto", messages=[{"role": "user", "content": "code"}], stream=True
    ) as stream:
        first = next(iter(stream))

    assert [line["trace_id"] for line in site.lines()] == [first.id.removeprefix("chatcmpl-")]


def test_the_gates_requests_are_not_written_down(home: Home) -> None:
    """Nothing in the inbox, no spool in /health."""
    publish(home, {})
    with opened(home, Options(origin=Origin.GATE)) as site:
        ask(site, "code")
        health = site.admin.health()

    assert not home.inbox.exists()
    assert health.spool is None


def test_an_answer_is_given_though_its_trace_cannot_be_written(home: Home) -> None:
    """The loss is counted, /health says why, and the next trace that fits clears it."""
    publish(home, {})
    with opened(home) as site:
        home.inbox.rmdir()
        ask(site, "code")
        degraded = site.admin.health()
        home.inbox.mkdir()
        ask(site, "code")

        assert degraded.status == "degraded"
        assert str(home.inbox) in degraded.problems[0]
        assert site.admin.health().status == "ok"
        assert len(site.lines()) == 1
