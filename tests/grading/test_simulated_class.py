"""A small class of every kind, graded in one run; `make class` grades a large one."""

import json

import pytest

from tests.grading.simulated_class import Learner, main, wrong_results


@pytest.mark.nightly  # each kind of learner is graded by itself in other tests
@pytest.mark.usefixtures("sandbox_works")
def test_everybody_in_a_class_of_every_kind_gets_what_is_due(capfd):
    assert main(12) == 0
    assert "0 results are not right" in capfd.readouterr().out


def test_a_wrong_result_would_be_seen(tmp_path):
    task = {"name": "attention", "mistake": "other"}
    row = {"learner": "ada", "lesson": 2, "points": 3, "problem": "", "feedback": "none"}
    text = json.dumps({"grades": [row | {"tasks": [task]}]})
    (tmp_path / "grades.json").write_text(text)
    (tmp_path / "grades.csv").write_text("learner,total\nada,2\n")
    ada = Learner("right", {}, 1, 4, 4, {"attention": "no-scale"}, True, "ada")
    bob = Learner("right", {}, 1, 4, 4, name="bob")
    said = "\n".join(wrong_results([ada, bob], tmp_path))
    for part in ("lesson", "points", "grades.csv", "problem", "mistakes", "page"):
        assert f"ada (right): {part} is wrong" in said
    assert "there is no line" in said
