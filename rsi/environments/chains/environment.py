"""Chains: two tools that look a code up, and one that gives the result."""

from collections.abc import Mapping

from rsi.environments.chains import world as keyed
from rsi.environments.chains.world import World
from rsi.environments.schema import Schema, text, tool
from rsi.environments.start import policy, start_of
from rsi.errors import ContractError
from rsi.ids import canonical
from rsi.ports import ToolResult
from rsi.records import Argument, ToolCall, WorldTask

TOOLS: tuple[Schema, ...] = (
    tool("next", "The code that a code leads to.", code=text("The code.")),
    tool("value", "A code's value, a whole number.", code=text("The code.")),
    tool("answer", "Give the result.", result=text("A code or a whole number.")),
)


class Chains:
    """`rsi.ports.Environment`. It leaves nothing to chance: the seed of a reset changes nothing."""

    def __init__(self) -> None:
        self._world: World | None = None

    @property
    def tools(self) -> tuple[Mapping[str, object], ...]:
        """Three tools: two look up, one answers."""
        return TOOLS

    @property
    def policy(self) -> str:
        """The rules of the house."""
        return policy("chains")

    def reset(self, task: WorldTask, seed: int) -> str:
        """Take the task's salt; what is asked.

        Raises:
            ContractError: it was reset before, or the task's world is none of chains.
        """
        if self._world is not None:
            raise ContractError("chains serve one episode; open others")
        world = start_of(task, "chains", World.__annotations__)
        self._world = World(salt=str(world["salt"]), answers=[])
        return task.request

    def call(self, tool: str, arguments: Mapping[str, Argument]) -> ToolResult:
        """Use a tool. The first answer stands, so that nobody gets at the result by trying."""
        if tool == "answer":
            if self._open["answers"]:
                return ToolResult("answered already", failed=True)
            self._world = keyed.act(self._open, ToolCall(name=tool, arguments=dict(arguments)))
            return ToolResult("ok")
        if tool not in ("next", "value"):
            return ToolResult(f"no tool {tool[:40]}", failed=True)
        code, salt = str(arguments["code"]), self._open["salt"]
        if not keyed.is_code(code):
            return ToolResult(f"no code {code[:40]}", failed=True)
        return ToolResult(keyed.after(salt, code) if tool == "next" else str(keyed.value(salt, code)))

    def final_state(self) -> str:
        """The salt and the answer."""
        return canonical(self._open).decode()

    def close(self) -> None:
        """Forget the salt."""
        self._world = None

    @property
    def _open(self) -> World:
        if self._world is None:
            raise ContractError("these chains are closed, or were never reset")
        return self._world
