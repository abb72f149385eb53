"""Progress of a stage as an artifact of its run, written every few seconds at most."""

import re
import time
from collections.abc import Callable
from typing import NamedTuple
from uuid import UUID

import httpx
from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.exceptions import PrefectException

from rsi.report.progress import Pace, told

EVERY_S = 5.0
"""Least time between two updates."""


class _Told(NamedTuple):
    artifact: UUID
    at: float


class ArtifactProgress:
    """A `rsi.ports.Progress` for the Prefect UI: one progress artifact for each kind of work.

    A server that is away for a moment costs an update, never the work.
    """

    def __init__(self, every_s: float = EVERY_S, clock: Callable[[], float] = time.monotonic) -> None:
        self._every_s, self._clock = every_s, clock
        self._pace = Pace(clock)
        self._told: dict[str, _Told] = {}

    def __call__(self, what: str, done: int, total: int, note: str = "") -> None:
        """Create or update the artifact of `what`, unless that was done a moment ago."""
        before, now = self._told.get(what), self._clock()
        left = self._pace.left(what, done, total)
        if before is not None and done < total and now - before.at < self._every_s:
            return
        share = 100.0 * done / max(total, 1)
        text = told(what, done, total, note, left)
        try:
            if before is None:
                key = re.sub(r"[^a-z0-9]+", "-", f"progress {what}".lower()).strip("-")
                artifact = create_progress_artifact(progress=share, key=key, description=text)
            else:
                artifact = before.artifact
                update_progress_artifact(artifact, progress=share, description=text)
        except (httpx.HTTPError, PrefectException):
            return
        self._told[what] = _Told(artifact, now)
