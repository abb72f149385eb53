"""Plain values as JSON lines: what crosses between tests and tested code is data, never an object with a will.

A value arrives as a fresh one of exactly these types: None, bool, int, float, complex, str, bytes, list, tuple,
dict, set, frozenset. A subclass arrives as what it derives from; anything else as `Opaque`, which equals nothing.
"""

import json
import os
from typing import TypeAlias, cast

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
LONGEST = 1 << 22
"""Most bytes of a line."""


class Opaque:
    """A value that is no plain data."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        """Equal to nothing, not even to itself."""
        return False


class NotPlainError(TypeError):
    """Something to be sent is no plain data."""


class GoneError(Exception):
    """The other side has closed, or says too much."""


class Line:
    """Both directions of a connected socket, one JSON value a line."""

    def __init__(self, handle: int) -> None:
        """`handle` is the descriptor; nobody else reads from it."""
        self._handle = handle
        self._held = b""
        os.set_inheritable(handle, False)

    def send(self, value: Json) -> None:
        """Write one line."""
        data = json.dumps(value).encode() + b"\n"
        while data:
            data = data[os.write(self._handle, data) :]

    def receive(self) -> Json:
        """Read one line.

        Raises:
            GoneError: there is none, it is too long or it is no JSON.
        """
        parts = [self._held]
        size = len(self._held)
        while b"\n" not in parts[-1]:
            try:
                part = os.read(self._handle, 1 << 16)
            except OSError:
                part = b""
            size += len(part)
            if not part or size > LONGEST:
                raise GoneError("it ended its process" if not part else "it returned too much")
            parts.append(part)
        line, self._held = b"".join(parts).split(b"\n", 1)
        try:
            return cast("Json", json.loads(line))
        except (ValueError, RecursionError):
            raise GoneError("it spoiled its channel") from None


def pack(value: object) -> Json:
    """A value as JSON, the type in front where JSON has none.

    Raises:
        NotPlainError: it is no plain data.
    """
    if value is None or value is True or value is False:
        return value
    if isinstance(value, int):
        return ["int", str(int(value))]
    if isinstance(value, float):
        return ["float", float(value).hex()]
    if isinstance(value, str):
        return str(value)
    if isinstance(value, complex):
        return ["complex", complex(value).real.hex(), complex(value).imag.hex()]
    if isinstance(value, bytes | bytearray):
        return ["bytes", bytes(value).hex()]
    if isinstance(value, dict):
        return ["dict", [[pack(key), pack(one)] for key, one in value.items()]]
    for name, kind in (("list", list), ("tuple", tuple), ("set", set), ("frozenset", frozenset)):
        if isinstance(value, kind):
            return [name, [pack(one) for one in value]]
    raise NotPlainError(f"{type(value).__name__} is not plain data")


def unpack(found: Json) -> object:
    """The value of what `pack` made; `Opaque` for anything else."""
    if not isinstance(found, list):
        return found if not isinstance(found, dict | int | float) or isinstance(found, bool) else Opaque()
    try:
        return _unpack(found)
    except (ValueError, TypeError, IndexError, OverflowError):
        return Opaque()


def _unpack(found: list[Json]) -> object:
    kind, rest = found[0], found[1]
    if kind == "int" and isinstance(rest, str):
        return int(rest)
    if kind == "float" and isinstance(rest, str):
        return float.fromhex(rest)
    if kind == "complex" and isinstance(rest, str) and isinstance(found[2], str):
        return complex(float.fromhex(rest), float.fromhex(found[2]))
    if kind == "bytes" and isinstance(rest, str):
        return bytes.fromhex(rest)
    if not isinstance(rest, list):
        return Opaque()
    if kind == "dict":
        pairs = [one for one in rest if isinstance(one, list)]
        return {unpack(one[0]): unpack(one[1]) for one in pairs}
    items = [unpack(one) for one in rest]
    makers = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
    return makers[kind](items) if isinstance(kind, str) and kind in makers else Opaque()
