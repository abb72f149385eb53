"""Tasks from tool schemas: a request that names a tool and typed values, and the call that it asks for.

The wording is plain on purpose: what is trained is that values of every type and class arrive in the call as they
were said. Values come from the tool's schema and from what was seen, seeded by mode, cell and round.
"""

import random
from collections.abc import Iterator

from rsi.expand.aims import Aim, of_tools
from rsi.expand.coverage import Dimension, Spot
from rsi.expand.material import Material, Want
from rsi.expand.tools import Tool, offered
from rsi.expand.values import arguments, spoken
from rsi.ids import digest_bytes
from rsi.records import ChatMessage, Task
from rsi.tasks.bank import task
from rsi.tasks.calls import VERIFIER, expectation
from rsi.tasks.prompt import TOOL
from rsi.verifiers.calls import Call

SOURCE = "schema"
_FRAMES = (
    "{what}: {values}.",
    "Please {what} with {values}.",
    "I need you to {what}. The details: {values}.",
    "Can you {what}? Use {values}.",
)
_LONG = (
    "We talked about this on the phone last week and I have been putting it off since, because there was always "
    "something more urgent on the list; now it finally has to be done today. "
)
_PROMPT = digest_bytes("\n".join((*_FRAMES, _LONG)).encode())


def from_schemas(material: Material, want: Want) -> Iterator[Task]:
    """Requests for the empty cells of the modes that name a tool."""
    made = 0
    for aim in of_tools(material.aims):
        tool = material.tools.get(aim.tool)
        if tool is None:
            continue
        for spot in (one for one in want.empty if one.mode_id == aim.mode_id):
            if want.most and made >= want.most:
                return
            found = _request(material, aim, tool, spot, want.turn)
            if found is not None:
                made += 1
                yield found


def _request(material: Material, aim: Aim, tool: Tool, spot: Spot, turn: int) -> Task | None:
    rng = random.Random(f"{material.rules.seed}:{spot}:{turn}:{SOURCE}")
    wanted = spot.value if spot.dimension == Dimension.SLOT else ""
    kind = wanted.partition(":")[0] or (spot.value if spot.dimension == Dimension.ARGUMENT else "")
    names = [aim.argument] if aim.argument in tool.arguments else sorted(tool.arguments)
    fitting = [one for one in names if not kind or tool.arguments[one].type == kind]
    if not fitting or (spot.dimension == Dimension.LANGUAGE and spot.value != "en"):
        return None
    name = fitting[rng.randrange(len(fitting))]
    values = arguments(tool, name, wanted, rng)
    listed = ", ".join(f"{key.replace('_', ' ')} {spoken(value)}" for key, value in values.items())
    text = rng.choice(_FRAMES).format(what=tool.name.replace("_", " "), values=listed)
    if spot.dimension == Dimension.LENGTH and spot.value != "short":
        text = _LONG + text
    tools = offered(material.tools)
    return task(
        TOOL,
        (ChatMessage(role="user", content=text),),
        VERIFIER,
        expectation([Call(tool.name, values)], tools),
        aim.mode_id,
        aim.examples,
        SOURCE,
        tools=tools,
        generator=SOURCE,
        prompt=_PROMPT,
    )
