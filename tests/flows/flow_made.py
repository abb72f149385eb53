"""Homes for the tests of the flows: one with traces for a night, one with a request that waits."""

from collections.abc import Mapping, Sequence
from math import log
from pathlib import Path

from rsi.assets import base_folder
from rsi.gate.contest import Contest, Means
from rsi.gate.gate import gate
from rsi.harness import hcp
from rsi.ports import Generation, Prompt, SystemClock
from rsi.records import Judgement, Verdict
from rsi.registry import approval, champion, genesis, versions
from rsi.settings import Deployment, Home
from rsi.store.ledger import Ledger
from tests.gate.made import Unrecorded, number, world
from tests.made import router
from tests.night_made import settings, traces

OTHER_TEXT = "Name the one specialist that shall answer."
APPROVER = "ada"


class PromptedEngine:
    """An engine that routes right where the route text is `OTHER_TEXT`, and always to L0 elsewhere."""

    def __init__(self, base: str) -> None:
        self.base = base

    def choose(
        self, prompts: Sequence[Prompt], choices: Sequence[str], adapter: str | None
    ) -> list[tuple[float, ...]]:
        """0.7 for what is said, the rest shared."""
        return [self._row(prompt, choices) for prompt in prompts]

    def _row(self, prompt: Prompt, choices: Sequence[str]) -> tuple[float, ...]:
        role = prompt[-1].content.split()[3] if prompt[0].content == OTHER_TEXT else "L0"
        said = router().word(role)
        return tuple(log(0.7) if one == said else log(0.3 / (len(choices) - 1)) for one in choices)

    def generate(
        self,
        prompts: Sequence[Prompt],
        adapter: str | None,
        max_tokens: int,
        temperature: float = 0.0,
        seed: int = 0,
    ) -> list[Generation]:
        """Three facts of five are known."""
        texts = [prompt[-1].content for prompt in prompts]
        said = [f"It is fact{number(one)}." if number(one) % 5 < 3 else "I do not know." for one in texts]
        return [Generation(one, (), (), "stop") for one in said]

    def logprobs(
        self, prompts: Sequence[Prompt], answers: Sequence[str], adapter: str | None
    ) -> list[tuple[float, ...]]:
        """Not needed here."""
        raise NotImplementedError

    def load(self, name: str, folder: Path) -> None:
        """There are no adapters."""

    def unload(self, name: str) -> None:
        """There are no adapters."""

    def adapters(self) -> Mapping[str, Path]:
        """There are no adapters."""
        return {}


def tiny_home(root: Path, base: Path, *, with_traces: bool) -> Home:
    """A home on the tiny base whose night reads the system's clock."""
    home = Home(root)
    deployment = settings(base).model_copy(update={"approvers": (APPROVER,)})
    genesis.found(home, SystemClock(), deployment, router(), base_folder(str(base))[1])
    if with_traces:
        traces(home.inbox)
    return home


def with_request(root: Path, base: Path, contracts: Path, night: str = "2026-01-02") -> tuple[Home, Verdict]:
    """A home in which a candidate with another route text passed its gate and waits for an answer.

    Verdicts of the same night are the same verdict, and have one promotion on the server that tests share.
    """
    home = tiny_home(root, base, with_traces=False)
    clock, deployment = SystemClock(), Deployment.read(home.deployment_file)
    before = versions.load(home, champion.current(Ledger(home.ledger, clock)))
    plain = router()
    prompts = plain.prompts.model_copy(update={"route": OTHER_TEXT})
    other = hcp.store(home.harnesses, plain.model_copy(update={"prompts": prompts}))
    after = before.model_copy(update={"harness": other, "parent": before.digest})
    versions.save(home, after)
    verdict = gate(
        home,
        "made/v1",
        Contest(before, after),
        Means(PromptedEngine(before.base), lambda name: hcp.load(home.harnesses, name)),
        Unrecorded(),
        night=night,
        contracts=contracts,
    )
    assert verdict.judgement is Judgement.PASS, verdict.clauses
    approval.open_request(home, clock, deployment, verdict)
    return home, verdict


def made_contracts(root: Path) -> Path:
    """Contract and suites that the scripted candidate passes."""
    return world(root).root
