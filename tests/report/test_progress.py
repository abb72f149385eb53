"""What a person who watches long work is told."""

import io
import sys

import pytest
from rich.console import Console

from rsi.report.progress import Pace, TerminalProgress, heard, told
from rsi.report.words import duration


def test_time_left_follows_the_pace_since_the_first_report() -> None:
    """Unknown at first and at the end; steps that were there before a resume do not count."""
    now = [100.0]
    pace = Pace(lambda: now[0])
    assert pace.left("update", 20, 160) is None
    now[0] += 30.0
    assert pace.left("update", 50, 160) == 110.0
    assert pace.left("gate", 1, 2) is None
    now[0] += 10.0
    assert pace.left("update", 160, 160) is None
    assert pace.left("update", 5, 160) is None
    now[0] += 10.0
    assert pace.left("update", 15, 160) == 145.0


def test_work_of_the_same_name_on_another_night_has_a_pace_of_its_own() -> None:
    """What lies between two nights counts for neither, though both begin with the same report."""
    now = [0.0]
    pace = Pace(lambda: now[0])
    for start in (0.0, 5000.0):
        now[0] = start
        assert pace.left("gate", 16, 48) is None
        now[0] += 10.0
        assert pace.left("gate", 32, 48) == 10.0
        assert pace.left("gate", 48, 48) is None


@pytest.mark.parametrize(
    "said",
    [
        ("update", 12, 160, "reward 0.52, 3 groups without signal", 240.0),
        ("gate routing/v1 (2 of 3)", 0, 1, "", None),
        ("update", 1, 2, "not published: s3://a (away), later", 3.0),
    ],
)
def test_what_is_told_can_be_heard_again(said: tuple[str, int, int, str, float | None]) -> None:
    """By whoever follows the run from elsewhere; a text of another kind is none."""
    text = told(*said)
    assert heard(text) == said[:4]
    assert heard("a scorecard") is None


def test_durations_as_people_say_them() -> None:
    """Seconds, minutes, hours."""
    assert [duration(one) for one in (0.4, 99, 100, 240, 3599, 4800)] == [
        "0 s", "99 s", "2 min", "4 min", "1 h 0 min", "1 h 20 min",
    ]  # fmt: skip


def test_a_terminal_gets_a_bar_that_is_left_standing_and_a_pipe_gets_lines() -> None:
    """Text from outside acts on neither."""
    screen, pipe = io.StringIO(), io.StringIO()
    bar = TerminalProgress(Console(file=screen, force_terminal=True, width=100, markup=False))
    lines = TerminalProgress(Console(file=pipe, force_terminal=False, width=100, markup=False))
    for step in range(1, 21):
        for progress in (bar, lines):
            progress("update", step, 20, "reward 0.52, 1 answer failed\x1b]0;evil\x07 [red]")
    drawn = screen.getvalue()
    assert "20 of 20" in drawn and "left" in drawn and "1 answer failed" in drawn and "[red]" in drawn
    assert "\x1b]0;" not in drawn + pipe.getvalue()
    assert drawn.endswith("\x1b[?25h")
    assert len(pipe.getvalue().splitlines()) == 11
    assert pipe.getvalue().splitlines()[-1].startswith("update: 20 of 20 (reward 0.52")


def test_what_is_printed_while_a_bar_stands_goes_where_it_was_sent(capsys: pytest.CaptureFixture[str]) -> None:
    """A file keeps its JSON, also where a bar never came to its end."""
    screen = io.StringIO()
    bar = TerminalProgress(Console(file=screen, force_terminal=True, width=100, markup=False))
    bar("expand", 3, 20)

    sys.stdout.write('{"tasks": 3}\n')

    assert capsys.readouterr().out == '{"tasks": 3}\n'
    assert "tasks" not in screen.getvalue()
    bar("expand", 20, 20)
