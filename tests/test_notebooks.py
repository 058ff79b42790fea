"""Each notebook keeps the rules of CONTRIBUTING.md; each rule finds what breaks it."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from scripts.make_exercises import committed
from scripts.stated_time import stated_minutes

ROOT = Path(__file__).resolve().parents[1]
LESSONS = sorted(ROOT.glob("notebooks/*.ipynb"))
SOLUTIONS = sorted(ROOT.glob("solutions/*/*.ipynb"))
EXERCISES = sorted(p for p in ROOT.glob("exercises/*/*.ipynb") if ".bak-" not in p.name)

Problems = Iterator[str]
Rule = Callable[[NotebookNode], Problems]

# ------------------------------------------------------------------------------------- rules


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [c for c in notebook.cells if c.cell_type == "code" and c.source.strip()]


def tags(cell: NotebookNode) -> list[str]:
    return cell.metadata.get("tags", [])


def named(cell: NotebookNode) -> str:
    first_line = cell.source.strip().split("\n")[0]
    return f"cell {cell.id} ({first_line[:40]!r})"


def has_no_cuda_cell(notebook: NotebookNode) -> Problems:
    if not any("cuda" in tags(cell) for cell in code_cells(notebook)):
        yield "no code cell is tagged `cuda`"


def is_not_executed(notebook: NotebookNode) -> Problems:
    for count, cell in enumerate(code_cells(notebook), 1):
        if cell.execution_count != count:
            yield f"{named(cell)} has execution count {cell.execution_count}, not {count}"


def is_executed(notebook: NotebookNode) -> Problems:
    for cell in code_cells(notebook):
        if cell.execution_count is not None or cell.outputs:
            yield f"{named(cell)} was run: an exercise comes without outputs"


def has_wrong_errors(notebook: NotebookNode) -> Problems:
    for cell in code_cells(notebook):
        raises = any(output.output_type == "error" for output in cell.outputs)
        if raises and "raises-exception" not in tags(cell):
            yield f"{named(cell)} raised an error"
        if not raises and "raises-exception" in tags(cell):
            yield f"{named(cell)} is tagged `raises-exception`, but raised nothing"


def has_stderr(notebook: NotebookNode) -> Problems:
    for cell in code_cells(notebook):
        if any(output.get("name") == "stderr" for output in cell.outputs):
            yield f"{named(cell)} wrote to stderr"


def has_long_code(notebook: NotebookNode) -> Problems:
    for cell in code_cells(notebook):
        is_long = re.search(r"^(class |def test_attention)", cell.source, re.MULTILINE)
        limit = 30 if is_long else 20
        if cell.source.startswith("def fix_"):  # there twice: mended, and as it was planted
            limit = 40
        length = len(cell.source.strip().splitlines())
        if length >= limit:
            yield f"{named(cell)} has {length} lines: stay under {limit}"


def prose(markdown: str) -> str:
    """Return what of a Markdown cell is read as prose: no code, tables, formulas or HTML tags."""
    for skipped in (r"```.*?```", r"~~~.*?~~~", r"<!--.*?-->", r"\$\$.*?\$\$", r"<[^<>]+>"):
        markdown = re.sub(skipped, " ", markdown, flags=re.DOTALL)
    return re.sub(r"^\s*\|.*$", "", markdown, flags=re.MULTILINE)


def has_long_prose(notebook: NotebookNode) -> Problems:
    for cell in notebook.cells:
        words = [w for w in prose(cell.source).split() if re.search(r"\w", w)]
        if cell.cell_type == "markdown" and len(words) >= 120:
            yield f"{named(cell)} has {len(words)} words: stay under 120"


def has_pictures_without_text(notebook: NotebookNode) -> Problems:
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
            if any(mime.startswith("image/") for mime in data) and len(alt) < 20:
                yield f"{named(cell)} shows a picture: describe it in metadata.mystnb.image.alt"
            yield from images_without_alt(cell, str(data.get("text/html", "")))
        if cell.cell_type == "markdown":
            yield from images_without_alt(cell, cell.source)


def images_without_alt(cell: NotebookNode, text: str) -> Problems:
    for image in re.findall(r"<img\b[^>]*>", text):
        if not re.search(r"""\balt=["'][^"']""", image):
            yield f"{named(cell)} has an <img> without alt text"
    if re.search(r"!\[\s*\]\(", text):
        yield f"{named(cell)} has a Markdown image without alt text"


def is_large(notebook: NotebookNode) -> Problems:
    size = len(nbformat.writes(notebook).encode())
    if size >= 500_000:
        yield f"the file has {size // 1000} kB: stay under 500"


def minutes_of_core(notebook: NotebookNode) -> float:
    """Estimate how long a lesson takes without its optional sections.

    That is 150 words a minute and two minutes a code cell: what readers were measured to need.
    """
    minutes, optional_level = 0.0, 0
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            if heading := re.match(r"(#+) +(.*)", cell.source):
                level = len(heading[1])
                if not optional_level or level <= optional_level:
                    optional_level = level * ("optional" in heading[2].lower())
            words = [w for w in prose(cell.source).split() if re.search(r"\w", w)]
            minutes += 0 if optional_level else len(words) / 150
        elif cell.source.strip():
            minutes += 0 if optional_level else 2
    return minutes


def takes_another_time(notebook: NotebookNode) -> Problems:
    stated = stated_minutes(notebook.cells[0].source)
    needed = minutes_of_core(notebook)
    if stated is None:
        yield 'the first cell does not state a time, such as "An hour and a quarter"'
    elif not 0.75 * stated <= needed <= 1.05 * stated:
        yield (
            f"the sections that are not optional take {needed:.0f} minutes, not {stated}: "
            'shorten, mark sections as "Optional" in their headings, or state another time'
        )


def texts(notebook: NotebookNode) -> Iterator[tuple[NotebookNode, str]]:
    """Yield each source and each textual output."""
    for cell in notebook.cells:
        yield cell, cell.source
        for output in cell.get("outputs", []):
            yield cell, output.get("text", "") + "\n".join(output.get("traceback", []))
            for mime, value in output.get("data", {}).items():
                if not mime.startswith("image/") or mime == "image/svg+xml":
                    # Pictures inside HTML are letters without meaning.
                    yield cell, re.sub(r"base64,[\w+/=\s]+", "", str(value))


def names_a_machine(notebook: NotebookNode) -> Problems:
    for cell, text in texts(notebook):
        found = re.search(r"(?<![\w.])/(home|root|tmp|Users)/|\b[A-Z]:\\", text)
        if found:
            around = text[max(0, found.start() - 20) : found.end() + 20]
            yield f"{named(cell)} holds a path of one machine: {around!r}"


def has_a_foreign_kernel(notebook: NotebookNode) -> Problems:
    if notebook.metadata.get("kernelspec", {}).get("name") != "python3":
        yield "metadata.kernelspec is not python3: run `make notebooks`"


# ------------------------------------------------------------------- the notebooks keep them

EVERYWHERE: list[Rule] = [
    has_wrong_errors,
    has_stderr,
    has_long_code,
    has_long_prose,
    has_pictures_without_text,
    is_large,
    names_a_machine,
    has_a_foreign_kernel,
]


def problems(path: Path) -> list[str]:
    """Return what is wrong with one of the course's notebooks."""
    rules = list(EVERYWHERE)
    text = path.read_text(encoding="utf-8")
    if path in EXERCISES:
        rules.append(is_executed)
        # Not what a learner wrote there.
        text = (committed(path) or path.read_bytes()).decode()
    else:
        rules.append(is_not_executed)
    if path in LESSONS:
        rules += [has_no_cuda_cell, takes_another_time]
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)
    return [problem for rule in rules for problem in rule(notebook)]


@pytest.mark.parametrize(
    "place", ["README.md", "site/index.md", "notebooks/00_start_here.ipynb"]
)
def test_the_hours_of_all_lessons_are_the_sum_of_what_each_states(place):
    openings = [nbformat.read(path, as_version=4).cells[0].source for path in LESSONS]
    hours = sum(stated_minutes(opening) or 0 for opening in openings) / 60
    text = " ".join((ROOT / place).read_text(encoding="utf-8").split())
    assert f" {hours:g} " in re.search(r"lessons take.{60}", text)[0]


@pytest.mark.parametrize(
    "path",
    [*LESSONS, *SOLUTIONS, *EXERCISES],
    ids=lambda path: f"{path.parent.name}/{path.stem}",
)
def test_notebook_keeps_the_rules(path):
    found = problems(path)
    assert not found, "\n".join(found)


def test_every_solution_stands_in_a_folder_of_its_lesson_and_has_its_exercise():
    lessons = {path.stem for path in LESSONS}
    for path in SOLUTIONS:
        assert path.stem == path.parent.name, path
        assert path.stem in lessons, path
        assert ROOT / "exercises" / path.parent.name / path.name in EXERCISES, path


# ----------------------------------------------------------- every rule finds what breaks it


def code(source="1", *outputs, count=1, **metadata) -> NotebookNode:
    return new_code_cell(
        source, outputs=list(outputs), execution_count=count, metadata=metadata
    )


def display(**data: str) -> NotebookNode:
    mimes = {name.replace("_", "/", 1): value for name, value in data.items()}
    return new_output("display_data", data=mimes)


def stream(text: str, name: str = "stdout") -> NotebookNode:
    return new_output("stream", name=name, text=text)


ERROR = new_output("error", ename="ValueError", evalue="no", traceback=["ValueError: no"])
PNG = display(image_png="AAAA")
ALT = {"image": {"alt": "A heat map of five words by five words."}}
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)"}}
LINES = "\n".join(["x = 1"] * 18)
PROSE = "# Title\n\n" + "word " * 110 + "\n\n| a | b |\n\n<br>\n\n$$a b c$$"

CLEAN = new_notebook(
    metadata=KERNEL,
    cells=[
        new_markdown_cell(PROSE),
        code("import attn_lib\n" + LINES),
        code("class A:\n" + "    x = 1\n" * 28, count=2),
        code("show()", PNG, count=3, tags=["cuda"], mystnb=ALT),
        code("fail()", ERROR, count=4, tags=["raises-exception"]),
        new_code_cell(""),
        code("show()", display(text_html='<img alt="x" src="data:base64,/tmp/">'), count=5),
    ],
)

BROKEN: dict[Rule, list[NotebookNode]] = {
    has_no_cuda_cell: [code("1", tags=["gpu"])],
    is_not_executed: [new_code_cell("1"), code(count=2)],
    is_executed: [code(), new_code_cell("1", outputs=[stream("1")])],
    has_wrong_errors: [code("fail()", ERROR), code("1", tags=["raises-exception"])],
    has_stderr: [code("warn()", stream("careful", "stderr"))],
    has_long_code: [code(LINES + "\nx\nx"), code("class A:\n" + "    x = 1\n" * 29)],
    has_long_prose: [new_markdown_cell("word " * 120)],
    has_pictures_without_text: [
        code("show()", PNG),
        code("show()", PNG, mystnb={"image": {}}),
        code("show()", display(text_html="<img src='x.png'>")),
        code("show()", display(text_html="<img alt='' src='x.png'>")),
        new_markdown_cell("![](x.png)"),
    ],
    is_large: [code("show()", display(image_png="A" * 500_000))],
    names_a_machine: [
        code("open('/home/me/x')"),
        code("1", stream("saved in /tmp/x")),
        code("1", display(text_plain=r"C:\Users")),
        code("1", new_output("error", traceback=["File /root/x.py"])),
        new_markdown_cell("see /Users/me"),
    ],
}


@pytest.mark.parametrize("rule", [*EVERYWHERE, is_not_executed, has_no_cuda_cell])
def test_rule_accepts_a_clean_notebook(rule):
    assert list(rule(CLEAN)) == []


@pytest.mark.parametrize(
    "rule", [*EVERYWHERE, *(rule for rule in BROKEN if rule not in EVERYWHERE)]
)
def test_rule_finds_each_planted_problem(rule):
    if rule is has_a_foreign_kernel:
        conda = {"kernelspec": {"name": "conda", "display_name": "conda"}}
        broken = [new_notebook(), new_notebook(metadata=conda)]
    else:
        broken = [new_notebook(metadata=KERNEL, cells=[cell]) for cell in BROKEN[rule]]
    assert [len(list(rule(notebook))) for notebook in broken] == [1] * len(broken)


def lesson(opening: str, cells: int) -> NotebookNode:
    """Return a lesson of 300 words and so many code cells, and as much again that is optional."""

    def parts() -> list[NotebookNode]:
        words = new_markdown_cell("word " * 300)
        return [words, *(code() for _ in range(cells - 1))]

    title = new_markdown_cell(f"# {opening}")
    optional = new_markdown_cell("## Optional: more")
    below = new_markdown_cell("### Details")
    last = new_markdown_cell("## And a last section")
    return new_notebook(
        cells=[title, *parts(), optional, *parts(), below, *parts(), last, code()]
    )


@pytest.mark.parametrize(
    ("stated", "cells", "problem"),
    [
        ("half an hour", 14, None),
        ("an hour\nand a quarter", 35, None),
        ("two hours", 60, None),
        ("Read this", 10, "does not state a time"),
        ("Half an hour", 15, "take 32 minutes, not 30"),
        ("An hour and three quarters", 55, "take 112 minutes, not 105"),
    ],
)
def test_a_lesson_takes_the_time_that_it_states(stated, cells, problem):
    found = list(takes_another_time(lesson(stated, cells)))
    assert problem in found[0] if problem else found == []


# --------------------------------------------------------------------- `make notebooks` runs


def run_notebooks(folder: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, "scripts/run_notebooks.py", str(folder)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


@pytest.mark.slow
def test_a_run_stores_clean_outputs_and_a_second_run_changes_nothing(tmp_path):
    path, failing = tmp_path / "a.ipynb", tmp_path / "b.ipynb"
    cells = [
        new_code_cell("import os\nos.path.exists(os.environ['ATTN_HOME'])"),
        code("print(1, flush=True)\nprint(2)", execution={"x": "now"}),
        code("1 / 0", tags=["raises-exception"]),
        new_code_cell(""),
    ]
    nbformat.write(new_notebook(cells=cells, metadata={"widgets": {"a": 1}}), path)
    path.chmod(0o640)
    nbformat.write(new_notebook(cells=[code("x = 1"), code("1 / 0")]), failing)
    before = failing.read_bytes()

    first = run_notebooks(tmp_path)
    assert first.returncode == 1, first.stdout + first.stderr
    assert re.search(r"b\.ipynb: .*FAILED.*\n.*cell 2 .*ZeroDivisionError", first.stdout)
    assert failing.read_bytes() == before
    stored = path.read_bytes()
    second = run_notebooks(path)
    assert second.returncode == 0
    assert "unchanged" in second.stdout
    assert path.read_bytes() == stored
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(tmp_path.iterdir()) == [path, failing]

    notebook = nbformat.reads(stored.decode(), as_version=4)
    assert list(is_not_executed(notebook)) == []
    assert list(has_a_foreign_kernel(notebook)) == []
    assert notebook.metadata.keys() == {"kernelspec", "language_info"}
    assert [cell.id for cell in notebook.cells] == [cell.id for cell in cells]
    home, printed, error, _ = notebook.cells
    assert home.outputs[0].data["text/plain"] == "False"  # a progress folder of its own
    assert [output.text for output in printed.outputs] == ["1\n2\n"]
    assert printed.metadata == {}
    assert error.outputs[0].ename == "ZeroDivisionError"


def jupyter_execute(path: Path, home: Path) -> None:
    command = [sys.executable, "-m", "jupyter", "execute", "--timeout=300", str(path)]
    environment = os.environ | {"ATTN_HOME": str(home), "PYTHONPATH": str(ROOT)}
    run = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-2000:]


@pytest.fixture(scope="module")
def home_of_who_passed(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    for path in SOLUTIONS:
        if not "10" <= path.stem[:2] <= "13":  # no lesson runs their pieces
            jupyter_execute(path, home)
    return home


@pytest.mark.nightly
@pytest.mark.parametrize(
    "path", [p for p in LESSONS if " = mine(" in p.read_text("utf-8")], ids=lambda p: p.stem
)
def test_a_lesson_runs_on_the_learners_own_pieces(path, home_of_who_passed):
    jupyter_execute(path, home_of_who_passed)
