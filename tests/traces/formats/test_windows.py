"""Equal messages in histories that were cut."""

from hypothesis import given
from hypothesis import strategies as st

from rsi.traces.formats.run import Run, Step, rows
from rsi.traces.formats.turns import Turn, said
from rsi.traces.formats.windows import counted
from rsi.traces.rows import Place, Rows

HERE = Place("default", None, "file", 1, 0)


def steps(conversation: list[str], kept: int) -> list[Step]:
    """One call for every second word, with the last words before it."""
    turns = [said("assistant" if at % 2 else "user", word) for at, word in enumerate(conversation)]
    return [
        Step(
            f"s{at}",
            "llm",
            start_ns=at + 1,
            asked=tuple(turns[max(at - kept, 0) : at]),
            answered=(turns[at],),
        )
        for at in range(1, len(turns), 2)
    ]


def read(found: tuple[Step, ...] | list[Step]) -> Rows:
    return rows(Run("run", "test", steps=tuple(found)), "test", HERE)


def test_the_same_words_twice_are_two_messages() -> None:
    """Where the second call was not told of the first time."""
    told = ["hello", "what?", "yes", "sure?", "yes", "done"]
    found = read(counted(steps(told, 2)))
    ordered = sorted(found.messages, key=lambda one: (one.at_ns, one.seq))
    assert [one.content for one in ordered] == told
    assert len(read(steps(told, 2)).messages) == 5


@given(st.lists(st.sampled_from(["yes", "no", "go on"]), min_size=2, max_size=16), st.integers(1, 20))
def test_whole_histories_need_no_names(conversation: list[str], extra: int) -> None:
    """Whatever is repeated, messages keep the names they have without."""
    whole = steps(conversation, len(conversation) + extra)
    assert counted(whole) == tuple(whole)


@given(st.lists(st.integers(0, 3), min_size=2, max_size=20), st.integers(3, 8))
def test_distinct_words_are_each_one_message(_: list[int], kept: int) -> None:
    """A cut history of words that do not repeat has the messages of the whole one."""
    told = [f"word {at}" for at in range(12)]
    cut, whole = read(counted(steps(told, kept))), read(steps(told, 100))
    assert {one.message_uid for one in cut.messages} == {one.message_uid for one in whole.messages}


def test_other_conversations_in_the_same_run_are_left_alone() -> None:
    """A call about something else, in between."""
    other = Step(
        "o",
        "llm",
        start_ns=3,
        asked=(Turn("system", "Judge.", "full"),),
        answered=(said("assistant", "good"),),
    )
    found = counted([*steps(["a", "b", "c", "d"], 4)[:1], other])
    assert other in found
