"""The tasks of lesson 04, in the order of its exercise."""

from attn_lib.tasks.lesson_04 import (  # isort: skip
    kv_cache_bytes,
    cached_attention,
    repeat_kv,
    grouped_query_attention,
    grouped_query_module,
    mean_pool_kv,
)
