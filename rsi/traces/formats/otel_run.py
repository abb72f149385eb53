"""Spans of one trace id as a run: what the trace as a whole is called, was asked and answered, and how it ended.

OTLP, Jaeger, OTel-JS and Phoenix render the same ids, so that they share one family: a trace that was
exported twice is one trace.
"""

from collections.abc import Sequence

from rsi.traces.formats import fields, otel_scores
from rsi.traces.formats.otel_payload import payload
from rsi.traces.formats.otel_span import EVALUATION, Told, step
from rsi.traces.formats.run import Judgement, Run, Step
from rsi.traces.formats.turns import Turn, last
from rsi.traces.rows import JsonObject, Refusal

FAMILY = "otel"
_CONVERSATION = ("gen_ai.conversation.id", "session.id", "langfuse.session.id", "gcp.vertex.agent.session_id",
                 "traceloop.association.properties.session_id", "traceloop.association.properties.thread_id",
                 "ai.telemetry.metadata.sessionId", "mlflow.trace.session")  # fmt: skip
_USER = ("user.id", "enduser.id", "langfuse.user.id", "traceloop.association.properties.user_id",
         "ai.telemetry.metadata.userId", "mlflow.trace.user")  # fmt: skip
_AGENT = ("gen_ai.agent.name", "agent.name", "agent_name")
_RELEASE = ("service.version", "langfuse.release")
_ENVIRONMENT = ("deployment.environment.name", "deployment.environment", "langfuse.environment")
_IN = ("input.value", "traceloop.entity.input", "langfuse.trace.input", "langfuse.observation.input",
       "mlflow.spanInputs")  # fmt: skip
_OUT = ("output.value", "traceloop.entity.output", "langfuse.trace.output", "langfuse.observation.output",
        "mlflow.spanOutputs", "final_result")  # fmt: skip


def run(
    trace_id: str,
    spans: Sequence[Told],
    judgements: Sequence[Judgement] = (),
    more: Sequence[Step] = (),
    turns: tuple[Turn, ...] = (),
) -> tuple[Run, list[Refusal]]:
    """The run of some spans; `more` are steps and `turns` messages that only log records tell."""
    if len(spans) > 1:
        spans = sorted(spans, key=lambda one: (one.start_ns or 0, one.span_id))
    scores, refusals = _judgements(spans)
    steps = [step(one) for one in spans]
    said = [one.attributes for one in spans]
    said += [one.attributes for one in more if one.attributes]
    resource = spans[0].resource if spans else None
    beside = [one.resource for one in spans[:1] if one.resource] + said
    read = Run(
        native=trace_id,
        family=FAMILY,
        steps=(*steps, *more),
        turns=turns,
        conversation=_named(said, _CONVERSATION),
        user=_named(said, _USER),
        agent=_named(said, _AGENT),
        release=_named(beside, _RELEASE),
        environment=_named(beside, _ENVIRONMENT),
        input_text=_input(steps, said, turns),
        output_text=_payload(steps, said, _OUT, "assistant"),
        error=next((one.error for one in steps if one.error and _leads(one)), None),
        metadata={"resource": resource} if resource else None,
        judgements=(*judgements, *scores),
    )
    return read, refusals


def _leads(one: Step) -> bool:
    """Its failure is the run's."""
    return one.parent_id is None or one.kind == "agent"


def _judgements(spans: Sequence[Told]) -> tuple[list[Judgement], list[Refusal]]:
    """What evaluation events and annotations on the spans say."""
    found: list[Judgement] = []
    refusals: list[Refusal] = []
    for span in spans:
        found += otel_scores.annotations(span.attributes, span.span_id)
        for event in span.events:
            if event.name == EVALUATION:
                said = otel_scores.evaluation(event, span.span_id)
                if isinstance(said, Refusal):
                    refusals.append(said)
                else:
                    found.append(said)
    return found, refusals


def _named(places: Sequence[JsonObject], keys: tuple[str, ...]) -> str | None:
    for place in places:
        for key in keys:
            if key in place and (found := fields.named(place[key])) is not None:
                return found
    return None


def _input(steps: list[Step], said: list[JsonObject], turns: tuple[Turn, ...]) -> str | None:
    """The request, where the steps in order of time would not tell it: the last word of the user before the one
    call of a model inside a step that tells the same, or the payload of a root without messages."""
    heard = [one for one in steps if one.asked or one.answered]
    if not heard:
        return None if turns else _payload(steps, said, _IN, "user")
    if len(heard) > 1 and not any(one.kind in ("agent", "tool") for one in steps):
        calls = [one for one in heard if one.kind == "llm"]
        if len(calls) == 1:
            return last(calls[0].asked, "user")
    return None


def _payload(steps: list[Step], said: list[JsonObject], keys: tuple[str, ...], role: str) -> str | None:
    """What the root's payload says, of a trace whose steps hold no messages."""
    if any(one.asked or one.answered for one in steps):
        return None
    for one, attributes in zip(steps, said, strict=False):
        if one.parent_id is None and one.kind != "other":
            value = next((attributes[key] for key in keys if key in attributes), None)
            return last(payload(value, role), role)
    return None
