"""The form that a person fills in to answer a request, in the Prefect UI.

Nothing is filled in beforehand: a run that is woken without an answer has no decision and no name, and fails.
The evidence is a text and not a choice, so that it has to be read off the card and typed.
"""

from prefect.input import RunInput
from pydantic import Field
from pydantic.config import JsonDict

from rsi.records import Approval, Decision
from rsi.registry.approval import PREFIX
from rsi.report.words import inert_markdown


def _place(position: int) -> JsonDict:
    return {"position": position}


class Answer(RunInput):
    """What a person says of a verdict."""

    decision: Decision = Field(
        title="Decision", description="Put the candidate into service, or not.", json_schema_extra=_place(0)
    )
    approver: str = Field(
        title="Your name", description="As the deployment file names you.", json_schema_extra=_place(1)
    )
    reason: str = Field(title="Reason", description="Why, in a line.", json_schema_extra=_place(2))
    evidence: str = Field(
        title="Evidence",
        description=f"First {PREFIX} characters of the evidence digest, typed from the card.",
        json_schema_extra=_place(3),
    )

    def approval(self, verdict: str) -> Approval:
        """The same as a record."""
        return Approval(
            verdict=verdict, decision=self.decision, approver=self.approver, reason=self.reason, via="form"
        )


def question(card: str, until: str, refused: str | None) -> str:
    """What stands above the form: the card, until when, and why the answer before was not taken."""
    parts = [f"**The last answer was not taken:** {inert_markdown(refused)}"] if refused else []
    parts += [f"An answer is awaited until {inert_markdown(until)}.", card]
    return "\n\n".join(parts)
