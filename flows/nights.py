"""Five nights in a row, for real, on one machine: ``rsi demo --nights``.

Traffic, a night, an approval and a promotion, five times, in one process and without Prefect; what happens when is in
`flows.week`. Labels stand in for people's feedback, the world's rules for the desk's customers, and requests are
approved as `nights`; the output says so. At its end every version that was in service is asked the vault, which no gate
asks. A run that was stopped goes on after the last night that ended.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from flows import week
from flows.processes import told
from flows.traffic import Request, past_log, read
from flows.week import Day, Log, Traffic
from rsi import night as loop
from rsi.commands.loop import next_night
from rsi.commands.say import line, table
from rsi.context import World
from rsi.engine.publish import EngineReplica
from rsi.environments import kind
from rsi.errors import ContractError, RefusedError
from rsi.gate.audit import audit
from rsi.harness import hcp
from rsi.ids import canonical
from rsi.questions import Point
from rsi.records import Approval, Decision, Judgement, LedgerRecord, Origin, Pool, Record
from rsi.registry import approval, champion, genesis, promote
from rsi.registry.verify import verify
from rsi.report import vault
from rsi.report.progress import TerminalProgress
from rsi.serve.asked import Labelled, ask
from rsi.serve.shift import shift_of
from rsi.settings import PROJECT, Deployment, Home, quiet_dependencies
from rsi.store.files import write_whole
from rsi.store.ledger import Ledger
from rsi.traces.delete import Wanted, delete
from rsi.traces.ingest import ingest
from rsi.world import real

HARNESS = PROJECT / "data" / "harness" / "router.toml"
FILE = "nights.json"
HOLDS = {
    Log.EARLIER: "of earlier times",
    Log.WRONG: f"of the app, all labelled {week.WRONG} (planted)",
    Log.MENDED: "of the app, with right labels",
}
"""What the output says of a log."""


class Told(Record):
    """One day and its night, in figures."""

    night: str
    asked_of: str
    """Version that the day's requests and episodes were put to."""
    routed: tuple[int, int]
    """(right, requests)."""
    worked: tuple[int, int]
    """(solved, episodes)."""
    role: str
    """What the night trained; empty where it trained nothing."""
    judgement: str
    """The gate's; empty without a candidate."""
    reason: str
    moves: tuple[str, ...]
    """What became of the version in service since the last night: `promotion …`, `rollback …`."""
    seconds: float


@dataclass
class Nights:
    """A home in which the plan is played."""

    home: Home
    deployment: Deployment
    world: World
    plan: Sequence[Day]
    traffic: Traffic
    days: list[Told] = field(default_factory=list)

    @property
    def ledger(self) -> Ledger:
        """The home's."""
        return Ledger(self.home.ledger, self.world.clock)

    def play(self) -> tuple[Point, ...]:
        """All days and nights, then the vault."""
        ended = [one.night for one in self.ledger if one.kind == "end"]
        for number, day in enumerate(self.plan):
            if number < len(ended):
                line(f"day {number + 1}: night {ended[number]} ended before; going on after it")
                self._settle(str(ended[number]))
                self.days += self._kept(number)
                continue
            self.days.append(self._day(number, day))
            write_whole(self._file(number), canonical(self.days[-1].model_dump(mode="json")))
        served = list(dict.fromkeys(str(one.output) for one in champion.moves(self.ledger)))
        return audit(self.home, self.deployment, self.world, served)

    def _file(self, number: int) -> Path:
        return self.home.root / "nights" / f"{number + 1}.json"

    def _kept(self, number: int) -> list[Told]:
        path = self._file(number)
        return [Told.parse(path.read_bytes())] if path.exists() else []

    def _day(self, number: int, day: Day) -> Told:
        started, moved = time.monotonic(), len(champion.moves(self.ledger))
        line(f"\nday {number + 1}")
        self._logs(number, day)
        version, routed = ask(
            self.home,
            self.deployment,
            self.world,
            [Labelled(one.text, one.label) for one in self.traffic.asked[number]],
            Origin.DEMO,
            f"day {number + 1}",
        )
        app = f", {day.app} of them from the app" if day.app else ""
        line(f"  version {version[:12]} routed {routed.right} of {routed.episodes} requests right{app}")
        worked = (0, 0)
        if day.episodes:
            tasks = kind(week.WORLD).tasks(day.episodes, 1000 + number, Pool.TRAIN)
            _, tally = shift_of(
                self.home, self.deployment, self.world, tasks, week.CLERK, Origin.DEMO, f"day {number + 1}"
            )
            worked = (tally.right, tally.episodes)
            line(f"  it solved {tally.right} of {tally.episodes} tasks at the desk")
        name = next_night(self.home)
        try:
            ending = loop.run(self.home, self.deployment, self.world, name)
        except RefusedError as refused:
            # The night is over, and its record says so; the next day comes all the same.
            ending = loop.Ending(name, None, None, str(refused))
        line(f"  night {name}: {ending.reason}")
        self._settle(name)
        chosen = self.ledger.last(lambda one: (one.kind, one.night) == ("role", name))
        moves = tuple(map(_move, champion.moves(self.ledger)[moved:]))
        for one in moves:
            line(f"  {one}")
        return Told(
            night=name,
            asked_of=version,
            routed=(routed.right, routed.episodes),
            worked=worked,
            role=str(chosen.body["role"]) if chosen else "",
            judgement=ending.judgement or "",
            reason=ending.reason,
            moves=moves,
            seconds=round(time.monotonic() - started, 1),
        )

    def _logs(self, number: int, day: Day) -> None:
        """What comes in beside the day's own traffic, and what is forgotten."""
        if day.forgets:
            gone = [
                delete(self.home, self.world.clock, Wanted(user=one), week.APPROVER).traces for one in week.CLIENTS
            ]
            line(f"  somebody deleted the app's log: {sum(gone)} traces of {len(gone)} users")
        logged = self.traffic.logged[number]
        if not logged:
            return
        path = self.home.inbox / f"log-{number + 1}.jsonl"
        write_whole(path, past_log(logged) if day.holds is Log.EARLIER else week.app_log(logged))
        totals = ingest(self.home, self.world.clock, [path], origin=Origin.DEMO, deployment=self.deployment)
        line(f"  a log of {totals.loaded} labelled requests came in, {HOLDS[day.holds]}")

    def _settle(self, name: str) -> None:
        """Approve and promote what passed in a night; nothing where that is done, or nothing passed."""
        ended = self.ledger.last(lambda one: (one.kind, one.night) == ("end", name))
        if ended is None or ended.output is None or ended.body.get("judgement") != Judgement.PASS.value:
            return
        if any(one.input == ended.output for one in champion.moves(self.ledger)):
            return
        said = Approval(
            verdict=ended.output,
            decision=Decision.APPROVE,
            approver=week.APPROVER,
            reason="five nights approve what passed its gate",
            via="command",
        )
        approval.answer(self.home, self.world.clock, self.deployment, said, ended.output[: approval.PREFIX])
        replica = EngineReplica(self.world.engine())
        promote.promote(self.home, self.world.clock, ended.output, [replica], self.world.base().folder)


def _move(record: LedgerRecord) -> str:
    by = record.body.get("actor")
    return f"{record.kind} of {str(record.output)[:12]}" + (f" by {by}" if by else "")


def prepare(home: Home, deployment: Deployment, world: World) -> None:
    """Make the home, or find it begun.

    Raises:
        ContractError: it belongs to something else.
    """
    if home.deployment_file.exists():
        there = Deployment.read(home.deployment_file)
        if there.digest != deployment.digest:
            raise ContractError(
                f"{home.root} belongs to deployment {there.name!r} with other settings; set RSI_HOME to another folder"
            )
    deployment.write(home.deployment_file)
    genesis.found(home, world.clock, deployment, hcp.read(HARNESS), world.base().digest)


def show(played: Nights, points: Sequence[Point]) -> int:
    """Print what happened and the vault's curve, and write both down; how many invariants are broken."""
    line("\nwhat happened")
    table(
        ("night", "asked", "routed right", "desk", "trained", "gate", "in service"),
        [
            (
                one.night,
                one.asked_of[:8],
                "{} of {}".format(*one.routed),
                "{} of {}".format(*one.worked) if one.worked[1] else "",
                one.role,
                one.judgement,
                "; ".join(one.moves),
            )
            for one in played.days
        ],
    )
    line("\nthe vault: what no gate asks, for every version that was in service")
    table(vault.COLUMNS, vault.rows(points))
    for some in vault.by_suite(points).values():
        line(vault.sentence(some))
    line(f"drawn in {vault.write(played.home, played.deployment.name, points)}")
    found = verify(played.home, played.world.clock).findings
    line("\nrsi verify: " + ("every invariant holds" if not found else "; ".join(map(str, found))))
    said = {
        "days": [one.model_dump(mode="json") for one in played.days],
        "vault": [one.model_dump(mode="json") for one in points],
        "broken": len(found),
    }
    write_whole(played.home.root / FILE, canonical(said))
    line(f"the same figures are in {played.home.root / FILE}")
    return len(found)


def deal(requests: Sequence[Request], plan: Sequence[Day]) -> Traffic:
    """The traffic of a plan.

    Raises:
        ContractError: there are too few requests.
    """
    try:
        return week.traffic(requests, plan)
    except ValueError as error:
        raise ContractError(str(error)) from None


def main() -> None:
    """Play the five nights."""
    parser = argparse.ArgumentParser(prog="rsi demo --nights", description="Five nights in a row, for real.")
    parser.add_argument("--home", type=Path, help="folder of the nights (RSI_HOME, ./.rsi)")
    asked = parser.parse_args()
    quiet_dependencies()
    home, deployment = Home.find(asked.home), week.deployment()
    world = real(deployment, TerminalProgress())
    prepare(home, deployment, world)
    played = Nights(home, deployment, world, week.PLAN, deal(read(), week.PLAN))
    points = played.play()
    sys.exit(3 if show(played, points) else 0)


if __name__ == "__main__":
    sys.exit(told(main))
