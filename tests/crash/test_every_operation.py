"""Each write, sync and rename is the one that fails, or the last before a SIGKILL: nothing is torn, again is enough.

Children are forked from this process, so that a kill costs milliseconds.
"""

import errno
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rsi.errors import RsiError
from rsi.ids import digest_file
from rsi.registry import adapters, champion, collect
from rsi.registry.verify import verify
from rsi.settings import Deployment, Home
from rsi.store.ledger import Ledger
from rsi.traces.ingest import ingest
from tests import machine_made
from tests.disk import disk, failing, killed
from tests.made import FixedClock
from tests.registry.test_collect import Registry

SLEPT = machine_made.slept
Act = Callable[[Home], object]


def promote(home: Home) -> None:
    """A person says yes, and the candidate goes into service."""
    machine_made.approve(home, SLEPT().verdict)
    machine_made.put(home, SLEPT().base, SLEPT().verdict)


def go_back(home: Home) -> None:
    """The version before comes back, if it is not back already."""
    if kinds(home)["rollback"] == 0:
        machine_made.back(home, SLEPT().base)


def read(home: Home) -> None:
    """The inbox is ingested."""
    deployment = Deployment.read(home.deployment_file)
    ingest(home, FixedClock(), [home.inbox], deployment=deployment)


def kinds(home: Home) -> Counter[str]:
    return Counter(one.kind for one in Ledger(home.ledger, FixedClock()))


def outcome(home: Home) -> object:
    """What must not depend on what went wrong: records, but for questions begun again, files by digest, pointer."""
    records = [
        (one.kind, one.night, one.stage, one.input, one.output) for one in Ledger(home.ledger, FixedClock())
    ]
    held = {
        str(path.relative_to(home.root)): digest_file(path)
        for kind in ("adapters", "banks", "harnesses", "modes", "versions", "raw")
        for path in sorted((home.root / kind).rglob("*"))
        if path.is_file()
    }
    told = pointed(home)
    return list(dict.fromkeys(records)), held, told


def pointed(home: Home) -> bytes:
    """What the pointer says, without the place of the home."""
    return home.champion.read_bytes().replace(str(home.root).encode(), b"")


@pytest.fixture(autouse=True)
def _around(monkeypatch: pytest.MonkeyPatch) -> None:
    """Contracts."""
    monkeypatch.setenv("RSI_CONTRACTS", str(SLEPT().root / "contracts"))


@pytest.fixture
def homes(tmp_path: Path) -> Iterator[Home]:
    """Fresh copies of one home, whose pointer and inbox say where they are."""

    def copies() -> Iterator[Home]:
        while True:
            home = Home(tmp_path / "home")
            shutil.rmtree(home.root, ignore_errors=True)
            shutil.copytree(SLEPT().home.root, home.root)
            machine_made.logs(home.inbox, 2)
            champion.point(home, FixedClock())
            yield home

    return copies()


BEFORE: dict[Act, Act] = {go_back: promote}
"""What has to have happened."""


def prepared(homes: Iterator[Home], act: Act) -> Home:
    home = next(homes)
    if act in BEFORE:
        BEFORE[act](home)
    return home


def alone(homes: Iterator[Home], act: Act) -> tuple[object, list[str]]:
    """What comes out when nothing goes wrong, and the operations that it takes."""
    home = prepared(homes, act)
    with disk(0, also=("unlink", "rmdir")) as seen:
        act(home)
    assert verify(home, FixedClock()).findings == ()
    return outcome(home), seen


def check(home: Home, act: Act, expected: object) -> None:
    """Whatever starts next finds a whole home, and the same act again ends as it would have."""
    champion.point(home, FixedClock())
    assert verify(home, FixedClock()).findings == ()
    act(home)
    assert outcome(home) == expected
    assert verify(home, FixedClock()).findings == ()
    assert not [path for path in home.root.rglob(".*") if path.is_file()], "a draft was left"


PROMOTED = (
    "approval.before_record",
    "ledger.before_append#1",
    "ledger.after_append#1",
    "promote.before_record",
    "ledger.before_append#2",
    "ledger.after_append#2",
    "promote.after_record",
)
"""Points of an answer and a promotion, in order."""
BACK = ("rollback.before_record", "ledger.before_append", "ledger.after_append")


def kill(homes: Iterator[Home], act: Act, cases: list[tuple[str, int]], expected: object) -> None:
    """Kill the act in each case, at a point or at an operation; what starts next ends as if nothing had happened."""
    for fault, at in cases:
        home = prepared(homes, act)
        assert killed(lambda home=home: act(home), fault, at), f"{fault or at} was not reached"
        champion.point(home, FixedClock())
        act(home)
        assert outcome(home) == expected, fault or at
        assert verify(home, FixedClock()).findings == ()


def test_9_a_promotion_killed_at_any_point_is_one_promotion(homes: Iterator[Home]) -> None:
    """Between answer, record and pointer: one approval, one promotion, one pointer."""
    expected, _ = alone(homes, promote)

    kill(homes, promote, [(point, 0) for point in PROMOTED], expected)


def test_9_a_rollback_killed_at_any_point_is_one_rollback(homes: Iterator[Home]) -> None:
    """Before its record, and between record and pointer."""
    expected, _ = alone(homes, go_back)

    kill(homes, go_back, [(point, 0) for point in BACK], expected)


@pytest.mark.slow
@pytest.mark.parametrize("act", [promote, go_back], ids=lambda act: act.__name__)
def test_9_killed_at_every_operation_on_a_file_it_is_done_once(act: Act, homes: Iterator[Home]) -> None:
    """Every write, sync and rename of answer, record and pointer is the last of its process."""
    expected, seen = alone(homes, act)

    kill(homes, act, [("", at) for at in range(1, len(seen) + 1)], expected)


COLLECTED = ("collect.after_record", "ledger.before_append", "ledger.after_append")
"""Points of a collection."""


@pytest.mark.parametrize("files", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["points", "files"])
def test_9_a_collection_killed_anywhere_is_made_good(files: bool, tmp_path: Path) -> None:
    """Before and after its record, or between renaming and deleting and at each file that goes."""

    def fresh(number: int) -> Registry:
        registry = Registry(tmp_path / str(number))
        for what, pick in (("train", 2), ("promote", 1), ("train", 2), ("train", 2)):
            registry.do(what, pick)
        return registry

    def left(registry: Registry) -> list[str]:
        return sorted(
            path.relative_to(registry.home.root).as_posix() for path in registry.home.adapters.rglob("*")
        )

    first = fresh(0)
    with disk(0, also=("unlink", "rmdir")) as seen:
        gone = collect.collect(first.home, first.clock)
    assert len(gone) == 2
    cases = [("", at) for at in range(1, len(seen) + 1)] if files else [(point, 0) for point in COLLECTED]
    for number, (fault, at) in enumerate(cases, 1):
        registry = fresh(number)
        assert killed(lambda one=registry: collect.collect(one.home, one.clock), fault, at), (fault, at)
        for path in registry.home.adapters.glob(".gone.*"):
            registry.age(path)
        collect.collect(registry.home, registry.clock)

        assert left(registry) == left(first), (fault, at)
        assert collect.gone(registry.ledger) == {one.name for one in gone}
        assert [one for one in verify(registry.home, registry.clock).findings if one.invariant != "I1"] == []
        assert adapters.names(registry.home) == adapters.names(first.home)


QUICK = ((promote, errno.EIO),)
"""What every run of the tests tries; the others take their time."""


@pytest.mark.parametrize(
    ("act", "number"),
    [
        pytest.param(
            act,
            number,
            id=f"{act.__name__}-{errno.errorcode[number]}",
            marks=() if (act, number) in QUICK else pytest.mark.slow,
        )
        for act in (promote, go_back, read)
        for number in (errno.EIO, errno.ENOSPC)
    ],
)
def test_3_what_fails_once_is_said_and_made_good(act: Act, number: int, homes: Iterator[Home]) -> None:
    """Every write, sync and rename in turn: the error names a file, nothing is torn, the next run ends the same."""
    home = prepared(homes, act)
    with disk(0) as seen:
        act(home)
    expected, failed = outcome(home), []
    for at in range(1, len(seen) + 1):
        home = prepared(homes, act)
        said = None
        with disk(at, failing(number)) as counted:
            try:
                act(home)
            except (OSError, RsiError) as error:
                said = error
        assert len(counted) >= at
        if said is None:
            # Nobody needs it, as the name of a lock's holder: all is as if nothing had failed.
            assert outcome(home) == expected, f"{at}: {seen[at - 1]} failed in silence"
        else:
            assert str(home.root) in str(said), f"{at}: {seen[at - 1]} said {said!r}"
            failed.append(seen[at - 1])
        check(home, act, expected)
    assert {"fsync", "replace"} <= set(failed)
