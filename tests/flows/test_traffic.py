"""The demo's labelled requests: a fair sample, and the rest as a log."""

from collections import Counter
from pathlib import Path

import orjson
import pytest

from flows.replay import Replay
from flows.traffic import Request, past_log, read, sample
from rsi.errors import ContractError
from rsi.records import Origin
from rsi.traces.decode import decode_record
from rsi.traces.formats import chat
from rsi.traces.rows import Place, Rows

LABELS = ("L0", "L1", "L2", "L3")
REQUESTS = tuple(
    Request(id=f"{label}-{at}", label=label, hard=at % 2 == 0, source="own", text=f"request {at} for {label}")
    for label in LABELS
    for at in range(12 if label != "L3" else 3)
)


def test_a_sample_has_as_many_of_each_label_as_there_are() -> None:
    """Labels differ by one at most, until one runs out."""
    counts = Counter(one.label for one in sample(REQUESTS, 10))
    assert sorted(counts.values()) == [2, 2, 3, 3]
    assert Counter(one.label for one in sample(REQUESTS, 30)) == {"L0": 9, "L1": 9, "L2": 9, "L3": 3}


def test_a_sample_is_the_same_for_the_same_seed_whatever_the_order() -> None:
    """The second replay asks what the first did."""
    assert sample(REQUESTS, 20) == sample(tuple(reversed(REQUESTS)), 20)
    assert sample(REQUESTS, 20, seed=1) != sample(REQUESTS, 20, seed=2)


def test_past_traces_carry_the_label_as_a_correction_and_no_route() -> None:
    """A log of a time before there was a router."""
    line = past_log(REQUESTS[:1]).splitlines()[0]
    found = [
        one
        for one in chat.read(decode_record(line), Place("demo", Origin.DEMO, "f", 1, 0))
        if isinstance(one, Rows)
    ]
    assert len(found) == 1
    assert found[0].trace is not None
    assert (found[0].trace.route, found[0].trace.origin) == (None, Origin.DEMO)
    assert [(one.name, one.value, one.correction, one.source) for one in found[0].scores] == [
        ("route", None, "L0", "label")
    ]


def test_a_line_that_is_no_request_is_named(tmp_path: Path) -> None:
    """File and line, and what is wrong."""
    path = tmp_path / "traffic.jsonl"
    path.write_bytes(orjson.dumps(REQUESTS[0].model_dump()) + b"\n" + b'{"id": "x"}\n')
    with pytest.raises(ContractError, match=r"traffic\.jsonl line 2"):
        read(path)


def test_accuracy_counts_what_was_routed_to_its_label() -> None:
    """By label, and over all."""
    asked = REQUESTS[:4]
    found = Replay(
        version="v", seconds=1.0, routed={one.id: "L0" if at else "L2" for at, one in enumerate(asked)}
    )
    assert found.accuracy(asked) == 0.75
    assert found.right(asked) == {"L0": (3, 4)}
