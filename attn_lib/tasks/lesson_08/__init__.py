"""The tasks of lesson 08, in the order of its exercise."""

from attn_lib.tasks.lesson_08 import (  # isort: skip
    sinusoidal_positions,
    apply_rope,
    alibi_bias,
    t5_bucket,
    rope_attention,
)
