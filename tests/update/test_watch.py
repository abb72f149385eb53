"""Somebody notices when nothing moves."""

import threading

from rsi.update.watch import Watch

LONG_S = 60.0


def test_a_watch_expires_once_nothing_has_moved():
    """Once."""
    fired, count = threading.Event(), []

    def expired() -> None:
        count.append(1)
        fired.set()

    with Watch(0.05, expired):
        assert fired.wait(LONG_S)
    assert count == [1]


def test_what_moves_is_left_alone():
    """Each move begins the time anew: it expires after the last one, not before."""
    fired, moves = threading.Event(), []
    watch = Watch(2.0, lambda: (moves.append("expired"), fired.set()))
    with watch:
        for _ in range(10):
            threading.Event().wait(0.02)
            watch.move()
            moves.append("moved")
        assert fired.wait(LONG_S)
    assert moves.index("expired") == 10


def test_a_watch_that_is_over_or_switched_off_never_expires():
    """Its thread ends with it."""
    before = threading.active_count()
    with Watch(None, lambda: None):
        assert threading.active_count() == before
    with Watch(LONG_S, lambda: None):
        assert threading.active_count() == before + 1
    for thread in threading.enumerate():
        if thread.name == "rsi-watch":
            thread.join(LONG_S)
    assert threading.active_count() == before


def test_time_in_which_the_process_was_stopped_does_not_count(monkeypatch):
    """A look that comes an hour late is worth two of its turns."""
    fired, looks = threading.Event(), []

    def late() -> float:
        looks.append(1)
        return 3600.0 * len(looks)

    monkeypatch.setattr("rsi.update.watch.time.monotonic", late)
    with Watch(0.2, fired.set):
        assert fired.wait(LONG_S)
    assert len(looks) > 5
