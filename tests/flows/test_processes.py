"""Started programs end with whoever started them, and with everything they started in turn."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flows.processes import Processes, told
from rsi.errors import ContractError, TransientError

NEST = "import subprocess, sys, time; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); "
STUBBORN = NEST + "import signal; signal.signal(15, signal.SIG_IGN); print(p.pid, flush=True); time.sleep(60)"


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def _first_line(path: Path) -> str:
    deadline = time.monotonic() + 20
    while "\n" not in (text := path.read_text() if path.exists() else "") and time.monotonic() < deadline:
        time.sleep(0.05)
    return text.split("\n")[0]


def test_nothing_is_left_of_a_program_that_will_not_end(tmp_path: Path) -> None:
    """SIGKILL follows SIGTERM, for the children too."""
    with Processes(tmp_path) as processes:
        process = processes.start("stubborn", [sys.executable, "-c", STUBBORN], {})
        child = int(_first_line(process.log))
        assert _alive(child)
        process.stop(grace_s=0.3)
        assert not _alive(process.popen.pid)
        assert not _alive(child)


def test_a_program_that_dies_while_it_is_waited_for_is_named_with_its_last_line(tmp_path: Path) -> None:
    """One line: who, exit code, last output, where the rest is."""
    with Processes(tmp_path) as processes:
        process = processes.start(
            "broken", [sys.executable, "-c", "print('no such port'); raise SystemExit(4)"], {}
        )
        with pytest.raises(
            TransientError, match=r"broken ended with exit code 4: no such port \(see .*broken.log\)"
        ):
            processes.wait(process, lambda: False, 20)


def test_variables_reach_the_program(tmp_path: Path) -> None:
    """Ours, and those that were given."""
    with Processes(tmp_path) as processes:
        code = "import os; print(os.environ['RSI_TEST'], 'PATH' in os.environ)"
        process = processes.start("echo", [sys.executable, "-c", code], {"RSI_TEST": "here"})
        assert _first_line(process.log) == "here True"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_what_was_started(tmp_path: Path, number: signal.Signals) -> None:
    """Ctrl-C and SIGTERM unwind through the clean-up; the exit code says stopped."""
    code = (
        "import signal, sys, time\nfrom pathlib import Path\nfrom flows.processes import Processes, told\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored where a shell's background began
        "def main():\n"
        f"    with Processes(Path({str(tmp_path)!r})) as processes:\n"
        "        one = processes.start('sleeper', [sys.executable, '-c', 'import time; time.sleep(60)'], {})\n"
        "        print(one.popen.pid, flush=True)\n"
        "        time.sleep(60)\n"
        "sys.exit(told(main))\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as outer:
        assert outer.stdout is not None
        child = int(outer.stdout.readline())
        os.kill(outer.pid, number)
        assert outer.wait(60) == 130
    assert not _alive(child)


def test_an_error_of_ours_is_one_line_and_its_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    """No traceback."""

    def main() -> None:
        raise ContractError("no deployment file at /nowhere")

    assert told(main) == 2
    assert capsys.readouterr().err == "rsi: no deployment file at /nowhere\n"
