"""Chromium for the tests in this folder. Nothing outside this machine can be reached from it."""

import os
import shutil
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Locator, sync_playwright

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

# The lowest contrast (WCAG 2) of any text in an element against what is painted behind it.
LOWEST_CONTRAST = """element => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const behind = node => {
    const layers = [];
    for (; node; node = node.parentElement) layers.unshift(getComputedStyle(node).backgroundColor);
    return ["white", ...layers];
  };
  const painted = colors => {
    for (const color of colors) { canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const luminance = rgb => rgb
    .map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  let lowest = 21;
  while (texts.nextNode()) {
    const node = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !node.checkVisibility()) continue;
    const back = behind(node);
    const pair = [luminance(painted([...back, getComputedStyle(node).color])), luminance(painted(back))];
    lowest = Math.min(lowest, (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05));
  }
  return lowest;
}"""


def find_chromium() -> str:
    """Return the path of Chromium, or skip; in CI its absence is a failure."""
    found = next((path for path in map(shutil.which, PROGRAMS) if path), None)
    if found is None:
        reason = (
            "Chromium is missing: install it (Debian and Ubuntu: apt-get install chromium)"
        )
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return found


# One per module: while Playwright runs, no other test can start an event loop.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    path = find_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=FLAGS, timeout=30_000
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def lowest_contrast() -> Callable[[Locator], float]:
    return lambda locator: locator.evaluate(LOWEST_CONTRAST)
