"""The event stream of an Inspect sample as steps: calls of models and tools, spans, and what else happened.

Newer logs have events within spans (`span_begin`, `span_end`), older ones between the ends of steps, with the
events of a tool or subtask inside it. What a scorer asks its grader is no part of the run's conversation.
"""

from rsi.traces.formats import fields
from rsi.traces.formats.inspect_content import Content
from rsi.traces.formats.run import Step, ToolUse, Usage
from rsi.traces.formats.turns import message_turns, tool_call
from rsi.traces.rows import Json, JsonObject

ROOT = "sample"
"""Native id of the step that all others are in."""
_SCORING = ("scorer", "scorers")
_SPANS = {"agent": "agent", "scorer": "evaluator", "scorers": "evaluator"}
_COMMON = {"uuid", "event", "span_id", "timestamp", "completed", "working_start", "pending"}
_MODEL = _COMMON | {
    "input",
    "input_refs",
    "output",
    "call",
    "tools",
    "model",
    "error",
    "traceback",
    "traceback_ansi",
}
_TOOL = _COMMON | {"id", "function", "arguments", "result", "error", "events", "type"}
_SKIPPED = {"sample_init", "span_end"}
"""The sample says it all itself; ends belong to their begin."""


class Steps:
    """Collects the steps of one sample."""

    def __init__(self, content: Content) -> None:
        self.found: list[Step] = []
        self._content = content
        self._spans: dict[str, tuple[int, str | None]] = {}
        self._scoring: set[str] = set()

    def add(self, events: Json, parent: str = ROOT, path: str = "event") -> None:
        """The events of a list, inside the step `parent` where they do not name their span."""
        within = [parent]
        for index, event in enumerate(fields.tables(events)):
            kind, native = (
                fields.named(event.get("event")),
                fields.named(event.get("uuid")) or f"{path} {index}",
            )
            inside = fields.named(event.get("span_id")) or within[-1]
            if kind == "step":
                self._older(event, native, within)
            elif kind == "span_begin":
                self._begin(event)
            elif kind == "span_end":
                self._end(event)
            elif kind == "model":
                self.found.append(_timed(self._model(event, native, inside), event))
            elif kind == "tool":
                self.found.append(_timed(self._tool(event, native, inside), event))
                self.add(event.get("events"), native, native)
            elif kind not in _SKIPPED and not _told_elsewhere(event):
                self.found.append(_timed(self._other(event, native, inside), event))
                self.add(event.get("events"), native, native)

    def _begin(self, event: JsonObject) -> None:
        native = fields.first(event, "id", "span_id")
        if native is None:
            return
        parent, kind = fields.named(event.get("parent_id")) or ROOT, fields.named(event.get("type"))
        self._open(native, parent, kind, event)

    def _open(self, native: str, parent: str, kind: str | None, event: JsonObject) -> None:
        if kind in _SCORING or parent in self._scoring:
            self._scoring.add(native)
        start, state = fields.moment(event.get("timestamp"))
        self._spans[native] = (len(self.found), kind)
        self.found.append(
            Step(
                native_id=native,
                kind=_SPANS.get(kind or "", "step"),
                name=fields.named(event.get("name")) or "",
                parent_id=parent,
                start_ns=start,
                time_state=state,
                attributes={"type": kind} if kind else None,
            )
        )

    def _end(self, event: JsonObject) -> None:
        native = fields.first(event, "id", "span_id")
        if native in self._spans:
            self._close(native, event)

    def _close(self, native: str, event: JsonObject) -> None:
        index, _ = self._spans[native]
        self.found[index] = self.found[index]._replace(end_ns=fields.moment(event.get("timestamp"))[0])

    def _older(self, event: JsonObject, native: str, within: list[str]) -> None:
        """A step begins inside the one that is open, or the innermost open one ends."""
        if event.get("action") == "begin":
            self._open(native, within[-1], fields.named(event.get("type")), event)
            within.append(native)
        elif len(within) > 1:
            self._close(within.pop(), event)

    def _model(self, event: JsonObject, native: str, inside: str) -> Step:
        output = fields.table(event.get("output"))
        choices = fields.tables(output.get("choices"))
        named = fields.named(event.get("model")) or ""
        call = fields.table(fields.table(event.get("call")).get("response"))
        error = fields.named(event.get("error")) or fields.named(output.get("error"))
        attributes: JsonObject = {
            key: value for key, value in event.items() if key not in _MODEL and value not in (None, {}, [])
        }
        if tools := [one.get("name") for one in fields.tables(event.get("tools"))]:
            attributes["tools"] = tools
        graded = inside in self._scoring or event.get("role") == "grader"
        answered = self._content.turns([one.get("message") for one in choices])
        if error is not None:
            answered = tuple(one for one in answered if one.content or one.calls)
        if graded:
            attributes["output"] = "\n".join(one.content for one in answered if one.content)
        return Step(
            native_id=native,
            kind="llm",
            name="grade" if graded else "generate",
            parent_id=inside,
            status="error" if error is not None else "unset" if event.get("pending") else "ok",
            error=error,
            provider=named.split("/", 1)[0] if "/" in named else None,
            model=fields.named(output.get("model")) or named or None,
            response_id=fields.named(call.get("id")),
            finish_reason=fields.named(choices[0].get("stop_reason")) if choices else None,
            usage=usage(output.get("usage")),
            asked=() if graded else self._content.asked(event),
            answered=() if graded else answered,
            attributes=attributes,
        )

    def _tool(self, event: JsonObject, native: str, inside: str) -> Step:
        error = fields.table(event.get("error"))
        message = fields.named(error.get("message")) or fields.named(error.get("type"))
        failed = bool(error) or event.get("failed") is True
        told = message_turns({"role": "tool", "content": self._content.value(event.get("result"))})[0].content
        name = fields.named(event.get("function"))
        given = self._content.value(event.get("arguments"))
        return Step(
            native_id=native,
            kind="tool",
            name=name or "tool",
            parent_id=inside,
            status="error" if failed else "unset" if event.get("pending") else "ok",
            error=message,
            tool=ToolUse(tool_call(fields.named(event.get("id")), name, given), told or message, failed),
            attributes={
                key: value for key, value in event.items() if key not in _TOOL and value not in (None, {}, [])
            },
        )

    def _other(self, event: JsonObject, native: str, inside: str) -> Step:
        """Anything else, with all it says; of changes of state not those of the conversation."""
        kind = fields.named(event.get("event")) or "event"
        rest = {key: value for key, value in event.items() if key not in _COMMON and key != "events"}
        if kind == "state":
            rest["changes"] = [one for one in fields.tables(event.get("changes")) if not _of_messages(one)]
        error = fields.table(event.get("error"))
        return Step(
            native_id=native,
            kind="evaluator" if kind in ("score", "score_edit") else "event",
            name=kind,
            parent_id=inside,
            status="error" if kind == "error" or error else "unset",
            error=fields.named(error.get("message")),
            attributes=fields.table(self._content.value(rest)),
        )


def _timed(step: Step, event: JsonObject) -> Step:
    start, state = fields.moment(event.get("timestamp"))
    return step._replace(start_ns=start, end_ns=fields.moment(event.get("completed"))[0], time_state=state)


def _told_elsewhere(event: JsonObject) -> bool:
    """A change of state that only adds to the conversation."""
    return event.get("event") == "state" and all(
        _of_messages(one) for one in fields.tables(event.get("changes"))
    )


def _of_messages(change: JsonObject) -> bool:
    path = change.get("path")
    return isinstance(path, str) and path.startswith(("/messages", "/output"))


def usage(value: Json) -> Usage:
    """Tokens of a call; for some providers the input is counted without what came from the cache."""
    told = fields.table(value)
    given, made = fields.whole(told.get("input_tokens")), fields.whole(told.get("output_tokens"))
    read, write = (fields.whole(told.get(f"input_tokens_cache_{way}")) for way in ("read", "write"))
    cached = (read or 0) + (write or 0)
    if (
        given is not None
        and made is not None
        and cached
        and told.get("total_tokens") == given + made + cached
    ):
        given += cached
    return Usage(
        given,
        made,
        read,
        write,
        fields.whole(told.get("reasoning_tokens")),
        fields.number(told.get("total_cost")),
    )
