"""Labels by people."""

from datetime import timedelta

import orjson
import pytest

from rsi.errors import ContractError
from rsi.intake import Splits
from rsi.settings import Deployment, Home
from rsi.traces.label import Label, label
from tests.traces.inputs import ALL_TRAIN, CLOCK, StillClock, load, request, rows, write_lines


@pytest.fixture
def labelled(home: Home, tmp_path) -> Home:
    """A home with two requests."""
    load(home, write_lines(tmp_path / "a.jsonl", [request(1), request(2)]))
    return home


def uids(home: Home) -> list[str]:
    return [str(uid) for (uid,) in rows(home, "select trace_uid from traces order by start_ns")]


def later(seconds: int) -> StillClock:
    return StillClock(CLOCK.moment + timedelta(seconds=seconds))


def test_a_label_is_a_score_with_name_reason_and_person(labelled: Home) -> None:
    """Of the trace that was meant, which its outcome follows."""
    uid, other = uids(labelled)

    made = label(labelled, CLOCK, uid[:10], Label("ada", value=0.0, reason="too long"), ALL_TRAIN)

    assert made.trace_uid == uid
    assert rows(labelled, "select trace_uid, name, value, source, annotator, comment, ts_ns from scores") == [
        (uid, "feedback", 0.0, "human", "ada", "too long", int(CLOCK.moment.timestamp() * 1e9))
    ]
    assert rows(labelled, f"select outcome, rule from outcomes where trace_uid = '{uid}'") == [
        ("fail", "feedback score")
    ]
    assert rows(labelled, f"select outcome from outcomes where trace_uid = '{other}'") == [("unknown",)]


def test_a_label_survives_as_raw_input(labelled: Home, tmp_path) -> None:
    """One finished segment for each; ingested into another home it says the same."""
    uid, _ = uids(labelled)
    made = label(labelled, CLOCK, uid, Label("ada", "route", correction="L2"), ALL_TRAIN)

    (line,) = made.segment.read_bytes().splitlines()
    assert orjson.loads(line)["trace_uid"] == uid
    assert list(labelled.inbox.glob("*")) == [made.segment]
    again = Home(tmp_path / "again")
    load(again, made.segment)
    assert rows(again, "select trace_uid, name, correction, annotator from scores") == [
        (uid, "route", "L2", "ada")
    ]


def test_who_labels_again_takes_back_the_first_label(labelled: Home) -> None:
    """In the outcome; both stay in the table. Another person's label stands beside it."""
    uid, _ = uids(labelled)
    asked = f"select outcome from outcomes where trace_uid = '{uid}'"

    label(labelled, later(0), uid, Label("ada", value=0.0), ALL_TRAIN)
    assert rows(labelled, asked) == [("fail",)]
    label(labelled, later(1), uid, Label("ada", value=1.0), ALL_TRAIN)
    assert rows(labelled, asked) == [("pass",)]
    label(labelled, later(2), uid, Label("bob", value=0.0), ALL_TRAIN)
    assert rows(labelled, asked) == [("fail",)]
    assert rows(labelled, "select count(*) from scores") == [(3,)]


@pytest.mark.parametrize("trace", ["", "0123456789abcdef", "%"])
def test_an_unknown_trace_is_refused(labelled: Home, trace: str) -> None:
    """Nothing is left in the inbox."""
    with pytest.raises(ContractError, match="names no trace"):
        label(labelled, CLOCK, trace, Label("ada", value=1.0), ALL_TRAIN)
    assert not labelled.inbox.exists()


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (Label("ada"), "says nothing"),
        (Label(" ", value=1.0), "who says it"),
        (Label("ada", "", value=1.0), "what is judged"),
        (Label("ada", value=1.5), "expected 0"),
        (Label("ada", value=float("nan")), "expected 0"),
    ],
)
def test_a_label_that_says_nothing_is_refused(labelled: Home, said: Label, why: str) -> None:
    """Or nothing that a score can say."""
    with pytest.raises(ContractError, match=why):
        label(labelled, CLOCK, uids(labelled)[0], said, ALL_TRAIN)
    assert not labelled.inbox.exists()


def test_a_label_of_a_held_out_trace_is_held_out(home: Home, tmp_path) -> None:
    """It follows its trace to the gate, and never shows in the tables."""
    held = Deployment(split=Splits(dev=0, gate=0.9, vault=0))
    load(home, write_lines(tmp_path / "a.jsonl", [request(number) for number in range(20)]), deployment=held)
    uid = str(rows(home, "select trace_uid from trace_sides where split in ('gate', 'vault')")[0][0])

    label(home, CLOCK, uid, Label("ada", value=1.0), held)

    assert rows(home, "select count(*) from scores") == [(0,)]
    assert any(b'"annotator":"ada"' in path.read_bytes() for path in home.heldout.rglob("*.ndjson"))
