"""The process that runs the tests. It holds no line of the tested code: it calls it and gets plain data back.

So nothing that the code does to its own interpreter (another ``==``, a replaced built-in, a look at the frames above,
an early exit) can reach the tests, and the verdict leaves by a pipe that the code's process never had, with a word
that only this process was told.
"""

import builtins
import importlib.util
import json
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rsi.verifiers.sandbox.wire import GoneError, Line, NotPlainError, pack, unpack
else:
    from wire import GoneError, Line, NotPlainError, pack, unpack


class TestedError(Exception):
    """The tested code raised something that has no name here."""


def run(file: str, calls: int, verdict: int, nonce: str) -> None:
    """Run the tests and say how they ended: passed, failed, or broken where they are at fault themselves."""
    sys.set_int_max_str_digits(0)
    os.set_inheritable(verdict, False)
    kind, why = _tried(file, Line(calls))
    os.write(verdict, json.dumps({"nonce": nonce, "kind": kind, "why": why[:200]}).encode() + b"\n")


def _tried(file: str, line: Line) -> tuple[str, str]:
    spec = importlib.util.spec_from_file_location("tests", file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    try:
        with open(file, encoding="utf-8") as text:  # noqa: PTH123
            compile(text.read(), "tests", "exec")
    except (SyntaxError, ValueError, RecursionError) as error:
        return "broken", f"the tests are no Python: {error}"
    try:
        vars(module).update(_names(line))
        spec.loader.exec_module(module)
    except GoneError as gone:
        return "failed", str(gone)
    except NotPlainError as error:
        return "broken", f"the tests pass an argument that cannot be sent: {error}"
    except BaseException as error:
        return "failed", f"{type(error).__name__}: {error}"
    return "passed", ""


def _names(line: Line) -> dict[str, object]:
    """What the code defines: a caller for each function, a copy of each plain value."""
    defined = line.receive()
    if not isinstance(defined, dict) or "failed" in defined:
        raise GoneError(str(defined["failed"]) if isinstance(defined, dict) else "it spoiled its channel")
    functions, values = defined.get("functions"), defined.get("values")
    if not isinstance(functions, list) or not isinstance(values, dict):
        raise GoneError("it spoiled its channel")
    kept = {name: unpack(value) for name, value in values.items()}
    return kept | {str(name): _caller(line, str(name)) for name in functions}


def _caller(line: Line, function: str) -> Callable[..., object]:
    def call(*arguments: object, **named: object) -> object:
        line.send({"function": function, "arguments": pack(list(arguments)), "named": pack(named)})
        reply = line.receive()
        if not isinstance(reply, dict):
            raise GoneError("it spoiled its channel")
        if "raised" in reply:
            raise _error(str(reply["raised"]), str(reply.get("says")))
        _copy_back(arguments, unpack(reply.get("arguments")))
        return unpack(reply.get("value"))

    return call


def _error(name: str, says: str) -> Exception:
    kind = getattr(builtins, name, None)
    try:
        made = kind(says) if isinstance(kind, type) and issubclass(kind, Exception) else None
    except TypeError:
        made = None
    return made or TestedError(f"{name}: {says}")


def _copy_back(arguments: tuple[object, ...], after: object) -> None:
    """Give mutable arguments the content that the function left in its copies."""
    if not isinstance(after, list) or len(after) != len(arguments):
        return
    for ours, theirs in zip(arguments, after, strict=True):
        if isinstance(ours, list) and isinstance(theirs, list):
            ours[:] = theirs
        elif isinstance(ours, dict | set) and type(ours) is type(theirs):
            ours.clear()
            ours.update(theirs)
