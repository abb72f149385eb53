"""Proposals: tasks out of what the night knows. Adding a kind is one file and one line.

A proposer takes the `Material` and what is wanted, and gives tasks; it never judges them, the screens do. Those that
need a model besides (AutoResearch, a generator) are asked in the last phase and have their budget in `Material.world`.
"""

from collections.abc import Callable, Iterable

from rsi.expand.material import Material, Want
from rsi.expand.propose.correction import corrections
from rsi.expand.propose.expected import expected_actions
from rsi.expand.propose.generator import generated
from rsi.expand.propose.research import researched
from rsi.expand.propose.schema import from_schemas
from rsi.expand.propose.sibling import siblings
from rsi.expand.propose.template import from_templates
from rsi.expand.propose.world import from_worlds
from rsi.records import Task
from rsi.tasks.worlds import SOURCE as ENVIRONMENT

Proposer = Callable[[Material, Want], Iterable[Task]]
"""(what is known, what is wanted) -> proposals."""

GIVEN: dict[str, Proposer] = {
    "correction": corrections,
    "expected_action": expected_actions,
    "sibling": siblings,
}
"""What traces say by themselves."""
PLAYED: dict[str, Proposer] = {
    ENVIRONMENT: from_worlds,
}
"""What the generator of a role's world makes."""
SWEEP: dict[str, Proposer] = {
    "schema": from_schemas,
    "template": from_templates,
}
"""What rules make out of it."""
TARGETED: dict[str, Proposer] = {
    "research": researched,
    "generator": generated,
}
"""What a model is needed for."""
