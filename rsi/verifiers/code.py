"""Code that must pass tests, run where it can do no harm and cannot forge the verdict.

`expected` is ``{"tests": …, "setup": …, "gold": …}``: `tests` is Python that asserts, and sees the functions and plain
values that the code defines at its top level; `setup` (optional) is put before the answer; `gold` (optional) is an
answer that passes. The answer is Python, alone or in its one code fence.

The code runs in one process and the tests in another (`rsi.verifiers.sandbox`): they exchange plain data only. The
standard library is there and nothing else. What the code does is its own fault: an exception, an exit, a hang, memory
or disk beyond the bounds score 0. Tests that are no Python are *invalid*; a machine that cannot start a process is an
*error*.
"""

import re

import orjson

from rsi.records import Outcome
from rsi.verifiers.outcomes import empty, error, invalid, scored, wrong_format
from rsi.verifiers.sandbox.process import Bounds, try_out

LONGEST = 50_000
"""Most characters of an answer."""
BOUNDS = Bounds()
_FENCE = re.compile(r"```[\w+-]*[ \t]*\n(.*?)\n?```", re.DOTALL)


def check(answer: str, expected: str, bounds: Bounds = BOUNDS) -> Outcome:
    """Right when every test passes within the bounds."""
    wanted = _parse(expected)
    if wanted is None:
        return invalid("expected is not an object with tests, and maybe setup and gold")
    if not answer.strip():
        return empty()
    code = code_of(answer)
    if code is None:
        return wrong_format(
            "the answer has several code blocks, is too long or holds a character that no file may"
        )
    try:
        ended = try_out(f"{wanted['setup']}\n\n{code}\n", wanted["tests"], bounds)
    except OSError as problem:
        return error(f"no process for the code: {problem.strerror}")
    if ended.kind == "broken":
        return invalid(ended.why)
    return scored(ended.kind == "passed", ended.why)


def gold(expected: str) -> str | None:
    """The solution that comes with the tests."""
    wanted = _parse(expected)
    return (wanted["gold"] or None) if wanted else None


def code_of(answer: str) -> str | None:
    """The code of an answer; None where there is no telling which, or it cannot be written to a file."""
    blocks = _FENCE.findall(answer)
    if len(blocks) > 1 or len(answer) > LONGEST or "\0" in answer:
        return None
    code: str = blocks[0] if blocks else answer
    return code if code.isascii() or code.encode("utf-8", "replace").decode() == code else None


def _parse(expected: str) -> dict[str, str] | None:
    try:
        found = orjson.loads(expected)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(found, dict) or not found.keys() <= {"tests", "setup", "gold"}:
        return None
    found = {"setup": "", "gold": "", **found}
    texts = all(isinstance(one, str) for one in found.values())
    return found if texts and str(found.get("tests", "")).strip() else None
