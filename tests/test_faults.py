"""Named crash points."""

import errno
import os
import signal
import subprocess
import sys

import pytest

from rsi import faults


def test_points_do_nothing_unless_armed(monkeypatch):
    """Production never notices them."""
    monkeypatch.delenv("RSI_FAULT", raising=False)

    faults.point("ledger.before_append")


def test_an_armed_point_can_fill_the_disk_on_its_second_turn(monkeypatch):
    """`#2` waits for the second time; `:enospc` raises instead of killing."""
    monkeypatch.setenv("RSI_FAULT", "test.point#2:enospc")

    faults.point("test.point")
    with pytest.raises(OSError, match=r"test\.point") as caught:
        faults.point("test.point")
    assert caught.value.errno == errno.ENOSPC


def test_an_armed_point_kills_the_process():
    """SIGKILL: no handler, no cleaning up."""
    code = "from rsi import faults; faults.point('x.y'); print('alive')"
    ended = subprocess.run([sys.executable, "-c", code], env={**os.environ, "RSI_FAULT": "x.y"}, check=False)

    assert ended.returncode == -signal.SIGKILL


def test_every_stage_has_points():
    """The points are collected from the source; each stage can be killed somewhere."""
    found = faults.points()

    assert len(found) == len(set(found)), "a point is named twice"
    assert {"ledger", "bank", "expand", "update", "gate", "promote"} <= {name.split(".")[0] for name in found}
