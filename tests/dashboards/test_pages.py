"""The pages as programs: every number they show is counted again here, in Python, from the rows of the sample."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from html.parser import HTMLParser

import pytest

from dashboards import charts, failures, label, pieces, questions, sheets, trace_card
from dashboards.questions import Choice
from rsi.records import ModeStatus
from rsi.settings import Home
from rsi.statistics.intervals import wilson
from rsi.traces.rows import Trace
from tests.dashboards import sample

TRAFFIC = Choice(origins=("traffic",))
ALLOWED = {
    "article", "header", "div", "span", "p", "h1", "h2", "h3", "b", "i", "s", "em", "br", "code", "small", "details",
    "summary", "table", "thead", "tbody", "tr", "th", "td", "a",
}  # fmt: skip
"""Tags that the pages write themselves."""


@pytest.fixture(scope="module")
def made() -> sample.Sample:
    """What lies in the full home."""
    return sample.sample()


@pytest.fixture(scope="module")
def full(made, tmp_path_factory) -> Home:
    """A home with two weeks of traces."""
    return sample.make_home(Home(tmp_path_factory.mktemp("full")), made)


@pytest.fixture
def page(monkeypatch) -> Callable[..., dict[str, object]]:
    """Runs the page of failures over a home; names given are put in the place of what its cells define."""

    def run(home: Home, **given: object) -> dict[str, object]:
        monkeypatch.setenv("RSI_HOME", str(home.root))
        _, found = failures.app.run(defs=given)
        return dict(found)

    return run


def chosen(
    made: sample.Sample, keep: Callable[[Trace], bool] = lambda trace: True
) -> list[tuple[Trace, str]]:
    """Traffic with its outcomes, as the page begins."""
    return [
        (one, made.outcomes[one.trace_uid][0]) for one in made.traces if one.origin == "traffic" and keep(one)
    ]


def day(trace: Trace) -> date | None:
    """The day of a trace, UTC."""
    return datetime.fromtimestamp(trace.start_ns / 1e9, UTC).date() if trace.start_ns else None


class Shown(HTMLParser):
    """Tags, attributes and text of a piece of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags, self.text, self.links = set[str](), list[str](), list[str]()
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.links += [
            value for name, value in attrs if name in ("href", "src", "srcset") or name.startswith("on")
        ]

    def handle_data(self, data):
        self.text.append(data)


def test_the_headline_counts_what_was_made(page, made, full):
    """Traffic alone at first; each number as counted from the rows."""
    found = page(full)["found"].headline
    traces = chosen(made)
    ids = {one.trace_uid for one, _ in traces}
    calls = [call for call in made.calls if call.trace_uid in ids]

    assert found.traces == len(traces) == 1867
    assert found.judged == sum(outcome != "unknown" for _, outcome in traces)
    assert found.failed == sum(outcome == "fail" for _, outcome in traces)
    assert found.conversations_failed == len(
        {one.conversation for one, outcome in traces if outcome == "fail"}
    )
    assert found.calls == len(calls)
    assert found.calls_failed == sum(call.status == "error" for call in calls)


def test_days_versions_rules_and_tools_add_up(page, made, full):
    """The frames under charts and tables equal counts over the rows."""
    found = page(full)["found"]
    traces = chosen(made)
    ids = {one.trace_uid: outcome for one, outcome in traces}

    assert found.unit == "day"
    by_day = Counter((day(one), outcome) for one, outcome in traces)
    for row in found.over_time.itertuples():
        seen = [by_day[row.moment.date(), outcome] for outcome in ("fail", "pass", "unknown")]
        assert [row.failed, row.passed, row.unknown] == seen
    assert found.over_time[["failed", "passed", "unknown"]].sum().sum() == len(traces) - sum(
        one.start_ns is None for one, _ in traces
    )
    by_version = Counter(one.version or "" for one, outcome in traces if outcome == "fail")
    assert dict(zip(found.by_version["version"], found.by_version["failed"], strict=True)) == by_version
    by_rule = Counter(made.outcomes[one.trace_uid][1] for one, outcome in traces if outcome == "fail")
    assert dict(zip(found.by_rule["rule"], found.by_rule["failed"], strict=True)) == by_rule
    for row in found.by_tool.itertuples():
        calls = [call for call in made.calls if call.name == row.tool and call.trace_uid in ids]
        failed = {call.trace_uid for call in calls if ids[call.trace_uid] == "fail"}
        assert [row.calls, row.errors, row.failed] == [
            len(calls),
            sum(call.status == "error" for call in calls),
            len(failed),
        ]
    assert len(found.by_tool) == len(sample.TOOLS) + 1


def test_shares_come_with_their_wilson_interval(page, full):
    """Every share: failed of judged, and the interval that the rest of rsi would give it."""
    for row in page(full)["found"].by_version.itertuples():
        assert row.rate == pytest.approx(row.failed / row.judged)
        assert (row.low, row.high) == pytest.approx(tuple(wilson(row.failed, row.judged)))


def test_filters_narrow_every_number(page, made, full):
    """Version, agent, called tool and days together."""
    first, last = date(2026, 3, 6), date(2026, 3, 11)
    choice = Choice(
        versions=(sample.VERSIONS[1],),
        agents=("booking", "refunds"),
        tools=("book_reservation", "send_certificate"),
        since=first,
        until=last,
    )
    callers = {call.trace_uid for call in made.calls if call.name in choice.tools}
    traces = [
        (one, made.outcomes[one.trace_uid][0])
        for one in made.traces
        if one.version == choice.versions[0]
        and one.agent in choice.agents
        and one.trace_uid in callers
        and one.start_ns
        and first <= day(one) <= last
    ]

    found = page(full, choice=choice)

    assert found["found"].headline.traces == len(traces) > 50
    failed = {one.trace_uid for one, outcome in traces if outcome == "fail"}
    assert set(found["failing"]["trace_uid"]) == failed
    assert set(found["found"].by_version["version"]) == set(choice.versions)


def test_what_is_not_known_can_be_chosen(page, made, full):
    """ "" stands for traces without a version."""
    unknown = [one for one in made.traces if one.version is None]

    assert page(full, choice=Choice(versions=("",)))["found"].headline.traces == len(unknown) == 50


def test_traces_without_a_time_count_while_all_days_are_chosen(page, full):
    """A period leaves them out: nobody knows whether they fall into it."""
    whole = page(full, choice=Choice(since=date(2026, 3, 2), until=date(2026, 3, 15)))["found"].headline

    assert page(full, choice=Choice())["found"].headline.traces == 2000
    assert whole.traces == 1990


def test_failing_traces_come_newest_first_and_open_the_newest(page, made, full):
    """The list, its first row, and that row's trace."""
    found = page(full)
    failing, told = found["failing"], found["told"]
    failed = [one for one, outcome in chosen(made) if outcome == "fail"]
    newest = max(failed, key=lambda one: one.start_ns or 0)

    assert list(failing["when"].dropna()) == sorted(failing["when"].dropna(), reverse=True)
    assert len(failing) == len(failed)
    assert told.trace["trace_uid"] == newest.trace_uid
    texts = [one.content for one in made.messages if one.trace_uid == newest.trace_uid]
    assert [turn["content"] for turn in told.conversation] == texts
    assert len(told.calls) == sum(call.trace_uid == newest.trace_uid for call in made.calls)
    assert len(told.tree) == sum(span.trace_uid == newest.trace_uid for span in made.spans)


def test_a_mode_narrows_the_list_to_its_traces(made, full):
    """All that show it, not only the examples that the night kept."""
    mode = made.modes[-1]

    found = questions.failing(full, Choice(), str(mode["mode_id"]))

    shown = {one["trace_uid"] for one in made.mode_traces if one["mode_id"] == mode["mode_id"]}
    assert set(found["trace_uid"]) == shown
    assert len(shown) > len(mode["examples"])


def test_modes_are_those_of_the_last_night(page, made, full):
    """Ranked, with the status that the night gave."""
    found = page(full)["found"].modes
    last = [mode for mode in made.modes if mode["night"] == sample.NIGHTS[1]]

    assert list(found["title"]) == [mode["title"] for mode in last]
    assert set(found["status"]) == {status.value for status in ModeStatus}
    assert "regressed" in sheets.modes(page(full)["found"])


def test_ingest_health_adds_up(page, made, full):
    """Totals by file, refusals by reason, calls recorded twice."""
    found = page(full)["health"]

    for name in ("read", "loaded", "duplicates", "quarantined", "heldout"):
        assert found.totals[name] == sum(getattr(file, name) for file in made.files)
    assert found.totals["waiting"] == len(made.refusals)
    reasons = Counter(reason for reason, _ in made.refusals)
    assert dict(zip(found.reasons["reason"], found.reasons["refusals"], strict=True)) == reasons
    assert found.duplicates["spans"].sum() == made.told_again
    assert len(found.files) == sample.DAYS
    assert "Every record is accounted for" in sheets.intake(found)


def test_records_that_do_not_add_up_are_said(full):
    """A total that is not the sum of its parts is an alarm, not a footnote."""
    found = questions.health(full)
    totals = {**found.totals, "read": found.totals["read"] + 1}

    assert "look at the files below" in sheets.intake(
        questions.Health(totals, found.last_ingest, found.reasons, found.files, found.duplicates)
    )


def test_an_empty_store_says_what_to_do(page, tmp_path):
    """No trace, no file: sentences in the place of tables, and no number made up."""
    home = sample.make_home(Home(tmp_path / "empty"), sample.sample(0))

    found = page(home)

    assert found["found"].headline.traces == 0
    assert found["days"] is None
    assert "no trace was judged" in sheets.headline(found["found"], found["health"])
    assert "rsi discover" in sheets.modes(found["found"])
    assert "rsi ingest" in pieces.no_traces()


def test_without_a_snapshot_the_page_names_the_command(monkeypatch, tmp_path):
    """Instead of an error of DuckDB."""
    monkeypatch.setenv("RSI_HOME", str(tmp_path / "nowhere"))
    outputs, found = failures.app.run()

    assert "found" not in found
    assert any("rsi ingest" in str(getattr(one, "text", "")) for one in outputs)


def test_one_trace_is_enough(page, tmp_path):
    """Every chart and table of a single trace, with an interval as wide as it is."""
    home = sample.make_home(Home(tmp_path / "one"), sample.sample(1))

    found = page(home)

    assert found["found"].headline.traces == 1
    assert found["found"].unit == "minute"
    assert len(found["found"].over_time) == 1
    assert found["found"].by_rule["high"].iloc[0] > 0.7


def test_days_without_traces_are_gaps_not_lines(page, tmp_path):
    """Every day from first to last has its row; where nothing was judged there is no rate to draw."""
    home = sample.make_home(Home(tmp_path / "three"), sample.sample(3))
    found = page(home)["found"]

    assert found.unit == "day"
    assert len(found.over_time) == sample.DAYS
    assert found.over_time[["failed", "passed", "unknown"]].sum().sum() == 3
    drawn = charts.rate_over_time(found.over_time, found.unit, found.by_version).to_dict()
    rates = [row["rate"] for rows in drawn["datasets"].values() for row in rows if row.get("judged") == 0]
    assert len(rates) >= sample.DAYS - 3
    assert set(rates) == {None}


def test_hostile_text_stays_text(made, full):
    """In the card of a trace, in tables and lists: no tag, address or handler of theirs, and nothing lost."""
    hostile = [one for one in made.traces if one.input_text in sample.HOSTILE]
    assert len({one.input_text for one in hostile}) == len(sample.HOSTILE)
    for one in hostile:
        shown = Shown(trace_card.card(questions.trace(full, one.trace_uid)))
        assert shown.tags <= ALLOWED
        assert shown.links == []
        assert one.input_text.replace("\u202e", "") in "".join(shown.text)
    found = questions.answers(full, Choice())
    shown = Shown(sheets.breakdown(found) + sheets.intake(questions.health(full)))
    assert shown.tags <= ALLOWED
    assert shown.links == []
    assert sample.HOSTILE_TOOL in "".join(shown.text)


def test_lists_hold_no_address_that_a_browser_would_fetch(full):
    """marimo's tables make pictures of addresses: none is left in them."""
    lists = [pieces.listed(questions.failing(full, Choice())), pieces.files(questions.health(full).files)]
    texts = " ".join(str(value) for one in lists for value in one.to_numpy().ravel())

    assert "tracker.invalid" in texts
    assert "://" not in texts
    assert "data:image/" not in texts


def test_names_to_choose_from_are_told_apart():
    """Two long names with one beginning, and a version by its first digits."""
    long = "x" * 60
    found = pieces.choices({long + "1": 3, long + "2": 3, sample.VERSIONS[0]: 2, "": 1})

    assert list(found.values()) == [long + "1", long + "2", sample.VERSIONS[0], ""]
    assert f"{sample.VERSIONS[0][:12]} · 2" in found
    assert "unknown · 1" in found


@pytest.mark.parametrize(
    ("period", "unit"),
    [
        (timedelta(minutes=40), "minute"),
        (timedelta(hours=30), "hour"),
        (timedelta(days=90), "day"),
        (timedelta(days=400), "week"),
        (timedelta(days=3000), "month"),
        (timedelta(days=20000), "year"),
    ],
)
def test_time_is_cut_into_something_to_look_at(period, unit):
    """A demo of minutes and a year of traffic both make a chart."""
    first = datetime(2026, 1, 1)

    assert questions.unit_of(first, first + period) == unit


def test_the_queue_holds_what_nobody_judged(made, full, monkeypatch):
    """Newest first, labelled ones left out; the page opens the first."""
    waiting, labelled = questions.queue(full, TRAFFIC, "unknown")
    monkeypatch.setenv("RSI_HOME", str(full.root))

    _, found = label.app.run()

    assert set(waiting) == {one.trace_uid for one, outcome in chosen(made) if outcome == "unknown"}
    assert labelled == 0
    assert found["told"].trace["trace_uid"] == waiting[0]


def test_a_trace_is_found_by_its_first_digits(made, full):
    """Several or none are no trace."""
    uid = made.traces[0].trace_uid

    assert questions.trace(full, uid[:20]).trace["trace_uid"] == uid
    assert questions.trace(full, "") is None
    assert questions.trace(full, "zz") is None
