"""The command line: ``rsi --help``. Commands live in `rsi.commands`; heavy imports wait until one needs them.

Exit codes: 0 ok (also a night that stays quiet), 1 refused by a gate or a rule, 2 usage, 3 integrity, 75 try again.
"""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from rsi.commands import (
    ask,
    assets,
    bank,
    dashboards,
    gate,
    ingest,
    loop,
    measure,
    mode_labels,
    modes,
    quarantine,
    rollouts,
    screens,
    service,
    traces,
    versions,
)
from rsi.commands.say import line, warn
from rsi.errors import QuietError, RsiError, TransientError
from rsi.settings import quiet_dependencies

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Make a deployed language model and its harness better every night, and never worse.",
)


@app.callback()
def _options(
    home: Annotated[Path | None, typer.Option(help="Folder of the deployment.", envvar="RSI_HOME")] = None,
) -> None:
    if home is not None:
        os.environ["RSI_HOME"] = str(home)


for _command in (
    loop.init,
    service.doctor,
    ingest.ingest,
    ask.sql,
    loop.discover,
    loop.expand,
    loop.update,
    rollouts.rollouts,
    measure.measure,
    versions.approve,
    versions.promote,
    versions.rollback,
    loop.nightly,
    service.serve,
    dashboards.dashboards,
    versions.status,
    versions.lineage,
    versions.verify,
    ingest.snapshot,
    versions.report,
    service.demo,
):
    app.command()(_command)
for _name, _group in {
    "gate": gate.gate_app,
    "assets": assets.assets_app,
    "traces": traces.traces_app,
    "quarantine": quarantine.quarantine_app,
    "modes": modes.modes_app,
    "bank": bank.bank_app,
    "screens": screens.screens_app,
}.items():
    app.add_typer(_group, name=_name)


modes.modes_app.add_typer(mode_labels.labels_app, name="label")


def main() -> None:
    """Run one command; an error of ours is one line and its exit code."""
    quiet_dependencies()
    try:
        app()
    except QuietError as quiet:
        line(str(quiet))
    except RsiError as error:
        warn(f"rsi: {error}")
        sys.exit(error.exit_code)
    except OSError as error:
        what = f"{error.strerror or error}: {error.filename}" if error.filename else str(error)
        warn(f"rsi: {what}; nothing half-written was kept, mend it and run the same command again")
        sys.exit(TransientError.exit_code)
    except KeyboardInterrupt:
        warn("rsi: stopped; run the same command again to go on")
        sys.exit(130)


if __name__ == "__main__":
    main()
