"""Exchanges with tools of the Berkeley Function-Calling Leaderboard, read from its package and copied nowhere.

Two halves serve two masters, held-out suite and training bank. Which half an item falls into is frozen: by the SHA-256
of its file and group, so that items that share their tools stay together. What of the bank's half is still close to the
suite's by its user's words is dropped.
"""

import re
from collections.abc import Sequence
from importlib.resources import files
from typing import NamedTuple

import orjson

from rsi.assets import BFCL_NO_CALLS, records
from rsi.ids import digest
from rsi.records import ChatMessage, Task
from rsi.tasks.bank import task
from rsi.tasks.fingerprint import fingerprint
from rsi.tasks.overlap import HeldOut, Index
from rsi.tasks.prompt import TOOL
from rsi.verifiers import gold, verify

ASSET = "bfcl-answers"
VERIFIER = "tool_call"
BOUND = 0.33
"""Similarity from which two requests are near-duplicates, as `rsi.tasks.overlap` measures it."""
_QUESTIONS = "bfcl_eval/data/BFCL_v4_{}.json"
_ANSWERS = "bfcl_eval/data/possible_answer/BFCL_v4_{}.json"
_LIVE = re.compile(r"live_\w+_\d+-(\d+)-\d+")


class Exchange(NamedTuple):
    """One request with its tools, and the calls that answer it."""

    item: str
    group: str
    """Items of a live file with the same number of source share their tools; elsewhere the item itself."""
    messages: tuple[ChatMessage, ...]
    """The tools as a system message, then the conversation."""
    expected: str
    """As the verifier `tool_call` takes it."""

    @property
    def request(self) -> str:
        """The user's words, on which overlap is measured."""
        return "\n".join(one.content for one in self.messages if one.role == "user")


class Halves(NamedTuple):
    """One file, divided."""

    suite: tuple[Exchange, ...]
    bank: tuple[Exchange, ...]
    near: tuple[str, ...]
    """Items dropped from the bank's half: near-duplicates of one in the suite's."""
    broken: tuple[str, ...]
    """Items whose possible answers nobody can give; in neither half."""


def exchanges(name: str) -> tuple[Exchange, ...]:
    """All items of a file such as ``live_simple``, in its order, usable or not.

    Raises:
        ContractError: there is no such file, or the asset is not pulled yet.
        IntegrityError: the file is not what was unpacked.
    """
    calls: dict[object, object] = {}
    if name not in BFCL_NO_CALLS:
        calls = {one["id"]: one["ground_truth"] for one in records(ASSET, _ANSWERS.format(name))}
    found = []
    for one in records(ASSET, _QUESTIONS.format(name)):
        item, question, tools = str(one["id"]), one["question"], one["function"]
        assert isinstance(question, list)
        said = tuple(ChatMessage(role=turn["role"], content=turn["content"]) for turn in question[0])
        expected = orjson.dumps({"tools": tools, "calls": calls.get(item, [])}).decode()
        match = _LIVE.fullmatch(item)
        found.append(Exchange(item, match[1] if match else item, (_shown(tools), *said), expected))
    return tuple(found)


def usable(one: Exchange) -> bool:
    """Whether the verifier accepts the item's own possible answers."""
    return verify(VERIFIER, gold(VERIFIER, one.expected) or "", one.expected).score == 1.0


def in_suite(name: str, group: str) -> bool:
    """The frozen rule: the first hex digit of the digest of file and group is even."""
    return int(digest([name, group])[0], 16) % 2 == 0


def halves(name: str, bound: float = BOUND) -> Halves:
    """A file's suite and bank: different items, no group in both, no near-duplicate across."""
    found = exchanges(name)
    fit = [one for one in found if usable(one)]
    suite = tuple(one for one in fit if in_suite(name, one.group))
    others = tuple(one for one in fit if not in_suite(name, one.group))
    close: set[str] = set()
    # A request may hold a run of words of a shorter one, which does not hold its own: both ways are asked.
    while met := _met(suite, [one for one in others if one.item not in close], bound):
        close |= met
    bank = tuple(one for one in others if one.item not in close)
    near = tuple(one.item for one in others if one.item in close)
    broken = tuple(one.item for one in found if not usable(one))
    return Halves(suite, bank, near, broken)


def task_of(one: Exchange) -> Task:
    """An exchange as a task of a bank; its tools are offered as every task's are."""
    offered = [{"type": "function", "function": tool} for tool in orjson.loads(one.expected)["tools"]]
    return task(
        TOOL,
        tuple(turn for turn in one.messages if turn.role != "system"),
        VERIFIER,
        one.expected,
        None,
        (),
        "public",
        tools=orjson.dumps(offered, option=orjson.OPT_SORT_KEYS).decode(),
        licence="Apache-2.0",
    )


def _met(suite: Sequence[Exchange], others: Sequence[Exchange], bound: float) -> set[str]:
    """Others that meet an item of the suite; of several that one item meets, one at least."""
    held, asked = (
        Index((HeldOut(one.item, fingerprint(one.request)) for one in part), bound)
        for part in (suite, others)
    )
    there = held.overlaps([[one.request] for one in others])
    back = asked.overlaps([[one.request] for one in suite])
    met = {one.item for one, overlap in zip(others, there, strict=True) if overlap is not None}
    return met | {overlap.item for overlap in back if overlap is not None}


def _shown(tools: object) -> ChatMessage:
    """The tools as a system message, one JSON schema a line."""
    assert isinstance(tools, list)
    lines = "\n".join(orjson.dumps(one).decode() for one in tools)
    text = files("rsi.tasks").joinpath("tools.txt").read_text("utf-8")
    return ChatMessage(role="system", content=text.replace("{tools}", lines))
