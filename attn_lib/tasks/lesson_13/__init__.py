"""The tasks of lesson 13, in the order of its exercise."""

from attn_lib.tasks.lesson_13 import (  # isort: skip
    quantize_int8,
    dequantize_int8,
    save_checkpoint,
    load_checkpoint,
)
