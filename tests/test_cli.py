"""The command line: light to start, one clear line for each error, honest exit codes."""

import os
import re
import subprocess
import sys

import pytest

from rsi.settings import PROJECT, Deployment, Home
from tests import night_made


def rsi(home: Home, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    """Run the command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "rsi.cli", *arguments],
        env={**os.environ, "RSI_HOME": str(home.root), "OMP_NUM_THREADS": "1", **environment},
        cwd=PROJECT, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def ready(tmp_path_factory, tiny_base):
    """A tiny home and its contracts."""
    root = tmp_path_factory.mktemp("cli")
    contracts = night_made.contracts(root / "contracts")
    return night_made.make_home(root / "home", tiny_base), str(contracts)


def test_help_loads_nothing_heavy():
    """Neither torch nor prefect nor duckdb, nor what else takes long."""
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom rsi.commands.app import app\n"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0\n"
        "print([m for m in ('torch', 'prefect', 'duckdb', 'transformers', 'pyarrow', 'sklearn', 'pandas', 'fastapi') "
        "if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_every_command_has_help():
    """And its help says something, and nothing in it is taken for markup: `[update]` would not be shown."""
    from typer.main import get_command

    from rsi.commands.app import app

    waiting = list(get_command(app).commands.items())
    while waiting:
        name, command = waiting.pop()
        assert command.help, name
        texts = [command.help, *(getattr(one, "help", None) or "" for one in command.params)]
        assert not [one for one in texts if re.search(r"(?<!\\)\[[a-z]", one)], name
        waiting += [(f"{name} {under}", one) for under, one in getattr(command, "commands", {}).items()]


@pytest.mark.parametrize(
    "command",
    [
        ["status"],
        ["nightly"],
        ["verify"],
        ["modes"],
        ["ingest"],
        ["sql", "select 1"],
        ["sql", "--schema"],
        ["traces", "list"],
        ["traces", "show", "abc"],
        ["traces", "export", "--format", "otlp", "--out", "x.jsonl"],
        ["quarantine", "list"],
        ["quarantine", "show", "abc"],
    ],
)
def test_an_empty_home_is_one_clear_line(home, command):
    """Exit 2, nothing made, the way out named."""
    done = rsi(home, *command)

    assert done.returncode == 2, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert "run `rsi" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_contract_is_one_clear_line_and_leaves_no_verdict(ready, tmp_path):
    """The message names the file that was expected."""
    home, _ = ready
    empty = tmp_path / "contracts"
    empty.mkdir()

    done = rsi(home, "nightly", RSI_CONTRACTS=str(empty))

    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()[-1:]) == 1
    assert "no contract tiny/v1: expected" in done.stderr.strip().splitlines()[-1]
    assert not home.verdicts.exists()


def test_4_a_full_disk_is_one_clear_line_and_the_next_run_goes_on(ready, tmp_path):
    """No half bank is visible."""
    home, contracts = ready
    before = {path.name for path in home.banks.iterdir()}
    full = rsi(
        home,
        "nightly",
        "--night",
        "2026-02-01",
        RSI_CONTRACTS=contracts,
        RSI_FAULT="bank.before_publish:enospc",
    )

    assert full.returncode == 75
    assert "No space left on device" in full.stderr.strip().splitlines()[-1]
    assert "Traceback" not in full.stderr
    assert {path.name for path in home.banks.iterdir()} == before
    again = rsi(home, "nightly", "--night", "2026-02-01", RSI_CONTRACTS=contracts)
    assert again.returncode == 1, again.stderr
    assert "the champion stays" in again.stdout


def test_a_night_that_fails_its_gate_exits_with_1_and_a_quiet_one_with_0(ready):
    """A quiet night is no failure."""
    home, contracts = ready
    rsi(home, "nightly", "--night", "2026-02-01", RSI_CONTRACTS=contracts)

    quiet = rsi(home, "nightly", "--night", "2026-02-02", RSI_CONTRACTS=contracts)

    assert quiet.returncode == 0, quiet.stderr
    assert "nothing new" in quiet.stdout


def test_verify_names_the_flipped_byte_with_exit_code_3(ready, tmp_path, tiny_base, monkeypatch):
    """On a home whose night made an adapter."""
    import shutil

    home, contracts = ready
    rsi(home, "nightly", "--night", "2026-02-01", RSI_CONTRACTS=contracts)
    copy = Home(tmp_path / "copy")
    shutil.copytree(home.root, copy.root)
    assert rsi(copy, "verify", RSI_CONTRACTS=contracts).returncode == 0
    weights = next(copy.adapters.glob("*/adapter_model.safetensors"))
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)

    done = rsi(copy, "verify", RSI_CONTRACTS=contracts)

    assert done.returncode == 3
    assert weights.parent.name in done.stderr


def test_a_new_home_is_clean(ready):
    """`verify` passes right after `init`."""
    home, contracts = ready

    assert rsi(home, "verify", RSI_CONTRACTS=contracts).returncode == 0


def test_a_wrong_deployment_file_names_the_key(ready, tmp_path):
    """Unknown keys are refused with their place."""
    home = Home(tmp_path / "wrong")
    home.root.mkdir()
    home.deployment_file.write_text("[update]\nsteps = 0\nsurprise = 1\n")

    done = rsi(home, "nightly")

    assert done.returncode == 2
    assert "update.steps" in done.stderr
    assert "update.surprise" in done.stderr


def test_the_deployment_file_says_every_setting(tmp_path):
    """Written and read again it is the same."""
    path = tmp_path / "deployment.toml"
    Deployment().write(path)

    assert Deployment.read(path) == Deployment()
    assert "min_failures" in path.read_text()
