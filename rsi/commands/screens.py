"""What the screens kept out of a bank: list it, look at it, overrule it."""

from collections import Counter
from typing import Annotated

import typer

from rsi.commands.say import Json, as_json, line, table
from rsi.ports import SystemClock
from rsi.settings import Deployment, Home

screens_app = typer.Typer(no_args_is_help=True, help="Proposals that no bank holds, and why.")


@screens_app.command("list")
def screens_list(
    night: Annotated[str | None, typer.Option(help="The night; the last one by default.")] = None,
    reason: Annotated[str | None, typer.Option(help="One line a proposal, of this reason.")] = None,
    json: Json = False,
) -> None:
    """Counts by reason and source, or the proposals of one reason."""
    from rsi.tasks import refused

    home = Home.find()
    found = [one for one in refused.read(home, night) if reason in (None, one.reason)]
    if json:
        as_json([one.model_dump(mode="json") for one in found])
    elif not found:
        line("nothing was refused")
    elif reason is None:
        counts = Counter((one.reason, one.source) for one in found)
        example = {(one.reason, one.source): one.task_id for one in reversed(found)}
        rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
        table(["reason", "source", "proposals", "example"], [[*key, n, example[key]] for key, n in rows])
        line("look at one with `rsi screens show EXAMPLE`")
    else:
        table(["task", "evidence", "held out"], [[one.task_id, one.evidence, one.held_out] for one in found])


@screens_app.command("show")
def screens_show(
    task: Annotated[str, typer.Argument(help="Task id, or its first digits.")], json: Json = False
) -> None:
    """One refusal: the request, what the screen saw, and where it came from."""
    from rsi.store.ledger import Ledger
    from rsi.tasks import overrule
    from rsi.tasks.refused import OVERRULABLE, Reason

    home = Home.find()
    night, one = overrule.find(home, task)
    overruled = (one.task_id, one.reason) in overrule.known(Ledger(home.ledger, SystemClock()))
    if json:
        as_json({"night": night, "overruled": overruled, **one.model_dump(mode="json")})
        return
    line(f"{one.task_id}  refused in night {night}: {one.reason}")
    line(f"request   {one.text}\nexpected  {one.expected}\nsource    {one.source}\nevidence  {one.evidence}")
    if one.held_out:
        line(f"held out  {one.held_out} (its text is the gate's)")
    for trace in one.traces[:5]:
        line(f"trace     rsi traces show {trace}")
    if overruled:
        line("overruled: it passes this screen in the nights to come")
    elif Reason(one.reason) in OVERRULABLE:
        line(f"wrong? `rsi screens overrule {one.task_id} --by NAME --why REASON`")


@screens_app.command("overrule")
def screens_overrule(
    task: Annotated[str, typer.Argument(help="Task id, or its first digits.")],
    by: Annotated[str, typer.Option(help="Who says so.")],
    why: Annotated[str, typer.Option(help="Their reason.")],
    json: Json = False,
) -> None:
    """Say that a refusal is wrong: the task passes this screen from the next night on."""
    from rsi.tasks import overrule

    home = Home.find()
    record = overrule.overrule(home, SystemClock(), Deployment.read(home.deployment_file), task, by, why)
    if json:
        as_json(record.model_dump(mode="json"))
        return
    line(
        f"{record.body['task_id']} passes {record.body['reason']} from the next night on (record {record.seq})"
    )
