"""A terminal on a fresh home."""

import pytest

from rsi.settings import Home
from tests.commands.spoken import Terminal


@pytest.fixture
def terminal(home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(home, monkeypatch, capsys)
