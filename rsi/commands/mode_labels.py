"""`rsi modes label`: what a person says of a failure mode; it counts from the next night on, in every night."""

from typing import Annotated

import typer

from rsi.commands.modes import last_modes, the_mode
from rsi.commands.say import Json, as_json, line, table
from rsi.ports import SystemClock
from rsi.settings import Home

labels_app = typer.Typer(help="Rename, merge, split, or mark as won't fix; every label can be undone.")

Mode = Annotated[str, typer.Argument(help="Mode id, its first digits, or a rank.")]
By = Annotated[str, typer.Option("--by", help="Your name.")]
Reason = Annotated[str, typer.Option("--reason", help="Why, in one line.")]


@labels_app.command("list")
def labels_list(json: Json = False) -> None:
    """All labels, oldest first."""
    from rsi.discover.labels import Action, labels_of
    from rsi.store.ledger import Ledger

    found = labels_of(Ledger(Home.find().ledger, SystemClock()))
    if json:
        as_json({seq: one.model_dump(mode="json") for seq, one in found.items()})
        return
    undone = {one.undoes for one in found.values() if one.action is Action.UNDO}
    table(
        ["label", "by", "mode", "action", "says", "counts"],
        [
            [
                seq,
                one.by,
                one.mode,
                one.action.value,
                one.title
                or one.into
                or one.topic
                or one.reason
                or (f"label {one.undoes}" if one.undoes else ""),
                "no, undone" if seq in undone else "yes",
            ]
            for seq, one in found.items()
        ],
    )


@labels_app.command("rename")
def rename(
    mode: Mode, title: Annotated[str, typer.Argument(help="The new title.")], by: By, json: Json = False
) -> None:
    """Give a mode another title."""
    _say(json, action="rename", mode=mode, title=title, by=by)


@labels_app.command("merge")
def merge(
    mode: Mode,
    into: Annotated[str, typer.Option("--into", help="The mode that stays.")],
    by: By,
    reason: Reason = "",
    json: Json = False,
) -> None:
    """Count the traces of one mode under another."""
    _say(json, action="merge", mode=mode, into=into, by=by, reason=reason)


@labels_app.command("split")
def split(
    mode: Mode,
    topic: Annotated[str, typer.Argument(help="Topic id; `rsi modes show` has them.")],
    by: By,
    reason: Reason = "",
    json: Json = False,
) -> None:
    """Make a mode of its own from one topic of a mode."""
    _say(json, action="split", mode=mode, topic=topic, by=by, reason=reason)


@labels_app.command("wont-fix")
def wont_fix(mode: Mode, by: By, reason: Reason, json: Json = False) -> None:
    """Keep a mode out of training; it stays in the list, at its end."""
    _say(json, action="wont_fix", mode=mode, by=by, reason=reason)


@labels_app.command("undo")
def undo(
    label: Annotated[int, typer.Argument(help="Number of the label.")],
    by: By,
    reason: Reason = "",
    json: Json = False,
) -> None:
    """Take a label back."""
    _say(json, action="undo", undoes=label, by=by, reason=reason)


def _say(json: bool, **said: object) -> None:
    from rsi.discover.labels import ModeLabel, say

    home = Home.find()
    modes = last_modes(home)
    for name in ("mode", "into"):
        if said.get(name):
            said[name] = the_mode(modes, str(said[name])).mode_id
    number = say(home, SystemClock(), modes, ModeLabel.model_validate(said))
    if json:
        as_json({"label": number, **said})
        return
    line(
        f"label {number} counts from the next night on; `rsi modes label undo {number} --by NAME` takes it back"
    )
