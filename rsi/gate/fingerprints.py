"""``fingerprints.json`` beside a suite: all that the loop's side may know of held-out items.

::

    {"schema": "rsi.fingerprints/2", "suite": "routing/v1", "digest": "<the suite's>", "items": [
      {"id": "ui-4", "split": "vault", "exact": "<sha256>", "run": 8, "grams": "<base64>", "minhash": "<base64>"}, …]}

Items stand in the order of `exact`, so that nothing tells their order in the suite; what the digests are, and what
they do not hide, stands in `rsi.tasks.fingerprint`. The id is what a person who reviews a refusal names to the
people of the gate. Written once, when a suite is frozen, by its author; `check` says whether it still fits.
"""

from pathlib import Path

import orjson

from rsi import assets
from rsi.errors import ContractError, IntegrityError
from rsi.gate.suites import Resolve, digest_of, load
from rsi.ids import canonical
from rsi.records import Item, Split
from rsi.store.files import write_whole

FILE = "fingerprints.json"


def write(suite_folder: Path, resolve: Resolve = assets.resolve) -> Path:
    """Write the fingerprints of both splits of the suite in `suite_folder` and return the file's path.

    Raises:
        ContractError: the suite cannot be read (see `rsi.gate.suites.load`).
    """
    path = suite_folder / FILE
    write_whole(path, canonical(_content(suite_folder, resolve)) + b"\n")
    return path


def check(suite_folder: Path, resolve: Resolve = assets.resolve) -> None:
    """Make sure that the file says what the suite's texts say now.

    Raises:
        ContractError: it is missing.
        IntegrityError: it was made from other items, or by another scheme of fingerprints.
    """
    path = suite_folder / FILE
    if not path.is_file():
        raise ContractError(f"no {path}; write it with rsi.gate.fingerprints.write when the suite is frozen")
    try:
        found = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise IntegrityError(f"{path} is not JSON: {error}") from None
    if found != _content(suite_folder, resolve):
        raise IntegrityError(
            f"{path} does not fit suite {digest_of(suite_folder)[:12]}…: items changed after it was written; "
            "write a new version of the suite, or its fingerprints anew"
        )


def _content(folder: Path, resolve: Resolve) -> dict[str, object]:
    from rsi.tasks import heldout
    from rsi.tasks.fingerprint import fingerprints

    folder = folder.resolve()
    name = f"{folder.parent.name}/{folder.name}"
    items = [
        (item, split.value)
        for split in (Split.GATE, Split.VAULT)
        for item in load(name, None, folder.parent.parent.parent, resolve, split).items
    ]
    prints = fingerprints([request(item) for item, _ in items])
    rows = [heldout.told(item.item_id, split, one) for (item, split), one in zip(items, prints, strict=True)]
    rows.sort(key=lambda row: (str(row["exact"]), str(row["id"])))
    return {"schema": heldout.SCHEMA, "suite": name, "digest": digest_of(folder), "items": rows}


def request(item: Item) -> str:
    """What the user says in an item: what a proposal must not say."""
    return "\n".join(one.content for one in item.messages if one.role == "user")
