"""`rsi doctor`: what is missing, stale or misconfigured, one line each, with what to do about it."""

import fcntl
import shutil
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from rsi.algorithm import LOCAL
from rsi.commands.say import Json, as_json, line
from rsi.errors import ContractError, RsiError
from rsi.ports import SystemClock
from rsi.report.words import duration, plural
from rsi.settings import Deployment, Home, contracts_dir, gate_command, gate_key
from rsi.store.files import size_of
from rsi.store.ledger import Ledger

if TYPE_CHECKING:
    from rsi.gate.suites import Suite

LEAST_GB = 2.0
"""Free space below which a night may not end."""
STALE_S = 36 * 3600.0
"""Age of a night or a snapshot from which on it is worth a look."""
_WAIT_S = 5.0


class State(StrEnum):
    """How it stands with one thing."""

    OK = "ok"
    LOOK = "look"
    """It works; a person should know."""
    BAD = "bad"
    """It does not work, or will not."""


class Found(NamedTuple):
    """One line of the doctor."""

    state: State
    text: str


class LookError(Exception):
    """A check that found something a person should know; the message says what."""


def doctor(json: Json = False) -> None:
    """What is missing, stale or misconfigured, and what to do; exit code 2 if something does not work."""
    found = {name: _tried(check) for name, check in CHECKS.items()}
    if json:
        as_json(
            {
                name: {"ok": one.state is not State.BAD, "state": one.state.value, "text": one.text}
                for name, one in found.items()
            }
        )
    else:
        for name, one in found.items():
            line(
                f"{one.state.value.upper() if one.state is State.BAD else one.state.value:4} {name}: {one.text}"
            )
    if any(one.state is State.BAD for one in found.values()):
        raise typer.Exit(ContractError.exit_code)


def _tried(check: Callable[[], str]) -> Found:
    try:
        return Found(State.OK, check())
    except LookError as look:
        return Found(State.LOOK, str(look))
    except (RsiError, OSError) as error:
        return Found(State.BAD, str(error))


def _deployment() -> Deployment:
    return Deployment.read(Home.find().deployment_file)


def _python() -> str:
    return sys.version.split()[0]


def _named() -> str:
    home = Home.find()
    return f"{_deployment().name}, {home.deployment_file}"


def _packages() -> str:
    from importlib.util import find_spec

    wanted = {"torch": "train", "peft": "train", "fastapi": "serve", "openai": "serve", "prefect": "flows"}
    missing = sorted({extra for package, extra in wanted.items() if find_spec(package) is None})
    if missing:
        raise ContractError(
            f"extras {', '.join(missing)} are not installed: pip install 'rsi[{','.join(missing)}]'"
        )
    return "train, serve and flows are installed"


def _base() -> str:
    from rsi import assets

    base = _deployment().base
    known = {one.name: one for one in assets.status()}
    there = known[base].present if base in known else (Path(base) / "config.json").is_file()
    if not there:
        raise ContractError(
            f"base {base} is not in the cache; run `rsi assets pull`"
            if base in known
            else f"base {base} is neither an asset nor a folder with config.json; mend `base` in the deployment file"
        )
    return base


def _assets() -> str:
    from rsi import assets

    missing = [one.name for one in assets.status() if not one.present]
    if missing:
        raise ContractError(f"{', '.join(missing)} missing; run `rsi assets pull`")
    return "all there"


def _contract() -> str:
    from rsi.gate import lock
    from rsi.gate.suites import load

    if gate_command():
        return f"read by the gate's process alone, which `{' '.join(gate_command())}` starts"
    deployment, told = _deployment(), []
    for contract_name in sorted({deployment.contract, *deployment.contracts.values()}):
        contract = lock.approved(contracts_dir(), contract_name)
        suites = [load(name, pin) for name, pin in contract.pins.items()]
        told.append(f"{contract.name} with {', '.join(_sized(one) for one in suites)}")
    return "; ".join(told)


def _sized(suite: "Suite") -> str:
    """A suite with its items; where these are drawn each night, the key for it has to be there."""
    from rsi.gate.suites import fresh

    source = suite.about.items
    if source is None or not suite.about.fresh:
        return f"{suite.name} ({len(suite.items)} items)"
    fresh.read(gate_key(Home.find()))
    return f"{suite.name} ({source.count} fresh items a night)"


def _approvers() -> str:
    named = _deployment().approvers
    if not named:
        raise LookError(
            "anybody who gives a name may approve; name people in `approvers` of the deployment file"
        )
    return ", ".join(named)


def _disk() -> str:
    home = Home.find().root
    root = home
    while not root.exists():
        root = root.parent
    free = shutil.disk_usage(root).free / 1e9
    if free < LEAST_GB:
        raise ContractError(
            f"{free:.1f} GB free at {root}; a night needs about {LEAST_GB:.0f}: free some, or move the home"
        )
    return f"{free:.0f} GB free, {size_of(home) / 1e9:.2f} GB held by {home}"


def _ledger() -> str:
    from rsi.registry import approval, champion

    home, clock = Home.find(), SystemClock()
    ledger = Ledger(home.ledger, clock)
    now = champion.current(ledger)
    if not home.champion.exists() or home.champion.read_bytes() != champion.pointer(home, now):
        raise LookError(
            f"{home.champion} does not say what the ledger says; starting a gateway or a night rewrites it"
        )
    late = [
        one.verdict[:8]
        for one in approval.requests(ledger)
        if one.decision is None and clock.now() > one.expires
    ]
    if late:
        raise LookError(
            f"requests {', '.join(late)} expired without an answer; run the gate again where it matters"
        )
    return f"{plural(len(ledger.records()), 'record')}, {now[:12]} is in service"


def _nights() -> str:
    ledger = Ledger(Home.find().ledger, SystemClock())
    over = {one.night for one in ledger if one.kind == "end"}
    begun = [one for one in ledger if one.kind == "night"]
    if not begun:
        return "none yet"
    last = begun[-1]
    age = (datetime.now(UTC) - datetime.fromisoformat(last.at)).total_seconds()
    if last.night not in over and not _held(Home.find().night_lock):
        raise LookError(
            f"night {last.night}, begun {duration(age)} ago, does not run and has not ended; "
            f"`rsi nightly --night {last.night}` goes on, `rsi cancel` ends it"
        )
    if age > STALE_S:
        raise LookError(f"the last one, {last.night}, began {duration(age)} ago; does the schedule run?")
    return f"the last one is {last.night}"


def _locks() -> str:
    from rsi.store.locks import holder

    home = Home.find()
    told = [f"{path.name} by {holder(path)}" for path in (home.night_lock, home.store_lock) if _held(path)]
    return "; ".join(told) or "free"


def _held(path: Path) -> bool:
    """Whether a living process has the lock; asking does not take it."""
    if not path.exists():
        return False
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _store() -> str:
    from rsi.store.intact import batches

    home = Home.find()
    if not home.store.exists():
        return "none yet; the first ingest makes it"
    if _held(home.store_lock):
        return "in use"
    return f"opens and ends with batch {batches(home)}; `rsi verify` reads all of it"


def _snapshot() -> str:
    home = Home.find()
    if not home.snapshot.exists():
        raise LookError("none yet; `rsi snapshot` makes one for readers")
    made = home.snapshot.stat().st_mtime
    newest = max(path.stat().st_mtime for path in (home.store, home.ledger) if path.exists())
    behind = newest - made
    if behind > STALE_S:
        raise LookError(f"{duration(behind)} behind the store; run `rsi snapshot`")
    return f"made {duration(max(datetime.now(UTC).timestamp() - made, 0))} ago"


def _inbox() -> str:
    home = Home.find()
    if not home.inbox.is_dir():
        raise LookError(f"{home.inbox} is not there yet; a gateway makes it, or you do")
    paths = [path for path in home.inbox.rglob("*") if path.is_file()]
    return f"{plural(len(paths), 'file')}, {sum(path.stat().st_size for path in paths) / 1e6:.1f} MB"


def _prefect() -> str:
    from rsi.registry.waiting import api_url, ask

    url = api_url(Home.find())
    if url is None:
        raise LookError("no server is named; nights run by `rsi nightly`, answers by `rsi approve`")
    ask(url, "GET", "/health", patience=1)
    return f"answers at {url}"


def _engine() -> str:
    engine = _deployment().engine
    return "local: in this process" if engine == LOCAL else _answers(engine, "engine")


def _judge() -> str:
    from rsi.verifiers.judge import named

    said = _deployment().judge
    if not said.url:
        return "none: suites that need one are refused"
    return f"{named(said.model)} {_answers(said.url, 'judge.url', said.model)}"


def _generator() -> str:
    said = _deployment().expand.generator
    return (
        _answers(said.url, "expand.generator.url", said.model) if said.url else "none: rules make the tasks"
    )


def _answers(url: str, key: str, model: str = "") -> str:
    """An OpenAI-compatible server that answers, and has the model."""
    import httpx

    from rsi.engine.openai import endpoint

    where = endpoint(url)
    try:
        reply = httpx.get(f"{where}/models", timeout=_WAIT_S, trust_env=False)
        reply.raise_for_status()
        served = [str(one["id"]) for one in reply.json()["data"]]
    except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
        raise ContractError(
            f"{key} = {url!r} does not answer as an OpenAI server: {error}; start it, or mend the key"
        ) from None
    if model and model not in served:
        raise ContractError(f"{url} serves {', '.join(served) or 'nothing'}, and {key} wants {model}")
    return f"answers at {where} with {', '.join(served)}"


def _gateways() -> str:
    from rsi.registry import champion
    from rsi.serve.client import running

    home = Home.find()
    found = running(home)
    if not found:
        return "none running"
    now = champion.current(Ledger(home.ledger, SystemClock()))
    told = []
    for one in found:
        with one:
            health = one.health()
            if health.version != now or health.problems:
                why = (
                    "; ".join(health.problems)
                    or f"serves {health.version[:12]}, and {now[:12]} is in service"
                )
                raise LookError(f"{one.url}: {why}")
            told.append(one.url)
    return ", ".join(told)


CHECKS: Mapping[str, Callable[[], str]] = {
    "python": _python,
    "packages": _packages,
    "deployment": _named,
    "base": _base,
    "assets": _assets,
    "contract": _contract,
    "approvers": _approvers,
    "disk": _disk,
    "ledger": _ledger,
    "nights": _nights,
    "locks": _locks,
    "store": _store,
    "snapshot": _snapshot,
    "inbox": _inbox,
    "prefect": _prefect,
    "engine": _engine,
    "judge": _judge,
    "generator": _generator,
    "gateways": _gateways,
}
"""Name of a line -> what it looks at; nothing is written, and nothing is loaded into memory."""
