"""The table of mistakes is what the rows of the checks make."""

from attn_lib.checks import tasks
from attn_lib.checks.mistakes import known
from attn_lib.checks.shared_mistakes import SHARED
from scripts.make_slips import pages


def test_the_pages_are_up_to_date():
    for path, text in pages().items():
        assert path.read_text(encoding="utf-8") == text, f"{path}: run `make slips`"


def test_every_mistake_and_every_question_is_there():
    text = "\n".join(path.read_text(encoding="utf-8") for path in pages())
    for task in tasks():
        for mistake in known(task.name).mistakes:
            assert f"**{mistake.id}.** {mistake.question}" in text


def test_every_shared_mistake_is_one_in_some_task():
    """One that fits nowhere is dead text: a line was renamed."""
    used = [mistake for task in tasks() for mistake in known(task.name).mistakes]
    assert [mistake.id for mistake in SHARED if mistake not in used] == []
