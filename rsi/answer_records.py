"""The nouns of approval: who may answer, and what is answered. Part of `rsi.records`, where others find them."""

from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from rsi.record import Record


class Proof(StrEnum):
    """What an answer must carry besides a name."""

    NONE = "none"
    SIGNATURE = "signature"
    """An SSH signature of the decision and the verdict's digest."""


class Rule(Record):
    """Who may answer a request, as the contract says."""

    approvers: tuple[str, ...] = ()
    """Names; empty means whomever the deployment allows."""
    proof: Proof = Proof.NONE
    signers: str | None = Field(None, pattern=r"^[A-Za-z0-9_-][A-Za-z0-9_.-]*(/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*$")
    """File of allowed signers (`ssh-keygen`), below the contracts folder. It may change: people come and go."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.proof is Proof.SIGNATURE and self.signers is None:
            raise ValueError("proof signature wants signers, the file that says whose key is whose")
        return self


class Decision(StrEnum):
    """What a person may say."""

    APPROVE = "approve"
    REJECT = "reject"


class Approval(Record):
    """A person's answer to one verdict."""

    verdict: str
    decision: Decision
    approver: str
    reason: str
    via: str
    """form or command."""
    signature: str = ""
    """SSH signature, armored, of what `rsi.registry.proof.statement` says; empty where there is none."""
