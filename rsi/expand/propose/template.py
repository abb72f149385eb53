"""Tasks from templates: what people asked, with the values of its call exchanged for others. Seeded.

A request becomes a template where each value to be exchanged stands in it exactly once, as a whole word; what the
request does not say (defaults, what was looked up) stays as it was. Only first requests are taken, whose call does not
hang on what came before.
"""

import random
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rsi.expand.aims import Aim, of_tools
from rsi.expand.coverage import Dimension, Spot
from rsi.expand.material import Material, Want
from rsi.expand.runs import Run
from rsi.expand.tools import Tool, offered
from rsi.expand.values import spellings, spoken, value
from rsi.ids import digest
from rsi.records import ChatMessage, Task
from rsi.tasks.bank import task
from rsi.tasks.calls import VERIFIER, expectation
from rsi.tasks.language import language
from rsi.tasks.prompt import TOOL
from rsi.verifiers.calls import Call

SOURCE = "template"
_FROM = 20
"""Templates a tool that are drawn from."""


class Template(NamedTuple):
    """A request with slots."""

    trace_uid: str
    messages: tuple[ChatMessage, ...]
    """The last of them is the request."""
    call: Call
    slots: dict[str, str]
    """Argument -> how the request says its value."""


def from_templates(material: Material, want: Want) -> Iterator[Task]:
    """Requests with other values, for the empty cells of the modes that name a tool."""
    made = 0
    for aim in of_tools(material.aims):
        tool = material.tools.get(aim.tool)
        found = templates(material.runs, aim.tool) if tool is not None else ()
        if tool is None or not found:
            continue
        for spot in (one for one in want.empty if one.mode_id == aim.mode_id):
            if want.most and made >= want.most:
                return
            one = _filled(material, aim, tool, found, spot, want.turn)
            if one is not None:
                made += 1
                yield one


def templates(runs: Sequence[Run], tool: str) -> tuple[Template, ...]:
    """The first requests that a tool answers alone and rightly, with their slots."""
    found = []
    for run in runs:
        right = _right(run, tool)
        asked = [at for at, turn in enumerate(run.turns) if turn.role == "user"]
        if right is None or not asked:
            continue
        text = run.turns[asked[0]].content
        slots = {
            name: said
            for name, one in sorted(right.arguments.items())
            if (said := next((way for way in spellings(one) if _once(text, way)), None))
        }
        if slots:
            head = tuple(
                ChatMessage(role=one.role, content=one.content)
                for one in run.turns[: asked[0]]
                if one.content
            )
            found.append(
                Template(run.trace_uid, (*head, ChatMessage(role="user", content=text)), right, slots)
            )
        if len(found) == _FROM:
            break
    return tuple(found)


def fill(text: str, said: str, other: str) -> str:
    """A request that says another value."""
    return re.sub(_word(said), lambda _: other, text, count=1)


def _right(run: Run, tool: str) -> Call | None:
    """The one call that the run should have made, where that is known."""
    calls = [one for *_, one in run.calls]
    right = list(run.expected) if run.expected else calls if run.outcome == "pass" else []
    return right[0] if len(right) == 1 and right[0].name == tool else None


def _once(text: str, said: str) -> bool:
    return len(re.findall(_word(said), text)) == 1


def _word(said: str) -> str:
    return rf"(?<!\w){re.escape(said)}(?!\w)"


def _filled(
    material: Material, aim: Aim, tool: Tool, found: Sequence[Template], spot: Spot, turn: int
) -> Task | None:
    rng = random.Random(f"{material.rules.seed}:{spot}:{turn}:{SOURCE}")
    wanted = spot.value if spot.dimension == Dimension.SLOT else ""
    fitting = [one for one in found if not aim.argument or aim.argument in one.slots] or list(found)
    if spot.dimension == Dimension.LANGUAGE:
        fitting = [one for one in fitting if language(one.messages[-1].content) == spot.value]
    if not fitting:
        return None
    chosen = fitting[rng.randrange(len(fitting))]
    text, values = chosen.messages[-1].content, dict(chosen.call.arguments)
    for name, said in chosen.slots.items():
        argument = tool.arguments[name]
        fits = wanted.partition(":")[0] == argument.type and name == (aim.argument or name)
        other = value(argument, wanted if fits else "", rng)
        if isinstance(other, list | dict | bool):
            return None
        text, values[name] = fill(text, said, spoken(other)), other
    tools = offered(material.tools)
    return task(
        TOOL,
        (*chosen.messages[:-1], ChatMessage(role="user", content=text)),
        VERIFIER,
        expectation([Call(tool.name, values)], tools),
        aim.mode_id,
        (chosen.trace_uid,),
        SOURCE,
        tools=tools,
        generator=SOURCE,
        prompt=digest([one.content for one in chosen.messages]),
    )
