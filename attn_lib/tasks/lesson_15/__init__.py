"""The tasks of lesson 15, in the order of its exercise."""

from attn_lib.tasks.lesson_15 import (  # isort: skip
    train_bpe,
    encode_bpe,
    random_batch,
    learning_rate,
    sample_next,
)
