"""The form as a person meets it: Prefect's own pages in a headless Chromium, while server and runner are killed.

Flow, server, runner and browser are real; the candidate is scripted (`flow_made`). Pictures go to RSI_SHOTS.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser import PATIENCE_MS, Visit, needs_chromium
from tests.flows.flow_made import APPROVER
from tests.flows.place import READY_S, Place, placed

pytestmark = [pytest.mark.flow, needs_chromium]

HOSTILE = "<img src=http://tracker.invalid/x> [a](http://tracker.invalid)"


@pytest.fixture
def place(tiny_base: Path, tmp_path: Path) -> Iterator[Place]:
    """Its programs end with the test."""
    with placed(tmp_path, tiny_base) as found:
        yield found


def opened(page: Page, place: Place, run: str) -> Locator:
    """The form on the page of a run."""
    page.goto(f"{place.server.ui_url}/runs/flow-run/{run}")
    page.get_by_role("button", name="Resume", exact=True).click()
    form = page.get_by_role("dialog")
    form.get_by_role("group").nth(4).wait_for()
    return form


def fill(page: Page, form: Locator, decision: str, *said: str) -> None:
    """Choose, and type name, reason and evidence, as a person does."""
    fields = form.get_by_role("group")
    fields.nth(0).locator("svg").click()
    page.get_by_role("listbox").get_by_text(decision, exact=True).click()
    for at, text in enumerate(said, 1):
        fields.nth(at).get_by_role("textbox").fill(text)


def send(form: Locator) -> None:
    """Press Submit, again where the server was too busy to take it, as a person does."""
    for _ in range(4):
        form.get_by_role("button", name="Submit").click()
        with suppress(AssertionError):
            expect(form).to_be_hidden(timeout=PATIENCE_MS)
            return
    expect(form).to_be_hidden()


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_13_14_an_approval_in_the_browser_survives_the_death_of_server_and_runner(
    place: Place, visit: Visit, shots: Path
) -> None:
    """Both killed while the run waits, and again after the answer and before it is acted on: promoted once."""
    runner, page = place.serve(), visit.page
    run = place.ask()
    place.kill(runner)
    place.kill_server()
    runner = place.serve()

    form = opened(page, place, run)
    page.screenshot(path=shots / "approval-form.png")
    report = form.get_by_role("link", name="Full report").get_attribute("href")
    fill(page, form, "approve", APPROVER, "the numbers are good", place.verdict.digest[:8])
    page.screenshot(path=shots / "approval-filled.png")
    place.kill(runner)
    send(form)
    place.until(run, "Resuming")
    place.kill_server()
    assert place.champion == place.verdict.champion
    place.serve()
    place.until(run, "Promoted")

    page.goto(f"{place.server.ui_url}/runs/flow-run/{run}")
    page.get_by_text("Promoted").first.wait_for()
    page.get_by_text("Artifacts", exact=True).click()
    page.get_by_text("question", exact=True).wait_for()
    page.screenshot(path=shots / "approval-promoted.png")
    page.get_by_text("question", exact=True).click()
    page.get_by_text("Worse than before").wait_for()
    page.screenshot(path=shots / "approval-question.png")
    page.goto(str(report))
    page.get_by_role("heading", name="Clauses of the contract").wait_for()
    page.screenshot(path=shots / "approval-report.png", full_page=True)
    assert place.champion == place.verdict.candidate
    assert [place.records().count(kind) for kind in ("approval", "promotion", "refusal")] == [1, 1, 0]
    assert place.verify()
    assert visit.elsewhere == []


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_rejection_in_the_browser_leaves_the_champion(place: Place, visit: Visit, shots: Path) -> None:
    """Refused first, for its hostile name, which the next form shows as it is; the no of the right one ends the run."""
    place.serve()
    page, run = visit.page, place.ask()
    form = opened(page, place, run)
    fill(page, form, "reject", HOSTILE, "too slow", place.verdict.digest[:8])
    send(form)
    place.watch.until(lambda: "refusal" in place.records() or None, READY_S)
    place.until(run, "Suspended")

    form = opened(page, place, run)
    form.get_by_text(f"The last answer was not taken: '{HOSTILE}' may not answer here").wait_for()
    assert form.locator("article").first.locator("img, a:not([href^='http://127.0.0.1'])").count() == 0
    page.screenshot(path=shots / "rejection-again.png")
    fill(page, form, "reject", APPROVER, "too slow", place.verdict.digest[:8])
    send(form)
    ended = place.until(run, "Rejected")

    assert "too slow" in str(ended.state.message)
    page.get_by_text("Rejected").first.wait_for()
    page.screenshot(path=shots / "rejection-ended.png")
    assert place.champion == place.verdict.champion
    assert [place.records().count(kind) for kind in ("approval", "promotion", "refusal")] == [1, 0, 1]
    assert place.verify()
    assert visit.elsewhere == []


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_an_approval_in_prefects_newer_pages(place: Place, visit: Visit, shots: Path) -> None:
    """Those that its address opens by itself, where Resume stands in a menu; they ask only Prefect's own statistics."""
    place.serve()
    page, run = visit.page, place.ask()
    page.goto(place.server.ui_url)
    page.wait_for_url("**/v2/**")
    page.goto(f"{place.server.ui_url}/v2/runs/flow-run/{run}")
    page.get_by_role("button", name="Open menu").click()
    page.get_by_role("menuitem", name="Resume").click()
    form = page.get_by_role("dialog")
    form.get_by_role("link", name="Full report").wait_for()
    page.screenshot(path=shots / "approval-newer-form.png")
    form.get_by_role("button", name="Select Decision").click()
    page.get_by_role("option", name="approve").click()
    for label, text in (
        ("Your name", APPROVER),
        ("Reason", "the numbers are good"),
        ("Evidence", place.verdict.digest[:8]),
    ):
        form.get_by_label(label).fill(text)
    page.screenshot(path=shots / "approval-newer-filled.png")
    form.get_by_role("button", name="Resume").click()
    place.until(run, "Promoted")

    assert place.champion == place.verdict.candidate
    assert [place.records().count(kind) for kind in ("approval", "promotion", "refusal")] == [1, 1, 0]
    assert place.verify()
    assert {urlsplit(one).hostname for one in visit.elsewhere} <= {"sr-client-cfg.amplitude.com"}
