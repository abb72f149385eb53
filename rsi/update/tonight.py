"""The role that a night trains: chosen once, and kept in the ledger with the reason before anything is trained."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from rsi.context import Context
from rsi.discover.role import KIND, Choice, choose, role_of, roles_before
from rsi.errors import ContractError
from rsi.harness import hcp
from rsi.ids import Digest
from rsi.records import Modes, Task, Version
from rsi.store.ledger import Ledger
from rsi.store.locks import hold


class Tonight(NamedTuple):
    """What a night trains."""

    role: str
    hop: str
    """Of the tasks that it is trained on."""


def tonight(context: Context, bank: Digest, tasks: Sequence[Task], champion: Version) -> Tonight:
    """The role, by the night's failure modes that these tasks of the bank cover; the hop, by most of its tasks.

    Raises:
        QuietError: no role is left, by the deployment's rules.
        ContractError: the night has no failure modes.
    """
    home, night, clock = context.home, context.start.night, context.world.clock
    ledger = Ledger(home.ledger, clock)
    found = ledger.last(lambda one: (one.kind, one.night, one.stage) == ("stage", night, "discover"))
    if found is None:
        raise ContractError(f"night {night} has no failure modes yet; run `rsi discover` first")
    modes = Modes.parse((home.modes / f"{found.output}.json").read_bytes())
    router = hcp.load(home.harnesses, champion.harness).router
    there = ledger.last(lambda one: (one.kind, one.night) == (KIND, night))
    if there is not None and there.input == bank:
        choice = Choice.model_validate(there.body)
    else:
        covered = {one.mode_id for one in tasks if one.mode_id is not None}
        choice = choose(
            modes, covered, router, context.deployment.night, roles_before(ledger.records(), night)
        )
        with hold(home.store_lock, f"night {night}", clock.now().isoformat(timespec="seconds"), 30.0):
            ledger.append(KIND, night=night, input=bank, body=choice.model_dump(mode="json"))
    of_role = {one.mode_id for one in modes.modes if role_of(one, router) == choice.role}
    return Tonight(choice.role, _hop(tasks, of_role))


def _hop(tasks: Sequence[Task], modes: Collection[str]) -> str:
    """The hop of most tasks that cover these modes; of equals the first name."""
    hops = Counter(one.hop for one in tasks if one.mode_id in modes)
    return min(hops, key=lambda hop: (-hops[hop], hop))
