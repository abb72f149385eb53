"""One trace as a person reads it: what was said, what was called, how it was judged, where the time went.

Everything in it comes from outside and is escaped; long texts are folded.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

import orjson

from dashboards.pieces import badge, block, code, empty, version, when
from dashboards.questions import MOST_OF_ONE, Row, Told
from rsi.report.words import inert_html, plural

_LONG = 900
"""Characters of a text that stand open."""
_LONGEST = 40_000
"""Characters of a text that reach the browser."""
_TONES = {"fail": "fail", "pass": "pass", "error": "fail", "ok": "pass"}
_OUTCOMES = {"fail": "failed", "pass": "passed", "unknown": "not judged"}
_STATES = {"absent": "not recorded", "redacted": "redacted", "cut": "cut by whoever recorded it"}


def card(told: Told, link: str = "", stacked: bool = False) -> str:
    """The whole trace: the conversation, and the rest beside it, or below it where the page is narrow."""
    beside = f'<div class="beside">{_scores(told.scores)}{_calls(told.calls)}{_tree(told.tree)}</div>'
    halves = f'<div class="halves"><div>{_conversation(told)}</div>{beside}</div>'
    return f'<article class="trace {"stacked" if stacked else ""}">{_top(told.trace, link)}{halves}</article>'


def why(trace: Row) -> str:
    """The outcome in words: which rule decided."""
    rule, score, value = trace["rule"], trace["score_name"], trace["value"]
    if rule is None:
        return "nobody has judged it"
    if score is None:
        return "the run broke"
    return f"{inert_html(str(rule))}: {inert_html(str(score))} = {value:g}"


def _top(trace: Row, link: str) -> str:
    facts = {
        "agent": trace["agent"],
        "version": version(str(trace["version"] or "")),
        "route": trace["route"],
        "task": trace["task_id"],
        "conversation": trace["conversation"],
        "format": trace["format"],
    }
    shown = "".join(
        f"<span>{name} <b>{inert_html(str(value))}</b></span>" for name, value in facts.items() if value
    )
    error = f'<p class="error">{inert_html(str(trace["error"]))}</p>' if trace["error"] else ""
    outcome = str(trace["outcome"])
    moment = trace["start_ts"] if isinstance(trace["start_ts"], datetime) else None
    name = f'<span class="when">{when(moment)}</span>{code(str(trace["trace_uid"]))}'
    shape = badge(_OUTCOMES.get(outcome, outcome), _TONES.get(outcome, ""))
    line = f'{shape}<span class="why">{why(trace)}</span>{name}'
    return f'<div class="top">{line}</div><div class="facts">{shown}{link}</div>{error}'


def _conversation(told: Told) -> str:
    if not told.conversation:
        return empty("No message was recorded with this trace.")
    calls = {call["native_id"]: call for call in told.calls if call["native_id"]}
    turns = "".join(_turn(turn, calls) for turn in told.conversation)
    return f"<h3>Conversation</h3>{turns}{_more(told.conversation, told.trace, 'turns')}"


def _turn(turn: Row, calls: Mapping[object, Row]) -> str:
    role, text = str(turn["role"]), turn["content"]
    if (
        role == "assistant"
        and not text
        and not turn["reasoning"]
        and turn["content_state"] in ("absent", "empty")
    ):
        return ""
    call = calls.get(turn["tool_call_id"]) if turn["tool_call_id"] else None
    asked = f'<div class="asked">{_called(call)}</div>' if call else ""
    thought = (
        f"<details><summary>reasoning</summary>{_text(str(turn['reasoning']))}</details>"
        if turn["reasoning"]
        else ""
    )
    state = _STATES.get(str(turn["content_state"]))
    body = _text(str(text), role == "system") if text else ""
    note = f'<span class="soft">{state}</span>' if state else ""
    return (
        f'<div class="turn {inert_html(role)}"><div class="role">{inert_html(role)}</div>'
        f'<div class="said">{asked}{thought}{body}{note}</div></div>'
    )


def _called(call: Row) -> str:
    raw = call["arguments"]
    return f"<b>{inert_html(str(call['name']))}</b>({_arguments(str(raw)) if raw else ''})"


def _arguments(text: str) -> str:
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return inert_html(text)
    if not isinstance(found, dict):
        return inert_html(text)
    return ", ".join(
        f"{inert_html(str(name))}={inert_html(orjson.dumps(value).decode())}" for name, value in found.items()
    )


def _scores(scores: Sequence[Row]) -> str:
    if not scores:
        return "<h3>Scores</h3>" + empty("Nobody and nothing has judged this trace.")
    return "<h3>Scores</h3>" + "".join(_score(one) for one in scores)


def _score(one: Row) -> str:
    value = one["value"]
    tone = "" if not isinstance(value, float) else "pass" if value >= 0.5 else "fail"
    said = f"{value:g}" if isinstance(value, float) else inert_html(str(one["said"] or "no number"))
    by = " · ".join(inert_html(str(part)) for part in (one["source"], one["annotator"], one["basis"]) if part)
    texts = "".join(
        f'<div class="remark"><i>{name}</i> {inert_html(str(one[key]))}</div>'
        for name, key in (("should be", "correction"), ("comment", "comment"))
        if one[key]
    )
    return (
        f'<div class="score {tone}"><span class="dot"></span><b>{inert_html(str(one["name"]))}</b> {said}'
        f'<span class="soft">{by}</span>{texts}</div>'
    )


def _calls(calls: Sequence[Row]) -> str:
    if not calls:
        return ""
    shown = "".join(
        f'<details class="call {_TONES.get(str(one["status"]), "")}"><summary><span class="dot"></span>'
        f'<b>{inert_html(str(one["name"]))}</b><span class="soft">{_result(one)}</span></summary>'
        f'<div class="asked">{_called(one)}</div>{_text(str(one["result"])) if one["result"] else ""}</details>'
        for one in calls
    )
    return f"<h3>Tool calls <small>{len(calls)}</small></h3>{shown}"


def _result(call: Row) -> str:
    if call["arguments_state"] == "invalid":
        return "arguments are no JSON object"
    return {"ok": "answered", "error": "refused"}.get(str(call["status"]), "no result recorded")


def _tree(spans: Sequence[Row]) -> str:
    if not spans:
        return ""
    begin, end = _period(spans)
    total = max((end - begin).total_seconds(), 1e-9) if begin and end else None
    rows = "".join(_span(span, depth, begin, total) for span, depth in _walk(spans))
    took = f"{total:.1f} s" if total else "no times"
    return f'<h3>Spans <small>{len(spans)}, {took}</small></h3><div class="tree">{rows}</div>'


def _span(span: Row, depth: int, begin: datetime | None, total: float | None) -> str:
    start, ms = span["start_ts"], span["ms"]
    line = ""
    if isinstance(start, datetime) and begin and total:
        at = (start - begin).total_seconds() / total
        wide = (ms / 1000 / total) if isinstance(ms, float) else 0.0
        line = f'<i style="left:{100 * at:.2f}%;width:{100 * max(wide, 0.006):.2f}%"></i>'
    notes = [
        f"{ms:,.0f} ms" if isinstance(ms, float) else "",
        plural(span["output_tokens"], "token") if isinstance(span["output_tokens"], int) else "",
        "told again, not counted" if span["dup_of"] else "",
        str(span["link_state"]) if span["link_state"] in ("orphan", "cycle") else "",
    ]
    tone = "fail" if span["status"] == "error" else "again" if span["dup_of"] else ""
    name = f"<small>{inert_html(str(span['kind']))}</small> {inert_html(str(span['name']))}"
    title = inert_html(str(span["error"] or span["name"]))
    return (
        f'<div class="span {tone}" style="--depth:{min(depth, 12)}" title="{title}"><span class="name">{name}</span>'
        f'<span class="line">{line}</span><span class="soft">{", ".join(note for note in notes if note)}</span></div>'
    )


def _walk(spans: Sequence[Row]) -> Iterable[tuple[Row, int]]:
    """Parents before children, in order of time; what hangs nowhere, or in a circle, at the end."""
    below: dict[object, list[Row]] = {}
    known = {span["span_uid"] for span in spans}
    for span in spans:
        below.setdefault(span["parent_uid"] if span["parent_uid"] in known else None, []).append(span)
    waiting = [(span, 0) for span in reversed(below.get(None, []))]
    done: set[object] = set()
    while waiting:
        span, depth = waiting.pop()
        done.add(span["span_uid"])
        yield span, depth
        waiting += [(child, depth + 1) for child in reversed(below.get(span["span_uid"], []))]
    yield from ((span, 0) for span in spans if span["span_uid"] not in done)


def _period(spans: Sequence[Row]) -> tuple[datetime | None, datetime | None]:
    starts = [span["start_ts"] for span in spans if isinstance(span["start_ts"], datetime)]
    ends = [
        span["start_ts"] + timedelta(milliseconds=span["ms"])
        for span in spans
        if isinstance(span["start_ts"], datetime) and isinstance(span["ms"], float)
    ]
    return min(starts, default=None), max(ends + starts, default=None)


def _text(text: str, folded: bool = False) -> str:
    shown = block(text[:_LONGEST])
    cut = (
        f'<span class="soft">… {len(text) - _LONGEST:,} more characters</span>'
        if len(text) > _LONGEST
        else ""
    )
    if not folded and len(text) <= _LONG:
        return f'<div class="text">{shown}</div>'
    opening = block(text[:120].replace("\n", " ")) + ("…" if len(text) > 120 else "")
    return f'<details><summary>{opening}</summary><div class="text">{shown}</div>{cut}</details>'


def _more(rows: Sequence[Row], trace: Row, what: str) -> str:
    if len(rows) < MOST_OF_ONE:
        return ""
    command = f"<code>rsi traces show {inert_html(str(trace['trace_uid']))}</code>"
    return f'<p class="note">The first {MOST_OF_ONE} {what}; all of them: {command}</p>'
