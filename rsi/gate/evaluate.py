"""Ask champion and candidate the same held-out items, in turns, batch by batch.

Each version is asked through its own harness and adapters. A question that was asked before (the same
prompt, the same adapter, the same cap) is not asked again, so that a version that changes nothing on an
item keeps the very answer it is compared with. An engine that breaks on one item costs that item, not the
night. Replies are kept until the verdict lies there, so that a gate that was killed asks the rest only.
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from rsi.errors import ContractError
from rsi.gate.bench import Bench
from rsi.gate.contest import Contest, Means
from rsi.gate.contract import Contract, Guard
from rsi.gate.questions import Contender, Reply
from rsi.gate.scorecard import Asked, Scorecard
from rsi.gate.suites import Suite
from rsi.ports import Engine, Progress
from rsi.records import ItemResult, Version
from rsi.report.evidence import Arms, Took
from rsi.verifiers import Verifiers, usable

BATCH = 16
"""Items asked of one version before it is the other's turn."""


class _Heard(NamedTuple):
    """What came of one suite."""

    results: list[ItemResult]
    anchored: list[ItemResult]
    """With the anchor in the champion's place; empty where it was not asked."""
    took: Arms


def evaluate(
    contract: Contract,
    suites: Mapping[str, Suite],
    contest: Contest,
    means: Means,
    kept: Path | None = None,
    batch: int = BATCH,
) -> Scorecard:
    """Results of every item of every suite of the contract, for both versions.

    Args:
        suites: suite name -> suite, as the contract pins them.
        kept: file of replies that were given before a crash; by default nobody keeps them.
        batch: items a turn.

    Raises:
        ContractError: the engine runs another base or lacks an adapter, or anchor or judge are missing.
        IntegrityError: the engine says that something on disk is not what its name says.
        TransientError: the engine was away for every single question, so that nothing was measured.
    """
    _fit(contract, suites, contest, means)
    bench = means.bench(kept)
    sides = [Contender(version, means.harness_of(version.harness)) for version in contest.versions]
    heard = {}
    for part in contract.parts:
        # Guards alone are held to the anchor as well, and an anchor that is the champion answers the same.
        there = sides if isinstance(part, Guard) and contest.anchor != contest.champion else sides[:2]
        replies = _in_turns(suites[part.suite], there, bench, part.max_tokens, batch, means.progress)
        heard[part.suite] = _heard(suites[part.suite], there, replies, means.verifiers)
    bench.check()
    return Scorecard(
        contract_digest=contract.digest,
        champion=contest.champion.digest,
        candidate=contest.candidate.digest,
        asked=tuple(_asked(suites[name]) for name in heard),
        results=tuple(chain.from_iterable(one.results for one in heard.values())),
        anchor=contest.anchor.digest if contest.anchor else None,
        anchor_results=tuple(chain.from_iterable(one.anchored for one in heard.values())),
        took={name: one.took for name, one in heard.items()},
    )


def _heard(
    suite: Suite, sides: Sequence[Contender], replies: Sequence[Sequence[Reply]], verifiers: Verifiers
) -> _Heard:
    """Results of both versions, and of anchor and candidate where the anchor was asked."""
    anchored = [_results(suite, sides[:0:-1], replies[:0:-1], verifiers)] if len(sides) > 2 else []
    return _Heard(
        _results(suite, sides[:2], replies[:2], verifiers),
        [*chain.from_iterable(anchored)],
        (_took(replies[0]), _took(replies[1])),
    )


def _took(replies: Sequence[Reply]) -> Took:
    """Of one side; a reply that both sides share counts for each."""
    return Took.together([reply.took for reply in replies if reply.took is not None])


def _asked(suite: Suite) -> Asked:
    return Asked(suite=suite.name, pin=suite.digest, hop=suite.about.hop, items=len(suite.items))


def _fit(contract: Contract, suites: Mapping[str, Suite], contest: Contest, means: Means) -> None:
    """Make sure that all is there that the contract asks for."""
    if (contest.anchor is None) != (contract.anchor is None):
        raise ContractError(f"contract {contract.name} names anchor {contract.anchor}; found {contest.anchor}")
    for name in contract.pins:
        if suites[name].about.verifier not in usable(means.verifiers):
            raise ContractError(
                f"suite {name} is judged by a model: name one in [judge] of the deployment file"
            )
    for version in contest.versions:
        _check(version, means.engine)


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


def _in_turns(
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
