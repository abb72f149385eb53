"""Tasks that a model writes, where the deployment configures an OpenAI-compatible generator.

It is asked for one empty cell at a time, with structured output; text of traces is shown to it between marks and
substituted once. What it answers is data: JSON of the asked form, or it counts as nothing. For a tool it writes the
request and the arguments, for a route the request for a given specialist.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import orjson

from rsi.expand.aims import Aim
from rsi.expand.coverage import Dimension, Spot
from rsi.expand.material import Material, Want
from rsi.expand.tools import Tool, offered
from rsi.ids import digest_bytes
from rsi.records import ChatMessage, Task
from rsi.tasks.bank import task
from rsi.tasks.calls import VERIFIER, expectation
from rsi.tasks.prompt import TOOL
from rsi.tasks.screen import request_of
from rsi.verifiers.calls import Call, Json

SOURCE = "generator"
_EXAMPLES = 3
_EXCERPT = 400
"""Characters of an example."""
_MARKS = ("<<<", ">>>")


@cache
def prompt_text() -> str:
    """What the generator is told; its digest stands in every task made with it."""
    return Path(__file__).with_name("generator.txt").read_text()


def generated(material: Material, want: Want) -> Iterator[Task]:
    """One request an empty cell, as long as the generator answers."""
    if material.ask is None:
        return
    made = 0
    aims = {one.mode_id: one for one in material.aims}
    for spot in want.empty:
        aim = aims.get(spot.mode_id)
        if aim is None:
            continue
        if want.most and made >= want.most:
            return
        tool = material.tools.get(aim.tool)
        if tool is None and aim.kind != "route":
            continue
        made += 1
        answer = material.ask(_prompt(aim, spot, want, tool), _schema(tool))
        found = _task(material, aim, tool, answer) if answer else None
        if found is not None:
            yield found


def _prompt(aim: Aim, spot: Spot, want: Want, tool: Tool | None) -> str:
    said = {spot.dimension: spot.value}
    examples = [one for one in want.have if one.mode_id == aim.mode_id and not one.generator][:_EXAMPLES]
    parts = {
        "{language}": said.get(Dimension.LANGUAGE, "en"),
        "{length}": said.get(Dimension.LENGTH, "any"),
        "{case}": _case(aim, spot, tool),
        "{examples}": "\n".join(f"- {_fenced(request_of(one))}" for one in examples) or "- (none)",
    }
    return _substituted(prompt_text(), parts)


def _case(aim: Aim, spot: Spot, tool: Tool | None) -> str:
    if tool is None:
        return (
            f"The request is one that only the specialist {aim.expected} should answer, though it may look like "
            "work for another."
        )
    case = f"It can be done by one call of this function: {orjson.dumps(tool.definition()).decode()}"
    if spot.dimension == Dimension.SLOT:
        name = f" of `{aim.argument}`" if aim.argument else ""
        case += f"\nThe value{name} must be of the kind {spot.value}, and the request must say it."
    return case


def _substituted(text: str, parts: dict[str, str]) -> str:
    """Every mark replaced in one pass: what is put in is not looked at again."""
    return re.sub(r"\{\w+\}", lambda mark: parts.get(mark[0], mark[0]), text)


def _fenced(text: str) -> str:
    """An excerpt on one line that cannot close the fence."""
    for mark in _MARKS:
        text = text.replace(mark, "")
    return " ".join(text[:_EXCERPT].split())


def _schema(tool: Tool | None) -> str:
    properties: dict[str, Json] = {"request": {"type": "string"}}
    required: list[Json] = ["request"]
    if tool is not None:
        function = tool.definition()["function"]
        properties["arguments"] = function["parameters"] if isinstance(function, dict) else {}
        required.append("arguments")
    found = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return orjson.dumps(found, option=orjson.OPT_SORT_KEYS).decode()


def _task(material: Material, aim: Aim, tool: Tool | None, answer: str) -> Task | None:
    try:
        said = orjson.loads(answer)
    except orjson.JSONDecodeError:
        return None
    request = said.get("request") if isinstance(said, dict) else None
    if not isinstance(request, str) or not request.strip():
        return None
    messages = (ChatMessage(role="user", content=request),)
    prompt = digest_bytes(prompt_text().encode())
    if tool is None:
        return task(
            "route", messages, "choice", aim.expected, aim.mode_id, aim.examples, SOURCE,
            generator=material.model, prompt=prompt,
        )  # fmt: skip
    values = said.get("arguments")
    if not isinstance(values, dict) or not values.keys() <= tool.arguments.keys():
        return None
    tools = offered(material.tools)
    return task(
        TOOL, messages, VERIFIER, expectation([Call(tool.name, values)], tools), aim.mode_id, aim.examples, SOURCE,
        tools=tools, generator=material.model, prompt=prompt,
    )  # fmt: skip
