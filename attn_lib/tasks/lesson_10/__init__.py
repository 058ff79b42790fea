"""The tasks of lesson 10, in the order of its exercise."""

from attn_lib.tasks.lesson_10 import (  # isort: skip
    masked_mean,
    make_windows,
    patchify,
)
