"""Real vLLM, where `RSI_VLLM` names its program; without it these tests are skipped, and say so.

`RSI_VLLM_URL` names a server that runs already, started as docs/vllm.md says, and spares the wait for one.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vllm.server import running


@pytest.fixture(scope="session")
def program() -> str:
    """The `vllm` of an environment of its own."""
    named = os.environ.get("RSI_VLLM", "")
    if not Path(named).is_file():
        pytest.skip(f"RSI_VLLM names no vllm program ({named!r}); `make vllm-env` makes one")
    return named


@pytest.fixture(scope="session")
def url(request: pytest.FixtureRequest, smollm: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of the real base."""
    if there := os.environ.get("RSI_VLLM_URL"):
        yield there
        return
    program = request.getfixturevalue("program")
    with running(program, smollm, tmp_path_factory.mktemp("vllm") / "vllm.log") as url:
        yield url
