"""`rsi lineage`: where a version, an adapter, a harness or a bank came from; `rsi gc`: what nothing reaches."""

from typing import TYPE_CHECKING, Annotated

import typer

from rsi.commands.say import Json, as_json, line, out, table
from rsi.ports import SystemClock
from rsi.registry import champion
from rsi.report.words import inert_terminal, plural
from rsi.settings import Home
from rsi.store.ledger import Ledger
from rsi.store.locks import hold

if TYPE_CHECKING:
    from rich.tree import Tree

    from rsi.registry.lineage import Step

SHOWN = 4
"""Traces of a mode that are named on the terminal."""


def lineage(
    name: Annotated[
        str,
        typer.Argument(help="`champion`, an adapter, or the first digits of a version, a harness or a bank."),
    ] = "champion",
    json: Json = False,
) -> None:
    """Walk from a version to its adapter, job, bank, modes and traces, and to what was said of it."""
    from rsi.registry.lineage import find
    from rsi.registry.lineage import lineage as walk

    home = Home.find()
    ledger = Ledger(home.ledger, SystemClock())
    now = champion.current(ledger)
    meant, *others = find(home, ledger, name)
    steps = walk(home, ledger, meant)
    if json:
        as_json([one.model_dump(mode="json") for one in steps])
        return
    if others:
        line(f"{name} is in {plural(len(others) + 1, 'version')}; it came with {meant[:12]}")
    for one in steps:
        out.print(_drawn(one, now))


def _drawn(step: "Step", now: str) -> "Tree":
    from rich.tree import Tree

    state = " (in service)" if step.version == now else " (was in service)" if step.served else ""
    tree = Tree(f"version {step.version[:12]}{state}")
    tree.add(f"harness {step.harness[:12]}{_new(step, step.harness)}")
    for role, adapter in step.adapters.items():
        tree.add(inert_terminal(f"adapter {role}: {adapter}{_new(step, adapter)}"))
    if step.job:
        start = f", from {step.warm_start}" if step.warm_start else ", from fresh weights"
        tree.add(inert_terminal(f"job {step.job[:12]}{start}"))
    if step.bank:
        made = f", night {step.night}" if step.night else ""
        bank = tree.add(
            f"bank {step.bank[:12]}: {plural(step.tasks, 'task')} from {plural(len(step.traces), 'trace')}{made}"
        )
        for mode in step.covered:
            traces = ", ".join(trace[:12] for trace in mode.traces[:SHOWN])
            rest = f", … ({len(mode.traces)} in all: --json)" if len(mode.traces) > SHOWN else ""
            bank.add(inert_terminal(f"{mode.signature}: {plural(mode.tasks, 'task')}, traces {traces}{rest}"))
    for judged in step.verdicts:
        tree.add(f"verdict {judged.verdict[:8]}: {judged.judgement}, {judged.contract}, night {judged.night}")
    for event in step.events:
        about = f" of verdict {event.verdict[:8]}" if event.verdict else ""
        by = f" by {event.who}" if event.who else ""
        tree.add(
            inert_terminal(f"{event.at[:16]} {event.kind}{about}{by}{': ' if event.why else ''}{event.why}")
        )
    if step.parent:
        tree.add(f"made from {step.parent[:12]}")
    return tree


def _new(step: "Step", thing: str) -> str:
    return " (new)" if step.parent and thing in step.changed else ""


def gc(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would go, and delete nothing.")
    ] = False,
    days: Annotated[float, typer.Option(min=0, help="Delete nothing younger.")] = 30.0,
    keep: Annotated[int, typer.Option(min=1, help="Champions before the one in service to keep.")] = 1,
    json: Json = False,
) -> None:
    """Delete adapters that neither the champion, nor those before it, nor an open request reaches."""
    from rsi.registry.collect import collect, waste

    home, clock = Home.find(), SystemClock()
    if dry_run:
        found = waste(home, clock, days, keep)
    else:
        with hold(home.night_lock, "gc", clock.now().isoformat(timespec="seconds")):
            found = collect(home, clock, days, keep)
    total = sum(one.bytes for one in found)
    if json:
        things = [{"kind": one.kind, "name": one.name, "bytes": one.bytes} for one in found]
        as_json({"deleted": not dry_run, "bytes": total, "things": things})
        return
    if found:
        table(("What", "Name", "MB"), [(one.kind, one.name, round(one.bytes / 1e6, 1)) for one in found])
    word = "would be freed" if dry_run else "freed"
    line(f"{total / 1e6:.1f} MB {word}; nothing younger than {days:g} days goes")
