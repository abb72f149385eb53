"""Tool calls in the harness's own short notation, ``refund(117, 40)``: few tokens, one call an answer.

An answer is a call, a call with the stop word behind it, or the stop word. Arguments stand in the order of the tool's
schema, or by name (``amount=40``). A value is a whole number, a number, a text in either quote, or a bare text
without ``,()="'`` and line ends. Text is read and never run.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from string import Template
from typing import NamedTuple

from pydantic import BaseModel, Field, ValidationError

from rsi.errors import ContractError
from rsi.records import Argument, ToolCall

LONGEST = 400
"""Most characters of an answer that is read."""
_NAME = r"[A-Za-z_]\w*"
_CALL = re.compile(rf"({_NAME})\s*\(([^\n]*)\)")
_VALUE = re.compile(
    rf"""\s*(?:(?P<name>{_NAME})\s*=\s*)?"""
    r"""(?:"(?P<double>[^"\n]*)"|'(?P<single>[^'\n]*)'|(?P<bare>[^\s,()="'][^,()="'\n]*))\s*(?:,|$)"""
)
_BARE = re.compile(r"""[^\s,()="'](?:[^,()="'\n]*[^\s,()="'])?""")
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_NUMBER = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?")


class Unreadable(ValueError):
    """An answer that is no call; the text says what is wrong with it."""


class Misfit(ValueError):
    """A call that fits none of the tools; the text says why."""


class Said(NamedTuple):
    """An answer, read."""

    name: str
    """The tool; empty where only the stop word is said."""
    values: tuple[tuple[str, str], ...]
    """(argument's name or empty, text), as written."""
    stop: bool
    """Whether the stop word is said."""


class Parameter(BaseModel):
    """What a tool takes."""

    type: str = "string"
    """string, integer or number."""
    enum: tuple[str, ...] = ()
    """The only texts that it may be; empty for any."""


class Parameters(BaseModel):
    """All that a tool takes, in order."""

    properties: dict[str, Parameter] = Field(default_factory=dict)
    required: tuple[str, ...] = ()


class Tool(BaseModel):
    """One tool, from its OpenAI schema."""

    name: str
    parameters: Parameters = Parameters()

    @property
    def signature(self) -> str:
        """How it is called, for the prompt: ``status(ticket, open|hold|closed)``."""
        slots = ("|".join(one.enum) or name for name, one in self.parameters.properties.items())
        return f"{self.name}({', '.join(slots)})"


def tools_of(schemas: Sequence[Mapping[str, object]]) -> dict[str, Tool]:
    """Tools by name.

    Raises:
        ContractError: a schema is none of a function with flat arguments.
    """
    try:
        found = [Tool.model_validate(schema.get("function", schema)) for schema in schemas]
    except ValidationError as error:
        raise ContractError(
            f"a tool's schema is not a function as the OpenAI chat API takes it: {error}"
        ) from None
    for tool in found:
        for name, one in tool.parameters.properties.items():
            if one.type not in ("string", "integer", "number"):
                raise ContractError(
                    f"argument {name!r} of tool {tool.name!r} is a {one.type}; this notation writes strings, "
                    "integers and numbers"
                )
    return {tool.name: tool for tool in found}


def system_text(tools: Mapping[str, Tool], policy: str, stop: str) -> str:
    """What the model is told of its tools, the rules and the notation."""
    signatures = " ".join(tool.signature for tool in tools.values())
    return _notation().substitute(tools=signatures, policy=policy, stop=stop).strip()


@cache
def _notation() -> Template:
    return Template(files("rsi.harness").joinpath("notation.txt").read_text(encoding="utf-8"))


def read(text: str, stop: str) -> Said:
    """An answer, taken apart.

    Raises:
        Unreadable: it is neither a call nor the stop word.
    """
    if len(text) > LONGEST:
        raise Unreadable(f"an answer of {len(text)} characters; write one call")
    if not text.isascii() and text != text.encode(errors="replace").decode():
        raise Unreadable("characters that are none; write one call")
    body = text.strip()
    if not body:
        raise Unreadable("an empty answer; write one call")
    call = body.removesuffix(stop).rstrip() if body.endswith(stop) else body
    ended = call != body
    if not call:
        return Said("", (), stop=True)
    found = _CALL.fullmatch(call)
    if not found:
        raise Unreadable(f"not a call; write name(arguments) or {stop}")
    return Said(found[1], _values(found[2]), ended)


def _values(text: str) -> tuple[tuple[str, str], ...]:
    """The arguments between the parentheses."""
    found = list[tuple[str, str]]()
    at, body = 0, text.strip()
    while at < len(body):
        one = _VALUE.match(body, at)
        if not one or (one.end() == len(body) and body.endswith(",")):
            raise Unreadable("arguments are not values with commas between them")
        value = next(text for text in (one["double"], one["single"], one["bare"]) if text is not None)
        found.append((one["name"] or "", value.strip()))
        at = one.end()
    return tuple(found)


def fit(said: Said, tools: Mapping[str, Tool]) -> ToolCall:
    """The call that an answer makes of one of the tools.

    Raises:
        Misfit: no such tool, or arguments that it does not take.
    """
    tool = tools.get(said.name)
    if tool is None:
        raise Misfit(f"no tool {said.name[:40]}; there are {', '.join(tools)}")
    slots = tool.parameters.properties
    given: dict[str, Argument] = {}
    for place, (name, text) in enumerate(said.values):
        name = name or next(iter(list(slots)[place : place + 1]), "")
        if name not in slots or name in given:
            raise Misfit(f"write {tool.signature}")
        given[name] = _argument(name, text, slots[name])
    lacking = [name for name in tool.parameters.required if name not in given]
    if lacking:
        raise Misfit(f"{lacking[0]} is missing; write {tool.signature}")
    return ToolCall(name=tool.name, arguments={name: given[name] for name in slots if name in given})


def _argument(name: str, text: str, slot: Parameter) -> Argument:
    if slot.type == "integer":
        if not _WHOLE.fullmatch(text):
            raise Misfit(f"{name} must be a whole number, not {text[:40]}")
        return int(text)
    if slot.type == "number":
        if not _NUMBER.fullmatch(text):
            raise Misfit(f"{name} must be a number, not {text[:40]}")
        return float(text)
    if slot.enum and text not in slot.enum:
        raise Misfit(f"{name} must be {' or '.join(slot.enum)}, not {text[:40]}")
    return text


def write(call: ToolCall, tools: Mapping[str, Tool]) -> str:
    """A call in this notation, which `read` and `fit` give back.

    Raises:
        ContractError: it cannot be written: no such tool or argument, or a text with both quotes or a line end.
    """
    tool = tools.get(call.name)
    slots = tool.parameters.properties if tool else {}
    if tool is None or not call.arguments.keys() <= slots.keys():
        raise ContractError(f"{call.name}({', '.join(call.arguments)}) is no call of {', '.join(tools)}")
    written = [(name, _written(call.arguments[name])) for name in slots if name in call.arguments]
    dense = [name for name, _ in written] == list(slots)[: len(written)]
    return f"{call.name}({', '.join(text if dense else f'{name}={text}' for name, text in written)})"


def _written(value: Argument) -> str:
    text = str(value)
    if _BARE.fullmatch(text):
        return text
    quote = next((one for one in ('"', "'") if one not in text and "\n" not in text), None)
    if quote is None:
        raise ContractError(f"{text[:80]!r} has both quotes or a line end; this notation cannot write it")
    return f"{quote}{text}{quote}"
