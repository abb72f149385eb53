from pathlib import Path

import orjson
import pytest

from rsi.errors import ContractError, IntegrityError
from rsi.gate.fingerprints import check, write
from rsi.gate.suites import digest_of
from rsi.tasks import heldout
from rsi.tasks.fingerprint import fingerprint
from tests.gate.made import ROUTING, routing_lines, write_suite

VAULT = {"id": "v", "split": "vault", "expected": "L3", "text": "A slider that dims the whole page, please."}


def suite(root: Path) -> Path:
    folder = root / "suites/routing/v1"
    write_suite(folder, ROUTING, [*routing_lines(3), VAULT])
    return folder


def test_the_loop_learns_ids_and_digests_and_nothing_else(tmp_path: Path) -> None:
    """Both splits; no word of an item, no label, and not the order of the items."""
    folder = suite(tmp_path)
    path = write(folder)
    said = orjson.loads(path.read_bytes())
    (vault,) = (one for one in said["items"] if one["split"] == "vault")

    assert (vault["id"], heldout.parsed(vault)) == ("v", fingerprint(str(VAULT["text"])))
    assert (said["suite"], said["digest"]) == ("routing/v1", digest_of(folder))
    exact = [one["exact"] for one in said["items"]]
    assert exact == sorted(
        [fingerprint(f"request {n} for L{k}").exact for n in range(3) for k in range(4)] + [vault["exact"]]
    )
    assert {frozenset(one) for one in said["items"]} == {
        frozenset({"id", "split", "exact", "run", "grams", "minhash"})
    }
    for word in (b"slider", b"request"):
        assert word not in path.read_bytes()


def test_stale_fingerprints_are_found(tmp_path: Path) -> None:
    """After an item changed the file no longer fits; written anew it does; equal suites, equal bytes."""
    folder = suite(tmp_path)
    with pytest.raises(ContractError, match=r"fingerprints\.json"):
        check(folder)
    first = write(folder).read_bytes()
    check(folder)
    assert write(folder).read_bytes() == first
    items = folder / "items.jsonl"
    items.write_bytes(items.read_bytes().replace(b"slider", b"switch"))

    with pytest.raises(IntegrityError, match="does not fit"):
        check(folder)
    write(folder)
    check(folder)
    (folder / "fingerprints.json").write_bytes(b"{")
    with pytest.raises(IntegrityError, match="not JSON"):
        check(folder)
