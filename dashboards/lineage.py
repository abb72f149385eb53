"""Where does the version in service come from? Read-only, over the snapshot; what traces say is shown as text."""

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="Versions", css_file="pages.css")

with app.setup:
    from datetime import UTC, datetime

    import marimo as mo
    import pandas as pd

    from dashboards import loop_charts, loop_questions, pieces, version_sheets
    from rsi.report.words import plural
    from rsi.settings import Home


@app.cell
def _():
    home = Home.find()
    mo.stop(not home.snapshot.exists(), mo.Html(pieces.no_snapshot(home)))
    found = loop_questions.lineage(home)
    made = datetime.fromtimestamp(home.snapshot.stat().st_mtime, UTC)
    # Whether the server has the other pages as well.
    linked = mo.cli_args().get("pages") == "all"
    return found, home, linked, made


@app.cell
def _(found):
    asked_for = mo.query_params().get("version")
    _now = [at for at, state in enumerate(found.versions["state"]) if state == "in service"]
    versions = mo.ui.table(
        version_sheets.versions_list(found.versions),
        selection="single",
        initial_selection=_now if not asked_for else None,
        page_size=12,
        column_widths=version_sheets.VERSION_WIDTHS,
        show_column_summaries=False,
        show_data_types=False,
        show_download=False,
    )
    return asked_for, versions


@app.cell
def _(asked_for, found, home, versions):
    chosen = loop_questions.picked(found.versions, "version", asked_for, versions.value)
    told = loop_questions.origin(home, chosen) if chosen is not None else None
    return (told,)


@app.cell
def _(found):
    _until = max(
        [*found.service["came_at"], *found.versions["made_at"].dropna()], default=pd.Timestamp(0)
    ) + pd.Timedelta(hours=12)
    grown = mo.Html("")
    if len(found.service):
        grown = mo.vstack(
            [
                mo.Html(
                    pieces.section(
                        "Over time",
                        "The upper row: which version was in service. Each dot below is a candidate, made from the "
                        "version above it; a line back up shows where it came into service.",
                    )
                    + pieces.caption(
                        "",
                        serves="in service",
                        passed="was in service",
                        doubt="passed",
                        lost="refused, or rejected (cross)",
                    )
                ),
                loop_charts.tree(found.versions, found.service, _until),
            ],
            gap=0,
        )
    return (grown,)


@app.cell
def _(found, grown, linked, made, told, versions):
    _go = " · ".join(
        pieces.go(page, name) for page, name in (("nights.py", "nights"), ("failures.py", "failures"))
    )
    _aside = f"{plural(len(found.versions), 'version')}<br>snapshot of {made:%-d %b %Y, %H:%M} UTC"
    _head = pieces.head(
        "Versions",
        "Where what serves comes from, and what became of the rest.",
        f"{_aside}<br>{_go if linked else ''}",
    )
    _card = [mo.Html(version_sheets.version_card(told, linked))] if told is not None else []
    _body = [
        mo.Html(version_sheets.lineage_tiles(found)),
        grown,
        mo.Html(pieces.section("Versions", "Youngest first. Choose one to read it.")),
        versions,
        *_card,
    ]
    mo.vstack([mo.Html(_head), *(_body if len(found.versions) else [mo.Html(version_sheets.no_versions())])])
    return


if __name__ == "__main__":
    app.run()
