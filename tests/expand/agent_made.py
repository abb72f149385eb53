"""A made-up agent whose one tool gets one argument wrong, and the home in which its traces are expanded."""

import random
from pathlib import Path

import orjson

from rsi.context import Context, Start, World
from rsi.discover.kept import store_modes
from rsi.discover.modes import Before, discover
from rsi.engine.local import LocalEngine
from rsi.errors import ContractError
from rsi.ids import canonical
from rsi.ports import Clock, Engine, silent
from rsi.records import Modes
from rsi.registry.genesis import found
from rsi.settings import Deployment, Home
from rsi.store.database import last_ordinal, store_batch
from rsi.store.files import write_whole
from rsi.traces.ingest import ingest
from tests.made import FixedClock, base_digest, router

CITIES = ("Oslo", "Lisbon", "Quito", "Kyoto", "Nairobi", "Tallinn", "Bogota", "Hanoi")
TOOL = "book_room"
SETTINGS = {
    "name": "agents",
    "contract": "tiny/v1",
    "traces": {"origins": ["traffic"], "namespace": "agents"},
    "split": {"dev": 0.0, "gate": 0.0, "vault": 0.0},
    "expand": {"calls": 0, "attempts": 200},
    "night": {"min_failures": 2},
}


def run(number: int, wrong: bool, rng: random.Random) -> dict[str, object]:
    """One run: a request, the call it should have led to, and the one that was made."""
    city, nights = rng.choice(CITIES), rng.randint(2, 9)
    right = {"city": city, "nights": nights}
    made = {**right, "nights": nights + 1} if wrong else right
    text = f"Request {number}: please book a room in {city} for {nights} nights, my colleague recommended the place."
    return {
        "traj": [
            {"role": "system", "content": "You book rooms."},
            {"role": "user", "content": text},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": f"c{number}", "function": {"name": TOOL, "arguments": orjson.dumps(made).decode()}}
                ],
            },
            {"role": "tool", "tool_call_id": f"c{number}", "name": TOOL, "content": "booked"},
            {"role": "assistant", "content": "Done."},
        ],
        "reward": 0.0 if wrong else 1.0,
        "task_id": number,
        "trial": 0,
        "info": {"task": {"actions": [{"name": TOOL, "kwargs": right}], "outputs": []}},
    }  # fmt: skip


def traces(count: int, share: float, seed: int = 1) -> bytes:
    """Runs of which a share goes wrong."""
    rng = random.Random(seed)
    return orjson.dumps([run(number, rng.random() < share, rng) for number in range(count)])


def no_engine() -> Engine:
    """For work that must not ask a model."""
    raise ContractError("this work asks no model")


def world(base: Path | None = None, clock: Clock | None = None) -> World:
    """The world with the tiny base, or with no model at all."""
    from rsi.context import Base

    if base is None:
        return World(clock or FixedClock(), silent, lambda: Base(Path(), "b" * 64), no_engine)
    named = Base(base, base_digest(base))
    engine = LocalEngine(base, named.digest, threads=1)
    return World(clock or FixedClock(), silent, lambda: named, lambda: engine)


def context(
    home: Home, deployment: Deployment, around: World, night: str = "2026-01-02"
) -> tuple[Context, Modes]:
    """A night of a home whose inbox was ingested, with the modes that its traces show."""
    version = found(home, around.clock, deployment, router(), around.base().digest).output
    ingest(home, around.clock, [home.inbox], deployment=deployment)
    with store_batch(home, around.clock, "test") as connection:
        ordinal = last_ordinal(connection)
        before = Before(night, str(version), ordinal)
        mined = discover(connection, deployment.traces.origins, before)
        store_modes(connection, mined)
    modes = mined.modes
    write_whole(home.modes / f"{modes.digest}.json", canonical(modes.model_dump(mode="json")))
    start = Start(
        night=night, champion=str(version), ordinal=ordinal, deployment=deployment.digest, previous=None
    )
    return Context(home, deployment, around, start), modes


def agents(home: Home, count: int, share: float, **changed: object) -> tuple[Context, Modes]:
    """A night after so many runs."""
    home.inbox.mkdir(parents=True, exist_ok=True)
    (home.inbox / "runs.json").write_bytes(traces(count, share))
    return context(home, Deployment.model_validate({**SETTINGS, **changed}), world())
