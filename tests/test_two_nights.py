"""Two nights at once, each a process: one works, nothing is trained twice."""

import os
import shutil
import time
from collections import Counter
from pathlib import Path

import orjson
import pytest

from rsi.ids import night
from rsi.night import run
from rsi.registry import champion
from rsi.registry.verify import verify
from rsi.settings import Deployment, Home
from rsi.store.ledger import Ledger
from tests import machine_made
from tests.disk import finished
from tests.made import FixedClock


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """After its first night, with a day's new traffic in the inbox."""
    slept = machine_made.slept()
    monkeypatch.setenv("RSI_CONTRACTS", str(slept.root / "contracts"))
    # The readers' copy takes longer than everything else together, and no promise here is about it.
    monkeypatch.setattr("rsi.night.refresh", lambda *_: None)
    copy = Home(tmp_path / "home")
    shutil.copytree(slept.home.root, copy.root)
    machine_made.logs(copy.inbox, 2)
    champion.point(copy, FixedClock())
    return copy


def sleep(home: Home, name: str) -> str:
    """A whole night; its reason."""
    world = machine_made.world(home, machine_made.slept().base, FixedClock())
    return run(home, Deployment.read(home.deployment_file), world, night(name)).reason


def at_once(home: Home, names: tuple[str, ...]) -> list[str]:
    """A forked process a night, all let go together; their reasons."""
    place = home.root.parent
    children = []
    for number, name in enumerate(names):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                while not (place / "go").exists():
                    time.sleep(0.001)
                (place / f"{number}.json").write_bytes(orjson.dumps(sleep(home, name)))
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    (place / "go").touch()
    assert all(map(finished, children))
    return [orjson.loads((place / f"{number}.json").read_bytes()) for number in range(len(names))]


def kinds(home: Home) -> Counter[str]:
    return Counter(one.kind for one in Ledger(home.ledger, FixedClock()))


def trained(home: Home) -> int:
    return len(list(home.jobs.iterdir()))


def test_11_the_same_night_twice_at_once_is_one_night(home: Home) -> None:
    """One works; the other names it, or comes when it is over. The ledger has one of everything."""
    before, jobs = kinds(home), trained(home)

    reasons = at_once(home, ("2026-01-03", "2026-01-03"))

    assert sum("a person was asked" in one and "is over" not in one for one in reasons) == 1, reasons
    assert sum("held by night 2026-01-03" in one or "is over" in one for one in reasons) == 1, reasons
    more = kinds(home) - before
    assert (more["night"], more["stage"], more["ask"], more["request"], more["end"]) == (1, 4, 1, 1, 1)
    assert trained(home) == jobs + 1
    assert verify(home, FixedClock()).findings == ()


def test_12_two_late_nights_at_once_do_not_train_twice(home: Home) -> None:
    """Both are due after downtime: one takes all that came in, the other finds it at work, or nothing new."""
    before, jobs = kinds(home), trained(home)

    reasons = at_once(home, ("2026-01-03", "2026-01-04"))

    assert sum("a person was asked" in one for one in reasons) == 1, reasons
    assert sum("held by night" in one or "nothing new since" in one for one in reasons) == 1, reasons
    for late in ("2026-01-03", "2026-01-04"):
        sleep(home, late)
    more = kinds(home) - before
    assert (more["night"], more["stage"], more["request"], more["end"]) == (1, 4, 1, 1)
    assert trained(home) == jobs + 1
    assert verify(home, FixedClock()).findings == ()
