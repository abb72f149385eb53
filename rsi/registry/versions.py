"""Versions by digest: base + adapters + harness, immutable."""

from pydantic import ValidationError

from rsi.errors import ContractError, IntegrityError
from rsi.ids import Digest, canonical
from rsi.records import Version
from rsi.settings import Home
from rsi.store.files import write_whole


def save(home: Home, version: Version) -> Digest:
    """Keep a version under its digest and return that."""
    path = home.versions / f"{version.digest}.json"
    if not path.exists():
        write_whole(path, canonical(version.model_dump(mode="json")))
    return version.digest


def load(home: Home, name: str) -> Version:
    """The version with that digest.

    Raises:
        IntegrityError: it is missing or says something else than its name.
    """
    path = home.versions / f"{name}.json"
    try:
        version = Version.parse(path.read_bytes())
    except FileNotFoundError:
        raise IntegrityError(f"version {name[:12]} is missing: expected {path}") from None
    except ValidationError:
        raise IntegrityError(f"{path} is not a version record; restore it from a backup") from None
    if version.digest != name:
        raise IntegrityError(f"{path} does not say what its name says: its digest is {version.digest[:12]}…")
    return version


def find(home: Home, prefix: str) -> Digest:
    """The one version whose digest starts with `prefix` (at least 6 digits).

    Raises:
        ContractError: none or several do.
    """
    found = sorted(path.stem for path in home.versions.glob(f"{prefix}*.json")) if prefix.isalnum() else []
    if len(prefix) < 6 or len(found) != 1:
        raise ContractError(
            f"{prefix!r} names {len(found)} versions; give at least 6 digits of one listed by `rsi status`"
        )
    return Digest(found[0])
