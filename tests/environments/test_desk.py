"""The service desk's world."""

import orjson
import pytest

from rsi.environments import ENVIRONMENTS, kind
from rsi.environments.desk.environment import Desk
from rsi.errors import ContractError
from rsi.ids import canonical
from rsi.records import Pool
from rsi.verifiers import final_state

WORLD = {
    "customers": [
        {"id": 11, "name": "Ana Ruiz", "tier": "gold", "credit": 5},
        {"id": 12, "name": "Ben Cole", "tier": "basic", "credit": 0},
    ],
    "orders": [
        {"id": 117, "customer_id": 11, "item": "lamp", "price": 40, "status": "delivered", "refunded": 0},
        {"id": 118, "customer_id": 11, "item": "sofa", "price": 90, "status": "delivered", "refunded": 0},
        {"id": 119, "customer_id": 12, "item": "tent", "price": 30, "status": "shipped", "refunded": 0},
    ],
    "tickets": [
        {"id": 511, "order_id": 117, "status": "open", "team": "sales"},
        {"id": 512, "order_id": 118, "status": "hold", "team": "repair"},
        {"id": 513, "order_id": 119, "status": "open", "team": "billing"},
    ],
    "notes": [],
}
TASK = (
    kind("desk")
    .tasks(1, 0, Pool.TRAIN)[0]
    .model_copy(update={"world": canonical(WORLD).decode(), "request": "Help."})
)


@pytest.fixture
def desk():
    """A desk with that world."""
    made = Desk()
    made.reset(TASK, 0)
    yield made
    made.close()


@pytest.mark.parametrize("name", sorted(ENVIRONMENTS))
def test_every_environment_keeps_the_contract(name):
    """It has tools and rules, refuses nothing of its oracles, ends in the expected state, and starts in the world."""
    for task in kind(name).tasks(12, 7, Pool.TRAIN):
        world = kind(name).open()
        assert world.reset(task, 1) == task.request
        assert (
            final_state.check(
                world.final_state(), orjson.dumps({"state": orjson.loads(task.world)}).decode()
            ).score
            == 1
        )
        for call in task.oracle:
            assert not world.call(call.name, call.arguments).failed
        assert final_state.check(world.final_state(), task.expected).score == 1
        assert world.tools and world.policy
        world.close()
        world.close()


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("order", {"id": 117}, "lamp, price 40, delivered, ticket 511"),
        ("ticket", {"id": 512}, "order 118, customer Ana Ruiz, hold, repair"),
        ("customer", {"name": "ana ruiz"}, "id 11, gold, credit 5"),
        ("orders", {"name": "Ana Ruiz"}, "117 lamp 40 delivered; 118 sofa 90 delivered"),
    ],
)
def test_what_is_looked_up_is_told_in_few_words(desk, tool, arguments, text):
    """And changes nothing."""
    before = desk.final_state()

    assert desk.call(tool, arguments) == (text, False)
    assert desk.final_state() == before


@pytest.mark.parametrize(
    ("tool", "arguments", "table", "row"),
    [
        (
            "status",
            {"ticket": 511, "state": "closed"},
            "tickets",
            {**WORLD["tickets"][0], "status": "closed"},
        ),
        ("assign", {"ticket": 511, "team": "billing"}, "tickets", {**WORLD["tickets"][0], "team": "billing"}),
        ("refund", {"order": 117, "amount": 40}, "orders", {**WORLD["orders"][0], "refunded": 40}),
        ("credit", {"customer": 12, "amount": 7}, "customers", {**WORLD["customers"][1], "credit": 7}),
        ("note", {"ticket": 511, "text": "a 'b'"}, "notes", {"ticket_id": 511, "text": "a 'b'"}),
    ],
)
def test_what_is_done_changes_one_row(desk, tool, arguments, table, row):
    """In its table and in no other."""
    before = orjson.loads(desk.final_state())

    assert desk.call(tool, arguments) == ("ok", False)
    after = orjson.loads(desk.final_state())
    assert row in after[table] and row not in before[table]
    assert [one for one in after[table] if one != row] == [
        one for one in before[table] if one.get("id") != row.get("id") or "id" not in row
    ]
    assert {name: rows for name, rows in after.items() if name != table} == {
        name: rows for name, rows in before.items() if name != table
    }


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("order", {"id": 999}, "no order 999"),
        ("ticket", {"id": 2**40}, f"{2**40} is no number of this desk"),
        ("customer", {"name": "Nobody"}, "no customer Nobody"),
        ("orders", {"name": "Nobody"}, "no customer Nobody"),
        ("status", {"ticket": 1, "state": "open"}, "no ticket 1"),
        (
            "assign",
            {"ticket": 511, "team": "legal"},
            "no team legal; there are billing, shipping, repair, sales",
        ),
        ("refund", {"order": 119, "amount": 30}, "order 119: shipped, not delivered"),
        ("refund", {"order": 117, "amount": 41}, "order 117: 1 to 40 can be refunded, not 41"),
        ("refund", {"order": 117, "amount": 0}, "order 117: 1 to 40 can be refunded, not 0"),
        ("refund", {"order": 118, "amount": 51}, "order 118: 51 is over the limit of 50"),
        ("credit", {"customer": 11, "amount": 51}, "51 is not a credit of 1 to 50"),
        ("credit", {"customer": 1, "amount": 5}, "no customer 1"),
        ("note", {"ticket": 511, "text": " "}, "a note has 1 to 200 characters"),
        ("note", {"ticket": 1, "text": "a"}, "no ticket 1"),
        ("pay", {}, "no tool pay"),
    ],
)
def test_what_is_refused_says_why_and_changes_nothing(desk, tool, arguments, text):
    """Rules and unknown rows alike."""
    before = desk.final_state()

    assert desk.call(tool, arguments) == (text, True)
    assert desk.final_state() == before


def test_money_is_paid_back_once(desk):
    """What was refunded cannot be refunded again."""
    assert desk.call("refund", {"order": 117, "amount": 30}).text == "ok"
    assert (
        desk.call("refund", {"order": 117, "amount": 20}).text == "order 117: 1 to 10 can be refunded, not 20"
    )
    assert desk.call("order", {"id": 117}).text == "lamp, price 40, delivered, refunded 30, ticket 511"


def test_desks_side_by_side_do_not_see_each_other(desk):
    """Each has its rows, also where the ids are equal, and nothing of one is left for the next."""
    other = Desk()
    other.reset(TASK, 0)
    other.call("status", {"ticket": 511, "state": "closed"})
    other.call("note", {"ticket": 511, "text": "mine"})

    assert orjson.loads(desk.final_state())["notes"] == []
    assert desk.call("ticket", {"id": 511}).text == "order 117, customer Ana Ruiz, open, sales"
    other.close()
    again = Desk()
    again.reset(TASK, 0)
    assert again.final_state() == desk.final_state()
    again.close()


def test_a_desk_is_reset_once_with_a_world_of_its_own():
    """Anything else is the caller's fault, and says what to do."""
    desk = Desk()
    with pytest.raises(ContractError, match="never reset"):
        desk.final_state()
    for other in ({"environment": "shop"}, {"world": "{}"}):
        with pytest.raises(ContractError, match="it needs customers, orders, tickets, notes"):
            desk.reset(TASK.model_copy(update=other), 0)
    desk.reset(TASK, 0)
    with pytest.raises(ContractError, match="open another one"):
        desk.reset(TASK, 0)
    desk.close()


def test_an_unknown_environment_is_named_with_the_known_ones():
    """So that a wrong word in a job is found."""
    with pytest.raises(ContractError, match="'shop'; there are chains, desk, long-chains"):
        kind("shop")
