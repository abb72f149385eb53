"""What discover says of one trace: signs of failure with their evidence, and chances to fail."""

import re
from dataclasses import dataclass, field
from enum import StrEnum

from rsi.records import Blame, Evidence

ROUTE = "route"
NO_ROUTE = "none"
"""Where a trace says nothing of a route: traces of a single model."""
_WORDS = 6
_ENVIRONMENT = re.compile(
    r"time[d -]?\s?out|timeout|deadline|connection|unreachable|unavailable|refused|rate.?limit|too many requests"
    r"|overloaded|temporarily|\b(429|502|503|504)\b|gateway|dns|network|quota|socket|econn",
    re.IGNORECASE,
)
_HARNESS = re.compile(
    r"context.{0,12}(length|window|limit)|maximum (context|iteration|number of)|max_?(steps|turns|iterations|tokens)"
    r"|too many (steps|turns|errors)|unknown tool|no such tool|tool .{0,40}not (found|available)"
    r"|not implemented|internal (server )?error|\b500\b|api.?key|unauthori[sz]ed|exit_(context|cost|error)",
    re.IGNORECASE,
)


class Kind(StrEnum):
    """The part of a signature before its first colon."""

    ROUTE = "route"
    TOOL_ERROR = "tool_error"
    MISSING_ACTION = "missing_action"
    WRONG_ARGUMENTS = "wrong_arguments"
    UNEXPECTED_ACTION = "unexpected_action"
    MISSING_OUTPUT = "missing_output"
    INVALID_ARGUMENTS = "invalid_arguments"
    UNKNOWN_TOOL = "unknown_tool"
    RETRY = "retry"
    LOOP = "loop"
    GIVE_UP = "give_up"
    FORMAT = "format"
    CUT = "cut"
    RULE = "rule"
    FEEDBACK = "feedback"
    ERROR = "error"
    CORRECTION = "correction"
    STATE = "state"
    DISAGREEMENT = "disagreement"
    SLOW = "slow"
    COSTLY = "costly"
    OUTCOME = "outcome"


WEAK = frozenset({Kind.STATE, Kind.DISAGREEMENT, Kind.SLOW, Kind.COSTLY, Kind.OUTCOME, Kind.FEEDBACK})
"""Kinds that say that something went wrong, not what: they explain no failure."""


@dataclass(frozen=True, order=True)
class Chance:
    """Something that a trace gave an opportunity to fail at."""

    what: str
    """expected role, called, expecting, called against expectations, trace, scored, offering tools…"""
    subject: str = ""


@dataclass(frozen=True, order=True)
class Sign:
    """One way in which a trace failed; its signature is what it is, wherever it was seen."""

    kind: Kind
    subject: str
    """Role, tool, score, or the words of an error."""
    detail: str
    """Role routed to, words of an error, name of an argument, basis of a score; empty where there is none."""
    chance: Chance
    blame: Blame = field(default=Blame.MODEL, compare=False)
    """Whose failure it was in this trace."""
    evidence: tuple[Evidence, ...] = field(default=(), compare=False)
    """Where it shows, first place first."""

    @property
    def signature(self) -> str:
        """The name of the failure mode."""
        if self.kind is Kind.ROUTE:
            return f"{self.kind}:{self.subject}->{self.detail}"
        return ":".join(part for part in (self.kind.value, self.subject, self.detail) if part)


Found = tuple[list[Sign], set[Chance]]
"""What a family of signals finds in one trace."""


def words(text: str) -> str:
    """The beginning of an error message without what changes from case to case.

    The first clause, at most six words, lower case; words with digits become ``#``.
    """
    plain = re.sub(r"^\W*error\W+", "", text[:2000].strip().lower())
    clause = re.split(r"[,;\n(\[{]|[.!?](?:\s|$)", plain, maxsplit=1)[0] or plain
    found = ["#" if re.search(r"\d", word) else word for word in re.findall(r"\w[\w'.-]*", clause)]
    return " ".join(found[:_WORDS]) or "no message"


def blame_of_error(text: str) -> Blame:
    """Whose an error is, by closed lists of words: of the tool or its setting, of reaching it; else of the call."""
    beginning = text[:400]
    if _HARNESS.search(beginning):
        return Blame.HARNESS
    return Blame.ENVIRONMENT if _ENVIRONMENT.search(beginning) else Blame.MODEL
