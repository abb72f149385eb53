"""The one place where expand asks the screens, and keeps count of what they refuse."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rsi.records import Task
from rsi.tasks import heldout
from rsi.tasks.screen import screen

PASSED = ("form", "verifier", "held_out", "duplicate")
"""What a task that passed was looked at for."""


class Screening:
    """The screens of one night: its rules and the fingerprints of every held-out suite."""

    def __init__(self, contracts: Path, overlap: float) -> None:
        """Read the fingerprints below the contracts' folder."""
        known = heldout.read(contracts)
        self.suites: dict[str, str] = dict(known.digests)
        """Suite -> digest of its fingerprints."""
        self.refused: Counter[str] = Counter()
        """Reason -> proposals."""
        self._held_out = heldout.index(known.prints, overlap)

    def passed(self, proposals: Sequence[Task]) -> tuple[Task, ...]:
        """The proposals that may enter a bank."""
        found = screen(proposals, self._held_out)
        self.refused += found.rejected
        return tuple(one.model_copy(update={"screens": PASSED}) for one in found.tasks)

    def objections(self, proposals: Sequence[Task]) -> dict[str, str]:
        """Task id -> why a proposal may not, each looked at by itself and none of them counted."""
        found = {}
        for one in proposals:
            reasons = screen([one], self._held_out).rejected
            if reasons:
                found[one.task_id] = min(reasons)
        return found
