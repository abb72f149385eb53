"""Traces as OTLP/JSON lines with the GenAI conventions' current names: a line with the spans of a trace, and one
with its evaluations where they are about the trace as a whole.

A call of a model has what it was given and answered on its span. What no span has (a word of the user after the
last call, a log that has no spans at all) is told by a span of the agent around them.
"""

import re
from collections.abc import Iterator, Sequence

from rsi.ids import uid
from rsi.traces.export.conversation import Asked, Turn, conversation, owners
from rsi.traces.export.otlp_values import attribute, attributes, spoken
from rsi.traces.export.whole import Whole
from rsi.traces.formats import fields
from rsi.traces.rows import Json, JsonObject, Score, Span

NAME = "otlp"
SCOPE = "rsi"
MUCH = 20_000
"""Messages times calls of a trace, from which a call is given what was new to it, not all that was said before."""
_CARRIERS = {"otlp", "jaeger", "otel_js", "phoenix", "gateway"}
"""Formats whose trace ids are OpenTelemetry's; others get one of our own, so that two renderings stay apart."""
_OPERATIONS = {"llm": "chat", "agent": "invoke_agent", "embedding": "embeddings",
               "retrieval": "retrieval"}  # fmt: skip
_KINDS = {"guardrail": "GUARDRAIL", "evaluator": "EVALUATOR", "step": "CHAIN"}
_TALKS = {"llm", "agent", "step"}
"""Kinds of spans whose messages are read again."""
_STATUS = {"ok": 1, "error": 2}
_COLUMNS = {
    "gen_ai.provider.name": "provider",
    "gen_ai.response.model": "model",
    "gen_ai.response.id": "response_id",
    "gen_ai.usage.input_tokens": "input_tokens",
    "gen_ai.usage.output_tokens": "output_tokens",
    "gen_ai.usage.cache_read.input_tokens": "cache_read_tokens",
    "gen_ai.usage.cache_write.input_tokens": "cache_write_tokens",
    "gen_ai.usage.reasoning.output_tokens": "reasoning_tokens",
    "gen_ai.usage.cost": "cost_usd",
}


def records(whole: Whole) -> list[JsonObject]:
    """One or two export requests."""
    made = _Trace(whole)
    scopes: dict[str, list[Json]] = {}
    for span, record in made.spans():
        scopes.setdefault(span.instrumentation or SCOPE, []).append(record)
    resource: JsonObject = {"attributes": attributes(_resource(whole))}
    found: list[JsonObject] = []
    if scopes:
        told: list[Json] = [{"scope": {"name": name}, "spans": spans} for name, spans in scopes.items()]
        found.append({"resourceSpans": [{"resource": resource, "scopeSpans": told}]})
    logs: list[Json] = [made.log(one) for one in whole.scores if one.target not in made.ids]
    if logs:
        scope: JsonObject = {"scope": {"name": SCOPE}, "logRecords": logs}
        found.append({"resourceLogs": [{"resource": resource, "scopeLogs": [scope]}]})
    return found


def _resource(whole: Whole) -> JsonObject:
    trace = whole.trace
    kept = fields.table(fields.table(fields.parsed(trace.metadata)).get("resource"))
    told: JsonObject = {
        "service.name": trace.agent or trace.namespace,
        "service.version": trace.release,
        "deployment.environment.name": trace.environment,
    }
    return {**{key: value for key, value in told.items() if value is not None}, **kept}


class _Trace:
    """Ids, spans and events of one trace."""

    def __init__(self, whole: Whole) -> None:
        self._whole = whole
        native = whole.trace.native_id if whole.trace.format in _CARRIERS else None
        self._id = _hex(native, 32) or whole.trace.trace_uid
        self.ids = {one.native_id: _hex(one.native_id, 16) or uid(one.span_uid)[:16] for one in whole.spans}
        turns = conversation(whole)
        self._calls = _tool_spans(whole, turns)
        ran = {one.id for one in self._calls.values()}
        # What only a tool's span tells, it tells again.
        self._turns = tuple(one for one in turns if one.told or not ran.issuperset(_about(one)))
        places = {turn.message.message_uid: at for at, turn in enumerate(self._turns)}
        self._said = _said(whole, places)
        told = {at for given, answered in self._said.values() for at in (*given, *answered)}
        left = [at for at in range(len(self._turns)) if at not in told]
        self._is_left = bool(left)
        if left and told and left[0] < max(told):
            # Told by several spans the turns would lose their order: the span around tells them all.
            self._said = {}

    def spans(self) -> Iterator[tuple[Span, JsonObject]]:
        """Every span with its record, and the agent's where something is left to tell."""
        whole = self._whole
        around = self._around(self._is_left or not self._is_timed())
        if around is not None and around not in whole.spans:
            self.ids[around.native_id] = uid(around.span_uid)[:16]
            yield around, self._span(around, around)
        for span in whole.spans:
            yield span, self._span(span, around)

    def log(self, one: Score) -> JsonObject:
        """An evaluation of the whole trace, or of something that is no span."""
        record = _evaluation(one)
        record["eventName"] = record.pop("name")
        return {**record, "traceId": self._id}

    def _is_timed(self) -> bool:
        """Whether the spans are as long as the trace."""
        trace, spans = self._whole.trace, self._whole.spans
        start = min((one.start_ns for one in spans if one.start_ns is not None), default=None)
        end = max((one.end_ns for one in spans if one.end_ns is not None), default=None)
        return trace.start_ns in (None, start) and trace.end_ns in (None, end)

    def _around(self, is_needed: bool) -> Span | None:
        """The span that tells the whole conversation: the one agent at the root, else one of our own."""
        if not is_needed:
            return None
        whole = self._whole
        roots = [one for one in whole.spans if one.native_parent_id is None]
        agents = [one for one in roots if one.kind == "agent" and one.native_id not in self._said]
        if len(agents) == 1:
            return agents[0]
        trace = whole.trace
        ends = [one.end_ns or one.start_ns for one in whole.spans]
        return Span(
            span_uid=uid(trace.trace_uid, "conversation"),
            trace_uid=trace.trace_uid,
            native_id="conversation",
            kind="agent",
            name=f"invoke_agent {trace.agent}" if trace.agent else "invoke_agent",
            start_ns=trace.start_ns,
            end_ns=max((end for end in (*ends, trace.end_ns) if end is not None), default=None),
            status="error" if trace.error else "unset",
            error=trace.error,
        )

    def _span(self, span: Span, around: Span | None) -> JsonObject:
        events: list[Json] = [_evaluation(one) for one in self._whole.scores if one.target == span.native_id]
        told = _told(span, self._whole)
        if span is around:
            self._messages(told, *_halves(self._turns))
        elif span.native_id in self._said:
            given, answered = self._said[span.native_id]
            self._messages(told, [self._turns[at] for at in given], [self._turns[at] for at in answered])
        if span.native_id in self._calls:
            told["gen_ai.operation.name"] = "execute_tool"
            told.update(_tool(self._calls[span.native_id]))
        record: JsonObject = {
            "traceId": self._id,
            "spanId": self.ids[span.native_id],
            "parentSpanId": self._parent(span, around),
            "name": span.name,
            "kind": 3 if span.kind == "llm" else 1,
            "startTimeUnixNano": None if span.start_ns is None else str(span.start_ns),
            "endTimeUnixNano": None if span.end_ns is None else str(span.end_ns),
            "attributes": attributes(told),
            "events": events or None,
        }
        if span.status in _STATUS:
            record["status"] = {
                "code": _STATUS[span.status],
                **({"message": span.error} if span.error else {}),
            }
        return {key: value for key, value in record.items() if value is not None}

    def _parent(self, span: Span, around: Span | None) -> str | None:
        parent = span.native_parent_id
        if parent is None:
            return None if around is None or span is around else self.ids[around.native_id]
        return self.ids.get(parent) or _hex(parent, 16) or uid(span.trace_uid, parent)[:16]

    def _messages(self, told: JsonObject, given: Sequence[Turn], answered: Sequence[Turn]) -> None:
        if given:
            told["gen_ai.input.messages"] = fields.written([*map(spoken, given)])
        if answered:
            told["gen_ai.output.messages"] = fields.written([*map(spoken, answered)])


def _about(turn: Turn) -> Iterator[str]:
    """The calls that a turn asks for or answers."""
    yield from (one.id for one in turn.calls)
    if turn.answers is not None:
        yield turn.answers.id


def _said(whole: Whole, places: dict[str, int]) -> dict[str, tuple[list[int], list[int]]]:
    """By the native id of a span: places of the turns that it was given and that it answered."""
    owned: dict[str, list[int]] = {}
    for message_uid, span in owners(whole).items():
        if message_uid in places:
            owned.setdefault(span.span_uid, []).append(places[message_uid])
    found: dict[str, tuple[list[int], list[int]]] = {}
    calls = [one for one in whole.spans if one.kind == "llm"]
    is_much = len(calls) * len(places) > MUCH
    before = 0
    for span in whole.spans:
        if span.kind not in _TALKS:
            continue
        given = [places[one] for one in span.input_messages or () if one in places]
        answered = [places[one] for one in span.output_messages or () if one in places]
        if span.kind == "llm":
            answered = sorted({*answered, *owned.get(span.span_uid, ())})
        if answered and not given:
            given = [*range(before if is_much else 0, answered[0])]
        before = max(before, answered[-1] + 1 if answered else 0)
        if span.kind != "llm" and answered[: len(given)] == given:
            # State that a chain passes on: the same messages, not said twice.
            given = []
        if given or answered:
            found[span.native_id] = given, answered
    return found


def _tool_spans(whole: Whole, turns: tuple[Turn, ...]) -> dict[str, Asked]:
    """Calls by the span of the tool that ran them: by id, else the first of that name that no other span ran."""
    calls = {one.id: one for turn in turns for one in turn.calls}
    by_id = {one.call.native_id: one for one in calls.values() if one.call.native_id is not None}
    found: dict[str, Asked] = {}
    rest = []
    for span in whole.spans:
        if span.kind == "tool":
            told = fields.table(fields.parsed(span.attributes))
            one = by_id.get(fields.first(told, "gen_ai.tool.call.id") or span.native_id)
            if one is None:
                rest.append(span)
            elif calls.pop(one.id, None) is not None:
                found[span.native_id] = one
    for span in sorted(rest, key=lambda each: each.start_ns or each.end_ns or 0):
        one = next((each for each in calls.values() if _is_of(span, each.call.name)), None)
        if one is not None:
            found[span.native_id] = calls.pop(one.id)
    return found


def _is_of(span: Span, tool: str) -> bool:
    """Whether a tool's span is of that tool: instrumentations put words before the name."""
    return span.name == tool or span.name.endswith(f" {tool}")


def _halves(turns: tuple[Turn, ...]) -> tuple[tuple[Turn, ...], tuple[Turn, ...]]:
    """What was said before the agent's last answer, and from it on."""
    cut = max((at for at, one in enumerate(turns) if one.message.role == "assistant"), default=len(turns))
    while cut and cut < len(turns) and turns[cut - 1].message.role == "assistant":
        cut -= 1
    return turns[:cut], turns[cut:]


def _told(span: Span, whole: Whole) -> JsonObject:
    """Attributes of a span: what its producer said, under what its columns say."""
    found = dict(fields.table(fields.parsed(span.attributes)))
    trace = whole.trace
    if span.kind in _OPERATIONS:
        found["gen_ai.operation.name"] = _OPERATIONS[span.kind]
    elif span.kind in _KINDS:
        found["openinference.span.kind"] = _KINDS[span.kind]
    elif span.kind == "event":
        found["langfuse.observation.type"] = "event"
    columns = {key: value for key, column in _COLUMNS.items() if (value := getattr(span, column)) is not None}
    found.update(columns)
    if columns and span.kind == "other":
        found.setdefault("gen_ai.operation.name", "other")
    if span.model is not None and span.kind == "llm":
        found.setdefault("gen_ai.request.model", span.model)
    if span.finish_reason is not None:
        found["gen_ai.response.finish_reasons"] = [span.finish_reason]
    if span.status == "error":
        found.setdefault("error.type", "error")
    if span.native_parent_id is None:
        root: JsonObject = {
            "gen_ai.conversation.id": trace.conversation,
            "gen_ai.agent.name": trace.agent,
            "user.id": trace.user_ref,
            "rsi.version": trace.version,
            "rsi.route": trace.route,
            "rsi.task_id": trace.task_id,
            "rsi.trial": trace.trial,
        }
        found.update({key: value for key, value in root.items() if value is not None})
    return found


def _tool(one: Asked) -> JsonObject:
    call = one.call
    found: JsonObject = {
        "gen_ai.tool.name": call.name,
        "gen_ai.tool.call.id": one.id,
        "gen_ai.tool.call.arguments": call.arguments if call.arguments is not None else call.arguments_raw,
        "gen_ai.tool.call.result": call.result,
    }
    return {key: value for key, value in found.items() if value is not None}


def _evaluation(one: Score) -> JsonObject:
    """An evaluation event; what the conventions have no name for stands under ours."""
    told: JsonObject = {
        "gen_ai.evaluation.name": one.name,
        "gen_ai.evaluation.score.value": one.value,
        "gen_ai.evaluation.explanation": one.comment,
        "rsi.evaluation.source": one.source,
        "rsi.evaluation.annotator": one.annotator,
        "rsi.evaluation.basis": one.basis,
        "rsi.evaluation.correction": one.correction,
        "rsi.evaluation.target": one.target,
        "rsi.evaluation.said": one.said,
    }
    said = fields.parsed(one.said)
    if isinstance(said, str):
        told["gen_ai.evaluation.score.label"] = said
    record: JsonObject = {
        "name": "gen_ai.evaluation.result",
        "attributes": [attribute(key, value) for key, value in told.items() if value is not None],
    }
    if one.ts_ns is not None:
        record["timeUnixNano"] = str(one.ts_ns)
    return record


def _hex(value: str | None, length: int) -> str | None:
    """An id of OpenTelemetry, where it is one."""
    fits = value is not None and re.fullmatch(f"[0-9a-fA-F]{{{length}}}", value) and set(value) != {"0"}
    return value.lower() if value is not None and fits else None
