"""Requests for a promotion and the answers to them; the form and `rsi approve` both end here.

An answer binds to the digest of one verdict. The first valid one is the decision; every refused one is a ledger
record too.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from pydantic import ValidationError

from rsi import faults
from rsi.errors import IntegrityError, RefusedError
from rsi.ids import Digest
from rsi.ports import Clock
from rsi.records import Approval, Decision, Judgement, LedgerRecord, Verdict
from rsi.registry import champion
from rsi.settings import Deployment, Home
from rsi.store.ledger import Ledger
from rsi.store.locks import hold

PREFIX = 8
"""Digits of the evidence digest that a person types by hand."""


class Request(NamedTuple):
    """A verdict that waits for a person."""

    verdict: Digest
    candidate: str
    night: str
    expires: datetime
    decision: Approval | None


def verdict(home: Home, name: str) -> Verdict:
    """The verdict with that digest, checked.

    Raises:
        IntegrityError: it is missing or says something else than its name.
    """
    path = home.verdicts / name / "verdict.json"
    try:
        found = Verdict.parse(path.read_bytes())
    except FileNotFoundError:
        raise IntegrityError(f"verdict {name[:12]} is missing: expected {path}") from None
    except ValidationError as error:
        raise IntegrityError(f"{path} is not a verdict ({error.error_count()} errors)") from None
    if found.digest != name:
        raise IntegrityError(f"{path} does not say what its name says: its digest is {found.digest[:12]}…")
    return found


def open_request(home: Home, clock: Clock, deployment: Deployment, found: Verdict) -> LedgerRecord:
    """Ask for an answer to a passed verdict; the same verdict is asked about once.

    Raises:
        RefusedError: the verdict did not pass; nobody is asked to overrule the gate.
    """
    if found.judgement is not Judgement.PASS:
        raise RefusedError(
            f"verdict {found.digest[:12]} says {found.judgement.value!r}; only a passed one is asked about"
        )
    ledger = Ledger(home.ledger, clock)
    now = clock.now()
    with hold(home.store_lock, "request", now.isoformat(timespec="seconds"), wait_s=30):
        asked = ledger.last(lambda one: one.kind == "request" and one.input == found.digest)
        if asked is not None:
            return asked
        expires = now + timedelta(days=deployment.night.request_days)
        return ledger.append(
            "request",
            night=found.night,
            input=found.digest,
            output=found.candidate,
            body={"expires": expires.isoformat(timespec="seconds"), "replaces": found.champion},
        )


def requests(ledger: Ledger) -> tuple[Request, ...]:
    """All requests, oldest first, each with its decision if it has one."""
    records = ledger.records()
    decided = {one.input: Approval.model_validate(one.body) for one in records if one.kind == "approval"}
    return tuple(
        Request(
            Digest(str(one.input)),
            str(one.output),
            str(one.night),
            datetime.fromisoformat(str(one.body["expires"])),
            decided.get(one.input),
        )
        for one in records
        if one.kind == "request"
    )


def waiting(ledger: Ledger) -> Request | None:
    """The newest request nobody has answered."""
    return next((one for one in reversed(requests(ledger)) if one.decision is None), None)


def answer(home: Home, clock: Clock, deployment: Deployment, said: Approval, evidence: str) -> LedgerRecord:
    """Record a person's answer; the same decision again is the record there is.

    Args:
        home: the deployment's folder.
        clock: the time.
        deployment: names who may answer.
        said: the answer.
        evidence: first digits of the verdict's digest, as the person typed them.

    Raises:
        RefusedError: wrong digits, unknown approver, no reason, no such request, expired, already decided, a
            verdict that did not pass, or one that compares with a version no longer in service.
    """
    ledger = Ledger(home.ledger, clock)
    now = clock.now()
    with hold(home.store_lock, "approval", now.isoformat(timespec="seconds"), wait_s=30):
        before = ledger.last(lambda one: one.kind == "approval" and one.input == said.verdict)
        request = next((one for one in requests(ledger) if one.verdict == said.verdict), None)
        why = _objection(request, deployment, said, evidence)
        if why is None and before is not None:
            if before.body.get("decision") == said.decision.value:
                return before
            decided = f"{before.body['decision']} by {before.body['approver']}"
            why = f"verdict {said.verdict[:12]} was decided already: {decided}"
        if why is None and request is not None and said.decision is Decision.APPROVE:
            why = _closed(home, ledger, request, now)
        if why:
            ledger.append("refusal", input=said.verdict, body={"why": why, **said.model_dump(mode="json")})
            raise RefusedError(why)
        faults.point("approval.before_record")
        return ledger.append("approval", input=said.verdict, body=said.model_dump(mode="json"))


def _objection(request: Request | None, deployment: Deployment, said: Approval, evidence: str) -> str | None:
    """What is wrong with the answer itself, or None."""
    typed = evidence.strip().lower()
    if request is None:
        return f"nobody asked about verdict {said.verdict[:12]}; `rsi status` lists what waits"
    if not said.approver.strip() or not said.reason.strip():
        return "an answer needs the approver's name and a reason"
    if deployment.approvers and said.approver not in deployment.approvers:
        return (
            f"{said.approver!r} may not answer here; the deployment names {', '.join(deployment.approvers)}"
        )
    if len(typed) < PREFIX or not said.verdict.startswith(typed):
        return f"the evidence digest does not begin with {evidence[:64]!r}; type its first {PREFIX} digits"
    return None


def closed(home: Home, clock: Clock, name: str) -> str | None:
    """Why a verdict can be approved no longer, whoever answers; None while it can."""
    ledger = Ledger(home.ledger, clock)
    request = next((one for one in requests(ledger) if one.verdict == name), None)
    if request is None:
        return f"nobody asked about verdict {name[:12]}; `rsi status` lists what waits"
    return _closed(home, ledger, request, clock.now())


def _closed(home: Home, ledger: Ledger, request: Request, now: datetime) -> str | None:
    if now > request.expires:
        return f"the request expired at {request.expires.isoformat()}; run the gate again"
    found = verdict(home, request.verdict)
    if found.judgement is not Judgement.PASS:
        return f"the verdict is {found.judgement.value!r}; only a passed one can be approved"
    in_service = champion.current(ledger)
    if found.champion != in_service:
        return (
            f"stale evidence: the verdict compares with {found.champion[:12]}, but {in_service[:12]} is in service "
            "by now; run the gate again"
        )
    return None
