"""The customs house: what may enter a bank, and the reason where it may not.

Each proposal meets the screens in the order of `Reason`; the first that objects is its reason. A refusal carries
what the screen saw, so that a person can overrule it (`rsi.tasks.overrule`).
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rsi.records import OutcomeKind, Refusal, Task
from rsi.settings import Deployment
from rsi.tasks.caps import Caps, cap
from rsi.tasks.duplicates import asked, twins
from rsi.tasks.injection import injection
from rsi.tasks.language import UNKNOWN, language
from rsi.tasks.overlap import How, Index, Overlap, texts_of
from rsi.tasks.personal import Detector
from rsi.tasks.refused import OVERRULABLE, Reason
from rsi.verifiers import JUDGE, VERIFIERS, gold, usable, verify

UNCAPPED = Caps(1.0, 1.0, 1_000_000_000)
LONGEST = 40_000
"""Most characters of a task's messages."""
SHOWN = 200
"""Characters of evidence and of the request in a refusal."""
HOPS = ("route", "answer", "tool", "world")
ROLES = ("system", "user", "assistant", "tool")
_OWN_TAGS = re.compile(r"</?(?:think|tool_call)>")
"""What an assistant's own turn may hold."""
OVERLAPS = {
    How.EXACT: Reason.HELD_OUT_EXACT,
    How.RUN: Reason.HELD_OUT_RUN,
    How.NEAR: Reason.HELD_OUT_NEAR,
}
"""How a proposal meets an item -> the reason of its refusal."""


@dataclass(frozen=True)
class Rules:
    """What the deployment asks of a task."""

    duplicate: float = 0.85
    """Similarity from which two tasks with one expectation are the same."""
    languages: frozenset[str] = frozenset()
    """Allowed languages; empty means any."""
    licences: frozenset[str] = frozenset({"own"})
    caps: Caps = UNCAPPED
    allow: tuple[str, ...] = ()
    """Personal values that may stand."""
    givers: Mapping[str, str] = field(default_factory=dict)
    """Trace -> its user, or else its conversation (`rsi.tasks.caps`)."""
    overruled: frozenset[tuple[str, str]] = frozenset()
    """(task id, reason) that a person overruled."""
    verifiers: frozenset[str] = usable()
    """Names of those that can judge; the one that asks a model, where the deployment names a judge."""

    @classmethod
    def of(
        cls,
        deployment: Deployment,
        givers: Mapping[str, str] | None = None,
        overruled: frozenset[tuple[str, str]] = frozenset(),
    ) -> "Rules":
        """The rules of a deployment."""
        said = deployment.expand
        return cls(
            said.duplicate,
            frozenset(said.languages),
            frozenset(said.licences),
            Caps(said.giver_share, said.maker_share, said.max_tasks),
            deployment.redaction.allow,
            givers or {},
            overruled,
            judging(deployment),
        )


def judging(deployment: Deployment) -> frozenset[str]:
    """The verifiers that can judge tasks of a deployment."""
    return usable() | ({JUDGE} if deployment.judge.url else set())


class Screened(NamedTuple):
    """What passed and what did not."""

    tasks: tuple[Task, ...]
    refused: tuple[Refusal, ...]

    @property
    def rejected(self) -> Counter[str]:
        """Refusals by reason."""
        return Counter(one.reason for one in self.refused)

    @property
    def by_source(self) -> Counter[tuple[str, str]]:
        """Refusals by (reason, source)."""
        return Counter((one.reason, one.source) for one in self.refused)


class Objection(NamedTuple):
    """Why a task may not pass."""

    reason: Reason
    evidence: str
    held_out: str | None = None


def request_of(task: Task) -> str:
    """The user's text of a task."""
    return "\n".join(one.content for one in task.messages if one.role == "user")


def screen(proposals: Iterable[Task], held_out: Index, rules: Rules) -> Screened:
    """Pass what is well formed, not held out, clean, new, checkable and within its giver's share.

    The same proposals in any order give the same answer, in the order of their ids.
    """
    ordered = list({one.task_id: one for one in sorted(proposals, key=lambda one: one.task_id)}.values())
    judge = _Judge(rules)
    left = judge.alone(ordered, lambda one: _shape(one, rules))
    left = judge.alone(left, lambda one: _licence(one, rules))
    overlaps = held_out.overlaps([texts_of(one) for one in left])
    left = judge.these(left, [_overlap(one) for one in overlaps])
    left = judge.alone(left, lambda one: _content(one, judge.detector, rules))
    left = judge.these(left, list(_contradictions(left)))
    left = judge.these(left, list(_twins(left, rules)))
    left = judge.alone(left, _self_check)
    capped = cap(left, rules.givers, rules.caps)
    for one, why in capped.over:
        judge.refuse(one, Objection(Reason.OVER_SOURCE, why))
    return Screened(capped.kept, tuple(sorted(judge.refused, key=lambda one: one.task_id)))


def refusal(task: Task, objection: Objection, detector: Detector) -> Refusal:
    """A refusal, personal values masked."""
    return Refusal(
        task_id=task.task_id,
        reason=objection.reason.value,
        source=task.source,
        evidence=_shown(objection.evidence, detector),
        held_out=objection.held_out,
        text=_shown(request_of(task), detector),
        expected=_storable(task.expected)[:SHOWN],
        mode_id=task.mode_id,
        traces=task.traces,
    )


class _Judge:
    """Collects refusals; knows what was overruled."""

    def __init__(self, rules: Rules) -> None:
        self.refused: list[Refusal] = []
        self.detector = Detector(rules.allow)
        self._overruled = rules.overruled

    def refuse(self, task: Task, objection: Objection) -> None:
        self.refused.append(refusal(task, objection, self.detector))

    def these(self, tasks: Sequence[Task], objections: Sequence[Sequence[Objection]]) -> list[Task]:
        """The tasks whose objections were all overruled, or that have none."""
        passed = []
        for task, found in zip(tasks, objections, strict=True):
            standing = next((one for one in found if not self._is_overruled(task, one)), None)
            if standing is None:
                passed.append(task)
            else:
                self.refuse(task, standing)
        return passed

    def alone(self, tasks: Sequence[Task], look: Callable[[Task], Iterator[Objection]]) -> list[Task]:
        """`these`, with objections that need one task only."""
        return self.these(tasks, [list(look(one)) for one in tasks])

    def _is_overruled(self, task: Task, one: Objection) -> bool:
        return one.reason in OVERRULABLE and (task.task_id, one.reason.value) in self._overruled


def _shape(task: Task, rules: Rules) -> Iterator[Objection]:
    roles = [one.role for one in task.messages]
    text = "".join((*(one.content for one in task.messages), task.tools))
    if not request_of(task).strip():
        yield Objection(Reason.EMPTY, "no text of a user")
    elif task.hop not in HOPS or not set(roles) <= set(ROLES) or roles[-1] not in ("user", "tool"):
        yield Objection(Reason.SCHEMA, f"hop {task.hop}, roles {' '.join(roles)}")
    elif _storable(text + task.expected) != text + task.expected:
        yield Objection(Reason.SCHEMA, "half a surrogate pair, which no file can hold")
    if len(text) > LONGEST:
        yield Objection(Reason.TOO_LONG, f"{len(text)} characters, at most {LONGEST}")
    if task.verifier not in VERIFIERS or task.verifier not in rules.verifiers:
        known = f"there are {', '.join(sorted(rules.verifiers))}"
        why = "no [judge] is in the deployment file" if task.verifier == JUDGE else known
        yield Objection(Reason.NO_VERIFIER, f"{task.verifier[:60]}; {why}")


def _licence(task: Task, rules: Rules) -> Iterator[Objection]:
    if task.licence not in rules.licences:
        yield Objection(
            Reason.LICENCE, f"{task.licence[:60]}; allowed are {', '.join(sorted(rules.licences))}"
        )


def _overlap(found: Overlap | None) -> list[Objection]:
    if found is None:
        return []
    alike = f"{found.share:.0%} alike: " if found.how is How.NEAR else ""
    return [Objection(OVERLAPS[found.how], alike + found.span, found.item)]


def _content(task: Task, detector: Detector, rules: Rules) -> Iterator[Objection]:
    texts = [
        *(
            _OWN_TAGS.sub("", one.content) if one.role == "assistant" else one.content
            for one in task.messages
        ),
        task.tools,
    ]
    for text in texts:
        trick = injection(text)
        if trick:
            yield Objection(Reason.INJECTION, f"{trick.trick.value}: {trick.span}")
            break
    for text in (*texts, task.expected):
        personal = detector.find(text)
        if personal:
            kinds = ", ".join(kind.value for kind in personal.kinds)
            yield Objection(Reason.PERSONAL, f"{kinds}: {personal.masked}")
            break
    if rules.languages:
        told = language(request_of(task))
        if told not in (*rules.languages, UNKNOWN):
            yield Objection(Reason.LANGUAGE, f"{told}: {request_of(task)}")


def _contradictions(tasks: Sequence[Task]) -> Iterator[list[Objection]]:
    """People who disagree about one request teach nothing."""
    expected: dict[tuple[str, str], set[str]] = defaultdict(set)
    keys = [asked(one) for one in tasks]
    for one, key in zip(tasks, keys, strict=True):
        expected[key].add(one.expected)
    for key in keys:
        said = sorted(expected[key])
        yield [Objection(Reason.CONTRADICTION, " or ".join(said))] if len(said) > 1 else []


def _twins(tasks: Sequence[Task], rules: Rules) -> Iterator[list[Objection]]:
    for twin in twins(tasks, rules.duplicate):
        if twin is None:
            yield []
        elif twin.share == 1.0:
            yield [Objection(Reason.DUPLICATE, f"of {twin.of}")]
        else:
            yield [Objection(Reason.NEAR_DUPLICATE, f"{twin.share:.0%} alike: {twin.of}")]


def _self_check(task: Task) -> Iterator[Objection]:
    right = gold(task.verifier, task.expected)
    if right is None:
        yield Objection(Reason.SELF_CHECK, "the expectation has no answer to give")
        return
    found = verify(task.verifier, right, task.expected)
    if found.kind is not OutcomeKind.SCORED or found.score != 1.0:
        yield Objection(Reason.SELF_CHECK, f"{found.kind.value}: {found.detail or found.score}")


def _shown(text: str, detector: Detector) -> str:
    text = _storable(text[: 2 * SHOWN])
    found = detector.find(text)
    return (found.masked if found else text).strip()[:SHOWN]


def _storable(text: str) -> str:
    """A text without halves of surrogate pairs."""
    if text.isascii():
        return text
    return "".join("�" if unicodedata.category(one) == "Cs" else one for one in text)
