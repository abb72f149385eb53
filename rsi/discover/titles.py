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
        Kind.MISSING_OUTPUT: "what was to be said is not said",
        Kind.INVALID_ARGUMENTS: f"{subject} called with invalid arguments: {detail}",
        Kind.UNKNOWN_TOOL: "tools called that are not on offer",
        Kind.RETRY: f"{subject} called again as it was, behind its error",
        Kind.LOOP: f"runs turn in circles with {subject}",
        Kind.GIVE_UP: "runs end in a refusal" if subject == "refusal" else f"given up by {subject}",
        Kind.FORMAT: f"wrong form: {subject}",
        Kind.CUT: "answers reach their limit of tokens",
        Kind.RULE: f"{subject} not kept{f' ({detail})' if detail else ''}",
        Kind.FEEDBACK: f"people are not content ({subject})",
        Kind.STATE: f"the world ends in another state than expected ({subject})",
        Kind.DISAGREEMENT: f"runs of one task end differently ({subject})",
        Kind.SLOW: f"calls of {subject} take far longer than usual"
        if detail
        else f"runs of {subject} take far longer than usual",
        Kind.COSTLY: f"runs of {subject} cost far more than usual",
    }
    return plain[sign.kind]


def role(name: str) -> str:
    """A role with its job, where that is known."""
    return f"{ROLES[name]} ({name})" if name in ROLES else name


def about(plain: str, terms: Sequence[str]) -> str:
    """A title with what its traces are about, in at most four words."""
    return f"{plain}: {', '.join(terms[:4])}" if terms else plain
