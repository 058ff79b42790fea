"""The tasks of lesson 12, in the order of its exercise."""

from attn_lib.tasks.lesson_12 import (  # isort: skip
    fixes,
    numerical_gradient,
    test_attention,
)
