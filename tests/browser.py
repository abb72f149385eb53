"""A headless Chromium on one page: what it asked for from elsewhere, and what went wrong on it."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright import sync_api as playwright

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium on this machine: apt-get install chromium"
)

FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync")  # fmt: skip
PATIENCE_MS = 60_000
HERE = re.compile(r"(https?|wss?)://(127\.0\.0\.1|localhost)(:\d+)?(/|$)|(data|blob|about):")


class Visit:
    """A page, what it asked for from elsewhere, and what went wrong on it."""

    def __init__(self, browser) -> None:
        self.page = browser.new_page(viewport={"width": 1440, "height": 1000})
        self.page.set_default_timeout(PATIENCE_MS)
        self.elsewhere, self.errors = list[str](), list[str]()
        self.page.on("request", lambda one: HERE.match(one.url) or self.elsewhere.append(one.url))
        self.page.on("websocket", lambda one: HERE.match(one.url) or self.elsewhere.append(one.url))
        self.page.on("pageerror", lambda one: self.errors.append(str(one)))
        self.page.on("console", lambda one: one.type == "error" and self.errors.append(one.text))

    def check(self) -> None:
        """Nothing left this machine and nothing broke."""
        self.page.wait_for_timeout(500)
        assert self.elsewhere == []
        assert self.errors == []


@contextmanager
def visiting() -> Iterator[Visit]:
    """A visit in a browser of its own."""
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield Visit(browser)
        browser.close()
