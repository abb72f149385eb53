"""The loop's view of held-out suites."""

import pytest

from rsi.errors import ContractError
from rsi.settings import PROJECT
from rsi.tasks import heldout
from rsi.tasks.fingerprint import fingerprint
from tests import night_made


def test_fingerprints_know_held_out_texts_and_no_others(tmp_path):
    """Without holding a text."""
    root = night_made.contracts(tmp_path / "contracts")
    index = heldout.index(heldout.read(root).prints, 0.7)

    assert index.exact(fingerprint(night_made.HELD_OUT["L1"][0]))
    assert not index.exact(fingerprint("something else entirely"))
    told = (root / "suites" / "tiny-routing" / "v1" / "fingerprints.json").read_text()
    assert night_made.HELD_OUT["L1"][0] not in told


def test_a_suite_without_fingerprints_stops_the_night(tmp_path):
    """Screening against nothing would let held-out items in."""
    root = night_made.contracts(tmp_path / "contracts")
    (root / "suites" / "tiny-easy" / "v1" / "fingerprints.json").unlink()

    with pytest.raises(ContractError, match=r"tiny-easy.v1.fingerprints\.json"):
        heldout.read(root)


def test_the_shipped_suites_have_fingerprints():
    """Those of the demo's contract."""
    assert set(heldout.read(PROJECT / "contracts").digests) == {"easy/v1", "routing/v1"}
