"""Who may answer a request, and what an answer must carry: by the deployment, by the contract, and never its author."""

import getpass
import os
import unicodedata
from collections.abc import Sequence

from rsi.errors import ContractError, RefusedError
from rsi.records import Approval, Proof, Rule
from rsi.registry import proof
from rsi.settings import Deployment, contracts_dir

NAME_LIMIT, REASON_LIMIT = 100, 2000
"""Characters of an approver's name and of a reason."""


def author() -> str:
    """Who has a candidate made in this process: the user of this machine (`LOGNAME`, `USER`)."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return f"user {os.getuid()}"


def objection(said: Approval, authors: Sequence[str], deployment: Deployment, rule: Rule) -> str | None:
    """Why an answer cannot be taken from whoever gives it; None where it can.

    Args:
        said: the answer.
        authors: who had the candidate made.
        deployment: may name who may answer.
        rule: what the contract says of that; both have to be met.
    """
    return _unreadable(said) or _stranger(said.approver, authors, deployment, rule) or _unproven(said, rule)


def cut(said: Approval) -> dict[str, object]:
    """A refused answer as the ledger keeps it: no longer than an answer may be."""
    short = {"approver": said.approver[:NAME_LIMIT], "reason": said.reason[:REASON_LIMIT]}
    return {**said.model_dump(mode="json"), **short, "signature": said.signature[: proof.LIMIT]}


def _unreadable(said: Approval) -> str | None:
    name = said.approver
    if not name.strip() or not said.reason.strip():
        return "an answer needs the approver's name and a reason"
    if name != name.strip() or len(name) > NAME_LIMIT or any(unicodedata.category(c)[0] == "C" for c in name):
        return (
            f"an approver's name has at most {NAME_LIMIT} characters, no space around it and no control characters"
        )
    if len(said.reason) > REASON_LIMIT:
        return f"a reason has at most {REASON_LIMIT} characters; this one has {len(said.reason):,}"
    return None


def _stranger(name: str, authors: Sequence[str], deployment: Deployment, rule: Rule) -> str | None:
    for names, who in ((deployment.approvers, "deployment"), (rule.approvers, "contract")):
        if names and name not in names:
            return f"{name!r} may not answer here; the {who} names {', '.join(names)}"
    if name.casefold() in {one.casefold() for one in authors}:
        return f"{name!r} made this candidate, or had it made; somebody else has to answer"
    return None


def _unproven(said: Approval, rule: Rule) -> str | None:
    if not said.signature.strip():
        if rule.proof is Proof.NONE:
            return None
        return (
            "the contract asks for a signature: `rsi approve --key FILE` signs, `rsi sign` prints one for the form"
        )
    if rule.signers is None:
        return "the contract names no allowed signers, so nobody can check a signature; leave it out"
    try:
        proof.check(said.signature, said.verdict, said.decision, said.approver, contracts_dir() / rule.signers)
    except (RefusedError, ContractError) as error:
        return str(error)
    return None
