"""Tasks for the desk, made from a seed: a world, what is asked, the calls that do it, and the state that is then right.

Level 1 is one call with everything said. Level 2 looks something up and then acts. In level 3 a condition decides,
stated in the request or by the policy; both of its sides come equally often.

What a request asks (its family and the values in it, whatever the words and whatever the world) is hashed into a pool,
so that nothing asked of a held-out task is ever trained on, in no wording. `Pool.REWORDED` is asked in phrasings of
its own besides.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count as counting
from random import Random
from typing import NamedTuple

from rsi.environments.desk import world as rows
from rsi.environments.desk.phrasings import KEPT, NOTES, PHRASINGS
from rsi.environments.desk.world import LIMIT, STATES, TEAMS, Customer, Order, Ticket, World
from rsi.ids import canonical, digest
from rsi.records import Argument, Pool, ToolCall, WorldTask

LEVELS = (1, 2, 3)
_POOLS = (*(Pool.TRAIN,) * 8, Pool.HELD_OUT, Pool.REWORDED)
Slots = Mapping[str, Argument]


class Draft(NamedTuple):
    """A task before it is worded; its world was made to fit."""

    kind: str
    family: str
    slots: Slots
    oracle: tuple[ToolCall, ...]


def task(seed: int, level: int, pool: Pool) -> WorldTask:
    """The task of a seed; equal arguments give equal bytes."""
    for attempt in counting():
        random = Random(f"desk:{seed}:{level}:{attempt}")
        made = rows.draw(random)
        kinds = KINDS[level]
        draft = kinds[random.randrange(len(kinds))](random, made)
        if pool_of(draft.family, draft.slots) is pool:
            return _worded(draft, made, level, pool, random)
    raise AssertionError("unreachable")


def tasks(count: int, seed: int, pool: Pool, levels: Sequence[int] = LEVELS) -> tuple[WorldTask, ...]:
    """`count` tasks of which no two ask the same in the same words, levels in turn."""
    return tuple(task for task, _ in zip(_distinct(seed, pool, levels), range(count), strict=False))


def _distinct(seed: int, pool: Pool, levels: Sequence[int]) -> Iterator[WorldTask]:
    seen = set[str]()
    for place in counting():
        number = int(digest([seed, place])[:12], 16)
        made = task(number, levels[len(seen) % len(levels)], pool)
        if made.request not in seen:
            seen.add(made.request)
            yield made


def pool_of(family: str, slots: Slots) -> Pool:
    """Where what is asked lies: eight tenths in training."""
    return _POOLS[int(digest(["desk", family, dict(slots)])[:8], 16) % len(_POOLS)]


def _worded(draft: Draft, made: World, level: int, pool: Pool, random: Random) -> WorldTask:
    phrasings = PHRASINGS[draft.family]
    usable = phrasings[-KEPT:] if pool is Pool.REWORDED else phrasings[:-KEPT]
    request = random.choice(usable).format(**draft.slots)
    state = made
    for call in draft.oracle:
        state = rows.act(state, call)
    start, expected = canonical(made).decode(), canonical({"state": state}).decode()
    return WorldTask(
        task_id=f"w-{digest(['desk', start, request, expected])[:16]}",
        environment="desk",
        world=start,
        request=request,
        expected=expected,
        oracle=draft.oracle,
        level=level,
        kind=draft.kind,
        pool=pool,
    )


def _call(tool: str, /, **arguments: Argument) -> ToolCall:
    return ToolCall(name=tool, arguments=arguments)


def _pick(random: Random, made: World) -> tuple[Order, Ticket, Customer]:
    """An order with its ticket and its customer."""
    order = random.choice(made["orders"])
    ticket = next(one for one in made["tickets"] if one["order_id"] == order["id"])
    customer = next(one for one in made["customers"] if one["id"] == order["customer_id"])
    return order, ticket, customer


def _deliver(random: Random, order: Order) -> None:
    """Make it an order that may be refunded in full."""
    order["status"], order["price"] = "delivered", random.randrange(10, LIMIT + 1)


def _other(random: Random, choices: Sequence[str], than: str) -> str:
    return random.choice([one for one in choices if one != than])


# --- level 1 ------------------------------------------------------------------------------------------------


def _status(random: Random, made: World) -> Draft:
    ticket = random.choice(made["tickets"])
    state = _other(random, STATES, ticket["status"])
    family = {"open": "reopen", "closed": "close", "hold": "hold"}[state]
    call = _call("status", ticket=ticket["id"], state=state)
    return Draft(family, family, {"ticket": ticket["id"]}, (call,))


def _assign(random: Random, made: World) -> Draft:
    ticket = random.choice(made["tickets"])
    slots: Slots = {"ticket": ticket["id"], "team": _other(random, TEAMS, ticket["team"])}
    return Draft("assign", "assign", slots, (_call("assign", **slots),))


def _refund(random: Random, made: World) -> Draft:
    order, _, _ = _pick(random, made)
    order["status"] = "delivered"
    slots: Slots = {"order": order["id"], "amount": random.randrange(1, min(order["price"], LIMIT) + 1)}
    return Draft("refund", "refund", slots, (_call("refund", **slots),))


def _credit(random: Random, made: World) -> Draft:
    slots: Slots = {
        "customer": random.choice(made["customers"])["id"],
        "amount": random.randrange(1, LIMIT + 1),
    }
    return Draft("credit", "credit", slots, (_call("credit", **slots),))


def _note(random: Random, made: World) -> Draft:
    slots: Slots = {"ticket": random.choice(made["tickets"])["id"], "text": random.choice(NOTES)}
    return Draft("note", "note", slots, (_call("note", **slots),))


# --- level 2 ------------------------------------------------------------------------------------------------


def _refund_full(random: Random, made: World) -> Draft:
    order, _, _ = _pick(random, made)
    _deliver(random, order)
    calls = (_call("order", id=order["id"]), _call("refund", order=order["id"], amount=order["price"]))
    return Draft("refund_full", "refund_full", {"order": order["id"]}, calls)


def _credit_name(random: Random, made: World) -> Draft:
    customer = random.choice(made["customers"])
    slots: Slots = {"name": customer["name"], "amount": random.randrange(1, LIMIT + 1)}
    credit = _call("credit", customer=customer["id"], amount=slots["amount"])
    return Draft("credit_name", "credit_name", slots, (_call("customer", name=customer["name"]), credit))


def _close_about(random: Random, made: World) -> Draft:
    order, ticket, _ = _pick(random, made)
    ticket["status"] = _other(random, STATES, "closed")
    calls = (_call("order", id=order["id"]), _call("status", ticket=ticket["id"], state="closed"))
    return Draft("close_about", "close_about", {"order": order["id"]}, calls)


def _refund_item(random: Random, made: World) -> Draft:
    order, _, customer = _pick(random, made)
    _deliver(random, order)
    slots: Slots = {"name": customer["name"], "item": order["item"]}
    refund = _call("refund", order=order["id"], amount=order["price"])
    return Draft("refund_item", "refund_item", slots, (_call("orders", name=customer["name"]), refund))


def _refund_on_ticket(random: Random, made: World) -> Draft:
    order, ticket, _ = _pick(random, made)
    order["status"] = "delivered"
    slots: Slots = {"ticket": ticket["id"], "amount": random.randrange(1, min(order["price"], LIMIT) + 1)}
    refund = _call("refund", order=order["id"], amount=slots["amount"])
    return Draft("refund_on_ticket", "refund_on_ticket", slots, (_call("ticket", id=ticket["id"]), refund))


def _assign_about(random: Random, made: World) -> Draft:
    order, ticket, _ = _pick(random, made)
    slots: Slots = {"order": order["id"], "team": _other(random, TEAMS, ticket["team"])}
    assign = _call("assign", ticket=ticket["id"], team=slots["team"])
    return Draft("assign_about", "assign_about", slots, (_call("order", id=order["id"]), assign))


# --- level 3 ------------------------------------------------------------------------------------------------


def _refund_denied(random: Random, made: World) -> Draft:
    """Asked as `refund_full` asks, where the policy says no."""
    order, ticket, _ = _pick(random, made)
    if random.random() < 0.5:
        order["status"] = "shipped"
    else:
        order["status"], order["price"] = "delivered", random.randrange(LIMIT + 1, 100)
    ticket["team"] = _other(random, TEAMS, "billing")
    calls = (_call("order", id=order["id"]), _call("assign", ticket=ticket["id"], team="billing"))
    return Draft("refund_denied", "refund_full", {"order": order["id"]}, calls)


def _refund_close(random: Random, made: World) -> Draft:
    order, ticket, _ = _pick(random, made)
    calls: tuple[ToolCall, ...] = (_call("order", id=order["id"]),)
    if random.random() < 0.5:
        _deliver(random, order)
        ticket["status"] = _other(random, STATES, "closed")
        refund = _call("refund", order=order["id"], amount=order["price"])
        calls += (refund, _call("status", ticket=ticket["id"], state="closed"))
    else:
        order["status"], ticket["status"] = "shipped", _other(random, STATES, "hold")
        calls += (_call("status", ticket=ticket["id"], state="hold"),)
    return Draft("refund_close", "refund_close", {"order": order["id"]}, calls)


def _tier_credit(random: Random, made: World) -> Draft:
    customer = random.choice(made["customers"])
    less, more = sorted(random.sample(range(1, LIMIT + 1), 2))
    slots: Slots = {"name": customer["name"], "more": more, "less": less}
    amount = more if customer["tier"] == "gold" else less
    calls = (
        _call("customer", name=customer["name"]),
        _call("credit", customer=customer["id"], amount=amount),
    )
    return Draft("tier_credit", "tier_credit", slots, calls)


def _tier_assign(random: Random, made: World) -> Draft:
    _, ticket, customer = _pick(random, made)
    team, other = random.sample([one for one in TEAMS if one != ticket["team"]], 2)
    calls = (
        _call("ticket", id=ticket["id"]),
        _call("customer", name=customer["name"]),
        _call("assign", ticket=ticket["id"], team=team if customer["tier"] == "gold" else other),
    )
    return Draft("tier_assign", "tier_assign", {"ticket": ticket["id"], "team": team, "other": other}, calls)


def _ticket_refund(random: Random, made: World) -> Draft:
    order, ticket, _ = _pick(random, made)
    looks = (_call("ticket", id=ticket["id"]), _call("order", id=order["id"]))
    if random.random() < 0.5:
        _deliver(random, order)
        act = _call("refund", order=order["id"], amount=order["price"])
    else:
        order["status"], ticket["team"] = "shipped", _other(random, TEAMS, "shipping")
        act = _call("assign", ticket=ticket["id"], team="shipping")
    return Draft("ticket_refund", "ticket_refund", {"ticket": ticket["id"]}, (*looks, act))


KINDS: dict[int, tuple[Callable[[Random, World], Draft], ...]] = {
    1: (_status, _assign, _refund, _credit, _note),
    2: (_refund_full, _credit_name, _close_about, _refund_item, _refund_on_ticket, _assign_about),
    3: (_refund_denied, _refund_close, _tier_credit, _tier_assign, _ticket_refund),
}
"""What is asked at each level."""
