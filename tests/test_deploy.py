"""The files that put a deployment on a machine: systemd units, and the services of a compose file."""

import re
import shlex
import shutil
import subprocess

import pytest
import yaml

from rsi.settings import PROJECT

UNITS = sorted((PROJECT / "deploy" / "systemd").glob("rsi*"))
COMPOSE = PROJECT / "deploy" / "compose.yaml"
ENVIRONMENT = PROJECT / "deploy" / "rsi.env"
NOT_HERE = re.compile(r"Command /opt/rsi/\S+ is not executable: No such file or directory$")
"""What is said of programs that are installed on the machine of a deployment."""


@pytest.fixture(scope="module")
def compose() -> dict[str, object]:
    """The compose file with its merges done, without what is only there to be merged."""
    found = yaml.safe_load(COMPOSE.read_text())
    return {name: value for name, value in found.items() if not name.startswith("x-")}


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze on this machine")
def test_systemd_finds_nothing_wrong_with_the_units():
    """But that their programs are not installed here."""
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *map(str, UNITS)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert len(UNITS) == 6
    assert [one for one in done.stderr.splitlines() if not NOT_HERE.search(one)] == []


def commands() -> list[tuple[str, list[str]]]:
    """What each service runs."""
    found = [
        (path.name, shlex.split(re.search(r"^ExecStart=(.*)$", path.read_text(), re.MULTILINE)[1]))
        for path in UNITS
        if path.suffix == ".service"
    ]
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    return found + [(name, one["command"]) for name, one in services.items() if "command" in one]


@pytest.mark.parametrize(("name", "command"), commands(), ids=[name for name, _ in commands()])
def test_what_the_services_run_is_there(name, command):
    """A command of ours that has these options, or a module of ours."""
    from typer.main import get_command

    from rsi.commands.app import app

    said = " ".join(command)
    if "flows.deploy" in said:
        assert (PROJECT / "flows" / "deploy.py").exists()
        assert "--home" in (PROJECT / "flows" / "deploy.py").read_text()
    elif "prefect" in command[0]:
        assert command[1:3] == ["server", "start"]
    else:
        words = said[said.index("rsi ", said.index("bin/rsi") if "bin/rsi" in said else 0) :].split()
        known = get_command(app).commands[words[1]]
        options = {option for parameter in known.params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= options


def test_the_environment_names_places_that_the_units_may_write():
    """Every place of the home, the cache and Prefect lies where `ProtectSystem` leaves it writable."""
    said = dict(
        line.split("=", 1)
        for line in ENVIRONMENT.read_text().splitlines()
        if line and not line.startswith("#")
    )
    for path in UNITS:
        if path.suffix == ".service":
            assert "EnvironmentFile=/etc/rsi/rsi.env" in path.read_text()
            assert re.search(r"^ReadWritePaths=.*/var/lib/rsi", path.read_text(), re.MULTILINE)
    assert all(said[name].startswith("/var/lib/rsi/") for name in ("RSI_HOME", "RSI_CACHE", "PREFECT_HOME"))
    assert said["PREFECT_RESULTS_DEFAULT_SERIALIZER"] == "json"


def test_the_compose_file_fits_the_compose_specification(compose):
    """Checked by a reader of it that knows every key; a wrong one is refused."""
    spec = pytest.importorskip("compose_spec", reason="compose-spec is not installed: pip install 'rsi[dev]'")

    assert set(spec.PyCompose.from_yaml(yaml.safe_dump(compose)).service_names()) == {
        "postgres",
        "prefect",
        "runner",
        "gateway",
    }
    wrong = {**compose, "services": {**compose["services"], "other": {"image": "x", "portz": 1}}}
    with pytest.raises(ValueError, match="portz"):
        spec.PyCompose.from_yaml(yaml.safe_dump(wrong))


def test_prefect_lives_on_postgres_and_nothing_listens_beyond_this_machine(compose):
    """The password is no part of the file; a promotion finds the gateway's process."""
    services = compose["services"]
    url = services["prefect"]["environment"]["PREFECT_API_DATABASE_CONNECTION_URL"]

    assert url == "postgresql+asyncpg://prefect:${POSTGRES_PASSWORD}@postgres:5432/prefect"
    assert "ports" not in services["postgres"]
    ports = [port for one in services.values() for port in one.get("ports", ())]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)
    assert services["runner"]["network_mode"] == services["runner"]["pid"] == "service:gateway"
    assert all(
        one["environment"].get("PREFECT_RESULTS_DEFAULT_SERIALIZER", "json") == "json"
        for one in services.values()
    )
