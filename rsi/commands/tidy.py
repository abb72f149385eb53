"""Remove what is older than the deployment wants to keep it."""

from collections import Counter
from typing import Annotated

import typer

from rsi.commands.say import Json, as_json, line
from rsi.ports import SystemClock
from rsi.report.words import plural
from rsi.settings import Deployment, Home


def tidy(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would go, and remove nothing.")
    ] = False,
    json: Json = False,
) -> None:
    r"""Remove what \[retention] names: spool that was read, what jobs worked with, stores of older versions."""
    from rsi.store.retention import Kind, old
    from rsi.store.retention import tidy as remove

    home = Home.find()
    retention = Deployment.read(home.deployment_file).retention
    found = (old if dry_run else remove)(home, retention, SystemClock())
    counts, sizes = Counter(one.kind for one in found), Counter[Kind]()
    for one in found:
        sizes[one.kind] += one.bytes
    if json:
        as_json(
            {
                "removed": not dry_run,
                **{kind.value: {"count": counts[kind], "bytes": sizes[kind]} for kind in Kind},
                "paths": [str(one.path) for one in found],
            }
        )
        return
    if not any(value is not None for value in retention.model_dump().values()):
        line("nothing is ever removed: name days in [retention] of the deployment file")
        return
    for kind in Kind:
        line(f"{kind.value:9} {plural(counts[kind], 'thing')}, {sizes[kind] / 1e6:.1f} MB")
    line("nothing was removed" if dry_run else "removed")
