"""Small worlds for rollouts of several turns. Adding one is one package and one line.

A world is an `rsi.ports.Environment` and a generator of tasks for it. An episode is judged by the state that its world
ends in (verifier `final_state`), not by the way there.
"""

from collections.abc import Callable
from typing import NamedTuple

from rsi.environments.chains import tasks as chains
from rsi.environments.chains.environment import Chains
from rsi.environments.desk import tasks as desk
from rsi.environments.desk.environment import Desk
from rsi.errors import ContractError
from rsi.ports import Environment
from rsi.records import Pool, WorldTask


class Kind(NamedTuple):
    """One kind of world."""

    open: Callable[[], Environment]
    """A fresh world for one episode."""
    tasks: Callable[[int, int, Pool], tuple[WorldTask, ...]]
    """(count, seed, pool) -> tasks, the same for the same arguments."""


ENVIRONMENTS: dict[str, Kind] = {
    "chains": Kind(Chains, chains.GENERATOR.tasks),
    "desk": Kind(Desk, desk.GENERATOR.tasks),
    "long-chains": Kind(Chains, chains.LONG.tasks),
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
