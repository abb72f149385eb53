"""Held-out conversations of the deployment's own traffic, read for a person who labels them."""

from pathlib import Path

import orjson

from rsi.gate.aside import aside
from rsi.intake import Splits, Traces
from rsi.records import Origin, Split
from rsi.settings import Deployment, Home
from rsi.traces.label import Label, label
from tests.traces.inputs import CLOCK, chat, load, rows, write_lines

HELD = Deployment(split=Splits(dev=0, gate=0.99, vault=0))


def ingested(home: Home, folder: Path, *records: object, deployment: Deployment = HELD) -> Home:
    """A home whose key holds nearly everything out."""
    home.root.mkdir(parents=True, exist_ok=True)
    (home.root / "key").write_bytes(b"0" * 64)
    load(home, write_lines(folder / "logs.jsonl", records), deployment=deployment)
    return home


def test_the_request_alone_is_what_a_route_is_asked(home, tmp_path):
    """With what a person said would have been right, or that it was right as it went."""
    said = [
        chat("book a taxi", id="a", scores=[{"name": "route", "value": 0, "correction": "L1", "source": "human"}]),
        chat("a regex", id="b", scores=[{"name": "route", "value": 0, "correction": "L3", "source": "model"}]),
        chat("hello there", id="c"),
    ]
    found = aside(ingested(home, tmp_path, *said), CLOCK, HELD, "route").items

    assert {one.request: one.said for one in found} == {"book a taxi": "L1", "a regex": "", "hello there": ""}
    assert {one.split for one in found} == {Split.GATE}
    assert {one.answered for one in found} == {"about book a taxi", "about a regex", "about hello there"}
    assert rows(home, "select count(*) from traces") == [(0,)], "the tables of the loop hold none of it"


def test_sides_are_those_of_the_place_and_conversations_are_clusters(home, tmp_path):
    """What one session holds stands or falls together."""
    halves = Deployment(split=Splits(dev=0, gate=0.5, vault=0.49))
    said = [chat(f"question {n} of session {n % 7}", id=f"q{n}", session=f"s{n % 7}") for n in range(28)]

    found = aside(ingested(home, tmp_path, *said, deployment=halves), CLOCK, halves, "route").items

    by_session = {one.request.split()[-1]: (one.split, one.cluster) for one in found}
    assert {one.split for one in found} == {Split.GATE, Split.VAULT}
    assert all(by_session[one.request.split()[-1]] == (one.split, one.cluster) for one in found)
    assert len({one.cluster for one in found}) == len(by_session)


def test_a_later_label_counts_though_the_trace_is_held_out(home, tmp_path):
    """`rsi traces label` by the whole id reaches it."""
    ingested(home, tmp_path, chat("plot my sales", id="a"))
    HELD.write(home.deployment_file)
    (one,) = aside(home, CLOCK, HELD, "route").items

    label(home, CLOCK, one.item_id, Label("ada", "route", correction="L3"), HELD)

    assert [again.said for again in aside(home, CLOCK, HELD, "route").items] == ["L3"]


def test_an_answer_is_asked_with_the_turns_before_it(home, tmp_path):
    """The last answer is what is judged; runs with tools and requests without words are counted, not asked."""
    turns = [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": "capital of France?"},
        {"role": "assistant", "content": "Paris."},
        {"role": "user", "content": "and of Spain?"},
        {"role": "assistant", "content": "Lisbon."},
    ]
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    tools = [
        {"role": "user", "content": "how warm is it"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "21"},
        {"role": "assistant", "content": "21 degrees"},
    ]
    said = [
        {
            "messages": turns,
            "id": "a",
            "scores": [{"name": "feedback", "value": 0, "correction": "Madrid", "source": "human"}],
        },
        {"messages": tools, "id": "b"},
        chat(" ", id="c"),
        chat("the same", id="d", session="one"),
        chat("the same", id="e", session="two"),
    ]

    found = aside(ingested(home, tmp_path, *said), CLOCK, HELD, "answer")

    (long,) = [one for one in found.items if len(one.asked) > 1]
    assert [(turn.role, turn.content) for turn in long.asked] == [(one["role"], one["content"]) for one in turns[:4]]
    assert (long.answered, long.said) == ("Lisbon.", "Madrid")
    assert (found.doubled, found.with_tools, found.wordless) == (1, 1, 1)


def test_only_the_traffic_of_the_deployment_is_offered(home, tmp_path):
    """Rollouts, probes and the gate's own calls are no requests of users."""
    ingested(home, tmp_path)
    for origin in (Origin.TRAFFIC, Origin.ROLLOUT, Origin.GATE):
        record = {**chat(f"by {origin.value}", id=origin.value)}
        load(home, write_lines(tmp_path / f"{origin.value}.jsonl", [record]), deployment=HELD, origin=origin)

    traffic = aside(home, CLOCK, HELD, "route").items
    rollouts = HELD.model_copy(update={"traces": Traces(origins=(Origin.ROLLOUT,))})

    assert [one.request for one in traffic] == ["by traffic"]
    assert [one.request for one in aside(home, CLOCK, rollouts, "route").items] == ["by rollout"]


def test_what_was_redacted_stays_so(home, tmp_path):
    """Held-out text is read as it is kept: with pseudonyms."""
    secret = "ada@example.com"
    found = aside(ingested(home, tmp_path, chat(f"write to {secret}", id="a")), CLOCK, HELD, "route").items

    assert secret not in orjson.dumps([one._asdict() for one in found], default=str).decode()
    assert found[0].request.startswith("write to <")
