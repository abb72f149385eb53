"""Routing tasks from corrections: what somebody said would have been the right specialist."""

from collections.abc import Iterator

from rsi.expand.aims import of_route
from rsi.expand.material import Material, Want
from rsi.expand.runs import Corrected
from rsi.records import ChatMessage, Task
from rsi.tasks.bank import task


def corrections(material: Material, want: Want) -> Iterator[Task]:
    """One task a request and correction; traces that agree are its provenance.

    A correction to a role that the harness does not have makes no task. A trace that was routed right makes one that
    keeps it so, and covers no mode.
    """
    known = set(material.roles)
    found: dict[tuple[str, str], list[Corrected]] = {}
    for one in material.corrected:
        if one.correction in known:
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
