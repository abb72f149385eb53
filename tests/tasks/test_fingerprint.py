"""Fingerprints: same text, near text, other text."""

from datasketch import MinHash
from hypothesis import given
from hypothesis import strategies as st

from rsi.tasks.fingerprint import (
    PERMUTATIONS,
    SCHEME,
    SEED,
    fingerprint,
    fingerprints,
    hashed,
    pairs,
    run_of,
    signatures,
)
from rsi.tasks.words import words

LONG = "please book a table for four people at the thai place near the station tonight at eight"

EXPECTED = ("c09b2e75d96d", 6, (17802369613727274737,), (337600895, 577166))


def alike(one: str, other: str) -> float:
    """Estimated similarity."""
    both = zip(fingerprint(one).minhash, fingerprint(other).minhash, strict=True)
    return sum(a == b for a, b in both) / PERMUTATIONS


def test_case_spaces_and_marks_do_not_matter():
    """The exact hash is over letters and digits."""
    assert fingerprint("Turn OFF the lights!") == fingerprint("turn  off\nthe lights")
    assert fingerprint("t u r n off the lights").exact == fingerprint("turn off the lights").exact
    assert fingerprint("turn on the lights").exact != fingerprint("turn off the lights").exact


def test_texts_without_words_are_themselves():
    """Marks alone are compared as they stand."""
    assert fingerprint("?!").exact == fingerprint(" ?! ").exact
    assert fingerprint("?!").exact != fingerprint("!!").exact
    assert fingerprint("").grams == ()


def test_one_changed_word_leaves_a_text_near_and_another_topic_is_far():
    """In a short text too."""
    assert alike(LONG, LONG.replace("four", "six")) > 0.6
    assert alike("what is the largest ocean", "what is the biggest ocean") > 0.33
    assert alike(LONG, "write a function that sorts a list of names by length") < 0.1


def test_runs_are_as_long_as_the_text_allows():
    """13 words, 8 in short texts, all of them in shorter ones, none below five."""
    assert [run_of(count) for count in (4, 5, 7, 8, 15, 16, 400)] == [0, 5, 7, 8, 8, 13, 13]
    assert len(fingerprint(LONG).grams) == 17 - 13 + 1
    assert fingerprint("one two three four").run == 0


def test_signatures_are_those_of_datasketch():
    """The same permutations over the same hashed pairs; many texts at once change nothing."""
    told = hashed([words(LONG), words("dim the lights")])
    features, starts = pairs(told)
    for at, signature in enumerate(signatures(told)):
        # What we permute has had datasketch's finaliser already: turned back, it goes through the library's own.
        theirs = MinHash(PERMUTATIONS, seed=SEED, scheme=SCHEME, hashfunc=_unfinished)
        theirs.update_batch(features[starts[at] : starts[at + 1]].tolist())
        assert theirs.hashvalues.tolist() == signature.tolist()


def _unfinished(value: int) -> int:
    mask = 0xFFFFFFFF
    value ^= value >> 16
    value = value * pow(0xC2B2AE35, -1, 1 << 32) & mask
    value ^= (value >> 13) ^ (value >> 26)
    value = value * pow(0x85EBCA6B, -1, 1 << 32) & mask
    return value ^ value >> 16


def test_a_fingerprint_is_the_same_in_every_build():
    """Files hold it: another value here means another schema there."""
    found = fingerprint("dim the lights in the hall")

    assert (found.exact[:12], found.run, found.grams, found.minhash[:2]) == EXPECTED


@given(st.lists(st.text(max_size=120), max_size=6))
def test_many_texts_at_once_are_as_each_alone(texts):
    """No text raises, whatever stands beside it."""
    assert fingerprints(texts) == [fingerprint(text) for text in texts]
