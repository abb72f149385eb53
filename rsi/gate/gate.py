"""The stage: load the contract and its suites, evaluate, judge, and keep the verdict with its evidence.

A verdict is a folder ``verdicts/<digest>/`` with ``verdict.json``, ``scorecard.json`` (answers to held-out
items: read by the gate alone), ``certificate.json`` (counts, cost and digests), ``took.json`` (time and tokens of both
versions), ``brief.md``, ``card.md`` and ``report.html`` (counts only), and ``sums.json``, which binds them. Made whole
or not at all; the same inputs give the same folder, but for the time that answers took.
"""

from collections.abc import Mapping
from pathlib import Path

from rsi import assets, faults
from rsi.errors import ContractError, IntegrityError
from rsi.gate import agreement, hygiene, levels, lock, order, rounds
from rsi.gate.budget import Account
from rsi.gate.certificate import certify, register
from rsi.gate.contest import Contest, Means
from rsi.gate.contract import Contract
from rsi.gate.difference import changed_role
from rsi.gate.ready import nothing, ready
from rsi.gate.scorecard import Scorecard
from rsi.gate.spent import keep
from rsi.gate.story import Story, tell
from rsi.gate.suites import Draw, Resolve, Suite, load
from rsi.gate.terms import Items
from rsi.gate.verdict import judge, whole
from rsi.ids import canonical
from rsi.questions import Certificate
from rsi.records import Judgement, Record, Verdict, Version
from rsi.registry import approval
from rsi.report.brief import brief
from rsi.report.card import card
from rsi.report.evidence import Evidence
from rsi.report.page import page
from rsi.settings import Home, contracts_dir, gate_key
from rsi.store import sums
from rsi.store.files import publish_folder


def gate(
    home: Home,
    contract_name: str,
    contest: Contest,
    means: Means,
    account: Account,
    *,
    night: str,
    story: Story | None = None,
    contracts: Path | None = None,
    resolve: Resolve = assets.resolve,
) -> Verdict:
    """Test a candidate against the champion and publish the verdict.

    Args:
        account: where questions are written down and what is left is known.
        contracts: the contracts folder, by default that of the settings.
        resolve: text of a public item.

    Raises:
        ContractError: the contract or a suite cannot be read, the candidate is the champion or changes more than
            one role, or the engine lacks what a version needs.
        IntegrityError: a suite is not the one that the contract pins, or the contract not what was approved.
        RefusedError: the budget of the target's items is spent, or nobody approved the contract.
        TransientError: the engine answered nothing at all, or the judge is away.
    """
    role = changed_role(contest.champion, contest.candidate)
    draw = Draw.of(gate_key(home), night, contest.champion.digest, contest.candidate.digest)
    contract, suites = _read(contract_name, contracts or contracts_dir(), resolve, contest.anchor, draw)
    agreement.check(contract, suites, means.verifiers)
    registration = register(contract, suites, contest)
    if contract.budget and (known := account.settled(registration)):
        return approval.verdict(home, known)
    allowance = account.allow(contract, registration)
    before, agreed = ready(contract, suites, allowance.alpha), agreement.agreement(suites, means.verifiers)
    if contract.judge is not None:
        before = (*before, agreement.clause(contract.judge, agreed))
    asked = suites if not before or whole(before) is Judgement.PASS else nothing(suites)
    if asked is suites:
        account.ask(contract, registration, allowance)
    found = rounds.ask(home, contract, asked, contest, means, registration, allowance.alpha)
    items = suites[contract.target.suite].items
    verdict = judge(contract, found.scorecard, night, role, allowance.alpha, before, found.itself, items)
    certificate = certify(contract, registration, allowance, found.scorecard, verdict)
    evidence = tell(story or Story(), contract, suites, contest, means, found.scorecard, verdict, agreed)
    _publish(home, found.scorecard, evidence, certificate)
    account.settle(certificate)
    rounds.forget(home, registration)
    return verdict


def _read(
    name: str, root: Path, resolve: Resolve, anchor: Version | None, draw: Draw
) -> tuple[Contract, dict[str, Suite]]:
    """A contract and its suites, which fit each other and the anchor."""
    contract = lock.approved(root, name)
    suites = {suite: load(suite, pin, root, resolve, draw=draw) for suite, pin in contract.pins.items()}
    _check_anchor(contract, anchor)
    order.check(contract, suites)
    levels.check(contract, suites)
    hygiene.check(contract, suites)
    _check_budget(contract, suites)
    return contract, suites


def open_scorecard(home: Home, verdict: Verdict) -> Scorecard:
    """The per-item results behind a verdict. For the gate and its people only.

    Raises:
        IntegrityError: the file is missing or is not the one that the verdict names.
    """
    path = home.verdicts / verdict.digest / "scorecard.json"
    try:
        found = Scorecard.parse(path.read_bytes())
    except (FileNotFoundError, ValueError):
        raise IntegrityError(f"{path} is missing or not a scorecard; restore it from a backup") from None
    if found.digest != verdict.scorecard:
        raise IntegrityError(
            f"{path} is not the scorecard of verdict {verdict.digest[:12]}: "
            f"found {found.digest[:12]}, expected {verdict.scorecard[:12]}"
        )
    return found


def _check_anchor(contract: Contract, anchor: Version | None) -> None:
    named = contract.anchor
    if named is None or anchor is None or named == "genesis":
        if anchor is not None and named == "genesis" and anchor.parent is not None:
            raise ContractError(f"contract {contract.name} wants genesis as anchor, not {anchor.digest[:12]}")
        return
    if named != anchor.digest:
        raise ContractError(f"contract {contract.name} wants anchor {named[:12]}, found {anchor.digest[:12]}")


def _check_budget(contract: Contract, suites: Mapping[str, Suite]) -> None:
    budget, target = contract.budget, suites[contract.target.suite]
    if target.about.fresh and budget is not None and budget.items is not Items.FRESH:
        raise ContractError(
            f'contract {contract.name} says items = "{budget.items.value}" in [budget], but suite {target.name} draws '
            f'fresh ones for every question: say items = "{Items.FRESH.value}"'
        )


def _publish(home: Home, scorecard: Scorecard, evidence: Evidence, certificate: Certificate) -> None:
    """The verdict's folder, whole or not at all."""
    faults.point("gate.before_verdict")
    publish_folder(
        home.verdicts / evidence.verdict.digest,
        lambda folder: _fill(folder, scorecard, evidence, certificate),
    )
    faults.point("gate.after_verdict")


def _fill(folder: Path, scorecard: Scorecard, evidence: Evidence, certificate: Certificate) -> None:
    records: dict[str, Record] = {
        "verdict.json": evidence.verdict,
        "scorecard.json": scorecard,
        "certificate.json": certificate,
    }
    for name, record in records.items():
        (folder / name).write_bytes(canonical(record.model_dump(mode="json")))
    keep(folder, scorecard.took)
    (folder / "brief.md").write_text(brief(evidence, certificate), encoding="utf-8")
    (folder / "card.md").write_text(card(evidence), encoding="utf-8")
    (folder / "report.html").write_text(page(evidence), encoding="utf-8")
    sums.seal(folder)
