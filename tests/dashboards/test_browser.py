"""The pages as a person meets them: `rsi dashboards` driven by a headless Chromium.

Any request that leaves this machine fails the test, and so does an error on the page.
"""

import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator

import pytest
from playwright import sync_api as playwright

from rsi.settings import PROJECT, Home
from rsi.store.database import store_batch
from tests.browser import needs_chromium
from tests.dashboards import nights_sample, sample
from tests.traces.inputs import CLOCK

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Home:
    home = Home(tmp_path_factory.mktemp("served"))
    nights_sample.make_home(home, sample.sample(400, hostile=7))
    return home


@pytest.fixture(scope="module")
def addresses(home) -> Iterator[dict[str, str]]:
    """Where `rsi dashboards` says its pages are."""
    process = subprocess.Popen(
        [sys.executable, "-m", "rsi.cli", "dashboards", "--no-open"],
        env={**os.environ, "RSI_HOME": str(home.root)}, cwd=PROJECT, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield dict(process.stdout.readline().strip().split(": ", 1) for _ in range(4))
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def test_failures_from_the_numbers_down_to_one_trace(addresses, visit, shots):
    """Heading, charts, list, another trace by a click, hostile text in a list, and the health of the input."""
    page = visit.page
    page.goto(addresses["failures"])
    page.get_by_role("heading", name="Failures", exact=True).wait_for()
    playwright.expect(page.locator(".vega-embed canvas.marks")).to_have_count(2)
    page.get_by_role("heading", name="Failure modes").wait_for()

    panel = page.get_by_role("tabpanel", name="Failures")
    opened = panel.locator("article.trace .top code")
    first = opened.text_content()
    assert panel.get_by_role("row").count() > 8
    panel.get_by_role("checkbox").nth(2).click()
    playwright.expect(opened).not_to_have_text(first)
    page.screenshot(path=shots / "failures.png")

    page.get_by_role("tab", name="Ingest health").click()
    page.get_by_role("tabpanel").get_by_text("Every record is accounted for").wait_for()
    page.get_by_role("tabpanel").locator("td", has_text="tracker.invalid").first.wait_for()
    page.screenshot(path=shots / "health.png")
    visit.check()


def test_nothing_that_a_trace_says_is_fetched_run_or_rendered(addresses, visit):
    """Addresses of pictures, tags and scripts, in the list, in the card of a trace and in the filters."""
    page = visit.page
    page.goto(addresses["failures"])
    panel = page.get_by_role("tabpanel", name="Failures")
    panel.get_by_placeholder("Search").fill("tracker.invalid")
    panel.locator("td", has_text="tracker.invalid/beacon.png").first.wait_for()
    panel.locator("tr", has_text="tracker.invalid").get_by_role("checkbox").first.click()
    panel.locator("article.trace .turn.user", has_text="tracker.invalid").wait_for()
    panel.get_by_text("Select...").nth(1).click()
    page.get_by_role("option", name="tracker.invalid").first.wait_for()

    assert page.title() == "Failures"
    assert page.locator("img, iframe, marimo-callout-output").count() == 0
    visit.check()


def test_a_label_is_saved_and_the_next_trace_comes(addresses, visit, shots, home):
    """Refused without a verdict; then a score of source human with the correction, in the store."""
    page = visit.page
    page.goto(addresses["label"])
    opened = page.locator("article.trace .top code")
    first = opened.text_content()
    labelled = int(re.search(r"([\d,]+) labelled", page.get_by_text("labelled,").text_content())[1].replace(",", ""))
    save = page.get_by_role("button", name="Save, next trace")
    save.click()
    page.get_by_text("Choose right, wrong, or no verdict.").wait_for()

    page.get_by_text("wrong", exact=True).click()
    page.get_by_placeholder("the answer or action").fill("Rebook without a fee.")
    page.get_by_placeholder("ada").fill("Grace")
    page.screenshot(path=shots / "label.png")
    save.click()
    playwright.expect(opened).not_to_have_text(first)
    page.get_by_text("1 saved here").wait_for()
    page.get_by_role("button", name="Count them now").click()
    page.get_by_text("0 saved here").wait_for()
    page.get_by_text(f"{labelled + 1:,} labelled").wait_for()

    with store_batch(home, CLOCK, "test") as connection:
        found = connection.execute(
            "select trace_uid, value, correction, annotator from scores where annotator = 'Grace'"
        ).fetchall()
    assert found == [(first, 0.0, "Rebook without a fee.", "Grace")]
    visit.check()


def test_a_failing_trace_is_one_click_from_its_label(addresses, visit):
    """The page of labels begins with the trace that was open."""
    page = visit.page
    page.goto(addresses["failures"])
    panel = page.get_by_role("tabpanel", name="Failures")
    first = panel.locator("article.trace .top code").text_content()
    panel.get_by_role("link", name="label it").click()
    page.get_by_role("button", name="Save, next trace").wait_for()

    playwright.expect(page.locator("article.trace .top code")).to_have_text(first)
    visit.check()


def test_a_night_is_one_click_from_its_report_and_its_version(addresses, visit, shots):
    """Charts, a row, its clauses, the gate's report in a frame that may do nothing, and the version that it made."""
    page = visit.page
    page.goto(addresses["nights"])
    page.get_by_role("heading", name="Do the nights add up?").wait_for()
    playwright.expect(page.locator(".vega-embed canvas.marks")).to_have_count(2)
    page.locator("tr", has_text="tracker.invalid").get_by_role("checkbox").click()
    page.locator("article.trace", has_text="Night 2026-03-03").wait_for()
    page.get_by_text("Guard easy: not worse").first.wait_for()
    page.screenshot(path=shots / "nights.png", full_page=True)

    page.get_by_text("The gate's report of this night").click()
    frame = page.locator("iframe.report:visible")
    frame.content_frame.get_by_role("heading", name="Clauses of the contract").wait_for()
    assert frame.get_attribute("sandbox") == ""
    assert page.locator("img").count() == 0

    page.get_by_role("link", name="its version").click()
    page.get_by_role("heading", name="Versions", exact=True).first.wait_for()
    page.locator("article.trace .badge", has_text="refused").wait_for()
    playwright.expect(page.locator(".vega-embed canvas.marks")).to_have_count(1)
    page.screenshot(path=shots / "lineage.png", full_page=True)
    visit.check()


def test_nobody_gets_in_without_the_token(addresses):
    """Other people and other pages on this machine see the login."""
    plain = addresses["failures"].partition("?")[0]

    with urllib.request.urlopen(plain, timeout=30) as answer:
        assert "/auth/login" in answer.url


def test_a_missing_extra_is_one_clear_line(home):
    """The command says what to install."""
    code = (
        "import sys; sys.modules['marimo'] = None; sys.argv = ['rsi', 'dashboards', '--no-open']\n"
        "from rsi.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "RSI_HOME": str(home.root)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip

    assert done.returncode == 2
    assert "pip install 'rsi[dashboards]'" in done.stderr
    assert "Traceback" not in done.stderr
