"""Measuring versions on fresh tasks: counts with intervals, and each version against the first, task by task."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rsi.commands.say import Json, as_json, line, table, warn
from rsi.errors import ContractError, RefusedError
from rsi.record import Record
from rsi.records import Pool
from rsi.report.progress import TerminalProgress
from rsi.settings import Deployment, Home, fingerprints_dir

if TYPE_CHECKING:
    from rsi.gate.measure import Paired, Share
    from rsi.records import Outcome, Task, WorldTask


class Tasks(Record):
    """Which tasks."""

    environment: str | None
    count: int
    seed: int
    pool: Pool
    bfcl: str | None
    half: str
    max_tokens: int | None
    """Of a written answer."""


def measure(
    versions: Annotated[
        list[str], typer.Argument(help="Beginnings of digests; the later ones are compared with the first.")
    ],
    environment: Annotated[
        str | None, typer.Option(help="A world whose generator makes the tasks, for instance desk.")
    ] = None,
    tasks: Annotated[int, typer.Option(min=1, help="Tasks that it makes.")] = 300,
    seed: Annotated[int, typer.Option(help="Of the tasks, and of what is drawn in each.")] = 1,
    pool: Annotated[Pool, typer.Option(help="Which of its tasks.")] = Pool.HELD_OUT,
    bfcl: Annotated[
        str | None, typer.Option(help="In its place a BFCL file, for instance live_simple.")
    ] = None,
    half: Annotated[str, typer.Option(help="Of the file: bank (training) or suite (the rest).")] = "bank",
    role: Annotated[str, typer.Option(help="The specialist whose adapter answers.")] = "L1",
    temperature: Annotated[
        float | None, typer.Option(min=0, help="In place of the harness's; 0 takes the likeliest token.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="Of a BFCL answer; the harness's cap by default.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write every task's outcomes there, as JSON.")] = None,
    json: Json = False,
) -> None:
    """How often versions are right on tasks that they were not trained on. No verdict is made, and nothing kept."""
    from rsi.registry.versions import find

    if (environment is None) == (bfcl is None):
        raise ContractError("say either --environment or --bfcl")
    home = Home.find()
    names = [find(home, one) for one in versions]
    what = Tasks(
        environment=environment,
        count=tasks,
        seed=seed,
        pool=pool,
        bfcl=bfcl,
        half=half,
        max_tokens=max_tokens,
    )
    items = _tasks(what)
    found = _outcomes(home, names, role, items, what, temperature)
    told = Report.of(names, items, found)
    as_said = {
        "tasks": what.model_dump(mode="json"),
        "role": role,
        "temperature": temperature,
        **told.plain(),
    }
    if out is not None:
        _write(out, as_said, items, found)
    if json:
        as_json(as_said)
    else:
        _show(told)


@dataclass(frozen=True)
class Report:
    """What was counted, by version in the order they were named."""

    shares: "Mapping[str, Share]"
    levels: Mapping[str, Mapping[str, tuple[int, int]]]
    """Version -> level of a world's tasks -> how many were right, of how many."""
    ends: Mapping[str, Mapping[str, int]]
    """Version -> kind of outcome -> how many."""
    pairs: "Mapping[str, Paired]"
    """Each version but the first, against it."""

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        items: "Sequence[WorldTask | Task]",
        found: "Mapping[str, Sequence[Outcome]]",
    ) -> "Report":
        """Count."""
        from rsi.gate.measure import Paired, Share

        return cls(
            shares={name: Share.of(found[name]) for name in names},
            levels={name: _levels(items, found[name]) for name in names},
            ends={
                name: dict(sorted(Counter(one.kind.value for one in found[name]).items())) for name in names
            },
            pairs={name: Paired.of(found[names[0]], found[name]) for name in names[1:]},
        )

    def plain(self) -> dict[str, object]:
        """As JSON has it."""
        return {
            "versions": {
                name: {**_plain(share), "levels": self.levels[name], "outcomes": self.ends[name]}
                for name, share in self.shares.items()
            },
            "against_first": {name: _plain(one) for name, one in self.pairs.items()},
        }


def _show(told: Report) -> None:
    first = next(iter(told.shares))
    table(
        ["version", "right", "tasks", "share", "95%", *(f"level {one}" for one in told.levels[first])],
        [
            [
                name[:12],
                share.right,
                share.tasks,
                f"{share.right / share.tasks:.1%}",
                f"{share.interval.low:.1%} to {share.interval.high:.1%}",
                *(f"{right} of {count}" for right, count in told.levels[name].values()),
            ]
            for name, share in told.shares.items()
        ],
    )
    for name, one in told.pairs.items():
        line(
            f"{name[:12]} against {first[:12]}: {one.wins} tasks won, {one.losses} lost, difference "
            f"{100 * one.difference:+.1f} points, 95% interval {100 * one.interval.low:+.1f} to "
            f"{100 * one.interval.high:+.1f}, mid-p {one.mid_p:.2g}"
        )


def _plain(counts: "Share | Paired") -> dict[str, object]:
    return {**counts._asdict(), "interval": list(counts.interval)}


def _tasks(what: Tasks) -> "Sequence[WorldTask | Task]":
    """The tasks but those that are the gate's.

    Raises:
        RefusedError: all of them are items of a suite.
    """
    if what.environment is not None:
        from rsi.environments import kind

        made = kind(what.environment).tasks(what.count, what.seed, what.pool)
        asked = _not_held_out([one.task_id for one in made])
        return [one for one in made if one.task_id in asked]
    from rsi.tasks.bfcl import halves, task_of

    found = halves(str(what.bfcl))
    parts = {"bank": found.bank, "suite": found.suite}
    if what.half not in parts:
        raise ContractError(f"--half {what.half!r} is none of {', '.join(parts)}")
    taken = parts[what.half][: what.count]
    asked = _not_held_out([one.item for one in taken])
    return [task_of(one) for one in taken if one.item in asked]


def _not_held_out(ids: Sequence[str]) -> set[str]:
    """Those that no suite has: what the gate asks is counted by the gate; looked at beside it, it is spent."""
    from rsi.tasks import heldout

    named = (one.name.split(":", 1) for one in heldout.read(fingerprints_dir(Home.find())).items)
    suites = {item: suite for suite, item in named}
    held = [one for one in ids if one in suites]
    whose = f"{len(held)} of {len(ids)} tasks are items of suite {', '.join(sorted({suites[one] for one in held}))}"
    if held and len(held) == len(ids):
        raise RefusedError(
            f"{whose}: `rsi gate` asks those, and keeps account of it; measure others, by another --seed, --pool, "
            "--half or --bfcl"
        )
    if held:
        warn(f"{whose}, which the gate asks, and are left out")
    return {one for one in ids if one not in suites}


def _outcomes(
    home: Home,
    names: Sequence[str],
    role: str,
    items: "Sequence[WorldTask | Task]",
    what: Tasks,
    temperature: float | None,
) -> "dict[str, list[Outcome]]":
    """What each version made of the tasks, one version after the other."""
    from rsi.engine.chat import Dialogue
    from rsi.engine.weights import read_tokenizer
    from rsi.gate.bench import Bench
    from rsi.gate.measure import Contender, outcomes
    from rsi.harness import hcp
    from rsi.registry import adapters
    from rsi.registry.versions import load
    from rsi.world import real

    world = real(Deployment.read(home.deployment_file), TerminalProgress())
    engine, base = world.engine(), world.base()
    dialogue = Dialogue(read_tokenizer(base.folder))
    found: dict[str, list[Outcome]] = {}
    for name in names:
        version = load(home, name)
        adapter = version.adapters.get(role)
        if adapter is not None:
            adapters.admit(home, adapter, base.digest, adapters.shapes(base.folder))
            engine.load(adapter, adapters.folder(home, adapter))
        harness = hcp.load(home.harnesses, version.harness)
        cap = what.max_tokens or harness.sampling.max_tokens
        contender = Contender(adapter, harness, cap, temperature, what.seed)
        found[name] = outcomes(Bench(engine, lambda: dialogue), contender, items, world.progress)
    return found


def _levels(items: "Sequence[WorldTask | Task]", outcomes: "Sequence[Outcome]") -> dict[str, tuple[int, int]]:
    """Level of a world's tasks -> how many were right, of how many; empty for other tasks."""
    from rsi.records import WorldTask

    found: dict[str, tuple[int, int]] = {}
    for item, outcome in zip(items, outcomes, strict=True):
        if isinstance(item, WorldTask):
            right, count = found.get(str(item.level), (0, 0))
            found[str(item.level)] = (right + (outcome.score == 1.0), count + 1)
    return dict(sorted(found.items()))


def _write(
    out: Path,
    report: Mapping[str, object],
    items: "Sequence[WorldTask | Task]",
    found: "Mapping[str, Sequence[Outcome]]",
) -> None:
    from rsi.ids import canonical
    from rsi.store.files import write_whole

    rows = []
    for at, item in enumerate(items):
        told = {name: outcomes[at] for name, outcomes in found.items()}
        scores = {name: one.kind.value if one.score is None else one.score for name, one in told.items()}
        rows.append({"task": item.task_id, **scores})
    write_whole(out, canonical({**report, "items": rows}))
