"""What `make release` checks is found when it is wrong."""

import re
import subprocess
import zipfile
from pathlib import Path

import pytest

from scripts import make_release

FILES = {
    "attn_lib/__init__.py": "1",
    "notebooks/01_a.ipynb": "{}",
    "exercises/01_a/01_a.ipynb": "{}",
    "solutions/01_a/01_a.ipynb": "{}",
}
WHEEL = {
    "attn_lib/__init__.py": "1",
    "attn_lib/course/notebooks/01_a.ipynb": "{}",
    "attn_lib/course/exercises/01_a/01_a.ipynb": "{}",
    "a-1.0.dist-info/METADATA": "",
}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A clone of a small course."""
    source = tmp_path / "source"
    for name, content in FILES.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(content)
    for command in ("init -q", "add ."):
        subprocess.run(["git", *command.split()], cwd=source, check=True)
    return source


def zipped(path: Path, files: dict[str, str]) -> Path:
    path.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return path


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({}, None),
        ({"attn_lib/course/exercises/01_a/01_a.ipynb": "an answer"}, "is not the file of the commit"),
        ({"attn_lib/course/solutions/01_a/01_a.ipynb": "{}"}, "which is not of the course"),
        ({"attn_lib/course/notebooks/01_a.ipynb": None}, "lacks attn_lib/course/notebooks/01_a.ipynb"),
        ({"attn_lib/__init__.py": "1" * 8_000_001}, "expected at most 8 MB, got 8.0"),
    ],
)  # fmt: skip
def test_a_wheel_holds_the_course_and_nothing_else(source, tmp_path, change, problem):
    files = {name: text for name, text in (WHEEL | change).items() if text is not None}
    problems = [*make_release.check_wheel(zipped(tmp_path / "a.whl", files), source)]
    assert bool(problems) == (problem is not None)
    assert problem is None or problem in "\n".join(problems)


def test_what_differs_when_it_is_built_again_is_named(tmp_path):
    first, second = tmp_path / "1", tmp_path / "2"
    for folder, text in ((first, "1"), (second, "2")):
        zipped(folder / "same.zip", {"x": "x"})
        zipped(folder / "other.whl", {"x": "x", "y": text, text: ""})
        (folder / "SHA256SUMS").write_text(text)
        (folder / "a.tar.gz").write_text(text)
    assert make_release.differing(first, second) == [
        "a.tar.gz differs when it is built again",
        "other.whl differs when it is built again: 1, 2, y",
    ]
    assert make_release.differing(first, first) == []


README = """<img src="site/_static/hero.png" alt="A map" width="640">

A [lesson](notebooks/01_a.ipynb), [uv](https://docs.astral.sh/uv), and [below](#below).
"""


def test_the_page_on_pypi_has_no_link_to_a_file_beside_it(tmp_path):
    project = tmp_path / "pyproject.toml"
    project.write_text('[project]\nversion = "1.0"\n')
    assert make_release.for_pypi(README, tmp_path).strip() == (
        "A lesson, [uv](https://docs.astral.sh/uv), and [below](#below)."
    )
    project.write_text(project.read_text() + 'urls = {Repository = "https://x.org/y"}\n')
    page = make_release.for_pypi(README, tmp_path)
    assert '<img src="https://x.org/y/raw/v1.0/site/_static/hero.png" alt="A map"' in page
    assert "A [lesson](https://x.org/y/blob/v1.0/notebooks/01_a.ipynb), [uv](https:" in page
    readme = (make_release.ROOT / "README.md").read_text(encoding="utf-8")
    whole = make_release.for_pypi(readme, tmp_path)
    assert not re.search(r"\]\((?!https://|#)|src=\"(?!https:)", whole)
