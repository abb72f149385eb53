"""First wrong steps of recorded airline runs, against twenty labels set by hand."""

from collections import Counter
from collections.abc import Mapping

import pytest

from rsi.discover.facts import TraceFacts, read_facts
from rsi.discover.localise import Localisation, localise
from rsi.discover.window import observe
from rsi.records import Blame, Origin
from rsi.settings import Home
from rsi.store.database import store_batch
from tests.discover.tau_labels import LABELS
from tests.traces.inputs import CLOCK, SHARED, load

TAU = SHARED / "tau_bench" / "gpt-4o-airline.trials01.json"
pytestmark = pytest.mark.skipif(not TAU.is_file(), reason=f"no shared trace file at {TAU}")


@pytest.fixture
def failed(home: Home) -> Mapping[tuple[int, int], tuple[TraceFacts, Localisation]]:
    """(task, trial) -> a failed run and where it went wrong."""
    load(home, TAU)
    with store_batch(home, CLOCK, "test") as connection:
        facts = list(read_facts(connection, [Origin.TRAFFIC], 1))
    window = observe(facts)
    found = ((one, localise(one, window)) for one in facts)
    return {
        (int((one.task or "").rsplit("/", 1)[-1]), one.trial or 0): (one, where)
        for one, where in found
        if where is not None
    }


def steps_apart(run: TraceFacts, one: int, other: int) -> int:
    """How many messages of the agent lie between two of them."""
    agent = [at for at, turn in enumerate(run.turns) if turn.role == "assistant"]
    return abs(agent.index(one) - agent.index(other))


def test_steps_are_where_a_reader_sees_them(
    failed: Mapping[tuple[int, int], tuple[TraceFacts, Localisation]], capsys: pytest.CaptureFixture[str]
) -> None:
    """At least 35 of the 57 failed runs have a step; of 20 labelled by hand at least 14 are within one step."""
    placed = {key: where.message for key, (_, where) in failed.items() if where.message is not None}
    apart = {
        key: steps_apart(failed[key][0], placed[key], step)
        for key, (step, _) in LABELS.items()
        if key in placed
    }
    near, same = sum(n <= 1 for n in apart.values()), sum(n == 0 for n in apart.values())
    methods = Counter(where.method.value for _, where in failed.values())
    blames = Counter(where.blame.value for _, where in failed.values())
    with capsys.disabled():
        print(
            f"\ntau-bench: {len(placed)} of {len(failed)} failed runs localised; of {len(LABELS)} labels {same}"
        )
        print(f"the same step, {near} within one; methods {dict(methods)}; blame {dict(blames)}")
    assert len(failed) == 57
    assert len(placed) >= 35
    assert len(LABELS) == 20
    assert near >= 14


def test_steps_are_the_agents_and_name_their_message(
    failed: Mapping[tuple[int, int], tuple[TraceFacts, Localisation]],
) -> None:
    """A step is a message of the agent, and a call named is one of that run."""
    for run, where in failed.values():
        if where.message is not None:
            assert run.turns[where.message].role == "assistant"
            assert where.message_uid == run.turns[where.message].message_uid
        assert where.call_uid is None or where.call_uid in {call.call_uid for call in run.calls}
        assert where.why
        assert where.reason


def test_blame_where_a_reader_is_sure(
    failed: Mapping[tuple[int, int], tuple[TraceFacts, Localisation]],
) -> None:
    """A birthday no profile has, a run cut off with everything done, users who withhold their id, and the model."""
    sure = {
        (25, 0): Blame.TASK, (25, 1): Blame.TASK, (2, 1): Blame.HARNESS, (9, 0): Blame.ENVIRONMENT,
        (23, 0): Blame.ENVIRONMENT, (30, 0): Blame.MODEL, (37, 0): Blame.MODEL, (41, 0): Blame.MODEL,
        (43, 1): Blame.MODEL,
    }  # fmt: skip
    assert {key: failed[key][1].blame for key in sure} == sure
