"""What one record tells of one trace of Langfuse: its rows gathered, in any order, into a run."""

from rsi.traces.formats import fields, langfuse_scores
from rsi.traces.formats.langfuse_rows import beside, metadata, present, shaped, traced
from rsi.traces.formats.langfuse_steps import Observed, observed
from rsi.traces.formats.pairing import paired
from rsi.traces.formats.run import Judgement, Run, Step, Usage
from rsi.traces.formats.sides import Side, answered, asked, opened
from rsi.traces.formats.turns import Turn, last
from rsi.traces.rows import Json, JsonObject, Reason, Refusal

FAMILY = "langfuse"
_UNSAID = (None, "", "unset", "missing", "other", (), Usage())
_CONTEXT = ("sessionId", "userId", "release", "environment", "tags", "traceName")
"""What rows of observations tell of their trace."""


def inside(trace: JsonObject) -> list[JsonObject]:
    """The observations that a trace's row brings, in itself or beside it."""
    return [*fields.tables(trace.get("observations")), *fields.tables(trace.get("observationsBeside"))]


class Part:
    """What one record tells of one trace."""

    def __init__(self, native: str) -> None:
        self.native = native
        self.trace: JsonObject = {}
        self.context: JsonObject = {}
        self.rows: dict[str, JsonObject] = {}
        self.seen: dict[str, Observed] = {}
        self.judgements: dict[str, Judgement] = {}

    def add(self, kind: str, row: JsonObject) -> list[Refusal]:
        """Take a row in; what is refused of it."""
        if kind == "score":
            return self._score(row)
        if kind == "observation":
            return self._observation(row)
        self.trace = {**row, **self.trace}
        refused = [found for one in inside(row) for found in self._observation(shaped(one))]
        for key in ("scores", "corrections", "scoresBeside", "correctionsBeside"):
            for one in fields.tables(row.get(key)):
                refused += self._score(langfuse_scores.located(shaped(one)))
        return refused

    def _observation(self, row: JsonObject) -> list[Refusal]:
        native = fields.first(row, "id")
        if native is None:
            return [Refusal(Reason.MISSING_FIELD, "an observation without id", traced(row))]
        self.context = {**present((key, row.get(key)) for key in _CONTEXT), **self.context}
        found = observed(row, native)
        before = self.seen.get(native)
        self.seen[native] = found if before is None else _joined(before, found)
        self.rows[native] = {**self.rows.get(native, {}), **row}
        return []

    def _score(self, row: JsonObject) -> list[Refusal]:
        found = langfuse_scores.judgement(row)
        if isinstance(found, Refusal):
            return [found]
        self.judgements[found.native_id or str(len(self.judgements))] = found
        return []

    def run(self) -> Run:
        """All of it."""
        ordered = self._ordered()
        steps = paired([one.step for one in ordered])
        text = tuple(turn for one in ordered for turn in one.text)
        root = next((one for one in steps if self._is_outermost(one)), None)
        outer = self.rows.get(root.native_id, {}) if root is not None else {}
        into, out = (self.trace.get(key, outer.get(key)) for key in ("input", "output"))
        given, got = asked(into), answered(out)
        is_told = any(one.turns for one in steps) or bool(text) or self._told_elsewhere()
        start, state = fields.moment(self.trace.get("timestamp"))
        told = {**self.context, **self.trace}
        return Run(
            native=self.native,
            family=FAMILY,
            steps=steps,
            turns=text if is_told else _conversation(given, got),
            conversation=fields.first(told, "sessionId")
            or self._said("session.id", "gen_ai.conversation.id"),
            user=fields.first(told, "userId") or self._said("user.id"),
            agent=next((one.agent for one in ordered if one.agent), None),
            release=fields.first(told, "release", "version") or self._said("service.version"),
            environment=fields.first(told, "environment"),
            start_ns=start,
            time_state=state if start is not None else None,
            input_text=_line(into, last(given.turns, "user"), is_told),
            output_text=_line(out, last(got.turns, "assistant"), is_told),
            error=root.error if root else None,
            metadata=self._metadata(told) or None,
            judgements=tuple(self.judgements.values()),
        )

    def _ordered(self) -> list[Observed]:
        """The observations by time; where no model's call is among them, the state of the outermost tells."""
        found = self.seen
        is_whole = bool(self.trace) or len(found) > 1
        if is_whole and not any(one.step.kind == "llm" for one in found.values()):
            outer = [name for name, one in found.items() if self._is_outermost(one.step)]
            found = {**found, **{name: observed(self.rows[name], name, with_state=True) for name in outer}}
        return sorted(found.values(), key=lambda one: (one.step.start_ns or 0, one.step.native_id))

    def _is_outermost(self, step: Step) -> bool:
        """Whether a span is the root, or the one that is left where the record is a whole trace."""
        return step.parent_id is None or (bool(self.trace) and step.parent_id not in self.seen)

    def _told_elsewhere(self) -> bool:
        """Whether other records tell the trace's conversation: its row is one of an export or list, or not here."""
        named = fields.listing(self.trace.get("observations"))
        return (
            not self.trace or self.trace.get("isExport") is True or any(isinstance(one, str) for one in named)
        )

    def _said(self, *keys: str) -> str | None:
        told = (fields.first(one.attributes or {}, *keys) for one in self.seen.values())
        return next((one for one in told if one is not None), None)

    def _metadata(self, told: JsonObject) -> JsonObject:
        kept = present(
            (key, told.get(key)) for key in ("name", "tags", "version", "projectId", "public", "bookmarked")
        )
        if "name" not in kept and told.get("traceName"):
            kept["name"] = told["traceName"]
        kept.update(present(iter([("metadata", beside(metadata(self.trace), bool(self.seen)))])))
        return kept


def _joined(before: Observed, after: Observed) -> Observed:
    """Two rows of one observation (a create and an update) as one."""
    said = {name: value for name, value in after.step._asdict().items() if value not in _UNSAID}
    return Observed(
        before.step._replace(**said),
        after.text or before.text,
        after.agent or before.agent,
        {**(before.attributes or {}), **(after.attributes or {})},
    )


def _conversation(given: Side, got: Side) -> tuple[Turn, ...]:
    """What was asked and answered; a state that begins with what was asked holds both."""
    count = len(given.turns)
    return got.turns if count and got.turns[:count] == given.turns else given.turns + got.turns


def _line(value: Json, said: str | None, is_told: bool) -> str | None:
    """A trace's input or output as text: what was said in it, else its JSON where no step tells more."""
    if said is not None:
        return said
    inner = opened(value)
    if isinstance(inner, dict | list) and inner and not is_told:
        return fields.written(inner)
    return None
