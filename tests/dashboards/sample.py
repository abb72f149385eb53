"""A believable deployment: two weeks of an airline's agents, three versions, five tools, and text that means harm.

Made from one seed. What the pages should say is counted from `Sample`, which knows nothing of SQL.
"""

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import orjson
import pyarrow as pa

from rsi.ids import digest, uid
from rsi.intake import Splits
from rsi.ports import SystemClock
from rsi.settings import Deployment, Home
from rsi.store.database import store_batch
from rsi.store.snapshot import refresh
from rsi.traces.rows import Message, Score, Span, ToolCall, Trace

FIRST_DAY = datetime(2026, 3, 2, tzinfo=UTC)
DAYS = 14
VERSIONS = tuple(digest(f"version {number}") for number in (1, 2, 3))
NIGHTS = ("2026-03-14", "2026-03-15")
AGENTS = ("booking", "refunds", "concierge")
MODEL = "smollm2-135m"
TOOLS = {
    "search_flights": ("no flights found for the date", 0.03),
    "book_reservation": ("payment method not found", 0.16),
    "cancel_reservation": ("reservation not cancellable", 0.09),
    "get_user_details": ("user not found", 0.02),
    "send_certificate": ("amount above the limit", 0.06),
}
"""Tool -> what it says when it refuses, and how often."""
ASKED = (
    "I need to move my flight from Boston to Friday morning, is there anything direct?",
    "Please cancel reservation ZFA04Y and refund my travel certificate.",
    "Can you add a checked bag for both passengers? We have gold status.",
    "My flight was delayed by four hours. What compensation do I get?",
    "Book the cheapest one-way to Seattle on the 14th for two adults.",
    "Change the passenger name on my booking, I misspelled it.",
)
ANSWERED = (
    "I found a direct flight at 08:15 on Friday. Shall I move you to it?",
    "The reservation is cancelled; 412 dollars go back to the certificate within five days.",
    "I am sorry, I cannot do that for a basic economy ticket.",
    "Both bags are added without a fee, thanks to your gold status.",
    "I am transferring you to a human agent, since this is outside of what I may do.",
)
HOSTILE = (
    '<img src="https://tracker.invalid/pixel.png" onerror="document.title=1"><script>document.title=2</script>',
    "https://tracker.invalid/beacon.png",
    "data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+",
    "![x](https://tracker.invalid/markdown.gif) **bold** $$\\frac{1}{2}$$ [click](javascript:alert(1))",
    "text/html:<iframe src=https://tracker.invalid/frame.html></iframe>",
    "</pre></details></div><marimo-callout-output>free</marimo-callout-output>\u202etxet desrever",
)
"""What an attacker would write into a request: none of it may be fetched, run or rendered."""
HOSTILE_TOOL = "https://tracker.invalid/tool.png"
REASONS = {
    "not_json": "expected a JSON value, found 'b' at column 1",
    "cut_line": "the file ends inside a record",
    "unknown_format": "no reader knows a record with the keys event, payload, ts",
    "missing_field": "a chat record without messages",
    "too_large": "a record of 41 MiB, at most 16 are read",
}
_MODES = (
    ("tool_error:book_reservation:payment method not found", "book_reservation refuses: no payment method", "ongoing"),
    ("missing_action:cancel_reservation", "cancel_reservation expected but not done", "regressed"),
    ("wrong_arguments:book_reservation:baggage", "book_reservation done with another baggage than expected", "ongoing"),
    ("route:L1->L0", "agent (L1) requests routed to chat (L0)", "fixed"),
    ("tool_error:send_certificate:amount above the limit", "send_certificate refuses: amount above the limit", "new"),
    ("error:context length exceeded", "runs break: context length exceeded", "ongoing"),
    ("correction:feedback", "answers corrected by feedback", "new"),
)  # fmt: skip
_JUDGES = (
    (0.55, "reward", "env", "reward score"),
    (0.72, "feedback", "end_user", "feedback score"),
    (0.82, "helpfulness", "llm", "other score"),
)
"""Up to which roll of the dice each judges, the name of the score, its source, and the rule it decides by."""


class File(NamedTuple):
    """A row of `ingest_files`."""

    file_id: str
    uri: str
    sha256: str
    namespace: str
    bytes: int
    ingested_at: datetime
    read: int
    loaded: int
    duplicates: int
    quarantined: int
    heldout: int
    redacted: int


@dataclass
class Sample:
    """The rows, as the store takes them."""

    traces: list[Trace] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    scores: list[Score] = field(default_factory=list)
    files: list[File] = field(default_factory=list)
    refusals: list[tuple[str, File]] = field(default_factory=list)
    """Reason and file of each."""
    outcomes: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    """Trace -> outcome and the rule that decides it."""
    modes: list[dict[str, object]] = field(default_factory=list)
    mode_traces: list[dict[str, object]] = field(default_factory=list)
    """What shows the modes of the last night."""
    told_again: int = 0
    """Spans that tell of a call that another span tells of."""


def sample(count: int = 2000, hostile: int = 97) -> Sample:
    """So many traces, spread over the days, one in `hostile` of them meaning harm; an empty deployment for 0."""
    made, draw = Sample(), random.Random(7)
    for number in range(count):
        harm = HOSTILE[number // hostile % len(HOSTILE)] if number % hostile == 5 else None
        _trace(made, draw, number, count, harm)
    if count:
        _files(made, draw, count)
    if count > 1:
        _modes(made, draw)
    return made


def make_home(home: Home, made: Sample) -> Home:
    """A deployment that holds the sample, with its snapshot."""
    clock = SystemClock()
    home.root.mkdir(parents=True, exist_ok=True)
    Deployment(split=Splits(dev=0, gate=0, vault=0)).write(home.deployment_file)
    place = {"ordinal": 1, "file_id": "made", "line": 1, "byte_offset": 0}
    parts = {
        "span_parts": made.spans,
        "message_parts": made.messages,
        "tool_call_parts": made.calls,
    }
    refusals = [
        {"quarantine_uid": f"refusal {at}", "file_id": file.file_id, "uri": file.uri, "namespace": "default",
         "line": at, "byte_offset": 0, "reason": reason, "detail": REASONS[reason], "excerpt": "…", "ordinal": 1}
        for at, (reason, file) in enumerate(made.refusals)
    ]  # fmt: skip
    with store_batch(home, clock, "sample") as connection:
        connection.execute("insert into batches values (1, ?, ?)", [FIRST_DAY, len(made.traces)])
        _insert(connection, "trace_parts", _told(made.traces, **place, split="train"))
        for table, rows in parts.items():
            _insert(connection, table, _told(rows, **place))
        _insert(connection, "scores", [{**row._asdict(), **place} for row in made.scores])
        _insert(connection, "ingest_files", [row._asdict() for row in made.files])
        _insert(connection, "quarantine", refusals)
        _insert(connection, "failure_modes", made.modes)
        _insert(connection, "mode_traces", made.mode_traces)
    refresh(home, clock)
    return home


def _told(rows: Iterable[NamedTuple], **more: object) -> list[dict[str, object]]:
    told = [{**row._asdict(), **more, "part_uid": f"part {at}"} for at, row in enumerate(rows)]
    for one in told:
        if "content_state" in one:
            one["said"], one["thought"] = len(str(one["content"] or "")), 0
    return told


def _insert(connection, table: str, rows: list[dict[str, object]]) -> None:
    if rows:
        connection.register("made_rows", pa.Table.from_pylist(rows))
        connection.execute(f"insert into {table} by name select * from made_rows")
        connection.unregister("made_rows")


def _trace(made: Sample, draw: random.Random, number: int, count: int, harm: str | None) -> None:
    share = number / max(count - 1, 1)
    day = min(int(share * DAYS), DAYS - 1)
    start = FIRST_DAY + timedelta(
        days=day, hours=7 + 14 * draw.betavariate(2, 2), seconds=draw.randrange(3600)
    )
    at = int(start.timestamp()) * 10**9
    # The second version learned to cancel; the third forgot it again.
    version = min(int(share * 3 + draw.uniform(-0.18, 0.18)), 2) if share > 0.2 else 0
    agent = draw.choices(AGENTS, (5, 3, 2))[0]
    failed = draw.random() < (0.30, 0.17, 0.22)[version] * (1.35 if agent == "refunds" else 1)
    error = "context length exceeded: 33012 tokens" if draw.random() < 0.015 else None
    asked, answered = harm or draw.choice(ASKED), harm or draw.choice(ANSWERED)
    trace_uid = uid("sample", str(number))
    end = _steps(
        made, draw, trace_uid, at, (f"You are the {agent} agent of an airline.", asked, answered), failed
    )
    dated = number % 200 != 199
    made.traces.append(
        Trace(
            trace_uid, "default", "gateway", f"{number:032x}", conversation=f"session-{number // 2}",
            task_id=f"task-{number % 50}" if number % 3 == 0 else None, agent=harm or agent, model=MODEL,
            version=VERSIONS[version] if number % 40 != 39 else None, route="L1" if agent == "booking" else "L0",
            origin="rollout" if number % 15 == 14 else "traffic", start_ns=at if dated else None,
            end_ns=end if dated else None, time_state="exact" if dated else "missing", input_text=asked,
            output_text=answered, error=error,
        )
    )  # fmt: skip
    _judge(made, draw, trace_uid, failed, error, at)


def _judge(
    made: Sample, draw: random.Random, trace_uid: str, failed: bool, error: str | None, at: int
) -> None:
    roll = draw.random()
    judge = next((one[1:] for one in _JUDGES if roll < one[0]), None)
    if judge is None:
        made.outcomes[trace_uid] = ("fail", "error") if error else ("unknown", None)
        return
    name, source, rule = judge
    comment = "It booked the wrong day." if failed and name == "feedback" else None
    made.scores.append(
        Score(uid(trace_uid, name), trace_uid, name, 0.0 if failed else 1.0, source=source, basis="database state",
              annotator="judge-1" if source == "llm" else None, comment=comment, ts_ns=at + 10**9)
    )  # fmt: skip
    made.outcomes[trace_uid] = ("fail" if failed else "pass", rule)


def _steps(
    made: Sample, draw: random.Random, trace_uid: str, start: int, texts: tuple[str, str, str], failed: bool
) -> int:
    """An agent's span, its calls of the model and of tools, and what was said. Returns when it ended."""
    system, asked, answered = texts
    said: list[tuple[str, str, str | None]] = [("system", system, None), ("user", asked, None)]
    at = start
    for turn in range(draw.randint(1, 4)):
        at = _model(made, draw, trace_uid, at, turn)
        if draw.random() < 0.7:
            at = _tool(made, draw, trace_uid, at, turn, failed, said)
    said.append(("assistant", answered, None))
    made.messages += [
        Message(uid(trace_uid, str(seq)), trace_uid, start, seq, role, None, text or None,
                "full" if text else "absent", None, call)
        for seq, (role, text, call) in enumerate(said)
    ]  # fmt: skip
    made.spans.append(
        Span(
            uid(trace_uid, "root"),
            trace_uid,
            "root",
            None,
            "agent",
            "invoke_agent",
            "agents",
            start,
            at,
            status="ok",
        )
    )
    return at


def _tool(
    made: Sample, draw: random.Random, trace_uid: str, at: int, turn: int, failed: bool,
    said: list[tuple[str, str, str | None]],
) -> int:  # fmt: skip
    tool = draw.choices(list(TOOLS), (5, 4, 3, 4, 1))[0]
    says, rate = TOOLS[tool]
    wrong = draw.random() < rate * (2.5 if failed else 0.8)
    name = HOSTILE_TOOL if said[1][1] in HOSTILE and turn == 0 else tool
    result = f"Error: {says}" if wrong else orjson.dumps({"ok": True, "seats": draw.randint(1, 9)}).decode()
    arguments = orjson.dumps({"flight": f"HAT{draw.randint(100, 299)}", "cabin": "economy"}).decode()
    said += [("assistant", "", None), ("tool", result, f"call-{turn}")]
    end, state = at + draw.randrange(50, 900) * 10**6, "error" if wrong else "ok"
    made.spans.append(
        Span(uid(trace_uid, f"tool {turn}"), trace_uid, f"tool-{turn}", "root", "tool", f"execute_tool {name}",
             "agents", at, end, "exact", state, says if wrong else None)
    )  # fmt: skip
    made.calls.append(
        ToolCall(uid(trace_uid, f"call {turn}"), trace_uid, at, turn, f"call-{turn}", name, arguments=arguments,
                 result=result, status=state)
    )  # fmt: skip
    return end


def _model(made: Sample, draw: random.Random, trace_uid: str, at: int, turn: int) -> int:
    end = at + draw.randrange(400, 3200) * 10**6
    used = {"input_tokens": 900 + draw.randrange(900), "output_tokens": draw.randrange(20, 240), "provider": "rsi",
            "model": MODEL, "cost_usd": draw.random() / 500, "response_id": f"{trace_uid}-{turn}"}  # fmt: skip
    made.spans.append(
        Span(uid(trace_uid, f"chat {turn}"), trace_uid, f"chat-{turn}", "root", "llm", f"chat {MODEL}", "agents",
             at, end, "exact", "ok", finish_reason="stop", **used)
    )  # fmt: skip
    if draw.random() < 0.06:
        made.told_again += 1
        made.spans.append(
            Span(uid(trace_uid, f"again {turn}"), trace_uid, f"again-{turn}", "root", "llm", "openai.chat",
                 "openllmetry", at, end, "exact", "ok", **used)
        )  # fmt: skip
    return end


def _files(made: Sample, draw: random.Random, count: int) -> None:
    days = DAYS if count > 1 else 1
    for day in range(days):
        when = FIRST_DAY + timedelta(days=day, hours=23)
        uri = f"inbox/gateway-{when:%Y%m%d}.ndjson" if day != 3 else f"inbox/<b>odd</b> {HOSTILE[1]}"
        refused = draw.choice((0, 0, 0, 1, 2, 9)) if count > 1 else 0
        loaded, again, held = count // days, draw.randrange(12), draw.randrange(25)
        file = File(uid("file", str(day)), uri, digest(uri), "default", loaded * 2100, when.replace(tzinfo=None),
                    loaded + again + held + refused, loaded, again, refused, held, draw.randrange(60))  # fmt: skip
        made.refusals += [(draw.choices(list(REASONS), (4, 1, 6, 2, 1))[0], file) for _ in range(refused)]
        made.files.append(file)


def _modes(made: Sample, draw: random.Random) -> None:
    failing = [trace for trace, (outcome, _) in made.outcomes.items() if outcome == "fail"]
    for night in NIGHTS:
        for rank, (signature, title, status) in enumerate(_MODES, 1):
            if night == NIGHTS[0] and status == "new":
                continue
            chances = draw.randrange(240, 1300)
            seen = max(3, int(chances * (0.17, 0.13, 0.10, 0.03, 0.06, 0.014, 0.02)[rank - 1]))
            rate, wide = seen / chances, 1.96 * (seen / chances / chances) ** 0.5
            made.modes.append({
                "night": night, "mode_id": f"m-{digest(signature)[:10]}", "signature": signature,
                "kind": signature.partition(":")[0], "title": title, "count": seen, "opportunities": chances,
                "rate": rate, "low": max(0.0, rate - wide), "high": rate + wide, "rank": rank,
                "priority": float(100 - rank * 9),
                "examples": draw.sample(failing, min(5, len(failing))), "status": status,
                "first_seen": night if status == "new" else NIGHTS[0],
                "by_version": orjson.dumps({VERSIONS[2]: [seen // 3, chances // 3]}).decode(),
                "history": orjson.dumps([[VERSIONS[2], night, seen // 3, chances // 3]]).decode(),
                "frequency": float(seen), "severity": 1.0, "recency": 1.0, "learnability": 0.5, "standing": 1.0,
                "blame": "model", "wont_fix": None, "topics": "[]",
            })  # fmt: skip
            if night == NIGHTS[-1]:
                shown = draw.sample(failing, min(9, len(failing)))
                traces = sorted({*made.modes[-1]["examples"], *shown})
                made.mode_traces += [
                    {"night": night, "mode_id": made.modes[-1]["mode_id"], "trace_uid": trace}
                    for trace in traces
                ]
