"""The form that a person fills in to answer a request, in the Prefect UI.

Nothing is filled in beforehand: a run that is woken without an answer has no decision and no name, and fails.
The evidence is a text and not a choice, so that it has to be read off the card and typed. A signature may be left
out where the contract does not ask for one.
"""

from datetime import UTC

from prefect.input import RunInput
from pydantic import Field
from pydantic.config import JsonDict

from flows.evidence import brief
from flows.reports import address
from rsi.records import Approval, Decision, Proof
from rsi.registry import proof
from rsi.registry.approval import PREFIX, Request, verdict
from rsi.registry.approvers import NAME_LIMIT, REASON_LIMIT
from rsi.report.words import inert_markdown
from rsi.settings import Home


def _place(position: int) -> JsonDict:
    return {"position": position}


class Answer(RunInput):
    """What a person says of a verdict."""

    decision: Decision = Field(
        title="Decision",
        description="Put the candidate into service, or not. (Where a click opens no list, its arrow does.)",
        json_schema_extra=_place(0),
    )
    approver: str = Field(
        title="Your name",
        description="As the contract or the deployment file names you.",
        max_length=NAME_LIMIT,
        json_schema_extra=_place(1),
    )
    reason: str = Field(
        title="Reason", description="Why, in a line.", max_length=REASON_LIMIT, json_schema_extra=_place(2)
    )
    evidence: str = Field(
        title="Evidence",
        description=f"The {PREFIX} characters after “Evidence” above, typed by hand.",
        max_length=64,
        json_schema_extra=_place(3),
    )
    signature: str = Field(
        "",
        title="Signature",
        description="Where the contract asks for one: what `rsi sign` prints, pasted whole.",
        max_length=proof.LIMIT,
        json_schema_extra=_place(4),
    )

    def approval(self, verdict: str) -> Approval:
        """The same as a record."""
        return Approval(
            verdict=verdict,
            decision=self.decision,
            approver=self.approver,
            reason=self.reason,
            via="form",
            signature=self.signature,
        )


def question(home: Home, request: Request, refused: str | None) -> str:
    """What stands above the form: why the last answer was not taken, what to type, report and proof, the brief.

    Without scrolling, Prefect's dialog shows only its first lines.
    """
    found = verdict(home, request.verdict)
    report, typed = address(home, found.digest), found.digest[:PREFIX]
    parts = [f"**The last answer was not taken:** {inert_markdown(refused)}"] if refused else []
    parts.append(
        f"Evidence `{typed}` · "
        + (f"[Full report]({report})" if report else f"Full report: `rsi report {typed}`")
        + f" · an answer is awaited until {request.expires.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    )
    if found.rule is not None and found.rule.signers is not None:
        wanted = "has to" if found.rule.proof is Proof.SIGNATURE else "may"
        parts.append(f"An answer {wanted} carry a signature: `rsi sign {typed}` (with `--reject` for a no).")
    parts.append(brief(home, found.digest).rstrip())
    return "\n\n".join(parts)
