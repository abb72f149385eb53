"""The OTLP/HTTP receiver, asked by the real OpenTelemetry SDK and by hand."""

import gzip
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import orjson
import pytest
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from rsi.errors import TransientError
from rsi.serve import otlp, receiver
from rsi.serve.otlp import JSON, PROTOBUF
from rsi.serve.receiver import Receiver
from rsi.serve.sink import create_sink
from rsi.settings import PROJECT, Deployment, Home
from rsi.traces.spool import Spool, recover
from tests.serve.served import Site, served
from tests.traces.inputs import load, rows


def request(*names: str, trace: bytes = b"\x01" * 16) -> ExportTraceServiceRequest:
    """One scope with a span for each name; the name is the span's id."""
    message = ExportTraceServiceRequest()
    outer = message.resource_spans.add()
    inner = outer.scope_spans.add()
    inner.scope.name = "made.by.hand"
    for name in names:
        span = inner.spans.add(
            trace_id=trace, span_id=name.encode().rjust(8, b"0"), name=name, start_time_unix_nano=1
        )
        span.end_time_unix_nano = 2
    return message


def post(url: str, body: bytes, media: str = PROTOBUF, **headers: str) -> httpx.Response:
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    return httpx.post(url + otlp.PATH, content=body, headers={"content-type": media, **named}, timeout=30)


def said(response: httpx.Response) -> str:
    """The message of a ``google.rpc.Status``."""
    if response.headers["content-type"] == JSON:
        return str(response.json()["message"])
    code, rest = response.content[:2], response.content[2:]
    assert code[0] == 0x08
    size, at = rest[1] & 0x7F, 2
    if rest[1] & 0x80:
        size, at = size | rest[2] << 7, 3
    assert rest[0] == 0x12
    assert len(rest) == at + size
    return rest[at:].decode()


def lines(home: Home) -> list[dict[str, list[dict[str, list[dict[str, object]]]]]]:
    paths = sorted(home.inbox.iterdir(), key=lambda path: path.name)
    return [orjson.loads(line) for path in paths for line in path.read_bytes().splitlines()]


def spans(home: Home) -> list[dict[str, object]]:
    return [
        span
        for line in lines(home)
        for outer in line["resourceSpans"]
        for inner in outer["scopeSpans"]
        for span in inner["spans"]  # type: ignore[attr-defined]
    ]


@pytest.fixture
def sink(home: Home) -> Iterator[str]:
    with served(create_sink(home)) as url:
        yield url


def export(url: str, compression: Compression) -> str:
    """One run of an agent, as an instrumented program sends it; its trace id."""
    exporter = OTLPSpanExporter(endpoint=url + otlp.PATH, compression=compression)
    provider = TracerProvider(resource=Resource.create({"service.name": "shop"}))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("agent", "1.2.3")
    with tracer.start_as_current_span("invoke_agent shop") as root:
        root.set_attributes({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "shop"})
        with tracer.start_as_current_span("chat m") as call:
            messages = [{"role": "user", "parts": [{"type": "text", "content": "two pizzas"}]}]
            answer = [{"role": "assistant", "parts": [{"type": "text", "content": "on their way"}]}]
            call.set_attributes(
                {
                    "gen_ai.operation.name": "chat",
                    "gen_ai.request.model": "m",
                    "gen_ai.usage.input_tokens": 7,
                    "gen_ai.input.messages": orjson.dumps(messages).decode(),
                    "gen_ai.output.messages": orjson.dumps(answer).decode(),
                }
            )
    provider.shutdown()
    return f"{root.get_span_context().trace_id:032x}"


@pytest.mark.parametrize("compression", [Compression.NoCompression, Compression.Gzip])
def test_what_the_sdk_exports_can_be_queried(home: Home, sink: str, compression: Compression) -> None:
    """Spans, their tree, tokens and what was said, once the inbox is ingested; a second ingest adds nothing."""
    trace = export(sink, compression)
    totals = load(home, home.inbox)
    again = load(home, home.inbox)

    assert (totals.quarantined, again.loaded) == (0, 0)
    assert rows(home, "select native_id, agent, output_text from traces") == [(trace, "shop", "on their way")]
    found = rows(
        home, "select kind, name, input_tokens, native_parent_id is null from spans order by name desc"
    )
    assert found == [("agent", "invoke_agent shop", None, True), ("llm", "chat m", 7, False)]


def test_the_gateway_takes_spans_beside_its_own_requests(site: Site) -> None:
    """Into a segment of their own; a body in chunks, or larger than a chat request may be, as well."""
    trace = export(site.url, Compression.Gzip)
    body = request("big").SerializeToString() + b"\x12" + b"\x80\x80\xc0\x02" + b"x" * (5 << 20)

    assert post(site.url, body).status_code == 200
    chunks = iter([request("chunked").SerializeToString()])
    answer = httpx.post(site.url + otlp.PATH, content=chunks, headers={"content-type": PROTOBUF})
    assert answer.status_code == 200
    assert httpx.post(f"{site.url}/v1/chat/completions", content=b"x" * (5 << 20)).status_code == 413
    assert {str(one["name"]) for one in spans(site.home)} == {"invoke_agent shop", "chat m", "big", "chunked"}
    assert trace in {one["traceId"] for one in spans(site.home)}
    assert [path.name.split("-")[0] for path in site.home.inbox.iterdir()] == ["otlp"]


def test_answers_are_in_the_encoding_of_the_request(home: Home, sink: str) -> None:
    """Empty messages where all was taken, also of an empty request."""
    whole = post(sink, request("a").SerializeToString())
    assert (whole.status_code, whole.content, whole.headers["content-type"]) == (200, b"", PROTOBUF)
    span = {"traceId": "AB" * 16, "spanId": "cd" * 8, "name": "b", "unknown": [1]}
    as_json = orjson.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}], "more": 1})
    packed = post(sink, gzip.compress(as_json), f"{JSON}; charset=utf-8", content_encoding="gzip")
    assert (packed.status_code, packed.json(), packed.headers["content-type"]) == (200, {}, JSON)
    assert post(sink, b"").status_code == 200
    assert post(sink, b"{}", JSON).json() == {}
    assert [one["name"] for one in spans(home)] == ["a", "b"]


def test_spans_without_ids_are_refused_and_counted_and_the_others_taken(home: Home, sink: str) -> None:
    """A partial success says how many and why."""
    message = request("good", "bad", "zero")
    message.resource_spans[0].scope_spans[0].spans[1].trace_id = b"short"
    message.resource_spans[0].scope_spans[0].spans[2].span_id = bytes(8)
    answer = ExportTraceServiceResponse.FromString(post(sink, message.SerializeToString()).content)
    assert answer.partial_success.rejected_spans == 2
    assert "span 'bad' has no valid traceId" in answer.partial_success.error_message

    bad = {"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "x", "traceId": "1"}]}]}]}
    partial = post(sink, orjson.dumps(bad), JSON).json()["partialSuccess"]
    assert partial["rejectedSpans"] == "1"
    assert [one["name"] for one in spans(home)] == ["good"]


@pytest.mark.parametrize("media", [PROTOBUF, JSON])
@pytest.mark.parametrize(
    ("body", "packed", "why"),
    [
        (b"\xff\xff not a message", False, "the body is no"),
        (b'{"resourceSpans": 5}', False, "the body is no|resourceSpans is no array"),
        (b'{"resourceSpans": [5]}', False, "the body is no|no object"),
        (b"no gzip", True, "no gzip"),
        (gzip.compress(b"x" * 1000)[:-9], True, "ends early"),
    ],
    # Not by their bytes: a gzip header holds the time.
    ids=["no message", "no array", "no object", "no gzip", "cut gzip"],
)
def test_a_body_that_cannot_be_read_is_400(
    home: Home, sink: str, media: str, body: bytes, packed: bool, why: str
) -> None:
    """With a Status that says why, and nothing written."""
    answer = post(sink, body, media, **({"content_encoding": "gzip"} if packed else {}))
    assert (answer.status_code, answer.headers["content-type"]) == (400, media)
    assert any(one in said(answer) for one in why.split("|"))
    assert spans(home) == []


def test_other_media_and_encodings_are_415(sink: str) -> None:
    """The answer names what is expected."""
    assert PROTOBUF in said(post(sink, b"", "text/plain"))
    for answer in (
        post(sink, b"", "text/plain"),
        post(sink, b"", content_encoding="br"),
        post(sink, b"", ""),
    ):
        assert answer.status_code == 415


def test_bodies_beyond_the_limit_are_413(sink: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By their own word, as they come, and when they are unpacked."""
    monkeypatch.setattr(otlp, "LIMIT", 1000)
    monkeypatch.setattr(receiver, "LIMIT", 5000)
    assert post(sink, bytes(1001)).status_code == 413
    chunked = httpx.post(sink + otlp.PATH, content=iter([bytes(600)] * 2), headers={"content-type": PROTOBUF})
    assert chunked.status_code == 413
    packed = post(sink, gzip.compress(bytes(5001)), content_encoding="gzip")
    assert packed.status_code == 413
    assert "when unpacked" in said(packed)


def test_a_disk_that_refuses_is_503_with_a_time_to_come_again(home: Home, sink: str) -> None:
    """And the next request is taken once it does not."""
    home.inbox.rmdir()
    answer = post(sink, request("a").SerializeToString())
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert str(home.inbox) in said(answer)
    assert httpx.get(f"{sink}/health").json()["status"] == "degraded"
    home.inbox.mkdir()
    assert post(sink, request("a").SerializeToString()).status_code == 200
    assert httpx.get(f"{sink}/health").json() | {"spool": None} == {
        "status": "ok",
        "accepted_spans": 1,
        "refused_spans": 0,
        "spool": None,
        "problems": [],
    }


def test_more_than_can_be_held_is_503(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """While others are under way; a request alone is always taken."""
    monkeypatch.setattr(receiver, "MAX_HELD", 10)
    app = create_sink(home)
    with served(app) as url:
        body = request("a").SerializeToString()
        assert post(url, body).status_code == 200
        app.state.otlp.hold(5)
        assert post(url, body).status_code == 503
        app.state.otlp.hold(-5)
        assert post(url, body).status_code == 200


class Gated(Spool):
    """A spool whose fsync waits for permission."""

    def __init__(self, inbox: Path) -> None:
        super().__init__(inbox, "otlp")
        self.gate, self.syncs, self.broken = threading.Event(), 0, False

    def sync(self) -> None:
        self.syncs += 1
        assert self.gate.wait(20)
        if self.broken:
            raise TransientError("input/output error")
        super().sync()


@contextmanager
def gated(home: Home) -> Iterator[tuple[str, Gated]]:
    app, spool = create_sink(home), Gated(home.inbox)
    app.state.otlp.close()
    app.state.otlp = Receiver(spool)
    with served(app) as url:
        yield url, spool


def test_nothing_is_accepted_before_it_is_on_the_disk_and_requests_share_an_fsync(home: Home) -> None:
    """Ten requests that come while the first one's fsync runs wait for one more."""
    with gated(home) as (url, spool), ThreadPoolExecutor(11) as pool:
        first = pool.submit(post, url, request("a").SerializeToString())
        while not spool.syncs:
            time.sleep(0.01)
        others = [pool.submit(post, url, request(f"b{n}").SerializeToString()) for n in range(10)]
        while len(spans(home)) < 11:
            time.sleep(0.01)
        time.sleep(0.1)
        assert not any(one.done() for one in [first, *others])
        spool.gate.set()
        assert {one.result().status_code for one in [first, *others]} == {200}
        assert spool.syncs == 2


def test_an_fsync_that_fails_is_503(home: Home) -> None:
    """The exporter sends the spans again, and ingest knows them."""
    with gated(home) as (url, spool):
        spool.gate.set()
        spool.broken = True
        assert post(url, request("a").SerializeToString()).status_code == 503
        spool.broken = False
        assert post(url, request("a").SerializeToString()).status_code == 200
    assert load(home, home.inbox).quarantined == 0
    assert rows(home, "select count(*) from spans") == [(1,)]


def test_large_requests_become_several_lines(home: Home, sink: str) -> None:
    """Of at most 500 spans, each under its resource and scope."""
    message = request(*[f"s{n}" for n in range(1201)])
    second = message.resource_spans.add()
    second.scope_spans.add().spans.extend(request("t").resource_spans[0].scope_spans[0].spans)
    assert post(sink, message.SerializeToString()).status_code == 200
    counts = [
        [len(inner["spans"]) for outer in line["resourceSpans"] for inner in outer["scopeSpans"]]  # type: ignore[arg-type]
        for line in lines(home)
    ]
    assert counts == [[500], [500], [201, 1]]


def test_no_line_is_longer_than_ingest_reads(home: Home, sink: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long ones are halved; a span that is too long by itself is refused."""
    monkeypatch.setattr(receiver, "MAX_RECORD", 2000)
    message = request(*[f"s{n}" for n in range(40)], "long")
    message.resource_spans[0].scope_spans[0].spans[40].name = "x" * 3000
    answer = ExportTraceServiceResponse.FromString(post(sink, message.SerializeToString()).content)

    assert answer.partial_success.rejected_spans == 1
    assert "at most 2000 are kept" in answer.partial_success.error_message
    assert [one["name"] for one in spans(home)] == [f"s{n}" for n in range(40)]
    assert max(len(line) for path in home.inbox.iterdir() for line in path.read_bytes().splitlines()) < 2000


@contextmanager
def process(home: Home) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`rsi serve --otlp-only` in a process of its own, and its address."""
    Deployment().write(home.deployment_file)
    command = [
        sys.executable,
        "-m",
        "rsi.cli",
        "--home",
        str(home.root),
        "serve",
        "--otlp-only",
        "--port",
        "0",
    ]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=PROJECT, stdout=pipe, stderr=pipe, text=True) as child:
        try:
            assert child.stdout is not None
            yield child, child.stdout.readline().split(otlp.PATH)[0].split(" at ")[1]
        finally:
            child.kill()


def test_kill_9_loses_nothing_that_was_accepted(home: Home) -> None:
    """Four exporters at work; every span of every 200 is found and can be ingested."""
    accepted: list[str] = []

    def send(url: str, thread: int) -> None:
        for n in range(1000):
            names = [f"{thread}{n:05d}{k}" for k in range(3)]
            try:
                answer = post(url, request(*names).SerializeToString())
            except httpx.TransportError:
                return
            if answer.status_code == 200:
                accepted.extend(names)

    with process(home) as (child, url):
        threads = [threading.Thread(target=send, args=(url, n)) for n in range(4)]
        for thread in threads:
            thread.start()
        while len(accepted) < 100:
            time.sleep(0.005)
        child.kill()
        for thread in threads:
            thread.join()

    assert len(recover(home.inbox)) == 1
    load(home, home.inbox)
    stored = {str(name) for (name,) in rows(home, "select name from spans")}
    assert set(accepted) <= stored


def test_a_signal_finishes_requests_and_closes_the_segment(home: Home) -> None:
    """Exit 0, nothing said, nothing open."""
    with process(home) as (child, url):
        assert post(url, request("a").SerializeToString()).status_code == 200
        child.send_signal(signal.SIGTERM)
        out, err = child.communicate(timeout=20)

    assert (child.returncode, out, err) == (0, "", "")
    (segment,) = home.inbox.iterdir()
    assert segment.suffix == ".ndjson"
    assert [one["name"] for one in spans(home)] == ["a"]
