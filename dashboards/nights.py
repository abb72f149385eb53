"""How did the nights go, and do they add up? Read-only, over the snapshot and the reports that verdicts brought."""

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="Nights", css_file="pages.css")

with app.setup:
    from datetime import UTC, datetime

    import marimo as mo

    from dashboards import loop_charts, loop_questions, night_sheets, pieces
    from rsi.report.words import plural
    from rsi.settings import Home


@app.cell
def _():
    home = Home.find()
    mo.stop(not home.snapshot.exists(), mo.Html(pieces.no_snapshot(home)))
    found = loop_questions.loop(home)
    made = datetime.fromtimestamp(home.snapshot.stat().st_mtime, UTC)
    # Whether the server has the other pages as well.
    linked = mo.cli_args().get("pages") == "all"
    return found, home, linked, made


@app.cell
def _(found):
    asked_for = mo.query_params().get("night")
    _judged = [at for at, verdict in enumerate(found.nights["verdict"]) if isinstance(verdict, str)]
    nights = mo.ui.table(
        night_sheets.nights_list(found.nights),
        selection="single",
        initial_selection=(_judged or [0])[:1] if len(found.nights) and not asked_for else None,
        page_size=14,
        column_widths=night_sheets.NIGHT_WIDTHS,
        wrapped_columns=["how it ended"],
        show_column_summaries=False,
        show_data_types=False,
        show_download=False,
    )
    return asked_for, nights


@app.cell
def _(asked_for, found, home, nights):
    chosen = loop_questions.picked(found.nights, "night", asked_for, nights.value)
    told = loop_questions.night(home, chosen) if chosen is not None else None
    return (told,)


@app.cell
def _(found):
    _measured = len(found.quality) > 0
    _judged = found.nights["gain"].notna().any()
    _left = mo.vstack(
        [
            mo.Html(
                pieces.section("Do the nights add up?", night_sheets.curve_note(found.quality))
                + night_sheets.curve_legend(found.quality)
            ),
            loop_charts.quality_by_version(found.quality)
            if _measured
            else mo.Html(pieces.empty("Nothing was measured yet.")),
        ],
        gap=0,
    )
    _right = mo.vstack(
        [
            mo.Html(
                pieces.section(
                    "What each night gained",
                    "The candidate against the version in service, on the suite that it had to be better on; "
                    "paired 95% interval.",
                )
                + pieces.caption("", gained="pass", lost="fail", doubt="cannot tell")
            ),
            loop_charts.gain_by_night(found.nights)
            if _judged
            else mo.Html(pieces.empty("No candidate was judged yet.")),
        ],
        gap=0,
    )
    charts = mo.hstack([_left, _right], widths="equal", gap=2, align="start")
    return (charts,)


@app.cell
def _(charts, found, linked, made, nights, told):
    _go = " · ".join(
        pieces.go(page, name) for page, name in (("lineage.py", "versions"), ("failures.py", "failures"))
    )
    _aside = f"{plural(len(found.nights), 'night')}<br>snapshot of {made:%-d %b %Y, %H:%M} UTC"
    _head = pieces.head(
        "Nights", "What each night found, made and changed.", f"{_aside}<br>{_go if linked else ''}"
    )
    _note = "Newest first. Choose one to read it."
    _report = mo.Html(night_sheets.report_frame(told.report)) if told is not None else None
    _card = [mo.Html(night_sheets.night_card(told, linked))] if told is not None else []
    if told is not None and told.report:
        _card.append(mo.accordion({"The gate's report of this night": _report}))
    _body = [
        mo.Html(night_sheets.nights_tiles(found)),
        charts,
        mo.Html(pieces.section("Nights", _note)),
        nights,
        *_card,
    ]
    mo.vstack([mo.Html(_head), *(_body if len(found.nights) else [mo.Html(night_sheets.no_nights())])])
    return


if __name__ == "__main__":
    app.run()
