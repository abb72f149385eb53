"""The vault: held-out items that no verdict rests on, asked once of every version that served. Did the nights add up?

Items that are asked for verdict after verdict flatter whoever passed on them; these are asked for one number a
version, and nobody who makes candidates is told. Each version is asked beside the first one, on the same items and
seeds, so that the difference between them has a paired interval. What was counted is a record in the ledger.
"""

from collections.abc import Mapping
from functools import cache

from rsi.context import Context
from rsi.errors import QuietError
from rsi.gate.contract import Contract, read
from rsi.gate.evaluate import evaluate
from rsi.gate.scorecard import paired
from rsi.gate.suites import Suite, load
from rsi.harness import hcp
from rsi.ports import Dialogue
from rsi.record import Record
from rsi.records import Split
from rsi.registry import champion, versions
from rsi.registry.loaded import engine_with
from rsi.store.ledger import Ledger
from rsi.store.locks import hold
from rsi.verifiers import with_judge

KIND = "vault"
"""Of the ledger's records."""


class Measured(Record):
    """One version on one suite's vault."""

    version: str
    first: str
    """The version it was asked beside: the first that served."""
    contract: str
    suite: str
    pin: str
    """Digest of the suite."""
    items: int
    correct: int
    won: int
    """Items that only it got right."""
    lost: int
    """Items that only the first got right."""
    difference: float
    """Share of items right, minus that of the first."""
    low: float
    high: float
    """95% interval of the difference, paired, by cluster where there are clusters."""


def known(ledger: Ledger) -> tuple[Measured, ...]:
    """What was measured so far, oldest first."""
    return tuple(Measured.model_validate(one.body) for one in ledger if one.kind == KIND)


def measure(context: Context) -> tuple[Measured, ...]:
    """Ask every version that served and was not asked yet; all that is known then, oldest version first.

    Raises:
        QuietError: no suite of the deployment's contracts has a vault.
        RefusedError: an adapter of a version is not admitted.
        ContractError: a contract or a suite cannot be read.
    """
    home, world = context.home, context.world
    ledger = Ledger(home.ledger, world.clock)
    served = list(dict.fromkeys(str(one.output) for one in champion.moves(ledger)))
    deployment = context.deployment
    contracts = [read(name) for name in sorted({deployment.contract, *deployment.contracts.values()})]
    vaults = {one.name: _vault(one) for one in contracts}
    if not any(suite.items for vault in vaults.values() for suite in vault.values()):
        raise QuietError(
            f"no suite of {', '.join(vaults)} has items of the split {Split.VAULT.value}; nothing was asked"
        )
    for name in served:
        for contract in contracts:
            _ask(context, contract, vaults[contract.name], served[0], name)
    order = {name: at for at, name in enumerate(served)}
    return tuple(sorted(known(ledger), key=lambda one: (order.get(one.version, len(order)), one.suite)))


def _vault(contract: Contract) -> dict[str, Suite]:
    return {suite: load(suite, pin, split=Split.VAULT) for suite, pin in contract.pins.items()}


def _ask(context: Context, contract: Contract, vault: Mapping[str, Suite], first: str, name: str) -> None:
    home, world = context.home, context.world
    done = {(one.version, one.pin) for one in known(Ledger(home.ledger, world.clock))}
    wanted = [suite for suite in vault.values() if suite.items and (name, suite.digest) not in done]
    if not wanted:
        return
    before, after = versions.load(home, first), versions.load(home, name)
    scorecard = evaluate(
        contract,
        vault,
        before,
        after,
        engine_with(context, [before, after]),
        lambda harness: hcp.load(home.harnesses, harness),
        world.progress,
        anchor=before if contract.anchor else None,
        dialogue=cache(lambda: _dialogue(context)),
        verifiers=with_judge(world.judge()),
    )
    for suite in wanted:
        seen = paired(scorecard.of(suite.name))
        low, high = seen.interval()
        was, now = seen.total.shares()
        found = Measured(
            version=name,
            first=first,
            contract=contract.name,
            suite=suite.name,
            pin=suite.digest,
            items=seen.total.n,
            correct=seen.total.after,
            won=seen.wins,
            lost=seen.losses,
            difference=float(f"{now - was:.6g}"),
            low=float(f"{low:.6g}"),
            high=float(f"{high:.6g}"),
        )
        with hold(home.store_lock, KIND, world.clock.now().isoformat(timespec="seconds"), 30):
            Ledger(home.ledger, world.clock).append(KIND, input=name, body=found.model_dump(mode="json"))


def _dialogue(context: Context) -> Dialogue:
    from rsi.engine.chat import Dialogue as Written
    from rsi.engine.weights import read_tokenizer

    return Written(read_tokenizer(context.world.base().folder))
