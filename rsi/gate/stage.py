"""Gate: the night's candidate into a verdict."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import orjson

from rsi.context import Context
from rsi.errors import RefusedError
from rsi.gate.budget import Books
from rsi.gate.contest import Contest, Means
from rsi.gate.contract import read
from rsi.gate.dev import told
from rsi.gate.difference import changed_role
from rsi.gate.examples import examples, worth_showing
from rsi.gate.gate import gate
from rsi.gate.story import Story
from rsi.harness import hcp
from rsi.ids import Digest
from rsi.ports import Dialogue, Engine
from rsi.records import Modes, Version
from rsi.registry import champion, versions
from rsi.registry.jobs import training
from rsi.registry.loaded import engine_with
from rsi.settings import Home
from rsi.store.ledger import Ledger
from rsi.tasks import bank
from rsi.tasks.screen import request_of
from rsi.verifiers import with_judge


def judge(context: Context, candidate: Digest) -> Digest:
    """Compare the candidate with the version the night began with; the verdict's digest.

    Where the gate is a process of its own, it is asked, and this one reads no contract.

    Raises:
        RefusedError: an adapter of the candidate is not admitted, or the candidate was made from another version
            than the champion, so that promoting it would undo what came between.
    """
    home, world = context.home, context.world
    if world.examiner is not None:
        return world.examiner.judge(context, candidate)
    before = versions.load(home, context.start.champion)
    after = versions.load(home, candidate)
    if after.parent != context.start.champion:
        raise RefusedError(
            f"candidate {candidate[:12]} was made from {str(after.parent)[:12]}, but {context.start.champion[:12]} is "
            "in service; make it again from that one"
        )
    role = changed_role(before, after)
    contract = read(context.deployment.contract_of(role))
    contest = Contest(before, after, _anchor(context, contract.anchor) if contract.anchor else None)
    engine = engine_with(context, contest.versions)
    looked = examples(context, before, after, engine)
    verdict = gate(
        home,
        contract.name,
        contest,
        _means(context, engine),
        Books(home, world.clock, context.start.night),
        night=context.start.night,
        story=replace(
            _story(context, after),
            examples=worth_showing(looked),
            dev=told(home, role or hcp.load(home.harnesses, after.harness).router, candidate, looked),
        ),
    )
    return verdict.digest


def _anchor(context: Context, named: str) -> Version:
    """The version that a contract names."""
    home, ledger = context.home, Ledger(context.home.ledger, context.world.clock)
    return versions.load(home, champion.genesis(ledger) if named == "genesis" else named)


def _means(context: Context, engine: Engine) -> Means:
    """What a night asks and judges with."""
    home, world = context.home, context.world
    return Means(
        engine,
        lambda name: hcp.load(home.harnesses, name),
        cache(lambda: _dialogue(world.base().folder)),
        with_judge(world.judge()),
        world.progress,
        context.deployment.answers_cost(),
    )


def _dialogue(base: Path) -> Dialogue:
    from rsi.engine.chat import Dialogue as Written
    from rsi.engine.weights import read_tokenizer

    return Written(read_tokenizer(base))


def _story(context: Context, candidate: Version) -> Story:
    """What the night did to make the candidate, for the card and the report."""
    home, ledger = context.home, Ledger(context.home.ledger, context.world.clock)
    made = {
        one.stage: one.output
        for one in ledger
        if one.kind == "stage" and one.night == context.start.night and one.output
    }
    modes = (
        Modes.parse((home.modes / f"{made['discover']}.json").read_bytes()) if "discover" in made else None
    )
    if "expand" not in made or not _trained(home, made.get("update"), candidate):
        return Story(modes=modes)
    tasks = [one for one in bank.load(home, made["expand"]) if one.hop == "route"]
    return Story(
        modes=modes,
        bank=bank.manifest(home, made["expand"]),
        texts=tuple(request_of(one) for one in tasks),
        roles=tuple(one.expected for one in tasks),
        metrics=_metrics(home, candidate, versions.load(home, context.start.champion)),
    )


def _trained(home: Home, made: str | None, candidate: Version) -> bool:
    """Whether a candidate is what a night made, or has its new adapter on another champion."""
    if made is None or made == candidate.digest:
        return made is not None
    first = versions.load(home, made)
    before = versions.load(home, str(first.parent))
    new = [role for role in first.adapters if first.adapters[role] != before.adapters.get(role)]
    return bool(new) and all(candidate.adapters.get(role) == first.adapters[role] for role in new)


def _metrics(home: Home, candidate: Version, champion: Version) -> tuple[dict[str, float], ...]:
    """Rows of the job that trained the adapter which the champion does not have."""
    new = set(candidate.adapters.values()) - set(champion.adapters.values())
    job = next((one.job for one in training(home) if one.adapter in new), None)
    if job is None:
        return ()
    return tuple(orjson.loads(line) for line in (home.jobs / job / "metrics.jsonl").read_bytes().splitlines())
