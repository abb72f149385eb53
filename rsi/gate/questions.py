"""What a version is asked for an item, and what its reply is worth."""

from dataclasses import dataclass
from typing import NamedTuple

from rsi.gate.suites import About
from rsi.harness.hcp import Harness
from rsi.harness.rules import Rules
from rsi.ports import Prompt
from rsi.records import Item, Outcome, OutcomeKind, Version
from rsi.report.evidence import Took
from rsi.tasks.prompt import ROUTE, answering
from rsi.tasks.worlds import HOP as WORLD
from rsi.verifiers import VERIFIERS, Verifiers, verify


class Question(NamedTuple):
    """All that decides an answer."""

    adapter: str | None
    prompt: Prompt
    """What is read; empty for an episode, which writes its own."""
    words: tuple[str, ...] = ()
    """The labels to choose from; empty where the answer is written."""
    max_tokens: int = 0
    """Cap on a written answer."""
    world: str = ""
    """JSON of the `WorldTask` to be played; empty where it is one answer."""
    rules: Rules | None = None
    """Of the episode."""
    temperature: float = 0.0
    """Of a written answer; 0 takes the likeliest token."""
    seed: int = 0
    """Of what is drawn."""


class Reply(NamedTuple):
    """What came back: a text, or why there is none."""

    text: str
    error: str = ""
    outcome: Outcome | None = None
    """Of an episode, which was judged by the state that its world ended in."""
    took: Took | None = None
    """Null where there is no answer."""


def judged(reply: Reply, verifier: str, expected: str, verifiers: Verifiers = VERIFIERS) -> Outcome:
    """What a reply is worth."""
    if reply.error:
        return Outcome(kind=OutcomeKind.ERROR, detail=reply.error)
    return reply.outcome or verify(verifier, reply.text, expected, verifiers)


@dataclass(frozen=True)
class Contender:
    """A version with its harness: one side of the comparison."""

    version: Version
    harness: Harness

    def question(self, about: About, item: Item, max_tokens: int) -> Question:
        """What this version is asked for an item; it answers greedily, `max_tokens` at most in an answer."""
        role = self.harness.router if about.hop == ROUTE else about.role or ""
        adapter = self.version.adapters.get(role)
        if about.hop == ROUTE:
            return Question(adapter, self.harness.route_prompt(item.messages), self.harness.words)
        if about.hop == WORLD:
            rules = self.harness.agent
            cap = min(rules.answer_tokens, max_tokens)
            greedy = rules.model_copy(update={"temperature": 0.0, "answer_tokens": cap})
            return Question(adapter, (), world=item.world, rules=greedy)
        prompt = answering(role, item.messages, item.tools, self.harness)
        return Question(adapter, prompt, max_tokens=max_tokens)

    def outcome(
        self, about: About, item: Item, reply: Reply, verifiers: Verifiers = VERIFIERS
    ) -> tuple[Outcome, str]:
        """The outcome, and the answer as it is kept: for a route the role that the chosen label names."""
        if about.hop == ROUTE and not reply.error:
            reply = reply._replace(text=self.harness.labels.get(reply.text, self.harness.router))
        return judged(reply, about.verifier, item.expected, verifiers), reply.text
