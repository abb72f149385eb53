"""New, ongoing, fixed, regressed: by version, and by night where versions are not known."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi.discover import history
from rsi.discover.facts import UNKNOWN
from rsi.discover.modes import Before, mine
from rsi.discover.places import Place
from rsi.mode_parts import Cell, Reach
from rsi.records import FailureMode, Modes, ModeStatus
from rsi.statistics.intervals import wilson
from tests.discover.planted import PLANTED, traffic

FIXED, NEW, ONGOING, REGRESSED = ModeStatus.FIXED, ModeStatus.NEW, ModeStatus.ONGOING, ModeStatus.REGRESSED


def nights(rates: list[tuple[str, float, int]]) -> list[Modes]:
    """Modes of each night; every night so many new traces of a version with the planted failure at a rate."""
    traces, places, found, previous = [], {}, [], None
    for number, (version, rate, count) in enumerate(rates, 1):
        new = list(traffic(version, count, rate, start=1_000_000 * number))
        traces += new
        places |= {one.trace_uid: Place(ordinal=number) for one in new}
        before = Before(f"2026-01-{number:02d}", version, number, previous)
        previous = mine(traces, before, places).modes
        found.append(previous)
    return found


def planted(modes: Modes) -> FailureMode:
    return next(one for one in modes.modes if one.signature == PLANTED)


def test_a_planted_failure_is_found_fixed_and_found_again() -> None:
    """4% of 5,000 traces: the first mode; fixed when a better version's traces come; regressed under a third."""
    found = nights([("v1", 0.04, 5000), ("v2", 0.0, 2000), ("v3", 0.04, 2000), ("v3", 0.04, 2000)])
    modes = [planted(one) for one in found]

    print([(one.rank, one.status.value, one.count, one.opportunities) for one in modes])
    assert modes[0].rank <= 2
    assert modes[0].low < 0.04 < modes[0].high
    assert [one.status for one in modes] == [NEW, FIXED, REGRESSED, ONGOING]
    assert {one.mode_id for one in modes} == {modes[0].mode_id}
    assert modes[2].rank <= 2 < modes[1].rank
    assert modes[3].first_seen == "2026-01-01"


def test_nights_tell_apart_what_no_version_does() -> None:
    """Traces that name no version: fixed in the night after the repair, regressed when it comes back, fixed again."""
    rates = [0.1, 0.1, 0.0, 0.0, 0.1, 0.1, 0.0]
    found = nights([(UNKNOWN, rate, 500) for rate in rates])

    statuses = [planted(one).status for one in found]
    assert statuses == [NEW, ONGOING, FIXED, FIXED, REGRESSED, ONGOING, FIXED]
    last = planted(found[-1])
    assert [one.night for one in last.history] == [f"2026-01-{number:02d}" for number in range(1, 8)]
    assert sum(one.hits for one in last.history) == last.count
    assert [one.chances for one in last.history] == [500] * 7


def test_it_regresses_under_the_version_that_fixed_it() -> None:
    """The world changed and the version did not: its newest night counts, not its whole past."""
    found = nights([("v1", 0.1, 500), *[("v2", 0.0, 500)] * 5, ("v2", 0.1, 500)])

    assert [planted(one).status for one in found] == [NEW, *[FIXED] * 5, REGRESSED]


def test_without_evidence_nothing_changes() -> None:
    """A version that nobody has used yet leaves a fixed mode fixed and an open one open."""
    open_then_unused = nights([("v1", 0.1, 500), ("v2", 0.1, 1)])
    fixed_then_unused = nights([("v1", 0.1, 500), ("v2", 0.0, 500), ("v3", 0.1, 1)])

    assert planted(open_then_unused[-1]).status is ONGOING
    assert planted(fixed_then_unused[-1]).status is FIXED


@pytest.mark.slow
def test_what_does_not_change_is_seldom_called_fixed() -> None:
    """At a steady rate, over many series of nights, at most one night in a hundred calls it fixed."""
    looked = wrong = 0
    for seed in range(60):
        cells: list[Cell] = []
        known: FailureMode | None = None
        for number, seen in enumerate(traffic_counts(seed, 20, 200, 0.05), 1):
            cells.append(Cell(UNKNOWN, f"{number:02d}", seen, 200))
            status, fix = history.judge(cells, known, "none")
            looked += 1
            wrong += status is FIXED and (known is None or known.status is not FIXED)
            known = mode(status, fix)
    print(f"{wrong} of {looked} nights")
    assert wrong <= looked / 100


def traffic_counts(seed: int, nights_: int, chances: int, rate: float) -> list[int]:
    import random

    draw = random.Random(seed)
    return [sum(draw.random() < rate for _ in range(chances)) for _ in range(nights_)]


def mode(status: ModeStatus, fix: object) -> FailureMode:
    low, high = wilson(1, 2)
    return FailureMode(
        mode_id="m", signature="s", kind="k", title="t", count=1, opportunities=2, rate=0.5, low=low, high=high, rank=1,
        priority=1.0, examples=(), first_seen="01", status=status, fix=fix,
    )  # fmt: skip


@given(st.lists(st.integers(0, 40), min_size=1, max_size=40))
def test_every_batch_falls_to_one_night(steps: list[int]) -> None:
    """To the first that read it; the 30 newest nights are told apart, and each batch has a place."""
    found: tuple[Reach, ...] = ()
    ordinal = 0
    for number, step in enumerate(steps):
        ordinal += step
        found = history.nights(found, f"n{number:02d}", ordinal)

    assert len(found) == min(len(steps), history.KEPT)
    places = [history.night_of(found, batch) for batch in range(ordinal + 1)]
    assert all(before <= after for before, after in pairwise(places))
    for batch, place in enumerate(places):
        assert batch <= found[place].ordinal
        assert place == 0 or batch > found[place - 1].ordinal
