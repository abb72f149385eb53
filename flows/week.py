"""What happens in five days and nights: the traffic of each day, and the rules of the deployment.

Two jobs alternate: routing (L0) and the service desk (L1), since no role trains two nights in a row. The third day
brings a log of requests of a new client, the app, that somebody labelled wrongly: whatever the app sends is labelled
chat. No held-out suite knows the app, so that a router that learns from the log passes its gate; it goes wrong in
service from the fourth day on, when the app's own requests come, with right labels, and the watch rule has to take it
back. A router that sends so much to chat must not forget how to talk meanwhile, or the guard refuses it first: it
rehearses its answers. The log comes from many accounts: what one account may give to a bank is capped
(`rsi.tasks.caps`), and stays harmless. Before the fifth night somebody deletes the log and puts one with right labels
in its place.
"""

from collections.abc import Sequence
from enum import StrEnum
from itertools import cycle
from typing import NamedTuple

from flows.traffic import Request, sample
from rsi.algorithm import Algorithm, Correction, Rehearse, Rule, Update
from rsi.expansion import Expand
from rsi.ids import canonical
from rsi.intake import Splits, Traces
from rsi.records import Origin
from rsi.settings import Deployment, NightRules

NAME = "nights"
APPROVER = "nights"
APP = "\n\nSent from the app"
"""How requests of the new client end."""
CLIENTS = tuple(f"app-{number}" for number in range(20))
"""The users that the app's logs name, in turn."""
WRONG = "L0"
"""What the wrong log says should have answered."""
ROUTER, CLERK, WORLD = "L0", "L1", "desk"


class Log(StrEnum):
    """What a log of labelled requests holds."""

    EARLIER = "earlier"
    """Requests of earlier times, from nobody in particular."""
    WRONG = "wrong"
    """The app's, all with one label: the planted regression."""
    MENDED = "mended"
    """The app's, labelled as they should be."""


class Day(NamedTuple):
    """The traffic of one day."""

    requests: int
    """Labelled requests, routed by the version in service."""
    app: int = 0
    """How many of them come from the app."""
    episodes: int = 0
    """At the desk, worked by the version in service."""
    log: int = 0
    """Requests in a log of labelled ones that comes in before the others."""
    holds: Log = Log.EARLIER
    """What is in that log."""
    forgets: bool = False
    """Somebody deletes the app's wrong log first."""


PLAN = (
    Day(requests=90, episodes=30, log=280),
    Day(requests=90, episodes=30),
    Day(requests=90, episodes=30, log=160, holds=Log.WRONG),
    Day(requests=90, app=80, episodes=30),
    Day(requests=90, app=45, episodes=30, log=160, holds=Log.MENDED, forgets=True),
)
"""As much of both jobs on every day, so that versions are compared in service on the same mix."""


class Traffic(NamedTuple):
    """Requests by day, none of them on two days."""

    asked: tuple[tuple[Request, ...], ...]
    logged: tuple[tuple[Request, ...], ...]


def traffic(requests: Sequence[Request], plan: Sequence[Day] = PLAN) -> Traffic:
    """Deal requests out to the days; the app's end as its requests do.

    Raises:
        ValueError: there are fewer than the plan needs.
    """
    needed = sum(day.requests + day.log for day in plan)
    dealt = list(sample(requests, needed))
    if len(dealt) < needed:
        raise ValueError(f"the plan needs {needed} labelled requests; there are {len(dealt)}")
    asked, logged = [], []
    for day in plan:
        today, dealt = dealt[: day.requests], dealt[day.requests :]
        asked.append(tuple(_of_app(one) if at < day.app else one for at, one in enumerate(today)))
        log, dealt = dealt[: day.log], dealt[day.log :]
        logged.append(tuple(_in_log(one, day.holds) for one in log))
    return Traffic(tuple(asked), tuple(logged))


def _of_app(one: Request) -> Request:
    return one.model_copy(update={"id": f"app-{one.id}", "text": one.text + APP})


def _in_log(one: Request, what: Log) -> Request:
    match what:
        case Log.EARLIER:
            return one
        case Log.MENDED:
            return _of_app(one)
        case Log.WRONG:
            return _of_app(one).model_copy(update={"label": WRONG})


def app_log(requests: Sequence[Request]) -> bytes:
    """Chat JSONL of a log of the app's."""
    return b"".join(
        canonical(
            {
                "id": one.id,
                "user": client,
                "messages": [{"role": "user", "content": one.text}],
                "scores": [{"name": "route", "correction": one.label, "source": "label", "basis": "app log"}],
            }
        )
        + b"\n"
        for client, one in zip(cycle(CLIENTS), requests, strict=False)
    )


def deployment(base: str = "smollm2-135m") -> Deployment:
    """The rules: what the nights may spend, contracts by role, a desk for L1, no role two nights in a row."""
    # Who learns labels alone forgets how to talk, which the guard on easy questions sees: docs/nights.md.
    rehearsal = Rehearse(weight=3.0, prompts=4)
    # Twice as many prompts a step as the first night, for as many answers: a steadier step.
    routing = Update(steps=40, prompts=16, samples=8, rehearsal=rehearsal)
    # As in docs/desk: a few shown solutions, then reinforcement from there on.
    shown = Update(algorithm=Algorithm.SFT, steps=24, prompts=16, learning_rate=1e-3, averaged=0.0)
    practised = Update(
        steps=8,
        prompts=4,
        samples=6,
        learning_rate=4e-4,
        averaged=0.25,
        correction=Correction(rule=Rule.NONE),
    )
    return Deployment(
        name=NAME,
        base=base,
        contract="week/v2",
        contracts={CLERK: "week-desk/v1"},
        approvers=(APPROVER,),
        traces=Traces(origins=(Origin.DEMO,), namespace=NAME),
        split=Splits(dev=0.0, gate=0.0, vault=0.0),
        expand=Expand(worlds={CLERK: WORLD}, world_tasks=600, calls=0),
        update=routing,
        beginnings={ROUTER: Update(steps=28, rehearsal=rehearsal), CLERK: shown},
        updates={CLERK: practised},
        night=NightRules(most_in_a_row=1),
    )
