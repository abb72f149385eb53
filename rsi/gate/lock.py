"""``contracts.lock``: the digests of the contracts and suites that a person approved.

::

    [contracts."support/v1"]
    digest = "…"
    by = "ada"
    at = "2026-01-02T03:04:05+00:00"
    reason = "our first own suite"

    [suites."support/v1"]
    digest = "…"
    fingerprints = "…"

A contract that is written down and not approved is a proposal: the gate does not judge by it. One that says something
else than what was approved is refused, as is a suite. In a folder without a lock nothing was ever approved, and every
contract counts; the first approval there pins those that lie in it already.
"""

import tomllib
from pathlib import Path
from typing import Annotated, Literal

import tomlkit
from pydantic import Field, ValidationError

from rsi.errors import ContractError, IntegrityError, RefusedError
from rsi.gate.contract import Contract, Name, Sha256
from rsi.gate.contract import read as read_contract
from rsi.gate.fingerprints import FILE as FINGERPRINTS
from rsi.gate.suites import digest_of
from rsi.ids import digest_file
from rsi.ports import Clock
from rsi.records import Record
from rsi.settings import said
from rsi.store.files import write_whole

FILE = "contracts.lock"
LIMIT = 1024 * 1024
"""Largest lock in bytes."""
HEAD = "# What people approved. Written by `rsi contract approve`; what says otherwise is refused.\n"

Said = Annotated[str, Field(min_length=1, max_length=500)]


class Approved(Record):
    """A contract with who approved it."""

    pin: Sha256 = Field(alias="digest")
    by: Said
    at: str
    """ISO 8601 UTC."""
    reason: Said


class Pinned(Record):
    """A suite with what the loop may know of it."""

    pin: Sha256 = Field(alias="digest")
    fingerprints: Sha256
    """SHA-256 of its ``fingerprints.json``."""


class Lock(Record):
    """What the file says."""

    contracts: dict[Name, Approved] = Field(default_factory=dict)
    suites: dict[Name, Pinned] = Field(default_factory=dict)


State = Literal["approved", "proposed", "changed", "unlocked"]
"""Of a contract: as approved, not approved, not as approved, or in a folder without a lock."""


def read(root: Path) -> Lock | None:
    """The lock of a contracts folder; None where it has none.

    Raises:
        ContractError: it is not TOML, or has a key or value it must not have.
    """
    path = root / FILE
    try:
        with path.open("rb") as file:
            data = file.read(LIMIT + 1)
    except FileNotFoundError:
        return None
    if len(data) > LIMIT:
        raise ContractError(f"{path} has more than {LIMIT} bytes; it is a list of digests")
    try:
        return Lock.model_validate(tomllib.loads(data.decode()))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ContractError(f"{path} is not valid TOML: {error}") from None
    except ValidationError as error:
        raise ContractError(f"{path}: {said(error)}") from None


def state(lock: Lock | None, contract: Contract) -> State:
    """Where a contract stands."""
    if lock is None:
        return "unlocked"
    known = lock.contracts.get(contract.name)
    if known is None:
        return "proposed"
    return "approved" if known.pin == contract.digest else "changed"


def approved(root: Path, name: str) -> Contract:
    """The contract with that name, as a person approved it.

    Raises:
        ContractError: it cannot be read.
        RefusedError: nobody approved it.
        IntegrityError: it, a suite or a suite's fingerprints were changed since.
    """
    contract = read_contract(name, root)
    check(root, contract)
    return contract


def check(root: Path, contract: Contract) -> None:
    """Make sure that a contract and its suites are what a person approved.

    Raises:
        RefusedError: nobody approved it.
        IntegrityError: it, a suite or a suite's fingerprints were changed since.
    """
    lock = read(root)
    found = state(lock, contract)
    if lock is None:
        return
    if found == "proposed":
        raise RefusedError(
            f"contract {contract.name} is a proposal: nobody approved it in {root / FILE}; read it, then "
            f"`rsi contract approve {contract.name} --by … --reason …`"
        )
    if found == "changed":
        known = lock.contracts[contract.name]
        raise IntegrityError(
            f"contract {contract.name} is not what {known.by} approved: found {contract.digest[:12]}, expected "
            f"{known.pin[:12]} ({root / FILE}); put it back, and write what is to change as a new version"
        )
    for name, pin in contract.pins.items():
        _check_suite(root, name, pin, lock.suites.get(name))


def _check_suite(root: Path, name: str, pin: str, known: Pinned | None) -> None:
    if known is None or known.pin != pin:
        raise IntegrityError(
            f"suite {name} stands in {root / FILE} as {known.pin[:12] if known else 'nothing'}, expected {pin[:12]}"
        )
    found = _fingerprints(root, name)
    if found != known.fingerprints:
        raise IntegrityError(
            f"{root / 'suites' / name / FINGERPRINTS} is not the one that was approved: found {found[:12]}, expected "
            f"{known.fingerprints[:12]}; put it back, or held-out items get into banks"
        )


def _fingerprints(root: Path, name: str) -> str:
    path = root / "suites" / name / FINGERPRINTS
    if not path.is_file():
        raise ContractError(f"no {path}; write it with rsi.gate.fingerprints.write when the suite is frozen")
    return digest_file(path)


def approve(root: Path, clock: Clock, name: str, by: str, reason: str) -> Contract:
    """Pin a contract and its suites; the contract.

    Raises:
        ContractError: there is no such contract or suite, or nobody says so, or for no reason.
        IntegrityError: another one was approved under that name, or a suite is not the one that it names.
        RefusedError: it was approved already.
    """
    if not (by.strip() and reason.strip()):
        raise ContractError("an approval needs who gives it and why (--by, --reason)")
    contract, lock = read_contract(name, root), read(root)
    if lock is not None and contract.name in lock.contracts:
        check(root, contract)
        raise RefusedError(f"contract {name} was approved by {lock.contracts[name].by} already")
    at = clock.now().isoformat(timespec="seconds")
    contracts, suites = (dict(lock.contracts), dict(lock.suites)) if lock else ({}, {})
    for one in [contract, *([] if lock else _others(root, name))]:
        why = reason.strip() if one is contract else f"was there when {name} was approved"
        told = {"digest": one.digest, "by": by.strip(), "at": at, "reason": why}
        contracts[one.name] = Approved.model_validate(told)
        for suite, pin in one.pins.items():
            suites[suite] = _pinned(root, suite, pin, suites.get(suite))
    write(root, Lock(contracts=contracts, suites=suites))
    return contract


def names(root: Path) -> list[str]:
    """Every contract below a contracts folder, sorted."""
    return sorted(f"{path.parent.name}/{path.stem}" for path in root.glob("gate/*/v*.toml"))


def _others(root: Path, name: str) -> list[Contract]:
    return [read_contract(other, root) for other in names(root) if other != name]


def _pinned(root: Path, name: str, pin: str, known: Pinned | None) -> Pinned:
    found = digest_of(root / "suites" / name)
    if found != pin or (known and known.pin != pin):
        raise IntegrityError(
            f"suite {name} is not the one that the contract names: found {found[:12]}, expected {pin[:12]}"
        )
    if known is not None:
        _check_suite(root, name, pin, known)
        return known
    return Pinned.model_validate({"digest": found, "fingerprints": _fingerprints(root, name)})


def write(root: Path, lock: Lock) -> None:
    """Write the lock, names in order."""
    told = lock.model_dump(mode="json", by_alias=True)
    ordered = {kind: dict(sorted(told[kind].items())) for kind in ("contracts", "suites")}
    write_whole(root / FILE, (HEAD + tomlkit.dumps(ordered)).encode())
