from pathlib import Path

import orjson
import pytest

from rsi.errors import ContractError, IntegrityError
from rsi.gate.fingerprints import check, write
from rsi.gate.suites import digest_of
from rsi.tasks.fingerprint import fingerprint
from tests.gate.made import ROUTING, routing_lines, write_suite

VAULT = {"id": "v", "split": "vault", "expected": "L3", "text": "A slider that dims the whole page, please."}


def suite(root: Path) -> Path:
    folder = root / "suites/routing/v1"
    write_suite(folder, ROUTING, [*routing_lines(3), VAULT])
    return folder


def test_the_loop_learns_digests_and_nothing_else(tmp_path: Path) -> None:
    """Both splits, by exact hash and signature; no word of an item, no id, no label."""
    folder = suite(tmp_path)
    path = write(folder)
    said = orjson.loads(path.read_bytes())
    print_ = fingerprint(str(VAULT["text"]))

    assert said["splits"]["vault"] == {"exact": [print_.exact], "minhash": [list(print_.minhash)]}
    assert (said["suite"], said["digest"]) == ("routing/v1", digest_of(folder))
    gate = said["splits"]["gate"]
    assert gate["exact"] == sorted(
        {fingerprint(f"request {n} for L{k}").exact for n in range(3) for k in range(4)}
    )
    assert len(gate["minhash"]) == len(gate["exact"])
    assert {len(signature) for signature in gate["minhash"]} == {128}
    for word in (b"slider", b"request", b"L3", b'"v"'):
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
