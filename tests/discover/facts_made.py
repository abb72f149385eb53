"""Facts of made-up traces."""

from collections.abc import Iterable, Sequence

import orjson

from rsi.discover.facts import CallFact, ScoreFact, TraceFacts, TurnFact
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
    outputs: Sequence[str] = (),
    outcome: str = "unknown",
    decided_by: str | None = None,
    scores: tuple[ScoreFact, ...] = (),
    calls: tuple[CallFact, ...] = (),
    start_ns: int | None = None,
    **more: object,
) -> TraceFacts:
    """A trace that says only what is given."""
    actions = [{"name": name, "arguments": arguments} for name, arguments in expected or ()]
    said = {"actions": actions, "outputs": list(outputs)}
    return TraceFacts(
        trace_uid=uid,
        version=version,
        route=route,
        start_ns=start_ns,
        error=error,
        expected=None if expected is None else orjson.dumps(said).decode(),
        outcome=outcome,
        decided_by=decided_by,
        scores=scores,
        calls=calls,
        **more,  # type: ignore[arg-type]
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
    text = orjson.dumps(arguments).decode()
    return CallFact(name, text, "error" if error else "ok", error, answer=len(name))


def routed(uid: str, expected: str, route: str | None, **more: object) -> TraceFacts:
    """A request whose right route is known."""
    outcome = "pass" if expected == route else "fail"
    said = (score("route", None, expected),)
    return facts(uid, route=route, outcome=outcome, decided_by="route", scores=said, **more)  # type: ignore[arg-type]


Said = tuple[str, str | CallFact]
"""(role, text, or the call that the agent asks for)."""


def run(uid: str, *said: Said, task: str | None = "task", passed: bool = False, **more: object) -> TraceFacts:
    """A run told message by message; message 0 is the system prompt, and each call is followed by its result."""
    turns, calls = [TurnFact("system", (0, 0), "be good", f"{uid}-0")], list[CallFact]()
    for role, what in said:
        at = (0, len(turns))
        if isinstance(what, str):
            turns.append(TurnFact(role, at, what, f"{uid}-{at[1]}"))
            continue
        turns.append(TurnFact("assistant", at, None, f"{uid}-{at[1]}"))
        calls.append(
            CallFact(
                what.name,
                what.arguments,
                what.status,
                what.error,
                f"{uid}-call-{at[1]}",
                at,
                answer=what.answer,
            )
        )
        turns.append(TurnFact("tool", (0, at[1] + 1), what.error or "done", f"{uid}-{at[1] + 1}"))
    value = 1.0 if passed else 0.0
    return facts(
        uid,
        task=task,
        outcome="pass" if passed else "fail",
        decided_by="reward",
        scores=(score("reward", value, source="env"),),
        calls=tuple(calls),
        turns=() if passed else tuple(turns),
        messages=len(turns),
        last_role=turns[-1].role,
        **more,  # type: ignore[arg-type]
    )
