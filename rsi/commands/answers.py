"""Answers to requests: approve or reject, sign, and gate again what another promotion made stale."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from rsi.commands.say import Json, as_json, line
from rsi.errors import ContractError
from rsi.ids import Digest
from rsi.ports import SystemClock
from rsi.records import Approval, Decision, Judgement
from rsi.registry import approval, champion
from rsi.report.progress import TerminalProgress
from rsi.settings import Deployment, Home
from rsi.store.ledger import Ledger

VerdictArgument = Annotated[
    str | None, typer.Argument(help="Verdict, or its first digits; the only one that waits by default.")
]


KeyOption = Annotated[
    Path | None,
    typer.Option(help="Your SSH key: a private one, or a public one whose other half an agent holds."),
]


def meant(home: Home, prefix: str | None) -> Digest:
    """The verdict meant, among all that people were asked about."""
    ledger = Ledger(home.ledger, SystemClock())
    asked = approval.requests(ledger)
    if prefix is None:
        waiting = approval.waiting(ledger, SystemClock().now())
        if len(waiting) == 1:
            return waiting[0].verdict
        if waiting:
            raise ContractError(f"{len(waiting)} verdicts wait: {_listed(waiting)}; say which")
        raise ContractError("nothing waits for an answer; `rsi status` shows the last nights")
    found = {one.verdict for one in asked if one.verdict.startswith(prefix.lower())}
    if len(prefix) < approval.PREFIX or len(found) != 1:
        raise ContractError(
            f"{prefix!r} names {len(found)} requests; give at least {approval.PREFIX} digits of one that "
            "`rsi status` lists"
        )
    return found.pop()


def stale_ones(ledger: Ledger) -> list[approval.Request]:
    """Requests that another promotion made stale, oldest first."""
    now, in_service = SystemClock().now(), champion.current(ledger)
    return [
        one
        for one in approval.requests(ledger)
        if one.standing(now, in_service) is approval.Standing.STALE
    ]


def _listed(waiting: Sequence[approval.Request]) -> str:
    return ", ".join(f"{one.verdict[: approval.PREFIX]} ({subject(one)})" for one in waiting)


def subject(one: approval.Request) -> str:
    """What a request is about, in words."""
    return f"night {one.night}, {f'role {one.role}' if one.role else 'harness'}"


def approve(
    verdict: VerdictArgument = None,
    approver: Annotated[str, typer.Option(prompt="Your name", help="Who answers.")] = "",
    reason: Annotated[str, typer.Option(prompt="Reason", help="Why.")] = "",
    evidence: Annotated[
        str, typer.Option(prompt="First 8 digits of the evidence digest", help="Typed from the card.")
    ] = "",
    reject: Annotated[bool, typer.Option("--reject", help="Say no.")] = False,
    key: KeyOption = None,
    json: Json = False,
) -> None:
    """Answer a request; a Prefect run that waits for its form goes on with this answer."""
    from rsi.registry import proof
    from rsi.registry.waiting import resume

    home = Home.find()
    deployment = Deployment.read(home.deployment_file)
    name = meant(home, verdict)
    decision = Decision.REJECT if reject else Decision.APPROVE
    said = Approval(
        verdict=name,
        decision=decision,
        approver=approver,
        reason=reason,
        via="command",
        signature=proof.sign(key.expanduser(), name, decision) if key else "",
    )
    record = approval.answer(home, SystemClock(), deployment, said, evidence)
    run = resume(home, said)
    if json:
        as_json({"verdict": name, "decision": decision.value, "record": record.seq, "resumed": run})
        return
    line(f"{decision.value} of verdict {name[:8]} by {record.body['approver']} is ledger record {record.seq}")
    if run:
        line(f"the waiting run {run} goes on")
    elif decision is Decision.APPROVE:
        line("no run waits for it; next: `rsi promote`")


def sign(
    verdict: VerdictArgument = None,
    key: KeyOption = Path("~/.ssh/id_ed25519"),
    reject: Annotated[bool, typer.Option("--reject", help="Sign a no.")] = False,
    json: Json = False,
) -> None:
    """Sign the answer to a request with your SSH key, and print the signature for the form in Prefect."""
    from rsi.registry import proof

    decision = Decision.REJECT if reject else Decision.APPROVE
    name = meant(Home.find(), verdict)
    signature = proof.sign((key or Path()).expanduser(), name, decision)
    if json:
        as_json({"verdict": name, "decision": decision.value, "signature": signature})
        return
    line(signature.rstrip())


def rebase(
    verdict: Annotated[
        str | None, typer.Argument(help="Verdict of a stale request; the only one by default.")
    ] = None,
    json: Json = False,
) -> None:
    """Gate a request's change again, where another role went into service in between; ask about what passes."""
    from rsi.rebase import rebase as again
    from rsi.world import real

    home, clock = Home.find(), SystemClock()
    deployment = Deployment.read(home.deployment_file)
    if verdict is None:
        stale = stale_ones(Ledger(home.ledger, clock))
        if len(stale) != 1:
            raise ContractError(f"{len(stale)} requests are stale{': ' if stale else ''}{_listed(stale)}; say which")
        name = stale[0].verdict
    else:
        name = meant(home, verdict)
    ending = again(home, deployment, real(deployment, TerminalProgress()), name)
    if json:
        as_json(ending._asdict())
    else:
        line(f"night {ending.night}: {ending.reason}")
    if ending.judgement != Judgement.PASS.value:
        raise typer.Exit(1)
