"""The loop's side of a gate in a process of its own (`rsi.gate.worker`): it asks, and never sees a held-out item."""

import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from rsi.context import Context
from rsi.errors import (
    BusyError,
    ContractError,
    IntegrityError,
    QuietError,
    RefusedError,
    RsiError,
    TransientError,
)
from rsi.gate.worker import Line, Request
from rsi.ids import Digest
from rsi.ports import Progress, silent
from rsi.questions import Watched
from rsi.settings import Home

_ERRORS: Mapping[str, type[RsiError]] = {
    kind.__name__: kind
    for kind in (ContractError, RefusedError, QuietError, IntegrityError, TransientError, BusyError)
}


@dataclass(frozen=True)
class Process:
    """Starts the gate's process for each request."""

    command: Sequence[str]
    """Such as ``sudo -u judge /srv/gate/worker``, or ``env RSI_CONTRACTS=… python -m rsi.gate.worker``."""

    def judge(self, context: Context, candidate: Digest) -> Digest:
        """Have a candidate judged; the verdict's digest.

        Raises:
            RsiError: what the gate raised, in its words.
            TransientError: its process could not be started, or ended without an answer.
        """
        home, start = str(context.home.root), context.start
        request = Request(ask="judge", home=home, start=start, candidate=candidate)
        return Digest(self._asked(request, context.world.progress))

    def watch(self, home: Home, night: str) -> Watched:
        """Have the version in service looked at; what came of it. Raises as `judge` does."""
        request = Request(ask="watch", home=str(home.root), night=night)
        return Watched.parse(self._asked(request, silent).encode())

    def fingerprints(self, home: Home) -> Path:
        """Have the home's copy of the suites' fingerprints brought up to date; where it lies."""
        return Path(self._asked(Request(ask="fingerprints", home=str(home.root)), silent))

    def _asked(self, request: Request, progress: Progress) -> str:
        try:
            process = subprocess.Popen(list(self.command), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as error:
            raise ContractError(f"RSI_GATE cannot be started: {error.strerror}: {self.command[0]}") from None
        with process:
            assert process.stdin is not None and process.stdout is not None
            with suppress(BrokenPipeError):
                process.stdin.write(request.model_dump_json().encode())
                process.stdin.close()
            for raw in process.stdout:
                line = _line(raw)
                if line.progress is not None:
                    progress(*line.progress)
                elif line.error is not None:
                    raise _error(*line.error)
                elif line.made is not None:
                    return line.made
        raise TransientError(
            f"the gate's process ended with code {process.returncode} and no answer; run the same command again"
        )


def _line(raw: bytes) -> Line:
    try:
        return Line.parse(raw)
    except ValidationError:
        raise TransientError(f"the gate's process said what is no answer: {raw[:200]!r}") from None


def _error(name: str, message: str) -> RsiError:
    kind = _ERRORS.get(name)
    return kind(message) if kind else TransientError(f"{name[:60]}: {message}")
