"""How versions do on the vault: held-out items that no gate ever asks, opened to see whether nights add up.

For each target suite of the deployment's contracts the items of its split `vault`; a suite that a world's generator
draws has none, so its vault is drawn from a seed of its own, without what the gate asks. Each audit is a ledger record.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from rsi.context import World
from rsi.engine.chat import Dialogue
from rsi.engine.weights import read_tokenizer
from rsi.gate import lock
from rsi.gate.bench import Bench
from rsi.gate.contract import Target
from rsi.gate.measure import Paired, Share
from rsi.gate.questions import Contender
from rsi.gate.suites import Draw, Suite, load
from rsi.gate.suites.worlds import Worlds
from rsi.harness import hcp
from rsi.questions import Gain, Point
from rsi.records import Outcome, Split
from rsi.registry import versions
from rsi.registry.loaded import able
from rsi.settings import Deployment, Home, contracts_dir, gate_key
from rsi.store.ledger import Ledger
from rsi.store.locks import hold
from rsi.verifiers import Verifiers, with_judge

KIND = "audit"
"""Of the ledger's record."""
BATCH = 16


def audit(
    home: Home, deployment: Deployment, world: World, names: Sequence[str], drawn: int = 90
) -> tuple[Point, ...]:
    """Every version on every vault, versions in the order given.

    Args:
        names: digests of versions.
        drawn: items of a vault that is drawn.

    Raises:
        IntegrityError: a suite is not the one that its contract pins, or a contract not what was approved.
        RefusedError: nobody approved a contract.
        TransientError: the engine answered nothing at all.
    """
    known = [versions.load(home, one) for one in names]
    bench = Bench(able(home, world, known), cache(lambda: Dialogue(read_tokenizer(world.base().folder))))
    verifiers = with_judge(world.judge())
    found: list[Point] = []
    for suite, cap in _vaults(home, deployment, drawn):
        first: list[Outcome] = []
        for name, version in zip(names, known, strict=True):
            side = Contender(version, hcp.load(home.harnesses, version.harness))
            outcomes = _outcomes(suite, cap, side, bench, verifiers, world)
            found.append(_point(name, suite.name, outcomes, first))
            first = first or outcomes
    bench.check()
    with hold(home.store_lock, KIND, world.clock.now().isoformat(timespec="seconds"), wait_s=30):
        body: dict[str, object] = {"points": [one.model_dump(mode="json") for one in found], "drawn": drawn}
        Ledger(home.ledger, world.clock).append(KIND, body=body)
    return tuple(found)


def _point(version: str, suite: str, outcomes: Sequence[Outcome], first: Sequence[Outcome]) -> Point:
    """`first` holds the outcomes of the first version on the same items, in their order; nothing for itself."""
    share = Share.of(outcomes)
    pair = Paired.of(first, outcomes) if first else None
    gain = pair and Gain(
        won=pair.wins,
        lost=pair.losses,
        difference=pair.difference,
        low=pair.interval.low,
        high=pair.interval.high,
    )
    return Point(version=version, suite=suite, right=share.right, items=share.tasks, gain=gain)


def _vaults(home: Home, deployment: Deployment, drawn: int) -> list[tuple[Suite, int]]:
    """Vaults of the contracts' targets that have one, each with the cap on an answer's tokens."""
    found: dict[str, tuple[Suite, int]] = {}
    for name in sorted({deployment.contract, *deployment.contracts.values()}):
        target = lock.approved(contracts_dir(), name).target
        suite = vault_of(home, target, drawn, contracts_dir())
        if suite.items:
            found[target.suite] = (suite, target.max_tokens)
    return list(found.values())


def vault_of(home: Home, target: Target, drawn: int, root: Path) -> Suite:
    """The vault of a contract's target; of one that a generator draws, so many items that no gate asks."""
    suite = load(target.suite, target.pin, root, split=Split.VAULT)
    source = suite.about.items
    if not isinstance(source, Worlds):
        return suite
    asked = {one.item_id for one in load(target.suite, target.pin, root).items}
    more = source.seeded(_seed(home, suite, source)).model_copy(update={"count": drawn}).draw()
    return replace(suite, items=tuple(one for one in more if one.item_id not in asked))


def _seed(home: Home, suite: Suite, source: Worlds) -> int:
    """The next after that of frozen items; for fresh ones a secret one, the same in every audit."""
    if source.seed is not None:
        return source.seed + 1
    return Draw(gate_key(home), (Split.VAULT.value,)).seed(suite.digest)


def _outcomes(
    suite: Suite, cap: int, side: Contender, bench: Bench, verifiers: Verifiers, world: World
) -> list[Outcome]:
    found: list[Outcome] = []
    for start in range(0, len(suite.items), BATCH):
        items = suite.items[start : start + BATCH]
        replies = bench.ask([side.question(suite.about, one, cap) for one in items])
        found += [
            side.outcome(suite.about, one, reply, verifiers)[0]
            for one, reply in zip(items, replies, strict=True)
        ]
        world.progress(f"vault {suite.name}", len(found), len(suite.items), side.version.digest[:12])
    return found
