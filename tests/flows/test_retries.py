"""What is tried again, and how often a person who watches is told."""

import pytest
from prefect import flow

from flows import progress
from flows.progress import ArtifactProgress
from flows.server import Server
from flows.stages import retried
from rsi.errors import BusyError, ContractError, RsiError


@pytest.mark.flow
@pytest.mark.parametrize(
    ("error", "tries"),
    [(BusyError("the store lock is held by ingest"), 3), (ContractError("no contract"), 1)],
)
def test_only_what_may_pass_by_itself_is_tried_again(server: Server, error: RsiError, tries: int) -> None:
    """A held lock is; a wrong file fails at once, with its own error."""
    calls = []

    def fails_twice() -> str:
        calls.append(1)
        if len(calls) < 3:
            raise error
        return "done"

    @flow
    def night() -> str:
        return str(retried(fails_twice).with_options(retry_delay_seconds=0)())

    if tries == 3:
        assert night() == "done"
    else:
        with pytest.raises(type(error), match="no contract"):
            night()
    assert len(calls) == tries


def test_progress_is_told_at_the_start_at_the_end_and_seldom_between(monkeypatch: pytest.MonkeyPatch) -> None:
    """One artifact for each kind of work, under a name that Prefect takes; an update every few seconds."""
    told: list[tuple[str, float, str]] = []
    monkeypatch.setattr(
        progress,
        "create_progress_artifact",
        lambda progress, key, description: told.append((key, progress, description)),
    )
    monkeypatch.setattr(
        progress,
        "update_progress_artifact",
        lambda one, progress, description: told.append(("", progress, description)),
    )
    now = [0.0]
    tell = ArtifactProgress(every_s=5.0, clock=lambda: now[0])
    for step in range(1, 11):
        now[0] += 1.0
        tell("update", step, 10, "2 skipped")
    tell("gate routing/v1", 1, 2)
    assert told == [
        ("progress-update", 10.0, "update: 1 of 10 (2 skipped)"),
        ("", 60.0, "update: 6 of 10 (2 skipped), 4 s left"),
        ("", 100.0, "update: 10 of 10 (2 skipped)"),
        ("progress-gate-routing-v1", 50.0, "gate routing/v1: 1 of 2"),
    ]
