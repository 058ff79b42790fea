"""The practice task of lesson 00."""

from attn_lib.checks.lesson_00 import mixture
