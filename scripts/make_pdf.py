"""Print the site's lessons and exercises into one PDF: python -m scripts.make_pdf SITE FILE

SITE is what `make site` has built. The pages are printed by Chromium, as a reader would, and get bookmarks.
"""

import argparse
import io
import shutil
import sys
from pathlib import Path

from playwright.sync_api import Error, sync_playwright
from pypdf import PdfReader, PdfWriter

from attn_lib.files import write_whole

TITLE = "Attention from Scratch"
PARTS = "notebooks/[0-9]*.html", "exercises/*/[0-9]*.html", "site/glossary.html", "site/cheat_sheet.html"  # fmt: skip
SIDE = "13mm"  # of the margin
# Links to other pages of the site go: they would name the folder in which it was built.
WITHOUT_LINKS = """document.querySelectorAll('a[href]').forEach(a => {
    if (a.protocol === 'file:' && a.pathname !== location.pathname) a.removeAttribute('href')
})"""


class NoBrowser(Exception):
    """There is no Chromium that could print."""


def write_pdf(site: Path, path: Path) -> int:
    """Print the pages of a built site into a file; return how many sheets they have.

    The same site gives the same bytes.

    Raises:
        ValueError: it has no lessons.
        NoBrowser: Chromium is not installed.
    """
    pages = [page for part in PARTS for page in sorted(site.glob(part))]
    if not pages:
        raise ValueError(f"expected a built site with lessons in it, got {site}")
    writer = PdfWriter()
    with sync_playwright() as playwright:
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        try:
            browser = playwright.chromium.launch(
                executable_path=chromium, args=["--no-sandbox"]
            )
        except Error as error:
            raise NoBrowser(str(error).splitlines()[0]) from error
        tab = browser.new_page(color_scheme="light")
        tab.emulate_media(media="print")
        for page in pages:
            tab.goto(page.resolve().as_uri())
            tab.wait_for_load_state()
            tab.evaluate(WITHOUT_LINKS)
            margin = dict.fromkeys(("top", "bottom", "left", "right"), SIDE)
            printed = tab.pdf(
                format="A4", margin=margin, print_background=True, tagged=True, scale=0.8
            )
            heading = tab.locator("h1").first.inner_text().strip("#\n ")
            writer.append(PdfReader(io.BytesIO(printed)), outline_item=heading)
        browser.close()
    writer.metadata = {"/Title": TITLE}
    buffer = io.BytesIO()
    writer.compress_identical_objects()
    writer.write(buffer)
    write_whole(path, buffer.getvalue())
    return len(writer.pages)


def main() -> int:
    """Do what the command line asks for; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("site", type=Path, help="the folder of the built site")
    parser.add_argument("file", type=Path, help="the PDF")
    options = parser.parse_args()
    try:
        sheets = write_pdf(options.site, options.file)
    except (ValueError, NoBrowser) as error:
        print(f"There is no PDF: {error}", file=sys.stderr)
        return 1
    print(f"{options.file}: {sheets} sheets, {options.file.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
