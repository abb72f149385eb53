"""The service desk: tickets, customers and orders in DuckDB, asked and changed by nine tools.

All episodes of a process share one database in memory. Each has a connection of its own and one transaction that is
begun at reset and rolled back at close, so that it sees its own rows only, and setting up is three inserts.
"""

from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import orjson

from rsi.environments.desk.tools import TOOLS
from rsi.environments.desk.world import LIMIT, TEAMS, refusal
from rsi.environments.start import policy, start_of
from rsi.errors import ContractError
from rsi.ids import canonical
from rsi.ports import ToolResult
from rsi.records import Argument, WorldTask

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_FILL = {
    "customers": """
        insert into customers by name select unnest(from_json(?,
            '[{"id": "integer", "name": "varchar", "tier": "varchar", "credit": "integer"}]'), recursive := true)""",
    "orders": """
        insert into orders by name select unnest(from_json(?,
            '[{"id": "integer", "customer_id": "integer", "item": "varchar", "price": "integer",
               "status": "varchar", "refunded": "integer"}]'), recursive := true)""",
    "tickets": """
        insert into tickets by name select unnest(from_json(?,
            '[{"id": "integer", "order_id": "integer", "status": "varchar", "team": "varchar"}]'),
            recursive := true)""",
    "notes": """
        insert into notes by name select unnest(from_json(?,
            '[{"ticket_id": "integer", "text": "varchar"}]'), recursive := true)""",
}
_STATE = {
    "customers": "select id, name, tier, credit from customers",
    "orders": "select id, customer_id, item, price, status, refunded from orders",
    "tickets": "select id, order_id, status, team from tickets",
    "notes": "select ticket_id, text from notes",
}
_ORDER = """
    select o.item, o.price, o.status, o.refunded, t.id
    from orders o join tickets t on t.order_id = o.id where o.id = ?"""
_TICKET = """
    select o.id, c.name, t.status, t.team
    from tickets t join orders o on o.id = t.order_id join customers c on c.id = o.customer_id where t.id = ?"""
_CUSTOMER = "select id, tier, credit from customers where lower(name) = lower(?)"
_ORDERS = "select id, item, price, status from orders where customer_id = ? order by id"
_TICKET_THERE = "select 1 from tickets where id = ?"
_CUSTOMER_THERE = "select 1 from customers where id = ?"
_ORDER_THERE = "select price, status, refunded from orders where id = ?"
_SET_STATUS = "update tickets set status = ? where id = ?"
_SET_TEAM = "update tickets set team = ? where id = ?"
_ADD_REFUND = "update orders set refunded = refunded + ? where id = ?"
_ADD_CREDIT = "update customers set credit = credit + ? where id = ?"
_ADD_NOTE = "insert into notes values (?, ?)"
NOTE_CHARS = 200
"""Most characters of a note."""
_BIGGEST = 2**31


class Refused(ValueError):
    """What the desk does not do; the text says why."""


@cache
def _database() -> "DuckDBPyConnection":
    """The process's database, with empty tables and without a way to files or the network."""
    import duckdb

    made = duckdb.connect(":memory:", config={"threads": 1})
    made.execute(files("rsi.environments.desk").joinpath("schema.sql").read_text(encoding="utf-8"))
    made.execute("set enable_external_access = false")
    return made


class Desk:
    """`rsi.ports.Environment`. It leaves nothing to chance: the seed of a reset changes nothing."""

    def __init__(self) -> None:
        self._connection: DuckDBPyConnection | None = None
        self._uses: dict[str, Callable[[Mapping[str, Argument]], str]] = {
            "order": lambda given: self._order(given["id"]),
            "ticket": lambda given: self._ticket(given["id"]),
            "customer": lambda given: self._customer(given["name"]),
            "orders": lambda given: self._orders(given["name"]),
            "status": lambda given: self._change(_SET_STATUS, given["state"], given["ticket"]),
            "assign": lambda given: self._assign(given["ticket"], given["team"]),
            "refund": lambda given: self._refund(given["order"], given["amount"]),
            "credit": lambda given: self._credit(given["customer"], given["amount"]),
            "note": lambda given: self._note(given["ticket"], given["text"]),
        }

    @property
    def tools(self) -> tuple[Mapping[str, object], ...]:
        """Nine tools: four look up, five act."""
        return TOOLS

    @property
    def policy(self) -> str:
        """The rules of the house."""
        return policy("desk")

    def reset(self, task: WorldTask, seed: int) -> str:
        """Fill the tables with the task's world; what the customer's clerk asks.

        Raises:
            ContractError: the desk was reset before, or the task's world is no world of the desk.
        """
        if self._connection is not None:
            raise ContractError("a desk serves one episode; open another one")
        world = start_of(task, "desk", _FILL)
        self._connection = _database().cursor()
        self._connection.execute("begin")
        for table, query in _FILL.items():
            if world[table]:
                self._connection.execute(query, [orjson.dumps(world[table]).decode()])
        return task.request

    def call(self, tool: str, arguments: Mapping[str, Argument]) -> ToolResult:
        """Use a tool; what it refuses changes nothing."""
        use = self._uses.get(tool)
        if use is None:
            return ToolResult(f"no tool {tool[:40]}", failed=True)
        try:
            return ToolResult(use(arguments))
        except Refused as error:
            return ToolResult(str(error), failed=True)

    def final_state(self) -> str:
        """Every table, rows in the order of their canonical JSON."""
        state: dict[str, list[dict[str, Argument]]] = {}
        for table, query in _STATE.items():
            rows = self._open.execute(query)
            names = [column[0] for column in rows.description]
            found = [dict(zip(names, row, strict=True)) for row in rows.fetchall()]
            state[table] = sorted(found, key=canonical)
        return canonical(state).decode()

    def close(self) -> None:
        """Roll back; also while a call still runs in another thread."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.interrupt()
            connection.close()

    @property
    def _open(self) -> "DuckDBPyConnection":
        if self._connection is None:
            raise ContractError("this desk is closed, or was never reset")
        return self._connection

    def _rows(self, query: str, *values: Argument) -> list[tuple[Argument, ...]]:
        for value in values:
            if isinstance(value, int) and not -_BIGGEST <= value < _BIGGEST:
                raise Refused(f"{value} is no number of this desk")
        found: list[tuple[Argument, ...]] = self._open.execute(query, list(values)).fetchall()
        return found

    def _one(self, what: str, query: str, key: Argument) -> tuple[Argument, ...]:
        """The row of a key.

        Raises:
            Refused: there is none.
        """
        rows = self._rows(query, key)
        if not rows:
            raise Refused(f"no {what} {str(key)[:40]}")
        return rows[0]

    def _order(self, order: Argument) -> str:
        item, price, status, refunded, ticket = self._one("order", _ORDER, order)
        paid = f", refunded {refunded}" if refunded else ""
        return f"{item}, price {price}, {status}{paid}, ticket {ticket}"

    def _ticket(self, ticket: Argument) -> str:
        order, customer, status, team = self._one("ticket", _TICKET, ticket)
        return f"order {order}, customer {customer}, {status}, {team}"

    def _customer(self, name: Argument) -> str:
        key, tier, credit = self._one("customer", _CUSTOMER, name)
        return f"id {key}, {tier}, credit {credit}"

    def _orders(self, name: Argument) -> str:
        key, *_ = self._one("customer", _CUSTOMER, name)
        found = [
            f"{order} {item} {price} {status}" for order, item, price, status in self._rows(_ORDERS, key)
        ]
        return "; ".join(found) or "none"

    def _change(self, query: str, value: Argument, ticket: Argument) -> str:
        self._one("ticket", _TICKET_THERE, ticket)
        self._open.execute(query, [value, ticket])
        return "ok"

    def _assign(self, ticket: Argument, team: Argument) -> str:
        if team not in TEAMS:
            raise Refused(f"no team {str(team)[:40]}; there are {', '.join(TEAMS)}")
        return self._change(_SET_TEAM, team, ticket)

    def _refund(self, order: Argument, amount: Argument) -> str:
        price, status, refunded = self._one("order", _ORDER_THERE, order)
        objection = refusal(str(status), int(price) - int(refunded), int(amount))
        if objection:
            raise Refused(f"order {order}: {objection}")
        self._open.execute(_ADD_REFUND, [amount, order])
        return "ok"

    def _credit(self, customer: Argument, amount: Argument) -> str:
        self._one("customer", _CUSTOMER_THERE, customer)
        if not 1 <= int(amount) <= LIMIT:
            raise Refused(f"{amount} is not a credit of 1 to {LIMIT}")
        self._open.execute(_ADD_CREDIT, [amount, customer])
        return "ok"

    def _note(self, ticket: Argument, text: Argument) -> str:
        if not str(text).strip() or len(str(text)) > NOTE_CHARS:
            raise Refused(f"a note has 1 to {NOTE_CHARS} characters")
        self._one("ticket", _TICKET_THERE, ticket)
        self._open.execute(_ADD_NOTE, [ticket, text])
        return "ok"
