"""A step of a run as a task: the conversation up to a turn, and the calls that should have stood there."""

from collections.abc import Iterable, Sequence

from rsi.expand.material import Material
from rsi.expand.runs import Run, Turn
from rsi.expand.tools import offered
from rsi.records import ChatMessage, Task
from rsi.tasks.bank import task
from rsi.tasks.calls import VERIFIER, expectation, written
from rsi.tasks.prompt import TOOL, tool_digest
from rsi.verifiers.calls import Call

RESULT = 4000
"""Characters of a tool's result that a prompt keeps."""


def before(run: Run, turn: int) -> tuple[ChatMessage, ...]:
    """The conversation before a turn, calls written out as the model writes them; empty where nobody asked yet."""
    said = tuple(_message(one) for one in run.turns[:turn] if one.content or one.calls)
    return said if any(one.role == "user" for one in said) else ()


def step(
    material: Material,
    run: Run,
    turn: int,
    calls: Sequence[Call],
    mode_id: str | None,
    traces: Iterable[str],
    source: str,
) -> Task | None:
    """The task to make these calls at that turn; none where the run has no request before it, or a tool is unknown."""
    messages = before(run, turn)
    if not messages or any(one.name not in material.tools for one in calls):
        return None
    tools = offered(material.tools)
    return task(
        TOOL,
        messages,
        VERIFIER,
        expectation(calls, tools),
        mode_id,
        tuple(sorted(set(traces))),
        source,
        tools=tools,
        prompt=tool_digest(),
    )


def differing(one: Call, other: Call) -> list[str]:
    """The names of the arguments in which two calls differ."""
    absent = object()
    names = one.arguments.keys() | other.arguments.keys()
    return sorted(
        name for name in names if one.arguments.get(name, absent) != other.arguments.get(name, absent)
    )


def put(turn: Turn, place: int, call: Call) -> tuple[Call, ...]:
    """The calls of a turn with one of them put right."""
    return (*turn.calls[:place], call, *turn.calls[place + 1 :])


def _message(turn: Turn) -> ChatMessage:
    calls = written(turn.calls) if turn.calls else ""
    content = turn.content[:RESULT] if turn.role == "tool" else turn.content
    return ChatMessage(role=turn.role, content="\n".join(part for part in (content, calls) if part))
