"""Contracts as a commit of a git repository holds them: ``git+/srv/contracts@<commit>``, or ``…#folder`` in it."""

import os
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from rsi.errors import ContractError

_COMMIT = re.compile(r"git\+(?P<repository>[^@#]+)@(?P<name>[0-9a-f]{7,64})(#(?P<folder>[\w./-]+))?")


class Commit(NamedTuple):
    """A commit, and where in it the contracts lie."""

    repository: Path
    name: str
    """Hex digits: a branch moves, and is none."""
    folder: str
    """"" for its root."""


def commit_of(said: str) -> Commit | None:
    """The commit that ``RSI_CONTRACTS`` names; None where it names a folder.

    Raises:
        ContractError: it begins like one and is none.
    """
    if not said.startswith("git+"):
        return None
    found = _COMMIT.fullmatch(said)
    if found is None:
        raise ContractError(f"RSI_CONTRACTS {said[:200]!r} is not git+REPOSITORY@COMMIT, the commit in hex digits")
    return Commit(Path(found["repository"]), found["name"], found["folder"] or "")


@contextmanager
def checked_out(commit: Commit | None) -> Iterator[None]:
    """Let ``RSI_CONTRACTS`` name a folder with what a commit holds, for a while; without one, nothing changes.

    Raises:
        ContractError: there is no such repository, commit or folder.
    """
    if commit is None:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="rsi-contracts-") as folder:
        archive = Path(folder) / "commit.tar"
        tree = f"{commit.name}:{commit.folder}" if commit.folder else commit.name
        command = ["git", "-C", str(commit.repository), "archive", "--format=tar", f"--output={archive}", tree]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ContractError(f"RSI_CONTRACTS names {tree} of {commit.repository}: {done.stderr.strip()[:300]}")
        with tarfile.open(archive) as packed:
            packed.extractall(Path(folder) / "contracts", filter="data")
        before = os.environ["RSI_CONTRACTS"]
        os.environ["RSI_CONTRACTS"] = str(Path(folder) / "contracts")
        try:
            yield
        finally:
            os.environ["RSI_CONTRACTS"] = before
