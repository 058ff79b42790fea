"""The tasks of lesson 06, in the order of its exercise."""

from attn_lib.tasks.lesson_06 import (  # isort: skip
    attention_entropy,
    mean_attention_distance,
    offset_score,
    weighted_value_norms,
    attention_rollout,
)
