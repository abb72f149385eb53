"""``fingerprints.json`` beside a suite: all that the loop's side may know of held-out items.

::

    {"schema": "rsi.fingerprints/1", "suite": "routing/v1", "digest": "<the suite's>",
     "splits": {"gate": {"exact": ["<sha256>", …], "minhash": [[128 integers], …]}, "vault": {…}}}

`exact` is sorted, and each signature stands at the place of its own hash, so that nothing tells the order
of the items. Written once, when a suite is frozen, by its author; `check` says whether it still fits.
"""

from pathlib import Path

import orjson

from rsi import assets
from rsi.errors import ContractError, IntegrityError
from rsi.gate.suites import Resolve, digest_of, load
from rsi.ids import canonical
from rsi.records import Split
from rsi.store.files import write_whole

FILE = "fingerprints.json"
SCHEMA = "rsi.fingerprints/1"


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
    from rsi.tasks.fingerprint import fingerprint

    folder = folder.resolve()
    name = f"{folder.parent.name}/{folder.name}"
    splits: dict[str, object] = {}
    for split in (Split.GATE, Split.VAULT):
        suite = load(name, None, folder.parent.parent.parent, resolve, split)
        texts = ("\n".join(m.content for m in item.messages if m.role == "user") for item in suite.items)
        prints = sorted({fingerprint(text) for text in texts})
        splits[split.value] = {
            "exact": [one.exact for one in prints],
            "minhash": [list(one.minhash) for one in prints],
        }
    return {"schema": SCHEMA, "suite": name, "digest": digest_of(folder), "splits": splits}
