"""Numbers as a person reads them, and outside text made harmless."""

import html
import re
import unicodedata
from decimal import Decimal
from string import punctuation

LIMIT = 300
"""Characters kept of a piece of outside text."""
_COMMANDS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""What a terminal could take for a command, and marks that change the order of what is read."""
_PLAIN = frozenset(",;?%/+=()'-")
_ENDS = frozenset(",;)’”")
"""After which no address goes on."""


def percent(share: float) -> str:
    """0.1234 as ``12.3%``."""
    return f"{100 * share:.1f}%"


def points(difference: float) -> str:
    """A difference of shares in percentage points, with its sign: ``+12.3``, ``−4.0``."""
    rounded = round(100 * difference, 1)
    return f"{'−' if rounded < 0 else '+'}{abs(rounded):.1f}"


def p_value(p: float) -> str:
    """A p-value to two figures (``= 0.012``); a very small one only as ``below 0.0001``."""
    return "below 0.0001" if p < 0.0001 else f"= {p:.2g}" if p < 0.1 else f"= {p:.2f}"


def duration(seconds: float) -> str:
    """A time as people say it: ``40 s``, ``4 min``, ``1 h 20 min``."""
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def usd(dollars: float) -> str:
    """A sum of money: in cents, and where it has less than ten of them to two figures (``$12.40``, ``$0.0031``)."""
    return f"${dollars:,.2f}" if dollars >= 0.0995 or not dollars else f"${Decimal(f'{dollars:.2g}'):f}"


def short(digest: str) -> str:
    """The first twelve digits of a digest."""
    return digest[:12]


def plural(count: int, one: str) -> str:
    """``1 item``, ``2 items``."""
    return f"{count:,} {one}" if count == 1 else f"{count:,} {one}s"


def tidy(text: str) -> str:
    """Outside text on one line, without control, format and direction marks, cut at `LIMIT` characters."""
    spaced = "".join(" " if c.isspace() else c for c in text)
    shown = " ".join("".join(c for c in spaced if unicodedata.category(c)[0] != "C").split())
    return shown if len(shown) <= LIMIT else shown[: LIMIT - 1] + "…"


def inert_html(text: str) -> str:
    """Outside text that HTML shows as it is, in text and in quoted attributes."""
    return html.escape(tidy(text), quote=True)


def inert_markdown(text: str) -> str:
    """Outside text that Markdown shows as it is: no markup, link, mention or table cell can start in it.

    By backslashes: some pages of Prefect show entities as they are written.
    """
    shown = tidy(text)
    around = zip(f" {shown}", shown, f"{shown[1:]} ", strict=False)
    return "".join(
        c if _is_plain(c, before, after, at) else f"\\{c}" for at, (before, c, after) in enumerate(around)
    )


def inert_terminal(text: str) -> str:
    """Outside text that a terminal shows as it is: line ends and tabs stay, all other control is made visible."""
    return _COMMANDS.sub(lambda found: _visible(found.group()), text)


def _visible(control: str) -> str:
    code = ord(control)
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"\\u{code:04x}"


def _is_plain(c: str, before: str, after: str, at: int) -> bool:
    """Whether a character stands for itself; dots and colons could make an address, a first mark a list."""
    if c not in punctuation:
        return True
    if at == 0:
        return c == "+" and after.isdigit()
    if c in ".:":
        return after.isspace() or after.isdigit() or after in _ENDS
    return c in _PLAIN or (c == "_" and before.isalnum() and after.isalnum())
