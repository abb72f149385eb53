"""The watch after a promotion: does the new version fail more, in service, than the one before it?

A look compares failed conversations of both by Fisher's exact test. The contract's `[watch]` shares its alpha out
over a fixed number of looks, and each needs enough new conversations, so that looking every night does not find by
chance what is not there. Each look is a ledger record. One that finds the version worse is a verdict like those of
suites, whose candidate is the version before: a person answers it in the same places, and its promotion is a
rollback; or the contract has the rollback performed at once.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from rsi.context import World
from rsi.engine.publish import Replica
from rsi.errors import ContractError, RefusedError
from rsi.gate import live, lock
from rsi.gate.contract import Contract
from rsi.gate.difference import changed_role
from rsi.gate.terms import Watch, Worse
from rsi.ids import canonical
from rsi.questions import Arm, Look, State, Watched
from rsi.records import WATCH, Clause, Decision, Judgement, LedgerRecord, Verdict
from rsi.registry import approval, champion, versions
from rsi.registry.promote import go_back
from rsi.report import watched
from rsi.report.words import short
from rsi.settings import Deployment, Home, contracts_dir
from rsi.statistics import spending
from rsi.statistics.unpaired import difference, fisher_less
from rsi.store import sums
from rsi.store.files import publish_folder
from rsi.store.ledger import Ledger
from rsi.store.locks import hold

Replicas = Callable[[], Sequence[Replica]]


def watch(home: Home, deployment: Deployment, world: World, night: str, replicas: Replicas) -> Watched:
    """Look at the version in service, and ask or act where it fails more. The caller holds the night lock.

    Where the gate is a process of its own, it looks, and this one reads no contract.

    Args:
        night: the night that looks.
        replicas: every server that a rollback has to be published to; asked for only where one is performed.

    Raises:
        ContractError: the contract cannot be read.
        RefusedError: nobody approved it.
        IntegrityError: it is not what was approved.
        TransientError: a server is away while a rollback is performed; the same call goes on with it.
    """
    if world.examiner is not None:
        return world.examiner.watch(home, night)
    ledger = Ledger(home.ledger, world.clock)
    champion.current(ledger)
    promotion = champion.moves(ledger)[-1]
    if promotion.kind != "promotion":
        return Watched(
            state=State.UNWATCHED, reason=f"{_who(promotion)} did not come by a promotion: nothing to watch"
        )
    contract = _contract(home, deployment, promotion)
    if contract.watch is None:
        return Watched(state=State.UNWATCHED, reason=f"contract {contract.name} has no [watch]")
    looks = [one for one in ledger if one.kind == "watch" and one.input == promotion.input]
    if looks and looks[-1].output and not _expired(home, world, str(looks[-1].output)):
        return _settle(home, deployment, world, contract, looks[-1], replicas)
    found = _look(home, deployment, world, contract, promotion, looks)
    if isinstance(found, Watched):
        return found
    record = _keep(home, world, night, contract, promotion, found)
    if not record.output:
        reason = f"{_who(promotion)} is not shown to fail more: {watched.told(found)}"
        return Watched(state=State.GOOD, reason=reason, look=found)
    return _settle(home, deployment, world, contract, record, replicas)


def _who(promotion: LedgerRecord) -> str:
    return f"version {short(str(promotion.output))}"


def _contract(home: Home, deployment: Deployment, promotion: LedgerRecord) -> Contract:
    now = versions.load(home, str(promotion.output))
    before = versions.load(home, str(promotion.body["replaces"]))
    return lock.approved(contracts_dir(), deployment.contract_of(changed_role(before, now)))


def _look(
    home: Home,
    deployment: Deployment,
    world: World,
    contract: Contract,
    promotion: LedgerRecord,
    looks: Sequence[LedgerRecord],
) -> Look | Watched:
    """The next look, or why there is none."""
    rule, last = contract.watch or Watch(), _said(looks[-1]) if looks else None
    if len(looks) >= rule.looks:
        reason = f"{_who(promotion)} was looked at {len(looks)} times, as often as allowed"
        return Watched(state=State.OVER, reason=reason, look=last)
    now, before = live.arms(
        home,
        world.clock,
        [one.value for one in deployment.traces.origins],
        now=str(promotion.output),
        before=str(promotion.body["replaces"]),
        since=datetime.fromisoformat(promotion.at),
        rule=rule,
    )
    wanted = (last.now.counted if last else 0) + rule.min_conversations
    if now.counted < wanted or before.counted < rule.min_conversations:
        return Watched(
            state=State.EARLY,
            reason=f"{_who(promotion)}: {now.counted} conversations counted since its promotion, {before.counted} of "
            f"the version before; look {len(looks) + 1} of {rule.looks} needs {wanted} and {rule.min_conversations}",
            look=last,
        )
    return compare(contract, rule, now, before, len(looks) + 1)


def compare(contract: Contract, rule: Watch, now: Arm, before: Arm, look: int) -> Look:
    """What a look finds; pure."""
    # "Fewer failures before" is "more failures now".
    p = fisher_less(before.failed, before.counted, now.failed, now.counted)
    low, high = difference(now.failed, now.counted, before.failed, before.counted)
    return Look(
        contract=contract.name,
        contract_digest=contract.digest,
        look=look,
        looks=rule.looks,
        alpha=round(spending.even(rule.alpha, rule.looks, look), 9),
        now=now,
        before=before,
        p=round(p, 9),
        low=round(low, 6),
        high=round(high, 6),
        rise=rule.rise,
    )


def _keep(
    home: Home, world: World, night: str, contract: Contract, promotion: LedgerRecord, look: Look
) -> LedgerRecord:
    """Write the look down, with its verdict where the version is worse."""
    name = None
    if look.worse:
        verdict = _verdict(night, look)
        publish_folder(home.verdicts / verdict.digest, lambda folder: _fill(folder, verdict, look))
        name = verdict.digest
    with hold(home.store_lock, "watch", world.clock.now().isoformat(timespec="seconds"), wait_s=30):
        return Ledger(home.ledger, world.clock).append(
            "watch", night=night, input=promotion.input, output=name, body=look.model_dump(mode="json")
        )


def _verdict(night: str, look: Look) -> Verdict:
    numbers = {
        "now": look.now.rate,
        "before": look.before.rate,
        "low": look.low,
        "high": look.high,
        "p": look.p,
        "alpha": look.alpha,
    }
    return Verdict(
        night=night,
        champion=look.now.version,
        candidate=look.before.version,
        role=None,
        contract=look.contract,
        contract_digest=look.contract_digest,
        suites={},
        scorecard=look.digest,
        judgement=Judgement.PASS,
        clauses=(Clause(name=WATCH, judgement=Judgement.PASS, text=watched.told(look), numbers=numbers),),
    )


def _fill(folder: Path, verdict: Verdict, look: Look) -> None:
    (folder / "verdict.json").write_bytes(canonical(verdict.model_dump(mode="json")))
    (folder / "scorecard.json").write_bytes(canonical(look.model_dump(mode="json")))
    (folder / "card.md").write_text(watched.card(verdict, look), encoding="utf-8")
    (folder / "report.html").write_text(watched.page(verdict, look), encoding="utf-8")
    sums.seal(folder)


def _request(home: Home, world: World, name: str) -> approval.Request | None:
    asked = approval.requests(Ledger(home.ledger, world.clock))
    return next((one for one in asked if one.verdict == name), None)


def _expired(home: Home, world: World, name: str) -> bool:
    request = _request(home, world, name)
    return request is not None and request.decision is None and world.clock.now() > request.expires


def _settle(
    home: Home,
    deployment: Deployment,
    world: World,
    contract: Contract,
    record: LedgerRecord,
    replicas: Replicas,
) -> Watched:
    """Ask or act on a look that found the version worse, or say what came of it."""
    look, name = _said(record), str(record.output)
    who = f"version {short(look.now.version)}"
    request = _request(home, world, name)
    refused = ""
    if request is None and contract.watch and contract.watch.worse is Worse.PERFORM:
        try:
            go_back(home, world.clock, name, replicas(), world.base().folder)
        except (RefusedError, ContractError) as error:  # a server that will not have an adapter says either
            refused = f"; the rollback that contract {contract.name} wants was refused: {error}"
        else:
            return Watched(
                state=State.BACK,
                reason=f"{who} fails more than {short(look.before.version)}, which is in service again by contract "
                f"{contract.name}: {watched.told(look)}",
                look=look,
                verdict=name,
            )
    if request is None:
        approval.open_request(home, world.clock, deployment, approval.verdict(home, name))
    elif request.decision is not None and request.decision.decision is Decision.REJECT:
        reason = f"{who} fails more, and {request.decision.approver} kept it"
        return Watched(state=State.KEPT, reason=reason, look=look, verdict=name)
    said = (
        "a person approved going back; `rsi promote` does it"
        if request and request.decision
        else (
            f"a person was asked whether {short(look.before.version)} comes back (`rsi report {name[:8]}`, "
            "`rsi approve`)"
        )
    )
    reason = f"{who} fails more: {watched.told(look)}; {said}{refused}"
    return Watched(state=State.ASKED, reason=reason, look=look, verdict=name)


def _said(record: LedgerRecord) -> Look:
    return Look.model_validate(record.body)
