"""Inline SVG: a line with its smoothed course, bars before and after, intervals against a line, shares in a row.

Every chart is a string with a `viewBox`, a title for those who cannot see it, and classes instead of
colours; the page's style sheet (`rsi.report.style`) gives them light and dark ones. Coordinates are in user
units; numbers are written with one decimal, so the same data gives the same bytes.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import ceil, floor, log10
from typing import NamedTuple

from rsi.report.evidence import Count
from rsi.report.words import inert_html, percent, points

WIDTH = 720
"""Width of every chart, user units."""
_SIDE, _GAP, _LETTER = 150, 14, 8.8
"""Least room for names beside rows, between name and plot, and for a letter of a name."""


class Frame(NamedTuple):
    """The plotting area and the values at its edges."""

    left: float
    top: float
    right: float
    bottom: float
    x: tuple[float, float]
    y: tuple[float, float]

    def at_x(self, value: float) -> float:
        """Place of a value on the horizontal axis."""
        low, high = self.x
        return self.left + (value - low) / ((high - low) or 1) * (self.right - self.left)

    def at_y(self, value: float) -> float:
        """Place of a value on the vertical axis."""
        low, high = self.y
        return self.bottom - (value - low) / ((high - low) or 1) * (self.bottom - self.top)


class IntervalRow(NamedTuple):
    """One line of an interval plot; values are shares."""

    name: str
    low: float
    middle: float
    high: float
    bound: float | None = None
    """The one-sided bound that decides, where there is one."""
    mark: float | None = None
    """What that bound must lie above."""


class ShareMark(NamedTuple):
    """One place of a row of shares."""

    name: str
    low: float
    middle: float
    high: float
    hint: str
    """What is said where a pointer rests on it."""


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round values (1, 2 or 5 times a power of ten apart) from `low` to `high`, about `count` of them."""
    span = (high - low) or 1.0
    rough = span / max(count, 1)
    power = 10.0 ** floor(log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough * 0.999)
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [round(k * step, 10) for k in range(first, last + 1)]


def brief(value: float) -> str:
    """A number in few characters: ``0.4``, ``4e-4``."""
    plain = f"{value:g}"
    if len(plain) <= 5 and "e" not in plain:
        return plain
    digits, _, power = f"{value:.1e}".partition("e")
    small = f"{digits.removesuffix('.0')}e{int(power)}"
    return min(plain, small, key=len)


def smooth(values: Sequence[float], window: int) -> list[float]:
    """Mean of each value with its neighbours, `window` wide, cut at the ends."""
    half = window // 2
    spans = (values[max(0, at - half) : at + half + 1] for at in range(len(values)))
    return [sum(span) / len(span) for span in spans]


def line_chart(
    series: Sequence[tuple[float, float]], x_name: str, y_name: str, title: str, top: float = 1.0
) -> str:
    """Raw points as a faint line, their running mean as a strong one; "" for fewer than two points.

    The vertical axis holds zero and, where no value lies below -1, reaches up to `top` at least.
    """
    if len(series) < 2:
        return ""
    xs, ys = [x for x, _ in series], [y for _, y in series]
    low, high = min(0.0, min(ys)), max(top, max(ys)) if min(ys) >= -1 else max(ys)
    frame = Frame(56, 16, WIDTH - 16, 236, (min(xs), max(xs)), (low, high))
    window = max(3, len(ys) // 12 | 1)
    means = smooth(ys, window)
    end_x, end_y = frame.at_x(xs[-1]), frame.at_y(means[-1])
    body = [
        *_grid_y(frame, {y: brief(y) for y in ticks(low, high)}),
        *_axis_x(frame, ticks(min(xs), max(xs), 8)),
        f'<path class="raw" d="{_path(frame, xs, ys)}"/>',
        f'<path class="mean" d="{_path(frame, xs, means)}"/>',
        f'<circle class="dot after" cx="{end_x:.1f}" cy="{end_y:.1f}" r="4"/>',
        _text(end_x - 8, end_y - 10, brief(float(f"{means[-1]:.3g}")), "value", "end"),
        _text((frame.left + frame.right) / 2, frame.bottom + 40, x_name, "name", "middle"),
        _text(14, (frame.top + frame.bottom) / 2, y_name, "name", "middle", turn=True),
    ]
    return _svg(288, title, body)


def grouped_bars(
    counts: Sequence[Count],
    names: Mapping[str, str],
    title: str,
    bar: float | None = None,
    marks: Mapping[str, float] | None = None,
) -> str:
    """Accuracy before and after by group, each bar with its value; "" without a group.

    Args:
        names: what a group is called under its bars, by the name of its count.
        bar: a level drawn across, the one to reach.
        marks: accuracy of something else by group, drawn as a short line (the baseline).
    """
    if not counts:
        return ""
    frame = Frame(56, 24, WIDTH - 16, 244, (0, len(counts)), (0, 1))
    body = _grid_y(frame, {y: f"{100 * y:.0f}%" for y in ticks(0, 1)})
    wide = (frame.right - frame.left) / len(counts)
    thick = min(wide * 0.3, 56.0)
    for at, one in enumerate(counts):
        middle = frame.left + (at + 0.5) * wide
        name = names.get(one.name, one.name)
        shares = zip(("before", "after"), one.shares(), strict=True)
        for side, (kind, share) in enumerate(shares):
            x = middle + (side - 1) * (thick + 3) + 1.5
            y = frame.at_y(share)
            hint = f"{name}, {kind}: {percent(share)} of {one.n}"
            body += [
                f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{thick:.1f}" '
                f'height="{max(frame.bottom - y, 1):.1f}" rx="2"><title>{inert_html(hint)}</title></rect>',
                _text(x + thick / 2, y - 6, f"{100 * share:.0f}%", f"value {kind}", "middle"),
            ]
        if marks and one.name in marks:
            y = frame.at_y(marks[one.name])
            x = middle - thick - 9
            body.append(f'<path class="baseline" d="M{x:.1f} {y:.1f}h{2 * thick + 18:.1f}"/>')
        body += [
            _text(middle, frame.bottom + 20, name, "label", "middle"),
            _text(middle, frame.bottom + 37, f"{one.n} items", "tick", "middle"),
        ]
    if bar is not None:
        body.append(_rule(frame.left, frame.right, frame.at_y(bar)))
    return _svg(292, title, body)


def interval_plot(rows: Sequence[IntervalRow], title: str) -> str:
    """Differences with their 95% intervals, in percentage points, against zero and each row's mark."""
    if not rows:
        return ""
    ends = [value for row in rows for value in (row.low, row.high, row.bound, row.mark) if value is not None]
    low, high = min(0.0, *ends), max(0.0, *ends)
    room = max((high - low) * 0.08, 0.02)
    height = 64
    left = min(max(_SIDE, max(len(row.name) for row in rows) * _LETTER + 2 * _GAP), WIDTH / 2)
    frame = Frame(left, 12, WIDTH - 84, 12 + height * len(rows), (low - room, high + room), (0, 1))
    body = []
    for value in ticks(*frame.x, 8):
        x = frame.at_x(value)
        kind = "zero" if value == 0 else "grid"
        body += [
            f'<path class="{kind}" d="M{x:.1f} {frame.top}V{frame.bottom}"/>',
            _text(x, frame.bottom + 18, points(value).removesuffix(".0") if value else "0", "tick", "middle"),
        ]
    for at, row in enumerate(rows):
        body += _interval(frame, row, frame.top + height * (at + 0.5))
    words = "difference in accuracy, candidate minus champion, percentage points"
    body.append(_text((frame.left + frame.right) / 2, frame.bottom + 40, words, "name", "middle"))
    return _svg(frame.bottom + 50, title, body)


def _fitting(name: str, room: float) -> str:
    """A name as far as there is room for it."""
    most = int(room / _LETTER)
    return name if len(name) <= most else f"{name[: most - 1]}…"


def shares_in_order(marks: Sequence[ShareMark], title: str) -> str:
    """Shares with their intervals, joined in the order given; "" without one."""
    if not marks:
        return ""
    frame = Frame(56, 24, WIDTH - 16, 244, (0, len(marks)), (0, 1))
    xs = [frame.at_x(at + 0.5) for at in range(len(marks))]
    ys = [frame.at_y(one.middle) for one in marks]
    body = _grid_y(frame, {y: f"{100 * y:.0f}%" for y in ticks(0, 1)})
    body.append(f'<path class="mean" d="M{"L".join(f"{x:.1f} {y:.1f}" for x, y in zip(xs, ys, strict=True))}"/>')
    for one, x, y in zip(marks, xs, ys, strict=True):
        low, high = frame.at_y(one.low), frame.at_y(one.high)
        ends = f"M{x - 6:.1f} {low:.1f}h12M{x - 6:.1f} {high:.1f}h12"
        body += [
            f'<path class="whisker" d="M{x:.1f} {low:.1f}V{high:.1f}{ends}">'
            f"<title>{inert_html(one.hint)}</title></path>",
            f'<circle class="dot after" cx="{x:.1f}" cy="{y:.1f}" r="6"/>',
            _text(x + 12, y - 8, f"{100 * one.middle:.0f}%", "value after", "start"),
            _text(x, frame.bottom + 20, one.name, "label", "middle"),
        ]
    return _svg(276, title, body)


def _interval(frame: Frame, row: IntervalRow, y: float) -> list[str]:
    low, middle, high = (frame.at_x(value) for value in (row.low, row.middle, row.high))
    hint = f"{row.name}: {points(row.middle)} points, 95% interval {points(row.low)} to {points(row.high)}"
    marks = [
        _text(frame.left - _GAP, y + 5, _fitting(row.name, frame.left - 2 * _GAP), "label", "end"),
        f'<path class="whisker" d="M{low:.1f} {y:.1f}H{high:.1f}'
        f'M{low:.1f} {y - 6:.1f}v12M{high:.1f} {y - 6:.1f}v12">'
        f"<title>{inert_html(hint)}</title></path>",
        f'<circle class="dot after" cx="{middle:.1f}" cy="{y:.1f}" r="6"/>',
        _text(frame.right + 10, y + 5, points(row.middle), "value after", "start"),
    ]
    if row.mark is not None:
        x = frame.at_x(row.mark)
        marks += [
            f'<path class="margin" d="M{x:.1f} {y - 26:.1f}V{y + 26:.1f}"/>',
            _text(x + 5, y - 18, f"margin {points(row.mark)}", "tick bad", "start"),
        ]
    if row.bound is not None:
        x, words = frame.at_x(row.bound), f"one-sided bound {points(row.bound)}"
        path = f"M{x:.1f} {y - 11:.1f}V{y + 11:.1f}"
        marks.append(f'<path class="bound" d="{path}"><title>{inert_html(words)}</title></path>')
    return marks


def _svg(height: float, title: str, body: Iterable[str]) -> str:
    words = inert_html(title)
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{words}"><title>{words}</title>'
        f"{''.join(body)}</svg>"
    )


def _text(x: float, y: float, text: str, kind: str, anchor: str, turn: bool = False) -> str:
    turned = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turn else ""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{turned}'
    return f'<text class="{kind}" {place}>{inert_html(text)}</text>'


def _path(frame: Frame, xs: Sequence[float], ys: Sequence[float]) -> str:
    places = (f"{frame.at_x(x):.1f} {frame.at_y(y):.1f}" for x, y in zip(xs, ys, strict=True))
    return "M" + "L".join(places)


def _rule(left: float, right: float, y: float) -> str:
    return f'<path class="rule" d="M{left:.1f} {y:.1f}H{right:.1f}"/>'


def _grid_y(frame: Frame, marks: Mapping[float, str]) -> list[str]:
    parts = []
    for value, name in marks.items():
        y = frame.at_y(value)
        parts += [
            f'<path class="grid" d="M{frame.left} {y:.1f}H{frame.right}"/>',
            _text(frame.left - 8, y + 4, name, "tick", "end"),
        ]
    return parts


def _axis_x(frame: Frame, marks: Iterable[float]) -> list[str]:
    parts = [f'<path class="axis" d="M{frame.left} {frame.bottom}H{frame.right}"/>']
    for value in marks:
        x = frame.at_x(value)
        parts += [
            f'<path class="axis" d="M{x:.1f} {frame.bottom}v5"/>',
            _text(x, frame.bottom + 20, f"{value:g}", "tick", "middle"),
        ]
    return parts
