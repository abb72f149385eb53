"""Items from a file of the Berkeley Function-Calling Leaderboard: the half that no bank is made of."""

from typing import ClassVar, Literal

from pydantic import Field

from rsi.gate.contract import Sha256
from rsi.records import Item, Record
from rsi.tasks.bfcl import VERIFIER, halves, task_of
from rsi.tasks.prompt import TOOL

PACKAGE = "bfcl-eval"


class Bfcl(Record):
    """``[items]`` of a suite that asks for calls of tools."""

    HOP: ClassVar = TOOL
    VERIFIER: ClassVar = VERIFIER

    source: Literal["bfcl"]
    file: str
    """For instance ``live_simple``."""
    count: int = Field(ge=1)
    pin: Sha256 = Field(alias="digest")
    """Digest of the items as they are drawn (key `digest`); with another the suite is refused."""

    def draw(self) -> tuple[Item, ...]:
        """The items, as the tasks of a bank are made of them; those that share their tools are a cluster."""
        found = []
        for one in halves(self.file).suite:
            task = task_of(one)
            found.append(
                Item(
                    item_id=one.item,
                    messages=task.messages,
                    expected=task.expected,
                    cluster=f"{self.file}:{one.group}",
                    source=PACKAGE,
                    tools=task.tools,
                )
            )
        return tuple(found)
