"""A copy of a home from which it can be made again elsewhere: all that cannot be derived, and the digest of each file.

What has a digest for its name never changes, and is copied while others work; ledger, store and what came meanwhile are
copied under the store lock. Left out is what is remade or belongs to the machine (snapshot, locks, gateways, logs,
Prefect's database) and jobs that are not over: their night trains them again.
A backup holds the home's key and the held-out text: it is readable by its owner alone.
"""

import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from pydantic import Field, ValidationError

from rsi.errors import ContractError, IntegrityError, TransientError
from rsi.ids import canonical, digest_file
from rsi.ports import Clock
from rsi.record import Record
from rsi.settings import Home
from rsi.store.database import SCHEMA_VERSION, store_batch
from rsi.store.files import publish_folder, sync_folder
from rsi.store.ledger import Ledger
from rsi.store.locks import hold

MANIFEST = "backup.json"
WHO = "backup"
TREES = (
    "adapters",
    "banks",
    "fingerprints",
    "harnesses",
    "heldout",
    "inbox",
    "jobs",
    "journals",
    "modes",
    "raw",
    "refused",
    "verdicts",
    "versions",
)
"""Folders of a home that are kept."""
FILES = ("champion.json", "deployment.toml", "key", "ledger.ndjson", "store.duckdb", "store.duckdb.wal")
"""Files of a home that are kept."""
ARCHIVES = {".tar": "w", ".gz": "w:gz", ".tgz": "w:gz"}
"""Suffix of a backup in one file -> how it is written; any other name is a folder's."""


class Kept(Record):
    """One file."""

    sha256: str
    bytes: int


class Manifest(Record):
    """``backup.json``."""

    schema_version: int = Field(ge=1)
    """Of the store."""
    made_at: str
    """ISO 8601, UTC."""
    records: int
    """Of the ledger."""
    last: str | None
    """Digest of the last of them."""
    files: dict[str, Kept]
    """Path below the home -> its content."""

    @property
    def bytes(self) -> int:
        """Of all files."""
        return sum(one.bytes for one in self.files.values())


def backup(home: Home, clock: Clock, target: Path) -> Manifest:
    """Write a backup to a folder, or to one file where the name ends like an archive's; whole or not at all.

    Raises:
        ContractError: there is no home, or something has that name already.
        IntegrityError: the ledger's chain is broken.
        TransientError: the disk has not the room.
        BusyError: the store is held by somebody else for longer than half a minute.
    """
    if not home.ledger.exists():
        raise ContractError(
            f"{home.root} holds no ledger; run `rsi init` first, or name a home with RSI_HOME"
        )
    if target.exists():
        raise ContractError(f"{target} is there already; name another place, or take it away")
    target.parent.mkdir(parents=True, exist_ok=True)
    _room(target.parent, sum(path.stat().st_size for path in _paths(home)))
    mode = ARCHIVES.get(target.suffix)
    if mode is None:
        made: list[Manifest] = []
        publish_folder(target, lambda folder: made.append(_fill(home, clock, folder)))
        target.chmod(0o700)
        return made[0]
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as drafts:
        folder, draft = Path(drafts) / "home", Path(drafts) / target.name
        folder.mkdir()
        manifest = _fill(home, clock, folder)
        draft.touch(mode=0o600)
        with tarfile.open(draft, mode) as archive:  # type: ignore[call-overload]
            for name in sorted((MANIFEST, *manifest.files)):
                archive.add(folder / name, arcname=name, recursive=False)
        draft.replace(target)
    sync_folder(target.parent)
    return manifest


def restore(source: Path, home: Home) -> Manifest:
    """Make a home of a backup, where there is none; every file is held against its digest first.

    Raises:
        ContractError: the home has something in it, or the backup was made by a newer rsi.
        IntegrityError: a file is missing, changed, or not in the backup's list.
    """
    if home.root.exists() and any(home.root.iterdir()):
        raise ContractError(f"{home.root} is not empty; point RSI_HOME at a folder that is new")
    with _opened(source, home.root.parent) as folder:
        manifest = verify(folder)

        def fill(target: Path) -> None:
            for name in manifest.files:
                _copy(folder / name, target / name)

        if home.root.exists():
            home.root.rmdir()
        publish_folder(home.root, fill)
    return manifest


def verify(folder: Path) -> Manifest:
    """The list of a backup in a folder, after reading every file of it.

    Raises:
        ContractError: it was made by a newer rsi.
        IntegrityError: a file is missing, changed, or not in the list.
    """
    path = folder / MANIFEST
    try:
        manifest = Manifest.parse(path.read_bytes())
    except FileNotFoundError:
        raise IntegrityError(f"{folder} is no backup, or not a whole one: expected {path}") from None
    except ValidationError as error:
        raise IntegrityError(f"{path} is no list of a backup: {error.error_count()} errors") from None
    if manifest.schema_version > SCHEMA_VERSION:
        raise ContractError(
            f"{folder} was made at schema version {manifest.schema_version}, this rsi knows up to {SCHEMA_VERSION}; "
            "install the newer rsi that wrote it"
        )
    found = {str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_file() or one.is_symlink()}
    odd = sorted(found ^ {MANIFEST, *manifest.files})
    if odd:
        what = "is not in its list" if odd[0] in found else "is missing"
        raise IntegrityError(f"{folder / odd[0]} {what}; take another backup")
    for name, kept in manifest.files.items():
        if (folder / name).is_symlink() or digest_file(folder / name) != kept.sha256:
            raise IntegrityError(f"{folder / name} is not what was backed up; take another backup")
    return manifest


def _fill(home: Home, clock: Clock, folder: Path) -> Manifest:
    """Copy what never changes; then, under the lock, what does and what is new."""
    for path in _paths(home):
        if path.relative_to(home.root).parts[0] in TREES:
            _copy_new(home, path, folder)
    with store_batch(home, clock, WHO):
        # Brings an older store to the schema of today.
        pass
    now = clock.now().isoformat(timespec="seconds")
    with hold(home.store_lock, WHO, now, 30.0):
        for path in _paths(home):
            _copy_new(home, path, folder)
        records = Ledger(folder / "ledger.ndjson", clock).records()
    manifest = Manifest(
        schema_version=SCHEMA_VERSION,
        made_at=now,
        records=len(records),
        last=records[-1].digest if records else None,
        files={
            str(path.relative_to(folder)): Kept(sha256=digest_file(path), bytes=path.stat().st_size)
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        },
    )
    (folder / MANIFEST).write_bytes(canonical(manifest.model_dump(mode="json")))
    return manifest


def _paths(home: Home) -> Iterator[Path]:
    """Every file that is kept: no drafts, no links, no jobs that are not over."""
    for name in FILES:
        if (home.root / name).is_file():
            yield home.root / name
    for name in TREES:
        for path in sorted((home.root / name).rglob("*")):
            parts = path.relative_to(home.root).parts
            if any(part.startswith(".") for part in parts) or path.is_symlink() or not path.is_file():
                continue
            if parts[0] == "jobs" and not (home.jobs / parts[1] / "complete.json").exists():
                continue
            yield path


def _copy_new(home: Home, path: Path, folder: Path) -> None:
    """Copy a file that is not there yet, or changed since; one that went away meanwhile was moved by an ingest."""
    target = folder / path.relative_to(home.root)
    with suppress(FileNotFoundError):
        if not target.exists() or _stamp(target) != _stamp(path):
            _copy(path, target)


def _stamp(path: Path) -> tuple[int, int]:
    said = path.stat()
    return said.st_size, said.st_mtime_ns


def _copy(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(path, target, follow_symlinks=False)


def _room(folder: Path, wanted: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < wanted:
        raise TransientError(
            f"a backup needs {wanted / 1e9:.1f} GB at {folder}, where {free / 1e9:.1f} are free"
        )


@contextmanager
def _opened(source: Path, beside: Path) -> Iterator[Path]:
    """The folder of a backup; of one in a file, its members in a folder that goes away again."""
    if source.is_dir():
        yield source
        return
    if not source.is_file():
        raise ContractError(f"no backup at {source}")
    beside.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=beside, prefix=".restore.") as drafts:
        try:
            with tarfile.open(source, "r:*") as archive:
                for member in archive:
                    name = PurePosixPath(member.name)
                    if not member.isfile() or name.is_absolute() or ".." in name.parts:
                        raise IntegrityError(
                            f"{source} holds {member.name[:80]!r}, which is no file of a home"
                        )
                    archive.extract(member, drafts, filter="data")
        except (tarfile.TarError, EOFError, OSError) as error:
            raise IntegrityError(
                f"{source} cannot be read as an archive: {error}; take another backup"
            ) from None
        yield Path(drafts)
