"""Failure modes in words, one line each."""

from collections.abc import Sequence

from rsi.discover.signals import NO_ROUTE, Kind, Sign

ROLES = {"L0": "chat", "L1": "agent", "L2": "code", "L3": "UI"}
"""What the specialists that every deployment starts with are for."""


def title(sign: Sign) -> str:
    """What goes wrong, for a person who has not seen signatures."""
    subject, detail = sign.subject, sign.detail
    if sign.kind is Kind.ROUTE:
        if detail == NO_ROUTE:
            return f"{role(subject)} requests answered without being routed"
        return f"{role(subject)} requests routed to {role(detail)}"
    if sign.kind is Kind.WRONG_ARGUMENTS:
        return f"{subject} done with another {detail} than expected"
    if sign.kind is Kind.OUTCOME:
        return f"failed by {subject}{f' ({detail})' if detail else ''}, and nothing else says why"
    plain = {
        Kind.TOOL_ERROR: f"{subject} refuses: {detail}",
        Kind.MISSING_ACTION: f"{subject} expected but not done",
        Kind.UNEXPECTED_ACTION: f"{subject} done though not expected",
        Kind.ERROR: f"runs break: {subject}",
        Kind.CORRECTION: f"answers corrected by {subject}",
    }
    return plain[sign.kind]


def role(name: str) -> str:
    """A role with its job, where that is known."""
    return f"{ROLES[name]} ({name})" if name in ROLES else name


def about(plain: str, terms: Sequence[str]) -> str:
    """A title with what its traces are about, in at most four words."""
    return f"{plain}: {', '.join(terms[:4])}" if terms else plain
