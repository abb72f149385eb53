"""Traces into the store, and the store into the readers' snapshot."""

from typing import TYPE_CHECKING, Annotated

import typer

from rsi.commands.say import Json, as_json, line, table, warn
from rsi.ports import SystemClock
from rsi.records import Origin
from rsi.report.progress import TerminalProgress
from rsi.report.words import plural
from rsi.settings import Deployment, Home

if TYPE_CHECKING:
    from rsi.traces.ingest import Totals


def ingest(
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            help="Files, folders, patterns, URLs, or - for standard input; the inbox if none is given."
        ),
    ] = None,
    origin: Annotated[Origin | None, typer.Option(help="Origin of records that do not say.")] = None,
    namespace: Annotated[
        str | None, typer.Option(help="Prefix of their ids; the deployment's by default.")
    ] = None,
    keep_raw: Annotated[
        bool,
        typer.Option(
            "--keep-raw", help="Keep the raw text as it came; the tables are redacted all the same."
        ),
    ] = False,
    snapshot: Annotated[bool, typer.Option(help="Remake the readers' snapshot at the end.")] = True,
    json: Json = False,
) -> None:
    """Load traces; what cannot be read goes to quarantine with file, line and reason."""
    from rsi.store.snapshot import refresh
    from rsi.traces.ingest import ingest as load

    home, clock = Home.find(), SystemClock()
    deployment = Deployment.read(home.deployment_file)
    if keep_raw:
        redaction = deployment.redaction.model_copy(update={"keep_raw": True})
        deployment = deployment.model_copy(update={"redaction": redaction})
    totals = load(
        home,
        clock,
        inputs or [home.inbox],
        origin=origin,
        namespace=namespace,
        progress=TerminalProgress(),
        deployment=deployment,
    )
    if snapshot:
        refresh(home, clock)
    if json:
        as_json(totals.model_dump(mode="json"))
    else:
        _told(totals)


def _told(totals: "Totals") -> None:
    table(
        ["file", "read", "loaded", "duplicates", "quarantined", "held out"],
        [
            [
                one.uri
                + (" (known)" if one.known else " (skipped: no kind that is read)" if one.skipped else ""),
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
    if totals.redacted:
        counts = ", ".join(f"{count} {kind}" for kind, count in sorted(totals.redacted.items()))
        line(f"replaced by pseudonyms: {counts}")
    if totals.moved:
        line(f"went to the side that a session gives, which came late: {plural(totals.moved, 'trace')}")
    if totals.stayed:
        line(f"did not go there, since a night may have read it: {plural(totals.stayed, 'trace')}")
    if totals.quarantined:
        warn("see them: rsi quarantine list")


def snapshot(json: Json = False) -> None:
    """Remake the readers' snapshot if something changed."""
    from rsi.store.snapshot import refresh

    home = Home.find()
    remade = refresh(home, SystemClock())
    if json:
        as_json({"path": str(home.snapshot), "remade": remade})
        return
    line(f"{home.snapshot} {'remade' if remade else 'is up to date'}")
