"""The PDF of the course: every page of the site that is to be printed, whole, with bookmarks, the same each time."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pypdf import PdfReader

from scripts.make_pdf import main

ROOT = Path(__file__).parents[2]
PAGE = '<!DOCTYPE html><title>{0}</title><body data-theme="dark"><h1>{0}</h1><p>{1}</p>'

pytestmark = pytest.mark.browser


def test_lessons_and_exercises_are_printed_in_order_the_same_each_time(tmp_path, chromium):
    site = tmp_path / "site"
    for name in (
        "notebooks/01_b",
        "exercises/01_b/01_b",
        "notebooks/00_a",
        "site/glossary",
    ):
        page = site / f"{name}.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        text = '<a href="../index.html">up</a> ' + "word " * 2000
        page.write_text(PAGE.format(f"Page {name}", text), encoding="utf-8")
    (site / "index.html").write_text(PAGE.format("Front", ""), encoding="utf-8")
    elsewhere = shutil.copytree(site, tmp_path / "another" / "place")
    first, second = tmp_path / "a.pdf", tmp_path / "b.pdf"
    for folder, file in ((site, first), (elsewhere, second)):
        # In a process of its own: one browser is open here.
        command = [sys.executable, "-m", "scripts.make_pdf", str(folder), str(file)]
        told = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    assert first.read_bytes() == second.read_bytes()
    reader = PdfReader(first)
    assert f"{len(reader.pages)} sheets" in told.stdout
    headings = [entry.title for entry in reader.outline]
    assert headings == [
        f"Page {name}"
        for name in (
            "notebooks/00_a",
            "notebooks/01_b",
            "exercises/01_b/01_b",
            "site/glossary",
        )
    ]
    assert sum(page.extract_text().count("word") for page in reader.pages) == 8000


def test_a_folder_without_lessons_is_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["make_pdf", str(tmp_path), str(tmp_path / "a.pdf")])
    assert main() == 1
    assert "expected a built site with lessons in it" in capsys.readouterr().err
