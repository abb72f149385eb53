"""The desk's tools as the OpenAI chat API takes them."""

from rsi.environments.desk.world import STATES, TEAMS
from rsi.environments.schema import Schema, text, tool, whole

TOOLS: tuple[Schema, ...] = (
    tool("order", "An order's item, price, status and ticket.", id=whole("The order.")),
    tool("ticket", "A ticket's order, customer, status and team.", id=whole("The ticket.")),
    tool("customer", "A customer's id, tier and credit.", name=text("First and last name.")),
    tool("orders", "All orders of a customer.", name=text("First and last name.")),
    tool(
        "status",
        "Set a ticket's status.",
        ticket=whole("The ticket."),
        state=text("The new status.", *STATES),
    ),
    tool("assign", "Give a ticket to a team.", ticket=whole("The ticket."), team=text(", ".join(TEAMS))),
    tool("refund", "Pay back money of an order.", order=whole("The order."), amount=whole("How much.")),
    tool(
        "credit",
        "Add to a customer's credit.",
        customer=whole("The customer's id."),
        amount=whole("How much."),
    ),
    tool("note", "Write a note on a ticket.", ticket=whole("The ticket."), text=text("The note.")),
)
