"""What discover says of 100 recorded airline runs, against a count made another way."""

import itertools
from collections import Counter

import orjson
import pytest

from rsi.discover.actions import deciding_tools
from rsi.discover.facts import read_facts
from rsi.discover.modes import Before, discover
from rsi.records import Modes, ModeStatus, Origin
from rsi.settings import Home
from rsi.store.database import store_batch
from tests.traces.inputs import CLOCK, SHARED, load

TAU = SHARED / "tau_bench" / "gpt-4o-airline.trials01.json"
pytestmark = pytest.mark.skipif(not TAU.is_file(), reason=f"no shared trace file at {TAU}")
WRITERS = {
    "book_reservation",
    "cancel_reservation",
    "send_certificate",
    "update_reservation_baggages",
    "update_reservation_flights",
    "update_reservation_passengers",
}
"""Tools of the airline that change its database, from its documentation."""

Call = tuple[str, str, str]


@pytest.fixture
def modes(home: Home) -> Modes:
    """The modes of the runs."""
    load(home, TAU)
    with store_batch(home, CLOCK, "test") as connection:
        return discover(connection, [Origin.TRAFFIC], Before("2026-01-01", "v", 1)).modes


def runs() -> list[dict[str, object]]:
    found: list[dict[str, object]] = orjson.loads(TAU.read_bytes())
    return found


def calls(run: dict[str, object]) -> list[Call]:
    """(tool, arguments as sorted JSON, result): the result stands behind the call."""
    trajectory: list[dict[str, object]] = run["traj"]  # type: ignore[assignment]
    return [
        (
            call["function"]["name"],
            orjson.dumps(orjson.loads(call["function"]["arguments"]), option=orjson.OPT_SORT_KEYS).decode(),
            str(behind["content"]),
        )
        for message, behind in itertools.pairwise(trajectory)
        for call in message.get("tool_calls") or []  # type: ignore[union-attr]
    ]


def wanted(run: dict[str, object]) -> list[tuple[str, str]]:
    task = run["info"]["task"]  # type: ignore[index]
    return [
        (one["name"], orjson.dumps(one["kwargs"], option=orjson.OPT_SORT_KEYS).decode())
        for one in task["actions"]
    ]


def by_signature(modes: Modes) -> dict[str, tuple[int, int]]:
    return {mode.signature: (mode.count, mode.opportunities) for mode in modes.modes}


def test_the_tools_that_decide_are_the_writing_ones(home: Home) -> None:
    """Learnt from the runs alone."""
    load(home, TAU)
    with store_batch(home, CLOCK, "test") as connection:
        found = deciding_tools(list(read_facts(connection, [Origin.TRAFFIC], 1)))
    assert found == WRITERS


def test_actions_that_failed(modes: Modes) -> None:
    """For each writing tool, runs in which it was left out, done without need, or done otherwise.

    Counted here by multisets: equal calls cancel out; of the rest as many as possible were meant for another.
    """
    missing, unexpected, otherwise = Counter[str](), Counter[str](), Counter[str]()
    expecting, calling = Counter[str](), Counter[str]()
    for run in runs():
        done = Counter(
            (tool, arguments) for tool, arguments, result in calls(run) if not result.startswith("Error")
        )
        want = Counter(wanted(run))
        expecting.update({tool for tool, _ in want})
        calling.update({tool for tool, _ in done})
        if run["reward"] == 1.0:
            continue
        for tool in WRITERS:
            left = sum(n for (name, _), n in (want - done).items() if name == tool)
            extra = sum(n for (name, _), n in (done - want).items() if name == tool)
            missing[tool] += left > extra
            unexpected[tool] += extra > left
            otherwise[tool] += min(left, extra) > 0
    found = by_signature(modes)
    for tool in WRITERS:
        assert found.get(f"missing_action:{tool}", (0, 0))[0] == missing[tool]
        assert found.get(f"unexpected_action:{tool}", (0, 0))[0] == unexpected[tool]
        wrong = {
            signature: pair for signature, pair in found.items() if f"wrong_arguments:{tool}:" in signature
        }
        assert max((count for count, _ in wrong.values()), default=0) <= otherwise[tool]
        assert sum(count for count, _ in wrong.values()) >= otherwise[tool]
        assert {chances for _, chances in wrong.values()} <= {expecting[tool]}
    assert found["missing_action:update_reservation_baggages"] == (
        7,
        expecting["update_reservation_baggages"],
    )
    assert found["unexpected_action:cancel_reservation"] == (11, calling["cancel_reservation"])
    assert not any(
        signature.split(":")[1] not in WRITERS
        for signature in found
        if signature.startswith(("missing_action", "unexpected", "wrong"))
    )


def test_wrong_payment_of_bookings(modes: Modes) -> None:
    """The most frequent wrong argument: six of fourteen bookings were paid otherwise than expected."""
    wrong = 0
    for run in runs():
        want = [orjson.loads(arguments) for tool, arguments in wanted(run) if tool == "book_reservation"]
        done = [orjson.loads(arguments) for tool, arguments, result in calls(run)
                if tool == "book_reservation" and not result.startswith("Error")]  # fmt: skip
        if want and done and run["reward"] == 0.0:
            assert len(want) == 1
            wrong += all(one["payment_methods"] != want[0]["payment_methods"] for one in done)
    assert by_signature(modes)["wrong_arguments:book_reservation:payment_methods"] == (wrong, 14)
    assert wrong == 6


def test_errors_of_tools(modes: Modes) -> None:
    """By tool, and what they said: traces that saw each, of those that called the tool."""
    traces: dict[str, set[int]] = {}
    called: Counter[str] = Counter()
    for number, run in enumerate(runs()):
        called.update({tool for tool, _, _ in calls(run)})
        for tool, _, result in calls(run):
            if "does not add up" in result:
                traces.setdefault("payment", set()).add(number)
            if result.startswith("Error: not enough seats") and tool == "update_reservation_flights":
                traces.setdefault("seats", set()).add(number)
    found = by_signature(modes)
    payment = found["tool_error:book_reservation:payment amount does not add up"]
    assert payment == (len(traces["payment"]), called["book_reservation"])
    seats = found["tool_error:update_reservation_flights:not enough seats on flight #"]
    assert seats == (len(traces["seats"]), called["update_reservation_flights"])
    assert sum(signature.startswith("tool_error:") for signature in found) == 8


def test_every_failed_run_is_explained_or_said_to_be_unexplained(modes: Modes) -> None:
    """57 runs failed; at most a few of them for no reason that shows."""
    assert modes.traces == 100
    assert modes.failures >= 57
    found = by_signature(modes)
    unexplained = [pair for signature, pair in found.items() if signature.startswith("outcome:reward")]
    assert 0 < sum(count for count, _ in unexplained) <= 3
    with_words = [run for run in runs() if run["info"]["task"]["outputs"]]  # type: ignore[index]
    assert found["missing_output:words"] == (6, len(with_words))


def test_the_first_of_them_is_what_an_analyst_would_say_first(modes: Modes) -> None:
    """Cancelling what must not be cancelled; errors that runs recovered from come last."""
    first, last = modes.modes[0], modes.modes[-1]
    assert first.title == "calls cancel_reservation though the task does not need it"
    assert first.status is ModeStatus.NEW
    assert len(first.examples) == 5
    assert last.priority == 0.0
    assert last.kind == "tool_error"
