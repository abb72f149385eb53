"""Modes: grouped, counted, ranked, with a history."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi.discover.facts import TraceFacts
from rsi.discover.kept import store_modes
from rsi.discover.modes import Before, Mined, discover
from rsi.discover.tally import mode_id
from rsi.records import FailureMode, Modes, ModeStatus, Origin
from rsi.settings import Home
from rsi.statistics.intervals import wilson
from rsi.store.database import last_ordinal, store_batch
from tests.discover.facts_made import call, facts, modes_of, routed
from tests.traces.inputs import CLOCK, correction, load, request, rows, write_lines

OLD, NEW = "old", "new"


def traffic(version: str, right: int, wrong: int) -> list[TraceFacts]:
    """Code requests, some of them sent to chat."""
    return [
        routed(
            f"{version}-{number}",
            "L2",
            "L0" if number < wrong else "L2",
            version=version,
            start_ns=number + 1,
        )
        for number in range(right + wrong)
    ]


def only(modes: Modes) -> FailureMode:
    (mode,) = modes.modes
    return mode


def test_counts_rate_interval_examples_and_words() -> None:
    """Traces that show it, of those that could; the newest examples; a title for people."""
    mode = only(modes_of(traffic(OLD, right=5, wrong=15), "2026-01-01", None, NEW))
    assert (mode.count, mode.opportunities, mode.rate) == (15, 20, 0.75)
    assert (mode.low, mode.high) == wilson(15, 20)
    assert mode.signature == "route:L2->L0"
    assert mode.mode_id == mode_id("route:L2->L0")
    assert mode.title == "code (L2) requests routed to chat (L0)"
    assert mode.examples == ("old-14", "old-13", "old-12", "old-11", "old-10")
    assert mode.by_version == {OLD: (15, 20)}
    assert (mode.rank, mode.first_seen, mode.status) == (1, "2026-01-01", ModeStatus.NEW)


def test_other_roles_are_no_opportunity() -> None:
    """The rate of a route mode is among requests that should have gone there."""
    traces = [*traffic(OLD, 5, 5), *(routed(f"x{number}", "L0", "L0") for number in range(50))]
    modes = modes_of(traces, "n", None, NEW)
    assert only(modes).opportunities == 10
    assert (modes.traces, modes.failures) == (60, 5)


@pytest.mark.parametrize(
    ("right", "wrong", "status"),
    [
        (20, 0, ModeStatus.FIXED),
        (5, 0, ModeStatus.FIXED),
        (4, 0, ModeStatus.ONGOING),
        (0, 0, ModeStatus.ONGOING),
        (10, 10, ModeStatus.ONGOING),
        (30, 1, ModeStatus.FIXED),
        (21, 19, ModeStatus.FIXED),
        (20, 20, ModeStatus.ONGOING),
    ],
)
def test_fixed_is_shown_by_the_champion(right: int, wrong: int, status: ModeStatus) -> None:
    """With at least five chances, at most half the rate of before, and an interval below that of before."""
    before = modes_of(traffic(OLD, 1, 19), "2026-01-01", None, OLD)
    mode = only(modes_of([*traffic(OLD, 1, 19), *traffic(NEW, right, wrong)], "2026-01-02", before, NEW))
    assert mode.status is status
    assert mode.first_seen == "2026-01-01"


def test_traces_without_a_router_do_not_hide_what_was_fixed() -> None:
    """They had the chance and could not show it; the versions before are looked at one by one."""
    past = [routed(f"past-{number}", "L2", None, version="unknown") for number in range(300)]
    found = modes_of([*past, *traffic(OLD, 7, 30), *traffic(NEW, 37, 0)], "2026-01-02", None, NEW)
    assert {mode.signature: mode.status for mode in found.modes} == {
        "route:L2->L0": ModeStatus.FIXED,
        "route:L2->none": ModeStatus.FIXED,
    }


def test_a_fixed_mode_that_comes_back_has_regressed() -> None:
    """For the night that sees it; after that it goes on."""
    first = modes_of(traffic(OLD, 1, 19), "2026-01-01", None, OLD)
    second = modes_of([*traffic(OLD, 1, 19), *traffic(NEW, 20, 0)], "2026-01-02", first, NEW)
    worse = [*traffic(OLD, 1, 19), *traffic(NEW, 20, 0), *traffic("newest", 2, 18)]
    third = modes_of(worse, "2026-01-03", second, "newest")
    fourth = modes_of(worse, "2026-01-04", third, "newest")
    assert [only(modes).status for modes in (first, second, third, fourth)] == [
        ModeStatus.NEW,
        ModeStatus.FIXED,
        ModeStatus.REGRESSED,
        ModeStatus.ONGOING,
    ]
    assert only(fourth).first_seen == "2026-01-01"


def test_what_hurts_more_comes_first() -> None:
    """By traces that fail with it; errors that runs recover from and fixed modes come last."""
    recovered = [
        facts(f"r{number}", outcome="pass", calls=(call("f", error="Error: busy"),)) for number in range(30)
    ]
    fatal = [facts(f"f{number}", outcome="fail", error="engine gone") for number in range(4)]
    fixed = [*traffic(OLD, 1, 19), *traffic(NEW, 20, 0)]
    modes = modes_of([*recovered, *fatal, *fixed], "n", None, NEW)
    assert [mode.signature for mode in modes.modes] == [
        "error:engine gone",
        "route:L2->L0",
        "tool_error:f:busy",
    ]
    assert [mode.rank for mode in modes.modes] == [1, 2, 3]
    elsewhere, unknown_if_learnable = 0.5, 0.5
    assert [mode.priority for mode in modes.modes] == [
        pytest.approx(1000 * 4 / 74 * elsewhere * unknown_if_learnable),
        pytest.approx(1000 * 19 / 74 * elsewhere * unknown_if_learnable * 0.1),
        0.0,
    ]


@given(
    seed=st.integers(),
    sides=st.lists(st.tuples(st.sampled_from("0123"), st.sampled_from("0123")), max_size=60),
)
def test_order_does_not_matter(seed: int, sides: list[tuple[str, str]]) -> None:
    """The same traces give the same modes, digest by digest."""
    traces = [
        routed(f"t{number}", f"L{right}", f"L{taken}", version=f"v{number % 3}", start_ns=number % 7)
        for number, (right, taken) in enumerate(sides)
    ]
    shuffled = random.Random(seed).sample(traces, len(traces))
    one, other = (modes_of(some, "n", None, "v1") for some in (traces, shuffled))
    assert one == other
    assert one.digest == other.digest
    for mode in one.modes:
        assert 0 < mode.count <= mode.opportunities
        assert mode.low <= mode.rate <= mode.high


def test_many_examples_are_kept_to_the_newest_five() -> None:
    """Also when thousands show it."""
    traces = [routed(f"t{number:05d}", "L2", "L0", start_ns=number) for number in range(1, 3000)]
    mode = only(modes_of(traces, "n", None, NEW))
    assert mode.examples == ("t02999", "t02998", "t02997", "t02996", "t02995")


def test_routing_traffic_end_to_end(home: Home, tmp_path: object) -> None:
    """From the gateway's spool to modes: only what was there in time, only the deployment's origins."""
    folder = home.root.parent
    sent = [request(number, route={"role": "L0"} if number % 2 else {"role": "L2"}) for number in range(20)]
    said = [correction(number, "L2") for number in range(20)]
    load(home, write_lines(folder / "a.ndjson", [*sent, *said]))
    other = [request(number, origin="demo", route={"role": "L1"}) for number in range(100, 130)]
    load(
        home,
        write_lines(folder / "b.ndjson", [*other, *(correction(number, "L3") for number in range(100, 130))]),
    )
    load(home, write_lines(folder / "c.ndjson", [correction(0, "L3", feedback_id="late")]))
    with store_batch(home, CLOCK, "test") as connection:
        assert last_ordinal(connection) == 3
        early, again, late = (
            discover(connection, [Origin.TRAFFIC], Before("2026-01-01", "v1", until)).modes
            for until in (1, 2, 3)
        )
        demo = discover(connection, [Origin.DEMO], Before("2026-01-01", "v1", 3)).modes
    assert [(mode.signature, mode.count, mode.opportunities) for mode in early.modes] == [
        ("route:L2->L0", 10, 20)
    ]
    assert (again.modes[0].count, again.traces) == (early.modes[0].count, early.traces)
    assert late.modes != early.modes
    assert [(mode.signature, mode.count, mode.opportunities) for mode in demo.modes] == [
        ("route:L3->L1", 30, 30)
    ]


def test_storing_a_night_twice_replaces_it(home: Home) -> None:
    """Other nights stay."""
    first = modes_of(traffic(OLD, 1, 19), "2026-01-01", None, OLD)
    nothing = Modes(night="2026-01-01", traces=0, failures=0, modes=())
    second = modes_of(
        [*traffic(OLD, 1, 19), facts("e", version=OLD, outcome="fail", error="gone")],
        "2026-01-02",
        first,
        OLD,
    )
    for modes in (first, second, second, nothing):
        with store_batch(home, CLOCK, "test") as connection:
            store_modes(connection, Mined(modes, {mode.mode_id: mode.examples for mode in modes.modes}))
    assert rows(home, "select night, rank, signature, status, count from failure_modes order by all") == [
        ("2026-01-02", 1, "route:L2->L0", "ongoing", 19),
        ("2026-01-02", 2, "error:gone", "new", 1),
    ]
