"""The gate in a process of its own: what it is asked, what it answers, which contracts it reads."""

import os
import subprocess
import sys

import pytest

from rsi.context import Context, Start, World
from rsi.errors import ContractError, IntegrityError, RefusedError, TransientError
from rsi.gate import fingerprints
from rsi.gate.commit import checked_out, commit_of
from rsi.gate.examiner import Process
from rsi.gate.worker import publish
from rsi.settings import Deployment, contracts_dir, fingerprints_dir
from rsi.tasks import heldout
from tests.gate import made
from tests.made import FixedClock


@pytest.fixture
def root(tmp_path):
    """A contracts folder whose suites have fingerprints."""
    world = made.world(tmp_path / "contracts", per_label=1, easy=2)
    for name in world.contract.pins:
        fingerprints.write(world.root / "suites" / name)
    return world.root


def test_the_loop_is_told_the_fingerprints_and_nothing_else(root, home, monkeypatch):
    """In the home; brought up to date when suites come and go."""
    assert publish(home, root) == home.fingerprints
    assert heldout.read(home.fingerprints) == heldout.read(root)
    assert {path.name for path in home.fingerprints.rglob("*") if path.is_file()} == {"fingerprints.json"}

    for path in sorted((root / "suites/easy").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    publish(home, root)

    assert list(heldout.read(home.fingerprints).digests) == ["routing/v1"]
    monkeypatch.setenv("RSI_GATE", "gate")
    assert fingerprints_dir(home) == home.fingerprints


def test_without_any_fingerprints_nothing_is_screened_in_silence(home, tmp_path, monkeypatch):
    """Neither where the place is wrong, nor where nothing was told yet."""
    with pytest.raises(ContractError, match="no suite with fingerprints"):
        publish(home, tmp_path)
    monkeypatch.setenv("RSI_GATE", "gate")
    with pytest.raises(ContractError, match="when a night expands"):
        fingerprints_dir(home)


def git(folder, *arguments: str) -> str:
    """What git says in a repository; the author is nobody."""
    who = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.com"]
    command = ["git", "-C", str(folder), *who, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.parametrize("within", ["", "rules"], ids=["root", "folder"])
def test_a_commit_is_read_as_it_was(tmp_path, monkeypatch, within):
    """Whatever was written, or committed, since."""
    place = tmp_path / "repository" / within
    place.mkdir(parents=True)
    (place / "bars.toml").write_text("old")
    git(tmp_path / "repository", "init", "-q")
    git(tmp_path / "repository", "add", "-A")
    git(tmp_path / "repository", "commit", "-qm", "first")
    commit = git(tmp_path / "repository", "rev-parse", "HEAD")
    (place / "bars.toml").write_text("new")
    monkeypatch.setenv("RSI_CONTRACTS", f"git+{tmp_path / 'repository'}@{commit}{f'#{within}' if within else ''}")

    with pytest.raises(ContractError, match=r"only `python -m rsi\.gate\.worker` reads"):
        contracts_dir()
    with checked_out(commit_of(os.environ["RSI_CONTRACTS"])):
        found = contracts_dir()
        assert (found / "bars.toml").read_text() == "old"
    assert not found.exists()


@pytest.mark.parametrize(
    ("said", "says"),
    [("git+/srv/contracts", "is not git"), ("git+/srv/contracts@main", "is not git"), ("git+/none@0123456", "names")],
)
def test_a_commit_that_is_none_is_refused(monkeypatch, said, says):
    """A branch moves, so it is none."""
    monkeypatch.setenv("RSI_CONTRACTS", said)
    with pytest.raises(ContractError, match=says), checked_out(commit_of(os.environ["RSI_CONTRACTS"])):
        pass


SAYS = "import sys; sys.stdin.read(); print(sys.argv[1])"


def asked(home, answer: str, code: str = SAYS):
    """What the loop makes of an answer, and the progress that it was told."""
    heard: list[tuple[object, ...]] = []
    world = World(FixedClock(), lambda *told: heard.append(told), lambda: None, lambda: None)
    start = Start(night="2026-01-02", champion="c" * 64, ordinal=1, deployment="d" * 64, previous=None)
    command = [sys.executable, "-S", "-c", code, answer]
    made = Process(command).judge(Context(home, Deployment(), world, start), "e" * 64)
    return made, heard


def test_progress_and_the_verdict_come_back(home):
    """Line by line."""
    answer = '{"progress": ["gate a/v1", 1, 2, "0 errors"]}\n{"made": "' + "f" * 64 + '"}'

    assert asked(home, answer) == ("f" * 64, [("gate a/v1", 1, 2, "0 errors")])


@pytest.mark.parametrize(
    ("answer", "error", "says"),
    [
        ('{"error": ["RefusedError", "the budget is spent"]}', RefusedError, "the budget is spent"),
        ('{"error": ["IntegrityError", "not the one"]}', IntegrityError, "not the one"),
        ('{"error": ["SystemExit", "odd"]}', TransientError, "SystemExit: odd"),
        ("hello", TransientError, "no answer: b'hello"),
        ('{"progress": ["gate", 1, 2, ""]}', TransientError, "ended with code 0 and no answer"),
    ],
)
def test_what_the_gate_raised_is_raised_in_its_words(home, answer, error, says):
    """And what is no answer is tried again."""
    with pytest.raises(error, match=says):
        asked(home, answer)


def test_a_gate_that_died_or_cannot_be_started_is_told(home):
    """The first may work again, the second is a setting."""
    with pytest.raises(TransientError, match="ended with code 9 and no answer"):
        asked(home, "", "import sys; sys.exit(9)")
    with pytest.raises(ContractError, match="RSI_GATE cannot be started"):
        Process(["/none/such"]).fingerprints(home)
