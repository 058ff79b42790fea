"""The tasks of lesson 02, in the order of its exercise."""

from attn_lib.tasks.lesson_02 import (  # isort: skip
    causal_mask,
    padding_mask,
    sliding_window_mask,
    masked_softmax,
    masked_attention,
)
