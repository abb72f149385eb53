"""The customs house: what may enter a bank, and the reason where it may not."""

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from rsi.records import Task
from rsi.tasks.fingerprint import Index, fingerprint
from rsi.verifiers import VERIFIERS, gold, verify

LONGEST = 8000
"""Most characters of a request."""


class Reason(StrEnum):
    """Why a proposal is refused."""

    EMPTY = "empty_request"
    TOO_LONG = "too_long"
    NO_VERIFIER = "no_verifier"
    SELF_CHECK = "verifier_refuses_gold"
    HELD_OUT_EXACT = "held_out_exact"
    HELD_OUT_NEAR = "held_out_near"
    DUPLICATE = "duplicate"
    UNKNOWN_LABEL = "unknown_label"
    CONTRADICTION = "contradicting_corrections"
    OVER_SHARE = "over_share"
    OVER_LIMIT = "over_limit"


class Screened(NamedTuple):
    """What passed, and the count of what did not, by reason."""

    tasks: tuple[Task, ...]
    rejected: Counter[str]


def request_of(task: Task) -> str:
    """The user's text of a task, which is what overlap is measured on."""
    return "\n".join(one.content for one in task.messages if one.role == "user")


def screen(proposals: Iterable[Task], held_out: Index) -> Screened:
    """Pass what is well formed, checkable, new and not held out."""
    passed: dict[str, Task] = {}
    rejected: Counter[str] = Counter()
    by_text: dict[str, set[str]] = {}
    ordered = sorted(proposals, key=lambda one: one.task_id)
    for one in ordered:
        by_text.setdefault(fingerprint(request_of(one)).exact, set()).add(one.expected)
    for one in ordered:
        reason = _objection(one, held_out, by_text, passed)
        if reason:
            rejected[reason.value] += 1
        else:
            passed[fingerprint(request_of(one)).exact] = one
    return Screened(tuple(passed.values()), rejected)


def _objection(
    task: Task, held_out: Index, by_text: dict[str, set[str]], passed: dict[str, Task]
) -> Reason | None:
    text = request_of(task)
    if not text.strip():
        return Reason.EMPTY
    if len(text) > LONGEST:
        return Reason.TOO_LONG
    if task.verifier not in VERIFIERS:
        return Reason.NO_VERIFIER
    if verify(task.verifier, gold(task.verifier, task.expected) or "", task.expected).score != 1.0:
        return Reason.SELF_CHECK
    known = fingerprint(text)
    if held_out.exact(known):
        return Reason.HELD_OUT_EXACT
    if held_out.near(known):
        return Reason.HELD_OUT_NEAR
    if len(by_text[known.exact]) > 1:
        return Reason.CONTRADICTION
    return Reason.DUPLICATE if known.exact in passed else None
