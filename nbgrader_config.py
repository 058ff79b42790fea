"""nbgrader's settings: for `make exercises`, and for an instructor who runs nbgrader here."""

import contextlib
import logging
import traceback
from pathlib import Path

from attn_lib.grading.names import clean

c = get_config()  # noqa: F821 - nbgrader defines it

c.CourseDirectory.course_id = "attention-from-scratch"
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "exercises"

# What learners hand in and what grading makes of it: in one folder that git ignores.
c.CourseDirectory.submitted_directory = "grading/submitted"
c.CourseDirectory.autograded_directory = "grading/autograded"
c.CourseDirectory.feedback_directory = "grading/feedback"
c.CourseDirectory.solution_directory = "grading/solution"
c.CourseDirectory.source_with_tests_directory = "grading/source_with_tests"
Path("grading").mkdir(exist_ok=True)  # SQLite makes a file, but no folder for it
c.CourseDirectory.db_url = "sqlite:///grading/gradebook.db"

# Never set student_id_exclude to ".": generate_assignment would then do nothing, and say nothing.

c.ClearSolutions.code_stub = {"python": "# YOUR CODE HERE\nraise NotImplementedError"}
c.ClearSolutions.text_stub = "*Your answer here.*"

# `nbgrader autograde` starts no kernel: our judge runs each submission in a sandbox. It needs a private
# seed: set ATTN_GRADING_SEED, or c.SandboxedJudge.seed in a configuration that you do not publish.
c.Autograde.exporter_class = "attn_lib.grading.nbgrader_plugin.SubmissionExporter"
c.Autograde.autograde_preprocessors = [
    "attn_lib.grading.nbgrader_plugin.SandboxedJudge",
    "nbgrader.preprocessors.LimitOutput",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]


# What is logged, by whomever, can hold what a learner wrote: a terminal is not to obey it.
def harmless(*given, made=logging.LogRecord, **options):
    """Make a record in which control characters, but for tabs and line ends, are U+FFFD."""
    record = made(*given, **options)
    with contextlib.suppress(TypeError, ValueError):  # logging itself says what is wrong
        record.msg, record.args = clean(record.getMessage()), None
    if record.exc_info:
        record.exc_text = clean("".join(traceback.format_exception(*record.exc_info)))
    return record


logging.setLogRecordFactory(harmless)
