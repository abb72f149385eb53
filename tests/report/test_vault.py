"""Whether nights add up: what the page says of the first and the last version, suite by suite."""

import re
import xml.etree.ElementTree as ET

from rsi.questions import Gain, Point
from rsi.report import vault

FIRST, SECOND, THIRD = "a" * 64, "b" * 64, "c" * 64


def point(version: str, right: int, suite: str = "routing/v1", gain: Gain | None = None) -> Point:
    return Point(version=version, suite=suite, right=right, items=100, gain=gain)


def gain(difference: float, low: float, high: float) -> Gain:
    return Gain(won=40, lost=10, difference=difference, low=low, high=high)


def test_the_interval_of_the_difference_decides_what_is_said():
    """Above zero, below it, around it, and nothing to compare."""
    first = point(FIRST, 38)
    for last, found in (
        (gain(0.32, 0.2, 0.43), "the nights added up"),
        (gain(-0.1, -0.18, -0.02), "took away"),
        (gain(0.02, -0.04, 0.08), "cannot be told"),
    ):
        assert found in vault.sentence([first, point(SECOND, 50, gain=last)])
    assert "+32.0 points (95% interval +20.0 to +43.0)" in vault.sentence(
        [first, point(SECOND, 70, gain=gain(0.32, 0.2, 0.43))]
    )
    assert "nothing to compare" in vault.sentence([first])


def test_a_page_has_a_chart_a_suite_and_a_row_a_version(home):
    """In the order in which they served; hostile names are inert; charts are well-formed."""
    points = [
        point(FIRST, 38), point(SECOND, 70, gain=gain(0.32, 0.2, 0.43)), point(THIRD, 0, gain=gain(-0.38, -0.5, -0.3)),
        point(FIRST, 2, "desk/<script>"),
    ]  # fmt: skip

    text = (home.root / "vault.html") if vault.write(home, "<b>mine", points) else None

    assert text is not None
    body = text.read_text()
    charts = re.findall(r"<svg.*?</svg>", body)
    assert len(charts) == 2
    dots = [len(ET.fromstring(one).findall("circle")) for one in charts]
    assert dots == [3, 1]
    assert body.count("<tr>") == 1 + len(points)
    assert body.index("aaaaaaaa") < body.index("bbbbbbbb") < body.index("cccccccc")
    assert "<script>" not in body
    assert "<b>" not in body
    assert "http:" not in body
    assert "https:" not in body


def test_nothing_answered_is_no_division_by_zero():
    """Where the engine broke on every item."""
    broken = Point(version=FIRST, suite="routing/v1", right=0, items=0)
    assert vault.rows([broken])[0][2:5] == ["0 of 0", "0.0%", "0.0% to 100.0%"]
