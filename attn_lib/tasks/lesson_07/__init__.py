"""The tasks of lesson 07, in the order of its exercise."""

from attn_lib.tasks.lesson_07 import (  # isort: skip
    induction_score,
    masked_heads,
    head_importance,
    gated_heads,
    diversity_loss,
)
