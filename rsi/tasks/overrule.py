"""Overruling a screen: a named person says, with a reason, that a refusal is wrong.

The decision is a ledger record of kind ``overrule``, so that it stays and is part of the chain. It is about one task
id, which is a hash of what is asked and expected, and about one reason: the same proposal passes that screen in
every night that begins later, and still has to pass the others. What may be overruled stands in
`rsi.tasks.refused.OVERRULABLE`: never a verbatim held-out item.
"""

from rsi.errors import ContractError, RefusedError
from rsi.ports import Clock
from rsi.records import LedgerRecord, Refusal
from rsi.settings import Deployment, Home
from rsi.store.ledger import Ledger
from rsi.store.locks import hold
from rsi.tasks import refused
from rsi.tasks.refused import OVERRULABLE, Reason

KIND = "overrule"


def known(ledger: Ledger, night: str | None = None) -> frozenset[tuple[str, str]]:
    """(task id, reason) of what was overruled.

    For a night, of what was when it began: to resume it changes nothing.
    """
    records = ledger.records()
    begun = next((one.seq for one in records if one.kind == "night" and one.night == night), len(records) + 1)
    return frozenset(
        (str(one.body["task_id"]), str(one.body["reason"]))
        for one in records
        if one.kind == KIND and one.seq < begun
    )


def find(home: Home, task_id: str) -> tuple[str, Refusal]:
    """The last refusal of a task, by its id or the first digits of it, with its night.

    Raises:
        ContractError: no task, or several, begin like this.
    """
    found: dict[str, tuple[str, Refusal]] = {}
    for night in refused.nights(home):
        for one in refused.read(home, night):
            if one.task_id.startswith(task_id):
                found[one.task_id] = (night, one)
    if len(found) != 1:
        many = (
            f"{len(found)} begin like {task_id[:40]!r}" if found else f"no refused task is {task_id[:40]!r}"
        )
        raise ContractError(f"{many}; see `rsi screens list`")
    return next(iter(found.values()))


def overrule(
    home: Home, clock: Clock, deployment: Deployment, task_id: str, by: str, why: str
) -> LedgerRecord:
    """Record that a refusal is wrong; said again it is the record there is.

    Args:
        home: the deployment's folder.
        clock: the time.
        deployment: names who may say so (its approvers).
        task_id: the refused task, or the first digits of its id.
        by: the person.
        why: their reason.

    Raises:
        ContractError: no such refusal.
        RefusedError: no name or reason, a stranger, or a refusal that nobody may overrule.
    """
    night, one = find(home, task_id)
    if not by.strip() or not why.strip():
        raise RefusedError("overruling a screen needs a person's name and a reason")
    if deployment.approvers and by not in deployment.approvers:
        raise RefusedError(
            f"{by!r} may not overrule here; the deployment names {', '.join(deployment.approvers)}"
        )
    if Reason(one.reason) not in OVERRULABLE:
        may = ", ".join(sorted(reason.value for reason in OVERRULABLE))
        raise RefusedError(f"{one.task_id} was refused for {one.reason}, which stands; overrulable are {may}")
    ledger = Ledger(home.ledger, clock)
    body: dict[str, object] = {
        "task_id": one.task_id,
        "reason": one.reason,
        "held_out": one.held_out,
        "by": by,
        "why": why,
    }
    with hold(home.store_lock, KIND, clock.now().isoformat(timespec="seconds"), wait_s=30):
        for record in ledger:
            said = record.kind == KIND and (record.body["task_id"], record.body["reason"])
            if said == (one.task_id, one.reason):
                return record
        return ledger.append(KIND, night=night, body=body)
