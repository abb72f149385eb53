"""What the gateway writes down: one line a request and one a piece of feedback, into the spool.

The lines are the gateway's native format, read by `rsi.traces.formats.gateway`. A trace that cannot be
written (full disk) does not take the answer from the user: it is counted, and `Capture.problem` tells
``/health``. Feedback that cannot be written is refused, since nothing else came of the request.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

from rsi.errors import TransientError
from rsi.ports import Prompt
from rsi.records import Origin
from rsi.serve.route import Routed
from rsi.traces.spool import Spool

TRACE = "rsi.trace/1"
FEEDBACK = "rsi.feedback/1"
_EPOCH = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True)
class Answered:
    """The outcome of the answer hop."""

    content: str
    finish_reason: str
    """stop or length."""
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True)
class TraceLine:
    """One request, answered or failed."""

    trace_id: str
    version: str
    session: str | None
    start_ns: int
    end_ns: int
    messages: Prompt
    answer: Answered | None
    error: str | None
    route: Routed | None
    """Null where the caller named the model."""
    model: str
    """Adapter that answered, or `base`."""


@dataclass(frozen=True)
class FeedbackLine:
    """What somebody said of a trace."""

    feedback_id: str
    trace_id: str
    name: str
    score: float | None
    correction: str | None
    source: str
    comment: str | None
    ts_ns: int


def nanoseconds(moment: datetime) -> int:
    """Nanoseconds since 1970, UTC, exact to the microsecond."""
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1000


class Capture:
    """Writes lines with the gateway's namespace and origin; without a spool it writes nothing."""

    def __init__(self, spool: Spool | None, namespace: str, origin: Origin) -> None:
        self.spool, self._namespace, self._origin = spool, namespace, origin
        self.problem: str | None = None
        """Why the last trace was not written."""
        self.lost = 0
        """Traces that were not written."""

    def trace(self, line: TraceLine) -> None:
        """Write a trace, or count its loss."""
        if self.spool is None:
            return
        try:
            self.spool.append(self._trace(line))
        except TransientError as error:
            self.problem, self.lost = str(error), self.lost + 1
        else:
            self.problem = None

    def feedback(self, line: FeedbackLine) -> None:
        """Write a piece of feedback.

        Raises:
            TransientError: it could not be written.
        """
        if self.spool is not None:
            self.spool.append({"schema": FEEDBACK, "namespace": self._namespace, **asdict(line)})

    def _trace(self, line: TraceLine) -> Mapping[str, object]:
        answer, route = line.answer, line.route
        return {
            "schema": TRACE,
            "trace_id": line.trace_id,
            "namespace": self._namespace,
            "origin": self._origin.value,
            "version": line.version,
            "session": line.session,
            "start_ns": line.start_ns,
            "end_ns": line.end_ns,
            "messages": [{"role": message.role, "content": message.content} for message in line.messages],
            "answer": {"content": answer.content, "finish_reason": answer.finish_reason} if answer else None,
            "error": line.error,
            "route": asdict(route) if route else None,
            "model": line.model,
            "usage": {
                "prompt_tokens": answer.prompt_tokens if answer else 0,
                "completion_tokens": answer.completion_tokens if answer else 0,
            },
        }
