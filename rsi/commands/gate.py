"""`rsi gate`: the stage on its own, what its rules do to candidates that are no better, the vault, and the key."""

from typing import TYPE_CHECKING, Annotated

import typer

from rsi.commands import loop
from rsi.commands.say import Json, as_json, line, table
from rsi.report.words import percent

if TYPE_CHECKING:
    from rsi.gate.simulate import Simulated

gate_app = typer.Typer()


@gate_app.callback(invoke_without_command=True)
def gate(
    context: typer.Context,
    night_name: loop.NightOption = None,
    candidate: Annotated[
        str | None, typer.Option(help="Digest of a version to test outside a night's stages.")
    ] = None,
    json: Json = False,
) -> None:
    """Only the fourth stage: test the candidate against the champion under the contract."""
    if context.invoked_subcommand is None:
        loop.gate(night_name, candidate, json)


@gate_app.command()
def simulate(
    gates: Annotated[int, typer.Option(min=10, help="Gates of the champion against itself, a world.")] = 1000,
    runs: Annotated[int, typer.Option(min=10, help="Runs of 200 nights.")] = 400,
    seed: Annotated[int, typer.Option(help="Of everything that is drawn.")] = 1,
    json: Json = False,
) -> None:
    """Run the gate's rules on made-up answers: errors without a gain, power with one, items saved by looking early.

    Exit code 1 where an error is more frequent than its alpha allows.
    """
    from rsi.gate.simulate import simulated

    found = simulated(gates, runs, seed)
    if json:
        as_json(found.plain())
    else:
        _errors(found)
        _power(found)
        _in_order(found)
    if not all(one.within for one in found.rates):
        raise typer.Exit(1)


@gate_app.command()
def audit(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Beginnings of digests; by default every version that was in service, in order."),
    ] = None,
    drawn: Annotated[int, typer.Option(min=10, help="Items of a vault that a generator draws.")] = 90,
    json: Json = False,
) -> None:
    """How versions do on the vault: held-out items that no gate asks. Each look is a ledger record; look seldom."""
    from rsi.gate.audit import audit as ask
    from rsi.ports import SystemClock
    from rsi.registry import champion, versions
    from rsi.report import vault as told
    from rsi.report.progress import TerminalProgress
    from rsi.settings import Deployment, Home
    from rsi.store.ledger import Ledger
    from rsi.world import real

    home = Home.find()
    deployment = Deployment.read(home.deployment_file)
    served = [str(one.output) for one in champion.moves(Ledger(home.ledger, SystemClock()))]
    asked = [versions.find(home, one) for one in names] if names else list(dict.fromkeys(served))
    points = ask(home, deployment, real(deployment, TerminalProgress()), asked, drawn)
    if json:
        as_json([one.model_dump(mode="json") for one in points])
        return
    table(told.COLUMNS, told.rows(points))
    line(f"drawn in {told.write(home, deployment.name, points)}")


@gate_app.command()
def key(json: Json = False) -> None:
    """Make the key that fresh items are drawn by, readable by you alone; one that is there is kept."""
    from rsi.gate.suites import fresh
    from rsi.settings import Home, gate_key

    path = gate_key(Home.find())
    known = fresh.committed(fresh.make(path))
    if json:
        as_json({"path": str(path), "digest": known})
        return
    line(f"{path} is the key of digest {known[:12]}; keep a copy where the gate's people keep theirs, and no other")


@gate_app.command()
def redraw(
    verdict: Annotated[str, typer.Argument(help="Beginning of a verdict's digest, at least 6 digits.")],
    json: Json = False,
) -> None:
    """Draw a verdict's fresh items again, and hold them against its certificate and scorecard. Wants the key."""
    from rsi.gate import replay
    from rsi.settings import Home, contracts_dir

    home = Home.find()
    found = replay.redraw(home, contracts_dir(), replay.find(home, verdict))
    if json:
        as_json([one.plain() for one in found])
        return
    for one in found:
        line(f"{one.suite}: {one.items} items drawn again, digest {one.drawn.items[:12]}, as the certificate says")


def _errors(found: "Simulated") -> None:
    table(
        ("No candidate is better", "passed", "of", "rate", "95% interval", "at most"),
        [
            (
                one.name,
                one.hits,
                one.of,
                percent(one.hits / one.of),
                f"{percent(one.interval.low)} to {percent(one.interval.high)}",
                "no bound" if one.alpha is None else percent(one.alpha),
            )
            for one in found.rates
        ],
    )
    line("")


def _power(found: "Simulated") -> None:
    table(
        ("Items", "alpha", "power at +2", "at +4", "at +8", "found 80% of the time"),
        [
            (
                one.items,
                f"{one.alpha:.2g}",
                *map(percent, one.at),
                percent(one.mde) if one.mde else "nothing",
            )
            for one in found.powers
        ],
        title="A fifth of the items differs; exact",
    )
    line("")
    for points, share, exact in found.found:
        line(
            f"+{100 * points:.0f} points on 1,000 items: found in {percent(share)} of {found.gates:,} nights, "
            f"summed {percent(exact)}"
        )
    line("")


def _in_order(found: "Simulated") -> None:
    table(
        ("True gain", "passed in order", "passed, all asked", "items asked", "saved"),
        [
            (
                f"+{100 * one.points:.0f}",
                percent(one.passed),
                percent(one.fixed),
                percent(one.asked),
                percent(1 - one.asked),
            )
            for one in found.saved
        ],
        title=f"{found.plan.items} items in a fixed order, looked at every {found.every}, "
        f"alpha {found.plan.alpha:.2g}",
    )
