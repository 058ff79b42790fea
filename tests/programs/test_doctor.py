"""The learner's doctor: what is well, what is not, and what helps."""

import json

import pytest

from attn_lib.checks import store
from attn_lib.programs import doctor
from attn_lib.programs.command import main
from attn_lib.programs.course_folder import MANIFEST, fill


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTN_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(doctor, "has_models", lambda: True)
    monkeypatch.chdir(tmp_path)


def problems(folder):
    return {name: problem for name, _, problem in doctor.examine(folder) if problem}


def test_all_is_well_here_before_and_after_the_first_start(tmp_path, capsys):
    assert main(["doctor"]) == 0
    assert "is not there yet" in capsys.readouterr().out
    fill(tmp_path / "mine")
    assert main(["doctor", "mine"]) == 0
    said = capsys.readouterr().out
    assert "The course works here." in said
    assert "✗" not in said
    assert said.count("✓") == 7


def test_what_is_missing_or_damaged_is_named_with_what_helps(tmp_path, monkeypatch, capsys):
    fill(tmp_path / "mine")
    monkeypatch.setattr(doctor, "has_models", lambda: False)
    monkeypatch.setattr(
        doctor, "find_spec", lambda name: None if name == "ipykernel" else 1
    )
    monkeypatch.setattr("torch.__version__", "2.9.1+cpu")
    store.folder().mkdir(parents=True)
    store.path().write_text(json.dumps({"version": 99, "tasks": {}}))
    manifest = json.loads((tmp_path / "mine" / MANIFEST).read_bytes())
    (tmp_path / "mine" / MANIFEST).write_text(json.dumps(manifest | {"format": 99}))
    found = problems(tmp_path / "mine")
    assert set(found) == {
        "PyTorch",
        "JupyterLab",
        "pretrained models",
        "your progress",
        "your folder",
    }
    assert "got 2.9.1+cpu" in found["PyTorch"]
    assert "ipykernel is not installed" in found["JupyterLab"]
    assert "`attention-from-scratch models`" in found["pretrained models"]
    assert "newer version" in found["your progress"]
    assert "newer version" in found["your folder"]
    assert main(["doctor", "mine"]) == 1
    assert "5 to mend." in capsys.readouterr().out


def test_a_full_disk_and_a_check_that_judges_wrongly_are_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor, "ROOM", 1 << 60)
    monkeypatch.setattr("attn_lib.attention.einsum_attention", lambda q, k, v: (v, v))
    found = problems(tmp_path)
    assert "are free on the disk" in found["your progress"]
    assert "please report this" in found["a check"]
