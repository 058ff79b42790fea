"""A small class of every kind, graded in one run; `make class` grades a large one."""

import pytest

from tests.grading.simulated_class import Learner, main, make, wrong_results

pytestmark = [pytest.mark.usefixtures("sandbox_works"), pytest.mark.slow]


@pytest.mark.nightly  # each kind of learner is graded by itself in other tests
def test_everybody_in_a_class_of_every_kind_gets_what_is_due(capfd):
    assert main(["--learners", "12"]) == 0
    assert "0 results are not right" in capfd.readouterr().out


def test_a_class_is_the_same_whenever_it_is_made():
    assert make(100) == make(100)
    assert len({learner.name for learner in make(200)}) == 200


def test_a_wrong_result_would_be_seen(tmp_path):
    (tmp_path / "grades.json").write_text(
        '{"grades": [{"learner": "ada", "lesson": 1, "points": 3, "problem": "", "tasks": '
        '[{"name": "attention", "mistake": "other"}], "feedback": "none.html"}]}'
    )
    (tmp_path / "grades.csv").write_text("learner,total\nada,2\n")
    ada = Learner("right", {}, 1, 4, 4, {"attention": "no-scale"}, True, "ada")
    bob = Learner("right", {}, 1, 4, 4, name="bob")
    said = "\n".join(wrong_results([ada, bob], tmp_path))
    for part in (
        "3 points",
        "csv",
        "problem",
        "called other",
        "no page",
        "bob (right): there is no",
    ):
        assert part in said
