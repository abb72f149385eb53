"""The account of questions to held-out items: what each may spend, and when there is none left (invariant I7).

A question is a registration: contract, items, champion and candidate. It is a record in the ledger before the first
item is asked, once for every time it is begun, so that a crash cannot hide one. Begun again it is the same question,
at the same level; how often that may happen is bounded too. What questions share an account
`Registration.same_account` says: those to the same items, whatever contract puts them, and where items are fresh all to
one suite, whatever version it is in.
"""

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from rsi import faults
from rsi.errors import ContractError, RefusedError
from rsi.gate.contract import Contract
from rsi.gate.terms import Items
from rsi.ports import Clock
from rsi.questions import Allowance, Ask, Bounds, Certificate, Registration
from rsi.records import Judgement, LedgerRecord
from rsi.settings import Home
from rsi.store.ledger import Ledger
from rsi.store.locks import hold


class Account(Protocol):
    """Where questions are written down."""

    def settled(self, registration: Registration) -> str | None:
        """Digest of the verdict that answered the question; None while there is none."""

    def allow(self, contract: Contract, registration: Registration) -> Allowance:
        """What the question may spend; refuses where nothing is left."""

    def ask(self, contract: Contract, registration: Registration, allowance: Allowance) -> None:
        """Write down that it is begun."""

    def settle(self, certificate: Certificate) -> None:
        """Write down what it found."""


@dataclass(frozen=True)
class Books:
    """The account in a home's ledger."""

    home: Home
    clock: Clock
    night: str

    def settled(self, registration: Registration) -> str | None:
        """The newest verdict on the question."""
        found = Ledger(self.home.ledger, self.clock).last(
            lambda one: one.kind == "verdict" and one.body["registration"] == registration.digest
        )
        return found.input if found else None

    def allow(self, contract: Contract, registration: Registration) -> Allowance:
        """What the question may spend.

        Raises:
            RefusedError: the budget of the items is spent, or the question was begun too often.
            ContractError: items that must be fresh were asked before.
        """
        return allowance(Ledger(self.home.ledger, self.clock).records(), contract, registration)

    def ask(self, contract: Contract, registration: Registration, allowance: Allowance) -> None:
        """Append the question's record, with the bounds that hold for it."""
        budget = contract.budget
        bounds = (
            Bounds(
                questions=budget.questions, starts=budget.starts, accepts=budget.accepts, alpha=budget.alpha
            )
            if budget
            else None
        )
        said = Ask(registration=registration, allowance=allowance, bounds=bounds, seed=registration.seed)
        with self._lock():
            Ledger(self.home.ledger, self.clock).append(
                "ask", night=self.night, input=registration.digest, body=said.model_dump(mode="json")
            )
        faults.point("gate.after_ask")

    def settle(self, certificate: Certificate) -> None:
        """Append the certificate, once for each question and verdict."""
        with self._lock():
            ledger = Ledger(self.home.ledger, self.clock)
            known = ledger.last(lambda one: one.kind == "verdict" and one.output == certificate.digest)
            if known is None:
                ledger.append(
                    "verdict",
                    night=self.night,
                    input=certificate.verdict,
                    output=certificate.digest,
                    body=certificate.model_dump(mode="json"),
                )

    def _lock(self) -> AbstractContextManager[None]:
        return hold(
            self.home.store_lock,
            f"gate of night {self.night}",
            self.clock.now().isoformat(timespec="seconds"),
            wait_s=30,
        )


def allowance(records: Sequence[LedgerRecord], contract: Contract, registration: Registration) -> Allowance:
    """What a question may spend after all that the ledger tells of.

    Raises:
        RefusedError: the budget of the items is spent, or the question was begun too often.
        ContractError: items that must be fresh were asked before.
    """
    fresh = contract.budget is not None and contract.budget.items is Items.FRESH
    begun = [
        (one.seq, ask)
        for one in records
        if one.kind == "ask"
        and (ask := Ask.model_validate(one.body)).registration.same_account(registration, fresh=fresh)
    ]
    first = next((seq for seq, ask in begun if ask.registration == registration), len(records) + 1)
    earlier = {ask.registration.digest: ask for seq, ask in begun if seq < first}
    number = len(earlier) + 1
    level = contract.budget.level(number) if contract.budget else contract.target.alpha
    found = Allowance(
        question=number,
        start=sum(ask.registration == registration for _, ask in begun) + 1,
        alpha=min(level, contract.target.alpha),
        spent=sum(ask.allowance.alpha for ask in earlier.values()),
        accepts=_passes(records, earlier.keys(), first),
    )
    _check(contract, registration, found, list(earlier.values()))
    return found


def _passes(records: Sequence[LedgerRecord], questions: Collection[str], before: int) -> int:
    """Questions of these that had passed by then."""
    passed = {
        str(one.body["registration"])
        for one in records
        if one.kind == "verdict" and one.seq < before and one.body["judgement"] == Judgement.PASS.value
    }
    return len(passed & set(questions))


def _check(
    contract: Contract, registration: Registration, found: Allowance, earlier: Sequence[Ask]
) -> None:
    budget, suite = contract.budget, f"suite {contract.target.suite} (contract {contract.name})"
    if budget is None:
        if any(one.bounds for one in earlier):
            raise RefusedError(
                f"{suite} has no budget, but its items were asked under one; ask them under that contract"
            )
        return
    renew = "write a new version of the suite with new items, and of the contract"
    if found.question > budget.questions:
        raise RefusedError(
            f"the budget of {suite} is spent: {found.question - 1} of {budget.questions} questions were put; {renew}"
        )
    if budget.accepts is not None and found.accepts >= budget.accepts:
        raise RefusedError(
            f"the items of {suite} are retired: {found.accepts} candidates passed, {budget.accepts} may; {renew}"
        )
    if found.start > budget.starts:
        raise RefusedError(
            f"this question to {suite} was begun {found.start - 1} times, {budget.starts} are allowed; see why it "
            "breaks off, then make another candidate"
        )
    if found.spent + found.alpha > budget.alpha * (1 + 1e-9):
        raise RefusedError(
            f"the alpha of {suite} is spent: {found.spent:.3g} of {budget.alpha:g} by questions before, and this one "
            f"needs {found.alpha:.3g}; {renew}"
        )
    if budget.items is Items.FRESH and any(
        one.registration.items == registration.items for one in earlier
    ):
        raise ContractError(
            f"the items of {suite} were asked before, but the contract says they are fresh; let the suite draw new "
            'ones, or say items = "reused" with a number of accepts'
        )
