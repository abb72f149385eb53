"""Small worlds for rollouts of several turns. Adding one is one package and one line.

A world is an `rsi.ports.Environment` and a generator of tasks for it. An episode is judged by the state that its world
ends in (`same_state`), not by the way there.
"""

from collections.abc import Callable
from typing import NamedTuple

import orjson

from rsi.environments.desk.environment import Desk
from rsi.environments.desk.tasks import tasks as desk_tasks
from rsi.errors import ContractError
from rsi.ids import canonical
from rsi.ports import Environment
from rsi.records import Outcome, OutcomeKind, Pool, WorldTask


class Kind(NamedTuple):
    """One kind of world."""

    open: Callable[[], Environment]
    """A fresh world for one episode."""
    tasks: Callable[[int, int, Pool], tuple[WorldTask, ...]]
    """(count, seed, pool) -> tasks, the same for the same arguments."""


ENVIRONMENTS: dict[str, Kind] = {
    "desk": Kind(Desk, desk_tasks),
}


def kind(name: str) -> Kind:
    """The kind of world of that name.

    Raises:
        ContractError: there is none.
    """
    if name not in ENVIRONMENTS:
        raise ContractError(
            f"no environment is called {name[:60]!r}; there are {', '.join(sorted(ENVIRONMENTS))}"
        )
    return ENVIRONMENTS[name]


def same_state(state: str, expected: str) -> Outcome:
    """Right when the final state has the tables and rows of ``{"state": …}``; rows have no order, equal ones count."""
    try:
        wanted, found = orjson.loads(expected)["state"], orjson.loads(state)
        differing = [
            table
            for table in sorted(wanted.keys() | found.keys())
            if sorted(map(canonical, wanted.get(table, []))) != sorted(map(canonical, found.get(table, [])))
        ]
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
        return Outcome(kind=OutcomeKind.INVALID, detail="state or expected is not JSON of tables with rows")
    return Outcome(kind=OutcomeKind.SCORED, score=float(not differing), detail=", ".join(differing))
