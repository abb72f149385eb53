"""What people, nights, crashes and the clock do to a home, in any order: every invariant holds after each step.

The machine keeps a small model of its own: who is in service and why, what was asked and answered. It is compared with
the home after each step, as `rsi verify` is asked.
"""

import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import NamedTuple

import orjson
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from rsi import faults
from rsi import night as nights
from rsi.context import Context, Start, World
from rsi.engine.publish import EngineReplica
from rsi.errors import RefusedError
from rsi.gate.stage import judge
from rsi.rebase import rebase
from rsi.records import Approval, Decision, Judgement
from rsi.registry import adapters, approval, champion, collect, promote, versions
from rsi.registry.verify import verify
from rsi.settings import Home
from rsi.store import backup
from rsi.store.ledger import Ledger
from rsi.traces.ingest import ingest
from tests import machine_made
from tests.commands.spoken import Terminal
from tests.disk import finished
from tests.made import FixedClock

POINTS = (
    "night.after_begin",
    "discover.before_modes",
    "discover.after_modes",
    "bank.before_publish",
    "expand.after_bank",
    "update.after_submit",
    "gate.after_ask",
    "gate.before_verdict",
    "gate.after_verdict",
    "ledger.before_append",
    "ledger.after_append",
)
"""Where a night of this machine can break off."""
AFTER = ("ledger.after_append", "promote.after_record", "collect.after_record")
"""Points that are reached when the record is written."""
STARTS = "2031-01-02T02:00:00+00:00"
NOTHING_LEFT = ("budget of", "are retired", "alpha of", "was begun")
"""What the gate says where a question may not be asked any more."""


class Died(BaseException):
    """The process is gone; nobody catches it."""


@dataclass
class Asked:
    """A request as the machine knows it."""

    verdict: str
    candidate: str
    replaces: str
    role: str | None
    expires: datetime
    decision: Decision | None = None
    approver: str = ""
    rebased: bool = False
    promoted: bool = False


@dataclass
class Known:
    """All that must be true of a home, as far as the machine made it so."""

    served: list[str]
    """Versions in the order in which they went into service; the last one is the champion."""
    asked: list[Asked] = field(default_factory=list)
    broken: dict[str, int] = field(default_factory=dict)
    """Nights that broke off -> the gain of their training."""
    lines: int = 0
    """Of the ledger that were read."""
    moves: int = 0
    """Promotions and rollbacks."""

    def read(self, home: Home) -> "Known":
        """Take in what was asked since."""
        lines = home.ledger.read_bytes().splitlines()
        for line in lines[self.lines :]:
            one = orjson.loads(line)
            if one["kind"] == "request":
                said = one["body"]
                expires = datetime.fromisoformat(one["at"]).astimezone(UTC) + timedelta(days=7)
                self.asked.append(Asked(one["input"], one["output"], said["replaces"], said["role"], expires))
        self.lines = len(lines)
        return self

    def standing(self, one: Asked, now: datetime) -> str:
        """In words of the machine's own rules."""
        if one.decision is not None:
            return "approved" if one.decision is Decision.APPROVE else "rejected"
        if one.rebased:
            return "rebased"
        if any(other.role == one.role for other in self.asked[self.asked.index(one) + 1 :]):
            return "superseded"
        if now > one.expires:
            return "expired"
        return "open" if one.replaces == self.served[-1] else "stale"


class Beginning(NamedTuple):
    """Where every history begins."""

    root: Path
    """Holds the home and its contracts."""
    base: Path
    known: Known


@cache
def beginning() -> Beginning:
    """A home whose first night's candidate is in service and whose second night's waits; one a process."""
    root, clock = Path(tempfile.mkdtemp(prefix="rsi-machine-")), FixedClock(STARTS)
    base = machine_made.base(root / "base")
    machine_made.contracts(root / "contracts")
    home, deployment = machine_made.make_home(root / "home", base, clock)
    known = Known([champion.current(Ledger(home.ledger, clock))])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RSI_CONTRACTS", str(root / "contracts"))
        patch.setattr(nights, "refresh", lambda *_: None)
        for number in (1, 2):
            world = machine_made.world(home, base, clock)
            machine_made.logs(home.inbox, number)
            ending = nights.run(home, deployment, world, nights.Night(f"2031-01-0{number}"))
            assert ending.verdict is not None, ending.reason
            if number == 1:
                said = Approval(
                    verdict=ending.verdict,
                    decision=Decision.APPROVE,
                    approver="ada",
                    reason="so",
                    via="command",
                )
                approval.answer(home, clock, deployment, said, ending.verdict[:8])
                promote.promote(home, clock, ending.verdict, [EngineReplica(world.engine())], base)
    (first, _) = known.read(home).asked
    first.decision, first.approver, first.promoted = Decision.APPROVE, "ada", True
    known.served.append(first.candidate)
    known.moves = 1
    return Beginning(root, base, known)


@contextmanager
def dying(point: str | None, turn: int, how: Callable[[], None]) -> Iterator[None]:
    """Die when `point` is reached for the `turn`th time."""
    reached = 0

    def reach(name: str) -> None:
        nonlocal reached
        reached += name == point
        if name == point and reached == turn:
            how()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(faults, "point", reach)
        yield


def die() -> None:
    """End what runs, in this process."""
    raise Died


def kill() -> None:
    """End this process, which is a child."""
    os.kill(os.getpid(), signal.SIGKILL)


class Machine(RuleBasedStateMachine):
    """A home; files, ledger, store and gate are real, training is not."""

    kills = False
    """Whether nights also die by SIGKILL, in a child."""

    def __init__(self) -> None:
        super().__init__()
        begun = beginning()
        self.base = begun.base
        self.root = Path(tempfile.mkdtemp(prefix="rsi-machine-"))
        self.patch = pytest.MonkeyPatch()
        self.patch.setenv("RSI_CONTRACTS", str(begun.root / "contracts"))
        # The readers' copy takes longer than everything else together, and no invariant is about it.
        self.patch.setattr(nights, "refresh", lambda *_: None)
        self.clock = FixedClock(STARTS)
        self.home = Home(self.root / "0" / "home")
        shutil.copytree(begun.root / "home", self.home.root)
        # The pointer names places of the home that was copied; whatever starts rewrites it.
        champion.point(self.home, self.clock)
        self.deployment = machine_made.night_made.settings(self.base)
        self.count = 2
        self.known = deepcopy(begun.known)
        self.saved: Known | None = None
        self.before = self.home.ledger.read_bytes()

    def teardown(self) -> None:
        self.patch.undo()
        shutil.rmtree(self.root)

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.home.ledger, self.clock)

    def world(self, gain: int = 0) -> World:
        """A process that has just started."""
        return machine_made.world(self.home, self.base, self.clock, gain)

    def number(self) -> int:
        self.count += 1
        return self.count

    # --- what happens ---------------------------------------------------------------------------------------

    @rule(now=st.booleans())
    def traffic(self, now: bool) -> None:
        """Logs arrive, and are read at once or by the next night."""
        machine_made.logs(self.home.inbox, self.number())
        if now:
            ingest(self.home, self.clock, [self.home.inbox], deployment=self.deployment)

    @rule(
        good=st.sampled_from((True, True, False)),
        quiet=st.sampled_from((False, False, False, True)),
        point=st.none() | st.sampled_from(POINTS),
        turn=st.integers(1, 9),
        killed=st.booleans(),
    )
    def night(self, good: bool, quiet: bool, point: str | None, turn: int, killed: bool) -> None:
        """A night, mostly after a day with traffic; it may break off, and its candidate is better or is not."""
        name, gain = self.day(quiet), machine_made.STEP if good else 0
        if point is None:
            self.slept(name, gain)
        else:
            self.broke(name, gain, point, turn if point.startswith("ledger") else 1, killed)

    @precondition(lambda self: self.known.broken)
    @rule(pick=st.integers(0, 9), point=st.none() | st.sampled_from(POINTS), killed=st.booleans())
    def again(self, pick: int, point: str | None, killed: bool) -> None:
        """A night that broke off is run again, whatever happened in between, and may break off once more."""
        name = list(self.known.broken)[pick % len(self.known.broken)]
        gain = self.known.broken.pop(name)
        if point is None:
            self.slept(name, gain)
        else:
            self.broke(name, gain, point, 1, killed)

    @rule(good=st.booleans())
    def change_by_hand(self, good: bool) -> None:
        """Another route text for the champion, gated by hand."""
        number, now = self.number(), self.known.served[-1]
        gain = machine_made.STEP if good else 0
        made = machine_made.harness_version(self.home, now, gain, number)
        night = f"2032-01-01.{number}"
        start = Start(night=night, champion=now, ordinal=0, deployment=self.deployment.digest, previous=None)
        try:
            name = judge(Context(self.home, self.deployment, self.world(), start), made.digest)
        except RefusedError as refused:
            self.spent(refused)
            return
        found = approval.verdict(self.home, name)
        assert found.role is None
        if found.judgement is Judgement.PASS:
            assert good
            approval.open_request(self.home, self.clock, self.deployment, found)

    @precondition(lambda self: self.known.asked)
    @rule(
        pick=st.integers(0, 9),
        decision=st.sampled_from((Decision.APPROVE, Decision.APPROVE, Decision.REJECT)),
        approver=st.sampled_from(("ada", "grace")),
        typed=st.sampled_from((True, True, True, False)),
        point=st.sampled_from(
            (None, None, "approval.before_record", "ledger.before_append", "ledger.after_append")
        ),
    )
    def answer(self, pick: int, decision: Decision, approver: str, typed: bool, point: str | None) -> None:
        """A person answers any request there ever was, the newest ones first; one that mistyped is refused."""
        one = self.request(pick)
        stands = self.known.standing(one, self.clock.now())
        same = (one.decision, one.approver) == (decision, approver)
        new = one.decision is None and (stands == "open" or decision is Decision.REJECT)
        said = Approval(verdict=one.verdict, decision=decision, approver=approver, reason="so", via="command")
        evidence = one.verdict[:8] if typed else "0" * 8
        done = self.tried(
            lambda: approval.answer(self.home, self.clock, self.deployment, said, evidence),
            point,
            expected=typed and (new or same),
        )
        if done and new:
            one.decision, one.approver = decision, approver

    @precondition(lambda self: self.known.asked)
    @rule(
        pick=st.integers(0, 9),
        point=st.sampled_from(
            (
                None,
                None,
                "promote.before_record",
                "promote.after_record",
                "ledger.before_append",
                "ledger.after_append",
            )
        ),
    )
    def promote(self, pick: int, point: str | None) -> None:
        """The candidate of any request goes into service, where a person said yes and nothing came between."""
        one = self.request(pick)
        now = self.known.served[-1]
        new = one.decision is Decision.APPROVE and not one.promoted and one.replaces == now
        done = self.tried(
            lambda: promote.promote(self.home, self.clock, one.verdict, self.replicas(), self.base),
            point,
            expected=new or (one.promoted and one.candidate == now),
        )
        if done and new:
            one.promoted = True
            self.known.served.append(one.candidate)
            self.known.moves += 1

    @precondition(lambda self: self.known.asked)
    @rule(decision=st.sampled_from((Decision.APPROVE, Decision.APPROVE, Decision.REJECT)))
    def decide(self, decision: Decision) -> None:
        """The newest request is answered, and somebody promotes it whatever was said."""
        self.answer(pick=0, decision=decision, approver="ada", typed=True, point=None)
        self.promote(pick=0, point=None)

    @rule(
        pick=st.none() | st.integers(0, 9),
        point=st.sampled_from(
            (None, None, "rollback.before_record", "ledger.before_append", "ledger.after_append")
        ),
    )
    def roll_back(self, pick: int | None, point: str | None) -> None:
        """To the version before, or to any that was in service."""
        served = self.known.served
        to = None if pick is None else served[pick % len(served)]
        target = to or versions.load(self.home, served[-1]).parent
        done = self.tried(
            lambda: promote.rollback(self.home, self.clock, to, "ada", "slow", self.replicas(), self.base),
            point,
            expected=target is not None and target != served[-1] and self.whole(target),
        )
        if done and target:
            served.append(target)
            self.known.moves += 1

    @precondition(lambda self: self.known.asked)
    @rule(pick=st.integers(0, 9))
    def rebase(self, pick: int) -> None:
        """The change of a request that another promotion made stale is gated on the new champion."""
        one = self.request(pick)
        stale = self.known.standing(one, self.clock.now()) == "stale"
        try:
            ending = rebase(self.home, self.deployment, self.world(), one.verdict)
        except RefusedError as refused:
            known = (*NOTHING_LEFT, "was changed in between", "has this change already")
            assert not stale or any(why in str(refused) for why in known), refused
            return
        assert stale
        assert ending.judgement is not None
        one.rebased = True

    @rule(days=st.sampled_from((1, 4, 8)))
    def wait(self, days: int) -> None:
        """Days pass; requests expire."""
        self.clock.move(days=days)

    @rule(days=st.sampled_from((0.0, 30.0)), point=st.sampled_from((None, None, "collect.after_record")))
    def collect(self, days: float, point: str | None) -> None:
        """Whatever nothing reaches is deleted; all files are old by this clock."""
        self.tried(lambda: collect.collect(self.home, self.clock, days), point, expected=True)

    @rule()
    def back_up(self) -> None:
        """A backup, in place of the one there was."""
        target = self.root / "backup"
        shutil.rmtree(target, ignore_errors=True)
        backup.backup(self.home, self.clock, target)
        self.saved = deepcopy(self.learn())

    @precondition(lambda self: self.saved is not None)
    @rule()
    def restore(self) -> None:
        """The home is lost: it is made again of the backup, elsewhere, and is what it was then."""
        assert self.saved is not None
        self.home = Home(self.root / str(self.number()) / "home")
        backup.restore(self.root / "backup", self.home)
        champion.point(self.home, self.clock)
        self.known = deepcopy(self.saved)
        self.before = b""

    # --- what must hold -------------------------------------------------------------------------------------

    @invariant()
    def every_invariant_holds(self) -> None:
        """Of I1 to I5, I7 and I8; I6 is tested where one night is killed everywhere."""
        assert verify(self.home, self.clock).findings == ()

    @invariant()
    def the_ledger_only_grows(self) -> None:
        after = self.home.ledger.read_bytes()
        assert after.startswith(self.before)
        self.before = after

    @invariant()
    def the_champion_is_the_one_that_people_put_there(self) -> None:
        """Genesis, a candidate that somebody approved, or an earlier champion."""
        known = self.learn()
        assert champion.current(self.ledger) == known.served[-1]
        assert orjson.loads(self.home.champion.read_bytes())["version"] == known.served[-1]
        assert len(champion.moves(self.ledger)) == 1 + known.moves

    @invariant()
    def an_approval_is_one_promotion_at_most(self) -> None:
        records = self.ledger.records()
        promoted = [one.input for one in records if one.kind == "promotion"]
        decided = {one.input: one.body["decision"] for one in records if one.kind == "approval"}
        known = self.learn()
        assert sorted(map(str, promoted)) == sorted(one.verdict for one in known.asked if one.promoted)
        assert decided == {one.verdict: one.decision for one in known.asked if one.decision}

    @invariant()
    def what_waits_is_what_the_machine_says(self) -> None:
        """And its weights are there, as are those of what it would replace."""
        known, now = self.learn(), self.clock.now()
        wanted = [one for one in known.asked if known.standing(one, now) == "open"]
        assert [one.verdict for one in approval.waiting(self.ledger, now)] == [one.verdict for one in wanted]
        stands = {one.verdict: known.standing(one, now) for one in known.asked}
        found = {
            one.verdict: one.standing(now, known.served[-1]).value for one in approval.requests(self.ledger)
        }
        assert found == stands
        for name in {name for one in wanted for name in (one.candidate, one.replaces)} | {known.served[-1]}:
            for adapter in versions.load(self.home, name).adapters.values():
                adapters.describe(self.home, adapter)

    # --- how ------------------------------------------------------------------------------------------------

    def day(self, quiet: bool) -> str:
        """The next night's name, after traffic unless the day was quiet."""
        number = self.number()
        if not quiet:
            machine_made.logs(self.home.inbox, number)
        return (date(2031, 1, 1) + timedelta(days=number)).isoformat()

    def run(self, name: str, gain: int) -> nights.Ending | None:
        """A night in a process of its own; None where the gate would not be asked any more."""
        try:
            return nights.run(self.home, self.deployment, self.world(gain), nights.Night(name))
        except RefusedError as refused:
            self.spent(refused)
            return None

    def slept(self, name: str, gain: int) -> None:
        """A whole night; a person is asked exactly where the verdict passed."""
        ending = self.run(name, gain)
        asked = {one.verdict for one in self.learn().asked}
        if ending is not None and ending.verdict is not None:
            assert (ending.verdict in asked) == (ending.judgement == "pass"), ending.reason
            assert gain or ending.judgement != "pass"

    def broke(self, name: str, gain: int, point: str, turn: int, killed: bool) -> None:
        """A night that dies at a point, or does not reach it."""
        if self.kills and killed:
            over = self.in_child(lambda: self.run(name, gain), point, turn)
        else:
            over = False
            with dying(point, turn, die):
                try:
                    self.run(name, gain)
                    over = True
                except Died:
                    pass
        if not over:
            self.known.broken[name] = gain

    def in_child(self, work: Callable[[], object], point: str, turn: int) -> bool:
        """Whether the work was done before its process was killed."""
        child = os.fork()
        if child == 0:
            with dying(point, turn, kill):
                try:
                    work()
                    os._exit(0)
                finally:
                    os._exit(1)
        return finished(child)

    def tried(self, act: Callable[[], object], point: str | None, *, expected: bool) -> bool:
        """Whether it was done: refused where it is not expected and only there; what dies, where its record is made."""
        with dying(point, 1, die):
            try:
                act()
            except RefusedError:
                assert not expected
                return False
            except Died:
                champion.point(self.home, self.clock)  # as whatever starts next does
                return expected and point in AFTER
        assert expected
        return True

    def learn(self) -> Known:
        """What is known, with what was asked since."""
        return self.known.read(self.home)

    def request(self, pick: int) -> Asked:
        """One of the requests there are; 0 is the newest."""
        return self.known.asked[-1 - pick % len(self.known.asked)]

    def replicas(self) -> list[EngineReplica]:
        return [EngineReplica(self.world().engine())]

    def whole(self, version: str) -> bool:
        """Whether its weights are there."""
        held = versions.load(self.home, version).adapters.values()
        return all(adapters.folder(self.home, one).is_dir() for one in held)

    def spent(self, refused: RefusedError) -> None:
        """A refusal by the gate is about its budget."""
        assert any(why in str(refused) for why in NOTHING_LEFT), refused


class Killed(Machine):
    """The same, with nights that are killed."""

    kills = True


def test_26_a_home_with_adapters_in_service_is_restored_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the command, with nothing to find: the pointer names places of the new home."""
    begun, home = beginning(), Home(tmp_path / "elsewhere")
    monkeypatch.setenv("RSI_CONTRACTS", str(begun.root / "contracts"))
    backup.backup(Home(begun.root / "home"), FixedClock(STARTS), tmp_path / "copy")

    said = Terminal(home, monkeypatch, capsys).ok("restore", str(tmp_path / "copy"), "--json")

    assert orjson.loads(said)["findings"] == []
    assert str(home.adapters).encode() in home.champion.read_bytes()


def test_58_a_home_survives_whatever_happens_to_it() -> None:
    """A few short histories."""
    quick = settings(
        max_examples=5, stateful_step_count=12, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(Machine, settings=quick)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_58_a_home_survives_long_histories() -> None:
    """More and longer ones, some of whose nights are killed."""
    long = settings(max_examples=30, stateful_step_count=25, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(Killed, settings=long)
