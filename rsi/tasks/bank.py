"""Banks: immutable sets of tasks, ``tasks.parquet`` + ``manifest.json``, named by the manifest's digest."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from rsi import faults
from rsi.errors import IntegrityError
from rsi.ids import Digest, canonical, digest, digest_file
from rsi.records import BankManifest, ChatMessage, Phase, Task
from rsi.settings import Home
from rsi.store.files import publish_folder

_MESSAGE = pa.struct([("role", pa.string()), ("content", pa.string())])
_FACETS = pa.struct(
    [
        ("tools", pa.list_(pa.string())),
        ("arguments", pa.list_(pa.string())),
        ("slots", pa.list_(pa.string())),
        ("language", pa.string()),
        ("length", pa.string()),
    ]
)
SCHEMA = pa.schema(
    [
        pa.field("task_id", pa.string(), nullable=False),
        pa.field("hop", pa.string(), nullable=False),
        pa.field("messages", pa.list_(_MESSAGE), nullable=False),
        pa.field("verifier", pa.string(), nullable=False),
        pa.field("expected", pa.string(), nullable=False),
        pa.field("mode_id", pa.string()),
        pa.field("traces", pa.list_(pa.string()), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("tools", pa.string(), nullable=False),
        pa.field("world", pa.string(), nullable=False),
        pa.field("generator", pa.string(), nullable=False),
        pa.field("prompt", pa.string(), nullable=False),
        pa.field("screens", pa.list_(pa.string()), nullable=False),
        pa.field("licence", pa.string(), nullable=False),
        pa.field("facets", _FACETS, nullable=False),
        pa.field("passed", pa.int64(), nullable=False),
        pa.field("samples", pa.int64(), nullable=False),
    ]
)
"""Columns of ``tasks.parquet``; `datasets.load_dataset("parquet", …)` reads the file as it is."""


class Account(NamedTuple):
    """What a bank's manifest tells beside its tasks."""

    rejected: Mapping[str, int] = {}
    """Reason -> count of refused proposals."""
    screens: Mapping[str, str] = {}
    """Suite -> digest of its fingerprints."""
    phases: tuple[Phase, ...] = ()
    asked: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    replayed: int = 0
    synthetic: int = 0
    research: Mapping[str, int] = {}


def task(
    hop: str,
    messages: tuple[ChatMessage, ...],
    verifier: str,
    expected: str,
    mode_id: str | None,
    traces: tuple[str, ...],
    source: str,
    tools: str = "",
    generator: str = "",
    prompt: str = "",
    licence: str = "own",
    world: str = "",
) -> Task:
    """A task named by what is asked and what is expected."""
    name = digest(
        [
            hop,
            [one.model_dump() for one in messages],
            verifier,
            expected,
            *(one for one in (tools, world) if one),
        ]
    )
    return Task(
        task_id=f"t-{name[:16]}",
        hop=hop,
        messages=messages,
        verifier=verifier,
        expected=expected,
        mode_id=mode_id,
        traces=traces,
        source=source,
        tools=tools,
        world=world,
        generator=generator,
        prompt=prompt,
        licence=licence,
    )


def freeze(home: Home, night: str, tasks: Sequence[Task], account: Account = Account()) -> Digest:
    """Write a bank and return its digest; the same tasks and account give the same bytes."""
    ordered = sorted(tasks, key=lambda one: one.task_id)
    table = pa.Table.from_pylist([one.model_dump(mode="json") for one in ordered], schema=SCHEMA)
    draft = home.banks / f".{night}.parquet"
    draft.parent.mkdir(parents=True, exist_ok=True)
    try:
        pq.write_table(table, draft, compression="zstd")
        manifest = _manifest(night, ordered, digest_file(draft), account)
        faults.point("bank.before_publish")

        def fill(target: Path) -> None:
            (target / "tasks.parquet").write_bytes(draft.read_bytes())
            (target / "manifest.json").write_bytes(canonical(manifest.model_dump(mode="json")))

        publish_folder(home.banks / manifest.digest, fill)
    finally:
        draft.unlink(missing_ok=True)
    return manifest.digest


def _manifest(night: str, ordered: Sequence[Task], sha256: str, account: Account) -> BankManifest:
    return BankManifest(
        night=night,
        tasks=len(ordered),
        tasks_sha256=sha256,
        by_mode=_counts(one.mode_id or "keeps" for one in ordered),
        # Answers that are calls differ from task to task: only labels are worth a count.
        by_expected=_counts(one.expected for one in ordered if one.verifier == "choice"),
        by_source=_counts(one.source for one in ordered),
        rejected=dict(sorted(account.rejected.items())),
        screens=dict(account.screens),
        phases=account.phases,
        asked=account.asked,
        empty=account.empty,
        replayed=account.replayed,
        synthetic=account.synthetic,
        measured=sum(one.samples > 0 for one in ordered),
        research=dict(sorted(account.research.items())),
    )


def _counts(of: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(of).items()))


def manifest(home: Home, name: str) -> BankManifest:
    """What a bank says of itself, checked against its name and its tasks.

    Raises:
        IntegrityError: missing or changed.
    """
    folder = home.banks / name
    try:
        found = BankManifest.parse((folder / "manifest.json").read_bytes())
        held = digest_file(folder / "tasks.parquet")
    except FileNotFoundError as error:
        raise IntegrityError(f"bank {name[:12]} is missing: expected {error.filename}") from None
    except ValidationError:
        raise IntegrityError(f"{folder / 'manifest.json'} is not a bank's manifest") from None
    if found.digest != name:
        raise IntegrityError(f"{folder / 'manifest.json'} was changed: its digest is {found.digest[:12]}…")
    if held != found.tasks_sha256:
        raise IntegrityError(
            f"{folder / 'tasks.parquet'} was changed: its manifest names {found.tasks_sha256[:12]}…"
        )
    return found


def load(home: Home, name: str) -> tuple[Task, ...]:
    """The tasks of a bank, in the order of their ids."""
    manifest(home, name)
    return read(home.banks / name / "tasks.parquet")


def read(path: Path) -> tuple[Task, ...]:
    """The tasks of a Parquet file."""
    return tuple(Task.model_validate(row) for row in pq.read_table(path).to_pylist())
