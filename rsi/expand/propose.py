"""Proposals: tasks from traces that carry a correction. No correction, no task."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from rsi.records import ChatMessage, Task
from rsi.tasks.bank import task


class Corrected(NamedTuple):
    """A trace with what somebody said would have been right."""

    trace_uid: str
    request: str
    route: str | None
    """The specialist that answered."""
    correction: str
    """The specialist that should have."""


def propose(corrected: Iterable[Corrected], roles: Iterable[str], modes: Mapping[str, str]) -> list[Task]:
    """Routing tasks, one a request and correction; traces that agree are its provenance.

    Args:
        corrected: in any order.
        roles: the harness's roles; a correction to another one makes no task.
        modes: signature -> mode id; a trace that shows none was routed right and makes a task that keeps it so.
    """
    known = set(roles)
    found: dict[tuple[str, str], list[Corrected]] = {}
    for one in corrected:
        if one.correction in known:
            found.setdefault((one.request, one.correction), []).append(one)
    proposals = []
    for (request, correction), group in found.items():
        covered = sorted(
            modes[signature]
            for one in group
            if (signature := f"route:{correction}->{one.route or 'none'}") in modes
            and one.route != correction
        )
        proposals.append(
            task(
                "route",
                (ChatMessage(role="user", content=request),),
                "choice",
                correction,
                covered[0] if covered else None,
                tuple(sorted(one.trace_uid for one in group)),
                "correction",
            )
        )
    return proposals
