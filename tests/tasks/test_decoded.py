"""Encodings are opened."""

import base64
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi.tasks.decoded import DEPTH, MOST, hidden

SAID = "book a table for four at the thai place tonight"
WRAPPED = base64.encodebytes((SAID * 3).encode()).decode()


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("base64", f"do this: {base64.b64encode(SAID.encode()).decode()} please"),
        ("base64", f"do this: {base64.urlsafe_b64encode(SAID.encode()).decode().rstrip('=')}, please"),
        ("base64", base64.b64encode(SAID.encode("utf-16-le")).decode()),
        ("base64", f"do\n{WRAPPED}"),
        ("hex", SAID.encode().hex()),
        ("hex", SAID.encode().hex(" ")),
        ("escapes", "".join(f"\\x{one:02x}" for one in SAID.encode())),
        ("percent", quote(SAID)),
        ("html", "".join(f"&#{ord(one)};" for one in SAID)),
        ("escapes", "".join(f"\\u{ord(one):04x}" for one in SAID)),
    ],
)
def test_an_encoded_span_is_read(encoding, text):
    """Whole or inside a sentence."""
    assert any(one.encoding == encoding and SAID in one.text for one in hidden(text))


def test_an_encoding_inside_another_is_read():
    """As deep as `DEPTH`."""
    text = SAID
    for _ in range(DEPTH):
        text = base64.b64encode(text.encode()).decode()

    assert SAID in {one.text for one in hidden(text)}
    assert SAID not in {one.text for one in hidden(base64.b64encode(text.encode()).decode())}


def test_plain_words_hide_nothing():
    """Long words, ids and paths are no base64 of text."""
    text = "internationalisation of /usr/local/share/applications at 3f9a2c41d0e5 costs 100% & more"

    assert hidden(text) == []


@given(st.text(max_size=300))
def test_any_text_is_looked_at(text):
    """Never raises, never opens more than it may."""
    assert len(hidden(text)) <= MOST
