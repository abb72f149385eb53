"""The one place where expand asks the screens, and keeps what they refuse."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from rsi.records import Refusal, Task
from rsi.settings import Deployment
from rsi.tasks import heldout
from rsi.tasks.overlap import Index
from rsi.tasks.personal import Detector
from rsi.tasks.screen import Objection, Rules, refusal, screen

PASSED = (
    "shape",
    "licence",
    "held_out",
    "injection",
    "personal",
    "language",
    "duplicates",
    "verifier",
    "caps",
)
"""What a task that passed was looked at for."""


class Screening:
    """The screens of one night: its rules and the fingerprints of every held-out suite."""

    def __init__(
        self,
        contracts: Path,
        deployment: Deployment,
        givers: Mapping[str, str],
        overruled: frozenset[tuple[str, str]],
    ) -> None:
        """Read the fingerprints below the contracts' folder; the rest as `rsi.tasks.screen.Rules` has it."""
        known = heldout.read(contracts)
        self.suites: dict[str, str] = dict(known.digests)
        """Suite -> digest of its fingerprints."""
        self.refused: list[Refusal] = []
        self._held_out = Index(known.items, deployment.expand.overlap)
        self._rules = Rules.of(deployment, givers, overruled)
        self._detector = Detector(self._rules.allow)

    @property
    def rejected(self) -> Counter[str]:
        """Reason -> refusals so far."""
        return Counter(one.reason for one in self.refused)

    def passed(self, proposals: Sequence[Task]) -> tuple[Task, ...]:
        """The proposals that may enter a bank."""
        if not proposals:
            return ()
        found = screen(proposals, self._held_out, self._rules)
        self.refused += found.refused
        return tuple(one.model_copy(update={"screens": PASSED}) for one in found.tasks)

    def leave(self, left: Sequence[tuple[Task, Objection]]) -> None:
        """Keep a record of tasks that no screen refused, and that the bank has no place for."""
        self.refused += [refusal(one, objection, self._detector) for one, objection in left]

    def objections(self, proposals: Sequence[Task]) -> dict[str, str]:
        """Task id -> why a proposal may not, each looked at by itself and none of them kept."""
        found = {}
        for one in proposals:
            refused = screen([one], self._held_out, self._rules).refused
            if refused:
                found[one.task_id] = refused[0].reason
        return found
