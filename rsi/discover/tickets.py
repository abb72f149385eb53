"""Tickets: failures that are the harness's, the environment's or the task's, which no training takes away.

A failed run makes one ticket, by the cause of its blame (`rsi.discover.blame`), and not one for each sign of it;
errors of tools and runs, answers cut off and outliers make theirs in every run that shows them.
"""

import heapq
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from rsi.discover.blame import Cause
from rsi.discover.signals import Kind, Signals
from rsi.discover.titles import title
from rsi.ids import digest
from rsi.records import Blame, Evidence, Ticket

EXAMPLES = 5
_REASONS = 3
_OWN = frozenset({Kind.TOOL_ERROR, Kind.ERROR, Kind.CUT, Kind.SLOW, Kind.COSTLY})
"""Signs that say themselves whose they are."""
_TOLD = frozenset({Cause.BROKE, Cause.REFUSED, Cause.TOKENS, Cause.NOTHING})
"""Causes that such a sign tells already, and none."""
_TITLES = {
    Cause.NOT_OFFERED: "{} is expected and not on offer",
    Cause.PROMPT: "runs fail under another system prompt than those that pass",
    Cause.MET: "runs fail that did and said all that is expected",
    Cause.CUT_OFF: "runs are cut off with everything done",
    Cause.LOST: "what is expected stands nowhere: {}",
    Cause.WITHHELD: "simulated users withhold an id that their instruction gives",
}
_Seen = tuple[Blame, str, str, str, Evidence]
"""Blame, signature, title, reason, place."""


@dataclass
class _Open:
    """One ticket, counting."""

    title: str
    count: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    evidence: list[tuple[str, Evidence]] = field(default_factory=list)


class Desk:
    """Takes the signals of traces one after another, in any order, and gives the same tickets."""

    def __init__(self) -> None:
        self._open: dict[tuple[Blame, str], _Open] = {}

    def take(self, trace_uid: str, found: Signals) -> None:
        """Count what is not the model's in one trace."""
        for blame, signature, plain, reason, seen in _seen(trace_uid, found):
            ticket = self._open.setdefault((blame, signature), _Open(plain))
            ticket.count += 1
            ticket.reasons[reason] += 1
            if len(ticket.evidence) < EXAMPLES or trace_uid < ticket.evidence[-1][0]:
                kept = [*ticket.evidence, (trace_uid, seen)]
                ticket.evidence = heapq.nsmallest(EXAMPLES, kept, key=lambda one: one[0])

    def tickets(self) -> tuple[Ticket, ...]:
        """What was counted, the most frequent first."""
        made = [
            Ticket(
                ticket_id=f"k-{digest([blame.value, signature])[:10]}",
                blame=blame,
                signature=signature,
                title=ticket.title,
                count=ticket.count,
                reasons=_often(ticket.reasons),
                evidence=tuple(seen for _, seen in ticket.evidence),
            )
            for (blame, signature), ticket in self._open.items()
        ]
        return tuple(sorted(made, key=lambda one: (-one.count, one.blame, one.signature)))


def _seen(trace_uid: str, found: Signals) -> Iterator[_Seen]:
    for sign in found.signs:
        if sign.kind in _OWN and sign.blame is not Blame.MODEL:
            seen = sign.evidence[0] if sign.evidence else Evidence(trace_uid=trace_uid)
            yield sign.blame, sign.signature, title(sign), seen.says, seen
    where = found.localised
    if where is not None and where.blamed.cause not in _TOLD:
        blamed = where.blamed
        signature = ":".join(part for part in (blamed.cause.value, blamed.subject) if part)
        plain = _TITLES[blamed.cause].format(blamed.subject)
        yield blamed.blame, signature, plain, blamed.reason, where.evidence(trace_uid)


def _often(reasons: Counter[str]) -> tuple[str, ...]:
    ordered = sorted(reasons.items(), key=lambda one: (-one[1], one[0]))
    return tuple(reason for reason, _ in ordered[:_REASONS])
