"""Which tasks are asked next: by difficulty, seeded, and from a state that is all there is."""

import random

import pytest
from pydantic import ValidationError

from rsi.algorithm import Curriculum, Update
from rsi.errors import IntegrityError
from rsi.update.batches import slots
from rsi.update.course import Pool, Pools, Rota, State, course
from tests.made import routing_tasks

TASKS = routing_tasks()
RULES = Curriculum(share=0.8, memory=0.5)


def rate(task) -> float:
    """How often a task is solved: four never, eight always, four half the time."""
    at = sorted(one.task_id for one in TASKS).index(task.task_id)
    return 0.0 if at < 4 else 1.0 if at < 12 else 0.5


def taught(pools: Pools, turns: int) -> list[str]:
    """Ask and answer; the tasks that were asked."""
    asked = []
    for _ in range(turns):
        chosen = pools.following(4)
        pools.learnt(chosen, [rate(one) for one in chosen])
        asked += [one.task_id for one in chosen]
    return asked


def test_most_turns_go_to_tasks_that_are_solved_now_and_then():
    """Every task is tried first; then four of five turns go to a quarter of them, and none is given up."""
    pools = Pools(TASKS, RULES, 7)

    first, later = taught(pools, 8), taught(pools, 50)

    assert pools.facts() == {"pool_untried": 0, "pool_hard": 4, "pool_instructive": 4, "pool_easy": 8}
    assert len(set(first)) == 16
    good = {one.task_id for one in TASKS if rate(one) == 0.5}
    assert 0.7 < sum(one in good for one in later) / len(later) < 0.9
    assert set(later) == {one.task_id for one in TASKS}


def test_a_task_moves_between_pools_as_its_rate_does():
    """A running mean that forgets; a group that failed says nothing."""
    pools = Pools(TASKS[:1], RULES, 7)
    name = TASKS[0].task_id
    seen = [pools.pool(name)]
    for reward in (0.0, None, 1.0, 1.0, 1.0, 1.0, 0.0):
        pools.learnt(TASKS[:1], [reward])
        seen.append(pools.pool(name))

    assert [one.value for one in seen] == ["untried", "hard", "hard", *["instructive"] * 3, "easy", "instructive"]


def test_what_the_bank_knows_is_where_a_course_begins():
    """Measured difficulty counts as a first group."""
    known = [
        one.model_copy(update={"samples": 8, "passed": passed})
        for one, passed in zip(TASKS, (0, 4, 8), strict=False)
    ]

    pools = Pools(known, RULES, 7)

    assert [pools.pool(one.task_id) for one in known] == [Pool.HARD, Pool.INSTRUCTIVE, Pool.EASY]


@pytest.mark.parametrize("share", [0.0, 0.8])
def test_a_course_goes_on_from_its_state(share):
    """To the same tasks as one that was never cut; the state survives its JSON."""
    settings = Update(curriculum=Curriculum(share=share), seed=3)
    alone, cut, other = course(TASKS, settings), course(TASKS, settings), course(TASKS, settings)
    chance = random.Random(1)
    rewards = [[chance.random() for _ in range(4)] for _ in range(40)]

    def go(on, some):
        asked = []
        for row in some:
            chosen = on.following(4)
            on.learnt(chosen, row)
            asked += [one.task_id for one in chosen]
        return asked

    whole = go(alone, rewards)
    before = go(cut, rewards[:13])
    other.restore(State.parse(cut.state().model_dump_json().encode()))

    assert before + go(other, rewards[13:]) == whole
    assert other.state() == alone.state()


def test_another_seed_is_another_order():
    """Of ties, and of the turns that go to the other pools."""
    assert taught(Pools(TASKS, RULES, 1), 30) != taught(Pools(TASKS, RULES, 2), 30)


def test_without_a_curriculum_turns_are_those_of_the_rota():
    """However many are asked for at once."""
    rota = course(TASKS, Update(seed=5))
    assert isinstance(rota, Rota)

    asked = [one for count in (3, 1, 8) for one in rota.following(count)]

    assert asked == slots(TASKS, 5, 0, 12)
    assert rota.facts() == {}


def test_a_state_of_other_tasks_is_refused():
    """Nothing is guessed."""
    with pytest.raises(IntegrityError, match="knows 16 tasks, the job's bank holds 3"):
        Pools(TASKS[:3], RULES, 7).restore(Pools(TASKS, RULES, 7).state())


def test_pools_need_room_between_them():
    """Too hard lies below too easy."""
    with pytest.raises(ValidationError, match="must lie below"):
        Curriculum(low=0.9, high=0.5)
