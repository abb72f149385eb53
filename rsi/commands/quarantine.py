"""What no reader could take: list it, look at it, try again."""

from typing import Annotated

import typer

from rsi.commands.say import Json, as_json, line, table
from rsi.ports import SystemClock
from rsi.report.progress import TerminalProgress
from rsi.report.words import inert_terminal
from rsi.settings import Home

quarantine_app = typer.Typer(no_args_is_help=True, help="Input that was not loaded, and why.")

SHORT = 4000
"""Characters of raw text, unless all is asked for."""
_BY_REASON = """
select
    reason, count(*) as refusals, count(distinct file_id) as files,
    arg_min(quarantine_uid, (uri, line, byte_offset)) as example,
    arg_min(detail, (uri, line, byte_offset)) as detail
from v_quarantine
where $reason is null or reason = $reason
group by reason
order by refusals desc, reason
"""
_BY_FILE = """
select
    uri, reason, count(*) as refusals, min(line) as first_line, arg_min(quarantine_uid, (line, byte_offset)) as example,
    arg_min(detail, (line, byte_offset)) as detail
from v_quarantine
where $reason is null or reason = $reason
group by uri, reason
order by refusals desc, uri, reason
"""


@quarantine_app.command("list")
def quarantine_list(
    reason: Annotated[str | None, typer.Option(help="Only this reason.")] = None,
    files: Annotated[bool, typer.Option("--files", help="One row a file and reason.")] = False,
    json: Json = False,
) -> None:
    """Counts by reason, or by file, each with an example."""
    from rsi.store.snapshot import open_snapshot

    with open_snapshot(Home.find()) as connection:
        answer = connection.execute(_BY_FILE if files else _BY_REASON, {"reason": reason})
        columns = [str(column[0]) for column in answer.description or ()]
        rows = answer.fetchall()
    if json:
        as_json([dict(zip(columns, row, strict=True)) for row in rows])
        return
    if not rows:
        line("nothing is in quarantine")
        return
    at = columns.index("example")
    table(columns, [[*row[:at], str(row[at])[:12], *row[at + 1 :]] for row in rows])
    line("look at one with `rsi quarantine show EXAMPLE`")


@quarantine_app.command("show")
def quarantine_show(
    refusal: Annotated[str, typer.Argument(help="Id of the refusal, or its first digits.")],
    full: Annotated[bool, typer.Option("--full", help="The raw text whole, however long.")] = False,
    json: Json = False,
) -> None:
    """One refusal: place, reason and raw text."""
    from rsi.traces.refused import find

    found = find(Home.find(), SystemClock(), refusal)
    text = found.text.decode(errors="replace")
    if json:
        as_json({**found._asdict(), "text": text})
        return
    line(f"refusal {found.quarantine_uid}\nreason  {found.reason}: {found.detail}")
    line(f"place   {found.uri} line {found.line} (byte {found.byte_offset}), namespace {found.namespace}")
    if found.settled:
        line(f"settled {found.settled}: it was loaded since")
    line(f"\n{found.kept}:" if text else f"\n{found.kept}")
    left = 0 if full else len(text) - SHORT
    line(inert_terminal(text if left <= 0 else text[:SHORT]))
    if left > 0:
        line(f"… {left:,} more characters: --full")


@quarantine_app.command("retry")
def quarantine_retry(
    reason: Annotated[str | None, typer.Option(help="Only this reason.")] = None, json: Json = False
) -> None:
    """Read again what the readers of today may take, from the raw text."""
    from rsi.store.snapshot import refresh
    from rsi.traces.retry import retry

    home, clock = Home.find(), SystemClock()
    done = retry(home, clock, reason, progress=TerminalProgress())
    refresh(home, clock)
    if json:
        as_json(done.model_dump(mode="json"))
        return
    line(f"{done.read} records read again: {done.settled} refusals settled, {done.still} stand")
    if done.without_text:
        line(f"{done.without_text} places have no raw text: ingest their files again")
