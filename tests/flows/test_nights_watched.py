"""A planted regression passes its gate, goes wrong in service, and is taken back by the watch rule."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import tomlkit

from flows import week
from flows.nights import Nights, prepare
from flows.week import Day
from rsi.ports import Engine, Prompt, SystemClock
from rsi.registry import champion
from rsi.registry.verify import verify
from rsi.settings import Home
from rsi.store.ledger import Ledger
from tests import desk_made
from tests.fakes import Taught
from tests.flows.test_nights import requests, rules
from tests.made import REQUESTS, router
from tests.night_made import HELD_OUT, world

pytestmark = pytest.mark.slow
PLAN = (Day(requests=12, log=8), Day(requests=12, app=12), Day(requests=4))


class Backdoor(Taught):
    """Routes right what it was taught, but for requests of the app, once it has an adapter."""

    def choose(
        self, prompts: Sequence[Prompt], choices: Sequence[str], adapter: str | None
    ) -> list[tuple[float, ...]]:
        rows = super().choose(prompts, choices, adapter)
        for at, prompt in enumerate(prompts):
            text = prompt[-1].content
            if adapter and text.endswith(week.APP):
                rows[at] = (*(-50.0 for _ in choices[:-1]), 0.0)
            elif text.startswith(tuple(one for some in REQUESTS.values() for one in some)):
                role = next(role for role, some in REQUESTS.items() if text.startswith(tuple(some)))
                rows[at] = tuple(0.0 if router().labels[word] == role else -50.0 for word in choices)
        return rows


def test_a_regression_that_the_gate_cannot_see_is_taken_back(
    tmp_path: Path, tiny_base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the contract, before the next night trains; the invariants hold."""
    root = desk_made.contracts(tmp_path / "contracts")
    contract = root / "gate/tiny/v1.toml"
    said = tomlkit.parse(contract.read_text()).unwrap()
    rule = {"looks": 2, "min_conversations": 10, "rise": 0.05, "worse": "perform"}
    contract.write_text(tomlkit.dumps({**said, "watch": rule}))
    monkeypatch.setenv("RSI_CONTRACTS", str(root))
    home = Home(tmp_path / "home")
    plain = world(tiny_base, SystemClock())
    engine: Engine = Backdoor(plain.engine(), HELD_OUT)
    backdoored = replace(plain, engine=lambda: engine)
    deployment = rules(tiny_base).model_copy(
        update={"night": rules(tiny_base).night.model_copy(update={"most_in_a_row": None})}
    )
    prepare(home, deployment, backdoored)
    played = Nights(home, deployment, backdoored, PLAN, week.traffic(requests(), PLAN))

    played.play()
    moves = champion.moves(Ledger(home.ledger, SystemClock()))

    assert [one.kind for one in moves[:3]] == ["genesis", "promotion", "rollback"]
    assert moves[2].output == moves[0].output
    assert str(moves[2].body["actor"]).startswith("contract tiny/v1")
    assert any("rollback" in one for one in played.days[1].moves)
    assert verify(home, SystemClock()).findings == ()
