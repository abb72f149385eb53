"""Charts of nights and versions: quality by version, gain by night, versions as a tree over time. Times are UTC."""

import altair as alt
import pandas as pd

from dashboards.charts import LINE, PASS, SOFT, axis_of, finished, moment_of
from dashboards.loop_questions import suites_of

GAIN, LOSS, DOUBT, INK, OTHER = "#17794a", "#b5373b", "#b07a12", "#0f6e6e", "#88847d"
STATES = {
    "in service": INK,
    "was in service": PASS,
    "passed": DOUBT,
    "rejected": LOSS,
    "refused": LOSS,
    "untested": OTHER,
}
"""State of a version -> its colour; what a person rejected has another shape."""
JUDGEMENTS = {"pass": GAIN, "fail": LOSS, "cannot tell": DOUBT}
_SERIES = (INK, "#9a5b13", "#5d4a9c", "#7d786f")
_SERVICE = "in service"


def quality_by_version(frame: pd.DataFrame) -> alt.LayerChart:
    """Share of the gate's items that each version in service got right, with its 95% interval, suite by suite."""
    names = {suite: at for at, suite in enumerate(suites_of(frame))}
    # Intervals of one version on several suites stand side by side.
    aside = frame["suite"].map(names) - (len(names) - 1) / 2
    data = frame.assign(
        at=frame["place"] + 0.09 * aside,
        label=[version[:7] for version in frame["version"]],
    )  # fmt: skip
    last = int(data["place"].max())
    labels = dict(zip(data["place"].astype(str), data["label"], strict=True))
    said = " ".join(f"datum.value == {place} ? '{label}' :" for place, label in labels.items()) + " ''"
    x = alt.X(
        "at:Q",
        scale=alt.Scale(domain=[-0.4, last + 0.4], nice=False),
        axis=alt.Axis(title=None, values=list(range(last + 1)), labelExpr=said, grid=False, domainColor=LINE,
                      tickColor=LINE, labelColor=SOFT, labelFontSize=12),
    )  # fmt: skip
    y = alt.Y("rate:Q", title=None, scale=alt.Scale(domain=[0, 1]), axis=axis_of("%"))
    colour = alt.Color(
        "suite:N", scale=alt.Scale(domain=list(names), range=_SERIES[: len(names)]), legend=None
    )
    tip = [
        alt.Tooltip("label:N", title="version"),
        alt.Tooltip("suite:N"),
        alt.Tooltip("rate:Q", title="right", format=".1%"),
        alt.Tooltip("low:Q", title="95% from", format=".1%"),
        alt.Tooltip("high:Q", title="to", format=".1%"),
        alt.Tooltip("items:Q"),
        alt.Tooltip("night:N", title="measured in night"),
    ]
    plain = alt.Chart(data)
    dash = alt.StrokeDash(
        "is_target:N", scale=alt.Scale(domain=[True, False], range=[[1, 0], [5, 4]]), legend=None
    )
    line = plain.mark_line(strokeWidth=2, opacity=0.8).encode(x=x, y=y, color=colour, strokeDash=dash)
    whiskers = plain.mark_rule(strokeWidth=1.6, opacity=0.7).encode(
        x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour
    )
    points = plain.mark_circle(size=62, opacity=1).encode(x=x, y=y, color=colour, tooltip=tip)
    return finished(alt.layer(line, whiskers, points), 230)


def gain_by_night(frame: pd.DataFrame) -> alt.LayerChart:
    """What each night's candidate gained on its target, with its 95% interval, coloured by the gate's judgement."""
    data = frame[frame["gain"].notna()].sort_values(["began_at", "night"])[
        ["night", "role", "suite", "judgement", "gain", "gain_low", "gain_high", "items"]
    ]
    data = data.assign(day=[night[5:] for night in data["night"]], changed=data["role"].fillna("harness"))
    x = alt.X("day:N", sort=None, axis=alt.Axis(title=None, labelAngle=0, domain=False, ticks=False, labelColor=SOFT,
              labelFontSize=12, labelOverlap=True))  # fmt: skip
    low, high = min(0.0, float(data["gain_low"].min())), max(0.0, float(data["gain_high"].max()))
    y = alt.Y("gain:Q", title=None, scale=alt.Scale(domain=[low, high], nice=True), axis=axis_of("+.0%"))
    colours = alt.Scale(domain=list(JUDGEMENTS), range=list(JUDGEMENTS.values()))
    colour = alt.Color("judgement:N", scale=colours, legend=None)
    tip = [
        alt.Tooltip("night:N"),
        alt.Tooltip("changed:N"),
        alt.Tooltip("suite:N"),
        alt.Tooltip("gain:Q", format="+.1%"),
        alt.Tooltip("gain_low:Q", title="95% from", format="+.1%"),
        alt.Tooltip("gain_high:Q", title="to", format="+.1%"),
        alt.Tooltip("items:Q"),
        alt.Tooltip("judgement:N"),
    ]
    plain = alt.Chart(data)
    zero = alt.Chart(pd.DataFrame({"at": [0.0]})).mark_rule(color=SOFT, strokeWidth=1).encode(y="at:Q")
    whiskers = plain.mark_rule(strokeWidth=1.8, opacity=0.8).encode(
        x=x, y=alt.Y("gain_low:Q"), y2="gain_high:Q", color=colour
    )
    points = plain.mark_circle(size=70, opacity=1).encode(x=x, y=y, color=colour, tooltip=tip)
    names = plain.mark_text(align="left", dx=8, fontSize=11, color=SOFT).encode(x=x, y=y, text="changed:N")
    return finished(alt.layer(zero, whiskers, points, names), 230)


def tree(versions: pd.DataFrame, service: pd.DataFrame, now: pd.Timestamp) -> alt.LayerChart:
    """Which version was in service when, and from which each candidate was made, one row a role.

    A candidate hangs on the version it was made from; a line goes up from it to where it came into service.
    """
    made = versions.assign(made_at=versions["made_at"].fillna(versions["served_at"]))
    made = made[made["made_at"].notna() & made["parent"].notna()]
    made = made.assign(
        lane=made["role"].fillna("harness"),
        short=[one[:7] for one in made["version"]],
        origin=[one[:7] for one in made["parent"]],
    )
    lanes = [_SERVICE, *sorted(set(made["lane"]))]
    axis = alt.Axis(domain=False, ticks=False, labelColor=SOFT, labelFontSize=12, minExtent=78)
    y = alt.Y("lane:N", sort=lanes, scale=alt.Scale(domain=lanes), title=None, axis=axis)
    states = alt.Scale(domain=list(STATES), range=list(STATES.values()))
    colour = alt.Color("state:N", scale=states, legend=None)
    links = alt.Chart(_links(made)).mark_line(strokeWidth=1.3, opacity=0.55)
    parts = [
        links.encode(x=alt.X("at:T"), y=y, detail="link:N", color=colour),
        *_served(service, now, y, colour),
        _candidates(made, y, colour),
    ]
    return finished(alt.layer(*parts).resolve_scale(color="independent"), 60 + 52 * len(lanes))


def _served(service: pd.DataFrame, now: pd.Timestamp, y: alt.Y, colour: alt.Color) -> list[alt.Chart]:
    """Bars for the times in service, their names where there is room, and a mark where one was rolled back."""
    start = service["came_at"].min()
    span = now - start
    left = service["left_at"].fillna(now)
    bars = service.assign(
        left_at=left,
        lane=_SERVICE,
        short=[one[:7] for one in service["version"]],
        state=["was in service"] * (len(service) - 1) + [_SERVICE],
        wide=(left - service["came_at"]) / span > 0.06,
    )
    axis = alt.Axis(
        title=None, grid=False, domainColor=LINE, tickColor=LINE, labelColor=SOFT, labelFontSize=12, tickCount=8,
        format="%-d %b" if span > pd.Timedelta(days=4) else "%-d %b %H:%M", labelOverlap=True,
    )  # fmt: skip
    x = alt.X("came_at:T", scale=alt.Scale(domain=[moment_of(start), moment_of(now)]), axis=axis)
    when = alt.Tooltip("came_at:T", title="from", format="%-d %b %H:%M")
    tip = [alt.Tooltip("short:N", title="version"), "kind:N", when, "actor:N", "reason:N"]
    ink = alt.Scale(domain=[_SERVICE, "was in service"], range=["white", "#1c1b1a"])
    named = alt.Chart(bars[bars["wide"]]).mark_text(align="left", dx=6, fontSize=11, fontWeight="bold")
    back = alt.Chart(bars[bars["kind"] == "rollback"]).mark_text(
        dy=-22, fontSize=12, color=LOSS, align="left"
    )
    return [
        alt.Chart(bars)
        .mark_bar(height=26, cornerRadius=4, stroke="white", strokeWidth=1.5)
        .encode(x=x, x2="left_at:T", y=y, color=colour, tooltip=tip),
        named.encode(x=x, y=y, text="short:N", color=alt.Color("state:N", scale=ink, legend=None)),
        back.encode(x=x, y=y, text=alt.value("↩ rolled back")),
    ]


def _candidates(made: pd.DataFrame, y: alt.Y, colour: alt.Color) -> alt.Chart:
    """A dot each; what a person rejected is a cross."""
    others = [one for one in STATES if one != "rejected"]
    shapes = alt.Scale(domain=["rejected", *others], range=["cross", *["circle"] * len(others)])
    tip = [
        alt.Tooltip("short:N", title="version"),
        alt.Tooltip("origin:N", title="made from"),
        *(f"{name}:N" for name in ("role", "state", "night")),
        *(f"{name}:Q" for name in ("tasks", "steps")),
        "approver:N",
    ]
    return (
        alt.Chart(made.drop(columns=["line", "not_passed"]))
        .mark_point(filled=True, size=110, opacity=1)
        .encode(
            x=alt.X("made_at:T"),
            y=y,
            color=colour,
            shape=alt.Shape("state:N", scale=shapes, legend=None),
            tooltip=tip,
        )
    )


def _links(made: pd.DataFrame) -> pd.DataFrame:
    """Two points a line: from the version in service down to the candidate, and back up to where it came in."""
    rows = []
    for one in made.itertuples():
        down = [(one.made_at, _SERVICE), (one.made_at, one.lane)]
        up = [(one.made_at, one.lane), (one.served_at, _SERVICE)] if pd.notna(one.served_at) else []
        rows += [
            {"at": at, "lane": lane, "link": f"{one.version} {way}", "state": one.state}
            for way, ends in (("down", down), ("up", up))
            for at, lane in ends
        ]
    return pd.DataFrame(rows, columns=["at", "lane", "link", "state"])
