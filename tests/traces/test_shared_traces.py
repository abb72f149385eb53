"""The readers on real and derived files that other projects made."""

import gzip
from collections import Counter
from pathlib import Path

import orjson
import pytest

from rsi.intake import Redaction
from rsi.settings import Home
from rsi.store.files import write_whole
from tests.traces.inputs import ALL_TRAIN, SHARED, load, rows

pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason=f"no shared trace files at {SHARED}")
TAU = SHARED / "tau_bench" / "gpt-4o-airline.trials01.json"
TAU6 = SHARED / "derived_tau6"
COUNTS = """
select
    native_id,
    (select count(*) from messages m where m.trace_uid = t.trace_uid),
    (select count(*) from v_llm_calls s where s.trace_uid = t.trace_uid),
    (select count(*) from tool_calls c where c.trace_uid = t.trace_uid),
    (select count(*) from tool_calls c where c.trace_uid = t.trace_uid and c.status = 'error')
from traces t
order by native_id
"""


def expected() -> list[dict[str, object]]:
    found: list[dict[str, object]] = orjson.loads((TAU6 / "EXPECTED.json").read_bytes())
    return sorted(found, key=lambda one: str(one["trace_id"]))


def counts() -> list[tuple[object, ...]]:
    """What a reader of model calls must find.

    The last word of the user comes after the last call of the model, so that no span or request holds it: one
    message less than the run has.
    """
    return [
        (one["trace_id"], int(str(one["n_messages"])) - 1, one["n_llm_calls"], one["n_tool_calls"],
         one["n_tool_errors"])
        for one in expected()
    ]  # fmt: skip


def test_six_runs_as_otlp_spans(home: Home) -> None:
    """Two batches a trace, out of order: messages once, calls with results, rewards from another file."""
    totals = load(home, TAU6 / "otlp_genai.spans.jsonl.zst", TAU6 / "otlp_genai.evaluation_events.json")
    assert (totals.read, totals.loaded) == (12 + 6, 12 + 6)
    assert rows(home, COUNTS) == counts()
    assert rows(home, "select count(*) from tool_calls where status = 'no_result'") == [(0,)]
    assert rows(
        home, "select native_id, value, outcome from v_outcomes join traces using (trace_uid) order by 1"
    ) == [(one["trace_id"], one["reward"], "pass" if one["reward"] == 1 else "fail") for one in expected()]
    assert rows(home, "select conversation from traces order by native_id") == [
        (f"conv-{one['task_id']}-{one['trial']}",) for one in expected()
    ]
    assert rows(home, "select count(*) from traces where parts <> 2 or agent <> 'airline_agent'") == [(0,)]


def test_six_runs_as_a_log_of_requests(home: Home) -> None:
    """One request a line, each with the whole history: the same counts.

    One run ends with a call whose result no later request repeats.
    """
    assert load(home, TAU6 / "flywheel_chat_log.jsonl.gz").loaded == 43
    assert rows(home, COUNTS) == counts()
    assert rows(home, "select name from tool_calls where status = 'no_result'") == [
        ("transfer_to_human_agents",)
    ]


def test_six_runs_say_the_same_in_both(home: Home, tmp_path: Path) -> None:
    """Role by role, text by text."""
    load(home, TAU6 / "otlp_genai.spans.jsonl.zst")
    other = Home(tmp_path / "other")
    # Pseudonyms are made with the deployment's key.
    write_whole(other.root / "key", home.key())
    load(other, TAU6 / "flywheel_chat_log.jsonl.gz")
    question = (
        "select native_id, seq, role, content from messages join traces using (trace_uid) "
        "order by native_id, seq"
    )
    assert rows(home, question) == rows(other, question)


def test_a_hundred_recorded_runs(home: Home) -> None:
    """All of them, with every message, call, result, error and reward, counted independently."""
    runs = orjson.loads(TAU.read_bytes())
    totals = load(home, TAU)
    assert (totals.read, totals.loaded) == (100, 100)
    calls = [call for run in runs for message in run["traj"] for call in message.get("tool_calls") or []]
    results = [message for run in runs for message in run["traj"] if message["role"] == "tool"]
    errors = [result for result in results if result["content"].startswith("Error")]
    assert rows(home, "select count(*) from messages") == [(sum(len(run["traj"]) for run in runs),)]
    assert dict(rows(home, "select name, count(*) from tool_calls group by all")) == Counter(
        call["function"]["name"] for call in calls
    )
    assert rows(home, "select count(*) from tool_calls where status = 'error'") == [(len(errors),)]
    assert rows(home, "select count(*) from tool_calls where arguments is null or result is null") == [(0,)]
    assert dict(rows(home, "select outcome, count(*) from v_outcomes group by all")) == {
        "pass": 43,
        "fail": 57,
    }
    assert rows(home, "select count(*), count(distinct task_id) from traces where expected is not null") == [
        (100, 50)
    ]


def test_each_result_is_that_of_its_call(home: Home) -> None:
    """Recorded ids repeat within a run; a result stands directly behind its call there."""
    load(home, TAU, deployment=ALL_TRAIN.model_copy(update={"redaction": Redaction(enabled=False)}))
    runs = orjson.loads(TAU.read_bytes())
    wanted = []
    for run in runs:
        for message, behind in zip(run["traj"], run["traj"][1:], strict=False):
            for call in message.get("tool_calls") or []:
                wanted.append(
                    (str(run["task_id"]), run["trial"], call["function"]["name"], behind["content"])
                )
    found = rows(home, "select task_id, trial, name, result from v_tool_calls order by task_id, trial, seq")
    assert sorted(map(str, found)) == sorted(map(str, wanted))


@pytest.mark.parametrize(
    ("name", "loaded", "reasons"),
    [
        ("01_truncated_last_line.jsonl", 2, {"cut_line": 1}),
        ("03_bom_crlf.jsonl", 2, {}),
        ("05_nul.jsonl", 2, {}),
        ("07_duplicate_and_case_keys.jsonl", 0, {"unknown_format": 2}),
        ("09_truncated.jsonl.gz", 87, {"cut_line": 1, "cut_stream": 1}),
        ("11_concatenated_pretty.json", 2, {}),
        ("13_truncated_attribute_json.json", 1, {}),
        ("15_deep_nesting.jsonl", 1, {"too_deep": 1}),
        ("17_streaming_snapshots.jsonl", 4, {}),
        ("19_empty.jsonl", 0, {}),
    ],
)
def test_hostile_files(home: Home, name: str, loaded: int, reasons: dict[str, int]) -> None:
    """What can be read is, the rest is refused with its reason."""
    totals = load(home, SHARED / "hostile" / name)
    assert totals.loaded == loaded
    assert dict(rows(home, "select reason, count(*) from quarantine group by all")) == reasons


def test_thumbs(home: Home) -> None:
    """A set of conversations with a label each: half good, half bad."""
    load(home, SHARED / "sharegpt" / "llamafactory.kto_en_demo.json")
    assert dict(rows(home, "select outcome, count(*) from v_outcomes group by all")) == {
        "pass": 150,
        "fail": 150,
    }


def test_everything_at_once(home: Home) -> None:
    """The whole pool of foreign files: nothing stops, nothing breaks a reader, the counts add up."""
    totals = load(home, SHARED)
    assert len(totals.files) > 80
    assert totals.read == totals.loaded + totals.duplicates + totals.quarantined
    assert totals.loaded > 600
    assert rows(home, "select * from quarantine where reason in ('reader_failed', 'unreadable')") == []
    assert rows(home, "select count(*) - count(distinct trace_uid) from traces") == [(0,)]
    for table, key in (("spans", "span_uid"), ("messages", "message_uid"), ("scores", "score_uid")):
        assert rows(home, f"select count(*) - count(distinct {key}) from {table}") == [(0,)]
    with gzip.open(TAU6 / "flywheel_chat_log.jsonl.gz") as file:
        assert sum(1 for _ in file) == 43
