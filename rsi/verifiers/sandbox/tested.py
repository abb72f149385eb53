"""The process that runs the code under test and answers calls to its functions."""

import importlib.util
import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rsi.verifiers.sandbox.wire import Json, Line, NotPlainError, pack, unpack
else:
    from wire import Line, NotPlainError, pack, unpack


def load(file: str, name: str) -> ModuleType:
    """A file as a module, run."""
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def serve(file: str, handle: int) -> None:
    """Run the code, say what it defines, then answer calls until the line closes."""
    sys.set_int_max_str_digits(0)
    line = Line(handle)
    try:
        module = load(file, "solution")
    except BaseException as error:
        line.send({"failed": f"{type(error).__name__}: {error}"[:200]})
        return
    functions = {
        name: one for name, one in vars(module).items() if callable(one) and not name.startswith("__")
    }
    names: list[Json] = [*sorted(functions)]
    line.send({"functions": names, "values": _values(module, functions)})
    while True:
        asked = line.receive()
        assert isinstance(asked, dict)
        line.send(_answer(functions, asked))


def _values(module: ModuleType, functions: dict[str, object]) -> "dict[str, Json]":
    found = {}
    for name, value in vars(module).items():
        if not name.startswith("__") and name not in functions:
            try:
                found[name] = pack(value)
            except (NotPlainError, RecursionError):
                continue
    return found


def _answer(functions: dict[str, object], asked: "dict[str, Json]") -> "Json":
    """What a call returns, and what became of its arguments; or what it raised."""
    arguments, named = unpack(asked["arguments"]), unpack(asked["named"])
    function = functions[str(asked["function"])]
    assert callable(function) and isinstance(arguments, list) and isinstance(named, dict)
    try:
        value = function(*arguments, **named)
    except BaseException as error:
        return {"raised": type(error).__name__, "says": str(error)[:200]}
    try:
        return {"value": pack(value), "arguments": pack(arguments)}
    except (NotPlainError, RecursionError, MemoryError):
        return {"value": {}, "arguments": pack([])}
