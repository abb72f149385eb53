"""A person's labels of held-out requests: a file of lines to fill in, and what was filled in.

::

    {"id": "<trace>", "split": "gate", "asked": "…", "answered": "…", "route": "L0", "expected": null, "hard": false}

Only `id`, `expected` and `hard` are read back, and where a model is to judge `right`: whether what was answered is
right, by which the judge is held against people. `expected` is what the suite's verifier takes: a role for ``choice``,
a list of spellings for ``exact``; null or nothing leaves the request out. Where a person already said in the traces
what would have been right, it stands there from the beginning.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import orjson
from pydantic import Field, ValidationError

from rsi.errors import ContractError
from rsi.gate.aside import Aside
from rsi.gate.suites.lines import taken
from rsi.records import Record
from rsi.settings import Home, said
from rsi.store.files import write_whole
from rsi.verifiers import JUDGE

LIMIT = 32 * 1024 * 1024
"""Largest file of labels in bytes."""
_READ = ("id", "expected", "hard", "right")


class Label(Record):
    """What a person says should have come back."""

    id: str = Field(min_length=1, max_length=200)
    expected: str | tuple[str, ...]
    hard: bool = False
    """Whether it is near a border, so that one would not be surprised by a wrong answer."""
    right: bool | None = None
    """Whether what the deployment answered is right; null where nobody said."""

    @property
    def wanted(self) -> str:
        """What the verifier takes."""
        return taken(self.expected)


def kept(home: Home, name: str) -> Path:
    """Where labels given at the terminal are kept until they are frozen: among what only the gate opens."""
    return home.heldout / "labels" / f"{name}.jsonl"


def draft(path: Path, items: Sequence[Aside], before: Mapping[str, Label], verifier: str) -> int:
    """Write a line for each request; how many of them say already what is expected."""
    lines = []
    for one in items:
        label = before.get(one.item_id) or suggested(one, verifier)
        told = {
            "id": one.item_id,
            "split": one.split.value,
            "asked": "\n".join(f"{turn.role}: {turn.content}" for turn in one.asked)
            if len(one.asked) > 1
            else one.request,
            "answered": one.answered,
            "route": one.route,
            "expected": label.expected if label else None,
            "hard": bool(label and label.hard),
        }
        if verifier == JUDGE:
            told["right"] = label.right if label else one.mark
        lines.append(orjson.dumps(told))
    write_whole(path, b"".join(line + b"\n" for line in lines))
    return sum(b'"expected":null' not in line for line in lines)


def suggested(one: Aside, verifier: str) -> Label | None:
    """What a person said in the traces, as a label."""
    if not one.said:
        return None
    expected = (one.said,) if verifier == "exact" else one.said
    return Label(id=one.item_id, expected=expected, right=one.mark if verifier == JUDGE else None)


def read(path: Path, known: Iterable[str], objection: Callable[[str], str]) -> dict[str, Label]:
    """The labels of a file, by item; of two for one item the later counts.

    Args:
        known: ids that may be labelled.
        objection: what is wrong with an expectation; "" where nothing is.

    Raises:
        ContractError: a line is no label, names a request that is not there, or expects what cannot be.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ContractError(f"labels {path} cannot be read: {error.strerror}") from None
    if len(data) > LIMIT:
        raise ContractError(f"{path} has more than {LIMIT} bytes; label fewer requests")
    there, found = set(known), dict[str, Label]()
    for number, raw in enumerate(data.splitlines(), 1):
        if not raw.strip():
            continue
        label = _label(raw, f"{path} line {number}")
        if label is None:
            continue
        if label.id not in there:
            raise ContractError(
                f"{path} line {number}: {label.id[:40]!r} is no request that waits for a label; write the file anew "
                "with `rsi contract draft`"
            )
        if wrong := objection(label.wanted):
            raise ContractError(f"{path} line {number}: {wrong}")
        found[label.id] = label
    return found


def _label(raw: bytes, where: str) -> Label | None:
    try:
        told = orjson.loads(raw)
        if not isinstance(told, dict):
            raise ValueError("expected an object with id and expected")
        if not told.get("expected"):
            return None
        return Label.model_validate({key: told[key] for key in _READ if key in told})
    except ValidationError as error:
        raise ContractError(f"{where}: {said(error)}") from None
    except ValueError as error:
        raise ContractError(f"{where}: not a label: {error}") from None


def append(path: Path, label: Label) -> None:
    """Keep one more label; it counts in place of an earlier one of the same request."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(orjson.dumps(label.model_dump(mode="json")) + b"\n")
