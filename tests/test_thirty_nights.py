"""Thirty nights in a row: what may be deleted levels off, and what stays grows evenly."""

import os
from collections import Counter
from pathlib import Path

import pytest

from rsi.ids import night
from rsi.night import run
from rsi.registry import adapters, collect
from rsi.registry.verify import verify
from rsi.settings import Retention
from rsi.store.files import size_of
from rsi.store.retention import tidy
from tests import machine_made
from tests.made import FixedClock

NIGHTS, GAIN = 30, 4
"""So many requests more every other night's candidate knows; those between learn nothing, and are refused."""
KEPT = 5
"""Days that `rsi tidy` and `rsi gc` keep what nobody needs."""
STORE = ("store.duckdb", "snapshot.duckdb")


def grow_old(root: Path, night: float) -> None:
    """Give all that was just written, by the machine's clock long after that night, the time of the night."""
    for path in root.rglob("*"):
        if not path.is_symlink() and path.stat().st_mtime > night + 86_400:
            os.utime(path, (night, night))


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.slow
def test_64_disk_and_memory_level_off_over_thirty_nights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read and what was refused goes, store and memory stay what they are, and records grow evenly; every
    invariant holds at the end, I8 among them."""
    clock = FixedClock("2026-01-01T02:00:00+00:00")
    folder = machine_made.base(tmp_path / "base")
    contract = machine_made.contracts(tmp_path / "contracts") / "gate/tiny/v1.toml"
    before, _, after = contract.read_text().partition("[budget]")
    contract.write_text(before + "[[guards]]" + after.partition("[[guards]]")[2])
    monkeypatch.setenv("RSI_CONTRACTS", str(tmp_path / "contracts"))
    home, deployment = machine_made.make_home(tmp_path / "home", folder, clock)
    keep = Retention(spool_days=KEPT, jobs_days=KEPT, snapshots_days=KEPT)
    nights: list[dict[str, int]] = []
    ends = Counter[str | None]()
    for number in range(NIGHTS):
        clock.move(days=1)
        machine_made.logs(home.inbox, number)
        world = machine_made.world(home, folder, clock, GAIN * (number % 2))
        ending = run(home, deployment, world, night(clock.now().date().isoformat()))
        ends[ending.judgement] += 1
        if ending.judgement == "pass":
            machine_made.approve(home, str(ending.verdict), clock)
            machine_made.put(home, folder, str(ending.verdict), clock)
        tidy(home, keep, clock)
        collect.collect(home, clock, days=KEPT)
        grow_old(home.root, clock.now().timestamp())
        sizes = {one.name: size_of(one) for one in home.root.iterdir()}
        store, inbox = sum(sizes.pop(name) for name in STORE), sizes.pop("inbox")
        nights.append({"store": store, "inbox": inbox, "records": sum(sizes.values()), "memory": resident()})
    tenth, twentieth, last = nights[9], nights[19], nights[29]
    print(tenth, twentieth, last)

    assert ends == {"pass": NIGHTS // 2, "fail": NIGHTS // 2}
    assert verify(home, clock).findings == ()
    assert NIGHTS // 2 <= len(adapters.names(home)) <= NIGHTS // 2 + KEPT
    assert last["inbox"] <= 1.1 * tenth["inbox"]
    assert last["store"] <= 1.3 * tenth["store"]
    assert last["memory"] <= 1.1 * tenth["memory"]
    assert last["records"] - twentieth["records"] <= 1.3 * (twentieth["records"] - tenth["records"])
