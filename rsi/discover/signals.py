"""Signs of failure in one trace, and what it gave a chance to fail at. Pure: facts in, signs out.

| kind | signature | sign of failure | opportunity |
| --- | --- | --- | --- |
| route | ``route:<expected>-><routed>`` | routed elsewhere than corrected | that role was expected |
| tool_error | ``tool_error:<tool>:<words>`` | the tool answered with an error | the tool was called |
| missing_action | ``missing_action:<tool>`` | an expected action was not done | it was expected |
| wrong_arguments | ``wrong_arguments:<tool>:<argument>`` | done with another value | it was expected |
| unexpected_action | ``unexpected_action:<tool>`` | done though not expected | the tool was called |
| error | ``error:<words>`` | the run broke | every trace |
| correction | ``correction:<score>`` | somebody wrote what would have been right | that score was given |
| outcome | ``outcome:<score>:<basis>`` | failed, and nothing above says why | that score was given |

Actions count on runs that did not pass, of traces that say what was expected.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from rsi.discover.actions import compare, done_actions, expected_actions
from rsi.discover.facts import ScoreFact, TraceFacts

ROUTE = "route"
NO_ROUTE = "none"
"""Where a trace says nothing of a route: traces of a single model."""
_WORDS = 6
_JUDGES = ("human", "label", "end_user")
"""Whose correction counts where several were given; anybody else comes after."""


class Kind(StrEnum):
    """The part of a signature before its first colon."""

    ROUTE = "route"
    TOOL_ERROR = "tool_error"
    MISSING_ACTION = "missing_action"
    WRONG_ARGUMENTS = "wrong_arguments"
    UNEXPECTED_ACTION = "unexpected_action"
    ERROR = "error"
    CORRECTION = "correction"
    OUTCOME = "outcome"


@dataclass(frozen=True, order=True)
class Chance:
    """Something that a trace gave an opportunity to fail at."""

    what: str
    """expected role, called, expecting, called against expectations, trace, scored."""
    subject: str = ""


@dataclass(frozen=True, order=True)
class Sign:
    """One way in which a trace failed."""

    kind: Kind
    subject: str
    """Role, tool, score, or the words of an error."""
    detail: str
    """Role routed to, words of an error, name of an argument, basis of a score; empty where there is none."""
    chance: Chance

    @property
    def signature(self) -> str:
        """The name of the failure mode."""
        if self.kind is Kind.ROUTE:
            return f"{self.kind}:{self.subject}->{self.detail}"
        return ":".join(part for part in (self.kind.value, self.subject, self.detail) if part)


@dataclass(frozen=True)
class Signals:
    """What one trace says."""

    signs: frozenset[Sign]
    chances: frozenset[Chance]


def signals(facts: TraceFacts, deciding: frozenset[str]) -> Signals:
    """Signs and chances of one trace; `deciding` are the tools whose actions are compared."""
    parts = (_route(facts), _tools(facts), _actions(facts, deciding), _error(facts), _corrections(facts))
    signs = {sign for found, _ in parts for sign in found}
    chances = {chance for _, found in parts for chance in found}
    chances.update(Chance("scored", score.name) for score in facts.scores)
    if facts.outcome == "fail" and not signs and facts.decided_by is not None:
        signs.add(Sign(Kind.OUTCOME, facts.decided_by, _basis(facts), Chance("scored", facts.decided_by)))
    return Signals(frozenset(signs), frozenset(chances))


def words(text: str) -> str:
    """The beginning of an error message without what changes from case to case.

    The first clause, at most six words, lower case; words with digits become ``#``.
    """
    plain = re.sub(r"^\W*error\W+", "", text.strip().lower())
    clause = re.split(r"[,;\n(\[{]|[.!?](?:\s|$)", plain, maxsplit=1)[0] or plain
    found = ["#" if re.search(r"\d", word) else word for word in re.findall(r"\w[\w'.-]*", clause)]
    return " ".join(found[:_WORDS]) or "no message"


_Found = tuple[set[Sign], set[Chance]]


def _route(facts: TraceFacts) -> _Found:
    judged = [score for score in facts.scores if score.name == ROUTE]
    corrected = [score for score in judged if score.correction is not None]
    routed = facts.route or NO_ROUTE
    if corrected:
        expected = min(corrected, key=_authority).correction
    elif any(score.value is not None and score.value >= 0.5 for score in judged):
        expected = facts.route
    else:
        expected = None
    if expected is None:
        return set(), set()
    chance = Chance("expected role", expected)
    signs = {Sign(Kind.ROUTE, expected, routed, chance)} if expected != routed else set[Sign]()
    return signs, {chance}


def _authority(score: ScoreFact) -> tuple[int, int, str]:
    """Least first: people before labels before others, the latest of equals."""
    place = _JUDGES.index(score.source) if score.source in _JUDGES else len(_JUDGES)
    return place, -(score.ts_ns or 0), score.correction or ""


def _tools(facts: TraceFacts) -> _Found:
    chances = {Chance("called", call.name) for call in facts.calls}
    signs = {
        Sign(Kind.TOOL_ERROR, call.name, words(call.error or ""), Chance("called", call.name))
        for call in facts.calls
        if call.status == "error"
    }
    return signs, chances


def _actions(facts: TraceFacts, deciding: frozenset[str]) -> _Found:
    expected = expected_actions(facts)
    if expected is None:
        return set(), set()
    done = done_actions(facts)
    chances = {Chance("expecting", name) for name, _ in expected}
    chances |= {Chance("called against expectations", name) for name, _ in done}
    if facts.outcome == "pass":
        return set(), chances
    found = compare(expected, done, deciding)
    signs = {Sign(Kind.MISSING_ACTION, tool, "", Chance("expecting", tool)) for tool in found.missing}
    signs |= {Sign(Kind.WRONG_ARGUMENTS, tool, name, Chance("expecting", tool)) for tool, name in found.wrong}
    signs |= {
        Sign(Kind.UNEXPECTED_ACTION, tool, "", Chance("called against expectations", tool))
        for tool in found.unexpected
    }
    return signs, chances


def _basis(facts: TraceFacts) -> str:
    """What the score that failed the trace was decided on, where it says so."""
    failing = (score for score in facts.scores if score.name == facts.decided_by)
    return min((score.basis for score in failing if score.basis is not None), default="")


def _error(facts: TraceFacts) -> _Found:
    chance = Chance("trace")
    if facts.error is None:
        return set(), {chance}
    return {Sign(Kind.ERROR, words(facts.error), "", chance)}, {chance}


def _corrections(facts: TraceFacts) -> _Found:
    signs = {
        Sign(Kind.CORRECTION, score.name, "", Chance("scored", score.name))
        for score in facts.scores
        if score.correction is not None and score.name != ROUTE
    }
    return signs, set()
