"""The tasks of lesson 11, in the order of its exercise."""

from attn_lib.tasks.lesson_11 import (  # isort: skip
    online_softmax_step,
    chunked_attention,
    chunked_attention_backward,
    sliding_window_attention,
)
