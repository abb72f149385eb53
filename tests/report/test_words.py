import html
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from rsi.report.words import (
    LIMIT,
    inert_html,
    inert_markdown,
    inert_terminal,
    p_value,
    percent,
    plural,
    points,
    tidy,
    usd,
)
from tests.report.example import HOSTILE

ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def test_numbers_read_as_people_write_them() -> None:
    """Percent with one decimal, points with their sign, small p-values without false precision."""
    assert (percent(0.1234), percent(1), percent(0)) == ("12.3%", "100.0%", "0.0%")
    assert (points(0.1234), points(-0.04), points(0.0), points(-0.0001)) == ("+12.3", "−4.0", "+0.0", "+0.0")
    assert (p_value(0.01206), p_value(0.25), p_value(1e-30)) == ("= 0.012", "= 0.25", "below 0.0001")
    assert (plural(1, "item"), plural(1200, "item")) == ("1 item", "1,200 items")
    shown = [usd(one) for one in (1234.5, 0.0996, 0.0123, 0.003, 0)]
    assert shown == ["$1,234.50", "$0.10", "$0.012", "$0.003", "$0.00"]


@given(st.text())
def test_tidy_text_is_one_short_line_without_hidden_marks(text: str) -> None:
    """No line break, control character or direction mark survives, and no length does."""
    shown = tidy(text)

    assert len(shown) <= LIMIT
    assert not any(ord(c) < 32 or c in "\u202e\u2066\u200b\u2028\x7f" for c in shown)
    assert tidy(shown) == shown


@given(st.text())
def test_html_text_cannot_leave_its_place(text: str) -> None:
    """Neither in text nor in a quoted attribute; read back, it is the text."""
    shown = inert_html(text)

    assert not set("<>\"'") & set(shown)
    assert html.unescape(shown) == tidy(text)


@given(st.text())
def test_markdown_text_starts_nothing(text: str) -> None:
    """No character that Markdown or HTML acts on is left, no address, no list; read back, it is the text."""
    shown = inert_markdown(text)
    left = re.sub(r"(?<=[^\W_])_(?=[^\W_])", "", ESCAPED.sub("", shown))

    assert not set('<>[]|`*_~!@\\$^{}&\n"') & set(left)
    assert not re.search(r"[.:][^\d\s,;)’”]", left)
    assert not re.match(r"[-+=#>](\D|$)", shown)
    assert ESCAPED.sub(r"\1", shown) == tidy(text)


@given(st.text(st.sampled_from("a1 .:/@_*`[]()<>!|\\~#&;-+\"'w")))
def test_markdown_of_outside_text_is_one_paragraph_of_it(text: str) -> None:
    """A renderer of CommonMark with HTML, tables and addresses makes nothing else of it, in a line and in a cell."""
    shown = inert_markdown(text)
    cell = MARKDOWN.render(f"| a | b |\n| --- | --- |\n| {shown} | x |")

    assert html.unescape(MARKDOWN.render(f"So: {shown}")) == f"<p>{f'So: {tidy(text)}'.rstrip()}</p>\n"
    assert f"<td>{tidy(text)}</td>\n<td>x</td>" in html.unescape(cell)


@pytest.mark.parametrize(
    "text", ["26.7% → 95.4%, +68.8 points (95% interval +62.1 to +74.4); p = 0.012", "−4.0", "+1.7 points"]
)
def test_our_own_words_stay_readable_in_markdown(text: str) -> None:
    """What the gate writes itself needs no escaping, so that a terminal shows it plainly."""
    assert inert_markdown(text) == text


def test_hostile_text_is_shown_and_does_nothing() -> None:
    """Links, images, code and scripts come out as characters."""
    shown = inert_markdown(HOSTILE)

    assert "\\<script" in shown and "](" not in shown.replace("\\](", "") and "https:" not in shown
    assert "\u202e" not in shown
    assert "alert(1)" in shown


@given(st.text())
def test_terminal_text_commands_nothing(text: str) -> None:
    """Only line ends and tabs are left of what controls; what is harmless stays as it is, and none of it is lost."""
    shown = inert_terminal(text)

    left = {
        c for c in shown if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or c in "\u202e\u2066\u200f"
    }
    assert left <= {"\n", "\t"}
    assert len(shown) >= len(text)
    assert inert_terminal(shown) == shown
    shown.encode()


def test_terminal_commands_become_visible() -> None:
    """As the symbols of their codes."""
    assert inert_terminal("\x1b[31m\r\x9b\u202e\x7f é 日本 👩‍🔬") == "␛[31m␍\\u009b\\u202e␡ é 日本 👩‍🔬"
