"""A run as a reader found it, and the rows it becomes. Every reader ends here: one way to name and to order.

A run is steps (each becomes a span, with what the model was given and answered, or the tool it called), or a
plain conversation, or both. Records repeat history: a message is named by what it says and by how often the
same was said before it in the same call, so that it is stored once, whichever record brings it; a tool call by
its id, or by its name and arguments.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rsi.ids import digest, uid
from rsi.records import Origin
from rsi.traces.formats import fields
from rsi.traces.formats.calls import CallUids, call_name, called, known_by_id, status
from rsi.traces.formats.turns import Call, Turn, last, opening
from rsi.traces.rows import Json, JsonObject, Message, Place, Rows, Score, Span, ToolCall, Trace


class Usage(NamedTuple):
    """Tokens and cost of a call, as the producer says."""

    input: int | None = None
    """With cached ones."""
    output: int | None = None
    """With reasoning."""
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None
    cost_usd: float | None = None


class ToolUse(NamedTuple):
    """What a tool's own span tells of its call."""

    call: Call
    result: str | None = None
    failed: bool = False


class Step(NamedTuple):
    """One operation of a run."""

    native_id: str
    """The producer's id, else a place (``message 3``) that is the same whenever the record is read."""
    kind: str = "other"
    """llm, tool, agent, retrieval, embedding, guardrail, evaluator, step, event or other."""
    name: str = ""
    parent_id: str | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    time_state: str = "missing"
    status: str = "unset"
    """ok, error or unset."""
    error: str | None = None
    instrumentation: str | None = None
    provider: str | None = None
    model: str | None = None
    response_id: str | None = None
    finish_reason: str | None = None
    usage: Usage = Usage()
    asked: tuple[Turn, ...] = ()
    """What the model was given, history and all."""
    answered: tuple[Turn, ...] = ()
    tool: ToolUse | None = None
    attributes: JsonObject | None = None
    """What the producer says beside, without the content that became turns."""
    at_ns: int | None = None
    """When its turns were said, where that is not the start: a step around calls of a model tells theirs again."""

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All that was said, in order."""
        return self.asked + self.answered


class Judgement(NamedTuple):
    """A score before it has its trace."""

    name: str
    value: float | None = None
    """1 good, 0 bad; null where what was said is no such number."""
    said: Json = None
    """What the judge said, where `value` does not tell all of it."""
    correction: str | None = None
    source: str = "code"
    """env, code, llm, human, label or end_user."""
    annotator: str | None = None
    basis: str | None = None
    target: str | None = None
    comment: str | None = None
    ts_ns: int | None = None
    native_id: str | None = None
    """The producer's id of the score."""


class Run(NamedTuple):
    """One trace of one record. What is null is taken from the steps where they know it."""

    native: str
    """The producer's id."""
    family: str
    """Names the id space together with the namespace: formats that render the same ids may share it."""
    weak: str | None = None
    """Digest of the content, where the native id alone does not name the trace."""
    steps: tuple[Step, ...] = ()
    turns: tuple[Turn, ...] = ()
    """The conversation, where the steps do not tell it."""
    conversation: str | None = None
    user: str | None = None
    task_id: str | None = None
    trial: int | None = None
    agent: str | None = None
    model: str | None = None
    version: str | None = None
    route: str | None = None
    release: str | None = None
    environment: str | None = None
    origin: Origin | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    time_state: str | None = None
    input_text: str | None = None
    output_text: str | None = None
    error: str | None = None
    expected: Json = None
    metadata: JsonObject | None = None
    session: str | None = None
    """The unit of the held-out split, where that is not the conversation."""
    judgements: tuple[Judgement, ...] = ()
    unique_calls: bool = False
    """Whether ids of calls are unique in the trace, so that a result finds its call in another record."""


def trace_id(run: Run, place: Place) -> str:
    """`trace_uid` of a run: of namespace, family and native id, and the content where that is weak."""
    named = (place.namespace, run.family, run.native)
    return uid(*named) if run.weak is None else uid(*named, run.weak)


def rows(run: Run, name: str, place: Place, part: bytes | Callable[[], bytes] | None = None) -> Rows:
    """The rows of one run; `name` is the reader's, `part` its own text in a record about several."""
    trace_uid = trace_id(run, place)
    steps = sorted(run.steps, key=lambda one: one.start_ns or one.end_ns or 0)
    told = _Told(trace_uid)
    spans = [_span(trace_uid, one, told.step(one, run.start_ns or 0)) for one in steps]
    told.turns(run.turns, run.start_ns or 0)
    about = (run.error, run.expected, run.input_text, run.metadata)
    heard = bool(run.turns or steps or any(one is not None for one in about))
    return Rows(
        trace_uid=trace_uid,
        namespace=place.namespace,
        native=run.native if run.weak is None else trace_uid,
        session=run.session or run.conversation,
        trace=_trace(trace_uid, run, steps, name, place) if heard else None,
        spans=tuple(spans),
        messages=tuple(told.messages.values()),
        tool_calls=_tool_calls(trace_uid, run, steps),
        scores=tuple(score(trace_uid, one) for one in run.judgements),
        own=part,
    )


def score(trace_uid: str, said: Judgement) -> Score:
    """A judgement of a trace."""
    written = None if said.said is None else fields.written(said.said) or "{}"
    named = said.native_id or digest(
        [
            said.value,
            written,
            said.correction,
            said.comment,
            said.ts_ns,
            said.target,
            said.basis,
            said.annotator,
        ]
    )
    return Score(
        score_uid=uid(trace_uid, said.name, named),
        trace_uid=trace_uid,
        name=said.name,
        value=said.value,
        said=written,
        correction=said.correction,
        source=said.source,
        annotator=said.annotator,
        basis=said.basis,
        target=said.target,
        comment=said.comment,
        ts_ns=said.ts_ns,
    )


def _trace(trace_uid: str, run: Run, steps: Sequence[Step], name: str, place: Place) -> Trace:
    heard = []
    start = end = model = None
    state, is_run = "missing", bool(run.turns)
    for one in steps:
        if one.asked or one.answered:
            heard.append(one)
        if one.kind in ("agent", "tool"):
            is_run = True
        elif one.kind == "llm" and model is None:
            model = one.model
        if one.start_ns:
            if start is None or one.start_ns < start:
                start = one.start_ns
            if state == "missing":
                state = one.time_state
        if one.end_ns and (end is None or one.end_ns > end):
            end = one.end_ns
    is_run = is_run or len(heard) > 1
    asked = run.turns or (heard[0].asked if heard else ())
    answered = run.turns or tuple(turn for one in heard for turn in one.answered)
    return Trace(
        trace_uid=trace_uid,
        namespace=place.namespace,
        format=name,
        native_id=run.native or run.weak or trace_uid,
        conversation=run.conversation,
        user_ref=run.user,
        task_id=run.task_id,
        trial=run.trial,
        agent=run.agent,
        model=run.model or model,
        version=run.version,
        route=run.route,
        release=run.release,
        environment=run.environment,
        origin=(run.origin or place.origin or Origin.TRAFFIC).value,
        start_ns=run.start_ns if run.start_ns is not None else start,
        end_ns=run.end_ns if run.end_ns is not None else end,
        time_state=run.time_state or state,
        input_text=run.input_text or (opening(asked, "user") if is_run else last(asked, "user")),
        output_text=run.output_text or last(answered, "assistant"),
        error=run.error,
        expected=fields.written(run.expected),
        metadata=fields.written(run.metadata),
    )


def _span(trace_uid: str, step: Step, messages: list[str]) -> Span:
    asked = len(step.asked)
    return Span(
        uid(trace_uid, step.native_id),
        trace_uid,
        step.native_id,
        step.parent_id,
        step.kind,
        step.name or step.kind,
        step.instrumentation,
        step.start_ns,
        step.end_ns,
        step.time_state,
        step.status,
        step.error,
        step.provider,
        step.model,
        step.response_id,
        step.finish_reason,
        *step.usage,
        messages[:asked] or None,
        messages[asked:] or None,
        fields.written(step.attributes),
    )


class _Told:
    """The messages of a run, each once: that of the first who heard it, with its place there."""

    def __init__(self, trace_uid: str) -> None:
        self.messages: dict[str, Message] = {}
        self._trace_uid = trace_uid
        self._uids: dict[tuple[str, int], str] = {}

    def step(self, step: Step, begin_ns: int) -> list[str]:
        """Names of what was said in a step: at its start, but an answer that others may have spoken before, at
        its end.

        That is the answer of an agent or a chain, and one told apart from what was asked.
        """
        if not step.asked and not step.answered:
            return []
        start = step.at_ns or step.start_ns or begin_ns
        if step.at_ns or (step.kind == "llm" and step.asked):
            return self._say(step.turns, start, 0, {})
        end, count = step.end_ns or start, len(step.asked)
        seen: dict[str, int] = {}
        asked = self._say(step.asked, start, 0, seen)
        if count and step.kind != "llm" and step.answered[:count] == step.asked:
            # State that a chain passes on: the same messages again, not the same words said twice.
            return asked + self._say(step.answered, end, 0, {})
        return asked + self._say(step.answered, end, count, seen)

    def turns(self, said: Sequence[Turn], at_ns: int) -> None:
        """What was said outside of steps, where no step tells it."""
        before, self.messages = self.messages, {}
        self._say(said, at_ns, 0, {})
        self.messages = before | {name: row for name, row in self.messages.items() if name not in before}

    def _say(self, said: Sequence[Turn], at_ns: int, seq: int, seen: dict[str, int]) -> list[str]:
        """Names in order; equal messages are told apart by how many came before."""
        names = []
        trace_uid, messages, uids = self._trace_uid, self.messages, self._uids
        for role, text, state, calls, answers, _, _, thought, author, native in said:
            if native is not None:
                name = uid(trace_uid, "message", native)
            else:
                content = f"{role}\1{text or ''}\1{state}\1{answers or ''}"
                if calls:
                    told = [f"{call.native_id}\0{call.name}\0{call.arguments}\0{call.raw}" for call in calls]
                    content = "\1".join((content, *told))
                count = seen.get(content, 0)
                seen[content] = count + 1
                name = uids.get((content, count), "")
                if not name:
                    name = uids[content, count] = uid(trace_uid, content, str(count))
            names.append(name)
            known = messages.get(name)
            if known is None or at_ns < known.at_ns:
                messages[name] = Message(
                    name, trace_uid, at_ns, seq, role, author, text, state, thought, answers
                )
            seq += 1
        return names


def _tool_calls(trace_uid: str, run: Run, steps: Sequence[Step]) -> tuple[ToolCall, ...]:
    """Calls as conversations tell them, and as the tools' spans do; what is told again is the earliest of it."""
    found: dict[tuple[str | None, ...], ToolCall] = {}
    uids = CallUids(trace_uid)
    begin = run.start_ns or 0
    for one in steps:
        if one.asked or one.answered:
            _add(found, called(uids, one.turns, one.at_ns or one.start_ns or begin))
    if run.turns:
        _add(found, called(uids, run.turns, begin))
    tools = [one for one in steps if one.tool is not None]
    by_id = {one.native_id: one for one in tools}
    seen: dict[str, int] = {}
    for one in tools:
        if one.tool is None or _repeats(one, by_id):
            continue
        call, result = one.tool.call, one.tool.result
        key = (
            call_name(call) if call.native_id or call.arguments or call.raw else uid(trace_uid, one.native_id)
        )
        failed = one.tool.failed or one.status == "error"
        row = ToolCall(
            uids[key, seen.get(key, 0)],
            trace_uid,
            one.start_ns or begin,
            0,
            call.native_id,
            call.name,
            "assistant",
            call.arguments,
            call.state,
            call.raw,
            result or one.error or result,
            "no_result"
            if result is None and not failed and one.status == "unset"
            else status(result, failed),
        )
        _add(found, [row])
        seen[key] = seen.get(key, 0) + 1
    rows_ = tuple(found.values())
    if not run.unique_calls:
        return rows_
    return known_by_id(trace_uid, rows_, [(one.at_ns or one.start_ns or begin, one.turns) for one in steps])


def _add(found: dict[tuple[str | None, ...], ToolCall], rows_: Sequence[ToolCall]) -> None:
    """Each telling once, whenever it was told."""
    for row in rows_:
        key = (row.call_uid, *row[5:])
        known = found.get(key)
        if known is None or (row.at_ns, row.seq) < (known.at_ns, known.seq):
            found[key] = row


def _repeats(step: Step, by_id: dict[str, Step]) -> bool:
    """A tool's span inside another span of the same call, by another library."""
    parent = by_id.get(step.parent_id or "")
    return (
        parent is not None
        and parent.tool is not None
        and step.tool is not None
        and parent.tool.call.name == step.tool.call.name
        and step.tool.call.arguments in (None, parent.tool.call.arguments)
    )
