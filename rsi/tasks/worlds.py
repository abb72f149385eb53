"""Tasks in worlds as tasks of a bank, and back."""

import orjson

from rsi.ids import canonical
from rsi.ports import Environment
from rsi.records import ChatMessage, Task, WorldTask
from rsi.tasks.bank import task

HOP = "world"
VERIFIER = "final_state"
SOURCE = "environment"


def task_of(one: WorldTask, environment: Environment) -> Task:
    """A task of a bank, whose `environment` names the tools on offer."""
    return task(
        HOP,
        (ChatMessage(role="user", content=one.request),),
        VERIFIER,
        one.expected,
        None,
        (),
        SOURCE,
        tools=orjson.dumps(list(environment.tools), option=orjson.OPT_SORT_KEYS).decode(),
        generator=f"{SOURCE}/{one.environment}",
        world=canonical(one.model_dump(mode="json")).decode(),
    )


def world_of(one: Task) -> WorldTask:
    """The task in a world that a bank's task stands for."""
    return WorldTask.parse(one.world.encode())
