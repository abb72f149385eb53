"""What rehearsal keeps and what it costs, on the base model; part of ``make bench``.

The bare base learns to route. Then, from there, it learns from more requests and from the log of one client whose
requests are all labelled chat (`flows.week`): once a weight of `rsi.algorithm.Rehearse`. Lines for each: held-out
requests routed right, easy questions that the router's own adapter answers right, won and lost against where it went on
from with the 95% interval of the difference; how far its answers to requests of a later day, which it has not
rehearsed, are from those it would have given; and processor time against the first weight's.

The suites are those of the contract of five nights; nobody is promoted, and no ledger is asked.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from peft import set_peft_model_state_dict
from safetensors.torch import load_file

from flows import week
from flows.traffic import Request, read
from rsi.algorithm import Rehearse, Update
from rsi.assets import resolve
from rsi.engine import chat
from rsi.engine.local import LocalEngine
from rsi.engine.weights import read_base
from rsi.gate import lock
from rsi.gate.bench import Bench, unspoken
from rsi.gate.questions import Contender
from rsi.gate.suites import Suite, load
from rsi.harness import hcp
from rsi.ids import Digest
from rsi.ports import Generation, Prompt, SystemClock
from rsi.records import ChatMessage, Task, Version
from rsi.registry import adapters, genesis, versions
from rsi.report.progress import TerminalProgress
from rsi.report.words import points
from rsi.settings import PROJECT, Deployment, Home, contracts_dir
from rsi.statistics.intervals import paired_difference
from rsi.tasks import bank
from rsi.update import learner
from rsi.update.rehearsal import Rehearsal, script
from rsi.update.stage import train
from rsi.world import real

ROLE, HOP = week.ROUTER, "route"


class Taught(NamedTuple):
    """A router after a job."""

    version: Digest
    cpu: float
    """Seconds of processor time of the whole job."""


class Place(NamedTuple):
    """Where jobs are worked on."""

    home: Home
    deployment: Deployment

    def taught(self, parent: Digest, tasks: Digest, settings: Update) -> Taught:
        """Train, and take the time."""
        began = time.process_time()
        world = real(self.deployment, TerminalProgress())
        made = train(self.home, self.deployment, world, parent, tasks, ROLE, HOP, settings)
        return Taught(made, time.process_time() - began)

    def bank(self, requests: Sequence[Request]) -> Digest:
        """Requests as tasks."""
        return bank.freeze(self.home, "bench", [_task(one) for one in requests])

    def right(self, version: Digest, suites: Sequence[Suite]) -> list[list[bool]]:
        """Suite by suite, item by item."""
        found = versions.load(self.home, version)
        base = real(self.deployment).base()
        engine = LocalEngine(base.folder, base.digest)
        for name in found.adapters.values():
            engine.load(name, adapters.folder(self.home, name))
        return [_right(Contender(found, self._harness(found)), Bench(engine, unspoken), one) for one in suites]

    def apart(self, router: Digest, made: Digest, requests: Sequence[Request]) -> float:
        """KL(router || made) in nats a token, over what the router answers to requests."""
        base = real(self.deployment).base()
        old, new = (versions.load(self.home, one) for one in (router, made))
        harness, count = self._harness(old), len(requests)
        settings = Update(rehearsal=Rehearse(weight=1.0, requests=count, prompts=count))
        engine = LocalEngine(base.folder, base.digest)
        engine.load("router", adapters.folder(self.home, old.adapters[ROLE]))

        def render(messages: Prompt) -> list[int]:
            return chat.tokens(engine.tokenizer, harness.answer_prompt(ROLE, messages))

        def ask(prompts: Sequence[Sequence[int]]) -> Sequence[Generation]:
            return engine.generate_tokens(prompts, "router", settings.rehearsal.tokens, 0.0, [0] * len(prompts))

        with tempfile.TemporaryDirectory() as folder:
            said = script(Path(folder), settings, [_task(one) for one in requests], render, ask)
        model = learner.build(
            self.home.adapters, read_base(base.folder)[0], settings, old.adapters[ROLE], frozen=()
        )
        held = Rehearsal(model.decoder, said.answers, settings)
        weights = load_file(adapters.folder(self.home, new.adapters[ROLE]) / "adapter_model.safetensors")
        set_peft_model_state_dict(model.model, weights, adapter_name=learner.TRAINED)
        return held.pay(0)

    def _harness(self, version: Version) -> hcp.Harness:
        return hcp.load(self.home.harnesses, version.harness)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", type=float, nargs="+", default=[0.0, 3.0])
    parser.add_argument("--first", type=int, default=28, help="steps of the router that all go on from")
    parser.add_argument("--steps", type=int, default=40, help="steps from there")
    parser.add_argument("--items", type=int, default=1000, help="most items of a suite, and later requests")
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    rules = week.deployment()
    contract = lock.approved(contracts_dir(), rules.contract)
    suites = [load(name, pin, contracts_dir(), resolve) for name, pin in contract.pins.items()]
    suites = [Suite(one.about, one.digest, one.items[: given.items]) for one in suites]
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Home(Path(folder)), rules)
        later = week.traffic(read()).asked[4][: given.items]
        told(place, suites, given.weights, given.first, given.steps, later)


def told(
    place: Place,
    suites: Sequence[Suite],
    weights: Sequence[float],
    first: int,
    steps: int,
    later: Sequence[Request],
) -> None:
    """Train and measure the router that all go on from, then each; a line each."""
    harness = hcp.read(PROJECT / "data" / "harness" / "router.toml")
    base = real(place.deployment).base().digest
    start = Digest(genesis.found(place.home, SystemClock(), place.deployment, harness, base).output or "")
    asked = week.traffic(read())
    early, late = asked.logged[0], [*asked.asked[1], *asked.asked[2], *asked.logged[2]]
    router = place.taught(start, place.bank(early), Update(steps=first)).version
    before = place.right(router, suites)
    for suite, right in zip(suites, before, strict=True):
        print(f"router: {suite.name} {sum(right)} of {len(right)}", flush=True)
    more = place.bank([*early, *late])
    plain = None
    for weight in weights:
        rules = place.deployment.update
        rehearsal = rules.rehearsal.model_copy(update={"weight": weight})
        made = place.taught(router, more, rules.model_copy(update={"steps": steps, "rehearsal": rehearsal}))
        plain = plain or made.cpu
        after = place.right(made.version, suites)
        for suite, old, new in zip(suites, before, after, strict=True):
            print(f"weight {weight:g}: {suite.name} {_against(old, new)}", flush=True)
        far = place.apart(router, made.version, later)
        cost = f"{made.cpu / plain:.2f} times the processor time"
        print(f"weight {weight:g}: {far:.4f} nats a token from the router; {cost}", flush=True)


def _task(one: Request) -> Task:
    said = (ChatMessage(role="user", content=one.text),)
    return bank.task(HOP, said, "choice", one.label, None, (one.id,), "correction")


def _right(side: Contender, bench: Bench, suite: Suite) -> list[bool]:
    replies = bench.ask([side.question(suite.about, one, 16) for one in suite.items])
    outcomes = [
        side.outcome(suite.about, one, reply)[0] for one, reply in zip(suite.items, replies, strict=True)
    ]
    return [one.score == 1.0 for one in outcomes]


def _against(old: Sequence[bool], new: Sequence[bool]) -> str:
    won = sum(after and not before for before, after in zip(old, new, strict=True))
    lost = sum(before and not after for before, after in zip(old, new, strict=True))
    low, high = paired_difference(won, lost, len(new))
    return f"{sum(new)} of {len(new)}, {won} won, {lost} lost, {points(low)} to {points(high)} points"


if __name__ == "__main__":
    main()
