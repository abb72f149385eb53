"""A home's backup, and a home from it."""

from pathlib import Path
from typing import Annotated

import typer

from rsi.commands.say import Json, as_json, line
from rsi.errors import IntegrityError
from rsi.ports import SystemClock
from rsi.report.words import plural
from rsi.settings import Home


def backup(
    target: Annotated[
        Path,
        typer.Argument(help="A folder that is not there yet, or a file ending in .tar, .tar.gz or .tgz."),
    ],
    json: Json = False,
) -> None:
    """Copy the home, also while a night trains, and read the copy back against its digests.

    It holds the home's key and the held-out text: keep it where you keep secrets. Contracts are not in it.
    """
    from rsi.store.backup import backup as make
    from rsi.store.backup import verify

    manifest = make(Home.find(), SystemClock(), target.resolve())
    if target.is_dir():
        verify(target)
    if json:
        as_json(
            {
                "backup": str(target),
                **manifest.model_dump(mode="json", exclude={"files"}),
                "files": len(manifest.files),
            }
        )
        return
    line(
        f"{target} holds {plural(len(manifest.files), 'file')}, {manifest.bytes / 1e6:.1f} MB, "
        f"up to ledger record {manifest.records}; `rsi restore` makes a home of it"
    )


def restore(
    source: Annotated[Path, typer.Argument(help="A backup: a folder or a file.")],
    json: Json = False,
) -> None:
    """Make the home (RSI_HOME, which must be new) from a backup, and check it; exit code 3 where something breaks."""
    from rsi.registry import champion
    from rsi.registry.verify import verify
    from rsi.store.backup import restore as make
    from rsi.store.snapshot import refresh

    home, clock = Home.find(), SystemClock()
    manifest = make(source.resolve(), home)
    champion.point(home, clock)  # it names places of the home that was backed up
    report = verify(home, clock)
    refresh(home, clock)
    if json:
        as_json(
            {
                "home": str(home.root),
                "records": manifest.records,
                "findings": [one._asdict() for one in report.findings],
            }
        )
    else:
        line(f"{home.root} is as it was at {manifest.made_at}: {plural(manifest.records, 'ledger record')}")
        for one in report.findings:
            line(f"{one.invariant}: {one.text}")
    if report.findings:
        raise typer.Exit(IntegrityError.exit_code)
    if not json:
        line("all invariants hold; next: `rsi serve`, `rsi nightly`")
