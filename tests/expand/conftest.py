"""Contracts for tests of expand."""

from pathlib import Path

import pytest

from tests import night_made


@pytest.fixture
def contracts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The small contracts of the tiny night, in force."""
    root = night_made.contracts(tmp_path / "contracts")
    monkeypatch.setenv("RSI_CONTRACTS", str(root))
    return root
