"""The desk's tools as the OpenAI chat API takes them."""

from collections.abc import Mapping

from rsi.environments.desk.world import STATES, TEAMS

Schema = Mapping[str, object]


def _whole(meaning: str) -> Schema:
    return {"type": "integer", "description": meaning}


def _text(meaning: str, *choices: str) -> Schema:
    return {"type": "string", "description": meaning, **({"enum": list(choices)} if choices else {})}


def _tool(name: str, description: str, /, **parameters: Schema) -> Schema:
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {"type": "object", "properties": parameters, "required": list(parameters)},
        },
    }


TOOLS: tuple[Schema, ...] = (
    _tool("order", "An order's item, price, status and ticket.", id=_whole("The order.")),
    _tool("ticket", "A ticket's order, customer, status and team.", id=_whole("The ticket.")),
    _tool("customer", "A customer's id, tier and credit.", name=_text("First and last name.")),
    _tool("orders", "All orders of a customer.", name=_text("First and last name.")),
    _tool(
        "status",
        "Set a ticket's status.",
        ticket=_whole("The ticket."),
        state=_text("The new status.", *STATES),
    ),
    _tool("assign", "Give a ticket to a team.", ticket=_whole("The ticket."), team=_text(", ".join(TEAMS))),
    _tool("refund", "Pay back money of an order.", order=_whole("The order."), amount=_whole("How much.")),
    _tool(
        "credit",
        "Add to a customer's credit.",
        customer=_whole("The customer's id."),
        amount=_whole("How much."),
    ),
    _tool("note", "Write a note on a ticket.", ticket=_whole("The ticket."), text=_text("The note.")),
)
