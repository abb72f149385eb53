"""Ask champion and candidate the same held-out items, in turns, batch by batch.

Each version is asked through its own harness and adapters. A question that was asked before (the same
prompt, the same adapter, the same cap) is not asked again, so that a version that changes nothing on an
item keeps the very answer it is compared with. An engine that breaks on one item costs that item, not the
night. Replies are kept until the verdict lies there, so that a gate that was killed asks the rest only.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import monotonic

from rsi.errors import ContractError
from rsi.gate.bench import Bench, unspoken
from rsi.gate.contract import Contract
from rsi.gate.kept import Kept
from rsi.gate.questions import Contender, Reply
from rsi.gate.scorecard import Asked, Scorecard
from rsi.gate.suites import Suite
from rsi.harness.hcp import Harness
from rsi.ports import Dialogue, Engine, Progress, silent
from rsi.records import ItemResult, Version
from rsi.report.evidence import Arms, Took
from rsi.verifiers import VERIFIERS, Verifiers, usable

BATCH = 16
"""Items asked of one version before it is the other's turn."""


def evaluate(
    contract: Contract,
    suites: Mapping[str, Suite],
    champion: Version,
    candidate: Version,
    engine: Engine,
    harness_of: Callable[[str], Harness],
    progress: Progress = silent,
    anchor: Version | None = None,
    batch: int = BATCH,
    dialogue: Callable[[], Dialogue] = unspoken,
    verifiers: Verifiers = VERIFIERS,
    kept: Path | None = None,
    stopwatch: Callable[[], float] = monotonic,
) -> Scorecard:
    """Results of every item of every suite of the contract, for both versions.

    Args:
        suites: suite name -> suite, as the contract pins them.
        harness_of: the harness with a digest.
        anchor: the fixed version that the guards are compared with as well, where the contract asks for one.
        batch: items a turn.
        dialogue: how the base writes a conversation that grows; asked for by suites that are played.
        verifiers: the table, its judge bound to a model where a suite is judged by one.
        kept: file of replies that were given before a crash; by default nobody keeps them.
        stopwatch: seconds, for what answers take.

    Raises:
        ContractError: the engine runs another base or lacks an adapter, or anchor or judge are missing.
        IntegrityError: the engine says that something on disk is not what its name says.
        TransientError: the engine was away for every single question, so that nothing was measured.
    """
    _fit(contract, suites, anchor, verifiers)
    versions = [champion, candidate, *([anchor] if anchor else [])]
    for version in versions:
        _check(version, engine)
    sides = [Contender(version, harness_of(version.harness)) for version in versions]
    bench = Bench(
        engine, dialogue, kept=Kept(kept, engine.base) if kept else None, stopwatch=stopwatch
    )
    took: dict[str, Arms] = {}
    results: list[ItemResult] = []
    against: list[ItemResult] = []
    caps = {part.suite: part.max_tokens for part in contract.parts}
    for name in contract.pins:
        anchored = anchor is not None and anchor != champion and name != contract.target.suite
        replies = _rounds(suites[name], sides if anchored else sides[:2], bench, caps[name], batch, progress)
        results += _results(suites[name], sides[:2], replies[:2], verifiers)
        took[name] = _took(replies[0]), _took(replies[1])
        if anchored:
            against += _results(suites[name], [sides[2], sides[1]], [replies[2], replies[1]], verifiers)
    bench.check()
    return Scorecard(
        contract_digest=contract.digest,
        champion=champion.digest,
        candidate=candidate.digest,
        asked=tuple(_asked(suites[name]) for name in contract.pins),
        results=tuple(results),
        anchor=anchor.digest if anchor else None,
        anchor_results=tuple(against),
        took=took,
    )


def _took(replies: Sequence[Reply]) -> Took:
    """Of one side; a reply that both sides share counts for each."""
    return Took.together([reply.took for reply in replies if reply.took is not None])


def _asked(suite: Suite) -> Asked:
    return Asked(suite=suite.name, pin=suite.digest, hop=suite.about.hop, items=len(suite.items))


def _fit(
    contract: Contract, suites: Mapping[str, Suite], anchor: Version | None, verifiers: Verifiers
) -> None:
    """Make sure that all is there that the contract asks for."""
    if (anchor is None) != (contract.anchor is None):
        raise ContractError(f"contract {contract.name} names anchor {contract.anchor}; found {anchor}")
    for name in contract.pins:
        if suites[name].about.verifier not in usable(verifiers):
            raise ContractError(
                f"suite {name} is judged by a model: name one in [judge] of the deployment file"
            )


def _check(version: Version, engine: Engine) -> None:
    if version.base != engine.base:
        raise ContractError(
            f"version {version.digest[:12]} is made on base {version.base[:12]}, "
            f"but the engine runs {engine.base[:12]}"
        )
    absent = sorted(set(version.adapters.values()) - set(engine.adapters()))
    if absent:
        raise ContractError(
            f"version {version.digest[:12]} needs adapter {absent[0]}, which the engine has not loaded"
        )


def _rounds(
    suite: Suite, sides: Sequence[Contender], bench: Bench, max_tokens: int, batch: int, progress: Progress
) -> list[list[Reply]]:
    """Replies by side, the sides taking turns."""
    replies: list[list[Reply]] = [[] for _ in sides]
    for start in range(0, len(suite.items), batch):
        items = suite.items[start : start + batch]
        for said, side in zip(replies, sides, strict=True):
            said += bench.ask([side.question(suite.about, item, max_tokens) for item in items])
        errors = sum(bool(reply.error) for said in replies for reply in said)
        note = f"{errors} errors" if errors else ""
        progress(f"gate {suite.name}", min(start + batch, len(suite.items)), len(suite.items), note)
    return replies


def _results(
    suite: Suite, sides: Sequence[Contender], replies: Sequence[Sequence[Reply]], verifiers: Verifiers
) -> list[ItemResult]:
    """Both sides on every item; the first side stands in the champion's place."""
    found = []
    for item, *said in zip(suite.items, *replies, strict=True):
        (before, old), (after, new) = (
            side.outcome(suite.about, item, reply, verifiers) for side, reply in zip(sides, said, strict=True)
        )
        found.append(
            ItemResult(
                item_id=item.item_id,
                suite=suite.name,
                cluster=item.cluster,
                expected=item.expected,
                source=item.source,
                hard=item.hard,
                champion=before,
                candidate=after,
                champion_answer=old,
                candidate_answer=new,
            )
        )
    return found
