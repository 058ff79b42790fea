"""The practice task of lesson 00."""

from attn_lib.tasks.lesson_00 import mixture
