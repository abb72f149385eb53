"""The stage: load the contract and its suites, evaluate, judge, and keep the verdict with its evidence.

A verdict is a folder ``verdicts/<digest>/`` with ``verdict.json``, ``scorecard.json`` (answers to held-out
items: read by the gate alone), ``certificate.json`` (counts, cost and digests), ``took.json`` (time and tokens of both
versions), ``brief.md``, ``card.md`` and ``report.html`` (counts only), and ``sums.json``, which binds them. Made whole
or not at all; the same inputs give the same folder, but for the time that answers took.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic

from rsi import assets, faults
from rsi.errors import ContractError, IntegrityError
from rsi.gate import kept, lock, order
from rsi.gate.baseline import baseline
from rsi.gate.bench import unspoken
from rsi.gate.budget import Account, Unrecorded
from rsi.gate.certificate import certify, register
from rsi.gate.contract import Contract
from rsi.gate.difference import changed_role, changes
from rsi.gate.evaluate import evaluate
from rsi.gate.noise import measure
from rsi.gate.ready import nothing, ready
from rsi.gate.scorecard import Scorecard, summary
from rsi.gate.spent import spent
from rsi.gate.suites import Draw, Resolve, Suite, load
from rsi.gate.terms import Items
from rsi.gate.verdict import judge, whole
from rsi.harness.hcp import Harness
from rsi.ids import canonical
from rsi.ports import Dialogue, Engine, Progress, silent
from rsi.questions import Certificate
from rsi.records import BankManifest, Judgement, Modes, Record, Verdict, Version
from rsi.registry import approval
from rsi.report.brief import brief
from rsi.report.card import card
from rsi.report.evidence import Baseline, DevScore, Evidence, Example, MetricsRow
from rsi.report.page import page
from rsi.settings import Home, contracts_dir, gate_key
from rsi.store import sums
from rsi.store.files import publish_folder
from rsi.verifiers import VERIFIERS, Verifiers


@dataclass(frozen=True)
class Story:
    """What led to the candidate, told in card and report; nothing of it weighs in the verdict."""

    modes: Modes | None = None
    bank: BankManifest | None = None
    texts: tuple[str, ...] = ()
    """Requests of the bank, for the baseline."""
    roles: tuple[str, ...] = ()
    """The role that each of them was to be sent to."""
    metrics: tuple[MetricsRow, ...] = ()
    """Rows of the training job's metrics, in the order of their steps."""
    examples: tuple[Example, ...] = ()
    """Requests of the dev side that both versions answered."""
    dev: DevScore | None = None
    """What may be told of the answers to all of them."""


def gate(
    home: Home,
    contract_name: str,
    champion: Version,
    candidate: Version,
    engine: Engine,
    harness_of: Callable[[str], Harness],
    *,
    night: str,
    story: Story | None = None,
    anchor: Version | None = None,
    account: Account | None = None,
    progress: Progress = silent,
    dialogue: Callable[[], Dialogue] = unspoken,
    verifiers: Verifiers = VERIFIERS,
    contracts: Path | None = None,
    resolve: Resolve = assets.resolve,
    stopwatch: Callable[[], float] = monotonic,
) -> Verdict:
    """Test a candidate against the champion and publish the verdict.

    Args:
        harness_of: the harness with a digest.
        anchor: the version that the contract's `anchor` names; needed exactly when it names one.
        dialogue: how the base writes a conversation that grows; asked for by suites that are played.
        verifiers: the table, its judge bound to a model where a suite is judged by one.
        account: where questions are written down and what is left is known; by default nobody keeps one.
        contracts: the contracts folder, by default that of the settings.
        resolve: text of a public item, by default `rsi.assets.resolve`.
        stopwatch: seconds, for what answers take.

    Raises:
        ContractError: the contract or a suite cannot be read, the candidate is the champion or changes more than
            one role, or the engine lacks what a version needs.
        IntegrityError: a suite is not the one that the contract pins, or the contract not what was approved.
        RefusedError: the budget of the target's items is spent, or nobody approved the contract.
        TransientError: the engine answered nothing at all.
    """
    account, role = account or Unrecorded(), changed_role(champion, candidate)
    draw = Draw.of(gate_key(home), night, champion.digest, candidate.digest)
    contract, suites = _read(contract_name, contracts or contracts_dir(), resolve, anchor, draw)
    registration = register(contract, suites, champion, candidate, anchor)
    if contract.budget and (known := account.settled(registration)):
        return approval.verdict(home, known)
    allowance = account.allow(contract, registration)
    first = ready(contract, suites, allowance.alpha)
    asked = suites if not first or whole(first) is Judgement.PASS else nothing(suites)
    if asked is suites:
        account.ask(contract, registration, allowance)

    put = partial(
        evaluate,
        contract,
        champion=champion,
        engine=engine,
        harness_of=harness_of,
        progress=progress,
        dialogue=dialogue,
        verifiers=verifiers,
        stopwatch=stopwatch,
    )
    first_asked, again = (kept.place(home, registration.digest, purpose) for purpose in ("first", "again"))
    scorecard = order.ask(
        contract,
        asked,
        registration.seed,
        allowance.alpha,
        lambda some: put(some, candidate=candidate, anchor=anchor, kept=first_asked),
    )
    itself = measure(
        contract,
        asked,
        scorecard.of(contract.target.suite),
        registration.seed,
        lambda some: put(some, candidate=champion, anchor=champion if anchor else None, kept=again),
    )
    items = len(suites[contract.target.suite].items)
    verdict = judge(contract, scorecard, night, role, allowance.alpha, first, itself, items)
    certificate = certify(contract, registration, allowance, scorecard, verdict)
    before, after = harness_of(champion.harness), harness_of(candidate.harness)
    told = changes(champion, candidate, before, after)
    evidence = _evidence(contract, suites, scorecard, verdict, story or Story(), told, after)
    faults.point("gate.before_verdict")
    publish_folder(
        home.verdicts / verdict.digest, lambda folder: _fill(folder, scorecard, evidence, certificate)
    )
    faults.point("gate.after_verdict")
    account.settle(certificate)
    for path in (first_asked, again):
        path.unlink(missing_ok=True)
    return verdict


def _read(
    name: str, root: Path, resolve: Resolve, anchor: Version | None, draw: Draw
) -> tuple[Contract, dict[str, Suite]]:
    """A contract and its suites, which fit each other and the anchor."""
    contract = lock.approved(root, name)
    suites = {suite: load(suite, pin, root, resolve, draw=draw) for suite, pin in contract.pins.items()}
    _check_anchor(contract, anchor)
    order.check(contract, suites)
    _check_budget(contract, suites)
    return contract, suites


def _evidence(
    contract: Contract,
    suites: Mapping[str, Suite],
    scorecard: Scorecard,
    verdict: Verdict,
    story: Story,
    changes: tuple[str, ...],
    harness: Harness,
) -> Evidence:
    """What card, brief and report are written from; the harness is the candidate's."""
    return Evidence(
        verdict=verdict,
        tables=summary(scorecard, contract),
        changes=changes,
        baseline=_baseline(suites[contract.target.suite], story),
        modes=story.modes,
        bank=story.bank,
        metrics=story.metrics,
        labels={named: word for word, named in harness.labels.items()},
        examples=story.examples,
        dev=story.dev,
        spent=spent(scorecard),
    )


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


def _baseline(suite: Suite, story: Story) -> Baseline | None:
    if suite.about.hop != "route":
        return None
    texts: Sequence[str] = [item.messages[-1].content for item in suite.items]
    return baseline(story.texts, story.roles, texts, [item.expected for item in suite.items])


def _fill(folder: Path, scorecard: Scorecard, evidence: Evidence, certificate: Certificate) -> None:
    records: dict[str, Record] = {
        "verdict.json": evidence.verdict,
        "scorecard.json": scorecard,
        "certificate.json": certificate,
    }
    for name, record in records.items():
        (folder / name).write_bytes(canonical(record.model_dump(mode="json")))
    took = {name: dict(zip(("champion", "candidate"), arms, strict=True)) for name, arms in scorecard.took.items()}
    (folder / "took.json").write_bytes(
        canonical({name: {arm: one.model_dump() for arm, one in arms.items()} for name, arms in took.items()})
    )
    (folder / "brief.md").write_text(brief(evidence, certificate), encoding="utf-8")
    (folder / "card.md").write_text(card(evidence), encoding="utf-8")
    (folder / "report.html").write_text(page(evidence), encoding="utf-8")
    sums.seal(folder)
