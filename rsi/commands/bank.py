"""Banks: what lies in one, what a night would make, and a bank in another trainer's columns."""

from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rsi.commands.say import Json, as_json, line, table
from rsi.errors import ContractError
from rsi.ports import SystemClock
from rsi.records import Pool
from rsi.settings import Deployment, Home

if TYPE_CHECKING:
    from rsi.context import Context
    from rsi.expand.plan import Plan
    from rsi.records import BankManifest, Modes, Task

bank_app = typer.Typer(no_args_is_help=True, help="Banks of tasks.")

BankArgument = Annotated[str | None, typer.Argument(help="Beginning of a digest; the last bank by default.")]


def find(home: Home, name: str | None) -> str:
    """The digest of a bank from its beginning; of the last night's bank by default.

    Raises:
        ContractError: there is none, or more than one.
    """
    from rsi.store.ledger import Ledger

    if name is None:
        record = Ledger(home.ledger, SystemClock()).last(lambda one: one.stage == "expand")
        if record is None or record.output is None:
            raise ContractError("no night has made a bank yet; run `rsi expand` or `rsi nightly`")
        return record.output
    known = home.banks.glob(f"{name}*") if name.isalnum() else ()
    found = sorted(path.name for path in known if path.is_dir())
    if len(found) != 1:
        raise ContractError(f"{len(found)} banks in {home.banks} begin with {name!r}; expected one")
    return found[0]


def told(home: Home, name: str) -> dict[str, object]:
    """What a bank's manifest says, with its table and grid, for JSON."""
    from rsi.tasks import bank

    said = bank.manifest(home, name)
    cells, rows = _grid(said), _table(said)
    return {"bank": name, **said.model_dump(mode="json"), "table": rows, "coverage": cells}


@bank_app.command("show")
def bank_show(name: BankArgument = None, json: Json = False) -> None:
    """What lies in a bank, what each source was worth, and the cells that hold a task."""
    home = Home.find()
    found = find(home, name)
    if json:
        as_json(told(home, found))
        return
    show_manifest(home, found)


def show_manifest(home: Home, name: str) -> None:
    """A bank for a person."""
    from rsi.expand.phases import COLUMNS
    from rsi.tasks import bank

    said = bank.manifest(home, name)
    line(
        f"bank {name[:12]} of night {said.night}: {said.tasks} tasks, {said.replayed} of them replayed, "
        f"{said.synthetic} made up, {said.measured} measured"
    )
    table(["source", "tasks"], [[source, count] for source, count in said.by_source.items()])
    table(COLUMNS, [list(row.values()) for row in _table(said)], "\nwhat each source was worth")
    table(
        ["mode", "dimension", "cells", "filled", "empty"],
        [list(row.values()) for row in _grid(said)],
        "\ncells that tasks were wanted for",
    )
    if said.rejected:
        table(["refused because", "proposals"], [list(one) for one in said.rejected.items()], "\nrefused")
    if said.research:
        table(["hypotheses", "count"], [list(one) for one in said.research.items()], "\nAutoResearch")


@bank_app.command("make")
def bank_make(
    environment: Annotated[
        str | None, typer.Option(help="A world whose generator makes the tasks, for instance desk.")
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="Tasks that it makes.")] = 400,
    seed: Annotated[int, typer.Option(help="Another seed, other tasks.")] = 1,
    pool: Annotated[Pool, typer.Option(help="Which of its tasks.")] = Pool.TRAIN,
    levels: Annotated[
        list[int] | None, typer.Option("--level", help="Keep only those of this level; may be said again.")
    ] = None,
    bfcl: Annotated[
        str | None,
        typer.Option(help="In its place the training half of a BFCL file, for instance live_simple."),
    ] = None,
    json: Json = False,
) -> None:
    """A bank without traces, screened as a night's are; `rsi update --bank` trains on those of a world."""
    from rsi.settings import fingerprints_dir
    from rsi.tasks import bank, heldout
    from rsi.tasks.overlap import Index
    from rsi.tasks.screen import Rules, judging, screen

    home = Home.find()
    deployment = Deployment.read(home.deployment_file)
    if (environment is None) == (bfcl is None):
        raise ContractError("say either --environment or --bfcl")
    proposals = (
        _of_world(environment, count, seed, pool, levels or ()) if environment else _of_bfcl(str(bfcl))
    )
    known = heldout.read(fingerprints_dir(home))
    rules = Rules(licences=frozenset(deployment.expand.licences), verifiers=judging(deployment))
    passed = screen(proposals, Index(known.items, deployment.expand.overlap), rules)
    account = bank.Account(rejected=dict(passed.rejected), screens=dict(known.digests))
    made = bank.freeze(home, f"{environment}-{seed}" if environment else str(bfcl), passed.tasks, account)
    if json:
        as_json({"bank": made, "tasks": len(passed.tasks), "refused": dict(passed.rejected)})
        return
    line(
        f"bank {made}: {len(passed.tasks)} of {len(proposals)} tasks, refused {dict(passed.rejected) or 'none'}"
    )


def _of_world(environment: str, count: int, seed: int, pool: Pool, levels: Collection[int]) -> "list[Task]":
    from rsi.environments import kind
    from rsi.tasks.worlds import task_of

    world = kind(environment)
    shown = world.open()
    made = world.tasks(count, seed, pool)
    return [task_of(one, shown) for one in made if not levels or one.level in levels]


def _of_bfcl(name: str) -> "list[Task]":
    from rsi.tasks.bfcl import halves, task_of

    return [task_of(one) for one in halves(name).bank]


@bank_app.command("export")
def bank_export(
    out: Annotated[Path, typer.Argument(help="File to write: .parquet, or .jsonl.")],
    name: Annotated[str | None, typer.Option("--bank", help="Beginning of a digest.")] = None,
    format: Annotated[str, typer.Option(help="verl, trl or messages.")] = "verl",
    json: Json = False,
) -> None:
    """A bank in the columns of another trainer, prompts rendered by the harness of the version in service."""
    from rsi.harness import hcp
    from rsi.registry import champion, versions
    from rsi.store.ledger import Ledger
    from rsi.tasks import bank
    from rsi.tasks.columns import FORMATS, rows, write

    if format not in FORMATS:
        raise ContractError(f"no format is called {format!r}; there are {', '.join(FORMATS)}")
    home = Home.find()
    found = find(home, name)
    version = versions.load(home, champion.current(Ledger(home.ledger, SystemClock())))
    made = rows(bank.load(home, found), hcp.load(home.harnesses, version.harness), format)
    write(out, made)
    if json:
        as_json({"bank": found, "format": format, "rows": len(made), "file": str(out)})
        return
    line(f"{len(made)} tasks of bank {found[:12]} are in {out}, in the columns of {format}")


def dry_run(json: bool) -> None:
    """What `rsi expand --dry-run` prints: the plan for the modes of the last night that looked."""
    from rsi.commands.modes import last_modes
    from rsi.expand.plan import plan

    home = Home.find()
    deployment = Deployment.read(home.deployment_file)
    modes = last_modes(home)
    found = plan(_context(home, deployment, modes), modes)
    if json:
        as_json(found.model_dump(mode="json"))
        return
    _show_plan(found)


def _context(home: Home, deployment: Deployment, modes: "Modes") -> "Context":
    from rsi.context import Context, Start
    from rsi.ids import night
    from rsi.registry import champion
    from rsi.store.database import last_ordinal, store_batch
    from rsi.store.ledger import Ledger
    from rsi.world import real

    world = real(deployment)
    with store_batch(home, world.clock, "expand --dry-run") as connection:
        ordinal = last_ordinal(connection)
    start = Start(
        night=night(datetime.now(UTC)),
        champion=champion.current(Ledger(home.ledger, world.clock)),
        ordinal=ordinal,
        deployment=deployment.digest,
        previous=modes.digest,
    )
    return Context(home, deployment, world, start)


def _show_plan(found: "Plan") -> None:
    from rsi.expand.phases import COLUMNS
    from rsi.expand.phases import table as worth

    line(f"would make {found.tasks} tasks; nothing was written")
    table(["source", "tasks"], [list(one) for one in found.by_source.items()])
    table(["mode", "tasks"], [list(one) for one in found.by_mode.items()])
    table(COLUMNS, worth(found.phases, len(found.by_cell)), "\nwhat each source would be worth")
    table(
        ["cell", "tasks"], [list(one) for one in found.by_cell.items()], "\ncells that tasks are wanted for"
    )
    if found.refused:
        table(["refused because", "proposals"], [list(one) for one in found.refused.items()], "\nrefused")
    table(
        ["purpose", "hop", "calls", "prompt tokens", "seconds"],
        [[one.purpose, one.hop, one.calls, one.prompt_tokens, one.seconds] for one in found.costs],
        "\nwhat asking models would take",
    )
    for hop, rate in found.measured.items():
        line(f"a call of hop {hop} takes {rate.seconds:.3f} s, the mean of {rate.calls} that were timed")


def _table(said: "BankManifest") -> list[dict[str, object]]:
    from rsi.expand.phases import COLUMNS
    from rsi.expand.phases import table as worth

    return [dict(zip(COLUMNS, row, strict=True)) for row in worth(said.phases, len(said.asked))]


def _grid(said: "BankManifest") -> list[dict[str, object]]:
    from rsi.expand.coverage import grid

    return [
        {"mode": mode, "dimension": dimension, "cells": cells, "filled": filled, "empty": ", ".join(empty)}
        for (mode, dimension), (cells, filled, empty) in grid(said.asked, said.empty).items()
    ]
