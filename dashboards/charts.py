"""Charts over time. Axes of counts and shares begin at 0; times are UTC; colours hold on light and dark paper."""

from collections.abc import Sequence

import altair as alt
import pandas as pd

from dashboards.questions import step

FAIL, PASS, UNKNOWN, SOFT, LINE = "#b5373b", "#9cc3bd", "#d0cac1", "#7d786f", "#88888833"
_LEFT = 44
"""Room for the names of the vertical axis, so that charts above each other line up."""
_FORMATS = {
    "minute": "%H:%M",
    "hour": "%-d %b %H:00",
    "day": "%-d %b",
    "week": "%-d %b %Y",
    "month": "%b %Y",
    "year": "%Y",
}
_KINDS = {"failed": "failed", "unknown": "not judged", "passed": "passed"}


def rate_over_time(frame: pd.DataFrame, unit: str, versions: pd.DataFrame) -> alt.LayerChart:
    """Share of the judged traces that failed, with its 95% interval, and when each version was first seen."""
    data = _dated(frame)
    period = frame["moment"].iloc[0], frame["until"].iloc[-1]
    x = _x("middle", unit, period, labels=False)
    seen = data["judged"] > 0
    data[["low", "rate", "high"]] = data[["low", "rate", "high"]].where(seen)
    top = min(1.0, 1.05 * float(data["high"].max())) if seen.any() else 1.0
    y = alt.Y("rate:Q", title=None, scale=alt.Scale(domain=[0, top]), axis=axis_of("%"))
    rate = alt.Tooltip("rate:Q", title="share that failed", format=".1%")
    plain = alt.Chart(data)
    band = plain.mark_area(opacity=0.13, color=FAIL).encode(x=x, y=alt.Y("low:Q"), y2="high:Q")
    alone = alt.Chart(data[seen & ~seen.shift(1, fill_value=False) & ~seen.shift(-1, fill_value=False)])
    whiskers = alone.mark_rule(opacity=0.4, color=FAIL).encode(x=x, y=alt.Y("low:Q"), y2="high:Q")
    line = plain.mark_line(color=FAIL, strokeWidth=2).encode(x=x, y=y)
    points = plain.mark_circle(color=FAIL, size=46, opacity=1).encode(
        x=x, y=y, tooltip=_tooltip(unit, ("failed", "judged"), rate)
    )
    began = versions[(versions["version"] != "") & (versions["first_seen"] >= period[0])]
    marks = alt.Chart(began.assign(name=began["version"].str[:7], middle=began["first_seen"]))
    rules = marks.mark_rule(color=SOFT, strokeDash=[3, 3]).encode(x=x)
    names = marks.mark_text(align="left", dx=5, y=8, color=SOFT, fontSize=12).encode(x=x, text="name:N")
    return finished(alt.layer(band, whiskers, rules, names, line, points), 190)


def counts_over_time(frame: pd.DataFrame, unit: str) -> alt.Chart:
    """Traces by outcome, one on the other."""
    data = _dated(frame)
    steps, below = [], 0
    for kind, name in _KINDS.items():
        top = below + data[kind]
        steps.append(data.assign(outcome=name, traces=data[kind], below=below, top=top))
        below = top
    colours = alt.Scale(domain=list(_KINDS.values()), range=[FAIL, UNKNOWN, PASS])
    chart = (
        alt.Chart(pd.concat(steps))
        .mark_rect()
        .encode(
            x=_x("moment", unit, (frame["moment"].iloc[0], frame["until"].iloc[-1])),
            x2="edge:T",
            y=alt.Y("below:Q", title=None, axis=axis_of("~s")),
            y2="top:Q",
            color=alt.Color("outcome:N", scale=colours, legend=None),
            tooltip=_tooltip(unit, ("outcome", "traces")),
        )
    )
    return finished(chart, 120)


def _dated(frame: pd.DataFrame) -> pd.DataFrame:
    wide = frame["until"] - frame["moment"]
    return frame.assign(middle=frame["moment"] + wide / 2, edge=frame["moment"] + 0.98 * wide)


def _x(column: str, unit: str, period: Sequence[pd.Timestamp], labels: bool = True) -> alt.X:
    # Ticks are named one by one: Vega does not know every unit of time as an interval.
    buckets = pd.date_range(*period, freq=step(unit))
    every = step(unit, max(1, round(len(buckets) / 8)))
    axis = alt.Axis(
        title=None, format=_FORMATS[unit], grid=False, domainColor=LINE, tickColor=LINE, labelColor=SOFT, labels=labels,
        ticks=labels, values=[moment_of(one) for one in pd.date_range(*period, freq=every)], labelFontSize=12,
        labelOverlap=True,
    )  # fmt: skip
    return alt.X(f"{column}:T", axis=axis, scale=alt.Scale(domain=[moment_of(one) for one in period]))


def moment_of(at: pd.Timestamp) -> alt.DateTime:
    """A time as Vega takes it in a scale."""
    return alt.DateTime(year=at.year, month=at.month, date=at.day, hours=at.hour, minutes=at.minute)


def axis_of(form: str) -> alt.Axis:
    """A vertical axis of numbers in a format of d3."""
    least = 0.01 if form.endswith("%") else 1
    return alt.Axis(
        format=form, tickCount=4, tickMinStep=least, gridColor=LINE, domain=False, ticks=False, labelColor=SOFT,
        labelFontSize=12, minExtent=_LEFT, maxExtent=_LEFT, labelPadding=8,
    )  # fmt: skip


def _tooltip(unit: str, plain: tuple[str, ...], *more: alt.Tooltip) -> list[alt.Tooltip]:
    when = alt.Tooltip("moment:T", title=f"{unit} (UTC)", format=_FORMATS[unit])
    return [when, *(alt.Tooltip(name) for name in plain), *more]


def finished(chart: alt.Chart | alt.LayerChart, height: int) -> alt.Chart | alt.LayerChart:
    """A chart as wide as its place, in the look of the pages."""
    plain = {"embedOptions": {"actions": False}}
    return (
        chart.properties(width="container", height=height, usermeta=plain)
        .configure(font="PT Sans", background="transparent")
        .configure_view(stroke=None)
    )
