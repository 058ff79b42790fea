"""What is translated is complete and up to date, and keeps code, formulas and links."""

import ast
import json
import os
import re

import pytest

from attn_lib import checks
from attn_lib.checks import check, judge, language, tasks
from attn_lib.checks.language import (
    FIELD,
    LOCALE,
    _session,
    catalog,
    speak,
    spoken,
    translated,
)
from attn_lib.checks.mistakes import known
from attn_lib.grading import inside_checks
from scripts.catalogs import LAST, ROOT, notebooks, sources
from scripts.translate_notebooks import write_translated

CATALOGS = sorted(LOCALE.glob("*/*.po"))
EXTRACTED = [path for path in CATALOGS if path.stem != "wording"]
SENTENCE = re.compile(r"\n|(?<=[.?:]) ")
ENGLISH = re.compile(r"\b[A-Za-z]{3,} [a-z]{2,} [a-z]{2,}")
JOINED = {  # what the code makes of smaller pieces
    "but it returned 1 value",
    "output and weights",
    "numbers differ",
    "numbers differs",
    "numbers differ, by up to",
    "numbers differs, by up to",
    "of your numbers is nan or inf",
    "of your numbers are nan or inf",
}
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


def test_lessons_00_to_03_are_complete(english):
    assert {path.stem for path in EXTRACTED if path.parent.name == "zh"} == {*english}


def test_what_is_worded_by_hand_is_said_somewhere():
    """Each piece between two fields of wording.po stands in the code, or the English text has changed."""
    said = "\n".join(
        node.value
        for folder in ("checks", "tasks")
        for path in (ROOT / "attn_lib" / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    texts = [FIELD.sub("\n", text) for text in catalog("zh", "wording")]
    pieces = {piece.strip(" .,:;?()[]") for text in texts for piece in SENTENCE.split(text)}
    assert {piece for piece in pieces if piece not in said} == JOINED


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


def the_first_rows():
    """Yield a task and the number of its first row of each question, for lessons 00 to 03."""
    for task in tasks():
        if task.lesson <= LAST:
            questions = [mistake.question for mistake in known(task.name).mistakes]
            yield from ((task.name, questions.index(q)) for q in dict.fromkeys(questions))


def what_is_told(name, number):
    verdict = judge(name, known(name).answer(number))
    return verdict.mistake, verdict.message


@pytest.mark.nightly
def test_a_verdict_is_chinese_and_the_mistake_the_same():
    for name, number in the_first_rows():
        speak("en")
        mistake, _ = what_is_told(name, number)
        speak("zh")
        same, message = what_is_told(name, number)
        assert same == mistake
        lines = re.sub("`[^`]*`", "", message).splitlines()
        ours = [line for line in lines if "Error: " not in line and "key(s)" not in line]
        assert not any(ENGLISH.search(line) for line in ours), message


def test_a_wrong_answer_is_told_so_in_chinese(monkeypatch, capsys):
    monkeypatch.setenv("ATTN_LANGUAGE", "zh")
    check("attention_scores", lambda q, k: q @ k.mT)
    told = capsys.readouterr().out
    assert told.splitlines()[:4] == [
        "✗ 还没对：attention_scores",
        "  输入：一个查询，两个键：q (1, 1, 4), k (1, 2, 4)。",
        "  在结果中，索引 [0, 0, 0] 处：期望 2.0000，得到 4.0000。2 个数中有 2 个不同，最多相差 2.0000。"
        "你的每个数都是期望值的 2 倍。",
        "  想一想：如果 D 从 16 增加到 1024，q·k 的离散程度会怎样？要怎么处理？",
    ]


def test_the_words_of_an_error_stay_as_they_are(monkeypatch):
    monkeypatch.setenv("ATTN_LANGUAGE", "zh")
    error = "RuntimeError: shape '[1, 1, 4]' is invalid for input of size 3"
    assert translated(f"It raised {error}") == f"它抛出了 {error}"


def test_the_grader_has_a_stand_in_for_each_name_of_the_checks():
    assert {*checks.__all__} - {"Task", "Verdict"} <= {*vars(inside_checks)}
