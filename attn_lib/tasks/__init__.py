"""The tasks of the exercises, a folder for each lesson; importing this makes them known."""

from attn_lib.tasks import (  # noqa: F401 - they register their tasks
    lesson_00,
    lesson_01,
    lesson_02,
    lesson_03,
    lesson_04,
    lesson_05,
    lesson_06,
    lesson_07,
    lesson_08,
    lesson_09,
    lesson_10,
    lesson_11,
    lesson_12,
    lesson_13,
    lesson_14,
    lesson_15,
)
