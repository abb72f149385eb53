"""The desk's rows: what an episode begins with, and what acting calls make of them."""

from random import Random
from typing import TypedDict

from rsi.records import Argument, ToolCall

LIMIT = 50
"""Most that is refunded or credited in one go."""
TEAMS = ("billing", "shipping", "repair", "sales")
STATES = ("open", "hold", "closed")
ITEMS = (
    "lamp",
    "chair",
    "desk",
    "kettle",
    "radio",
    "phone",
    "tent",
    "bike",
    "clock",
    "drill",
    "sofa",
    "mixer",
)
_FIRST = (
    *("Ana", "Ben", "Cara", "Dan", "Eva", "Finn", "Gita", "Hugo", "Ida", "Jan", "Kim", "Leo"),
    *("Mia", "Noah", "Olga", "Paul", "Rosa", "Sam", "Tess", "Uma", "Vera", "Will", "Yara", "Zoe"),
)
_LAST = (
    *("Ruiz", "Cole", "Berg", "Diaz", "Ford", "Gray", "Hill", "Irwin", "Jones", "Klein", "Lopez", "Moss"),
    *(
        "Novak",
        "Owens",
        "Price",
        "Quinn",
        "Reed",
        "Stone",
        "Torres",
        "Vance",
        "West",
        "Young",
        "Zhang",
        "Bauer",
    ),
)
_CUSTOMERS, _ORDERS = 4, 6


class Customer(TypedDict):
    """One customer."""

    id: int
    name: str
    tier: str
    """basic or gold."""
    credit: int


class Order(TypedDict):
    """One order."""

    id: int
    customer_id: int
    item: str
    price: int
    status: str
    """shipped or delivered."""
    refunded: int


class Ticket(TypedDict):
    """One ticket; every order has one."""

    id: int
    order_id: int
    status: str
    team: str


class Note(TypedDict):
    """One note on a ticket."""

    ticket_id: int
    text: str


class World(TypedDict):
    """All of it: the form of a task's `world` and of its expected state."""

    customers: list[Customer]
    orders: list[Order]
    tickets: list[Ticket]
    notes: list[Note]


def draw(random: Random) -> World:
    """A world with a few rows of everything. Names are whole names, and no customer has two orders of an item."""
    names = random.sample([f"{first} {last}" for first in _FIRST for last in _LAST], _CUSTOMERS)
    customers = [
        Customer(id=key, name=name, tier=random.choice(("basic", "gold")), credit=5 * random.randrange(5))
        for key, name in zip(random.sample(range(10, 100), _CUSTOMERS), names, strict=True)
    ]
    orders = [
        Order(
            id=key,
            customer_id=random.choice(customers)["id"],
            item=item,
            price=random.randrange(10, 100),
            status=random.choice(("shipped", "delivered")),
            refunded=0,
        )
        for key, item in zip(
            random.sample(range(100, 1000), _ORDERS), random.sample(ITEMS, _ORDERS), strict=True
        )
    ]
    tickets = [
        Ticket(id=key, order_id=order["id"], status=random.choice(STATES), team=random.choice(TEAMS))
        for key, order in zip(random.sample(range(100, 1000), _ORDERS), orders, strict=True)
    ]
    return World(customers=customers, orders=orders, tickets=tickets, notes=[])


def refusal(status: str, left: int, amount: int) -> str:
    """Why `amount` of an order that has `left` to refund may not be refunded; empty where it may."""
    if status != "delivered":
        return f"{status}, not delivered"
    if not 1 <= amount <= left:
        return f"1 to {left} can be refunded, not {amount}"
    return "" if amount <= LIMIT else f"{amount} is over the limit of {LIMIT}"


def act(world: World, call: ToolCall) -> World:
    """The world after an acting call that it allows; after a look-up it is what it was. `world` stays as it is."""
    made = copy(world)
    given = call.arguments
    match call.name:
        case "status":
            _ticket(made, given["ticket"])["status"] = str(given["state"])
        case "assign":
            _ticket(made, given["ticket"])["team"] = str(given["team"])
        case "refund":
            order = next(one for one in made["orders"] if one["id"] == given["order"])
            order["refunded"] += int(given["amount"])
        case "credit":
            customer = next(one for one in made["customers"] if one["id"] == given["customer"])
            customer["credit"] += int(given["amount"])
        case "note":
            made["notes"].append(Note(ticket_id=int(given["ticket"]), text=str(given["text"])))
    return made


def copy(world: World) -> World:
    """An equal world that shares no row."""
    return World(
        customers=[one.copy() for one in world["customers"]],
        orders=[one.copy() for one in world["orders"]],
        tickets=[one.copy() for one in world["tickets"]],
        notes=[one.copy() for one in world["notes"]],
    )


def _ticket(world: World, key: Argument) -> Ticket:
    return next(one for one in world["tickets"] if one["id"] == key)
