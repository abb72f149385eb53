"""Backup and restore: the home elsewhere, byte for byte, and what is damaged is named."""

import tarfile
from pathlib import Path

import orjson
import pytest

from rsi.errors import ContractError, IntegrityError
from rsi.ids import digest_file
from rsi.night import run
from rsi.registry.verify import verify as check
from rsi.settings import Deployment, Home
from rsi.store import backup
from rsi.store.database import SCHEMA_VERSION
from rsi.store.ledger import Ledger
from rsi.store.query import ask
from rsi.store.snapshot import refresh
from tests import night_made
from tests.made import FixedClock
from tests.traces.inputs import CLOCK, SAMPLES, load


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, tiny_base: Path) -> Home:
    """A home with a first version, traces read and waiting, a job that is over and one that is not."""
    home = night_made.make_home(tmp_path_factory.mktemp("kept") / "home", tiny_base)
    load(home, SAMPLES / "chat.jsonl")
    refresh(home, CLOCK)
    for name, files in {"over": ("job.json", "complete.json"), "going": ("job.json",)}.items():
        (home.jobs / name).mkdir(parents=True)
        for file in files:
            (home.jobs / name / file).write_bytes(b"{}")
    (home.banks / ".draft").mkdir(parents=True)
    (home.banks / ".draft" / "half").write_bytes(b"half")
    return home


def content(root: Path) -> dict[str, str]:
    """Path -> digest of every file."""
    return {str(one.relative_to(root)): digest_file(one) for one in root.rglob("*") if one.is_file()}


@pytest.mark.parametrize("name", ["copy", "copy.tar", "copy.tar.gz"])
def test_26_a_home_is_made_again_elsewhere(made: Home, tmp_path: Path, name: str) -> None:
    """The same files, the same champion, traces and inbox; nothing of the machine, no drafts, no job that goes on."""
    manifest = backup.backup(made, CLOCK, tmp_path / name)
    other = Home(tmp_path / "elsewhere" / "home")
    assert backup.restore(tmp_path / name, other) == manifest

    before, after = content(made.root), content(other.root)
    assert after == {name: before[name] for name in after}
    assert {"ledger.ndjson", "key", "deployment.toml", "store.duckdb", "inbox/L0.jsonl"} <= after.keys()
    assert {one.split("/")[0] for one in before.keys() - after.keys()} == {
        "snapshot.duckdb", "locks", "jobs", "banks",
    }  # fmt: skip
    assert [one for one in after if one.startswith("jobs")] == [
        "jobs/over/complete.json",
        "jobs/over/job.json",
    ]
    assert (other.root / "key").stat().st_mode == (made.root / "key").stat().st_mode
    assert (tmp_path / name).stat().st_mode & 0o077 == 0
    refresh(other, CLOCK)
    assert ask(other, "select count(*) from traces").rows == ask(made, "select count(*) from traces").rows
    assert manifest.last == Ledger(other.ledger, CLOCK).records()[-1].digest


@pytest.mark.parametrize("file", ["ledger.ndjson", "store.duckdb", "key"])
def test_24_a_flipped_byte_of_a_backup_is_named(made: Home, tmp_path: Path, file: str) -> None:
    """Nothing is restored."""
    backup.backup(made, CLOCK, tmp_path / "copy")
    data = bytearray((tmp_path / "copy" / file).read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "copy" / file).write_bytes(data)

    with pytest.raises(IntegrityError, match=file):
        backup.restore(tmp_path / "copy", Home(tmp_path / "home"))
    assert not (tmp_path / "home").exists()


def test_missing_and_foreign_files_are_named(made: Home, tmp_path: Path) -> None:
    """As is a backup without its list, which is one that was not finished."""
    copy = tmp_path / "copy"
    backup.backup(made, CLOCK, copy)
    (copy / "more").write_bytes(b"?")
    with pytest.raises(IntegrityError, match="more is not in its list"):
        backup.verify(copy)
    (copy / "more").unlink()
    (copy / "key").unlink()
    with pytest.raises(IntegrityError, match="key is missing"):
        backup.verify(copy)
    (copy / backup.MANIFEST).unlink()
    with pytest.raises(IntegrityError, match="no backup, or not a whole one"):
        backup.verify(copy)


def test_27_a_backup_of_a_newer_rsi_is_refused_with_its_version(made: Home, tmp_path: Path) -> None:
    """Before anything is written."""
    backup.backup(made, CLOCK, tmp_path / "copy")
    path = tmp_path / "copy" / backup.MANIFEST
    path.write_bytes(orjson.dumps({**orjson.loads(path.read_bytes()), "schema_version": 999}))

    with pytest.raises(ContractError, match=rf"version 999.*up to {SCHEMA_VERSION}"):
        backup.restore(tmp_path / "copy", Home(tmp_path / "home"))


def test_every_place_of_a_home_is_kept_or_left_out_on_purpose(tmp_path: Path) -> None:
    """A new folder of the home has to be thought of."""
    left_out = {"snapshot.duckdb", "gateways", "locks"}
    home = Home(tmp_path)
    places = [getattr(home, name) for name, one in vars(Home).items() if isinstance(one, property)]

    names = {place.relative_to(home.root).parts[0] for place in places}
    assert names - {*backup.TREES, *backup.FILES} == left_out


def test_an_archive_that_leaves_its_folder_is_refused(tmp_path: Path) -> None:
    """Neither paths upwards nor links."""
    for at, (name, kind) in enumerate((("../key", tarfile.REGTYPE), ("key", tarfile.SYMTYPE))):
        with tarfile.open(tmp_path / f"{at}.tar", "w") as archive:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "/etc/passwd"
            archive.addfile(member)
        with pytest.raises(IntegrityError, match="no file of a home"):
            backup.restore(tmp_path / f"{at}.tar", Home(tmp_path / "home"))
    assert not (tmp_path / "key").exists()


def test_nothing_is_written_over(made: Home, tmp_path: Path) -> None:
    """Neither a backup nor a home."""
    (tmp_path / "there").mkdir()
    with pytest.raises(ContractError, match="there already"):
        backup.backup(made, CLOCK, tmp_path / "there")
    with pytest.raises(ContractError, match="not empty"):
        backup.restore(tmp_path / "there", made)
    with pytest.raises(ContractError, match="rsi init"):
        backup.backup(Home(tmp_path / "there"), CLOCK, tmp_path / "copy")


@pytest.mark.slow
def test_26_the_next_night_runs_on_a_restored_home(
    tmp_path: Path, tiny_base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A night, a backup, every invariant elsewhere, and the night after it there."""
    monkeypatch.setenv("RSI_CONTRACTS", str(night_made.contracts(tmp_path / "contracts")))
    home = night_made.make_home(tmp_path / "home", tiny_base)
    assert night_made.run_night(home, tiny_base, taught=True).judgement == "pass"
    backup.backup(home, FixedClock(), tmp_path / "copy.tar")
    other = Home(tmp_path / "other")
    backup.restore(tmp_path / "copy.tar", other)

    assert check(other, FixedClock()).findings == ()
    night_made.traces(other.inbox, "L3")
    deployment = Deployment.read(other.deployment_file)
    ending = run(other, deployment, night_made.world(tiny_base, taught=True), night_made.night("2026-01-03"))
    assert ending.verdict is not None, ending.reason
    assert check(other, FixedClock()).findings == ()
