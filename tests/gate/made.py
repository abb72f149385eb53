"""A small world for the gate: suites, a contract, versions, and an engine that answers by script."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from pathlib import Path

import orjson
import tomlkit

from rsi.gate.budget import allowance
from rsi.gate.contract import Contract, read
from rsi.gate.suites import Suite, digest_of, load
from rsi.harness.hcp import Harness, Prompts
from rsi.ports import Generation, Prompt
from rsi.questions import Allowance, Certificate, Registration
from rsi.records import Version

BASE = "b" * 64
LABELS = {"chat": "L0", "agent": "L1", "code": "L2", "ui": "L3"}
WORDS = {role: word for word, role in LABELS.items()}
HARNESS = Harness(name="made", prompts=Prompts(route="Say one word."), labels=LABELS)
OTHER = Harness(name="other", prompts=Prompts(route="Name the specialist."), labels=LABELS)
CHAMPION = Version(base=BASE, adapters={"L0": "L0-old"}, harness=HARNESS.digest, parent=None)
CANDIDATE = Version(base=BASE, adapters={"L0": "L0-new"}, harness=HARNESS.digest, parent=CHAMPION.digest)

Say = Callable[[str], str]
"""What an adapter says to the last user turn."""


def harness_of(digest: str) -> Harness:
    """The harness with a digest."""
    return {HARNESS.digest: HARNESS, OTHER.digest: OTHER}[digest]


@dataclass
class ScriptedEngine:
    """An engine whose adapters follow scripts; `asked` lists (adapter, text) of every prompt it saw."""

    routes: Mapping[str | None, Say]
    answers: Mapping[str | None, Say]
    fail: Callable[[str | None, str], Exception | None] = lambda adapter, text: None
    base: str = BASE
    asked: list[tuple[str | None, str]] = field(default_factory=list)

    def choose(
        self, prompts: Sequence[Prompt], choices: Sequence[str], adapter: str | None
    ) -> list[tuple[float, ...]]:
        """0.7 for what the script says, the rest shared; a script's "tie" makes all equal."""
        rows = []
        for text in self._texts(prompts, adapter):
            said = self.routes[adapter](text)
            rows.append(
                tuple(0.0 if said == "tie" else log(0.7 if word == said else 0.1) for word in choices)
            )
        return rows

    def generate(
        self,
        prompts: Sequence[Prompt],
        adapter: str | None,
        max_tokens: int,
        temperature: float = 0.0,
        seed: int = 0,
    ) -> list[Generation]:
        """The script's words, as many as the cap allows."""
        assert temperature == 0.0
        said = (self.answers[adapter](text) for text in self._texts(prompts, adapter))
        return [Generation(" ".join(text.split(" ")[:max_tokens]), (), (), "stop") for text in said]

    def logprobs(
        self, prompts: Sequence[Prompt], answers: Sequence[str], adapter: str | None
    ) -> list[tuple[float, ...]]:
        """Not needed here."""
        raise NotImplementedError

    def load(self, name: str, folder: Path) -> None:
        """Adapters are scripts; there is nothing to load."""

    def unload(self, name: str) -> None:
        """Nothing to forget."""

    def adapters(self) -> Mapping[str, Path]:
        """Every adapter with a script."""
        return {name: Path(name) for name in (*self.routes, *self.answers) if name}

    def _texts(self, prompts: Sequence[Prompt], adapter: str | None) -> list[str]:
        texts = [prompt[-1].content for prompt in prompts]
        self.asked += [(adapter, text) for text in texts]
        for text in texts:
            if error := self.fail(adapter, text):
                raise error
        return texts


class Unrecorded:
    """An account of one question that nobody keeps."""

    def settled(self, registration: Registration) -> str | None:
        """Nobody knows."""
        return None

    def allow(self, contract: Contract, registration: Registration) -> Allowance:
        """The first question's share."""
        return allowance((), contract, registration)

    def ask(self, contract: Contract, registration: Registration, allowance: Allowance) -> None:
        """Nobody keeps it."""

    def settle(self, certificate: Certificate) -> None:
        """Nobody keeps it."""


def number(text: str) -> int:
    """The number in a made text: ``request 17 for L2`` is 17."""
    return int(text.split()[1])


def routes_right(one_in: int, wrong: str = "chat") -> Say:
    """A router that is right on one request in `one_in`, and says `wrong` else."""
    return lambda text: WORDS[text.split()[3]] if number(text) % one_in == 0 else wrong


def answers_right(share: int, of: int = 5) -> Say:
    """An answerer that knows `share` of every `of` questions."""
    return lambda text: f"It is fact{number(text)}." if number(text) % of < share else "I do not know."


OLD_ROUTES, OLD_ANSWERS = routes_right(4), answers_right(3)


def engine(new_routes: Say, new_answers: Say) -> ScriptedEngine:
    """The champion routes one in four right and knows three facts of five; the candidate as given."""
    return ScriptedEngine(
        {None: OLD_ROUTES, "L0-old": OLD_ROUTES, "L0-new": new_routes},
        {None: OLD_ANSWERS, "L0-old": OLD_ANSWERS, "L0-new": new_answers},
    )


def write_suite(folder: Path, about: Mapping[str, object], lines: Sequence[Mapping[str, object]]) -> str:
    """Write the two files of a suite and return its digest."""
    folder.mkdir(parents=True)
    (folder / "suite.toml").write_text(tomlkit.dumps(dict(about)))
    (folder / "items.jsonl").write_bytes(b"".join(orjson.dumps(dict(line)) + b"\n" for line in lines))
    return digest_of(folder)


def routing_lines(per_label: int) -> list[dict[str, object]]:
    """Requests of every label, a quarter of them hard."""
    return [
        {
            "id": f"{role}-{n}",
            "split": "gate",
            "expected": role,
            "hard": n % 4 == 1,
            "text": f"request {n} for {role}",
        }
        for role in WORDS
        for n in range(per_label)
    ]


def easy_lines(count: int) -> list[dict[str, object]]:
    """Questions whose answer is ``factN``."""
    return [
        {"id": f"q{n}", "split": "gate", "expected": [f"fact{n}"], "text": f"question {n} please"}
        for n in range(count)
    ]


ROUTING = {
    "name": "routing",
    "version": 1,
    "verifier": "choice",
    "hop": "route",
    "description": "Who answers?",
}
EASY = {
    "name": "easy",
    "version": 1,
    "verifier": "exact",
    "hop": "answer",
    "role": "L0",
    "description": "Facts.",
}


@dataclass(frozen=True)
class World:
    """A contracts folder with one contract and its two suites."""

    root: Path
    contract: Contract

    @property
    def suites(self) -> dict[str, Suite]:
        """The suites, as the contract pins them."""
        return {name: load(name, pin, self.root) for name, pin in self.contract.pins.items()}


def world(
    root: Path,
    per_label: int = 50,
    easy: int = 150,
    anchor: str | None = None,
    routing: Sequence[Mapping[str, object]] | None = None,
    **target: object,
) -> World:
    """Write suites and contract below `root`."""
    first = write_suite(root / "suites/routing/v1", ROUTING, routing or routing_lines(per_label))
    second = write_suite(root / "suites/easy/v1", EASY, easy_lines(easy))
    said = {
        "schema_version": 1,
        "name": "made/v1",
        "target": {"suite": "routing/v1", "digest": first, "min_items": 200, "min_accuracy": 0.9, **target},
        "guards": [{"suite": "easy/v1", "digest": second, "min_items": 150, "max_tokens": 8}],
    }
    if anchor:
        said["anchor"] = anchor
    path = root / "gate/made/v1.toml"
    path.parent.mkdir(parents=True)
    path.write_text(tomlkit.dumps(said))
    return World(root, read("made/v1", root))


def with_tables(made: World, **tables: object) -> World:
    """The same suites under a contract that says more."""
    path = made.root / "gate/made/v1.toml"
    path.write_text(tomlkit.dumps({**tomlkit.parse(path.read_text()).unwrap(), **tables}))
    return World(made.root, read("made/v1", made.root))


DRAWN = 12
"""Episodes that a suite of fresh items draws."""
PLAYED = {"name": "played", "version": 1, "verifier": "final_state", "hop": "world", "role": "L1", "description": ""}
_BUDGET = {"items": "fresh", "questions": 9, "alpha": 0.05, "spending": "harmonic"}
_TARGET = {"suite": "played/v1", "min_items": 4, "min_hard_items": 0, "min_accuracy": 0.2, "max_tokens": 24}
_GUARD = {"suite": "routing/v1", "min_items": 8, "margin": 0.5, "champion_low": 0.0, "champion_high": 1.0}


def fresh_contracts(root: Path, budget: dict[str, object] | None = None, environment: str = "desk") -> Path:
    """A contract whose target draws its episodes for each question, with routing as the guard."""
    guard = write_suite(root / "suites/routing/v1", ROUTING, routing_lines(2))
    source = {
        "source": "environment",
        "environment": environment,
        "pool": "reworded",
        "fresh": True,
        "count": DRAWN,
    }
    folder = root / "suites/played/v1"
    folder.mkdir(parents=True)
    (folder / "suite.toml").write_text(tomlkit.dumps({**PLAYED, "items": source}))
    said = {
        "schema_version": 1,
        "name": "agent/v1",
        "budget": budget or _BUDGET,
        "target": {**_TARGET, "digest": digest_of(folder)},
        "guards": [{**_GUARD, "digest": guard, "max_tokens": 1}],
    }
    (root / "gate/agent").mkdir(parents=True)
    (root / "gate/agent/v1.toml").write_text(tomlkit.dumps(said))
    return root
