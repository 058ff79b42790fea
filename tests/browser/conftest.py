"""Chromium for the tests in this folder. Nothing outside this machine can be reached from it."""

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.looks import missing

PROGRAMS = ("/usr/bin/chromium", "chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # nothing from outside
)


# One per module: while Playwright runs, no other test can start an event loop.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    found = next((path for path in map(shutil.which, PROGRAMS) if path), None)
    path = found or missing(
        "Chromium", "install it (Debian and Ubuntu: apt-get install chromium)"
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=FLAGS, timeout=30_000
        )
        yield browser
        browser.close()
