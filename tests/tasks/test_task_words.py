"""The same text in other clothes has the same words."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi.tasks.words import stem, words


@pytest.mark.parametrize(
    "text",
    [
        "Book a TABLE, at eight!",
        "book  a\ttable\nat\u00a0eight",
        "ｂｏｏｋ a table at eight",
        "b\u200book a ta\u00adble at eight\ufeff",
        "book a t\u0430bl\u0435 at eight",
        "böök à tablé at eight",
        "\u202ebook a table at eight\u202c",
        "book_a_table--at...eight",
    ],
    ids=["case", "spaces", "wide", "unseen", "cyrillic", "accents", "bidi", "marks"],
)
def test_clothes_do_not_matter(text):
    """Case, spaces, marks, accents, look-alikes and what nobody sees."""
    assert words(text) == ["book", "a", "table", "at", "eight"]


def test_a_script_without_spaces_has_a_word_a_character():
    """So that a part of it can be found."""
    assert words("明日の天気 in Tokyo") == ["明", "日", "の", "天", "気", "in", "tokyo"]


def test_a_language_of_its_own_script_stays_itself():
    """Letters are folded on both sides alike."""
    assert words("ПОГОДА в Москве") == words("погода В москве")
    assert words("погода") != words("город")


def test_stems_join_what_one_ending_parts():
    """Short words stay."""
    assert {stem(one) for one in ("book", "books", "booked", "booking")} == {"book"}
    assert [stem(one) for one in ("sing", "red", "as")] == ["sing", "red", "as"]


@given(st.text(max_size=80))
def test_folding_is_stable(text):
    """Words of words are the same words, whatever came."""
    found = words(text)

    assert words(" ".join(found)) == found
    assert words(unicodedata.normalize("NFC", text.upper())) == words(text.upper())
