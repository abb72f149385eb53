"""What proposals are made from: the night's modes as aims, corrected requests, runs, tools, and tasks so far."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rsi.expand.aims import Aim
from rsi.expand.coverage import Spot
from rsi.expand.runs import Corrected, Run
from rsi.expand.tools import Tool
from rsi.expansion import Expand
from rsi.records import Task


@dataclass(frozen=True)
class Material:
    """All that a proposer may look at. Nothing in it comes from a held-out suite."""

    aims: tuple[Aim, ...]
    """What the open modes want, the most important first."""
    roles: tuple[str, ...]
    """The harness's roles."""
    corrected: tuple[Corrected, ...] = ()
    runs: tuple[Run, ...] = ()
    tools: dict[str, Tool] = field(default_factory=dict)
    rules: Expand = field(default_factory=Expand)
    research: Callable[[Sequence[Task], int], Sequence[Task]] | None = None
    """(seeds, most to keep) -> probes that were kept; null where AutoResearch is off."""
    ask: Callable[[str, str], str | None] | None = None
    """(prompt, JSON schema) -> answer; null where no generator is configured, or its budget is spent."""
    model: str = ""
    """The generator's name."""


@dataclass(frozen=True)
class Want:
    """What is asked of a proposer now."""

    empty: tuple[Spot, ...] = ()
    """Cells that hold no task yet, in order of importance."""
    have: tuple[Task, ...] = ()
    """Tasks that passed so far."""
    most: int = 0
    """Most proposals to make; 0 for no limit."""
    turn: int = 0
    """Round of the phase: another one gives other proposals."""
