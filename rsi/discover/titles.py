"""Failure modes in words, one line each."""

from collections.abc import Callable, Sequence

from rsi.discover.signals import NO_ROUTE, Kind, Sign

ROLES = {"L0": "chat", "L1": "agent", "L2": "code", "L3": "UI"}
"""What the specialists that every deployment starts with are for."""


def title(sign: Sign) -> str:
    """What goes wrong, for a person who has not seen signatures; the agent is who does it."""
    subject, detail = sign.subject, sign.detail
    if sign.kind is Kind.ROUTE:
        if detail == NO_ROUTE:
            return f"{role(subject)} requests answered without being routed"
        return f"{role(subject)} requests routed to {role(detail)}"
    return _PLAIN[sign.kind](subject, detail)


_PLAIN: dict[Kind, Callable[[str, str], str]] = {
    Kind.TOOL_ERROR: lambda tool, words: f"{tool} answers with an error: {words}",
    Kind.MISSING_ACTION: lambda tool, _: f"does not call {tool} though the task needs it",
    Kind.WRONG_ARGUMENTS: lambda tool, name: f"calls {tool} with another {name} than the task needs",
    Kind.UNEXPECTED_ACTION: lambda tool, _: f"calls {tool} though the task does not need it",
    Kind.MISSING_OUTPUT: lambda _, __: "does not tell the user what the task asks to tell",
    Kind.INVALID_ARGUMENTS: lambda tool, fault: (
        f"calls {tool} with arguments that its schema refuses: {fault}"
    ),
    Kind.UNKNOWN_TOOL: lambda _, __: "calls tools that are not on offer",
    Kind.RETRY: lambda tool, _: f"repeats a call of {tool} unchanged after its error",
    Kind.LOOP: lambda tools, _: f"repeats the same calls and gets the same answers: {tools}",
    Kind.GIVE_UP: lambda how, _: (
        "ends with a refusal" if how == "refusal" else f"hands over with {how} though the task can be done"
    ),
    Kind.FORMAT: lambda what, _: f"answers in the wrong form: {what}",
    Kind.CUT: lambda _, __: "answers are cut at their limit of tokens",
    Kind.RULE: lambda rule, basis: f"breaks a stated rule: {rule}{f' ({basis})' if basis else ''}",
    Kind.FEEDBACK: lambda score, _: f"people judge it badly: {score}",
    Kind.ERROR: lambda words, _: f"the run breaks: {words}",
    Kind.CORRECTION: lambda score, _: f"people correct the answer: {score}",
    Kind.STATE: lambda score, _: f"leaves the world in another state than expected (score {score})",
    Kind.DISAGREEMENT: lambda score, _: f"fails a task that another run of it passes (score {score})",
    Kind.SLOW: lambda what, tool: (
        f"calls of {what} take far longer than usual"
        if tool
        else f"runs of {what} take far longer than usual"
    ),
    Kind.COSTLY: lambda agent, _: f"runs of {agent} cost far more than usual",
    Kind.OUTCOME: lambda score, basis: (
        f"fails by score {score}{f' ({basis})' if basis else ''}, and no other sign says why"
    ),
}


def role(name: str) -> str:
    """A role with its job, where that is known."""
    return f"{ROLES[name]} ({name})" if name in ROLES else name


def about(plain: str, terms: Sequence[str]) -> str:
    """A title with what its traces are about, in at most four words."""
    return f"{plain}: {', '.join(terms[:4])}" if terms else plain
