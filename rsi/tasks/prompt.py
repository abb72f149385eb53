"""The prompt of a task: what the policy reads, and all that it reads. `expected` has no way into it."""

from functools import cache
from pathlib import Path

import orjson

from rsi.harness.hcp import Harness
from rsi.ids import Digest, digest_bytes
from rsi.ports import Prompt
from rsi.records import ChatMessage, Task
from rsi.tasks.calls import functions

ROUTE, ANSWER, TOOL = "route", "answer", "tool"
"""Hops of a task."""
AGENT = "L1"
"""The specialist that calls tools, where the harness has it."""


@cache
def tool_text() -> str:
    """What the policy is told of its functions."""
    return Path(__file__).with_name("tools.txt").read_text()


def tool_digest() -> Digest:
    """Digest of that text."""
    return digest_bytes(tool_text().encode())


def role_of(task: Task, harness: Harness) -> str:
    """The specialist that a task is asked of."""
    if task.hop == TOOL and AGENT in harness.roles:
        return AGENT
    return harness.router


def render(task: Task, harness: Harness) -> Prompt:
    """What the policy reads of a task."""
    if task.hop == ROUTE:
        return harness.route_prompt(task.messages)
    return answering(role_of(task, harness), task.messages, task.tools, harness)


def answering(role: str, messages: Prompt, tools: str, harness: Harness) -> Prompt:
    """What a specialist reads before it answers in words or calls; `tools` as a task has them."""
    messages = harness.answer_prompt(role, messages)
    if not tools:
        return messages
    said = [one.content for one in messages if one.role == "system"]
    listed = "\n".join(orjson.dumps(one).decode() for one in functions(tools))
    told = tool_text().strip().replace("{tools}", listed)
    system = ChatMessage(role="system", content="\n\n".join([*said, told]))
    return (system, *(one for one in messages if one.role != "system"))
