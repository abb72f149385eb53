"""The promote flow on a real server: suspended, answered by form and by command, bypassed."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from flows.server import Server
from flows.watch import Run, Watch
from rsi.ports import SystemClock
from rsi.records import Approval, Decision, Verdict
from rsi.registry import approval, champion, versions
from rsi.registry.waiting import ask
from rsi.settings import Deployment, Home
from rsi.store.ledger import Ledger
from tests.flows.flow_made import APPROVER, made_contracts, with_request

pytestmark = pytest.mark.flow

CASES = ("form", "reject", "bypass", "command")


@dataclass(frozen=True)
class Case:
    """One home with its waiting run."""

    home: Home
    verdict: Verdict
    run: str

    @property
    def champion(self) -> str:
        """The version in service."""
        return champion.current(Ledger(self.home.ledger, SystemClock()))

    def kinds(self, kind: str) -> int:
        """How many ledger records of a kind there are."""
        return sum(one.kind == kind for one in Ledger(self.home.ledger, SystemClock()))


@pytest.fixture(scope="module")
def cases(
    served: str, watch: Watch, tiny_base: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Case]:
    """A suspended run for each case; all are started at once, since most of the time goes into waiting."""
    from prefect.deployments import run_deployment

    contracts = made_contracts(tmp_path_factory.mktemp("contracts"))
    found = {}
    for at, name in enumerate(CASES, 1):
        place = tmp_path_factory.mktemp(name) / "home"
        home, verdict = with_request(place, tiny_base, contracts, f"2026-02-0{at}")
        run = run_deployment(
            f"promote/{served}",
            parameters={"home": str(home.root), "verdict": verdict.digest},
            idempotency_key=f"promote:{verdict.digest}",
            as_subflow=False,
            timeout=0,
        )
        found[name] = Case(home, verdict, str(run.id))
    for case in found.values():
        _until(watch, case.run, lambda run: run.state.name == "Suspended")
    return found


def _until(watch: Watch, name: str, holds: Callable[[Run], bool]) -> Run:
    def asked() -> Run | None:
        run = watch.run(name)
        return run if holds(run) or run.over else None

    found = watch.until(asked, 120)
    assert holds(found), (found.state.name, found.state.message)
    return found


def _resume(server: Server, case: Case, **said: str) -> dict[str, object]:
    answer = {
        "decision": "approve",
        "approver": APPROVER,
        "reason": "the numbers are good",
        "evidence": case.verdict.digest[:8],
        **said,
    }
    reply = ask(server.api_url, "POST", f"/flow_runs/{case.run}/resume", {"run_input": answer})
    return dict(reply.raise_for_status().json())


def test_a_form_with_wrong_evidence_asks_again_and_the_right_one_promotes(
    cases: dict[str, Case], server: Server, watch: Watch
) -> None:
    """The refusal is one ledger record, and stands above the next form; the candidate is then in service."""
    case = cases["form"]
    assert _resume(server, case, evidence="00000000")["status"] == "ACCEPT"
    key = "suspended-answer-2-description"
    address = f"/flow_runs/{case.run}/input/{key}"
    watch.until(lambda: ask(server.api_url, "GET", address).status_code == 200 or None, 120)
    assert "The last answer was not taken" in ask(server.api_url, "GET", address).text
    assert case.champion == case.verdict.champion
    assert _resume(server, case)["status"] == "ACCEPT"
    ended = _until(watch, case.run, lambda run: run.state.name == "Promoted")
    assert ended.state.type == "COMPLETED"
    assert case.champion == case.verdict.candidate
    assert (case.kinds("refusal"), case.kinds("approval"), case.kinds("promotion")) == (1, 1, 1)


def test_a_form_that_says_no_ends_the_run_and_leaves_the_champion(
    cases: dict[str, Case], server: Server, watch: Watch
) -> None:
    """Rejected, with who and why."""
    case = cases["reject"]
    _resume(server, case, decision="reject", reason="too slow")
    ended = _until(watch, case.run, lambda run: run.state.name == "Rejected")
    assert "too slow" in str(ended.state.message)
    assert (case.champion, case.kinds("promotion")) == (case.verdict.champion, 0)


def test_the_server_refuses_an_answer_that_is_not_whole(
    cases: dict[str, Case], server: Server, watch: Watch
) -> None:
    """A missing or unknown field, or a third decision, leaves the run suspended."""
    case = cases["command"]
    address = f"{server.api_url}/flow_runs/{case.run}/resume"
    for said in ({}, {"decision": "approve"}):
        assert httpx.post(address, json={"run_input": said}, timeout=60).json()["status"] == "REJECT"
    assert _resume(server, case, decision="maybe")["status"] == "REJECT"
    assert _resume(server, case, via="command")["status"] == "REJECT"
    assert watch.run(case.run).state.name == "Suspended"


def test_17_a_run_pushed_past_its_form_fails(cases: dict[str, Case], server: Server, watch: Watch) -> None:
    """A state set by hand is no answer: nobody decided, nothing is promoted."""
    case = cases["bypass"]
    body = {"state": {"type": "SCHEDULED", "name": "Scheduled"}, "force": True}
    httpx.post(f"{server.api_url}/flow_runs/{case.run}/set_state", json=body, timeout=60).raise_for_status()
    _until(watch, case.run, lambda run: run.state.type == "FAILED")
    assert (case.champion, case.kinds("approval"), case.kinds("promotion")) == (case.verdict.champion, 0, 0)


def test_the_command_answers_and_wakes_the_run(cases: dict[str, Case], server: Server, watch: Watch) -> None:
    """`rsi approve` writes the approval; the suspended run goes on with it and promotes."""
    case = cases["command"]
    command = [sys.executable, "-m", "rsi.cli", "approve", "--approver", APPROVER, "--reason", "good numbers"]
    command += ["--evidence", case.verdict.digest[:8]]
    environment = {**os.environ, "RSI_HOME": str(case.home.root), "PREFECT_API_URL": server.api_url}
    said = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert said.returncode == 0, said.stderr
    assert "goes on" in said.stdout
    _until(watch, case.run, lambda run: run.state.name == "Promoted")
    assert case.champion == case.verdict.candidate
    approvals = [one for one in Ledger(case.home.ledger, SystemClock()) if one.kind == "approval"]
    assert [one.body["via"] for one in approvals] == ["command"]


def test_15_what_was_decided_already_is_promoted_without_asking_and_once(
    server: Server, tiny_base: Path, tmp_path: Path
) -> None:
    """A run that crashed after the approval, and one that is repeated after the promotion, ask nobody again."""
    from flows.promote import promote

    home, verdict = with_request(tmp_path / "home", tiny_base, made_contracts(tmp_path / "contracts"))
    clock, deployment = SystemClock(), Deployment.read(home.deployment_file)
    said = Approval(
        verdict=verdict.digest, decision=Decision.APPROVE, approver=APPROVER, reason="good", via="command"
    )
    approval.answer(home, clock, deployment, said, verdict.digest[:8])
    states = [promote(str(home.root), verdict.digest, return_state=True) for _ in range(2)]
    assert [state.name for state in states] == ["Promoted", "Promoted"]
    case = Case(home, verdict, "")
    assert (case.champion, case.kinds("promotion")) == (verdict.candidate, 1)


def test_a_stale_request_is_refused_with_the_reason(server: Server, tiny_base: Path, tmp_path: Path) -> None:
    """Another version is in service by now: nobody is asked, the run completes as Refused."""
    from flows.promote import promote

    home, verdict = with_request(tmp_path / "home", tiny_base, made_contracts(tmp_path / "contracts"))
    clock = SystemClock()
    before = versions.load(home, verdict.champion)
    other = versions.save(home, before.model_copy(update={"parent": verdict.champion}))
    champion.move(home, clock, "promotion", replaces=verdict.champion, to=other, evidence=None, body={})
    state = promote(str(home.root), verdict.digest, return_state=True)
    assert (state.type.value, state.name) == ("COMPLETED", "Refused")
    assert "stale evidence" in str(state.message)
    unknown = promote(str(home.root), "f" * 64, return_state=True)
    assert (unknown.name, "nobody asked" in str(unknown.message)) == ("Refused", True)
