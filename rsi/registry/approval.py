"""Requests for a promotion and the answers to them; the form and `rsi approve` both end here.

An answer binds to the digest of one verdict. The first valid one is the decision; every refused one is a ledger
record too. How a request stands follows from the ledger and the clock alone: nothing has to be written to end one.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from pydantic import ValidationError

from rsi import faults
from rsi.errors import IntegrityError, RefusedError
from rsi.ids import Digest
from rsi.ports import Clock
from rsi.records import Approval, Decision, Judgement, LedgerRecord, Rule, Verdict
from rsi.registry import approvers, champion
from rsi.settings import Deployment, Home
from rsi.store.ledger import Ledger
from rsi.store.locks import hold

PREFIX = 8
"""Digits of the evidence digest that a person types by hand."""


class Standing(StrEnum):
    """How a request stands."""

    OPEN = "open"
    APPROVED = "approved"
    REJECTED = "rejected"
    SUPERSEDED = "superseded"
    """A newer candidate of the same role was asked about."""
    REBASED = "rebased"
    """The same change was gated again, on a newer champion, whatever came out of that."""
    EXPIRED = "expired"
    STALE = "stale"
    """Another version went into service: the change wants to be gated again on that one."""


BACK = "back"
"""Stands in the place of a role in requests about going back: no candidate of a role is newer than these."""


class Request(NamedTuple):
    """A verdict that a person is asked about."""

    verdict: Digest
    candidate: str
    night: str
    expires: datetime
    decision: Approval | None
    created: datetime
    replaces: str
    """The champion that the verdict compares with."""
    role: str | None
    """Whose adapter changed; null where only the harness did, `BACK` where a version is to come back, empty where
    nobody wrote it down."""
    authors: tuple[str, ...]
    """Who ran the night, or gated by hand; none of them may answer."""
    rebased: str | None = None
    """The verdict on the same change on a newer champion."""
    newer: str | None = None
    """The verdict of the next request about the same role."""

    def standing(self, now: datetime, in_service: str) -> Standing:
        """How it stands while a version is in service; a decision stands whatever comes later."""
        if self.decision is not None:
            approved = self.decision.decision is Decision.APPROVE
            return Standing.APPROVED if approved else Standing.REJECTED
        if self.rebased is not None:
            return Standing.REBASED
        if self.newer is not None:
            return Standing.SUPERSEDED
        if now > self.expires:
            return Standing.EXPIRED
        return Standing.OPEN if self.replaces == in_service else Standing.STALE


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


def open_request(
    home: Home,
    clock: Clock,
    deployment: Deployment,
    found: Verdict,
    authors: Sequence[str] = (),
) -> LedgerRecord:
    """Ask for an answer to a passed verdict; the same verdict is asked about once.

    A request about the same role that nobody has answered is thereby superseded. `authors` had a part in the candidate
    besides the user of this machine.

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
            body={
                "expires": expires.isoformat(timespec="seconds"),
                "replaces": found.champion,
                "role": BACK if found.goes_back else found.role,
                "authors": sorted({approvers.author(), *authors}),
            },
        )


def settle_rebase(home: Home, clock: Clock, name: str, again: Verdict) -> None:
    """Write down that the change of a request was gated again, and what came out; its request is over."""
    ledger, since = Ledger(home.ledger, clock), clock.now().isoformat(timespec="seconds")
    with hold(home.store_lock, "rebase", since, wait_s=30):
        known = ledger.last(lambda one: one.kind == "rebase" and one.input == name)
        if known is None:
            body: dict[str, object] = {"judgement": again.judgement.value}
            ledger.append("rebase", night=again.night, input=name, output=again.digest, body=body)


def requests(ledger: Ledger) -> tuple[Request, ...]:
    """All requests, oldest first, each with its decision, or what took its place."""
    records = ledger.records()
    decided = {one.input: Approval.model_validate(one.body) for one in records if one.kind == "approval"}
    rebased = {one.input: one.output for one in records if one.kind == "rebase"}
    found = [_request(one) for one in records if one.kind == "request"]
    return tuple(
        one._replace(
            decision=decided.get(one.verdict), rebased=rebased.get(one.verdict), newer=_newer(one, found[at:])
        )
        for at, one in enumerate(found)
    )


def _request(one: LedgerRecord) -> Request:
    body = one.body
    role, authors = body.get("role", ""), body.get("authors")
    return Request(
        Digest(str(one.input)),
        str(one.output),
        str(one.night),
        datetime.fromisoformat(str(body["expires"])),
        None,
        datetime.fromisoformat(one.at),
        str(body["replaces"]),
        str(role) if role is not None else None,
        tuple(map(str, authors)) if isinstance(authors, list) else (),
    )


def _newer(request: Request, from_it_on: Sequence[Request]) -> str | None:
    """The verdict of the next request about the same role; of an unknown role there is none."""
    later = (one.verdict for one in from_it_on[1:] if one.role == request.role != "")
    return next(later, None)


def waiting(ledger: Ledger, now: datetime) -> tuple[Request, ...]:
    """Requests that can be answered now, in the order in which they were made."""
    in_service = champion.current(ledger)
    return tuple(one for one in requests(ledger) if one.standing(now, in_service) is Standing.OPEN)


def over(ledger: Ledger, now: datetime) -> dict[str, str]:
    """Verdicts whose requests nobody answered and nobody can approve any more; with the reason."""
    in_service = champion.current(ledger)
    found = {one.verdict: _ended(one, now, in_service) for one in requests(ledger)}
    return {str(name): why for name, why in found.items() if why}


def answer(home: Home, clock: Clock, deployment: Deployment, said: Approval, evidence: str) -> LedgerRecord:
    """Record a person's answer; the same decision by the same person again is the record there is.

    Args:
        home: the deployment's folder.
        clock: the time.
        deployment: names who may answer, as the verdict's rule does.
        said: the answer.
        evidence: first digits of the verdict's digest, as the person typed them.

    Raises:
        RefusedError: wrong digits, an approver who may not answer or is an author, no reason, a proof that is missing
            or false, no such request, already decided, expired, superseded, a verdict that did not pass, or one that
            compares with a version no longer in service.
    """
    ledger = Ledger(home.ledger, clock)
    now = clock.now()
    request = next((one for one in requests(ledger) if one.verdict == said.verdict), None)
    objection = _objection(home, request, deployment, said, evidence)  # runs ssh-keygen: not under the lock
    with hold(home.store_lock, "approval", now.isoformat(timespec="seconds"), wait_s=30):
        before = ledger.last(lambda one: one.kind == "approval" and one.input == said.verdict)
        why = objection
        if why is None and before is not None:
            there = Approval.model_validate(before.body)
            if (there.decision, there.approver) == (said.decision, said.approver):
                return before
            why = f"verdict {said.verdict[:12]} was decided already: {there.decision.value} by {there.approver}"
        if why is None and said.decision is Decision.APPROVE:
            why = closed(home, clock, said.verdict)
        if why:
            ledger.append("refusal", input=said.verdict, body={"why": why, **approvers.cut(said)})
            raise RefusedError(why)
        faults.point("approval.before_record")
        return ledger.append("approval", input=said.verdict, body=said.model_dump(mode="json"))


def _objection(
    home: Home, request: Request | None, deployment: Deployment, said: Approval, evidence: str
) -> str | None:
    """What is wrong with the answer itself, or None."""
    typed = evidence.strip().lower()
    if request is None:
        return _nobody(said.verdict)
    if len(typed) < PREFIX or not said.verdict.startswith(typed):
        return f"the evidence digest does not begin with {evidence[:64]!r}; type its first {PREFIX} digits"
    try:
        rule = verdict(home, said.verdict).rule or Rule()
    except IntegrityError as error:
        return str(error)
    return approvers.objection(said, request.authors, deployment, rule)


def _nobody(name: str) -> str:
    return f"nobody asked about verdict {name[:12]}; `rsi status` lists what waits"


def closed(home: Home, clock: Clock, name: str) -> str | None:
    """Why a verdict can be approved no longer, whoever answers; None while it can."""
    ledger = Ledger(home.ledger, clock)
    request = next((one for one in requests(ledger) if one.verdict == name), None)
    if request is None:
        return _nobody(name)
    return _ended(request, clock.now(), champion.current(ledger)) or _not_passed(home, request)


def _ended(request: Request, now: datetime, in_service: str) -> str | None:
    match request.standing(now, in_service):
        case Standing.EXPIRED:
            return f"the request expired at {request.expires.isoformat()}; run the gate again"
        case Standing.SUPERSEDED:
            return f"superseded: verdict {str(request.newer)[:12]} is about a newer candidate of the same role"
        case Standing.REBASED:
            return f"rebased: verdict {str(request.rebased)[:12]} is about the same change on a newer champion"
        case Standing.STALE:
            return (
                f"stale evidence: the verdict compares with {request.replaces[:12]}, but {in_service[:12]} is in "
                f"service by now; gate the change again with `rsi rebase {request.verdict[:PREFIX]}`"
            )
    return None


def _not_passed(home: Home, request: Request) -> str | None:
    found = verdict(home, request.verdict)
    if found.judgement is not Judgement.PASS:
        return f"the verdict is {found.judgement.value!r}; only a passed one can be approved"
    if found.champion != request.replaces:
        return f"the request names champion {request.replaces[:12]}, its verdict {found.champion[:12]}"
    return None
