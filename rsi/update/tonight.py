"""The role that a night trains: chosen once, and kept in the ledger with the reason before anything is trained."""

from collections.abc import Iterable

from rsi.context import Context
from rsi.discover.role import KIND, Choice, choose, roles_before
from rsi.errors import ContractError
from rsi.harness import hcp
from rsi.ids import Digest
from rsi.records import Modes, Task, Version
from rsi.store.ledger import Ledger
from rsi.store.locks import hold


def tonight(context: Context, bank: Digest, tasks: Iterable[Task], champion: Version) -> str:
    """The role, by the night's failure modes that these tasks of the bank cover.

    Raises:
        QuietError: no role is left, by the deployment's rules.
        ContractError: the night has no failure modes.
    """
    home, night, clock = context.home, context.start.night, context.world.clock
    ledger = Ledger(home.ledger, clock)
    there = ledger.last(lambda one: (one.kind, one.night) == (KIND, night))
    if there is not None and there.input == bank:
        return Choice.model_validate(there.body).role
    found = ledger.last(lambda one: (one.kind, one.night, one.stage) == ("stage", night, "discover"))
    if found is None:
        raise ContractError(f"night {night} has no failure modes yet; run `rsi discover` first")
    modes = Modes.parse((home.modes / f"{found.output}.json").read_bytes())
    covered = {one.mode_id for one in tasks if one.mode_id is not None}
    router = hcp.load(home.harnesses, champion.harness).router
    before = roles_before(ledger.records(), night)
    choice = choose(modes, covered, router, context.deployment.night, before)
    with hold(home.store_lock, f"night {night}", clock.now().isoformat(timespec="seconds"), 30.0):
        ledger.append(KIND, night=night, input=bank, body=choice.model_dump(mode="json"))
    return choice.role
