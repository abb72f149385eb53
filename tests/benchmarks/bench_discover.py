"""What mining failure modes costs, in time and memory: ``make bench``.

100,000 traces of a booking agent (three calls or two, eight messages of a few hundred characters, a reward, what was
expected), of which 10% fail, 4% of all by one planted cause, lie in a store; then `rsi discover` looks at them twice:
the first night, and a second one after one more batch. Bounds: five minutes and 4 GiB a night, on two cores.
"""

import argparse
import json
import random
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pyarrow as pa

from rsi.discover.facts import TraceFacts
from rsi.ports import SystemClock
from rsi.records import Modes
from rsi.settings import Home
from rsi.store.database import store_batch
from rsi.traces.rows import Message
from rsi.traces.said import said, thought
from tests.benchmarks.tree import Cost, run
from tests.discover.planted import PLANTED, traffic

SECONDS, MEGABYTES = 300.0, 4096.0
_BLOCK = 10_000
_ASKS = (
    "I would like to fly to {city} next week, together with {n} friends, as cheaply as you can",
    "please book me {n} seats to {city}, window if possible, and tell me what the bags cost",
    "my meeting in {city} was moved; get me there in the morning and back on the same day, for {n}",
    "can you find a flight to {city} for a family of {n} that does not leave before noon",
)
_FILLER = "The agent looks at connections, fares and rules of the airline, and says what it found. " * 3


def main() -> None:
    """Measure and print; exit 1 where a bound is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="where to work; a temporary folder by default")
    said = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=said.folder) as folder:
        home = Home(Path(folder) / "home")
        run(["-m", "rsi.cli", "init"], {"RSI_HOME": str(home.root)})
        _fill(home, 1, traffic("v1", said.traces, 0.04))
        first = _night(home, "2026-01-01", "first night")
        _fill(home, 2, traffic("v2", said.traces // 10, 0.0, seed=2))
        second = _night(home, "2026-01-02", "second night")
        if any(cost.seconds > SECONDS or cost.peak_mb > MEGABYTES for cost in (first, second)):
            raise SystemExit(1)


def _night(home: Home, night: str, name: str) -> Cost:
    """Look at the traces, and say at once what it took."""
    cost = run(["-m", "rsi.cli", "discover", "--night", night, "--json"], {"RSI_HOME": str(home.root)})
    modes = Modes.parse((home.modes / f"{json.loads(cost.output)['output']}.json").read_bytes())
    planted = next(one for one in modes.modes if one.signature == PLANTED)
    print(
        f"{name}: {modes.traces} traces, {modes.failures} with a sign of failure, {len(modes.modes)} modes; "
        f"planted: rank {planted.rank}, {planted.status.value}, {planted.count} of {planted.opportunities}; "
        f"{cost.seconds:.1f} s (bound {SECONDS:.0f}), peak {cost.peak_mb:.0f} MB (bound {MEGABYTES:.0f})",
        flush=True,
    )
    return cost


def _fill(home: Home, batch: int, traces: Iterator[TraceFacts]) -> None:
    place = {"ordinal": batch, "file_id": "made", "line": 1, "byte_offset": 0}
    draw = random.Random(batch)
    with store_batch(home, SystemClock(), "bench") as connection:
        connection.execute("insert into batches values (?, ?, 1)", [batch, datetime(2026, 1, batch)])
        block: dict[str, list[dict[str, object]]] = {}
        for number, facts in enumerate(traces, 1):
            for table, row in _rows(facts, draw):
                block.setdefault(table, []).append({**row, **place})
            if number % _BLOCK == 0:
                _insert(connection, block)
        _insert(connection, block)


def _insert(connection, block: dict[str, list[dict[str, object]]]) -> None:  # type: ignore[no-untyped-def]
    for table, rows in block.items():
        connection.register("made_rows", pa.Table.from_pylist(rows))
        connection.execute(f"insert into {table} by name select * from made_rows")
        connection.unregister("made_rows")
    block.clear()


def _rows(facts: TraceFacts, draw: random.Random) -> Iterator[tuple[str, dict[str, object]]]:
    uid, at = facts.trace_uid, 1_780_000_000_000_000_000 + (facts.start_ns or 0) * 1_000_000_000
    city = json.loads(facts.calls[-1].arguments or "{}")["city"]
    asked = draw.choice(_ASKS).format(city=city, n=draw.randrange(1, 9))
    yield "trace_parts", {
        "part_uid": uid, "trace_uid": uid, "namespace": "bench", "format": "made", "native_id": uid, "agent": "booking",
        "version": facts.version, "origin": "traffic", "start_ns": at, "end_ns": at + draw.randrange(5, 60) * 10**9,
        "time_state": "exact", "input_text": asked, "output_text": "booked", "error": facts.error,
        "expected": facts.expected, "split": "train",
    }  # fmt: skip
    for seq in range(8):
        text, role = asked if seq == 0 else _FILLER, "assistant" if seq % 2 else "user"
        message = Message(f"{uid} m{seq}", uid, 0, seq, role, None, text, "full", None, None)
        rank = {"said": said(message), "thought": thought(message)}
        yield "message_parts", {"part_uid": f"{uid} m{seq}", **message._asdict(), **rank}
    for seq, call in enumerate(facts.calls):
        yield "tool_call_parts", {
            "part_uid": f"{uid} c{seq}", "call_uid": f"{uid} c{seq}", "trace_uid": uid, "at_ns": 0, "seq": seq,
            "name": call.name, "requestor": "assistant", "arguments": call.arguments, "arguments_state": "object",
            "result": call.error or "ok", "status": call.status,
        }  # fmt: skip
    for score in facts.scores:
        yield "scores", {
            "score_uid": f"{uid} {score.name}", "trace_uid": uid, "name": score.name, "value": score.value,
            "source": "program", "basis": "r_actions", "ts_ns": at,
        }  # fmt: skip


if __name__ == "__main__":
    main()
