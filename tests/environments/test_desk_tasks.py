"""The desk's task generator."""

from collections import Counter

import orjson

from rsi.environments import kind
from rsi.environments.desk import world as rows
from rsi.environments.desk.tasks import KINDS
from rsi.environments.desk.world import STATES, TEAMS
from rsi.records import Pool, ToolCall, WorldTask
from tests.worlds_made import MANY, made, scored, shared

ACTS = ("status", "assign", "refund", "credit", "note")


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


def test_oracles_pass_on_the_real_desk_and_broken_ones_fail():
    """More than a thousand oracles, and for every tenth task one of the ways to get it wrong, in turn."""
    for place, one in enumerate(made("desk")[Pool.TRAIN]):
        assert scored(one, one.oracle) == 1, one
        if place % 10 == 0:
            variants = [(), *broken(one)]
            variant = variants[place // 10 % len(variants)]
            assert scored(one, variant) == 0, (one, variant)
    assert len({one.kind for one in made("desk")[Pool.TRAIN]}) == 18


def test_doing_nothing_and_every_broken_variant_fail():
    """All of them, for every task of every pool, by the rules in Python, with which the desk agrees on oracles."""
    for pool in Pool:
        for one in made("desk")[pool]:
            wanted = orjson.loads(one.expected)["state"]
            for variant in [(), *broken(one)]:
                state = orjson.loads(one.world)
                for call in variant:
                    state = rows.act(state, call)
                assert state != wanted, (one, variant)


def test_what_is_asked_is_enough_to_know_what_to_do():
    """All values of acts stand in the request or in a result, never only in the world."""
    for one in made("desk")[Pool.TRAIN][:150]:
        desk = kind("desk").open()
        known = desk.reset(one, 0) + desk.policy + " ".join((*STATES, "closed hold open"))
        for call in one.oracle:
            assert all(str(value) in known for value in call.arguments.values()), (one, call)
            known += " " + desk.call(call.name, call.arguments).text
        desk.close()


def test_levels_have_the_turns_and_sides_that_they_promise():
    """One call; a look and an act; a condition with both of its sides about equally often."""
    by_level = {level: [one for one in made("desk")[Pool.TRAIN] if one.level == level] for level in KINDS}

    assert {len(one.oracle) for one in by_level[1]} == {1}
    assert {len(one.oracle) for one in by_level[2]} == {2}
    assert {len(one.oracle) for one in by_level[3]} == {2, 3}
    assert {len(some) for some in by_level.values()} == {MANY["desk"] // 3}
    for name in ("refund_close", "ticket_refund"):
        acts = [tuple(call.name for call in one.oracle) for one in by_level[3] if one.kind == name]
        sides = Counter(acts)
        assert len(sides) == 2 and min(sides.values()) > 0.3 * sum(sides.values())
    assert sum(map(len, KINDS.values())) == 16


def test_pools_share_nothing():
    """Neither a request, nor what one asks for in other words, nor a world."""
    assert shared("desk") == set()
