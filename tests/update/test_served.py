"""Training with an actor behind a server: real HTTP, the protocol of vLLM, the tiny model on both sides."""

from collections.abc import Iterator

import orjson
import pytest

from rsi.engine.local import LocalEngine
from rsi.errors import ContractError, RefusedError, TransientError
from rsi.ports import silent
from rsi.update.job import submit
from rsi.update.worker import work
from tests.engine.adapters import make_adapter
from tests.engine.stub import Server, serving
from tests.made import base_digest, tiny_job
from tests.update.test_worlds import desk_job

FAST = {"steps": 4, "learning_rate": 0.02, "checkpoint_every": 2}


@pytest.fixture
def server(tiny_base) -> Iterator[Server]:
    """A running server of the base that is trained on."""
    with serving(LocalEngine(tiny_base, base_digest(tiny_base))) as server:
        yield server


def rows(place):
    """The job's log."""
    return [orjson.loads(line) for line in (place / "metrics.jsonl").read_bytes().splitlines()]


def names(server):
    """Adapters that were loaded, in order."""
    return [body["lora_name"] for body in server.bodies if "lora_path" in body]


def test_labels_are_drawn_by_the_server(home, tiny_base, server):
    """A new adapter a step, the log-probs of both sides agree, and nothing stays loaded or on the disk."""
    place = submit(home, tiny_job(home, tiny_base, actor=server.url, exploration=0.0, **FAST))

    end = work(place, tiny_base, silent)

    assert end.adapter is not None
    assert len(set(names(server))) == 4
    assert max(row["largest"] for row in rows(place) if "largest" in row) < 1e-3
    assert server.loaded == {}
    assert not list(place.glob("actor/*"))


def test_what_is_drawn_is_what_the_learner_would_draw(home, tiny_base, server):
    """The same seeds give the same answers and rewards, here and there."""
    found = []
    for actor in ("local", server.url.removesuffix("/v1")):
        place = submit(home, tiny_job(home, tiny_base, actor=actor, **FAST))
        work(place, tiny_base, silent)
        found.append([(row["reward"], round(row["p_right"], 3)) for row in rows(place)])

    assert found[0] == found[1]


def test_episodes_in_worlds_are_sampled_by_the_server(home, tiny_base, server):
    """Token ids out, sampled ids and log-probs back, from the adapter that was loaded and from nothing else."""
    place = submit(home, desk_job(home, tiny_base, actor=server.url, steps=2, prompts=1, samples=2))

    end = work(place, tiny_base, silent)

    asked = [body for body in server.bodies if body.get("return_token_ids")]
    assert asked
    assert all(body["model"].startswith("trained-") and body["top_p"] == 1 for body in asked)
    assert {body["model"] for body in asked} <= set(names(server))
    assert all(row["sampled"] > 0 for row in rows(place))
    assert end.steps == 2


@pytest.mark.parametrize(
    ("mood", "error", "said"),
    [
        ("silent", RefusedError, "does not act: the actor answers as the base would"),
        ("stale", RefusedError, "does not act: the actor answers as the adapter before would"),
        ("other", ContractError, "the actor's base answers otherwise"),
        ("raw", ContractError, "--logprobs-mode processed_logprobs"),
        ("plain", ContractError, "tells no log-probs of given tokens"),
        ("down", TransientError, "is away"),
        ("forgetful", TransientError, "does not list it"),
    ],
)
def test_a_server_that_misbehaves_is_not_believed(home, tiny_base, server, mood, error, said):
    """No adapter comes of it, and none stays loaded."""
    place = submit(home, tiny_job(home, tiny_base, actor=server.url, **FAST))
    server.mood = mood

    with pytest.raises(error, match=said):
        work(place, tiny_base, silent)

    assert not (place / "complete.json").exists()
    assert server.loaded == {}


def test_a_job_goes_on_when_its_actor_is_back(home, tiny_base, server):
    """From the last checkpoint, to a full log."""
    place = submit(home, tiny_job(home, tiny_base, actor=server.url, **FAST))
    server.mood = "dying"
    with pytest.raises(TransientError, match="EngineCore encountered an issue"):
        work(place, tiny_base, silent)
    assert len(rows(place)) == 2
    server.mood = ""

    end = work(place, tiny_base, silent)

    assert end.adapter is not None
    assert [row["step"] for row in rows(place)] == [1, 2, 3, 4]


def test_what_a_killed_worker_left_loaded_goes(home, tiny_base, server):
    """Its folder is the job's, so the next worker there lets go of it."""
    place = submit(home, tiny_job(home, tiny_base, actor=server.url, **FAST))
    left = make_adapter(tiny_base, place / "actor" / "trained-0123456789ab", seed=5)
    server.engine.load(left.name, left)
    server.loaded[left.name] = str(left)

    work(place, tiny_base, silent)

    assert server.loaded == {}
    assert not left.exists()
