"""What the course says about its installation is true: pins, conda, Makefile, README."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
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


def test_readme_names_the_two_commands_and_only_targets_that_exist():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make lab" in readme
    assert "make test" in readme
    for name in ("README.md", "CONTRIBUTING.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert set(re.findall(r"`make ([a-z-]+)", text)) <= targets(), name


def targets() -> set[str]:
    phony = re.search(r"^\.PHONY: (.+)$", MAKEFILE, re.MULTILINE)[1]
    return set(phony.split())


@pytest.mark.skipif(shutil.which("make") is None, reason="make is missing")
def test_make_help_lists_every_target():
    shown = subprocess.run(
        ["make"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    listed = set(re.findall(r"^make ([a-z-]+)  +\S", shown, re.MULTILINE))
    assert listed == targets() - {"lint"}  # a step of test and quick, not for calling


def test_every_target_has_a_rule_and_every_rule_is_phony():
    rules = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    assert rules == targets()


def test_ci_runs_the_test_command_of_the_readme():
    assert lines(".ci/run")[-1] == "make test"


def test_the_workflow_tests_each_python_on_three_systems_and_publishes_the_site():
    text = (ROOT / ".github/workflows/check.yml").read_text(encoding="utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    for name in ("test", "windows"):
        assert jobs[name]["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13"]
    assert jobs["test"]["strategy"]["matrix"]["os"] == ["ubuntu-latest", "macos-latest"]
    commands = [step.get("run") for job in jobs.values() for step in job["steps"]]
    assert 'sudo env "PATH=$PATH" CPU=1 bash .ci/run' in commands
    assert "CPU=1 bash .ci/nightly" in commands
    assert "make site CPU=1" in commands


def test_the_workflow_pins_every_action_by_hash():
    text = (ROOT / ".github/workflows/check.yml").read_text(encoding="utf-8")
    for action in re.findall(r"uses: (.+)", text):
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", action), action


# ------------------------------------------------------------------ how `make lab` sets things up


def find_python(tmp_path, **commands: str) -> subprocess.CompletedProcess:
    """Run find_python.sh where only these commands exist; each is given as a shell script."""
    for name, script in commands.items():
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
    command = ["/bin/sh", str(ROOT / "scripts" / "find_python.sh")]
    environment = {
        "PATH": f"{tmp_path}:/nowhere",
        "PYTHON": os.environ.get("TEST_PYTHON", ""),
    }
    (tmp_path / "tail").symlink_to(shutil.which("tail"))
    return subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True
    )


def test_the_first_python_that_fits_is_taken(tmp_path):
    old = "echo is Python 3.10; exit 1"
    found = find_python(
        tmp_path, python3=old, **{"python3.12": "exit 0", "python": "exit 0"}
    )
    assert found.stdout == "python3.12\n"


def test_the_python_that_was_asked_for_comes_first(tmp_path, monkeypatch):
    monkeypatch.setenv("TEST_PYTHON", "mine")
    assert find_python(tmp_path, mine="exit 0", python3="exit 0").stdout == "mine\n"


def test_without_a_fitting_python_it_says_what_is_needed_and_what_was_found(tmp_path):
    found = find_python(tmp_path, python3="echo is Python 3.10; exit 1")
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
    assert set_up.fingerprint("pins.txt") == before
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
    assert workspaces.load("default")["data"] == set_up.LAYOUT
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
