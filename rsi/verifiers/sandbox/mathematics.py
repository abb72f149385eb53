"""The process that compares formulas: Math-Verify reads them, SymPy decides, both may hang."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rsi.verifiers.sandbox.wire import GoneError, Line
else:
    from wire import GoneError, Line

MARKS = ("$", "\\boxed", "\\(", "\\[")
"""What delimits a formula in a text."""


def serve(handle: int) -> None:
    """Answer ``[answer, expected]`` with right, wrong, unread (the answer) or broken (the expectation)."""
    from math_verify import parse, verify

    line = Line(handle)
    line.send("ready")
    while True:
        try:
            asked = line.receive()
        except GoneError:
            return
        assert isinstance(asked, list)
        answer, expected = str(asked[0]), str(asked[1])
        if not any(mark in expected for mark in MARKS):
            expected = f"${expected}$"
        # Its own time limits work by a signal of the main thread; this process is killed instead.
        wanted = parse(expected, parsing_timeout=None)
        if all(isinstance(one, str) for one in wanted):
            wanted = []
        found = parse(answer, parsing_timeout=None) if wanted else []
        if not wanted or not found:
            line.send("unread" if wanted else "broken")
            continue
        line.send("right" if verify(wanted, found, timeout_seconds=None) else "wrong")
