"""A home whose nights take no training: an engine that knows as much as its adapter and route text say, and a trainer
that lays such adapters down. Store, ledger, gate and files are the real ones.
"""

import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import orjson
import pytest
from safetensors.numpy import save_file

from rsi.context import Base, World
from rsi.engine.publish import PROBES, EngineReplica
from rsi.harness import hcp
from rsi.ids import night
from rsi.night import run
from rsi.ports import Clock, Generation, Progress, Prompt, Trainer, silent
from rsi.records import Approval, Decision, LedgerRecord, Version
from rsi.registry import adapters, approval, promote, versions
from rsi.registry.genesis import found
from rsi.settings import Deployment, Home
from rsi.update import job as jobs
from rsi.update.brought import brought
from tests import night_made
from tests.made import FixedClock, base_digest, router

ROLES = ("L0", "L1", "L2", "L3")
STEP = 16
"""Held-out items that a lesson adds: as many as pass at the level of one question."""
_THINGS = ("invoice", "garden", "trumpet", "glacier", "pillow", "lantern", "orchard", "vessel")
_ASKED = (
    "Measure",
    "Describe",
    "Mend",
    "Paint",
    "Weigh",
    "Borrow",
    "Polish",
    "Compare",
    "Bury",
    "Photograph",
    "Fold",
    "Draw",
    "Carry",
    "Count",
)
HELD_OUT = tuple(f"{verb} an old {thing}" for verb, thing in product(_ASKED, _THINGS))
"""Requests of the gate; the one with number n wants the role `ROLES[n % 4]`."""
_ROLE_OF = {text: at % 4 for at, text in enumerate(HELD_OUT)}
LAYER = "model.layers.0.self_attn.q_proj"
BARE, ACTING = (-1.5, -1.4, -1.3, -1.35), (-0.5, -1.5, -2.5, -2.5)
"""What is said of any other request without an adapter, and with one."""


class Pupil:
    """An engine that routes the first n held-out requests right; its adapter's files and its prompt say n."""

    def __init__(self, base: str, order: Sequence[str] = HELD_OUT) -> None:
        """`order` is that in which held-out requests are learnt."""
        self.base, self._order = base, tuple(order)
        self._folders: dict[str, Path] = {}
        words = {role: word for word, role in router().labels.items()}
        self._words = [words[role] for role in ROLES]

    def choose(
        self, prompts: Sequence[Prompt], choices: Sequence[str], adapter: str | None
    ) -> list[tuple[float, ...]]:
        learnt = level_of(self._folders[adapter]) if adapter else 0
        rows = []
        for prompt in prompts:
            at = _ROLE_OF.get(prompt[-1].content)
            if at is None:
                rows.append(ACTING if adapter else BARE)
                continue
            knows = self._order.index(prompt[-1].content) < learnt + told_in(prompt[0].content)
            word = self._words[at if knows else (at + 1) % 4]
            rows.append(tuple(0.0 if one == word else -50.0 for one in choices))
        return rows

    def generate(
        self,
        prompts: Sequence[Prompt],
        adapter: str | None,
        max_tokens: int,
        temperature: float = 0.0,
        seed: int = 0,
    ) -> list[Generation]:
        return [Generation("white", (1,), (-0.1,), "stop") for _ in prompts]

    def generate_tokens(
        self,
        prompts: Sequence[Sequence[int]],
        adapter: str | None,
        max_tokens: int,
        temperature: float,
        seeds: Sequence[int],
    ) -> list[Generation]:
        raise NotImplementedError

    def logprobs(
        self, prompts: Sequence[Prompt], answers: Sequence[str], adapter: str | None
    ) -> list[tuple[float, ...]]:
        raise NotImplementedError

    def load(self, name: str, folder: Path) -> None:
        self._folders[name] = folder

    def unload(self, name: str) -> None:
        self._folders.pop(name, None)

    def adapters(self) -> Mapping[str, Path]:
        return self._folders


def level_of(folder: Path) -> int:
    """How many held-out requests an adapter knows; a key that admission lets pass says it."""
    return int(orjson.loads((folder / "adapter_config.json").read_bytes())["revision"])


def told_in(text: str) -> int:
    """How many a route text tells."""
    _, _, said = text.rpartition(" knows ")
    return int(said) if said.isdigit() else 0


def lessons(home: Home, gain: int) -> Trainer:
    """A trainer whose adapters know `gain` requests more than those they start from."""

    def teach(place: Path, progress: Progress) -> None:
        job = jobs.read(place)
        before = level_of(adapters.folder(home, job.warm_start)) if job.warm_start else 0
        draft = home.root.parent / "lessons" / job.digest
        draft.mkdir(parents=True, exist_ok=True)
        config = {"peft_type": "LORA", "r": 1, "lora_alpha": 1, "target_modules": ["q_proj"]}
        (draft / "adapter_config.json").write_bytes(orjson.dumps({**config, "revision": str(before + gain)}))
        seed = int(job.digest[:8], 16)
        numbers = np.random.default_rng(seed).normal(size=(2, 4)).astype(np.float32)
        name = f"base_model.model.{LAYER}.lora_"
        save_file(
            {f"{name}A.weight": numbers[:1], f"{name}B.weight": numbers[1:].T.copy()},
            draft / "adapter_model.safetensors",
        )
        card = adapters.Card(
            role=job.role,
            base=job.base,
            rank=1,
            alpha=1,
            files=adapters.hashes(draft),
            harness=job.harness,
            probe=(ACTING,) * len(PROBES),
        )
        adapters.seal(draft, card)
        brought(draft)(place, progress)

    return teach


def base(folder: Path) -> Path:
    """A base model of one layer, which only admission looks at."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    save_file({f"{LAYER}.weight": np.ones((4, 4), np.float32)}, folder / "model.safetensors")
    return folder


def contracts(root: Path) -> Path:
    """Routing of `HELD_OUT` under a budget of questions, and easy questions as a guard."""
    items: list[dict[str, object]] = [
        {"id": f"r-{at}", "split": "gate", "expected": ROLES[at % 4], "text": text, "hard": True}
        for at, text in enumerate(HELD_OUT)
    ]
    routing = night_made.suite(root, "machine-routing", 'verifier = "choice"\nhop = "route"', items)
    easy: list[dict[str, object]] = [
        {"id": f"q-{at}", "split": "gate", "expected": [answer], "text": text}
        for at, (text, answer) in enumerate(night_made.QUESTIONS)
    ]
    guard = night_made.suite(root, "machine-easy", 'verifier = "exact"\nhop = "answer"\nrole = "L0"', easy)
    (root / "gate" / "tiny").mkdir(parents=True)
    (root / "gate" / "tiny" / "v1.toml").write_text(
        f'schema_version = 1\nname = "tiny/v1"\n[target]\nsuite = "machine-routing/v1"\ndigest = "{routing}"\n'
        "min_items = 4\nmin_accuracy = 0.0\nmin_label_accuracy = 0.0\nmin_hard_accuracy = 0.0\nalpha = 0.49\n"
        '[budget]\nitems = "reused"\nalpha = 0.49\nquestions = 16\naccepts = 6\nstarts = 3\n'
        f'[[guards]]\nsuite = "machine-easy/v1"\ndigest = "{guard}"\nmin_items = 1\nmargin = 0.9\nalpha = 0.49\n'
        "champion_low = 0.0\nchampion_high = 1.0\nmax_tokens = 4\n"
    )
    return root


def make_home(root: Path, folder: Path, clock: Clock) -> tuple[Home, Deployment]:
    """A home with a first version, and its deployment."""
    home, deployment = Home(root), night_made.settings(folder)
    found(home, clock, deployment, router(), base_digest(folder))
    (home.root / "key").write_bytes(b"0" * 64)
    return home, deployment


def world(
    home: Home, folder: Path, clock: Clock, gain: int = STEP, order: Sequence[str] = HELD_OUT
) -> World:
    """The world around it; `gain` is what a night's training brings, `order` in which requests are learnt."""
    named = Base(folder, base_digest(folder))
    engine = Pupil(named.digest, order)
    return World(clock, silent, lambda: named, lambda: engine, lessons(home, gain))


def logs(inbox: Path, number: int) -> None:
    """A file of chats that all went to L0, with what people said was right; other requests for each number."""
    inbox.mkdir(parents=True, exist_ok=True)
    lines = [
        {
            "id": f"{number}-{role}-{at}",
            "messages": [
                {"role": "user", "content": f"{text} {_mark(number, at)}"},
                {"role": "assistant", "content": "well"},
            ],
            "scores": [
                {"name": "route", "value": float(role == "L0"), "correction": role, "source": "human"}
            ],
        }
        for role, texts in night_made.REQUESTS.items()
        for at, text in enumerate(texts[:2])
    ]
    (inbox / f"log-{number}.jsonl").write_bytes(b"".join(orjson.dumps(one) + b"\n" for one in lines))


def _mark(number: int, at: int) -> str:
    """Words that make a request another one than that of any other file."""
    letters = "abcdefghij"
    word = "".join(letters[int(digit)] for digit in f"{number:02d}")
    return f"for mister {word}{word} and miss {word}{letters[at]}{word} of {word}ville"


def harness_version(home: Home, champion: str, gain: int, number: int) -> Version:
    """The champion with a route text that tells `gain` requests more."""
    before = versions.load(home, champion)
    plain = hcp.load(home.harnesses, before.harness)
    text = f"Text {number} of this house. knows {told_in(plain.prompts.route) + gain}"
    prompts = plain.prompts.model_copy(update={"route": text})
    made = hcp.store(home.harnesses, plain.model_copy(update={"prompts": prompts}))
    version = before.model_copy(update={"harness": made, "parent": champion})
    versions.save(home, version)
    return version


class Slept(NamedTuple):
    """A home after one night."""

    root: Path
    """Holds the home and its contracts."""
    home: Home
    base: Path
    verdict: str
    """Passed, and a person was asked."""


@cache
def slept() -> Slept:
    """A home whose first night's candidate waits for an answer; one a process, to be copied."""
    root, clock = Path(tempfile.mkdtemp(prefix="rsi-slept-")), FixedClock()
    folder = base(root / "base")
    contracts(root / "contracts")
    home, deployment = make_home(root / "home", folder, clock)
    logs(home.inbox, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RSI_CONTRACTS", str(root / "contracts"))
        ending = run(home, deployment, world(home, folder, clock), night("2026-01-02"))
    assert ending.judgement == "pass", ending.reason
    return Slept(root, home, folder, str(ending.verdict))


def approve(home: Home, verdict: str, clock: Clock | None = None) -> LedgerRecord:
    """Ada says yes."""
    said = Approval(verdict=verdict, decision=Decision.APPROVE, approver="ada", reason="so", via="command")
    return approval.answer(home, clock or FixedClock(), Deployment.read(home.deployment_file), said, verdict[:8])


def put(home: Home, folder: Path, verdict: str, clock: Clock | None = None) -> LedgerRecord:
    """Promote with an engine of its own."""
    replica = EngineReplica(world(home, folder, FixedClock()).engine())
    return promote.promote(home, clock or FixedClock(), verdict, [replica], folder)


def back(home: Home, folder: Path) -> LedgerRecord:
    """Roll back with an engine of its own."""
    replica = EngineReplica(world(home, folder, FixedClock()).engine())
    return promote.rollback(home, FixedClock(), None, "ada", "slow", [replica], folder)
