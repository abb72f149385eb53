"""`rsi gate`: the stage on its own, and what its rules do to candidates that are known to be no better."""

from typing import Annotated

import typer

from rsi.commands import loop
from rsi.commands.say import Json, as_json, line, table

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
    from rsi.gate import simulate as simulation
    from rsi.report.words import percent
    from rsi.statistics.power import items_needed
    from rsi.statistics.sequential import Plan

    rates = (*simulation.against_itself(gates, seed), *simulation.nights(runs, seed))
    powers, found = simulation.powers(), simulation.found(gates, seed)
    items = items_needed(simulation.DISCORDANCE, 0.04) or 760
    plan = Plan(items, 0.05, 0.04, 0.1)
    saved = simulation.savings(gates, seed, plan)
    if json:
        as_json(
            {
                "seed": seed,
                "errors": [
                    {
                        **one._asdict(),
                        "rate": one.hits / one.of,
                        "interval": list(one.interval),
                        "within": one.within,
                    }
                    for one in rates
                ],
                "power": [one._asdict() for one in powers],
                "power_simulated": [
                    {"points": points, "found": share, "summed": exact} for points, share, exact in found
                ],
                "in_order": [{**vars(one)} for one in saved],
                "plan": {"items": plan.items, "alpha": plan.alpha, "effect": plan.effect, "beta": plan.beta},
            }
        )
    else:
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
                for one in rates
            ],
        )
        line("")
        table(
            ("Items", "alpha", "power at +2", "at +4", "at +8", "found 80% of the time"),
            [
                (
                    one.items,
                    f"{one.alpha:.2g}",
                    *map(percent, one.at),
                    percent(one.mde) if one.mde else "nothing",
                )
                for one in powers
            ],
            title="A fifth of the items differs; exact",
        )
        line("")
        for points, share, exact in found:
            line(
                f"+{100 * points:.0f} points on 1,000 items: found in {percent(share)} of {gates:,} nights, "
                f"summed {percent(exact)}"
            )
        line("")
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
                for one in saved
            ],
            title=f"{items} items in a fixed order, looked at every {simulation.EVERY}, alpha 0.05",
        )
    if not all(one.within for one in rates):
        raise typer.Exit(1)
