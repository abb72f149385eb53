"""Commands run in this process, as `main` runs them."""

import sys
from typing import NamedTuple

import pytest

from rsi.cli import main
from rsi.settings import Home


class Spoken(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


class Terminal:
    """Runs commands on one home."""

    def __init__(
        self, home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.home = home
        self._patch, self._captured = monkeypatch, capsys

    def __call__(self, *arguments: str) -> Spoken:
        """Run ``rsi`` with these arguments."""
        self._captured.readouterr()
        self._patch.setenv("RSI_HOME", str(self.home.root))
        self._patch.setattr(sys, "argv", ["rsi", *arguments])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        said = self._captured.readouterr()
        return Spoken(code, said.out, said.err)

    def ok(self, *arguments: str) -> str:
        """What a command printed that must go well."""
        done = self(*arguments)
        assert done.code == 0, done.err
        return done.out

    def refused(self, *arguments: str) -> str:
        """The one line of a command that must be refused as a mistake of the user."""
        done = self(*arguments)
        assert done.code == 2, (done.code, done.out, done.err)
        assert done.out == ""
        assert len(done.err.strip().splitlines()) == 1, done.err
        return done.err.strip()
