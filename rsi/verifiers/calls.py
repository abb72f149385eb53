"""Tool calls as models write them in text, read and never run.

Four notations, each as the whole answer (tags may stand in prose, and one code fence around the whole is taken off):

* JSON: one call or a list of calls, ``{"name", "arguments"}``, OpenAI's ``{"type": "function", "function": {…}}``
  with arguments as an object or as JSON text, or ``{"tool_calls": […]}``;
* ``<tool_call>{…}</tool_call>``, as often as there are calls;
* Python: ``[f(a=1), g.h(b="x")]``, or one call a line, with keyword arguments that are literals. A bare name stands
  for itself as text (a variable), as in BFCL.

Anything else is prose, which calls nothing.
"""

import ast
import re
from typing import NamedTuple, TypeAlias

import orjson

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

LONGEST = 50_000
"""Most characters of an answer that is read."""
MOST = 64
"""Most calls in one answer."""
_DEEPEST = 30
_TAG = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
_FENCE = re.compile(r"```[\w-]*\n(.*?)\n?```", re.DOTALL)
_PYTHON = re.compile(r"\[?\s*[A-Za-z_][\w.]*\(")
_WORDS: dict[str, Json] = {"true": True, "false": False, "null": None}


class Call(NamedTuple):
    """One call."""

    name: str
    arguments: dict[str, Json]


class Unreadable(ValueError):
    """An answer that sets out to call something and fails to say what; the text says how."""


def read(text: str) -> tuple[Call, ...]:
    """The calls of an answer, in their order; none where it is prose.

    Raises:
        Unreadable: it is written like a call and is none.
    """
    if len(text) > LONGEST:
        raise Unreadable(f"the answer has {len(text)} characters, at most {LONGEST} are read")
    body = text.strip()
    fenced = _FENCE.fullmatch(body)
    if fenced:
        body = fenced[1].strip()
    try:
        calls = _read(body)
    except RecursionError:
        raise Unreadable("the call is nested too deeply") from None
    if len(calls) > MOST:
        raise Unreadable(f"{len(calls)} calls, at most {MOST} are read")
    return calls


def write(calls: tuple[Call, ...]) -> str:
    """Calls as a JSON list, the notation that holds every name and value."""
    return orjson.dumps([{"name": one.name, "arguments": one.arguments} for one in calls]).decode()


def _read(body: str) -> tuple[Call, ...]:
    if "<tool_call>" in body:
        tagged = _TAG.findall(body)
        if len(tagged) != body.count("<tool_call>"):
            raise Unreadable("a <tool_call> is not closed")
        return tuple(call for one in tagged for call in _json_calls(_parsed(one.strip())))
    if _PYTHON.match(body):
        return _python(body)
    if body.startswith(("{", "[")):
        return _json_calls(_parsed(body))
    return ()


def _parsed(text: str) -> Json:
    try:
        found: Json = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise Unreadable(f"not JSON: {error}") from None
    return found


def _json_calls(found: Json) -> tuple[Call, ...]:
    if isinstance(found, dict) and isinstance(found.get("tool_calls"), list):
        found = found["tool_calls"]
    return tuple(_json_call(one) for one in (found if isinstance(found, list) else [found]))


def _json_call(found: Json) -> Call:
    if isinstance(found, dict) and isinstance(found.get("function"), dict):
        found = found["function"]
    if not isinstance(found, dict) or not isinstance(name := found.get("name"), str):
        raise Unreadable("a call is not an object with name and arguments")
    arguments = found.get("arguments", found.get("parameters", {}))
    if isinstance(arguments, str):
        arguments = _parsed(arguments or "{}")
    if not isinstance(arguments, dict):
        raise Unreadable(f"the arguments of {name[:60]!r} are not an object")
    return Call(name, arguments)


def _python(body: str) -> tuple[Call, ...]:
    try:
        tree = ast.parse(body)
    except (SyntaxError, ValueError, MemoryError):
        raise Unreadable("not a Python call") from None
    found: list[ast.expr] = []
    for line in tree.body:
        if not isinstance(line, ast.Expr):
            raise Unreadable("a statement stands where a call is expected")
        found += line.value.elts if isinstance(line.value, ast.List | ast.Tuple) else [line.value]
    return tuple(_python_call(one) for one in found)


def _python_call(node: ast.expr) -> Call:
    if not isinstance(node, ast.Call):
        raise Unreadable("something that is no call stands where a call is expected")
    name = _dotted(node.func)
    if node.args or any(one.arg is None for one in node.keywords):
        raise Unreadable(f"{name[:60]} has an argument without a name")
    return Call(name, {one.arg: _literal(one.value, 0) for one in node.keywords if one.arg is not None})


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    raise Unreadable("a call has no plain name")


def _literal(node: ast.expr, depth: int) -> Json:
    """The value of a literal; tuples become lists, as JSON has none."""
    if depth > _DEEPEST:
        raise Unreadable("an argument is nested too deeply")
    if isinstance(node, ast.Constant) and (
        node.value is None or isinstance(node.value, bool | int | float | str)
    ):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = _literal(node.operand, depth + 1)
        if isinstance(number, int | float) and not isinstance(number, bool):
            return -number
    if isinstance(node, ast.List | ast.Tuple):
        return [_literal(one, depth + 1) for one in node.elts]
    if isinstance(node, ast.Dict):
        keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
        if all(isinstance(key, str) for key in keys):
            return {str(key): _literal(one, depth + 1) for key, one in zip(keys, node.values, strict=True)}
    if isinstance(node, ast.Name):
        return _WORDS.get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        return _dotted(node)
    raise Unreadable("an argument is not a literal")
