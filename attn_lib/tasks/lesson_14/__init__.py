"""The tasks of lesson 14, in the order of its exercise."""

from attn_lib.tasks.lesson_14 import (  # isort: skip
    rms_norm,
    swiglu,
    map_llama_name,
    generate,
)
