"""Flow runs of a Prefect server as a person follows them, over its HTTP API."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import httpx
from pydantic import BaseModel, ConfigDict, TypeAdapter

from rsi.errors import TransientError
from rsi.ports import Progress
from rsi.registry.waiting import ask
from rsi.report.progress import heard

EVERY_S = 2.0
PATIENCE = 15
"""Failed questions in a row after which the server counts as gone."""
TERMINAL = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")


Found = TypeVar("Found")


class _Read(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class State(_Read):
    """State of a run."""

    type: str
    name: str
    message: str | None = None


class Run(_Read):
    """One flow run."""

    id: str
    name: str
    state: State
    total_run_time: float = 0.0
    """Seconds."""

    @property
    def over(self) -> bool:
        """Whether it has come to an end."""
        return self.state.type in TERMINAL


class _Artifact(_Read):
    description: str | None = None


_RUNS: TypeAdapter[list[Run]] = TypeAdapter(list[Run])
_ARTIFACTS: TypeAdapter[list[_Artifact]] = TypeAdapter(list[_Artifact])


@dataclass(frozen=True)
class Watch:
    """Questions to one server."""

    api_url: str
    check: Callable[[], None]
    """Raises when what should run has died."""

    def run(self, name: str) -> Run:
        """A run by its id."""
        return self._runs({"id": {"any_": [name]}})[0]

    def children(self, parent: str) -> list[Run]:
        """Its subflows, in the order of their start."""
        return self._runs({"parent_flow_run_id": {"any_": [parent]}})

    def keyed(self, key: str) -> Run | None:
        """The newest run with an idempotency key."""
        found = self._runs({"idempotency_key": {"any_": [key]}})
        return found[-1] if found else None

    def served(self, deployment: str) -> bool:
        """Whether a deployment (``nightly/demo``) is known."""
        return self._ask("GET", f"/deployments/name/{deployment}", None).status_code == 200

    def until(self, what: Callable[[], Found | None], seconds: float) -> Found:
        """Wait for something to be there.

        Raises:
            TransientError: it did not come in time.
        """
        deadline = time.monotonic() + seconds
        while (found := what()) is None:
            if time.monotonic() > deadline:
                raise TransientError(
                    f"Prefect did not do in {seconds:.0f} s what was expected; see {self.api_url}"
                )
            time.sleep(EVERY_S / 2)
        return found

    def follow(self, name: str, tell: Callable[[str], None], progress: Progress) -> tuple[Run, list[Run]]:
        """Follow a run to its end, telling what its subflows do; the run and its subflows."""
        told: dict[str, str] = {}
        while True:
            run, children = self.run(name), self.children(name)
            for child in children:
                if told.get(child.id) != child.state.name:
                    told[child.id] = child.state.name
                    _tell(child, tell)
            if run.over:
                return run, children
            self._progress([child.id for child in children if not child.over], progress)
            time.sleep(EVERY_S)

    def _progress(self, runs: Sequence[str], progress: Progress) -> None:
        wanted = {"flow_run_id": {"any_": list(runs)}, "type": {"any_": ["progress"]}}
        reply = self._ask(
            "POST", "/artifacts/filter", {"artifacts": wanted, "sort": "UPDATED_DESC", "limit": 1}
        )
        for artifact in _ARTIFACTS.validate_json(reply.content):
            said = heard(artifact.description or "")
            if said is not None:
                progress(*said)

    def _runs(self, wanted: dict[str, object]) -> list[Run]:
        reply = self._ask("POST", "/flow_runs/filter", {"flow_runs": wanted, "sort": "START_TIME_ASC"})
        return _RUNS.validate_json(reply.content)

    def _ask(self, method: str, path: str, body: object) -> httpx.Response:
        return ask(self.api_url, method, path, body, PATIENCE, self.check)


def _tell(run: Run, tell: Callable[[str], None]) -> None:
    if run.state.type == "RUNNING":
        tell(f"  {run.name} runs")
    elif run.over:
        message = f": {run.state.message}" if run.state.message and run.state.name != "Completed" else ""
        tell(f"  {run.name} {run.state.name.lower()} after {run.total_run_time:.0f} s{message}")
