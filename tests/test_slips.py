"""The table of slips is what the rows of the checks make."""

from attn_lib.checks import tasks
from attn_lib.checks.mistakes import known
from attn_lib.checks.slips import SHARED
from scripts.make_slips import PAGE, page


def test_the_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make slips`"


def test_every_mistake_and_every_question_is_on_the_page():
    text = PAGE.read_text(encoding="utf-8")
    for task in tasks():
        for mistake in known(task.name).mistakes:
            assert f"**{mistake.id}**" in text
            assert mistake.question.replace("|", "\\|") in text


def test_every_shared_slip_is_a_mistake_in_some_task():
    """One that fits nowhere is dead text: a line was renamed."""
    used = [mistake for task in tasks() for mistake in known(task.name).mistakes]
    assert [mistake.id for mistake in SHARED if mistake not in used] == []
