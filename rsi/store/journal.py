"""A journal: what was asked of the world and what came back, so that work that was killed goes on where it was.

One NDJSON file, append-only, one line an answer, synced before `put` returns. A torn last line is what the kill
left of a write, and is cut off. What is read again is the first answer to a question: the same work makes the same
things, however often it was interrupted.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import orjson

from rsi import faults
from rsi.store.files import naming, sync_folder


class Journal:
    """Answers by question; both are JSON."""

    def __init__(self, path: Path | None) -> None:
        """Read what is there. Without a path nothing is kept, as for a dry run."""
        self._path = path
        self._said: dict[str, Mapping[str, object]] = {}
        if path is not None and path.exists():
            self._read(path)

    def get(self, key: str) -> Mapping[str, object] | None:
        """The answer to a question, where it was asked before."""
        return self._said.get(key)

    def put(self, key: str, answer: Mapping[str, object]) -> Mapping[str, object]:
        """Keep an answer; the one there is where the question was asked before."""
        if key in self._said:
            return self._said[key]
        self._said[key] = answer
        if self._path is not None:
            _append(self._path, orjson.dumps({"key": key, "answer": answer}) + b"\n")
            faults.point("journal.after_put")
        return answer

    def __len__(self) -> int:
        return len(self._said)

    def answers(self) -> tuple[Mapping[str, object], ...]:
        """All answers, in the order in which they came."""
        return tuple(self._said.values())

    def _read(self, path: Path) -> None:
        data = path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            with path.open("r+b") as file:
                file.truncate(whole)
        for line in data[:whole].splitlines():
            entry = orjson.loads(line)
            self._said.setdefault(entry["key"], entry["answer"])


def _append(path: Path, line: bytes) -> None:
    new = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    with naming(path), path.open("ab") as file:
        file.write(line)
        file.flush()
        os.fsync(file.fileno())
    if new:
        sync_folder(path.parent)
