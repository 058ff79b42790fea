"""What decides points is decided outside: to replace what watches inside gains nothing."""

import re

import pytest

from attn_lib.checks.task import find_task
from attn_lib.grading.submission_judge import Judge
from tests.grading.silenced import SILENCED

pytestmark = [pytest.mark.usefixtures("sandbox_works"), pytest.mark.slow]


@pytest.mark.parametrize("name", SILENCED)
def test_a_rule_that_is_silenced_inside_holds_outside(name):
    made = SILENCED[name]
    with Judge([made.cell], made.lesson, seed=11) as judging:
        verdict = judging.verdict(find_task(made.task))
        assert (judging.broken, judging.fatal) == ({}, {})  # it was replaced
    assert verdict.points == 0
    said = f"{verdict.mistake} {verdict.evidence} {verdict.question}"
    assert verdict.status in ("wrong", "error") or "None" in made.found
    assert re.search(made.found, said), said
