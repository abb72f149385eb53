"""Answers and notices over real HTTP: eight people at once, and a web hook that hears of what waits and what failed."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, Queue

import httpx
import orjson
import pytest

from rsi.ports import SystemClock
from rsi.records import Approval, Decision
from rsi.registry.waiting import ask
from rsi.store.ledger import Ledger
from tests.flows.flow_made import APPROVER
from tests.flows.place import READY_S, Place, placed

pytestmark = pytest.mark.flow

EIGHT = range(8)


class Hook(BaseHTTPRequestHandler):
    """Keeps what is posted."""

    heard: Queue[dict[str, str]] = Queue()

    def do_POST(self) -> None:
        """Take it, and say so."""
        self.heard.put(orjson.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *_: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def hook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A web hook on this machine; the file that names it."""
    listener = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    path = tmp_path_factory.mktemp("hook") / "address"
    path.write_text(f"http://127.0.0.1:{listener.server_port}/rsi?token=secret\n")
    yield path
    listener.shutdown()
    listener.server_close()


@pytest.fixture(scope="module")
def place(tiny_base: Path, hook: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Its runner was told of the hook."""
    with placed(tmp_path_factory.mktemp("place"), tiny_base) as found:
        found.serve("--notify", str(hook))
        yield found


@pytest.fixture(scope="module")
def run(place: Place) -> str:
    """The run that waits."""
    return place.ask()


def answer(place: Place, run: str, at: int, whole: threading.Barrier) -> dict[str, object]:
    """One of eight, half of whom say no; asked again while the server is busy, as a person would."""
    said = {
        "decision": "approve" if at % 2 else "reject",
        "approver": APPROVER,
        "reason": f"said by {at}",
        "evidence": place.verdict.digest[:8],
    }
    whole.wait()
    reply = ask(place.server.api_url, "POST", f"/flow_runs/{run}/resume", {"run_input": said}, patience=60)
    return dict(reply.raise_for_status().json())


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_web_hook_hears_of_a_run_that_waits_and_of_one_that_failed(place: Place, run: str) -> None:
    """Each once, by name and state, with the address of its page; what the run says is not in it."""
    broken = place.start("promote", {"home": "/dev/null/secret", "verdict": place.verdict.digest}, "broken")
    place.until(broken, "Failed")
    heard = [Hook.heard.get(timeout=READY_S) for _ in range(2)]

    assert {one["subject"] for one in heard} == {"rsi tiny"}
    told = {one["text"].split("\n")[0].rpartition(": ")[2]: one["text"] for one in heard}
    assert set(told) == {"Suspended", "Failed"}
    assert told["Suspended"].startswith(f"promote-{place.verdict.digest[:8]}: Suspended\n")
    assert told["Suspended"].endswith(f"/flow-run/{run}")
    assert told["Failed"].endswith(f"/flow-run/{broken}")
    assert "secret" not in told["Failed"]
    with pytest.raises(Empty):
        Hook.heard.get(timeout=3)
    kept = httpx.post(f"{place.server.api_url}/block_documents/filter", json={}, timeout=60).text
    assert "rsi-tiny" in kept and "token=secret" not in kept


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_run_that_died_asks_again_with_the_next_night(place: Place, run: str) -> None:
    """Crashed, as the server calls a run that went silent: the hook hears of it, a quiet night has it ask again."""
    state = {"state": {"type": "CRASHED", "message": "no heartbeat"}, "force": True}
    ask(place.server.api_url, "POST", f"/flow_runs/{run}/set_state", state, patience=30).raise_for_status()
    while ": Crashed\n" not in Hook.heard.get(timeout=READY_S)["text"]:
        pass
    night = place.start("nightly", {"home": str(place.home.root)}, "quiet")

    place.until(night, "Quiet")
    place.watch.until(lambda: place.watch.run(run).state.name == "Suspended" or None, READY_S)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_16_of_eight_answers_at_once_over_http_one_decides(place: Place, run: str) -> None:
    """Threads, each with its own connection: one is accepted, the others are told, the ledger has what was accepted."""
    whole = threading.Barrier(len(EIGHT))
    with ThreadPoolExecutor(len(EIGHT)) as people:
        replies = list(people.map(lambda at: answer(place, run, at, whole), EIGHT))
    taken = [at for at, one in zip(EIGHT, replies, strict=True) if one["status"] == "ACCEPT"]
    assert len(taken) == 1, replies
    assert all("not paused" in str(one["details"]) for at, one in enumerate(replies) if at not in taken), replies
    place.until(run, "Promoted" if taken[0] % 2 else "Rejected")

    records = Ledger(place.home.ledger, SystemClock())
    (said,) = (Approval.model_validate(one.body) for one in records if one.kind == "approval")
    assert said.reason == f"said by {taken[0]}"
    approved = said.decision is Decision.APPROVE
    assert place.champion == (place.verdict.candidate if approved else place.verdict.champion)
    assert place.records().count("promotion") == approved
    assert place.verify()
