"""`rsi measure`: versions on the same tasks, and each against the first."""

import tomllib

import orjson
import pytest

from rsi import assets
from rsi.algorithm import Update
from rsi.registry import versions
from rsi.settings import Deployment, contracts_dir, fingerprints_dir
from rsi.tasks import heldout
from rsi.tasks.bfcl import halves
from tests.commands.spoken import Terminal

PULLED = next(one for one in assets.ASSETS if one.name == "bfcl-answers").folder.is_dir()


@pytest.fixture
def rsi(terminal: Terminal, tiny_base) -> Terminal:
    """A home with version zero."""
    small = Update(algorithm="sft", steps=1, prompts=2, samples=2, rank=4, alpha=8)
    Deployment(base=str(tiny_base), update=small).write(terminal.home.deployment_file)
    terminal.ok("init", "--base", str(tiny_base))
    return terminal


def test_versions_are_measured_on_the_same_tasks(rsi: Terminal, tmp_path) -> None:
    """The bare base and one that was trained: counts, levels, and a row a task in the file."""
    rsi.ok("bank", "make", "--environment", "desk", "--count", "4")
    bank = next(rsi.home.banks.iterdir()).name
    made = orjson.loads(rsi.ok("update", "--bank", bank, "--role", "L1", "--json"))
    before = str(versions.load(rsi.home, made["candidate"]).parent)
    asked = ["measure", before[:12], made["candidate"][:12], "--environment", "desk", "--tasks", "3"]

    told = orjson.loads(rsi.ok(*asked, "--out", str(tmp_path / "out.json"), "--json"))

    assert list(told["versions"]) == [before, made["candidate"]]
    for one in told["versions"].values():
        assert (one["right"], one["tasks"]) == (0, 3), "a tiny model knows no calls"
        assert one["levels"] == {"1": [0, 1], "2": [0, 1], "3": [0, 1]}
        assert sum(one["outcomes"].values()) == 3
    against = told["against_first"][made["candidate"]]
    assert (against["wins"], against["losses"], against["difference"]) == (0, 0, 0)
    assert against["interval"][0] < 0 < against["interval"][1]
    kept = orjson.loads((tmp_path / "out.json").read_bytes())
    assert len(kept["items"]) == 3 and set(kept["items"][0]) == {"task", before, made["candidate"]}
    assert "difference +0.0 points" in rsi.ok(*asked)


@pytest.mark.skipif(not PULLED, reason="the asset bfcl-answers is not pulled: rsi assets pull")
def test_a_half_of_a_public_file_is_measured(rsi: Terminal) -> None:
    """By its verifier; the half that the gate asks is not."""
    name = next(rsi.home.versions.iterdir()).stem
    asked = ["measure", name[:12], "--bfcl", "live_simple", "--tasks", "1", "--max-tokens", "4"]

    assert "1" in rsi.ok(*asked, "--half", "bank")
    assert "is none of bank, suite" in rsi.refused(*asked, "--half", "whole")
    held = rsi(*asked, "--half", "suite")
    assert (held.code, held.out) == (1, "")
    assert "1 of 1 tasks are items of suite live_simple/v1" in held.err


def test_items_of_the_gate_are_not_measured(rsi: Terminal) -> None:
    """The very seed of a suite draws its items."""
    name = next(rsi.home.versions.iterdir()).stem
    about = tomllib.loads((contracts_dir() / "suites/desk/v1/suite.toml").read_text())["items"]
    drawn = ["--environment", "desk", "--pool", about["pool"], "--seed", str(about["seed"]), "--tasks", "3"]

    held = rsi("measure", name[:12], *drawn)

    assert (held.code, held.out) == (1, "")
    assert "3 of 3 tasks are items of suite desk/v1: `rsi gate` asks those" in held.err


@pytest.mark.skipif(not PULLED, reason="the asset bfcl-answers is not pulled: rsi assets pull")
def test_tasks_that_a_suite_shares_are_left_out(rsi: Terminal) -> None:
    """The others are measured, and how many are missing is said."""
    name = next(rsi.home.versions.iterdir()).stem
    bank = [one.item for one in halves("live_simple").bank]
    routed = {one.name for one in heldout.read(fingerprints_dir(rsi.home)).items}
    first = next(at for at, item in enumerate(bank, 1) if f"routing/v1:{item}" in routed)

    found = rsi(
        "measure", name[:12], "--bfcl", "live_simple", "--tasks", str(first), "--max-tokens", "1", "--json"
    )

    assert f"1 of {first} tasks are items of suite routing/v1, which the gate asks, and are left out" in found.err
    assert orjson.loads(found.out)["versions"][name]["tasks"] == first - 1


def test_what_is_measured_is_said_once(rsi: Terminal) -> None:
    """A world or a file, and not both."""
    name = next(rsi.home.versions.iterdir()).stem

    assert "say either" in rsi.refused("measure", name[:12])
    assert "no environment is called 'moon'" in rsi.refused("measure", name[:12], "--environment", "moon")
