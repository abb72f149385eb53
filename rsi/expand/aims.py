"""What a failure mode wants tasks about, read from its signature."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rsi.discover.role import role_of
from rsi.records import FailureMode

TOOL_KINDS = (
    "wrong_arguments",
    "missing_action",
    "unexpected_action",
    "invalid_arguments",
    "tool_error",
    "retry",
)
"""Kinds of modes that name a tool; the most telling first."""


class Aim(NamedTuple):
    """One mode, as far as tasks go."""

    mode_id: str
    kind: str
    tool: str = ""
    argument: str = ""
    expected: str = ""
    """Of a route: the role that was right."""
    routed: str = ""
    """Of a route: the role that was taken, or `none`."""
    examples: tuple[str, ...] = ()
    role: str = ""
    """The role that would have to do better; empty for a mode of routing, and where no trace says who answered."""


def aims(modes: Iterable[FailureMode]) -> tuple[Aim, ...]:
    """The aims of the modes that training can mend, the most important first."""
    return tuple(_aim(one) for one in sorted(modes, key=lambda mode: mode.rank) if one.trainable)


def of_route(found: Iterable[Aim], expected: str, routed: str | None) -> str | None:
    """The mode of requests for one role that another got."""
    return next(
        (
            one.mode_id
            for one in found
            if one.kind == "route" and (one.expected, one.routed) == (expected, routed or "none")
        ),
        None,
    )


def of_call(found: Iterable[Aim], tool: str, arguments: Iterable[str]) -> str | None:
    """The mode of calls of a tool: one that names a wrong argument of these before the others."""
    about = [one for one in found if one.tool == tool]
    wrong = set(arguments)
    exact = (one for one in about if one.kind == TOOL_KINDS[0] and one.argument in wrong)
    order = sorted(
        (one for one in about if one.kind != TOOL_KINDS[0]), key=lambda one: TOOL_KINDS.index(one.kind)
    )
    return next((one.mode_id for one in (*exact, *order)), None)


def of_tools(found: Iterable[Aim]) -> Iterator[Aim]:
    """The aims that name a tool."""
    return (one for one in found if one.tool)


def _aim(mode: FailureMode) -> Aim:
    # A topic that a person split off is named behind the signature it came from.
    kind, _, rest = mode.signature.partition("#")[0].partition(":")
    role = role_of(mode, "")
    if kind == "route":
        expected, _, routed = rest.partition("->")
        return Aim(mode.mode_id, kind, expected=expected, routed=routed, examples=mode.examples, role=role)
    if kind in TOOL_KINDS:
        tool, _, detail = rest.partition(":")
        argument = detail if kind == TOOL_KINDS[0] else ""
        return Aim(mode.mode_id, kind, tool, argument, examples=mode.examples, role=role)
    return Aim(mode.mode_id, kind, examples=mode.examples, role=role)
