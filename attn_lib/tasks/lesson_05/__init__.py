"""The tasks of lesson 05, in the order of its exercise."""

from attn_lib.tasks.lesson_05 import (  # isort: skip
    cross_attention,
    encoder_decoder_masks,
    next_token_loss,
    greedy_decode,
)
