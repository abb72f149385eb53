"""Nights in a row with the tiny model: what they leave in ledger and home, and how they go on."""

from pathlib import Path

import pytest

from flows import week
from flows.nights import FILE, Nights, prepare, show
from flows.traffic import Request
from flows.week import Day, Log
from rsi.ports import SystemClock
from rsi.registry import champion
from rsi.settings import Deployment, Home
from rsi.store.ledger import Ledger
from tests import desk_made
from tests.made import REQUESTS
from tests.test_desk_night import clerks, settings

pytestmark = pytest.mark.slow
PLAN = (
    Day(requests=8, log=16),
    Day(requests=4, episodes=4),
    Day(requests=4, log=4, holds=Log.WRONG),
    Day(requests=4, app=2, forgets=True),
)


def requests() -> list[Request]:
    return [
        Request(
            id=f"{role}-{at}-{turn}", label=role, hard=False, source="own", text=f"{text}{' please' * turn}"
        )
        for role, texts in REQUESTS.items()
        for at, text in enumerate(texts)
        for turn in range(3)
    ]


def rules(base: Path) -> Deployment:
    """Those of the desk's night, for traffic of a demo."""
    said = settings(base).model_dump(mode="json")
    return Deployment.model_validate(
        {**said, "approvers": [week.APPROVER], "traces": {"origins": ["demo"], "namespace": "tiny"}}
    )


def test_nights_in_a_row(tmp_path: Path, tiny_base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two roles are promoted, a candidate without a gain is refused; again, nothing happens twice."""
    monkeypatch.setenv("RSI_CONTRACTS", str(desk_made.contracts(tmp_path / "contracts")))
    home, deployment, world = Home(tmp_path / "home"), rules(tiny_base), clerks(tiny_base)
    prepare(home, deployment, world)
    played = Nights(home, deployment, world, PLAN, week.traffic(requests(), PLAN))

    points = played.play()
    moves = champion.moves(Ledger(home.ledger, SystemClock()))

    assert [one.role for one in played.days[:3]] == ["L0", "L1", "L0"]
    assert [one.judgement for one in played.days[:3]] == ["pass", "pass", "fail"]
    assert [one.kind for one in moves] == ["genesis", "promotion", "promotion"]
    assert {one.suite for one in points} == {"small-desk/v1"}
    assert len(points) == 3
    assert show(played, points) == 0
    assert (home.root / FILE).exists()

    again = Nights(home, deployment, world, PLAN, week.traffic(requests(), PLAN))
    again.play()
    assert again.days == played.days
    assert champion.moves(Ledger(home.ledger, SystemClock())) == moves
