"""What the trace tests share: a clock that stands still, deployments, files, and questions to the store."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import orjson

from rsi.intake import Splits
from rsi.records import Origin
from rsi.settings import Deployment, Home
from rsi.store.database import store_batch
from rsi.traces.ingest import Totals, ingest

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "data" / "traces"
SHARED = ROOT.parent / "shared" / "data" / "traces"
ALL_TRAIN = Deployment(split=Splits(dev=0, gate=0, vault=0))


@dataclass(frozen=True)
class StillClock:
    """Always the same moment."""

    moment: datetime = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

    def now(self) -> datetime:
        return self.moment


CLOCK = StillClock()


def load(
    home: Home, *paths: Path, deployment: Deployment = ALL_TRAIN, origin: Origin | None = None
) -> Totals:
    """Ingest with everything in train, unless said otherwise."""
    return ingest(home, CLOCK, list(paths), origin=origin, deployment=deployment)


def rows(home: Home, sql: str) -> list[tuple[object, ...]]:
    """What the store answers."""
    with store_batch(home, CLOCK, "test") as connection:
        return connection.execute(sql).fetchall()


def write_lines(path: Path, records: Sequence[object]) -> Path:
    """An NDJSON file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))
    return path


def chat(text: str, **more: object) -> dict[str, object]:
    """A small chat record."""
    messages = [{"role": "user", "content": text}, {"role": "assistant", "content": f"about {text}"}]
    return {"messages": messages, **more}


def request(number: int, **more: object) -> dict[str, object]:
    """A line of the gateway's spool."""
    return {
        "schema": "rsi.trace/1",
        "trace_id": f"{number:032x}",
        "namespace": "default",
        "origin": "traffic",
        "version": "v1",
        "session": None,
        "start_ns": 1_700_000_000_000_000_000 + number,
        "end_ns": 1_700_000_001_000_000_000 + number,
        "messages": [{"role": "user", "content": f"request {number}"}],
        "answer": {"content": "an answer", "finish_reason": "stop"},
        "error": None,
        "route": {"role": "L0", "label": "chat", "logprobs": {"chat": -0.1}, "ms": 2.0},
        "model": "base",
        "usage": {"prompt_tokens": 3, "completion_tokens": 2},
        **more,
    }


def correction(number: int, role: str, **more: object) -> dict[str, object]:
    """Feedback that names the right route of a request."""
    return {
        "schema": "rsi.feedback/1",
        "feedback_id": f"feedback-{number}",
        "namespace": "default",
        "trace_id": f"{number:032x}",
        "name": "route",
        "score": None,
        "correction": role,
        "source": "label",
        "comment": None,
        "ts_ns": 1_700_000_002_000_000_000,
        **more,
    }
