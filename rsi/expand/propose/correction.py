"""Routing tasks from corrections: what somebody said would have been the right specialist."""

from collections.abc import Iterator

from rsi.expand.aims import of_route
from rsi.expand.material import Material, Want
from rsi.expand.runs import Corrected
from rsi.records import ChatMessage, Task
from rsi.tasks.bank import task
from rsi.tasks.refused import Reason
from rsi.tasks.screen import Objection


def corrections(material: Material, want: Want) -> Iterator[Task]:
    """One task a request and correction; traces that agree are its provenance.

    A correction to a role that the harness does not have makes no task. A trace that was routed right makes one that
    keeps it so, and covers no mode.
    """
    yield from (one for one in _told(material) if one.expected in material.roles)


def strangers(material: Material) -> Iterator[tuple[Task, Objection]]:
    """The tasks that corrections to roles would make which the harness does not have."""
    known = ", ".join(material.roles)
    for one in _told(material):
        if one.expected not in material.roles:
            yield one, Objection(Reason.UNKNOWN_LABEL, f"{one.expected[:60]}; the harness has {known}")


def _told(material: Material) -> Iterator[Task]:
    found: dict[tuple[str, str], list[Corrected]] = {}
    for one in material.corrected:
        found.setdefault((one.request, one.correction), []).append(one)
    for (request, correction), group in sorted(found.items()):
        covered = sorted(
            mode
            for one in group
            if one.route != correction and (mode := of_route(material.aims, correction, one.route))
        )
        yield task(
            "route",
            (ChatMessage(role="user", content=request),),
            "choice",
            correction,
            covered[0] if covered else None,
            tuple(sorted({one.trace_uid for one in group})),
            "correction",
        )
