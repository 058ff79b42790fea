"""The zip for Gradescope, in the layout that its specifications describe."""

import json
import subprocess
import zipfile

import pytest

from attn_lib.grading import gradescope, sandbox
from attn_lib.grading.__main__ import main
from attn_lib.grading.autograder import CHOSEN, autograder
from attn_lib.grading.refused import Refused
from tests.grading.fakes import full_marks
from tests.grading.judging import SOLUTION, answered, class_of, notebook


@pytest.fixture
def container(tmp_path):
    """Return /autograder as it is when a submission is graded; the zip itself is unpacked by the test that needs it."""
    chosen = json.dumps({"lesson": 1, "seed": 3}).encode()
    (tmp_path / "results").mkdir()
    (tmp_path / "submission").mkdir()
    return class_of(tmp_path, {f"source/{CHOSEN}": chosen})


def results(container) -> dict:
    assert gradescope.main(container) == 0
    return json.loads((container / "results/results.json").read_bytes())


def test_the_zip_holds_the_grader_a_lesson_and_a_private_seed(tmp_path, capsys):
    path = tmp_path / "to" / "autograder.zip"
    assert main(["autograder", "--out", str(path), "--lesson", "2"]) == 0
    with zipfile.ZipFile(path) as archive:
        chosen = json.loads(archive.read(CHOSEN))
        names = archive.namelist()
        archive.extractall(tmp_path)
        modes = [
            archive.getinfo(n).external_attr >> 16
            for n in ("setup.sh", "run_autograder", CHOSEN)
        ]
    assert chosen["lesson"] == 2
    assert chosen["seed"] > 2**64
    assert f"seed {chosen['seed']}." in capsys.readouterr().out
    assert modes == [0o100755, 0o100755, 0o100644]
    assert {"attn_lib/grading/gradescope.py", "requirements.txt", "pyproject.toml"} <= {
        *names
    }
    assert not [
        n for n in names if "__pycache__" in n or n.startswith(("solutions", "tests"))
    ]
    for script in ("setup.sh", "run_autograder"):
        subprocess.run(["bash", "-n", tmp_path / script], check=True)
    with pytest.raises(Refused, match=r"pyproject\.toml is missing"):
        autograder(path, 2, 3, root=tmp_path / "to")


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox_works")
def test_the_latest_notebook_of_the_lesson_is_judged_as_by_the_command(container):
    wrong = notebook(*answered(1), "def attention_scores(q, k):\n    return q @ k.mT")
    class_of(container / "submission", {"a.ipynb": notebook("x = 1"), "b.ipynb": wrong})
    found = results(container)
    scores = {test["name"]: (test["score"], test["max_score"]) for test in found["tests"]}
    assert scores == {
        "stable_softmax": (2, 2),
        "attention_scores": (0, 1),
        "attention": (3, 3),  # carried forward
        "SelfAttention": (4, 4),
    }
    assert [test["status"] for test in found["tests"]].count("failed") == 1
    assert "Input: " in found["tests"][1]["output"]


def test_what_cannot_be_graded_gets_no_points_and_says_why(container):
    nothing = results(container)
    assert "No notebook was found" in nothing["output"]
    assert {test["score"] for test in nothing["tests"]} == {0}
    class_of(container / "submission", {"02_masks.ipynb": notebook("def causal_mask(): 1")})
    assert results(container)["output"] == "No notebook of lesson 1 was handed in."
    class_of(container / "submission", {"01.ipynb": b"%PDF-"})
    assert results(container)["output"] == "It is a PDF, not a notebook."


@pytest.mark.parametrize(("root", "nobody"), [(True, gradescope.NOBODY), (False, None)])
def test_without_bubblewrap_it_runs_as_another_user_and_says_so(
    container, monkeypatch, root, nobody
):
    def missing():
        raise sandbox.NoSandbox("no")

    def graded(data, lesson, *, seed, unsafe):
        assert (data, seed, unsafe, sandbox.nobody) == (SOLUTION, 3, True, nobody)
        return full_marks(data, lesson, seed=seed)

    class_of(container / "submission", {"a.ipynb": SOLUTION})
    monkeypatch.setattr(sandbox, "check_sandbox", missing)
    monkeypatch.setattr(sandbox, "nobody", None)
    monkeypatch.setattr("os.getuid", lambda: 0 if root else 1000)
    monkeypatch.setattr(gradescope, "grade_submission", graded)
    found = results(container)
    assert found["output"] == gradescope.ALONE
    assert sum(test["score"] for test in found["tests"]) == 10
