"""The pages on nights and versions as programs: what they show is counted again here from the plan of the nights."""

import pytest

from dashboards import lineage, loop_questions, night_sheets, nights, version_sheets
from rsi.ids import digest
from rsi.settings import Home
from rsi.statistics.intervals import paired_difference, wilson
from rsi.store.snapshot import refresh
from tests.dashboards import sample
from tests.dashboards.nights_sample import HOSTILE, ITEMS, PLAN, Made, make_home
from tests.dashboards.test_pages import ALLOWED, Shown
from tests.made import FixedClock


@pytest.fixture(scope="module")
def full(tmp_path_factory) -> tuple[Home, Made]:
    """A home with the nights of the plan."""
    home = Home(tmp_path_factory.mktemp("nights"))
    return home, make_home(home, sample.sample(40))


def page(app, home: Home) -> dict[str, object]:
    """What the cells of a page define over a home."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RSI_HOME", str(home.root))
        _, found = app.run()
    return dict(found)


@pytest.fixture(scope="module")
def shown(full) -> dict[str, object]:
    """The page of nights."""
    return page(nights.app, full[0])


@pytest.fixture(scope="module")
def grown(full) -> dict[str, object]:
    """The page of versions."""
    return page(lineage.app, full[0])


def fates(*wanted: str) -> list[str]:
    """Nights of the plan with one of these fates, newest first."""
    return [one.night for one in reversed(PLAN) if one.fate in wanted]


def test_a_row_a_night_newest_first(shown, full):
    """Role, bank, steps, judgement and decision as planned."""
    home, made = full
    rows = shown["found"].nights.set_index("night")

    assert list(rows.index) == [one.night for one in reversed(PLAN)]
    for plan in PLAN:
        row = rows.loc[plan.night]
        tested = plan.fate not in ("quiet", "running")
        assert (
            (row["steps"] == 160 and row["role"] == plan.role) is tested
            if tested
            else row["verdict"] is not str
        )
        assert row["modes"] == 7
        if tested:
            assert row["judgement"] == made.verdicts[plan.night].judgement.value
            assert (row["judgement"] == "pass") is (plan.fate != "refused")
            assert row["bank"] == page_bank(home, plan.night)
    assert list(rows[rows["decision"] == "approve"].index) == fates("promoted")
    assert list(rows[rows["decision"] == "reject"].index) == fates("rejected")
    assert list(rows[rows["asked_at"].notna() & rows["decision"].isna()].index) == fates("waiting")
    assert list(rows[rows["ended_at"].isna()].index) == fates("running")


def page_bank(home: Home, night: str) -> str:
    """The bank whose manifest names the night."""
    found = [path.parent.name for path in home.banks.glob("*/manifest.json") if night in path.read_text()]
    assert len(found) == 1
    return found[0]


def test_gains_come_with_the_interval_of_the_pairs(shown, full):
    """Tango's interval of wins and losses, as the gate has it."""
    rows = shown["found"].nights
    tested = rows[rows["gain"].notna()]

    assert len(tested) == sum(one.fate not in ("quiet", "running") for one in PLAN)
    for row in tested.itertuples():
        interval = paired_difference(int(row.won), int(row.lost), int(row.items))
        assert row.gain == pytest.approx((row.won - row.lost) / row.items, abs=1e-6)
        assert (row.gain_low, row.gain_high) == pytest.approx(tuple(interval), abs=1e-6)


def test_the_curve_has_every_version_that_served_on_each_suite(shown, full):
    """In the order of service, without those that never served; shares with their Wilson interval."""
    _, made = full
    curve = shown["found"].quality

    order = list(dict.fromkeys(made.served))
    for suite, items in ITEMS.items():
        rows = curve[curve["suite"] == suite]
        assert list(rows["version"]) == order
        assert list(rows["place"]) == list(range(len(order)))
        assert set(rows["items"]) == {items}
        for row in rows.itertuples():
            assert (row.low, row.high) == pytest.approx(tuple(wilson(row.correct, row.items)))
            assert row.rate == pytest.approx(made.quality[row.version][list(ITEMS).index(suite)], abs=0.07)
    assert loop_questions.suites_of(curve) == ["routing/v1", "easy/v1"]


def test_the_tiles_say_whether_the_nights_add_up(shown, full):
    """Promotions, refusals, what waits, and the gain from the first version to the one in service."""
    _, made = full
    found = shown["found"]
    routing = found.quality[found.quality["suite"] == "routing/v1"].set_index("version")["rate"]
    gained = routing[made.champion] - routing[made.served[0]]

    said = "".join(Shown(night_sheets.nights_tiles(found)).text)

    assert f"Into service{len(fates('promoted'))}1 rollback" in said
    assert f"Kept out by the gate{len(fates('refused'))}" in said
    assert f"Wait for an answer{len(fates('waiting'))}" in said
    assert f"+{100 * gained:.1f}" in said


def test_the_page_opens_the_newest_judged_night_and_its_report(shown, full):
    """Clauses, modes, and the page that the verdict brought; an address names another."""
    home, made = full
    told = shown["told"]
    newest = fates("waiting")[0]

    assert told.row["night"] == newest
    assert list(told.clauses["clause"]) == [one.name for one in made.verdicts[newest].clauses]
    assert len(told.modes) == 7
    assert told.report == (home.verdicts / made.verdicts[newest].digest / "report.html").read_text()
    frame = Shown(night_sheets.report_frame(told.report))
    assert frame.tags == {"iframe"}
    found = loop_questions.loop(home).nights
    assert loop_questions.picked(found, "night", "2026-03-04", found.iloc[:0])["night"] == "2026-03-04"
    assert loop_questions.picked(found, "night", "", found.iloc[3:4])["night"] == found["night"][3]


def test_versions_say_what_became_of_them(grown, full):
    """State, what changed, and the line from the first version."""
    _, made = full
    found = grown["found"]
    state = dict(zip(found.versions["version"], found.versions["state"], strict=True))

    for plan in PLAN:
        if plan.night in made.candidates:
            version = made.candidates[plan.night]
            known = {"promoted": "was in service", "waiting": "passed"}.get(plan.fate, plan.fate)
            assert state[version] == ("in service" if version == made.champion else known)
    serving = found.versions[found.versions["state"] == "in service"].iloc[0]
    assert list(serving["line"]) == [made.served[0], made.served[1], made.served[2], made.champion]
    assert found.service["kind"].value_counts().to_dict() == {
        "promotion": len(fates("promoted")),
        "rollback": 1,
        "genesis": 1,
    }


def test_the_page_opens_the_version_in_service_with_its_traces(grown, full):
    """What it was made from, and how often it failed in use."""
    _, made = full
    found = grown
    told = found["told"]

    assert told.row["version"] == made.champion
    assert (told.row["role"], told.row["steps"]) == ("L0", 160)
    assert told.row["traces"] > 50
    said = "".join(Shown(version_sheets.lineage_tiles(found["found"])).text)
    assert f"of {told.row['traces']} traces" in said
    assert "Steps from the first3" in said


def test_what_nights_say_stays_text(full):
    """A reason that holds markup, in the list and in the card of its night."""
    home, _ = full
    found = loop_questions.loop(home)
    row = found.nights[found.nights["night"] == "2026-03-03"].iloc[0].to_dict()
    shown = Shown(night_sheets.night_card(loop_questions.night(home, row), linked=False))

    assert shown.tags <= ALLOWED | {"article"}
    assert shown.links == []
    assert HOSTILE in "".join(shown.text)
    listed = night_sheets.nights_list(found.nights)
    assert "://" not in " ".join(str(one) for one in listed.to_numpy().ravel())


def test_a_home_without_nights_says_what_to_do(tmp_path):
    """No chart of nothing, no number made up."""
    home = Home(tmp_path / "empty")
    refresh(home, FixedClock())

    found = page(nights.app, home)["found"]

    assert (len(found.nights), len(found.quality), len(found.service)) == (0, 0, 0)
    assert "rsi nightly --dry-run" in night_sheets.no_nights()
    assert page(lineage.app, home)["told"] is None


def test_a_report_is_read_by_a_digest_only(full):
    """A name with a path in it is none."""
    home, _ = full

    assert loop_questions.report(home, digest("nobody")) is None
    assert loop_questions.report(home, "../verdicts") is None
