"""What is translated is complete and up to date, and keeps code, formulas and links."""

import json
import os
import re

import pytest

from attn_lib.checks import language
from attn_lib.checks.language import FIELD, LOCALE, _session, catalog, spoken, translated
from scripts.catalogs import ROOT, notebooks, sources
from scripts.translate_notebooks import write_translated

CATALOGS = sorted(LOCALE.glob("*/*.po"))
EXTRACTED = [path for path in CATALOGS if path.stem != "wording"]
KEPT = {
    "code": re.compile(r"```.*?```|`[^`]+`", re.DOTALL),
    "formulas": re.compile(r"\$\$.*?\$\$|\$[^$\n]+\$", re.DOTALL),
    "links": re.compile(r"\]\(([^)]*)\)"),
    "headings": re.compile(r"^#+ ", re.MULTILINE),
    "fields": FIELD,
}


@pytest.fixture(autouse=True)
def new_session(monkeypatch):
    monkeypatch.delenv("ATTN_LANGUAGE", raising=False)
    _session.clear()
    yield
    _session.clear()


@pytest.fixture(scope="module")
def english():
    return sources()


@pytest.mark.parametrize(
    "path", EXTRACTED, ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_a_catalog_has_each_text_of_today_and_no_other(path, english):
    texts, there = english[path.stem], catalog(path.parent.name, path.stem)
    assert [text for text in texts if text not in there] == []
    assert [text for text in there if text not in texts] == []


@pytest.mark.parametrize(
    "path", CATALOGS, ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_a_translation_keeps_code_formulas_links_and_fields(path):
    for text, said in catalog(path.parent.name, path.stem).items():
        for what, pattern in KEPT.items():
            if what == "fields" and path.stem.startswith(("lesson", "exercise")):
                continue
            kept, wanted = (sorted(pattern.findall(t)) for t in (said, text))
            if what == "fields":
                kept, wanted = sorted({*kept}), sorted({*wanted})
            assert kept == wanted, f"{what} of: {text}"


def test_a_translated_notebook_is_the_english_one_but_for_markdown(tmp_path):
    write_translated("zh", tmp_path)
    for path in tmp_path.rglob("*.ipynb"):
        english = json.loads(
            (ROOT / path.relative_to(tmp_path / "zh")).read_text(encoding="utf-8")
        )
        chinese = json.loads(path.read_text(encoding="utf-8"))
        both = (english, chinese)
        there, here = (re.findall(r"https?://[^)\s]+", json.dumps(one)) for one in both)
        assert sorted(here) == sorted(there)
        for link in re.findall(r"\]\((\.[^)#]+|\w+\.ipynb)", json.dumps(chinese)):
            target = (ROOT / path.relative_to(tmp_path)).parent / link
            in_zh = tmp_path / os.path.relpath(target, ROOT)
            assert in_zh.exists() or target.resolve().exists(), link
        for notebook in both:
            for cell in notebook["cells"]:
                if cell["cell_type"] == "markdown":
                    cell["source"] = []
        assert chinese == english
    done = {name for name in notebooks() if (LOCALE / "zh" / f"{name}.po").exists()}
    assert len([*tmp_path.rglob("*.ipynb")]) == len(done) > 0


def test_a_notebook_that_was_worked_in_is_kept(tmp_path, capsys):
    write_translated("zh", tmp_path)
    first = min((tmp_path / "zh").rglob("*.ipynb"))
    first.write_text("mine")
    write_translated("zh", tmp_path)
    assert first.read_text() == "mine"
    assert "kept" in capsys.readouterr().out


def test_the_choice_is_remembered_until_another_one(learner_home, capsys):
    assert spoken() == "en"
    language("zh")
    _session.clear()
    assert spoken() == "zh"
    language("en")
    assert spoken() == "en"
    with pytest.raises(ValueError, match="en, zh, not 'fr'"):
        language("fr")


def test_the_environment_goes_before_what_is_remembered(monkeypatch, capsys):
    language("en")
    _session.clear()
    monkeypatch.setenv("ATTN_LANGUAGE", "zh")
    assert spoken() == "zh"


def test_what_no_catalog_knows_stays_english(monkeypatch):
    monkeypatch.setenv("ATTN_LANGUAGE", "zh")
    assert translated("Quite another text, 3 of 4.") == "Quite another text, 3 of 4."
