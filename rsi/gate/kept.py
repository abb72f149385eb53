"""Replies of a question to the gate that is not answered yet: begun again after a crash, it goes on where it was.

One file for a question and purpose, among what only the gate opens; it is gone when the verdict lies there. A line is a
reply under the digest of all that decides it: base, adapter, prompt or world, labels, cap, temperature and seed. Errors
are not kept: what an engine broke on is asked again.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from rsi.gate.questions import Question, Reply
from rsi.ids import digest
from rsi.records import Outcome
from rsi.report.evidence import Took
from rsi.settings import Home
from rsi.store.files import naming


def place(home: Home, registration: str, purpose: str) -> Path:
    """Where the replies of a question lie; its purpose tells the champion's second answers from its first."""
    return home.heldout / "asked" / f"{registration}.{purpose}.ndjson"


@dataclass
class Kept:
    """Replies on disk."""

    path: Path
    base: str
    """Digest of the base that the engine runs."""
    _known: dict[str, Reply] = field(init=False)

    def __post_init__(self) -> None:
        """Read what is there; a line that was cut in writing is none, and goes."""
        self._known = {}
        if not self.path.exists():
            return
        data = self.path.read_bytes()
        lines = data[: data.rfind(b"\n") + 1]
        if len(lines) < len(data):
            with self.path.open("r+b") as file:
                file.truncate(len(lines))
        for raw in lines.splitlines():
            key, text, outcome, *took = orjson.loads(raw)
            self._known[key] = Reply(
                text,
                outcome=Outcome.model_validate(outcome) if outcome else None,
                took=Took.model_validate(took[0]) if took and took[0] else None,
            )

    def of(self, question: Question) -> Reply | None:
        """The reply, if it was given before."""
        return self._known.get(self._key(question))

    def add(self, found: Iterable[tuple[Question, Reply]]) -> None:
        """Keep replies; errors are left out."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with naming(self.path), self.path.open("ab") as file:
            for question, reply in found:
                if not reply.error:
                    key, outcome = self._key(question), reply.outcome
                    told = [one.model_dump(mode="json") if one else None for one in (outcome, reply.took)]
                    file.write(orjson.dumps([key, reply.text, *told]) + b"\n")
                    self._known[key] = reply

    def _key(self, question: Question) -> str:
        told = question._asdict()
        told["prompt"] = [turn.model_dump(mode="json") for turn in question.prompt]
        told["rules"] = question.rules.model_dump(mode="json") if question.rules else None
        return digest([self.base, told])
