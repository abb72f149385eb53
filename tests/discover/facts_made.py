"""Facts of made-up traces."""

from collections.abc import Iterable

import orjson

from rsi.discover.facts import CallFact, ScoreFact, TraceFacts
from rsi.discover.modes import Before, mine
from rsi.records import Modes


def modes_of(traces: Iterable[TraceFacts], night: str, previous: Modes | None, champion: str) -> Modes:
    """The modes of some traces that all came in one batch."""
    return mine(traces, Before(night, champion, previous=previous)).modes


def facts(
    uid: str,
    *,
    version: str = "v1",
    route: str | None = None,
    error: str | None = None,
    expected: list[tuple[str, dict[str, object]]] | None = None,
    outcome: str = "unknown",
    decided_by: str | None = None,
    scores: tuple[ScoreFact, ...] = (),
    calls: tuple[CallFact, ...] = (),
    start_ns: int | None = None,
) -> TraceFacts:
    """A trace that says only what is given."""
    actions = [{"name": name, "arguments": arguments} for name, arguments in expected or ()]
    return TraceFacts(
        trace_uid=uid,
        version=version,
        route=route,
        start_ns=start_ns,
        error=error,
        expected=None if expected is None else orjson.dumps({"actions": actions}).decode(),
        outcome=outcome,
        decided_by=decided_by,
        scores=scores,
        calls=calls,
    )


def score(
    name: str,
    value: float | None = None,
    correction: str | None = None,
    source: str = "label",
    ts_ns: int | None = None,
    basis: str | None = None,
) -> ScoreFact:
    """A score."""
    return ScoreFact(name, value, correction, source, basis, ts_ns)


def call(name: str, error: str | None = None, **arguments: object) -> CallFact:
    """A call that worked, or that failed with a message."""
    return CallFact(name, orjson.dumps(arguments).decode(), "error" if error else "ok", error)


def routed(uid: str, expected: str, route: str | None, **more: object) -> TraceFacts:
    """A request whose right route is known."""
    outcome = "pass" if expected == route else "fail"
    said = (score("route", None, expected),)
    return facts(uid, route=route, outcome=outcome, decided_by="route", scores=said, **more)  # type: ignore[arg-type]
