"""The customs house."""

from rsi.records import ChatMessage
from rsi.tasks.bank import task
from rsi.tasks.fingerprint import Index, fingerprint
from rsi.tasks.screen import Reason, screen

HELD_OUT = "please book a table for four people at the thai place near the station tonight at eight"


def made(text: str, expected: str = "L1", verifier: str = "choice"):
    """A proposal."""
    return task(
        "route", (ChatMessage(role="user", content=text),), verifier, expected, None, ("t",), "correction"
    )


def screened(*proposals):
    """Reasons and passed texts."""
    found = screen(proposals, Index([fingerprint(HELD_OUT)], 0.6))
    return dict(found.rejected), [one.messages[0].content for one in found.tasks]


def test_a_clean_proposal_passes():
    """Nothing is counted as refused."""
    assert screened(made("turn the heating down")) == ({}, ["turn the heating down"])


def test_held_out_text_is_refused_verbatim_and_in_other_clothes():
    """Exact after normalising, and near by MinHash, are counted apart."""
    reasons, passed = screened(made(HELD_OUT.upper()), made(HELD_OUT.replace("thai", "greek")))

    assert reasons == {Reason.HELD_OUT_EXACT: 1, Reason.HELD_OUT_NEAR: 1}
    assert passed == []


def test_each_fault_has_its_reason():
    """Empty, far too long, unknown verifier, an expectation that its own verifier refuses."""
    reasons, _ = screened(
        made("  "), made("word " * 3000), made("a", verifier="oracle"), made("b", expected="two words")
    )

    assert reasons == {Reason.EMPTY: 1, Reason.TOO_LONG: 1, Reason.NO_VERIFIER: 1, Reason.SELF_CHECK: 1}


def test_people_who_disagree_make_no_task():
    """The same request with two corrections teaches nothing."""
    reasons, passed = screened(made("plot sales", "L2"), made("plot  SALES", "L3"))

    assert reasons == {Reason.CONTRADICTION: 2}
    assert passed == []


def test_the_same_request_twice_is_one_task():
    """The second is a duplicate."""
    reasons, passed = screened(made("dim the lights"), made("Dim the lights!"))

    assert reasons == {Reason.DUPLICATE: 1}
    assert len(passed) == 1
