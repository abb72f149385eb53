"""`rsi bank`: tasks in worlds, training on a bank of one's own, and banks in other trainers' columns."""

import orjson
import pyarrow.parquet as pq
import pytest

from rsi import assets
from rsi.algorithm import Update
from rsi.records import ChatMessage
from rsi.registry import versions
from rsi.settings import Deployment
from rsi.tasks import bank
from tests.commands.spoken import Terminal

PULLED = next(one for one in assets.ASSETS if one.name == "bfcl-answers").folder.is_dir()


@pytest.fixture
def rsi(terminal: Terminal, tiny_base) -> Terminal:
    """A home whose version zero is the tiny base."""
    small = Update(algorithm="sft", steps=3, prompts=2, samples=2, rank=4, alpha=8)
    Deployment(base=str(tiny_base), update=small).write(terminal.home.deployment_file)
    terminal.ok("init", "--base", str(tiny_base))
    return terminal


@pytest.mark.parametrize("name", ["desk", pytest.param("chains", marks=pytest.mark.slow)])
def test_a_bank_of_a_world_trains_a_specialist(rsi: Terminal, name: str) -> None:
    """The candidate differs from its parent in that role alone; the next one goes on from it."""
    made = orjson.loads(rsi.ok("bank", "make", "--environment", name, "--count", "12", "--json"))
    assert 0 < made["tasks"] <= 12
    assert "environment" in rsi.ok("bank", "show", made["bank"][:12])

    asked = ["update", "--bank", made["bank"][:12], "--role", "L1", "--json"]
    first = orjson.loads(rsi.ok(*asked))
    second = orjson.loads(rsi.ok(*asked, "--parent", first["candidate"], "--steps", "2"))

    before, after = (versions.load(rsi.home, one["candidate"]) for one in (first, second))
    assert (first["hop"], first["role"], list(before.adapters)) == ("world", "L1", ["L1"])
    assert after.parent == first["candidate"]
    assert after.adapters["L1"] != before.adapters["L1"]


def test_a_bank_of_two_hops_is_trained_on_by_one(rsi: Terminal) -> None:
    """The one with most tasks, and the command says so; or the one that is asked for."""
    made = orjson.loads(rsi.ok("bank", "make", "--environment", "desk", "--count", "12", "--json"))
    ask = (ChatMessage(role="user", content="bake a cake"),)
    routes = [bank.task("route", ask, "choice", role, None, (), "correction") for role in ("L0", "L1")]
    mixed = bank.freeze(rsi.home, "mixed", [*bank.load(rsi.home, made["bank"]), *routes])
    asked = ["update", "--bank", mixed[:12], "--steps", "2", "--json"]

    world = rsi("update", "--bank", mixed[:12], "--steps", "2", "--role", "L1")
    assert "of hop world, of route (2), world (" in world.err
    assert orjson.loads(rsi.ok(*asked, "--role", "L0", "--hop", "route"))["hop"] == "route"
    assert "no task of hop 'ui'; it has route (2), world (" in rsi(*asked, "--role", "L0", "--hop", "ui").err


@pytest.mark.parametrize("name", ["desk", "chains"])
def test_a_bank_of_one_level_of_a_world(rsi: Terminal, name: str) -> None:
    """Of the tasks that are made, those of other levels are left out."""
    asked = ["bank", "make", "--environment", name, "--count", "9", "--level", "1", "--json"]
    made = orjson.loads(rsi.ok(*asked))

    tasks = bank.load(rsi.home, made["bank"])
    assert 0 < len(tasks) <= 5
    assert {orjson.loads(one.world)["level"] for one in tasks} == {1}


@pytest.mark.skipif(not PULLED, reason="the asset bfcl-answers is not pulled: rsi assets pull")
def test_a_bank_of_public_tool_calls(rsi: Terminal) -> None:
    """The training half of a file, each with its licence; tasks that the verifier accepts its own answers of."""
    made = orjson.loads(rsi.ok("bank", "make", "--bfcl", "live_simple", "--json"))
    tasks = bank.load(rsi.home, made["bank"])

    assert made["tasks"] == len(tasks) > 80
    assert {(one.hop, one.licence, one.source) for one in tasks} == {("tool", "Apache-2.0", "public")}
    trained = orjson.loads(rsi.ok("update", "--bank", made["bank"], "--role", "L1", "--steps", "1", "--json"))
    assert (trained["hop"], trained["role"]) == ("tool", "L1")


def test_settings_of_a_file_stand_in_place_of_the_deployments(rsi: Terminal, tmp_path) -> None:
    """And the command line's in place of the file's; a file that says nothing usable is refused."""
    rsi.ok("bank", "make", "--environment", "desk", "--count", "4")
    name = next(rsi.home.banks.iterdir()).name
    asked = ["update", "--bank", name, "--role", "L1"]
    said = tmp_path / "said.toml"

    said.write_text("steps = 9\nlearning_rate = 0.002\n")
    rsi.ok(*asked, "--settings", str(said), "--steps", "1")
    job = orjson.loads(next(rsi.home.jobs.glob("*/job.json")).read_bytes())
    assert (job["settings"]["steps"], job["settings"]["learning_rate"], job["settings"]["rank"]) == (
        1,
        0.002,
        4,
    )

    said.write_text("learning_rate = -1\n")
    assert "cannot be trained with learning_rate: " in rsi.refused(*asked, "--settings", str(said))
    said.write_text("steps: 9")
    assert "is no TOML file" in rsi.refused(*asked, "--settings", str(said))


def test_what_cannot_be_is_said(rsi: Terminal) -> None:
    """An unknown world, role or bank."""
    assert "no environment is called 'moon'" in rsi.refused("bank", "make", "--environment", "moon")
    rsi.ok("bank", "make", "--environment", "desk", "--count", "2")
    name = next(rsi.home.banks.iterdir()).name
    assert "none of the harness's roles" in rsi.refused("update", "--bank", name, "--role", "L9")
    assert "expected one" in rsi.refused("update", "--bank", "0000", "--role", "L1")


@pytest.mark.parametrize("kind", ["verl", "trl", "messages"])
def test_a_bank_is_written_for_other_trainers(rsi: Terminal, tmp_path, kind: str) -> None:
    """A row a task; the solution of a world is in none of them."""
    rsi.ok("bank", "make", "--environment", "desk", "--count", "4")
    name = next(rsi.home.banks.iterdir()).name
    out = tmp_path / "tasks.parquet"

    rsi.ok("bank", "export", str(out), "--bank", name, "--format", kind)

    rows = pq.read_table(out).to_pylist()
    assert rows
    assert "oracle" not in orjson.dumps(rows, default=str).decode()
    assert "no format is called 'x'" in rsi.refused(
        "bank", "export", str(out), "--bank", name, "--format", "x"
    )
