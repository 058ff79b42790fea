"""Judgements on what a page shows: its contrast, and what axe finds."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

import pytest
from playwright.sync_api import Locator, Page

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


def missing(name: str, command: str) -> NoReturn:
    """Skip the test because a tool is missing; in CI its absence is a failure."""
    stop = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
    stop(f"{name} is missing: {command}")


def lowest_contrast(locator: Locator) -> float:
    return locator.evaluate(LOWEST_CONTRAST)


def violations(page: Page, where: str, rules: list[str] | None = None) -> list[str]:
    """Return what axe finds in some elements that is serious or critical.

    Args:
        page: an open page.
        where: a CSS selector.
        rules: the tags of the rules to apply; all rules if None.
    """
    package = find_spec("axe_playwright_python")
    if package is None:
        missing("axe-core", "pip install axe-playwright-python")
    axe = Path(package.submodule_search_locations[0]) / "axe.min.js"
    page.evaluate(axe.read_text(encoding="utf-8"))
    # With `preload` it would fetch files.
    run = """([where, rules]) => axe.run([...document.querySelectorAll(where)],
        {preload: false, ...(rules && {runOnly: rules})})"""
    return [
        f"{found['id']}: {found['help']}: {found['nodes'][0]['html'][:200]}"
        for found in page.evaluate(run, [where, rules])["violations"]
        if found["impact"] in ("serious", "critical")
    ]
