"""Traces one by one: list, show, label, delete, export."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import orjson
import typer

from rsi.commands.say import Json, as_json, line, table, warn
from rsi.errors import ContractError
from rsi.ports import SystemClock
from rsi.report.progress import TerminalProgress
from rsi.report.words import plural, tidy
from rsi.settings import Home

if TYPE_CHECKING:
    from rsi.traces.delete import Deleted
    from rsi.traces.shown import Call, Shown
    from rsi.traces.tree import Branch

traces_app = typer.Typer(
    no_args_is_help=True, help="Look at traces, label them, delete them, give them to others."
)

DATES = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]
TraceArgument = Annotated[str, typer.Argument(help="Trace id, its first digits, or the producer's id.")]
_LISTED = """
select
    t.trace_uid, t.start_ts, t.format, t.origin, t.agent, t.route, t.version, t.conversation,
    o.outcome, o.rule, t.input_text
from traces t
join outcomes o using (trace_uid)
where ($outcome is null or o.outcome = $outcome) and ($origin is null or t.origin = $origin)
    and ($agent is null or t.agent = $agent) and ($conversation is null or t.conversation = $conversation)
    and ($version is null or starts_with(t.version, $version))
order by t.start_ns desc nulls last, t.trace_uid
limit $limit
"""


@traces_app.command("list")
def traces_list(
    limit: Annotated[int, typer.Option(min=1, max=10000)] = 20,
    outcome: Annotated[str | None, typer.Option(help="Only pass, fail or unknown.")] = None,
    origin: Annotated[str | None, typer.Option(help="Only traffic, rollout, probe, gate or demo.")] = None,
    agent: Annotated[str | None, typer.Option(help="Only of this agent.")] = None,
    conversation: Annotated[str | None, typer.Option(help="Only of this conversation.")] = None,
    version: Annotated[str | None, typer.Option(help="Only of this version; first digits do.")] = None,
    json: Json = False,
) -> None:
    """The newest traces."""
    from rsi.store.snapshot import open_snapshot

    asked = {"outcome": outcome, "origin": origin, "agent": agent, "conversation": conversation}
    with open_snapshot(Home.find()) as connection:
        answer = connection.execute(_LISTED, {**asked, "version": version, "limit": limit})
        columns = [str(column[0]) for column in answer.description or ()]
        rows = [dict(zip(columns, row, strict=True)) for row in answer.fetchall()]
    if json:
        as_json(rows)
        return
    table(
        ["trace", "start (UTC)", "format", "origin", "agent", "route", "outcome", "rule", "asked"],
        [
            [
                row["trace_uid"][:12],
                str(row["start_ts"] or "")[:19],
                *(row[name] for name in ("format", "origin", "agent", "route", "outcome", "rule")),
                _cut(tidy(row["input_text"] or ""), 80),
            ]
            for row in rows
        ],
    )


@traces_app.command("show")
def traces_show(
    trace: TraceArgument,
    tree: Annotated[bool, typer.Option("--tree", help="The tree of its spans.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Long texts and results whole.")] = False,
    json: Json = False,
) -> None:
    """One trace as a conversation, with tool calls under who asked, scores and outcome; or as a tree."""
    from rsi.commands import conversation
    from rsi.store.snapshot import open_snapshot
    from rsi.traces import shown
    from rsi.traces.tree import forest

    with open_snapshot(Home.find()) as connection:
        trace_uid = shown.find(connection, trace)
        if tree:
            trees = forest(connection, trace_uid)
        else:
            found = shown.read(connection, trace_uid)
    if tree and json:
        as_json({"trace_uid": trace_uid, "spans": _nested(trees)})
    elif tree:
        conversation.tree(trace_uid, trees)
    elif json:
        as_json(_as_object(found))
    else:
        conversation.conversation(found, full)


@traces_app.command("label")
def traces_label(
    trace: Annotated[str, typer.Argument(help="Trace id, or its first digits.")],
    name: Annotated[
        str, typer.Option(help="What is judged: feedback, route, or any other word.")
    ] = "feedback",
    value: Annotated[float | None, typer.Option(min=0, max=1, help="0 bad to 1 good.")] = None,
    correct: Annotated[bool, typer.Option("--correct", help="The same as --value 1.")] = False,
    wrong: Annotated[bool, typer.Option("--wrong", help="The same as --value 0.")] = False,
    correction: Annotated[
        str | None, typer.Option(help="What would have been right; for route the role.")
    ] = None,
    reason: Annotated[str | None, typer.Option(help="Why, in words.")] = None,
    by: Annotated[str, typer.Option(prompt="Your name", help="Who says so.")] = "",
    json: Json = False,
) -> None:
    """Say how a trace went, or what would have been right; the next night learns from it."""
    from rsi.store.snapshot import refresh
    from rsi.traces.label import Label, label

    if (value is not None) + correct + wrong > 1:
        raise ContractError("--value, --correct and --wrong exclude each other")
    said = 1.0 if correct else 0.0 if wrong else value
    home, clock = Home.find(), SystemClock()
    made = label(home, clock, trace, Label(by, name, said, correction, reason))
    refresh(home, clock)
    if json:
        as_json({"trace_uid": made.trace_uid, "segment": str(made.segment)})
        return
    line(f"{name} of trace {made.trace_uid[:12]} is labelled; the label is kept in {made.segment}")


@traces_app.command("delete")
def traces_delete(
    user: Annotated[
        str | None, typer.Option(help="All traces of this user: the producer's id of them.")
    ] = None,
    before: Annotated[
        datetime | None,
        typer.Option(formats=DATES, help="All that began before (UTC)."),
    ] = None,
    conversation: Annotated[str | None, typer.Option(help="All traces of this conversation.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would go, and change nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    by: Annotated[str | None, typer.Option(help="Who does it, for the ledger.")] = None,
    json: Json = False,
) -> None:
    """Forget traces with all that was made from them, unless a bank holds it; banks that do are named.

    Files that you ingested from outside of the home are yours, and stay.
    """
    from rsi.traces.delete import Wanted, delete

    wanted = Wanted(user, before.replace(tzinfo=UTC) if before else None, conversation)
    home, clock, progress = Home.find(), SystemClock(), TerminalProgress()
    if dry_run or not yes:
        _deleted(delete(home, clock, wanted, "", dry_run=True, progress=progress), json and dry_run)
        if dry_run:
            return
        typer.confirm("Delete them for good?", abort=True)
    who = by or typer.prompt("Your name")
    _deleted(delete(home, clock, wanted, who, progress=progress), json)


@traces_app.command("export")
def traces_export(
    target: Annotated[str, typer.Option("--format", help="otlp, atif, messages or parquet.")],
    out: Annotated[Path, typer.Option(help="A file of lines (.jsonl); for parquet a folder.")],
    trace: Annotated[
        list[str] | None, typer.Option(help="Only this trace, by its id; may be repeated.")
    ] = None,
    outcome: Annotated[str | None, typer.Option(help="Only pass, fail or unknown.")] = None,
    origin: Annotated[str | None, typer.Option(help="Only traffic, rollout, probe, gate or demo.")] = None,
    agent: Annotated[str | None, typer.Option(help="Only of this agent.")] = None,
    conversation: Annotated[str | None, typer.Option(help="Only of this conversation.")] = None,
    version: Annotated[str | None, typer.Option(help="Only of this version.")] = None,
    since: Annotated[datetime | None, typer.Option(formats=DATES, help="Only from then on (UTC).")] = None,
    until: Annotated[datetime | None, typer.Option(formats=DATES, help="Only before then (UTC).")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many, the oldest first.")] = None,
    json: Json = False,
) -> None:
    """Give traces to another tool, which reads the file; what is exported can be ingested again."""
    from rsi.store.snapshot import open_snapshot
    from rsi.traces.export import export
    from rsi.traces.export.whole import Chosen
    from rsi.traces.shown import find

    with open_snapshot(Home.find()) as connection:
        chosen = Chosen(
            traces=tuple(find(connection, one) for one in trace) if trace else None,
            outcome=outcome,
            origin=origin,
            agent=agent,
            conversation=conversation,
            version=version,
            since_ns=_ns(since),
            until_ns=_ns(until),
            most=limit,
        )
        done = export(connection, target, out, chosen, TerminalProgress())
    if json:
        as_json(done.model_dump(mode="json"))
        return
    line(
        f"{plural(done.traces, 'trace')} in {done.out}: {plural(done.records, 'record')}, {done.bytes:,} bytes"
    )
    if done.empty:
        warn(f"{done.empty} of them hold nothing that {target} can say")


def _ns(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.replace(tzinfo=UTC).timestamp()) * 10**9


def _deleted(found: "Deleted", json: bool) -> None:
    if json:
        as_json(found.model_dump(mode="json"))
        return
    verb = "would go" if found.dry_run else "deleted"
    line(f"{verb}: {plural(found.traces, 'trace')}, {found.heldout} of them held out")
    for name in ("spans", "messages", "tool_calls", "scores", "tasks", "refusals", "quarantined"):
        if getattr(found, name):
            line(f"  {getattr(found, name)} {name.replace('_', ' ')}")
    if not found.dry_run:
        line(f"  {plural(found.raw, 'record')} of raw text, {plural(found.inbox, 'record')} of the inbox")
    for bank, tasks in found.banks.items():
        warn(f"bank {bank[:12]} keeps {plural(tasks, 'task')} made from them")
    for path in found.growing:
        warn(f"{path} is still being written; run the same command again when it is closed")


def _as_object(found: "Shown") -> dict[str, object]:
    return {
        "trace_uid": found.trace_uid,
        "trace": found.facts,
        "outcome": found.outcome._asdict() if found.outcome else None,
        "usage": found.usage._asdict(),
        "scores": [one._asdict() for one in found.scores],
        "messages": [
            {**turn._asdict(), "calls": [_call(call) for call in turn.calls]} for turn in found.turns
        ],
        "calls_of_nobody": [_call(call) for call in found.loose],
    }


def _call(call: "Call") -> dict[str, object]:
    return {**call._asdict(), "arguments": orjson.loads(call.arguments) if call.arguments else None}


def _nested(trees: "list[Branch]") -> list[dict[str, object]]:
    """Trees as objects in objects."""
    made: list[dict[str, object]] = []
    waiting = [(one, made) for one in reversed(trees)]
    while waiting:
        branch, into = waiting.pop()
        children: list[dict[str, object]] = []
        into.append({**branch.span._asdict(), "children": children})
        waiting += [(child, children) for child in reversed(branch.children)]
    return made


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
