"""Fixtures everybody uses: a tiny base model, the real one, and a fresh home."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "2")

from rsi.settings import Home, quiet_dependencies
from tests.tiny import make_tiny_base

if TYPE_CHECKING:
    from tests.browser import Visit

quiet_dependencies()
settings.register_profile("rsi", deadline=None, print_blob=True)
# Four times as many examples: `make test-slow` looks longer.
settings.register_profile("long", deadline=None, print_blob=True, max_examples=400)
settings.load_profile("rsi")


@pytest.fixture(scope="session")
def tiny_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the tiny random-weight model."""
    return make_tiny_base(tmp_path_factory.mktemp("tiny-base"))


@pytest.fixture(scope="session")
def smollm() -> Path:
    """Folder of the real base model, pulled into the asset cache on first use."""
    from rsi import assets

    assets.pull()
    return assets.base_folder("smollm2-135m")[0]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A fresh, empty home."""
    return Home(tmp_path / "home")


@pytest.fixture
def visit() -> Iterator["Visit"]:
    """A page in a browser of its own."""
    from tests.browser import visiting

    with visiting() as found:
        yield found


@pytest.fixture
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pictures go; RSI_SHOTS keeps them."""
    return Path(os.environ.get("RSI_SHOTS") or tmp_path_factory.mktemp("shots"))
