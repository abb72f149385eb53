"""The phases of an expansion: what traces say, what rules make of it, what a model is asked for.

*retry* asks the failed requests again, whose answer the traces tell; *world* asks for episodes in the worlds of the
roles that have one, as many as the deployment says; *sweep* fills the grid with what rules make of
tool schemas and templates; *targeted* goes to the cells that are still empty with AutoResearch and a generator. In the
last two, proposals are made for empty cells, round by round, until a round fills fewer than `gain` cells a proposal, or
the budget of proposals ends. What each source was worth (proposals, what passed, cells filled by then) is one line of
the bank's table: those are the columns of the paper's expansion experiment (MindForge report, section 2.2).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from rsi.expand.coverage import Dimension, Spot, filled
from rsi.expand.facets import facets
from rsi.expand.material import Material, Want
from rsi.expand.propose import GIVEN, PLAYED, SWEEP, TARGETED, Proposer
from rsi.records import Phase, Task
from rsi.tasks.duplicates import asked

ROUND = 50
"""Proposals of one source in one round."""


class Name(StrEnum):
    """The phases, in order."""

    RETRY = "retry"
    WORLD = "world"
    SWEEP = "sweep"
    TARGETED = "targeted"


Screen = Callable[[Sequence[Task]], Sequence[Task]]
"""Proposals -> those that may enter a bank; refusals are counted by whoever gives it."""
Spent = Callable[[], int]
"""Questions to models so far."""


@dataclass
class Growing:
    """A bank in the making."""

    material: Material
    wanted: frozenset[Spot]
    screen: Screen
    spent: Spent = lambda: 0
    tasks: dict[str, Task] = field(default_factory=dict)
    phases: list[Phase] = field(default_factory=list)
    proposed: int = 0

    @property
    def empty(self) -> tuple[Spot, ...]:
        """Cells without a task, those of the most important mode first."""
        rank = {one.mode_id: at for at, one in enumerate(self.material.aims)}
        left = self.wanted - filled(self.tasks.values(), self.wanted)
        return tuple(sorted(left, key=lambda spot: (rank[spot.mode_id], spot)))

    def given(self) -> None:
        """The first two phases: everything that traces say, and episodes in worlds."""
        for name, proposers in ((Name.RETRY, GIVEN), (Name.WORLD, PLAYED)):
            for source, proposer in proposers.items():
                self._add(name, source, proposer(self.material, self._want(0, 0)))

    def made_up(self) -> None:
        """The other two, within the deployment's budget of proposals."""
        for name, proposers in ((Name.SWEEP, SWEEP), (Name.TARGETED, TARGETED)):
            for source, proposer in proposers.items():
                self._rounds(name, source, proposer)

    @property
    def _reachable(self) -> tuple[Spot, ...]:
        """Empty cells that a proposal can be made for: how hard one turns out, only measuring tells."""
        return tuple(one for one in self.empty if one.dimension != Dimension.DIFFICULTY)

    def _rounds(self, name: Name, source: str, proposer: Proposer) -> None:
        rules = self.material.rules
        turn = 0
        while self.empty and (left := rules.attempts - self.proposed) > 0:
            before = len(self.empty)
            made = self._add(name, source, proposer(self.material, self._want(min(left, ROUND), turn)))
            self.proposed += made
            if made == 0 or (before - len(self.empty)) / made < rules.gain:
                return
            turn += 1

    def _want(self, most: int, turn: int) -> Want:
        return Want(self._reachable, tuple(self.tasks[name] for name in sorted(self.tasks)), most, turn)

    def _add(self, name: Name, source: str, proposals: Iterable[Task]) -> int:
        """Screen proposals and keep what passes; how many attempts it took.

        A question to a model is an attempt, also where its answer is no proposal.
        """
        before = self.spent()
        offered = list(proposals)
        calls = self.spent() - before
        attempts = max(len(offered), calls)
        known = {asked(one) for one in self.tasks.values()} if offered else set()
        fresh = [one for one in offered if asked(one) not in known]
        passed = [one.model_copy(update={"facets": facets(one)}) for one in self.screen(fresh)]
        self.tasks |= {one.task_id: one for one in passed}
        if attempts:
            self.phases.append(
                Phase(
                    phase=name.value,
                    source=source,
                    attempts=attempts,
                    passes=len(passed),
                    filled=len(filled(self.tasks.values(), self.wanted)),
                    calls=calls,
                )
            )
        return attempts


def table(phases: Sequence[Phase], asked: int) -> list[list[object]]:
    """Rows of the table of an expansion: phase, source, attempts, passes, yield, cells filled of those asked, calls."""
    by_source: dict[tuple[str, str], list[Phase]] = {}
    for one in phases:
        by_source.setdefault((one.phase, one.source), []).append(one)
    rows: list[list[object]] = []
    for (phase, source), rounds in by_source.items():
        attempts, passes = sum(one.attempts for one in rounds), sum(one.passes for one in rounds)
        share = f"{passes / attempts:.1%}" if attempts else ""
        calls = sum(one.calls for one in rounds)
        rows.append(
            [phase, source, len(rounds), attempts, passes, share, f"{rounds[-1].filled} of {asked}", calls]
        )
    return rows


COLUMNS: Sequence[str] = (
    "phase", "source", "rounds", "attempts", "passes", "yield", "cells filled (cumulative)", "calls"
)  # fmt: skip
"""Of `table`."""


def counted(phases: Sequence[Phase]) -> Mapping[str, int]:
    """Source -> proposals that passed."""
    found: dict[str, int] = {}
    for one in phases:
        found[one.source] = found.get(one.source, 0) + one.passes
    return found
