"""Tasks for the desk, made from a seed: a world, what is asked, the calls that do it, and the state that is then right.

Level 1 is one call with everything said. Level 2 looks something up and then acts. In level 3 a condition decides,
stated in the request or by the policy; both of its sides come equally often.
"""

from collections.abc import Callable, Sequence
from random import Random

from rsi.environments.desk import world as rows
from rsi.environments.desk.phrasings import NOTES, PHRASINGS
from rsi.environments.desk.world import LIMIT, STATES, TEAMS, Customer, Order, Ticket, World
from rsi.environments.generator import Draft, Generator, Slots, call
from rsi.records import ToolCall


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
    calls = (call("status", ticket=ticket["id"], state=state),)
    return Draft(family, family, {"ticket": ticket["id"]}, calls)


def _assign(random: Random, made: World) -> Draft:
    ticket = random.choice(made["tickets"])
    slots: Slots = {"ticket": ticket["id"], "team": _other(random, TEAMS, ticket["team"])}
    return Draft("assign", "assign", slots, (call("assign", **slots),))


def _refund(random: Random, made: World) -> Draft:
    order, _, _ = _pick(random, made)
    order["status"] = "delivered"
    slots: Slots = {"order": order["id"], "amount": random.randrange(1, min(order["price"], LIMIT) + 1)}
    return Draft("refund", "refund", slots, (call("refund", **slots),))


def _credit(random: Random, made: World) -> Draft:
    slots: Slots = {
        "customer": random.choice(made["customers"])["id"],
        "amount": random.randrange(1, LIMIT + 1),
    }
    return Draft("credit", "credit", slots, (call("credit", **slots),))


def _note(random: Random, made: World) -> Draft:
    slots: Slots = {"ticket": random.choice(made["tickets"])["id"], "text": random.choice(NOTES)}
    return Draft("note", "note", slots, (call("note", **slots),))


# --- level 2 ------------------------------------------------------------------------------------------------


def _refund_full(random: Random, made: World) -> Draft:
    order, _, _ = _pick(random, made)
    _deliver(random, order)
    calls = (call("order", id=order["id"]), call("refund", order=order["id"], amount=order["price"]))
    return Draft("refund_full", "refund_full", {"order": order["id"]}, calls)


def _credit_name(random: Random, made: World) -> Draft:
    customer = random.choice(made["customers"])
    slots: Slots = {"name": customer["name"], "amount": random.randrange(1, LIMIT + 1)}
    credit = call("credit", customer=customer["id"], amount=slots["amount"])
    return Draft("credit_name", "credit_name", slots, (call("customer", name=customer["name"]), credit))


def _close_about(random: Random, made: World) -> Draft:
    order, ticket, _ = _pick(random, made)
    ticket["status"] = _other(random, STATES, "closed")
    calls = (call("order", id=order["id"]), call("status", ticket=ticket["id"], state="closed"))
    return Draft("close_about", "close_about", {"order": order["id"]}, calls)


def _refund_item(random: Random, made: World) -> Draft:
    order, _, customer = _pick(random, made)
    _deliver(random, order)
    slots: Slots = {"name": customer["name"], "item": order["item"]}
    refund = call("refund", order=order["id"], amount=order["price"])
    return Draft("refund_item", "refund_item", slots, (call("orders", name=customer["name"]), refund))


def _refund_on_ticket(random: Random, made: World) -> Draft:
    order, ticket, _ = _pick(random, made)
    order["status"] = "delivered"
    slots: Slots = {"ticket": ticket["id"], "amount": random.randrange(1, min(order["price"], LIMIT) + 1)}
    refund = call("refund", order=order["id"], amount=slots["amount"])
    return Draft("refund_on_ticket", "refund_on_ticket", slots, (call("ticket", id=ticket["id"]), refund))


def _assign_about(random: Random, made: World) -> Draft:
    order, ticket, _ = _pick(random, made)
    slots: Slots = {"order": order["id"], "team": _other(random, TEAMS, ticket["team"])}
    assign = call("assign", ticket=ticket["id"], team=slots["team"])
    return Draft("assign_about", "assign_about", slots, (call("order", id=order["id"]), assign))


# --- level 3 ------------------------------------------------------------------------------------------------


def _refund_denied(random: Random, made: World) -> Draft:
    """Asked as `refund_full` asks, where the policy says no."""
    order, ticket, _ = _pick(random, made)
    if random.random() < 0.5:
        order["status"] = "shipped"
    else:
        order["status"], order["price"] = "delivered", random.randrange(LIMIT + 1, 100)
    ticket["team"] = _other(random, TEAMS, "billing")
    calls = (call("order", id=order["id"]), call("assign", ticket=ticket["id"], team="billing"))
    return Draft("refund_denied", "refund_full", {"order": order["id"]}, calls)


def _refund_close(random: Random, made: World) -> Draft:
    order, ticket, _ = _pick(random, made)
    calls: tuple[ToolCall, ...] = (call("order", id=order["id"]),)
    if random.random() < 0.5:
        _deliver(random, order)
        ticket["status"] = _other(random, STATES, "closed")
        refund = call("refund", order=order["id"], amount=order["price"])
        calls += (refund, call("status", ticket=ticket["id"], state="closed"))
    else:
        order["status"], ticket["status"] = "shipped", _other(random, STATES, "hold")
        calls += (call("status", ticket=ticket["id"], state="hold"),)
    return Draft("refund_close", "refund_close", {"order": order["id"]}, calls)


def _tier_credit(random: Random, made: World) -> Draft:
    customer = random.choice(made["customers"])
    less, more = sorted(random.sample(range(1, LIMIT + 1), 2))
    slots: Slots = {"name": customer["name"], "more": more, "less": less}
    amount = more if customer["tier"] == "gold" else less
    calls = (
        call("customer", name=customer["name"]),
        call("credit", customer=customer["id"], amount=amount),
    )
    return Draft("tier_credit", "tier_credit", slots, calls)


def _tier_assign(random: Random, made: World) -> Draft:
    _, ticket, customer = _pick(random, made)
    team, other = random.sample([one for one in TEAMS if one != ticket["team"]], 2)
    calls = (
        call("ticket", id=ticket["id"]),
        call("customer", name=customer["name"]),
        call("assign", ticket=ticket["id"], team=team if customer["tier"] == "gold" else other),
    )
    return Draft("tier_assign", "tier_assign", {"ticket": ticket["id"], "team": team, "other": other}, calls)


def _ticket_refund(random: Random, made: World) -> Draft:
    order, ticket, _ = _pick(random, made)
    looks = (call("ticket", id=ticket["id"]), call("order", id=order["id"]))
    if random.random() < 0.5:
        _deliver(random, order)
        act = call("refund", order=order["id"], amount=order["price"])
    else:
        order["status"], ticket["team"] = "shipped", _other(random, TEAMS, "shipping")
        act = call("assign", ticket=ticket["id"], team="shipping")
    return Draft("ticket_refund", "ticket_refund", {"ticket": ticket["id"]}, (*looks, act))


KINDS: dict[int, tuple[Callable[[Random, World], Draft], ...]] = {
    1: (_status, _assign, _refund, _credit, _note),
    2: (_refund_full, _credit_name, _close_about, _refund_item, _refund_on_ticket, _assign_about),
    3: (_refund_denied, _refund_close, _tier_credit, _tier_assign, _ticket_refund),
}
"""What is asked at each level."""


def _draw(random: Random, level: int) -> tuple[World, Draft]:
    made = rows.draw(random)
    kinds = KINDS[level]
    return made, kinds[random.randrange(len(kinds))](random, made)


GENERATOR = Generator("desk", PHRASINGS, _draw, rows.act, levels=tuple(KINDS))
