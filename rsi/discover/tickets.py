"""Tickets: failures that are the harness's, the environment's or the task's, which no training takes away.

Weak signs (`signs.WEAK`) make a ticket only where a trace shows nothing else that is not the model's.
"""

import heapq
from collections import Counter
from dataclasses import dataclass, field

from rsi.discover.signals import Sign, Signals
from rsi.discover.signs import WEAK
from rsi.discover.titles import title
from rsi.ids import digest
from rsi.records import Blame, Evidence, Ticket

EXAMPLES = 5
_REASONS = 3


@dataclass
class _Open:
    """One ticket, counting."""

    sign: Sign
    count: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    evidence: list[tuple[str, Evidence]] = field(default_factory=list)


class Desk:
    """Takes the signals of traces one after another, in any order, and gives the same tickets."""

    def __init__(self) -> None:
        self._open: dict[tuple[Blame, str], _Open] = {}

    def take(self, trace_uid: str, found: Signals) -> None:
        """Count what is not the model's in one trace."""
        others = [sign for sign in found.signs if sign.blame is not Blame.MODEL]
        strong = [sign for sign in others if sign.kind not in WEAK]
        for sign in strong or others:
            ticket = self._open.setdefault((sign.blame, sign.signature), _Open(sign))
            ticket.count += 1
            where = found.localised
            if where is not None and where.blame is sign.blame:
                ticket.reasons[where.reason] += 1
            if len(ticket.evidence) < EXAMPLES or trace_uid < ticket.evidence[-1][0]:
                seen = sign.evidence[0] if sign.evidence else Evidence(trace_uid=trace_uid)
                ticket.evidence = heapq.nsmallest(
                    EXAMPLES, [*ticket.evidence, (trace_uid, seen)], key=lambda one: one[0]
                )

    def tickets(self) -> tuple[Ticket, ...]:
        """What was counted, the most frequent first."""
        made = [
            Ticket(
                ticket_id=f"k-{digest([blame.value, signature])[:10]}",
                blame=blame,
                signature=signature,
                title=title(ticket.sign),
                count=ticket.count,
                reasons=_often(ticket.reasons),
                evidence=tuple(seen for _, seen in ticket.evidence),
            )
            for (blame, signature), ticket in self._open.items()
        ]
        return tuple(sorted(made, key=lambda one: (-one.count, one.blame, one.signature)))


def _often(reasons: Counter[str]) -> tuple[str, ...]:
    ordered = sorted(reasons.items(), key=lambda one: (-one[1], one[0]))
    return tuple(reason for reason, _ in ordered[:_REASONS])
