"""The loop's view of held-out suites."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi.errors import ContractError
from rsi.settings import PROJECT
from rsi.tasks import heldout
from rsi.tasks.fingerprint import fingerprint
from rsi.tasks.overlap import How, Index
from tests import night_made


def test_fingerprints_know_held_out_texts_and_no_others(tmp_path):
    """By the item's id, without holding a text."""
    root = night_made.contracts(tmp_path / "contracts")
    index = Index(heldout.read(root).items, 0.33)
    found, other = index.overlaps([[night_made.HELD_OUT["L1"][0]], ["something else entirely"]])

    assert found is not None
    assert (found.how, found.item) == (How.EXACT, "tiny-routing/v1:L1-0")
    assert other is None
    told = (root / "suites" / "tiny-routing" / "v1" / "fingerprints.json").read_text()
    assert night_made.HELD_OUT["L1"][0] not in told


@pytest.mark.parametrize(
    ("key", "value"), [("schema", "rsi.fingerprints/1"), ("minhash", "AAAA"), ("grams", "?"), ("run", "x")]
)
def test_fingerprints_that_cannot_be_read_stop_the_night(tmp_path, key, value):
    """Another schema, and arrays of another size, are named."""
    root = night_made.contracts(tmp_path / "contracts")
    file = root / "suites" / "tiny-easy" / "v1" / "fingerprints.json"
    told = orjson.loads(file.read_bytes())
    (told if key == "schema" else told["items"][0])[key] = value
    file.write_bytes(orjson.dumps(told))

    with pytest.raises(ContractError, match=r"tiny-easy.v1.fingerprints\.json cannot be read"):
        heldout.read(root)


@given(st.text(max_size=300))
def test_a_fingerprint_is_read_as_it_was_written(text):
    """Base64 of little-endian numbers."""
    assert heldout.parsed(heldout.told("a", "gate", fingerprint(text))) == fingerprint(text)


def test_a_suite_without_fingerprints_stops_the_night(tmp_path):
    """Screening against nothing would let held-out items in."""
    root = night_made.contracts(tmp_path / "contracts")
    (root / "suites" / "tiny-easy" / "v1" / "fingerprints.json").unlink()

    with pytest.raises(ContractError, match=r"tiny-easy.v1.fingerprints\.json"):
        heldout.read(root)


def test_the_shipped_suites_have_fingerprints():
    """Those of the demo's contract."""
    shipped = {"desk-fresh/v1", "desk/v1", "easy/v1", "easy/v2", "live_simple/v1", "routing/v1"}
    assert set(heldout.read(PROJECT / "contracts").digests) == shipped
