"""Modes of one trial of recorded runs, found again on the other."""

import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pytest

from rsi.discover.facts import TraceFacts, read_facts
from rsi.discover.modes import Before, mine
from rsi.discover.signals import signals
from rsi.discover.window import observe
from rsi.records import Origin
from rsi.settings import Home
from rsi.store.database import store_batch
from tests.traces.inputs import CLOCK, SHARED, load

TAU = SHARED / "tau_bench" / "gpt-4o-airline.trials01.json"
pytestmark = pytest.mark.skipif(not TAU.is_file(), reason=f"no shared trace file at {TAU}")
SHUFFLES = 2_000


class Trial(NamedTuple):
    """One run a task, mined apart."""

    shown: Mapping[str, frozenset[str]]
    """Mode -> tasks whose run shows it."""
    could: Mapping[str, tuple[str, ...]]
    """Mode -> tasks whose run had the chance."""


def trial(runs: Sequence[TraceFacts]) -> Trial:
    mined, window = mine(runs, Before("2026-01-01", "v")), observe(runs)
    task_of = {one.trace_uid: str(one.task) for one in runs}
    assert len(set(task_of.values())) == len(runs) == 50
    chances = {
        task_of[one.trace_uid]: {(found.what, found.subject) for found in signals(one, window).chances}
        for one in runs
    }
    return Trial(
        {mode: frozenset(task_of[uid] for uid in uids) for mode, uids in mined.members.items()},
        {
            one.mode_id: tuple(task for task in sorted(chances) if chances[task].intersection(one.chances))
            for one in mined.modes.modes
        },
    )


def found_again(one: Mapping[str, frozenset[str]], other: Mapping[str, frozenset[str]]) -> int:
    """Pairs of a task and a mode that both trials have."""
    return sum(len(tasks & other[mode]) for mode, tasks in one.items() if mode in other)


def test_modes_of_a_trial_are_found_again_on_the_other(home: Home) -> None:
    """On the same tasks, more often than with the outcomes of the second trial shuffled (p < 0.01).

    Shuffled are, mode by mode, the outcomes of the runs that had the chance to show it: that a task calls for a tool,
    and so can fail with it, is not what is counted. Each trial is mined apart, so that no mode compares the two.
    """
    load(home, TAU)
    with store_batch(home, CLOCK, "test") as connection:
        facts = list(read_facts(connection, [Origin.TRAFFIC], 1))
    first, second = (trial([one for one in facts if one.trial == number]) for number in (0, 1))
    seen = found_again(first.shown, second.shown)
    draw, by_chance = random.Random(7), []
    for _ in range(SHUFFLES):
        dealt = {
            mode: frozenset(draw.sample(second.could[mode], len(tasks)))
            for mode, tasks in sorted(second.shown.items())
        }
        by_chance.append(found_again(first.shown, dealt))
    p = (1 + sum(count >= seen for count in by_chance)) / (1 + SHUFFLES)
    mean = sum(by_chance) / SHUFFLES
    both = len(first.shown.keys() & second.shown.keys())
    print(
        f"{both} of {len(first.shown)} modes of trial 0 on trial 1; {seen} modes on the same task again, {mean:.1f} by "
    )
    print(f"chance, p = {p:.4f} ({SHUFFLES} shuffles)")
    assert p < 0.01
