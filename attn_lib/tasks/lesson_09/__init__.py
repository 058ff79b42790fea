"""The tasks of lesson 09, in the order of its exercise."""

from attn_lib.tasks.lesson_09 import (  # isort: skip
    pre_norm_block,
    decoder_block,
)
