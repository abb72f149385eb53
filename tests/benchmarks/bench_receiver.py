"""What our OTLP receiver takes in: accepted, stored and queryable spans a second; part of ``make bench``.

Export requests of 500 spans each (protobuf) from four connections; the server is killed right after the last 200, so
that what is counted in the end is what was accepted and nothing else. `decoding_against_library` is our decoder's time
over that of the protobuf library's message and JSON form, on the same bytes.
"""

import argparse
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import orjson
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from rsi.serve.otlp_wire import from_protobuf
from rsi.settings import Home
from rsi.store.snapshot import open_snapshot
from tests.benchmarks.spans import SPANS_A_TRACE, lines
from tests.benchmarks.tree import run

SPANS_A_REQUEST = 500
CONNECTIONS = 4


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=int, default=150_000)
    parser.add_argument("--folder", type=Path, help="where to work; a temporary folder by default")
    said = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=said.folder) as folder:
        print(json.dumps(measured(Home(Path(folder) / "home"), said.spans), indent=2))


def measured(home: Home, spans: int) -> dict[str, float]:
    """One run."""
    environment = {"RSI_HOME": str(home.root)}
    run(["-m", "rsi.cli", "init"], environment)
    bodies = list(requests(spans))
    sent = sum(len(one.resource_spans[0].scope_spans[0].spans) for one in bodies)
    texts = [one.SerializeToString() for one in bodies]
    command = [sys.executable, "-m", "rsi.cli", "serve", "--otlp-only", "--port", "0"]
    with subprocess.Popen(
        command, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        found = re.search(r"http://[^\s/]+", server.stdout.readline())
        assert found is not None
        begun = time.perf_counter()
        accept(f"{found[0]}/v1/traces", texts)
        accepted_s = time.perf_counter() - begun
        server.kill()
    run(["-m", "rsi.cli", "ingest"], environment)
    seconds = time.perf_counter() - begun
    with open_snapshot(home) as connection:
        ((stored,),) = connection.execute("select count(*) from spans").fetchall()
    held = sum(
        line.count(b'"spanId"')
        for path in home.heldout.rglob("*.ndjson")
        for line in path.read_bytes().splitlines()
    )
    return {
        "sent": sent, "stored": stored, "held_out": held, "lost": sent - stored - held,
        "accepted_a_second": sent / accepted_s, "accepted_stored_and_queryable_a_second": sent / seconds,
        "decoding_against_library": decoding(texts[0]),
    }  # fmt: skip


def accept(url: str, texts: list[bytes]) -> None:
    """Send all of it and wait for the answers."""
    with httpx.Client(timeout=60) as client, ThreadPoolExecutor(CONNECTIONS) as pool:
        headers = {"content-type": "application/x-protobuf"}
        for reply in pool.map(lambda text: client.post(url, content=text, headers=headers), texts):
            reply.raise_for_status()


def decoding(body: bytes) -> float:
    """Processor seconds of our decoder over the library's, the best of five each."""

    def seconds(read: Callable[[bytes], object]) -> float:
        began = time.process_time()
        read(body)
        return time.process_time() - began

    ours = min(seconds(from_protobuf) for _ in range(5))
    return ours / min(seconds(_library) for _ in range(5))


def _library(body: bytes) -> object:
    return MessageToDict(ExportTraceServiceRequest.FromString(body))


def requests(spans: int) -> Iterator[ExportTraceServiceRequest]:
    """The spans of `tests.benchmarks.spans` as an exporter sends them."""
    documents = (orjson.loads(line)["resourceSpans"][0] for line in lines(spans))
    found = ((one["resource"], span) for one in documents for span in one["scopeSpans"][0]["spans"])
    while batch := list(itertools.islice(found, SPANS_A_REQUEST // SPANS_A_TRACE * SPANS_A_TRACE)):
        request = ExportTraceServiceRequest()
        outer = request.resource_spans.add()
        outer.resource.attributes.extend(_pairs(batch[0][0]["attributes"]))
        inner = outer.scope_spans.add()
        inner.scope.name = "opentelemetry.instrumentation.openai_v2"
        inner.spans.extend(_span(span) for _, span in batch)
        yield request


def _span(span: dict[str, object]) -> Span:
    return Span(
        trace_id=bytes.fromhex(str(span["traceId"])),
        span_id=bytes.fromhex(str(span["spanId"])),
        parent_span_id=bytes.fromhex(str(span.get("parentSpanId", ""))),
        name=str(span["name"]),
        kind=int(str(span["kind"])),  # type: ignore[arg-type]
        start_time_unix_nano=int(str(span["startTimeUnixNano"])),
        end_time_unix_nano=int(str(span["endTimeUnixNano"])),
        attributes=_pairs(span["attributes"]),
        status=Status(code=span["status"].get("code", 0)),  # type: ignore[attr-defined]
    )


def _pairs(attributes: object) -> list[KeyValue]:
    return [KeyValue(key=one["key"], value=_value(one["value"])) for one in attributes]  # type: ignore[attr-defined]


def _value(value: dict[str, object]) -> AnyValue:
    ((kind, inner),) = value.items()
    if kind == "intValue":
        return AnyValue(int_value=int(str(inner)))
    if kind == "doubleValue":
        return AnyValue(double_value=float(str(inner)))
    if kind == "arrayValue":
        return AnyValue(array_value=ArrayValue(values=[_value(one) for one in inner["values"]]))  # type: ignore[index]
    return AnyValue(string_value=str(inner))


if __name__ == "__main__":
    main()
