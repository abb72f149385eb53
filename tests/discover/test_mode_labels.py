"""What persons say of modes: it survives re-mining, adds up, and can be taken back."""

import random

import pytest

from rsi.discover.labels import Action, ModeLabel, codebook, codebook_of, labels_of, say
from rsi.discover.modes import Before, mine
from rsi.discover.tally import mode_id
from rsi.errors import ContractError
from rsi.records import FailureMode, Modes
from rsi.settings import Home
from rsi.store.ledger import Ledger
from tests.discover.facts_made import call, facts, routed
from tests.traces.inputs import CLOCK

BUSY, SLOW = mode_id("tool_error:f:busy"), mode_id("tool_error:f:too slow")
ROUTE = mode_id("route:L2->L0")


def traces(count: int = 60) -> list:
    """Every third call busy, every fifth too slow, some both; requests for code of two kinds sent to chat."""
    made = []
    for number in range(count):
        errors = [text for text, every in (("busy", 3), ("too slow", 5)) if number % every == 0]
        calls = tuple(call("f", error=f"Error: {text}") for text in errors) or (call("f"),)
        made.append(facts(f"t{number:03d}", outcome="fail" if errors else "pass", calls=calls))
    return [*made, *(routed(f"r{number:03d}", "L2", "L0", start_ns=number + 1) for number in range(60))]


def texts(wanted: object) -> dict[str, str]:
    """What was asked: a function in Python, or a query in SQL, in changing words."""
    kinds = (
        "python function script sorts list names unit module",
        "sql query joins orders customers table rows index",
    )
    found = {}
    for uid in wanted:  # type: ignore[attr-defined]
        if uid.startswith("r"):
            number = int(uid[1:])
            found[uid] = "please write " + " ".join(random.Random(uid).sample(kinds[number % 2].split(), 6))
    return found


def mined(home: Home, night: str = "2026-01-02", previous: Modes | None = None) -> Modes:
    book = codebook_of(Ledger(home.ledger, CLOCK), night)
    return mine(traces(), Before(night, "v1", previous=previous, codebook=book), texts=texts).modes


def by_id(modes: Modes) -> dict[str, FailureMode]:
    return {one.mode_id: one for one in modes.modes}


def test_a_title_of_a_person_stays(home: Home) -> None:
    """Night after night, until it is taken back; control characters do not survive."""
    first = mined(home)
    label = say(
        home, CLOCK, first, ModeLabel(action=Action.RENAME, by="Ada", mode=BUSY, title="f is\x1b[31m down")
    )
    second = mined(home, "2026-01-03", first)
    third = mined(home, "2026-01-04", second)
    say(home, CLOCK, third, ModeLabel(action=Action.UNDO, by="Ada", undoes=label))
    fourth = mined(home, "2026-01-05", third)

    assert [by_id(one)[BUSY].title for one in (second, third)] == ["f is [31m down"] * 2
    assert by_id(second)[BUSY].titled_by == "person"
    assert by_id(fourth)[BUSY].title == by_id(first)[BUSY].title
    assert (second.labels, fourth.labels) == (1, 0)


def test_merged_modes_count_traces_once(home: Home) -> None:
    """A trace that shows both is one; so are the traces that had the chance."""
    first = mined(home)
    say(home, CLOCK, first, ModeLabel(action=Action.MERGE, by="Ada", mode=SLOW, into=BUSY))
    found = by_id(mined(home, "2026-01-03", first))

    both = sum(number % 3 == 0 or number % 5 == 0 for number in range(60))
    assert SLOW not in found
    assert (found[BUSY].count, found[BUSY].opportunities) == (both, 60)
    assert found[BUSY].signatures == ("tool_error:f:busy", "tool_error:f:too slow")
    assert found[BUSY].first_seen == "2026-01-02"


def test_modes_of_different_kinds_merge_their_chances(home: Home) -> None:
    """The rate is among the traces that had either chance; and a chain of merges has one end."""
    first = mined(home)
    say(home, CLOCK, first, ModeLabel(action=Action.MERGE, by="Ada", mode=SLOW, into=BUSY))
    say(home, CLOCK, first, ModeLabel(action=Action.MERGE, by="Ada", mode=BUSY, into=ROUTE))
    found = by_id(mined(home, "2026-01-03", first))

    both = sum(number % 3 == 0 or number % 5 == 0 for number in range(60))
    assert not {BUSY, SLOW} & set(found)
    assert (found[ROUTE].count, found[ROUTE].opportunities) == (60 + both, 120)
    with pytest.raises(ContractError, match="into itself"):
        say(home, CLOCK, first, ModeLabel(action=Action.MERGE, by="Ada", mode=ROUTE, into=SLOW))


def test_a_topic_becomes_a_mode_of_its_own(home: Home) -> None:
    """With its traces, a history and an id that stays; undone, it is a topic again."""
    first = mined(home)
    topics = by_id(first)[ROUTE].topics
    assert sorted(one.count for one in topics) == [30, 30]
    sql = next(one for one in topics if "sql" in one.terms)
    label = say(home, CLOCK, first, ModeLabel(action=Action.SPLIT, by="Ada", mode=ROUTE, topic=sql.topic_id))
    second = mined(home, "2026-01-03", first)
    third = mined(home, "2026-01-04", second)
    say(home, CLOCK, third, ModeLabel(action=Action.UNDO, by="Ada", undoes=label))
    fourth = mined(home, "2026-01-05", third)

    child = mode_id(f"route:L2->L0#{sql.topic_id}")
    for modes in (second, third):
        found = by_id(modes)
        assert (found[child].count, found[ROUTE].count) == (30, 30)
        assert found[child].opportunities == found[ROUTE].opportunities == 60
        assert "sql" in found[child].title
    assert by_id(third)[child].first_seen == "2026-01-03"
    assert child not in by_id(fourth)
    assert by_id(fourth)[ROUTE].count == 60


def test_what_will_not_be_fixed_is_last_and_not_trained(home: Home) -> None:
    """It stays in the list, with the reason."""
    first = mined(home)
    say(
        home,
        CLOCK,
        first,
        ModeLabel(action=Action.WONT_FIX, by="Ada", mode=ROUTE, reason="code is not offered"),
    )
    second = mined(home, "2026-01-03", first)

    assert first.modes[0].mode_id == second.modes[-1].mode_id == ROUTE
    assert first.modes[0].trainable
    assert not second.modes[-1].trainable
    assert second.modes[-1].wont_fix == "code is not offered"
    assert second.modes[-1].priority == 0


def test_labels_of_after_a_nights_begin_belong_to_the_next(home: Home) -> None:
    """So that a night that is killed and run again finds the same modes."""
    first = mined(home)
    ledger = Ledger(home.ledger, CLOCK)
    ledger.append("night", night="2026-01-03")
    say(home, CLOCK, first, ModeLabel(action=Action.RENAME, by="Ada", mode=BUSY, title="late"))

    assert codebook_of(ledger, "2026-01-03").labels == 0
    assert codebook_of(ledger, "2026-01-04").labels == 1
    assert [one.title for one in labels_of(ledger).values()] == ["late"]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (ModeLabel(action=Action.RENAME, by=" ", mode=BUSY, title="x"), "name of who"),
        (ModeLabel(action=Action.RENAME, by="Ada", mode="m-none", title="x"), "no failure mode"),
        (ModeLabel(action=Action.RENAME, by="Ada", mode=BUSY, title=" \n"), "title is empty"),
        (ModeLabel(action=Action.SPLIT, by="Ada", mode=BUSY, topic="c-none"), "has no topic"),
        (ModeLabel(action=Action.WONT_FIX, by="Ada", mode=BUSY), "say why"),
        (ModeLabel(action=Action.MERGE, by="Ada", mode=BUSY, into=BUSY), "into itself"),
        (ModeLabel(action=Action.UNDO, by="Ada", undoes=7), "no label 7"),
    ],
)
def test_labels_that_say_nothing_are_refused(home: Home, said: ModeLabel, message: str) -> None:
    """With what is wrong, and nothing is written."""
    with pytest.raises(ContractError, match=message):
        say(home, CLOCK, mined(home), said)
    assert not labels_of(Ledger(home.ledger, CLOCK))


def test_merges_never_turn_in_circles() -> None:
    """Whatever the records say."""
    ring = {
        1: ModeLabel(action=Action.MERGE, by="x", mode="a", into="b"),
        2: ModeLabel(action=Action.MERGE, by="x", mode="b", into="c"),
        3: ModeLabel(action=Action.MERGE, by="x", mode="c", into="a"),
    }
    assert codebook(ring).home_of("a") == "c"
