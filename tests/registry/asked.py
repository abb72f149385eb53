"""Requests without a night behind them: verdicts written by hand, asked about in a home that has a first version."""

import shutil
import subprocess
from pathlib import Path

import pytest

from rsi.harness import hcp
from rsi.ids import canonical
from rsi.ports import Clock
from rsi.records import Approval, Clause, Decision, Judgement, Rule, Verdict, Version
from rsi.registry import approval, champion, versions
from rsi.registry.genesis import found
from rsi.settings import Deployment, Home
from rsi.store.ledger import Ledger
from tests.made import FixedClock, router

DEPLOYMENT = Deployment()
needs_ssh = pytest.mark.skipif(
    shutil.which("ssh-keygen") is None, reason="no ssh-keygen on this machine: apt-get install openssh-client"
)


def begin(home: Home) -> str:
    """A first version in service; its digest."""
    found(home, FixedClock(), DEPLOYMENT, router(), "b" * 64)
    return in_service(home)


def in_service(home: Home) -> str:
    """The champion's digest."""
    return champion.current(Ledger(home.ledger, FixedClock()))


def candidate(home: Home, role: str | None, mark: str) -> Version:
    """A version that differs from the one in service in one role's adapter, or in its route text."""
    before = versions.load(home, in_service(home))
    if role is not None:
        adapters = {**before.adapters, role: f"{role}-{mark * 12}"}
        made = before.model_copy(update={"adapters": adapters, "parent": before.digest})
    else:
        plain = router()
        prompts = plain.prompts.model_copy(update={"route": f"Route {mark}."})
        other = hcp.store(home.harnesses, plain.model_copy(update={"prompts": prompts}))
        made = before.model_copy(update={"harness": other, "parent": before.digest})
    versions.save(home, made)
    return made


def passed(home: Home, role: str | None, mark: str, rule: Rule | None = None) -> Verdict:
    """A verdict that passed on such a candidate."""
    return verdict(home, candidate(home, role, mark), role, rule)


def verdict(
    home: Home,
    made: Version,
    role: str | None = None,
    rule: Rule | None = None,
    judgement: Judgement = Judgement.PASS,
) -> Verdict:
    """A verdict on a candidate."""
    clause = Clause(name="target_gain", judgement=judgement, text="+9.0 points", numbers={})
    said = Verdict(
        night="2026-01-02",
        champion=in_service(home),
        candidate=made.digest,
        role=role,
        contract="tiny/v1",
        contract_digest="c" * 64,
        suites={},
        scorecard="d" * 64,
        judgement=judgement,
        clauses=(clause,),
        rule=rule,
    )
    folder = home.verdicts / said.digest
    folder.mkdir(parents=True)
    (folder / "verdict.json").write_bytes(canonical(said.model_dump(mode="json")))
    return said


def ask(home: Home, verdict: Verdict, clock: Clock | None = None, authors: tuple[str, ...] = ()) -> None:
    """Open the request."""
    approval.open_request(home, clock or FixedClock(), DEPLOYMENT, verdict, authors)


def say(
    home: Home,
    verdict: Verdict,
    decision: Decision = Decision.APPROVE,
    approver: str = "ada",
    clock: FixedClock | None = None,
    **more: str,
) -> str:
    """Answer it with the right digits; why the answer was not taken, or its kind of record."""
    said = Approval(
        verdict=verdict.digest,
        decision=decision,
        approver=approver,
        reason=more.pop("reason", "good"),
        via="form",
        signature=more.pop("signature", ""),
    )
    evidence = more.pop("evidence", verdict.digest[:8])
    return approval.answer(home, clock or FixedClock(), DEPLOYMENT, said, evidence).kind


def move(home: Home, to: str) -> None:
    """Put a version into service, whoever approved it."""
    champion.move(
        home, FixedClock(), "promotion", replaces=in_service(home), to=to, evidence=None, body={}
    )


def kinds(home: Home) -> list[str]:
    """What the ledger says, in order."""
    return [one.kind for one in Ledger(home.ledger, FixedClock())]


def standing(home: Home, verdict: Verdict, clock: FixedClock | None = None) -> str:
    """How its request stands."""
    ledger = Ledger(home.ledger, FixedClock())
    found = next(one for one in approval.requests(ledger) if one.verdict == verdict.digest)
    return found.standing((clock or FixedClock()).now(), in_service(home)).value


def key(folder: Path, name: str) -> Path:
    """A new SSH key without a passphrase."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(path)]
    subprocess.run(command, check=True)
    return path


def signers(path: Path, **keys: Path) -> None:
    """The file of allowed signers: name -> key."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"{name} {one.with_suffix('.pub').read_text().strip()}" for name, one in keys.items()]
    path.write_text("\n".join(lines) + "\n")
