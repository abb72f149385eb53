"""What every world begins with: the rules of its house, and the world of a task."""

from collections.abc import Collection
from functools import cache
from importlib.resources import files

import orjson

from rsi.errors import ContractError
from rsi.records import WorldTask


@cache
def policy(environment: str) -> str:
    """The rules of the house, from ``policy.txt`` of the environment's package."""
    found = files(f"rsi.environments.{environment}").joinpath("policy.txt")
    return found.read_text(encoding="utf-8").strip()


def start_of(task: WorldTask, environment: str, tables: Collection[str]) -> dict[str, list[object] | str]:
    """A task's world at the start, table by table.

    Raises:
        ContractError: the task is for another environment, or its world has other tables.
    """
    world = orjson.loads(task.world)
    if task.environment != environment or not isinstance(world, dict) or world.keys() != set(tables):
        raise ContractError(
            f"task {task.task_id} has no world of {environment}: it needs {', '.join(tables)}"
        )
    return world
