"""The tasks of lesson 03, in the order of its exercise."""

from attn_lib.tasks.lesson_03 import (  # isort: skip
    split_heads,
    merge_heads,
    multi_head_attention,
    from_torch,
)
