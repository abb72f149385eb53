"""A changed contract: the next version of its name, which counts when a person approved it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import tomlkit
from pydantic import ValidationError

from rsi.errors import ContractError
from rsi.gate.contract import Contract, read, versions
from rsi.ids import canonical
from rsi.settings import said
from rsi.store.files import write_whole

_CHANGE = re.compile(r"([a-z_]+(?:\.[a-z_0-9]+)*)=(.+)", re.DOTALL)


def propose(root: Path, name: str, changes: Sequence[str]) -> Contract:
    """Write the next version of a contract with other values; what stays is copied as it stands.

    Args:
        name: the version to go on from, ``support/v1``.
        changes: such as ``target.min_accuracy=0.7`` or ``guards.0.margin=0.05``; values as TOML writes them.

    Raises:
        ContractError: a change is none, or what comes out is no contract.
    """
    before = read(name, root)
    stem = name.split("/")[0]
    number = versions(root, stem)[-1] + 1
    document = tomlkit.parse((root / "gate" / f"{name}.toml").read_text(encoding="utf-8"))
    document["name"] = f"{stem}/v{number}"
    for change in changes:
        _set(document, change)
    try:
        after = Contract.model_validate(document.unwrap())
    except ValidationError as error:
        raise ContractError(f"such a contract cannot be: {said(error)}") from None
    if not list(differences(before, after)):
        raise ContractError(f"nothing differs from {name}; say what with --set, such as target.min_accuracy=0.7")
    write_whole(root / "gate" / f"{after.name}.toml", tomlkit.dumps(document).encode())
    return after


def differences(before: Contract, after: Contract) -> Iterator[str]:
    """What another version says otherwise, a line each."""
    old, new = (dict(_flat(one.model_dump(mode="json", by_alias=True))) for one in (before, after))
    for key in sorted(old.keys() | new.keys()):
        if key != "name" and old.get(key) != new.get(key):
            yield f"{key}: {_shown(old.get(key))} → {_shown(new.get(key))}"


def _set(document: tomlkit.TOMLDocument, change: str) -> None:
    found = _CHANGE.fullmatch(change)
    if found is None:
        raise ContractError(f"{change[:80]!r} is not a change like target.min_accuracy=0.7")
    *path, last = found.group(1).split(".")
    try:
        value = tomlkit.parse(f"value = {found.group(2)}")["value"]
        place: object = document
        for key in path:
            place = place[int(key)] if isinstance(place, list) else place[key]  # type: ignore[index]
        place[last] = value  # type: ignore[index]
    except (tomlkit.exceptions.TOMLKitError, KeyError, IndexError, ValueError, TypeError) as error:
        raise ContractError(
            f"{change[:80]!r} cannot be set: {error}; keys are those of the file, values as TOML writes them"
        ) from None


def _flat(value: object, name: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _flat(one, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list):
        for at, one in enumerate(value):
            yield from _flat(one, f"{name}.{at}")
    elif value is not None:
        yield name, value


def _shown(value: object) -> str:
    return "nothing" if value is None else canonical(value).decode()
