"""A whole night with the tiny model: a home with traces, contracts of its own, and the world around it.

`python -m tests.night_made HOME BASE CONTRACTS` runs it in a process of its own, to be killed in.
"""

import sys
from functools import cache
from pathlib import Path

import orjson

from rsi.context import Base, World
from rsi.engine.local import LocalEngine
from rsi.gate import fingerprints
from rsi.gate.suites import digest_of
from rsi.ids import night
from rsi.night import Ending, run
from rsi.ports import Clock, Engine, silent
from rsi.registry.genesis import found
from rsi.settings import Deployment, Home
from tests.fakes import Taught
from tests.made import REQUESTS, FixedClock, base_digest, router

NIGHT = night("2026-01-02")
HELD_OUT = {
    "L0": ("who painted the night watch", "explain inflation to a child"),
    "L1": ("order two pizzas to my flat", "which platform does the train leave from now"),
    "L2": ("bash loop over all csv files", "unit test for the parser"),
    "L3": ("settings screen with toggles", "chart that I can zoom into"),
}
QUESTIONS = (
    ("what colour is snow", "white"),
    ("how many legs has a dog", "four"),
    ("opposite of hot", "cold"),
)

SETTINGS = {
    "name": "tiny",
    "contract": "tiny/v1",
    "traces": {"origins": ["traffic"], "namespace": "tiny"},
    "split": {"dev": 0.0, "gate": 0.0, "vault": 0.0},
    "update": {
        "steps": 4,
        "prompts": 4,
        "samples": 8,
        "rank": 4,
        "alpha": 8,
        "checkpoint_every": 2,
        "learning_rate": 0.02,
    },
    "night": {"min_failures": 2},
}


def suite(root: Path, name: str, about: str, items: list[dict[str, object]]) -> str:
    """Write one suite with its fingerprints; its digest."""
    folder = root / "suites" / name / "v1"
    folder.mkdir(parents=True)
    (folder / "suite.toml").write_text(f'name = "{name}"\nversion = 1\n{about}\n')
    (folder / "items.jsonl").write_bytes(b"".join(orjson.dumps(one) + b"\n" for one in items))
    fingerprints.write(folder)
    return digest_of(folder)


def contracts(root: Path) -> Path:
    """A contract small enough for the tiny model, whose bars only the gain can miss."""
    routing = suite(
        root,
        "tiny-routing",
        'verifier = "choice"\nhop = "route"',
        [
            {"id": f"{role}-{at}", "split": "gate", "expected": role, "text": text, "hard": True}
            for role, texts in HELD_OUT.items()
            for at, text in enumerate(texts)
        ],
    )
    easy = suite(
        root,
        "tiny-easy",
        'verifier = "exact"\nhop = "answer"\nrole = "L0"',
        [
            {"id": f"q-{at}", "split": "gate", "expected": [answer], "text": text}
            for at, (text, answer) in enumerate(QUESTIONS)
        ],
    )
    (root / "gate" / "tiny").mkdir(parents=True)
    (root / "gate" / "tiny" / "v1.toml").write_text(
        f'schema_version = 1\nname = "tiny/v1"\n[target]\nsuite = "tiny-routing/v1"\ndigest = "{routing}"\n'
        "min_items = 4\nmin_accuracy = 0.0\nmin_label_accuracy = 0.0\nmin_hard_accuracy = 0.0\n"
        f'alpha = 0.49\n[[guards]]\nsuite = "tiny-easy/v1"\ndigest = "{easy}"\nmin_items = 1\nmargin = 0.9\n'
        "alpha = 0.49\nchampion_low = 0.0\nchampion_high = 1.0\nmax_tokens = 4\n"
    )
    return root


def traces(inbox: Path, routed: str = "L0") -> None:
    """Chat logs in which everything went to one specialist, with what people said was right."""
    inbox.mkdir(parents=True, exist_ok=True)
    lines = [
        {
            "id": f"{routed}-{role}-{at}",
            "messages": [{"role": "user", "content": text}, {"role": "assistant", "content": "well"}],
            "scores": [
                {"name": "route", "value": float(role == routed), "correction": role, "source": "human"}
            ],
        }
        for role, texts in REQUESTS.items()
        for at, text in enumerate(texts)
    ]
    (inbox / f"{routed}.jsonl").write_bytes(b"".join(orjson.dumps(one) + b"\n" for one in lines))


def settings(base: Path) -> Deployment:
    """The deployment of the tiny home."""
    return Deployment.model_validate({**SETTINGS, "base": str(base)})


def world(base: Path, clock: Clock | None = None, taught: bool = False) -> World:
    """The world with the tiny base; `taught` versions route held-out requests right (`tests.fakes.Taught`)."""
    named = Base(base, base_digest(base))

    @cache
    def engine() -> Engine:
        real = LocalEngine(base, named.digest, threads=1)
        return Taught(real, HELD_OUT) if taught else real

    return World(clock or FixedClock(), silent, lambda: named, engine)


def make_home(root: Path, base: Path) -> Home:
    """A home with a first version and traces in the inbox."""
    home = Home(root)
    found(home, FixedClock(), settings(base), router(), base_digest(base))
    (home.root / "key").write_bytes(b"0" * 64)
    traces(home.inbox)
    return home


def run_night(home: Home, base: Path, taught: bool = False, clock: Clock | None = None) -> Ending:
    """The night of the tiny home."""
    return run(home, Deployment.read(home.deployment_file), world(base, clock, taught), NIGHT)


def main() -> None:
    """Run the night in this process."""
    import torch

    torch.set_num_threads(1)
    print(run_night(Home(Path(sys.argv[1])), Path(sys.argv[2])).reason)


if __name__ == "__main__":
    main()
