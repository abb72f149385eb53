"""Was the answer right, and what would have been? A person's labels become scores of the trace."""

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="Label traces", css_file="pages.css")

with app.setup:
    import marimo as mo

    from dashboards import filters, pieces, questions, trace_card
    from rsi.errors import RsiError
    from rsi.ports import SystemClock
    from rsi.settings import Deployment, Home
    from rsi.store.snapshot import refresh
    from rsi.traces.label import Label, label

    NAMES = {"the answer": "feedback", "the route": "route"}
    VERDICTS = {"right": 1.0, "wrong": 0.0, "no verdict": None}


@app.cell
def _():
    home = Home.find()
    mo.stop(not home.snapshot.exists(), mo.Html(pieces.no_snapshot(home)))
    get_done, set_done = mo.state(())
    # How many of those the snapshot holds.
    get_counted, set_counted = mo.state(0)
    get_skipped, set_skipped = mo.state(0)
    get_by, set_by = mo.state("")
    get_said, set_said = mo.state("")
    return (
        get_by,
        get_counted,
        get_done,
        get_said,
        get_skipped,
        home,
        set_by,
        set_counted,
        set_done,
        set_said,
        set_skipped,
    )


@app.cell
def _(get_counted, home):
    get_counted()
    offered = questions.options(home)
    return (offered,)


@app.cell
def _(offered):
    _queues = {"not judged yet": "unknown", "that failed": "fail", "that passed": "pass", "all": None}
    outcome = mo.ui.dropdown(_queues, value="not judged yet", label="Traces")
    picked = filters.filters(offered)
    return outcome, picked


@app.cell
def _(get_counted, home, outcome, picked):
    get_counted()
    queue, labelled = questions.queue(home, filters.chosen(picked), outcome.value)
    return labelled, queue


@app.cell
def _(get_done, get_skipped, home, queue):
    _asked = questions.trace(home, mo.query_params().get("trace") or "")
    _first = [_asked.trace["trace_uid"]] if _asked else []
    waiting = [uid for uid in dict.fromkeys([*_first, *queue]) if uid not in get_done()]
    told = questions.trace(home, waiting[get_skipped() % len(waiting)]) if waiting else None
    return told, waiting


@app.cell
def _(get_by, home, set_by, set_done, set_said, told):
    def _check(value):
        if value["verdict"] is None:
            return "Choose right, wrong, or no verdict."
        if not value["by"].strip():
            return "Say who you are: a label without a name is worth little."
        if VERDICTS[value["verdict"]] is None and not value["correction"].strip():
            return "Write what would have been right, or choose right or wrong."
        return None

    def _save(value):
        _uid = told.trace["trace_uid"]
        _by, _correction, _reason = (value[key].strip() for key in ("by", "correction", "reason"))
        _said = Label(_by, value["name"], VERDICTS[value["verdict"]], _correction or None, _reason or None)
        try:
            label(home, SystemClock(), _uid, _said, Deployment.read(home.deployment_file))
        except RsiError as error:
            set_said(f"Not saved: {error}")
            return
        set_by(_by)
        set_said("")
        set_done(lambda done: (*done, _uid))

    form = (
        mo.Html(
            '<div class="form"><p>Was it right?</p>{verdict}<p>What would have been right?</p>{correction}'
            "<p>Why?</p>{reason}<p>Your name</p>{by}<p>What is judged</p>{name}</div>"
        )
        .batch(
            verdict=mo.ui.radio(list(VERDICTS), inline=True),
            correction=mo.ui.text_area(
                placeholder="the answer or action that was called for", rows=3, full_width=True
            ),
            reason=mo.ui.text(placeholder="in one line", full_width=True),
            by=mo.ui.text(value=get_by(), placeholder="ada", full_width=True),
            name=mo.ui.dropdown(NAMES, value="the answer"),
        )
        .form(submit_button_label="Save, next trace", validate=_check, on_change=_save, bordered=False)
        if told
        else None
    )
    return (form,)


@app.cell
def _(set_skipped):
    back = mo.ui.button(label="← Back", on_click=lambda _: set_skipped(lambda at: at - 1))
    skip = mo.ui.button(label="Skip →", on_click=lambda _: set_skipped(lambda at: at + 1))
    return back, skip


@app.cell
def _(get_counted, get_done, home, set_counted, set_said):
    def _count(_):
        try:
            refresh(home, SystemClock())
        except RsiError as error:
            set_said(str(error))
            return
        set_counted(len(get_done()))

    count = mo.ui.button(label="Count them now", on_click=_count, disabled=len(get_done()) == get_counted())
    return (count,)


@app.cell
def _(
    back,
    count,
    form,
    get_counted,
    get_done,
    get_said,
    labelled,
    outcome,
    picked,
    skip,
    told,
    waiting,
):
    _go = pieces.go("failures.py", "failures") if mo.cli_args().get("pages") == "all" else ""
    _done = len(get_done()) - get_counted()
    _aside = f"{labelled + _done:,} labelled, {len(waiting):,} waiting<br>{_go}"
    _none = "Nothing is waiting here. Choose other traces above, or load more with <code>rsi ingest</code>."
    _bar = mo.hstack([outcome, *picked.elements.values()], justify="start", wrap=True, gap=1)
    if told:
        _rest = mo.vstack(
            [
                mo.hstack([back, skip], justify="start"),
                mo.Html(f'<p class="note bad">{pieces.block(get_said())}</p>' if get_said() else ""),
                mo.Html(
                    f'<p class="note">{_done} saved here; the other pages count them after a new snapshot.</p>'
                ),
                count,
            ]
        )
        _side = mo.vstack([form, _rest.style({"padding": "0 32px 24px"})]).style(pieces.PANEL)
        _card = mo.Html(trace_card.card(told, stacked=True))
        _body = mo.hstack([_card, _side], widths=[7, 3], gap=2, align="start")
    else:
        _body = mo.vstack([mo.Html(pieces.empty(_none)), count])
    mo.vstack(
        [mo.Html(pieces.head("Label traces", "Was it right, and what would have been?", _aside)), _bar, _body]
    )
    return


if __name__ == "__main__":
    app.run()
