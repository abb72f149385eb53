"""What does the model fail at? Read-only, over the snapshot; every text from traces is shown as text."""

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="Failures", css_file="pages.css")

with app.setup:
    from datetime import UTC, datetime

    import marimo as mo

    from dashboards import charts, filters, pieces, questions, sheets, trace_card
    from rsi.settings import Home


@app.cell
def _():
    home = Home.find()
    mo.stop(not home.snapshot.exists(), mo.Html(pieces.no_snapshot(home)))
    offered = questions.options(home)
    health = questions.health(home)
    made = datetime.fromtimestamp(home.snapshot.stat().st_mtime, UTC)
    # Whether the server has the page of labels as well.
    linked = mo.cli_args().get("pages") == "all"
    return health, home, linked, made, offered


@app.cell
def _(offered):
    picked = filters.filters(offered)
    days = filters.days(offered)
    return days, picked


@app.cell
def _(days, picked):
    choice = filters.chosen(picked, days)
    return (choice,)


@app.cell
def _(choice, home):
    found = questions.answers(home, choice)
    return (found,)


@app.cell
def _(offered):
    _all = "every failing trace"
    _modes = {f"{one.rank}. {one.title[:60]}": one.mode_id for one in offered.modes.itertuples()}
    mode = mo.ui.dropdown({_all: None, **_modes}, value=_all, label="Show")
    return (mode,)


@app.cell
def _(choice, home, mode):
    failing = questions.failing(home, choice, mode.value)
    asked_for = mo.query_params().get("trace")
    traces = mo.ui.table(
        pieces.listed(failing),
        selection="single",
        initial_selection=[0] if len(failing) and not asked_for else None,
        page_size=8,
        column_widths=pieces.WIDTHS,
        hidden_columns=["trace_uid"],
        show_column_summaries=False,
        show_data_types=False,
        show_download=False,
    )
    return asked_for, failing, traces


@app.cell
def _(asked_for, failing, home, traces):
    wanted = failing["trace_uid"].loc[traces.value.index[0]] if len(traces.value) else asked_for
    told = questions.trace(home, wanted) if wanted else None
    return told, wanted


@app.cell
def _(found):
    over_time = mo.Html(pieces.empty("No trace with a time is left by these filters; widen them."))
    if not found.over_time.empty:
        over_time = mo.vstack(
            [
                mo.Html(
                    pieces.caption(
                        "Share of the judged traces that failed, with its 95% interval; dashed: a version's first trace"
                    )
                ),
                charts.rate_over_time(found.over_time, found.unit, found.by_version),
                mo.Html(pieces.caption("Traces", fail="failed", unknown="not judged", passed="passed")),
                charts.counts_over_time(found.over_time, found.unit),
            ],
            gap=0,
        )
    return (over_time,)


@app.cell
def _(failing, linked, mode, told, traces, wanted):
    if told:
        _go = pieces.go("label.py", "label it", trace=told.trace["trace_uid"]) if linked else ""
        _trace = trace_card.card(told, _go)
    elif wanted:
        _trace = pieces.empty(f"No trace, or more than one, begins with {pieces.code(wanted)}.")
    else:
        _trace = pieces.empty("Choose a row of the list to read that trace.") if len(failing) else ""
    _none = (
        "No trace failed here. Widen the filters; where none was judged, judge some on the page of labels."
    )
    _list = traces if len(failing) else mo.Html(pieces.empty(_none))
    drill_down = mo.vstack([mo.hstack([mode], justify="start"), _list, mo.Html(_trace)], gap=1)
    return (drill_down,)


@app.cell
def _(days, drill_down, found, health, over_time, picked):
    _bar = [*picked.elements.values(), *([days] if days is not None else [])]
    failures = mo.vstack(
        [
            mo.hstack(_bar, justify="start", wrap=True, gap=1),
            mo.Html(sheets.headline(found, health) + sheets.over_time(found)),
            over_time,
            mo.Html(sheets.breakdown(found)),
            mo.Html(pieces.section("Failing traces", "Newest first, at most 1,000. Choose one to read it.")),
            drill_down,
        ]
    )
    return (failures,)


@app.cell
def _(health):
    _files = mo.ui.table(
        pieces.files(health.files),
        selection=None,
        column_widths=pieces.FILE_WIDTHS,
        show_column_summaries=False,
        show_data_types=False,
        show_download=False,
    )
    _none = mo.Html(pieces.empty("Nothing was ingested yet. <code>rsi ingest FILES</code> loads traces."))
    ingest = mo.vstack(
        [
            mo.Html(sheets.intake(health)),
            mo.Html(pieces.section("Files", "Those with something in quarantine first.")),
            _files if len(health.files) else _none,
        ]
    )
    return (ingest,)


@app.cell
def _(failures, ingest, linked, made, offered):
    _lead = "What the model fails at, where, and since when."
    _go = pieces.go("label.py", "label traces") if linked else ""
    _head = pieces.head("Failures", _lead, f"{sheets.as_of(offered, made)}<br>{_go}")
    _tabs = {"Failures": failures if offered.traces else mo.Html(pieces.no_traces()), "Ingest health": ingest}
    mo.vstack([mo.Html(_head), mo.ui.tabs(_tabs)])
    return


if __name__ == "__main__":
    app.run()
