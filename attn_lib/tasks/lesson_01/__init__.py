"""The tasks of lesson 01, in the order of its exercise."""

from attn_lib.tasks.lesson_01 import (  # isort: skip
    stable_softmax,
    attention_scores,
    attention,
    self_attention,
)
