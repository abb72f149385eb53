"""All commands as one: ``rsi --help``. They live in the modules beside this one; heavy imports wait until one needs
them."""

import os
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
    play,
    quarantine,
    rollouts,
    screens,
    service,
    traces,
    versions,
    watch,
)

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
    play.play,
    versions.approve,
    versions.promote,
    versions.rollback,
    loop.nightly,
    watch.watch,
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
