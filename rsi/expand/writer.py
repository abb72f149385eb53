"""The generator of a night: a model behind an OpenAI-compatible server, with a budget and a journal."""

from functools import cached_property

import orjson

from rsi.engine.openai import OpenAIEngine, endpoint
from rsi.expansion import Generator
from rsi.ids import digest
from rsi.records import ChatMessage
from rsi.store.journal import Journal


class Writer:
    """Asks the generator; a question that was asked before gets the answer of then."""

    def __init__(self, rules: Generator, journal: Journal) -> None:
        """A writer within the deployment's budget."""
        self._rules, self._journal = rules, journal
        self.spent = 0
        """Questions so far, those of an interrupted night included."""

    def ask(self, prompt: str, schema: str) -> str | None:
        """The answer; none where the budget is spent.

        Raises:
            TransientError: the server is away.
            ContractError: it refuses.
        """
        if self.spent >= self._rules.calls:
            return None
        key = digest([self._rules.model, self.spent, prompt, schema])[:32]
        self.spent += 1
        known = self._journal.get(key)
        if known is None:
            turns = (ChatMessage(role="user", content=prompt),)
            said = self._engine.structured(turns, orjson.loads(schema), self._rules.max_tokens, self.spent)
            known = self._journal.put(key, {"text": said})
        return str(known["text"])

    @cached_property
    def _engine(self) -> OpenAIEngine:
        return OpenAIEngine(endpoint(self._rules.url), self._rules.model, "")
