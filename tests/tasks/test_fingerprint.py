"""Fingerprints: same text, near text, other text."""

from hypothesis import given
from hypothesis import strategies as st

from rsi.tasks.fingerprint import Index, fingerprint

LONG = "please book a table for four people at the thai place near the station tonight at eight"


def test_case_spaces_and_marks_do_not_matter():
    """The exact hash is over the normalised words."""
    assert fingerprint("Turn OFF the lights!").exact == fingerprint("turn  off\nthe lights").exact
    assert fingerprint("turn on the lights").exact != fingerprint("turn off the lights").exact


def test_a_long_text_with_one_word_changed_is_near():
    """Jaccard similarity of word 3-grams, estimated."""
    index = Index([fingerprint(LONG)], 0.5)

    assert index.near(fingerprint(LONG.replace("four", "six")))
    assert not index.near(fingerprint("write a function that sorts a list of names by length"))


def test_what_is_added_twice_is_known_once():
    """Adding the same again does not raise."""
    index = Index([fingerprint(LONG), fingerprint(LONG)], 0.5)

    assert index.exact(fingerprint(LONG.upper()))


@given(st.text(max_size=200))
def test_any_text_has_a_fingerprint_and_knows_itself(text):
    """No text raises; each equals itself."""
    index = Index([fingerprint(text)], 0.7)

    assert index.exact(fingerprint(text))
