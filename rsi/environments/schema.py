"""Tools as the OpenAI chat API takes them, all their arguments wanted."""

from collections.abc import Mapping

Schema = Mapping[str, object]


def whole(meaning: str) -> Schema:
    """An integer."""
    return {"type": "integer", "description": meaning}


def text(meaning: str, *choices: str) -> Schema:
    """A text, or one of some."""
    return {"type": "string", "description": meaning, **({"enum": list(choices)} if choices else {})}


def tool(name: str, description: str, /, **parameters: Schema) -> Schema:
    """A function with these arguments, in this order."""
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {"type": "object", "properties": parameters, "required": list(parameters)},
        },
    }
