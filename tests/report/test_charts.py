from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi.report.charts import IntervalRow, brief, grouped_bars, interval_plot, line_chart, smooth, ticks
from rsi.report.evidence import Count

COUNTS = (Count("L0", 50, 40, 45), Count("L1", 50, 0, 50))


def parts(svg: str, tag: str, kind: str) -> list[ElementTree.Element]:
    """Elements of a chart with a class."""
    return [one for one in ElementTree.fromstring(svg).iter(tag) if kind in one.get("class", "").split()]


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(2, 10))
def test_ticks_are_round_inside_and_few(low: float, span: float, count: int) -> None:
    """Never more than twice as many as wanted, evenly apart, none outside."""
    high = low + span
    found = ticks(low, high, count)
    steps = [b - a for a, b in pairwise(found)]

    assert len(found) <= 2 * count + 1
    assert all(low - span * 1e-6 - 1e-8 <= one <= high + span * 1e-6 + 1e-8 for one in found)
    assert max(steps, default=0) - min(steps, default=0) <= 1e-6 * max(abs(low), abs(high), 1)


def test_familiar_ticks() -> None:
    """0 to 1 in fifths, 0 to 120 in twenties, a flat line without a crash."""
    assert ticks(0, 1) == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert ticks(0, 120, 8) == [0, 20, 40, 60, 80, 100, 120]
    assert 3.0 in ticks(3, 3)


def test_small_numbers_fit_beside_an_axis() -> None:
    """Never more than six characters for what a run measures."""
    assert [brief(one) for one in (0.2, 1, 0.0004, 0.00015, -0.00703, 0.944, 1e-7, 2500)] == [
        "0.2", "1", "4e-4", "1.5e-4", "-7e-3", "0.944", "1e-7", "2500",
    ]  # fmt: skip


def test_smoothing_keeps_a_line_and_flattens_noise() -> None:
    """A constant stays, a zigzag shrinks, the length stays."""
    zigzag = [0.0, 1.0] * 10

    assert smooth([0.5] * 7, 5) == [0.5] * 7
    assert len(smooth(zigzag, 5)) == 20
    assert max(smooth(zigzag, 5)[2:-2]) - min(smooth(zigzag, 5)[2:-2]) < 0.25


def test_a_reward_curve_has_raw_and_smoothed_lines_and_named_axes() -> None:
    """Both lines cover every step; axes carry names and round values; the last mean is written."""
    svg = line_chart([(n, n / 100) for n in range(100)], "step", "mean reward", "Reward")
    raw, mean = parts(svg, "path", "raw")[0].get("d", ""), parts(svg, "path", "mean")[0].get("d", "")
    names = [one.text for one in parts(svg, "text", "name")]

    assert (raw.count("L"), mean.count("L")) == (99, 99)
    assert raw.startswith("M56.0 236.0L")
    assert names == ["step", "mean reward"]
    assert {"0", "0.5", "1"} & {one.text for one in parts(svg, "text", "tick")}
    assert parts(svg, "text", "value")[0].text == "0.97"


def test_rewards_below_zero_and_above_one_stay_on_the_chart() -> None:
    """The axis follows the data."""
    svg = line_chart([(0, -3.0), (1, 5.0), (2, 0.0)], "step", "reward", "Reward")
    heights = [float(pair.split()[1]) for pair in parts(svg, "path", "raw")[0].get("d", "")[1:].split("L")]

    assert all(16 <= y <= 236 for y in heights)
    assert line_chart([(0, 1.0)], "step", "reward", "Reward") == ""


def test_bars_stand_for_their_shares() -> None:
    """Heights in proportion, values on top, the bar to reach and the baseline drawn."""
    svg = grouped_bars(COUNTS, {"L0": "L0 chat"}, "By label", bar=0.8, marks={"L1": 0.5})
    before = [float(one.get("height", 0)) for one in parts(svg, "rect", "before")]
    after = [float(one.get("height", 0)) for one in parts(svg, "rect", "after")]

    assert before == pytest.approx([0.8 * 220, 1.0], abs=0.1)
    assert after == pytest.approx([0.9 * 220, 220.0], abs=0.1)
    assert [one.text for one in parts(svg, "text", "value")] == ["80%", "90%", "0%", "100%"]
    assert [one.text for one in parts(svg, "text", "label")] == ["L0 chat", "L1"]
    assert parts(svg, "path", "rule")[0].get("d", "").split("H")[0].split()[1] == "68.0"
    assert len(parts(svg, "path", "baseline")) == 1
    assert grouped_bars((), {}, "nothing") == ""
    assert len(parts(grouped_bars(COUNTS, {}, "x"), "path", "rule")) == 0


def test_intervals_lie_against_zero_and_margin() -> None:
    """One zero line; margin, then bound, then point from left to right, the whisker around the point."""
    rows = [IntervalRow("routing", 0.6, 0.7, 0.8), IntervalRow("easy", -0.05, -0.01, 0.03, -0.04, -0.08)]
    svg = interval_plot(rows, "Differences")

    def place(kind: str, at: int = 0) -> float:
        return float(parts(svg, "path", kind)[at].get("d", "")[1:].split()[0])

    dots = [float(one.get("cx", 0)) for one in parts(svg, "circle", "dot")]
    assert len(parts(svg, "path", "zero")) == 1
    assert place("margin") < place("whisker", 1) < place("bound") < dots[1] < place("zero") < dots[0]
    assert "−8.0" in svg and "+70.0" in svg
    assert interval_plot([], "nothing") == ""
    assert parts(interval_plot([IntervalRow("flat", 0, 0, 0)], "x"), "path", "zero")


@pytest.mark.parametrize("name", ["easy (guard)", "app (zero tolerance)", "x" * 64 + " (guard)"])
def test_names_of_rows_have_room(name: str) -> None:
    """The plot begins behind the longest; what is longer than half of the chart ends in dots."""
    rows = [IntervalRow("routing (target)", -0.1, 0.0, 0.1), IntervalRow(name, -0.1, 0.0, 0.1)]
    labels = parts(interval_plot(rows, "Differences"), "text", "label")

    for label in labels:
        text, end = label.text or "", float(label.get("x") or 0)
        assert end - 8.8 * len(text) >= 0
        assert text in (name, "routing (target)") or (text.endswith("…") and name.startswith(text[:-1]))
