"""The desk's task generator."""

import re
from collections import Counter
from string import Formatter

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

from rsi.engine.chat import Dialogue
from rsi.environments import kind
from rsi.environments.desk import world as rows
from rsi.environments.desk.phrasings import KEPT, PHRASINGS
from rsi.environments.desk.tasks import KINDS, LEVELS, pool_of, task, tasks
from rsi.environments.desk.world import STATES, TEAMS
from rsi.harness.loop import Play, Table, demonstrate
from rsi.harness.rules import Rules
from rsi.records import Pool, ToolCall, WorldTask
from rsi.verifiers import final_state

MANY = 1002
FROZEN = ["w-b14029c372d05b8b", "w-22f4d0f1e47e9249", "w-7d39684809621007"]
ACTS = ("status", "assign", "refund", "credit", "note")


@pytest.fixture(scope="module")
def made() -> dict[Pool, tuple[WorldTask, ...]]:
    """Tasks of every pool."""
    return {pool: tasks(MANY, 5, pool) for pool in Pool}


def scored(one: WorldTask, calls: tuple[ToolCall, ...]) -> float | None:
    """What the real desk's state is worth after these calls."""
    desk = kind("desk").open()
    desk.reset(one, 0)
    for call in calls:
        desk.call(call.name, call.arguments)
    outcome = final_state.check(desk.final_state(), one.expected)
    desk.close()
    return outcome.score


def broken(one: WorldTask) -> list[tuple[ToolCall, ...]]:
    """Ways to get it wrong: an act left out, an act with another argument, an act too many."""
    found = []
    for place, call in enumerate(one.oracle):
        if call.name not in ACTS:
            continue
        without = (*one.oracle[:place], *one.oracle[place + 1 :])
        found.append(without)
        other = dict(call.arguments)
        if call.name == "status":
            other["state"] = next(state for state in STATES if state != other["state"])
        elif call.name == "assign":
            other["team"] = next(team for team in TEAMS if team != other["team"])
        elif call.name == "note":
            other["text"] = f"{other['text']}!"
        else:
            other["amount"] = int(other["amount"]) - 1 or 2
        found.append(
            (*one.oracle[:place], ToolCall(name=call.name, arguments=other), *one.oracle[place + 1 :])
        )
    ticket = orjson.loads(one.world)["tickets"][0]["id"]
    return [*found, (*one.oracle, ToolCall(name="note", arguments={"ticket": ticket, "text": "by the way"}))]


def test_oracles_pass_on_the_real_desk_and_broken_ones_fail(made):
    """More than a thousand oracles, and for every tenth task one of the ways to get it wrong, in turn."""
    for place, one in enumerate(made[Pool.TRAIN]):
        assert scored(one, one.oracle) == 1, one
        if place % 10 == 0:
            variants = [(), *broken(one)]
            variant = variants[place // 10 % len(variants)]
            assert scored(one, variant) == 0, (one, variant)
    assert len({one.kind for one in made[Pool.TRAIN]}) == 18


def test_doing_nothing_and_every_broken_variant_fail(made):
    """All of them, for every task of every pool, by the rules in Python, with which the desk agrees on oracles."""
    for pool in Pool:
        for one in made[pool]:
            wanted = orjson.loads(one.expected)["state"]
            for variant in [(), *broken(one)]:
                state = orjson.loads(one.world)
                for call in variant:
                    state = rows.act(state, call)
                assert state != wanted, (one, variant)


def test_what_is_asked_is_enough_to_know_what_to_do(made):
    """All values of acts stand in the request or in a result, never only in the world."""
    for one in made[Pool.TRAIN][:150]:
        desk = kind("desk").open()
        known = desk.reset(one, 0) + desk.policy + " ".join((*STATES, "closed hold open"))
        for call in one.oracle:
            assert all(str(value) in known for value in call.arguments.values()), (one, call)
            known += " " + desk.call(call.name, call.arguments).text
        desk.close()


def test_levels_have_the_turns_and_sides_that_they_promise(made):
    """One call; a look and an act; a condition with both of its sides about equally often."""
    by_level = {level: [one for one in made[Pool.TRAIN] if one.level == level] for level in LEVELS}

    assert {len(one.oracle) for one in by_level[1]} == {1}
    assert {len(one.oracle) for one in by_level[2]} == {2}
    assert {len(one.oracle) for one in by_level[3]} == {2, 3}
    assert {len(some) for some in by_level.values()} == {MANY // 3}
    for name in ("refund_close", "ticket_refund"):
        acts = [tuple(call.name for call in one.oracle) for one in by_level[3] if one.kind == name]
        sides = Counter(acts)
        assert len(sides) == 2 and min(sides.values()) > 0.3 * sum(sides.values())
    assert sum(map(len, KINDS.values())) == 16


@given(st.integers(0, 2**64), st.sampled_from(LEVELS), st.sampled_from(list(Pool)))
@settings(max_examples=60)
def test_a_seed_gives_the_same_task_to_the_byte(seed, level, pool):
    """And what is asked lies in the pool it says, in a phrasing of that pool."""
    one, again = task(seed, level, pool), task(seed, level, pool)

    assert one.model_dump_json() == again.model_dump_json()
    assert (one.level, one.pool) == (level, pool)


def test_the_generator_stays_what_it_was():
    """Frozen figures name tasks by seed: a change here is a change of every task."""
    first = tasks(3, 0, Pool.TRAIN)

    assert [one.task_id for one in first] == FROZEN
    assert tasks(3, 0, Pool.TRAIN) == first


def test_pools_share_nothing(made):
    """Neither a request, nor what one asks for in other words, nor a world, nor (reworded) a phrasing."""
    asked = {pool: {one.request for one in some} for pool, some in made.items()}
    worlds = {pool: {one.world for one in some} for pool, some in made.items()}
    for one, other in (
        (Pool.TRAIN, Pool.HELD_OUT),
        (Pool.TRAIN, Pool.REWORDED),
        (Pool.HELD_OUT, Pool.REWORDED),
    ):
        assert not asked[one] & asked[other]
        assert not worlds[one] & worlds[other]
    contents = {pool: {content(one) for one in some} for pool, some in made.items()}
    assert not contents[Pool.TRAIN] & (contents[Pool.HELD_OUT] | contents[Pool.REWORDED])


def content(one: WorldTask) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The family of a request and the values in it, read off the request's words."""
    family = {"refund_denied": "refund_full"}.get(one.kind, one.kind)
    found = next(filter(None, (values(phrasing, one.request) for phrasing in PHRASINGS[family])))
    return family, tuple(sorted(found.items()))


def values(phrasing: str, text: str) -> dict[str, str] | None:
    """What stands in the fields of a phrasing, if the text is one of its."""
    pattern = "".join(
        re.escape(before) + (f"(?P<{field}>[A-Za-z0-9 ]+?)" if field else "")
        for before, field, _, _ in Formatter().parse(phrasing)
    )
    found = re.fullmatch(pattern, text)
    return found.groupdict() if found else None


@given(st.sampled_from(sorted(PHRASINGS)), st.integers(100, 999), st.integers(100, 999))
def test_a_pool_follows_from_what_is_asked_alone(family, one, other):
    """Not from the words: a family and its values have one pool."""
    slots = {"ticket": one, "amount": other}

    assert pool_of(family, slots) is pool_of(family, dict(reversed(slots.items())))


def test_eight_tenths_are_for_training():
    """The rest is held out, half of it reworded."""
    shares = Counter(pool_of("close", {"ticket": number}) for number in range(4000))

    assert shares[Pool.TRAIN] == pytest.approx(3200, abs=120)
    assert shares[Pool.HELD_OUT] == pytest.approx(400, abs=80)


def test_every_family_has_many_phrasings_with_the_same_fields():
    """Eight to train on at least, and some that training never uses."""
    for family, phrasings in PHRASINGS.items():
        fields = {frozenset(field for _, field, _, _ in Formatter().parse(one) if field) for one in phrasings}
        assert len(fields) == 1, family
        assert len(set(phrasings)) == len(phrasings) >= 8 + KEPT
    every = [one for phrasings in PHRASINGS.values() for one in phrasings]
    assert len(set(every)) == len(every)


@pytest.mark.base
def test_prompts_and_answers_are_short_for_the_real_tokenizer(made, smollm):
    """Up to 128 tokens before the first answer, up to 24 an answer, with its end."""
    table = Table(Dialogue(AutoTokenizer.from_pretrained(smollm)), Rules(), final_state.check)
    for pool in Pool:
        longest = sorted(made[pool], key=lambda one: len(one.request))[-20:]
        for one in (*longest, *made[pool][:20]):
            shown = demonstrate(Play(one, 0, kind("desk").open), table)
            assert shown.turns[0].end <= 128, one.request
            assert all(turn.end - turn.start <= 24 for turn in shown.turns if turn.speaker == "answer")
            assert shown.reward == 1
