"""A trace on a terminal: its conversation, and the tree of its spans. Without colour where nobody would see it."""

import sys
from collections.abc import Iterator

import orjson
from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from rsi.report.words import inert_terminal, tidy
from rsi.traces.shown import Call, Judged, Outcome, Shown, Turn, Usage
from rsi.traces.tree import Branch, Span

WIDTH = 100
"""Columns that lines are broken at on a wide terminal."""
UNBROKEN = 2000
"""Columns of a line of a tree elsewhere."""
SHORT = 600
"""Characters of a result or of a system message, unless all is asked for."""
DEEPEST = 60
"""Levels of a tree that are drawn; what is deeper hangs at the last of them."""
ROLES = {"system": "magenta", "user": "bold cyan", "assistant": "bold green", "tool": "yellow"}
OUTCOMES = {"pass": "bold green", "fail": "bold red", "unknown": "bold yellow"}
STATES = {
    "absent": "(not recorded)",
    "empty": "(empty)",
    "redacted": "(redacted by the producer)",
    "cut": "(cut by the producer)",
}


class Page:
    """Prints lines of styled text, broken and indented on a terminal, as they are elsewhere."""

    def __init__(self) -> None:
        self._wraps = sys.stdout.isatty()
        width = None if self._wraps else UNBROKEN
        self._console = Console(highlight=False, markup=False, emoji=False, width=width)

    def text(self, said: str, style: str = "", indent: int = 0) -> None:
        """Outside text."""
        text = Text(inert_terminal(said).expandtabs(4), style)
        if self._wraps:
            parts = list(text.wrap(self._console, max(20, min(WIDTH, self._console.width) - indent)))
        else:
            parts = list(text.split("\n", allow_blank=True))
        for part in parts:
            part.rstrip()
            self.line(Text(" " * indent) + part if part.plain else part)

    def line(self, text: Text) -> None:
        """A line of ours, made of inert pieces."""
        self._console.print(text, soft_wrap=True)

    def tree(self, tree: Tree) -> None:
        """A tree."""
        self._console.print(tree)


def conversation(shown: Shown, full: bool) -> None:
    """Print a trace: what is known of it, its outcome with the rule that decided, and who said what."""
    page = Page()
    page.line(Text(f"trace {shown.trace_uid}", "bold"))
    for name, value in _facts(shown):
        page.line(Text.assemble((f"{name:13}", "dim"), tidy(value)))
    _judged(page, shown.outcome, shown.scores)
    start = shown.facts.get("start_ns")
    for turn in shown.turns:
        if not turn.told:
            _turn(page, turn, start if isinstance(start, int) else None, full)
    if shown.loose:
        page.line(Text("\ncalls outside of the conversation", "bold yellow"))
        for call in shown.loose:
            _call(page, call, full)


def tree(trace_uid: str, trees: list[Branch]) -> None:
    """Print the trees of a trace."""
    page = Page()
    root = Tree(Text(f"trace {trace_uid}", "bold"))
    names = _names(trees)
    waiting = [(one, root, 1) for one in reversed(trees)]
    while waiting:
        branch, under, depth = waiting.pop()
        node = under.add(_label(branch.span, names))
        to = node if depth < DEEPEST else under
        waiting += [(child, to, depth + 1) for child in reversed(branch.children)]
    if not trees:
        root.add(Text("no spans: the record tells of a conversation only", "dim"))
    page.tree(root)


def _facts(shown: Shown) -> Iterator[tuple[str, str]]:
    """What has a value, in the order in which it is asked about."""
    facts = shown.facts
    if not facts:
        yield "state", "the trace itself has not come yet: only scores or spans of it"
    when = [
        str(facts["start_ts"])[:23] + " UTC" if facts.get("start_ts") else f"time {facts.get('time_state')}"
    ]
    if isinstance(facts.get("start_ns"), int) and isinstance(facts.get("end_ns"), int):
        when.append(f"{(int(str(facts['end_ns'])) - int(str(facts['start_ns']))) / 1e9:,.1f} s")
    pairs = (
        ("when", ", ".join(when) if facts else None),
        ("from", ", ".join(str(facts[key]) for key in ("format", "origin", "namespace") if facts.get(key))),
        *((key, facts.get(key)) for key in ("agent", "route", "model", "version", "release", "environment")),
        *((key, facts.get(key)) for key in ("conversation", "user_ref", "native_id")),
        ("task", f"{facts.get('task_id')}, trial {facts.get('trial')}" if facts.get("task_id") else None),
        ("tokens", _usage(shown.usage)),
        ("error", facts.get("error")),
    )
    yield from ((name, str(value)) for name, value in pairs if value not in (None, ""))


def _usage(usage: Usage) -> str | None:
    if not usage.calls:
        return None
    parts = [f"{usage.calls} model call{'s' if usage.calls > 1 else ''}"]
    named = (
        (usage.input_tokens, "in"),
        (usage.cache_read_tokens, "of them cached"),
        (usage.output_tokens, "out"),
        (usage.reasoning_tokens, "of them reasoning"),
    )
    parts += [f"{count:,} {name}" for count, name in named if count is not None]
    return ", ".join(parts + ([f"${usage.cost_usd:.4f}"] if usage.cost_usd is not None else []))


def _judged(page: Page, outcome: Outcome | None, scores: tuple[Judged, ...]) -> None:
    if outcome is not None:
        why = f" by {outcome.rule}" if outcome.rule else ": nobody said anything about it"
        named = f" ({outcome.score_name} = {outcome.value:g})" if outcome.value is not None else ""
        verdict = (outcome.outcome, OUTCOMES.get(outcome.outcome, ""))
        page.line(Text.assemble((f"{'outcome':13}", "dim"), verdict, inert_terminal(why + named)))
    for one in scores:
        said = "" if one.value is None else f" = {one.value:g}"
        said += f" {one.said}" if one.said else ""
        said += f", should be {one.correction}" if one.correction else ""
        who = ", ".join(str(part) for part in (one.source, one.annotator, one.target, one.at) if part)
        text = tidy(f"{one.name}{said} ({who})")
        page.line(Text.assemble((f"{'score':13}", "dim"), text))
        if one.comment:
            page.text(one.comment, "italic", indent=13)


def _turn(page: Page, turn: Turn, start_ns: int | None, full: bool) -> None:
    head = Text.assemble("\n", (tidy(turn.role), ROLES.get(turn.role, "bold")))
    if turn.author:
        head += Text(f" {tidy(turn.author)}")
    if start_ns is not None and turn.at_ns >= start_ns > 0:
        head += Text(f"  +{(turn.at_ns - start_ns) / 1e9:.1f} s", "dim")
    page.line(head)
    if turn.reasoning:
        page.text(_short(turn.reasoning, full), "dim italic", indent=2)
    if turn.content:
        limit = full or turn.role not in ("system", "tool")
        page.text(_short(turn.content, limit), indent=2)
    # A turn that only calls tools has nothing to say.
    if turn.content_state != "full" and not (turn.calls and turn.content_state in ("absent", "empty")):
        page.line(Text(f"  {STATES.get(turn.content_state, turn.content_state)}", "dim"))
    for call in turn.calls:
        _call(page, call, full)


def _call(page: Page, call: Call, full: bool) -> None:
    failed = call.status == "error"
    head = Text.assemble(("  -> ", "dim"), (tidy(call.name), "bold yellow"))
    if call.arguments_state != "object":
        head += Text(
            f"  arguments {call.arguments_state}", "red" if call.arguments_state == "invalid" else "dim"
        )
    page.line(head)
    written = _pretty(call.arguments) if call.arguments else call.arguments_raw
    if written and written != "{}":
        page.text(_short(written, full), indent=5)
    if call.status == "no_result":
        page.line(Text("  <- no result", "dim"))
        return
    page.line(Text.assemble(("  <- ", "dim"), (call.status, "bold red" if failed else "green")))
    if call.result:
        page.text(_short(_pretty(call.result), full), "red" if failed else "dim", indent=5)


def _pretty(text: str) -> str:
    """JSON with line ends, where it is an object or a list that is worth it."""
    if len(text) < 60 or text[:1] not in "{[":
        return text
    try:
        return orjson.dumps(orjson.loads(text), option=orjson.OPT_INDENT_2).decode()
    except ValueError:
        return text


def _short(text: str, full: bool) -> str:
    left = len(text) - SHORT
    return text if full or left <= 0 else f"{text[:SHORT].rstrip()} … ({left:,} more characters: --full)"


def _names(trees: list[Branch]) -> dict[str, str]:
    """Names of all spans, for those that are counted in the place of another."""
    found, waiting = {}, list(trees)
    while waiting:
        one = waiting.pop()
        found[one.span.span_uid] = one.span.name
        waiting += one.children
    return found


def _label(span: Span, names: dict[str, str]) -> Text:
    dim = "dim" if span.dup_of else ""
    label = Text.assemble((tidy(span.kind), dim or "cyan"), " ", (tidy(span.name), dim or "bold"))
    if span.model and span.model not in span.name:
        label += Text(f" {tidy(span.model)}", "dim")
    if span.ms is not None:
        label += Text(f"  {span.ms:,.0f} ms", dim)
    if span.input_tokens is not None or span.output_tokens is not None:
        given, made = (
            ("?" if one is None else f"{one:,}") for one in (span.input_tokens, span.output_tokens)
        )
        label += Text(f"  {given} in, {made} out", dim)
    if span.status == "error" or span.error:
        label += Text(f"  error {tidy(span.error or '')}".rstrip(), "bold red")
    if span.dup_of:
        kept = names.get(span.dup_of)
        where = f"as {tidy(kept)}" if kept else "in another trace"
        label += Text(f"  counted {where} ({span.dup_rule})", "dim")
    if span.link_state == "orphan":
        label += Text(f"  orphan: its parent {tidy(span.native_parent_id or '')} never came", "yellow")
    if span.link_state == "cycle":
        label += Text("  cycle: its ancestors never reach a root", "yellow")
    return label
