"""One real Prefect server and one process that serves the flows, for all tests of this folder."""

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from flows.processes import Processes
from flows.server import Server, settings, start
from flows.watch import Watch
from rsi.settings import Home
from tests.flows.flow_made import tiny_home

# Prefect reads its home when it is imported, which nothing above does; without this it would be the developer's own.
os.environ["PREFECT_HOME"] = tempfile.mkdtemp(prefix="rsi-prefect-test-")
atexit.register(shutil.rmtree, os.environ["PREFECT_HOME"], ignore_errors=True)


@pytest.fixture(scope="session")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    """Programs of the session; all end with it."""
    with Processes(tmp_path_factory.mktemp("logs")) as started:
        yield started


@pytest.fixture(scope="session")
def server(processes: Processes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A Prefect server that this process is a client of."""
    from prefect.settings import (
        PREFECT_API_URL,
        PREFECT_LOGGING_TO_API_ENABLED,
        PREFECT_RESULTS_DEFAULT_SERIALIZER,
        PREFECT_RESULTS_PERSIST_BY_DEFAULT,
        temporary_settings,
    )

    found = start(Home(tmp_path_factory.mktemp("prefect")), processes)
    found.wait(processes)
    updates = {
        PREFECT_API_URL: found.api_url,
        PREFECT_RESULTS_DEFAULT_SERIALIZER: "json",
        PREFECT_RESULTS_PERSIST_BY_DEFAULT: True,
        PREFECT_LOGGING_TO_API_ENABLED: False,
    }
    with temporary_settings(updates=updates):
        yield found


@pytest.fixture(scope="session")
def watch(server: Server, processes: Processes) -> Watch:
    """Questions to the server."""
    return Watch(server.api_url, processes.check)


@pytest.fixture(scope="session")
def served(
    server: Server,
    processes: Processes,
    watch: Watch,
    tiny_base: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> str:
    """Flows that are served; the name of the deployment. Runs name their own home."""
    home = tiny_home(tmp_path_factory.mktemp("served"), tiny_base, with_traces=False)
    command = [sys.executable, "-m", "flows.deploy", "--home", str(home.root), "--paused"]
    processes.start("flows", command, settings(server.home, server.api_url))
    watch.until(lambda: watch.served("promote/tiny") or None, 120)
    return "tiny"
