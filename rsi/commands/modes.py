"""Failure modes of the last night."""

from typing import Annotated

import typer

from rsi.commands.say import Json, as_json, line, table
from rsi.errors import ContractError
from rsi.ports import SystemClock
from rsi.records import FailureMode, Modes
from rsi.report.words import plural
from rsi.settings import Home

modes_app = typer.Typer(invoke_without_command=True, help="Failure modes of the last night.")

_ASKED = (
    "select trace_uid, left(input_text, 160) from traces where list_contains($uids::varchar[], trace_uid)"
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


def the_mode(modes: Modes, said: str) -> FailureMode:
    """The mode with that id, or those first digits of it, or that rank.

    Raises:
        ContractError: there is none, or there are several.
    """
    found = [one for one in modes.modes if said in (one.mode_id, str(one.rank))]
    found = found or [one for one in modes.modes if len(said) > 2 and one.mode_id.startswith(said)]
    if len(found) != 1:
        count = "several failure modes" if found else "no failure mode"
        raise ContractError(f"{said!r} names {count} of night {modes.night}; see `rsi modes`")
    return found[0]


@modes_app.callback()
def modes_list(context: typer.Context, json: Json = False) -> None:
    """List them, most important first."""
    if context.invoked_subcommand:
        return
    home = Home.find()
    found = last_modes(home)
    if json:
        as_json(found.model_dump(mode="json"))
        return
    line(
        f"night {found.night}: {found.failures} of {found.traces} traces show a sign of failure, in "
        f"{len(found.modes)} modes"
    )
    line(_unseen(found))
    table(
        ["rank", "mode", "status", "traces", "of", "rate", "95% interval", "priority", "blame", "what"],
        [_row(one) for one in found.modes],
    )
    waiting = _labels(home) - found.labels
    if waiting > 0:
        line(
            f"{plural(waiting, 'label')} came since, to count from the next night on (`rsi modes label list`)"
        )


def _row(one: FailureMode) -> list[object]:
    note = f" (won't fix: {one.wont_fix})" if one.wont_fix else ""
    return [
        one.rank,
        one.mode_id,
        one.status.value,
        one.count,
        one.opportunities,
        f"{one.rate:.1%}",
        f"{one.low:.1%} to {one.high:.1%}",
        f"{one.priority:.1f}",
        one.blame.value,
        one.title + note,
    ]


def _unseen(found: Modes) -> str:
    unseen = found.unseen
    if unseen is None:
        return "nothing failed, so that nothing is known of what is unseen"
    return (
        f"unseen: {unseen.share:.1%} of the signs of failure to come are expected to be of modes not seen yet "
        f"(Good-Turing: {unseen.once} modes seen once, {unseen.signs} signs), which are at least {unseen.modes:.1f} "
        "(Chao1)"
    )


def _labels(home: Home) -> int:
    from rsi.discover.labels import codebook, labels_of
    from rsi.store.ledger import Ledger

    return codebook(labels_of(Ledger(home.ledger, SystemClock()))).labels


@modes_app.command("show")
def modes_show(
    mode: Annotated[str, typer.Argument(help="Mode id, its first digits, or a rank.")], json: Json = False
) -> None:
    """One mode explained: status, rank with its formula, history, topics, examples with evidence."""
    home = Home.find()
    modes = last_modes(home)
    found = the_mode(modes, mode)
    if json:
        as_json(found.model_dump(mode="json"))
        return
    line(f"{found.mode_id}  {found.title}")
    line(f"signature   {found.signature}")
    for other in found.signatures[1:]:
        line(f"  and       {other} (merged)")
    line(f"status      {found.status.value}{_fixed(found)}; first seen in night {found.first_seen}")
    line(
        f"rate        {found.count} of {found.opportunities} traces that could show it, {found.rate:.1%}, "
        f"95% interval {found.low:.1%} to {found.high:.1%}"
    )
    line(f"blame       {found.blame.value}{'' if found.trainable else '; not trained'}")
    if found.wont_fix:
        line(f"won't fix   {found.wont_fix}")
    _explain_rank(found)
    table(
        ["night", "version", "traces", "of", "rate"],
        [
            [one.night, one.version[:12], one.hits, one.chances, f"{one.hits / one.chances:.1%}"]
            for one in found.history
            if one.chances
        ],
        title="\nNew traces of each night, by version",
    )
    if found.topics:
        table(
            ["topic", "traces", "words"],
            [[one.topic_id, one.count, ", ".join(one.terms)] for one in found.topics],
            title="\nWhat its traces ask for (rsi modes label split makes a mode of one)",
        )
    _examples(home, found)


def _fixed(found: FailureMode) -> str:
    if found.fix is None:
        return ""
    said = f"version {found.fix.version[:12]} in the traces of nights {found.fix.since} to {found.fix.until}"
    return f" (fixed by {said}; before it the rate was {found.fix.was:.1%})"


def _explain_rank(found: FailureMode) -> None:
    from rsi.discover.rank import FORMULA

    if found.factors is None:
        return
    one = found.factors
    line(f"rank        {found.rank}: priority {found.priority:.3f} = {FORMULA}")
    line(
        f"            {one.frequency:.2f} per thousand traces x {one.severity:.2f} x {one.recency:.2f} x "
        f"{one.learnability:.2f} x {one.standing:g}"
    )
    line(
        f"            {one.mixed} of {one.repeated} repeated requests that show it passed at times: "
        f"({one.mixed} + 1) / ({one.repeated} + 2) can be learnt from"
    )
    if not one.frequency:
        line("            it counts nothing: other modes say what went wrong in all of its traces")


def _examples(home: Home, found: FailureMode) -> None:
    from rsi.store.snapshot import open_snapshot

    asked: dict[str, str] = {}
    if home.snapshot.exists():
        with open_snapshot(home) as connection:
            asked = dict(connection.execute(_ASKED, {"uids": list(found.examples)}).fetchall())
    line("\nExamples (rsi traces show ID)")
    says = {one.trace_uid: one.says for one in found.evidence}
    for example in found.examples:
        line(f"  {example}")
        if asked.get(example):
            line(f"    asked  {' '.join(asked[example].split())}")
        if says.get(example):
            line(f"    shows  {says[example]}")
