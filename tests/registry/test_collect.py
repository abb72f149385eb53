"""Garbage collection: what the champion, its predecessor or an open request reaches stays, whatever happened (I8)."""

import os
import tempfile
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rsi.errors import RefusedError
from rsi.ids import canonical
from rsi.records import Clause, Judgement, Verdict, Version
from rsi.registry import adapters, champion, collect, versions
from rsi.registry.promote import rollback
from rsi.registry.verify import verify
from rsi.settings import Home
from rsi.store.ledger import Ledger
from tests.made import FixedClock, router

BASE = "b" * 64
ROLES = ("L0", "L1")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(("train", "harness", "ask", "reject", "promote", "back", "wait", "collect")),
        st.integers(0, 99),
    ),
    max_size=25,
)


class Registry:
    """A home in which things happen to versions; adapters are three small files."""

    def __init__(self, root: Path) -> None:
        self.home, self.clock, self.count = Home(root), FixedClock(), 0
        self.ledger = Ledger(self.home.ledger, self.clock)
        self.open: list[Verdict] = []
        self.home.harnesses.mkdir(parents=True)
        first = Version(base=BASE, adapters={}, harness=self.harness(), parent=None)
        self.made = [self.saved(first)]
        self.ledger.append("genesis", output=first.digest)
        self.served = [first.digest]

    def harness(self) -> str:
        """A harness that nobody had before."""
        from rsi.harness import hcp

        self.count += 1
        return hcp.store(self.home.harnesses, router().model_copy(update={"name": f"h{self.count}"}))

    def adapter(self, role: str) -> str:
        """An adapter that nobody had before, a year old."""
        self.count += 1
        with tempfile.TemporaryDirectory() as draft:
            (Path(draft) / "adapter_config.json").write_text("{}")
            (Path(draft) / "adapter_model.safetensors").write_text(str(self.count))
            hashes = adapters.hashes(Path(draft))
            card = adapters.Card(role=role, base=BASE, rank=1, alpha=1, files=hashes, harness="h", probe=())
            name = adapters.freeze(self.home, Path(draft), card).name
        self.age(adapters.folder(self.home, name))
        return name

    def saved(self, version: Version) -> str:
        """Keep a version as if it had been made a year ago."""
        name = versions.save(self.home, version)
        self.age(self.home.versions / f"{name}.json")
        return name

    def age(self, path: Path) -> None:
        """Make it older than all that is kept for its youth."""
        at = (self.clock.now() - timedelta(days=365)).timestamp()
        os.utime(path, (at, at))

    def do(self, what: str, pick: int) -> None:
        """One step of a history."""
        now = self.served[-1]
        known = [one for one in self.made if self.whole(one)]
        parent = now if pick % 3 else known[pick % len(known)]
        if what in ("train", "harness"):
            before = versions.load(self.home, parent)
            role = ROLES[pick % 2]
            change = (
                {"adapters": {**before.adapters, role: self.adapter(role)}}
                if what == "train"
                else {"harness": self.harness()}
            )
            made = before.model_copy(update={**change, "parent": parent})
            self.made.append(self.saved(made))
        elif what == "ask":
            self.ask(known[pick % len(known)], now)
        elif what == "reject" and self.open:
            gone = self.open.pop(pick % len(self.open))
            self.ledger.append(
                "approval",
                input=gone.digest,
                body={
                    "verdict": gone.digest,
                    "decision": "reject",
                    "approver": "ada",
                    "reason": "no",
                    "via": "command",
                },
            )
        elif what == "promote":
            target = known[pick % len(known)]
            if target != now:
                self.ledger.append("promotion", output=target, body={"replaces": now})
                self.served.append(target)
        elif what == "back":
            target = self.served[pick % len(self.served)]
            if target != now and self.whole(target):
                self.ledger.append("rollback", output=target, body={"replaces": now, "actor": "ada"})
                self.served.append(target)
        elif what == "wait":
            self.clock.move(days=3)
        elif what == "collect":
            collect.collect(self.home, self.clock)
            self.check()

    def whole(self, name: str) -> bool:
        """Whether all weights of a version are there."""
        held = versions.load(self.home, name).adapters.values()
        return all(adapters.folder(self.home, one).is_dir() for one in held)

    def ask(self, candidate: str, now: str) -> None:
        """A passed verdict, and a request that waits for a week."""
        self.count += 1
        found = Verdict(
            night=f"n{self.count}",
            champion=now,
            candidate=candidate,
            role=None,
            contract="tiny/v1",
            contract_digest="c" * 64,
            suites={"s/v1": "d" * 64},
            scorecard="e" * 64,
            judgement=Judgement.PASS,
            clauses=(Clause(name="gain", judgement=Judgement.PASS, text="", numbers={}),),
        )
        folder = self.home.verdicts / found.digest
        folder.mkdir(parents=True)
        (folder / "verdict.json").write_bytes(canonical(found.model_dump(mode="json")))
        expires = self.clock.now() + timedelta(days=7)
        body = {"expires": expires.isoformat(), "replaces": now, "role": None, "authors": []}
        self.ledger.append("request", input=found.digest, output=candidate, body=body)
        self.open.append(found)

    def check(self) -> None:
        """I8, in other words than the code's: walk every chain from what counts, and find all weights."""
        distinct = [one for at, one in enumerate(self.served) if one not in self.served[at + 1 :]]
        roots = set(distinct[-2:])
        for one in self.open:
            record = next(r for r in self.ledger if r.kind == "request" and r.input == one.digest)
            if self.clock.now().isoformat() <= str(record.body["expires"]):
                roots |= {one.champion, one.candidate}
        for root in roots:
            name: str | None = root
            while name:
                version = versions.load(self.home, name)
                for adapter in version.adapters.values():
                    adapters.describe(self.home, adapter)
                name = version.parent


@settings(max_examples=40)
@given(STEPS)
def test_what_is_reached_stays(steps: list[tuple[str, int]]) -> None:
    """After any history of trainings, requests, answers, promotions, rollbacks and collections."""
    with tempfile.TemporaryDirectory() as root:
        registry = Registry(Path(root))
        for what, pick in steps:
            registry.do(what, pick)
        registry.do("collect", 0)
        left = {name for one in registry.made for name in versions.load(registry.home, one).adapters.values()}
        deleted = collect.gone(registry.ledger)
        assert set(adapters.names(registry.home)) == left - deleted
        assert [one for one in verify(registry.home, registry.clock).findings if one.invariant == "I8"] == []


@pytest.fixture
def registry(tmp_path):
    """A champion with an adapter, the first version before it, and a candidate that nobody asked about."""
    made = Registry(tmp_path / "home")
    made.do("train", 2)
    made.do("promote", 1)
    made.do("train", 2)
    return made


def loose(registry: Registry) -> str:
    """The adapter that only the candidate holds."""
    return versions.load(registry.home, registry.made[-1]).adapters["L0"]


def test_what_goes_is_named_before_it_goes(registry):
    """In the ledger; `verify` then does not miss it, and the record of the version stays."""
    name = loose(registry)
    assert [one.name for one in collect.waste(registry.home, registry.clock)] == [name]

    (found,) = collect.collect(registry.home, registry.clock)

    assert (found.kind, found.name) == ("adapter", name)
    assert found.bytes > 0
    assert collect.gone(registry.ledger) == {name}
    assert not adapters.folder(registry.home, name).exists()
    assert [one.text for one in verify(registry.home, registry.clock).findings if one.invariant != "I1"] == []
    assert collect.collect(registry.home, registry.clock) == ()


def test_what_is_young_stays(registry):
    """Somebody may be about to gate it."""
    for path in (
        adapters.folder(registry.home, loose(registry)),
        registry.home.versions / f"{registry.made[-1]}.json",
    ):
        registry.age(adapters.folder(registry.home, loose(registry)))
        os.utime(path)
        assert collect.waste(registry.home, registry.clock) == ()


def test_what_an_unfinished_night_made_stays(registry):
    """A night that was killed goes on where it was."""
    registry.ledger.append("stage", night="n", stage="update", input="f" * 64, output=registry.made[-1])
    assert collect.waste(registry.home, registry.clock) == ()
    registry.ledger.append("end", night="n", body={"reason": "over"})

    assert len(collect.waste(registry.home, registry.clock)) == 1


def test_a_kill_in_between_is_made_good(registry, monkeypatch):
    """The ledger named it, nothing was deleted yet: the next run deletes it."""
    from rsi import faults

    faults._reached.clear()
    monkeypatch.setenv("RSI_FAULT", "collect.after_record:enospc")
    with pytest.raises(OSError, match="No space"):
        collect.collect(registry.home, registry.clock)
    monkeypatch.delenv("RSI_FAULT")
    assert adapters.folder(registry.home, loose(registry)).is_dir()

    collect.collect(registry.home, registry.clock)

    assert not adapters.folder(registry.home, loose(registry)).exists()


def test_drafts_of_killed_processes_go(registry):
    """Folders that never got their name."""
    draft = registry.home.adapters / ".L0-1.x"
    draft.mkdir()
    registry.age(draft)

    assert {one.kind for one in collect.collect(registry.home, registry.clock)} == {"adapter", "draft"}
    assert not draft.exists()


def test_a_version_without_its_weights_does_not_come_back(registry, tmp_path):
    """Two champions ago: the message says what became of it."""
    registry.do("promote", 2)
    first = champion.genesis(registry.ledger)
    for target in (first, registry.made[1], first):
        registry.ledger.append(
            "rollback", output=target, body={"replaces": registry.served[-1], "actor": "a"}
        )
        registry.served.append(target)
    collect.collect(registry.home, registry.clock)

    with pytest.raises(RefusedError, match="was deleted by `rsi gc`"):
        rollback(registry.home, registry.clock, registry.made[2], "ada", "back", [], tmp_path)


def test_a_missing_weight_of_the_champion_is_found(registry):
    """`verify` names it under I8."""
    name = versions.load(registry.home, registry.served[-1]).adapters["L0"]
    folder = adapters.folder(registry.home, name)
    folder.rename(folder.with_name(".away"))

    found = [one for one in verify(registry.home, registry.clock).findings if one.invariant == "I8"]

    assert name in found[0].text
