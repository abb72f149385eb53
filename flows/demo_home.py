"""The home of a demo: how it begins, and how far it has come, as its ledger and files say."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rsi.algorithm import Update
from rsi.commands.loop import next_night
from rsi.commands.say import line
from rsi.errors import ContractError
from rsi.harness import hcp
from rsi.ids import canonical
from rsi.intake import Splits, Traces
from rsi.ports import Clock, SystemClock
from rsi.records import Judgement, Modes, Origin, Verdict
from rsi.registry import approval, champion, genesis, versions
from rsi.report.progress import TerminalProgress
from rsi.settings import PROJECT, Deployment, Home
from rsi.store.files import write_whole
from rsi.store.ledger import Ledger

if TYPE_CHECKING:
    from flows.replay import Replay
    from flows.traffic import Request

NAME = "demo"
CONTRACT = "demo/v1"
HARNESS = PROJECT / "data" / "harness" / "router.toml"


@dataclass
class Demo:
    """One demo."""

    home: Home
    deployment: Deployment
    count: int
    """Requests to send."""
    wait: bool
    """A person answers."""
    clock: Clock = field(default_factory=SystemClock)
    seconds: dict[str, float] = field(default_factory=dict)
    """Stage -> seconds, in the order of their end."""

    @property
    def approver(self) -> str:
        """Who answers where nobody waits."""
        return NAME

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Measure a stage."""
        started = time.monotonic()
        yield
        self.seconds[stage] = round(time.monotonic() - started, 1)

    def before(self) -> "Replay | None":
        """The first replay, where it was done."""
        from flows.replay import Replay

        path = self.home.root / "demo" / "before.json"
        return Replay.parse(path.read_bytes()) if path.exists() else None

    def keep(self, replayed: "Replay") -> None:
        """Remember the first replay."""
        write_whole(self.home.root / "demo" / "before.json", canonical(replayed.model_dump(mode="json")))

    def chosen(self, requests: "Sequence[Request]") -> "tuple[Request, ...]":
        """The requests to send: those of the first replay, else a fresh sample."""
        from flows.traffic import sample

        done = self.before()
        if done is None:
            return sample(requests, self.count)
        return tuple(one for one in requests if one.id in done.routed)

    def ingest_past(self, past: "Sequence[Request]") -> int:
        """Put requests into the inbox as a log of earlier days, and ingest it as the demo's own; how many."""
        from flows.traffic import past_log
        from rsi.traces.ingest import ingest

        path = self.home.inbox / "past.jsonl"
        write_whole(path, past_log(past))
        return ingest(self.home, self.clock, [path], origin=Origin.DEMO, deployment=self.deployment).loaded

    def night(self) -> str | None:
        """The night to run: one that was broken off, or a new one; None where one ended with a verdict."""
        ledger = self._ledger()
        if ledger.last(lambda one: one.kind == "end" and one.output is not None):
            return None
        begun = ledger.last(lambda one: one.kind == "night")
        ended = ledger.last(lambda one: one.kind == "end")
        if begun and begun.night and (ended is None or ended.night != begun.night):
            return begun.night
        return next_night(self.home)

    def verdict(self) -> Verdict:
        """What the night's gate said."""
        ended = self._ledger().last(lambda one: one.kind == "end" and one.output is not None)
        if ended is None or ended.output is None:
            raise ContractError(f"no night of {self.home.root} has ended with a verdict")
        return approval.verdict(self.home, ended.output)

    def judged_well(self, verdict: Verdict) -> bool:
        """Whether it passed."""
        return verdict.judgement is Judgement.PASS

    def promoted(self, verdict: Verdict) -> bool:
        """Whether its candidate was put into service."""
        return (
            self._ledger().last(lambda one: one.kind == "promotion" and one.input == verdict.digest)
            is not None
        )

    def modes_of(self, night: str) -> Modes:
        """The failure modes that a night found."""
        from rsi.night import made

        name = made(self._ledger(), night, "discover")
        return Modes.parse((self.home.modes / f"{name}.json").read_bytes())

    def look_again(self) -> Modes:
        """Ingest the new traffic and look for failure modes once more: the first stage of another night."""
        from rsi import night as loop
        from rsi.world import real

        world, name = real(self.deployment, TerminalProgress()), next_night(self.home)
        with loop.lock(self.home, world, name):
            loop.run_stage(loop.begin(self.home, self.deployment, world, name), "discover")
            loop.end_quietly(self.home, world, name, "the demo only looked for failure modes again")
        return self.modes_of(name)

    def words(self) -> Mapping[str, str]:
        """Role -> the word that the router in service says for it."""
        version = versions.load(self.home, champion.current(self._ledger()))
        return {role: word for word, role in hcp.load(self.home.harnesses, version.harness).labels.items()}

    def _ledger(self) -> Ledger:
        return Ledger(self.home.ledger, self.clock)


def prepare(home: Home, update: Update, count: int, wait: bool) -> Demo:
    """Pull what is missing, and make the home or find it begun.

    Raises:
        ContractError: the home belongs to something else, the demo ran there to its end, or there is no
            contract.
    """
    from rsi import assets
    from rsi.gate.contract import read

    deployment = Deployment(
        name=NAME,
        contract=CONTRACT,
        approvers=() if wait else (NAME,),
        traces=Traces(origins=(Origin.DEMO,), namespace=NAME),
        split=Splits(dev=0.0, gate=0.0, vault=0.0),
        update=update,
    )
    _check(home, deployment)
    read(CONTRACT)
    demo = Demo(home, deployment, count, wait)
    with demo.timed("assets"):
        assets.pull(TerminalProgress())
        base = assets.base_folder(deployment.base)[1]
    deployment.write(home.deployment_file)
    record = genesis.found(home, demo.clock, deployment, hcp.read(HARNESS), base)
    line(f"demo in {home.root}: version {str(record.output)[:12]} (the bare base model) comes first")
    return demo


def _check(home: Home, deployment: Deployment) -> None:
    again = f"`rm -r {home.root}` to run it again, or set RSI_HOME to another folder"
    if (home.root / "demo.json").exists():
        raise ContractError(f"the demo ran in {home.root} before, its figures are in demo.json; {again}")
    if not home.deployment_file.exists():
        return
    there = Deployment.read(home.deployment_file)
    if there.name != NAME:
        raise ContractError(
            f"{home.root} belongs to deployment {there.name!r}; set RSI_HOME to another folder"
        )
    if there.digest != deployment.digest:
        raise ContractError(
            f"a demo with other settings was begun in {home.root}; give the same --steps, {again}"
        )
    line(f"going on with the demo begun in {home.root}")
