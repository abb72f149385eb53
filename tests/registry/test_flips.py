"""What is damaged on disk, `rsi verify` names: bytes of everything that has a digest, and lines of the ledger."""

import random
import shutil
from pathlib import Path

import pytest

from rsi.registry import champion
from rsi.registry.verify import Finding, verify
from rsi.settings import Home
from rsi.store.ledger import Ledger
from tests import machine_made
from tests.commands.spoken import Terminal
from tests.made import FixedClock

KINDS = ("adapters", "harnesses", "versions", "verdicts", "modes", "banks")
ROUNDS = 20
"""Of each, one byte is flipped at once in one file of everything that has a name of its own."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home whose first candidate is in service."""
    slept = machine_made.slept()
    home = Home(tmp_path_factory.mktemp("flips") / "home")
    shutil.copytree(slept.home.root, home.root)
    champion.point(home, FixedClock())
    machine_made.approve(home, slept.verdict)
    machine_made.put(home, slept.base, slept.verdict)
    return home


@pytest.fixture(autouse=True)
def _contracts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RSI_CONTRACTS", str(machine_made.slept().root / "contracts"))


def findings(home: Home) -> tuple[Finding, ...]:
    return verify(home, FixedClock()).findings


def things(home: Home) -> dict[str, list[Path]]:
    """The files of everything that is named by its content."""
    found: dict[str, list[Path]] = {}
    for kind in KINDS:
        for one in sorted((home.root / kind).glob("[!.]*")):
            files = sorted(path for path in one.rglob("*") if path.is_file()) if one.is_dir() else [one]
            found[f"{kind}/{one.stem}"] = files
    return found


def flip(path: Path, rng: random.Random) -> tuple[Path, int, bytes]:
    """Turn one bit; the file, the place and what stood in the file."""
    data = path.read_bytes()
    at = rng.choice((0, len(data) - 1, *(rng.randrange(len(data)) for _ in range(6))))
    changed = bytearray(data)
    changed[at] ^= 1 << rng.randrange(8)
    path.write_bytes(changed)
    return path, at, data


@pytest.mark.parametrize("seed", [0, *(pytest.param(one, marks=pytest.mark.slow) for one in range(1, 10))])
def test_24_a_flipped_byte_anywhere_is_named(seed: int, served: Home) -> None:
    """In any file of adapters, harnesses, versions, verdicts, banks and lists of modes."""
    rng, named = random.Random(seed), things(served)
    assert {one.partition("/")[0] for one in named} == set(KINDS)
    assert findings(served) == ()
    missed, tried = [], set()
    for number in range(ROUNDS):
        flipped = {name: flip(files[number % len(files)], rng) for name, files in named.items()}
        told = "\n".join(one.text for one in findings(served))
        missed += [one[:2] for name, one in flipped.items() if name.partition("/")[2][:12] not in told]
        tried |= {path for path, _, _ in flipped.values()}
        for path, _, data in flipped.values():
            path.write_bytes(data)
    assert missed == []
    assert tried == {path for files in named.values() for path in files}
    assert findings(served) == ()


def swapped(lines: list[bytes]) -> list[bytes]:
    return [lines[0], lines[2], lines[1], *lines[3:]]


def changed(lines: list[bytes]) -> list[bytes]:
    return [*lines[:2], lines[2].replace(b"2026", b"2036", 1), *lines[3:]]


def changed_at_the_end(lines: list[bytes]) -> list[bytes]:
    return [*lines[:-1], lines[-1].replace(b"2026", b"2036", 1)]


DAMAGED = {
    "a line lost": lambda lines: lines[:2] + lines[3:],
    "the first line lost": lambda lines: lines[1:],
    "lines swapped": swapped,
    "a line twice": lambda lines: [*lines[:3], *lines[2:]],
    "a byte changed": changed,
    "a byte of the last line changed": changed_at_the_end,
    "a line of another ledger": lambda lines: [*lines, lines[0]],
}
"""What happened to the ledger -> how."""


@pytest.mark.parametrize("how", DAMAGED)
def test_i4_verify_names_the_broken_ledger_with_exit_code_3(
    how: str, served: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the command that a person runs; nothing else is said of a home whose history is not whole."""
    before = served.ledger.read_bytes()
    lines = before.splitlines(keepends=True)
    after = b"".join(DAMAGED[how](lines))
    assert after != before
    served.ledger.write_bytes(after)
    try:
        said = Terminal(served, monkeypatch, capsys)("verify")
    finally:
        served.ledger.write_bytes(before)

    assert said.code == 3
    assert said.err.startswith(f"I4: {served.ledger} line ")


def test_the_end_of_the_ledger_lost_is_named(served: Home) -> None:
    """Its last record moved the pointer, which says what the ledger said."""
    before = served.ledger.read_bytes()
    kinds = [one.kind for one in Ledger(served.ledger, FixedClock())]
    assert kinds[-1] == "promotion"
    served.ledger.write_bytes(b"".join(before.splitlines(keepends=True)[:-1]))
    try:
        told = findings(served)
    finally:
        served.ledger.write_bytes(before)

    assert [one.invariant for one in told] == ["I1"]
