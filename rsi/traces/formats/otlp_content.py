"""What was said in a model call, from the spellings that GenAI instrumentations have used so far.

1. ``gen_ai.input.messages``, ``gen_ai.output.messages``, ``gen_ai.system_instructions`` (role and parts), as
   JSON text or structure, on the span or on event ``gen_ai.client.inference.operation.details``;
2. flattened keys: OpenLLMetry's ``gen_ai.prompt.N.role`` … ``gen_ai.completion.N.tool_calls.M.name``, and
   OpenInference's;
3. what the Vercel AI SDK, Google's ADK, Langfuse, MLflow and Pydantic AI keep in attributes of their own;
4. ``gen_ai.prompt`` and ``gen_ai.completion``, on the span or on events ``gen_ai.content.prompt`` and
   ``gen_ai.content.completion``, as JSON text of messages or as plain text;
5. one event a message: ``gen_ai.{system,user,assistant,tool}.message`` and ``gen_ai.choice``.

For what was asked and for what was answered the first that says something is taken. Attributes that became
turns are taken out. Text that was cut and no longer parses is a turn whose state says so.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rsi.traces.formats import fields, otel_adk, otel_openinference, otel_vercel
from rsi.traces.formats.otel_flat import drop, listed
from rsi.traces.formats.otel_payload import instructions, payload, told
from rsi.traces.formats.run import Usage
from rsi.traces.formats.turns import Turn, turns
from rsi.traces.rows import JsonObject

DETAILS = "gen_ai.client.inference.operation.details"
_SYSTEM, _INPUT, _OUTPUT = "gen_ai.system_instructions", "gen_ai.input.messages", "gen_ai.output.messages"
_FLAT = ("gen_ai.prompt", "gen_ai.completion")
_CHOICE = "gen_ai.choice"
_ROLES = {f"gen_ai.{role}.message": role for role in ("system", "user", "assistant", "tool")}
_PART_KEYS = {"type", "text", "toolUse", "toolResult", "reasoningContent"}
_PAYLOADS = (
    ("langfuse.observation.input", "langfuse.observation.output"),
    ("mlflow.spanInputs", "mlflow.spanOutputs"),
    ("traceloop.entity.input", "traceloop.entity.output"),
    ("lmnr.span.input", "lmnr.span.output"),
)
_WHOLE = ("pydantic_ai.all_messages", "all_messages_events", "events")
"""Pydantic AI: all messages of a run, or one event a message."""


class Event(NamedTuple):
    """A span event, or a log record that belongs to a span; a log's body is merged into the attributes."""

    name: str
    ts_ns: int | None
    attributes: JsonObject


class Content(NamedTuple):
    """A conversation up to the call, what the model answered, and what the answer says of itself."""

    asked: tuple[Turn, ...] = ()
    answered: tuple[Turn, ...] = ()
    finish: str | None = None
    usage: Usage | None = None


NOTHING = Content()


def content(attributes: JsonObject, events: Sequence[Event], of_model: bool) -> Content:
    """The conversation of one call, taken out of the attributes; empty where content was not captured.

    What is no call of a model (`of_model`), but an agent or a step, tells messages only, no payloads.
    """
    found = _structured(attributes)
    if found is not None and "openinference.span.kind" not in attributes:
        return found
    sides = [] if found is None else [found]
    for event in events:
        if event.name == DETAILS and (detailed := _structured(event.attributes)):
            sides.append(detailed)
    sides += _by_prefix(attributes, of_model)
    if events:
        sides += _by_event(events)
    return _merged(sides) if sides else NOTHING


def is_content(event: Event) -> bool:
    """Whether an event tells messages, and nothing else."""
    name = event.name
    return name in _ROLES or name in (_CHOICE, DETAILS) or name.startswith("gen_ai.content.")


def _structured(attributes: JsonObject) -> Content | None:
    if _INPUT not in attributes and _OUTPUT not in attributes:
        return None
    asked = told(attributes.get(_INPUT), "user")
    answered = told(attributes.get(_OUTPUT), "assistant")
    if asked:
        del attributes[_INPUT]
    if answered:
        del attributes[_OUTPUT]
    if _SYSTEM in attributes and (system := instructions(attributes[_SYSTEM])):
        del attributes[_SYSTEM]
        asked = (*system, *asked)
    return Content(asked, answered)


def _by_prefix(attributes: JsonObject, of_model: bool) -> list[Content]:
    """Every vocabulary whose keys are present."""
    heads = {key.partition(".")[0] for key in attributes}
    found = []
    if "gen_ai" in heads:
        flat = any(key.startswith(_FLAT) for key in attributes)
        found.append(_flattened(attributes) if flat else NOTHING)
        if _SYSTEM in attributes and (system := instructions(attributes[_SYSTEM])):
            del attributes[_SYSTEM]
            found[0] = found[0]._replace(asked=(*system, *found[0].asked))
    if "llm" in heads or (of_model and ("input" in heads or "output" in heads)):
        found.append(Content(*otel_openinference.messages(attributes, of_model)))
    if "ai" in heads:
        found.append(Content(*otel_vercel.messages(attributes)))
    if "gcp" in heads:
        found.append(Content(*otel_adk.exchange(attributes)))
    for key in _WHOLE if heads.intersection(("pydantic_ai", *_WHOLE)) else ():
        found.append(_pydantic(attributes, key))
    if of_model:
        found += [
            _payload(attributes, *keys)
            for keys in _PAYLOADS
            if keys[0] in attributes or keys[1] in attributes
        ]
        found.append(_payload(attributes, "gen_ai.prompt", "gen_ai.completion"))
    return found


def _flattened(attributes: JsonObject) -> Content:
    prompts, asked_keys = listed(attributes, _FLAT[0])
    choices, answered_keys = listed(attributes, _FLAT[1])
    asked = turns(map(_with_parts, prompts), "user") if prompts else ()
    answered = turns(map(_with_parts, choices), "assistant") if choices else ()
    if asked:
        drop(attributes, asked_keys)
    if answered:
        drop(attributes, answered_keys)
    finish = fields.named(choices[0].get("finish_reason")) if choices else None
    return Content(asked, answered, finish)


def _with_parts(message: JsonObject) -> JsonObject:
    """Content that is a list of parts comes as its JSON text; what a user wrote stays as it is."""
    text = message.get("content")
    if isinstance(text, str) and text.startswith('[{"'):
        parts = fields.tables(fields.parsed(text))
        if parts and all(_PART_KEYS.intersection(one) for one in parts):
            return {**message, "content": [*parts]}
    return message


def _payload(attributes: JsonObject, asked_key: str, answered_key: str) -> Content:
    asked = payload(attributes.get(asked_key), "user")
    answered = payload(attributes.get(answered_key), "assistant")
    drop(attributes, [key for key, one in ((asked_key, asked), (answered_key, answered)) if one])
    return Content(asked, answered)


def _pydantic(attributes: JsonObject, key: str) -> Content:
    messages = fields.tables(fields.parsed(attributes.get(key)))
    if any("event.name" in one for one in messages):
        events = [Event(str(one.get("event.name")), None, one) for one in messages]
        found = _merged(_by_event(events))
    else:
        all_ = turns(messages)
        cut = len(all_) - 1 if all_ and all_[-1].role == "assistant" else len(all_)
        found = Content(all_[:cut], all_[cut:])
    if found.asked or found.answered:
        del attributes[key]
    return found


def _by_event(events: Iterable[Event]) -> list[Content]:
    asked, answered = list[Turn](), list[Turn]()
    finish: str | None = None
    found = []
    for event in events:
        name, said = event.name, event.attributes
        if name.startswith("gen_ai.content."):
            prompt, completion = said.get("gen_ai.prompt"), said.get("gen_ai.completion")
            found.append(Content(payload(prompt, "user"), payload(completion, "assistant")))
        elif name in _ROLES:
            asked += _event_turns(_unwrapped(said), _ROLES[name])
        elif name == _CHOICE:
            message = _unwrapped(said)
            answered += _event_turns(message, "assistant")
            finish = finish or fields.first(message, "finish_reason")
    return [*found, Content(tuple(asked), tuple(answered), finish)]


def _unwrapped(said: JsonObject) -> JsonObject:
    """The message is the event's attributes, or an object or its JSON text in one of them."""
    for key in ("gen_ai.event.content", "message"):
        inner = fields.parsed(said.get(key))
        if isinstance(inner, dict):
            said = {**said, **inner}
    if "content" not in said and isinstance(said.get("message"), str):
        said = {**said, "content": said["message"]}
    return said


def _event_turns(message: JsonObject, role: str) -> tuple[Turn, ...]:
    shaped: JsonObject = {"role": role, **message}
    if role == "tool" and not fields.first(shaped, "tool_call_id"):
        shaped["tool_call_id"] = message.get("id")
    return turns([_with_parts(shaped)])


def _merged(sides: list[Content]) -> Content:
    asked = next((one.asked for one in sides if one.asked), ())
    answered = next((one.answered for one in sides if one.answered), ())
    finish = next((one.finish for one in sides if one.finish), None)
    return Content(asked, answered, finish, next((one.usage for one in sides if one.usage), None))
