"""Places (`Home`, from ``RSI_*`` variables) and the deployment file. Read nowhere else.

Variables: ``RSI_HOME`` (default ``./.rsi``) holds all that a deployment knows; ``RSI_CACHE`` (default
``~/.cache/rsi``) holds base models and public data; ``RSI_CONTRACTS`` (default ``./contracts``, else the folder
beside the package) holds gate contracts and held-out suites. ``RSI_GATE`` is the command that starts the gate where it
is a process of its own; then nothing else needs the contracts' place. ``RSI_GATE_KEY`` is the file that fresh items
are drawn by (default: in the home, among what only the gate opens).
"""

import os
import secrets
import shlex
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tomlkit
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rsi.algorithm import LOCAL, Update
from rsi.errors import ContractError
from rsi.expansion import Expand, Research
from rsi.ids import Digest, digest
from rsi.intake import Redaction, Splits, Traces
from rsi.prices import Prices
from rsi.store.files import write_whole

PROJECT = Path(__file__).resolve().parent.parent
OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_WAIT_POLICY": "PASSIVE",
}
"""Telemetry and hub look-ups of dependencies, switched off; and threads of torch that wait for each other sleep:
spinning, they take the cores from the other processes of the loop, and all of them crawl."""


def quiet_dependencies() -> None:
    """Set `OFFLINE` in this process, where nothing else was said."""
    for name, value in OFFLINE.items():
        os.environ.setdefault(name, value)


def cache_dir() -> Path:
    """Where assets lie."""
    return Path(os.environ.get("RSI_CACHE") or Path.home() / ".cache" / "rsi").resolve()


def contracts_said() -> str:
    """What ``RSI_CONTRACTS`` names: a folder, a commit (`rsi.gate.commit`), or nothing."""
    return os.environ.get("RSI_CONTRACTS", "")


def contracts_dir() -> Path:
    """Where contracts and held-out suites lie; asked for by the gate and by nothing else in the loop."""
    said = contracts_said()
    if said.startswith("git+"):
        raise ContractError("RSI_CONTRACTS names a commit, which only `python -m rsi.gate.worker` reads")
    if said:
        return Path(said).resolve()
    here = Path("contracts").resolve()
    return here if here.is_dir() else PROJECT / "contracts"


def gate_command() -> tuple[str, ...]:
    """How the gate's process is started (``RSI_GATE``); empty where it is this process."""
    return tuple(shlex.split(os.environ.get("RSI_GATE", "")))


@dataclass(frozen=True)
class Home:
    """The folder of a deployment and the places in it."""

    root: Path

    @classmethod
    def find(cls, root: Path | None = None) -> "Home":
        """The folder given, else ``RSI_HOME``, else ``./.rsi``."""
        return cls((root or Path(os.environ.get("RSI_HOME") or ".rsi")).resolve())

    @property
    def deployment_file(self) -> Path:
        return self.root / "deployment.toml"

    @property
    def inbox(self) -> Path:
        return self.root / "inbox"

    @property
    def store(self) -> Path:
        return self.root / "store.duckdb"

    @property
    def snapshot(self) -> Path:
        return self.root / "snapshot.duckdb"

    @property
    def ledger(self) -> Path:
        return self.root / "ledger.ndjson"

    @property
    def champion(self) -> Path:
        return self.root / "champion.json"

    @property
    def raw(self) -> Path:
        return self.root / "raw"

    @property
    def heldout(self) -> Path:
        return self.root / "heldout"

    @property
    def fingerprints(self) -> Path:
        """What the gate's process lets the loop know of held-out suites."""
        return self.root / "fingerprints"

    @property
    def modes(self) -> Path:
        return self.root / "modes"

    @property
    def journals(self) -> Path:
        return self.root / "journals"

    @property
    def banks(self) -> Path:
        return self.root / "banks"

    @property
    def refused(self) -> Path:
        return self.root / "refused"

    @property
    def jobs(self) -> Path:
        return self.root / "jobs"

    @property
    def adapters(self) -> Path:
        return self.root / "adapters"

    @property
    def harnesses(self) -> Path:
        return self.root / "harnesses"

    @property
    def versions(self) -> Path:
        return self.root / "versions"

    @property
    def verdicts(self) -> Path:
        return self.root / "verdicts"

    @property
    def gateways(self) -> Path:
        return self.root / "gateways"

    @property
    def night_lock(self) -> Path:
        return self.root / "locks" / "night"

    @property
    def store_lock(self) -> Path:
        return self.root / "locks" / "store"

    def key(self) -> bytes:
        """The deployment's secret (split and pseudonyms), made on first use, mode 0600."""
        path = self.root / "key"
        if not path.exists():
            write_whole(path, secrets.token_hex(32).encode())
        return path.read_bytes()


def fingerprints_dir(home: Home) -> Path:
    """Below which the fingerprints of held-out suites lie: where the gate is a process of its own, what it told.

    Raises:
        ContractError: it told nothing yet; screening without them would let held-out items in.
    """
    if not gate_command():
        return contracts_dir()
    if not home.fingerprints.is_dir():
        raise ContractError(f"no {home.fingerprints} yet: the gate's process writes it when a night expands")
    return home.fingerprints


def gate_key(home: Home) -> Path:
    """The file that fresh items are drawn by; asked for by the gate and by nothing else in the loop."""
    said = os.environ.get("RSI_GATE_KEY")
    return Path(said).resolve() if said else home.heldout / "gate.key"


_BESIDE = {"serve", "approvers", "redaction", "workers", "retention", "prices"}
"""Settings that decide nothing of what a night does."""


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Discover(_Section):
    """How failure modes are described."""

    titles: Literal["template", "model"] = "template"
    """Whether new modes are named by a template, or by the base model through the engine."""


class Judging(_Section):
    """The model behind the verifier `judge`, on an OpenAI-compatible server."""

    url: str = ""
    """Its address; empty for none: tasks and suites that need a judge are then refused."""
    model: str = ""


class NightRules(_Section):
    """When a night runs and when it stays quiet."""

    schedule: str = "0 2 * * *"
    min_failures: int = Field(20, ge=1)
    """Fewer failures than this and there is nothing worth training on."""
    role: str | None = None
    """The one role that nights train; where it is missing, the failure modes decide."""
    most_in_a_row: int | None = Field(None, ge=1)
    """Nights in a row that may train one role; where it is missing, any number."""
    request_days: int = Field(7, ge=1)
    """How long an approval waits."""


class Workers(_Section):
    """Where the nightly flow has its jobs worked on; what comes out of them is the same anywhere."""

    pool: str = ""
    """Prefect work pool; empty for the flow's own process, where the command line trains as well."""
    store: str = ""
    """fsspec URL under which jobs lie for the workers (``s3://bucket/jobs``); empty where they share this home."""


class Retention(_Section):
    """What `rsi tidy` may remove, by age in days; null keeps it for ever."""

    spool_days: int | None = Field(None, ge=1)
    """Files of the inbox that were read whole: their text lies in the home."""
    jobs_days: int | None = Field(None, ge=1)
    """Rollouts and working files of jobs that are over; what was asked, how it went and how it ended stay."""
    snapshots_days: int | None = Field(None, ge=1)
    """Stores of older versions that were kept beside the new one, and what a kill left of a snapshot or a move."""


class Serve(_Section):
    """The gateway."""

    host: str = "127.0.0.1"
    port: int = 8080
    max_tokens: int = Field(256, ge=1)
    batch: int = Field(8, ge=1)


class Deployment(_Section):
    """One validated TOML file; written by `rsi init`."""

    schema_version: Literal[1] = 1
    name: str = "default"
    base: str = "smollm2-135m"
    """A base model named in `rsi.assets`, or a folder with config, tokenizer and safetensors."""
    engine: str = "local"
    """`local`, or the URL of an OpenAI-compatible server."""
    contract: str = "demo/v1"
    """Name of the gate contract; only the gate opens it."""
    contracts: dict[str, str] = Field(default_factory=dict)
    """Role -> the contract of candidates that change its adapter, where that is another."""
    approvers: tuple[str, ...] = ()
    """Who may answer a request; empty means anybody who gives a name."""
    traces: Traces = Traces()
    split: Splits = Splits()
    redaction: Redaction = Redaction()
    discover: Discover = Discover()
    research: Research = Research()
    judge: Judging = Judging()
    expand: Expand = Expand()
    update: Update = Update()
    updates: dict[str, Update] = Field(default_factory=dict)
    """Role -> how its adapter is trained, where that is otherwise."""
    beginnings: dict[str, Update] = Field(default_factory=dict)
    """Role -> how it is trained while the version in service has no adapter of it: shown solutions, for instance,
    where the bare base never succeeds and so has nothing to learn from."""
    night: NightRules = NightRules()
    workers: Workers = Workers()
    retention: Retention = Retention()
    prices: Prices = Prices()
    serve: Serve = Serve()

    def contract_of(self, role: str | None) -> str:
        """The contract of a candidate that changes the adapter of `role`; None: only the harness."""
        return self.contract if role is None else self.contracts.get(role, self.contract)

    def update_of(self, role: str, *, begun: bool) -> Update:
        """How a night trains a role; `begun` says whether the version in service has an adapter of it."""
        usual = self.updates.get(role, self.update)
        return usual if begun else self.beginnings.get(role, usual)

    def answers_cost(self) -> Prices:
        """What answers of the engine cost: as it is said, or for a local engine what the machine that trains does."""
        an_hour = self.update.budget.usd_an_hour
        here = self.engine == LOCAL and not self.workers.pool
        return Prices(usd_an_hour=an_hour) if here and an_hour and not self.prices.known else self.prices

    @property
    def digest(self) -> Digest:
        """SHA-256 of the settings that decide what a night does."""
        return digest(self.model_dump(mode="json", exclude=_BESIDE))

    @classmethod
    def read(cls, path: Path) -> "Deployment":
        """The deployment file, checked.

        Raises:
            ContractError: it is missing, not TOML, or has a key or value it must not have.
        """
        try:
            data = tomllib.loads(path.read_text())
        except FileNotFoundError:
            raise ContractError(f"no deployment file at {path}; run `rsi init` to write one") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ContractError(f"{path} is not valid TOML: {error}") from None
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise ContractError(f"{path}: {said(error)}") from None

    def write(self, path: Path) -> None:
        """Write the file, every setting with its value."""
        write_whole(path, tomlkit.dumps(self.model_dump(mode="json", exclude_none=True)).encode())


def said(error: ValidationError) -> str:
    """A pydantic error in one line: each place with what is wrong there."""
    return "; ".join(
        f"{'.'.join(str(part) for part in one['loc']) or 'file'}: {one['msg']}" for one in error.errors()
    )
