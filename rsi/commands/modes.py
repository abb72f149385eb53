"""Failure modes of the last night."""

from typing import Annotated

import typer

from rsi.commands.say import Json, as_json, line, table
from rsi.errors import ContractError
from rsi.ports import SystemClock
from rsi.records import Modes
from rsi.settings import Home

modes_app = typer.Typer(invoke_without_command=True, help="Failure modes of the last night.")


def last_modes(home: Home) -> Modes:
    """The failure modes of the last night that looked.

    Raises:
        ContractError: no night has.
    """
    from rsi.store.ledger import Ledger

    record = Ledger(home.ledger, SystemClock()).last(lambda one: one.stage == "discover")
    if record is None:
        raise ContractError("no night has looked for failure modes yet; run `rsi discover` or `rsi nightly`")
    return Modes.parse((home.modes / f"{record.output}.json").read_bytes())


@modes_app.callback()
def modes_list(context: typer.Context, json: Json = False) -> None:
    """List them, most important first."""
    if context.invoked_subcommand:
        return
    found = last_modes(Home.find())
    if json:
        as_json(found.model_dump(mode="json"))
        return
    line(f"night {found.night}: {found.failures} of {found.traces} traces failed in {len(found.modes)} modes")
    table(
        ["rank", "mode", "status", "count", "of", "rate", "95% interval", "what"],
        [
            [
                one.rank,
                one.mode_id,
                one.status.value,
                one.count,
                one.opportunities,
                f"{one.rate:.0%}",
                f"{one.low:.0%} to {one.high:.0%}",
                one.title,
            ]
            for one in found.modes
        ],
    )


@modes_app.command("show")
def modes_show(mode: Annotated[str, typer.Argument(help="Mode id.")], json: Json = False) -> None:
    """One mode with its history and examples."""
    found = next((one for one in last_modes(Home.find()).modes if one.mode_id == mode), None)
    if found is None:
        raise ContractError(f"no failure mode {mode!r} in the last night; see `rsi modes`")
    if json:
        as_json(found.model_dump(mode="json"))
        return
    line(f"{found.mode_id}  {found.title}\nsignature   {found.signature}\nstatus      {found.status.value}")
    line(
        f"rate        {found.count} of {found.opportunities}, 95% interval {found.low:.1%} to {found.high:.1%}"
    )
    line(f"first seen  {found.first_seen}")
    for version, (count, total) in found.by_version.items():
        line(f"version     {version[:12]}: {count} of {total}")
    for example in found.examples:
        line(f"example     rsi traces show {example}")
