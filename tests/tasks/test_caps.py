"""Nobody makes up a bank."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from rsi.expand.coverage import balance
from rsi.records import ChatMessage, Task
from rsi.tasks.bank import task
from rsi.tasks.caps import EVEN, LEAST, Caps, cap, givers

CAPS = Caps(0.02, 0.5, 2000)


def made(number: int, *traces: str, mode: str = "m-1", source: str = "correction") -> Task:
    """A task from these traces."""
    asked = (ChatMessage(role="user", content=f"request {number}"),)
    return task("route", asked, "choice", f"L{number % 4}", mode, traces, source)


def test_one_percent_of_hostile_traces_stays_under_the_cap():
    """One user's hundred, all in a rare mode that coverage favours, against 9,900 of 900 others."""
    by_trace = {str(at): f"user {at % 900}" for at in range(9900)}
    by_trace |= {str(at): "user hostile" for at in range(9900, 10_000)}
    tasks = [made(at, str(at), mode="m-rare" if at >= 9900 else f"m-{at % 5}") for at in range(10_000)]

    uncapped, _ = balance(tasks, CAPS.most, 0.4)
    capped = cap(tasks, by_trace, CAPS)
    bank, _ = balance(capped.kept, CAPS.most, 0.4)

    def hostile(some):
        return sum(by_trace[one.traces[0]] == "user hostile" for one in some)

    assert hostile(uncapped) == 100
    assert hostile(bank) <= CAPS.share * len(bank)
    assert hostile(bank) > 0
    assert {by_trace[one.traces[0]] for one, _ in capped.over} == {"user hostile"}


def test_half_of_all_traces_from_one_user_stay_under_it_too():
    """However busy."""
    by_trace = {str(at): "user busy" if at % 2 else f"user {at}" for at in range(4000)}

    kept = cap([made(at, str(at)) for at in range(4000)], by_trace, CAPS).kept

    assert Counter(by_trace[one.traces[0]] for one in kept)["user busy"] == CAPS.share * CAPS.most


def test_few_people_may_each_have_twice_an_even_share():
    """A deployment of one person is not capped at all, one of four at a half each."""
    alone = cap([made(at, str(at)) for at in range(400)], {str(at): "user a" for at in range(400)}, CAPS)
    four = cap(
        [made(at, str(at)) for at in range(400)],
        {str(at): f"user {max(at - 396, 0)}" for at in range(400)},
        CAPS,
    )

    assert len(alone.kept) == 400
    assert len(four.kept) == EVEN * 400 // 4 + 3


def test_a_task_that_several_people_gave_is_not_lost_to_a_busy_one():
    """It is refused only when all of them had their share."""
    by_trace = {str(at): "user busy" for at in range(500)} | {f"o{at}": f"user {at}" for at in range(500)}
    shared = made(1000, "1", "o1")
    tasks = [
        *(made(at, str(at)) for at in range(500)),
        *(made(2000 + at, f"o{at}") for at in range(500)),
        shared,
    ]

    assert shared in cap(tasks, by_trace, CAPS).kept


def test_a_source_without_traces_has_a_cap_of_its_own():
    """A generator, a template or a document."""
    tasks = [made(at, source="generator:x") for at in range(900)] + [
        made(at, str(at)) for at in range(900, 1000)
    ]

    found = cap(tasks, {}, CAPS)

    assert sum(not one.traces for one in found.kept) == 500
    assert givers(tasks[0], {}) == ("source generator:x",)
    assert "source generator:x gave 500 of 1000" in found.over[0][1]


@given(st.lists(st.integers(0, 6), max_size=80), st.integers(1, 60), st.randoms())
def test_the_cap_holds_in_any_order_and_loses_nothing(people, most, draw):
    """Kept and over add up; nobody is over the limit; order does not matter."""
    by_trace = {str(at): f"user {person}" for at, person in enumerate(people)}
    tasks = [made(at, str(at)) for at in range(len(people))]
    mixed = list(tasks)
    draw.shuffle(mixed)

    found = cap(tasks, by_trace, Caps(0.1, 0.5, most))

    assert cap(mixed, by_trace, Caps(0.1, 0.5, most)) == found
    assert len(found.kept) + len(found.over) == len(tasks)
    size = min(len(tasks), most)
    limit = max(LEAST, -(-EVEN * size // max(len(set(people)), 1)), int(0.1 * size))
    assert all(count <= limit for count in Counter(by_trace[one.traces[0]] for one in found.kept).values())
