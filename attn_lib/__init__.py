"""Attention from Scratch: the course's reference library.

Tensors follow the letters of `torch.nn.functional.scaled_dot_product_attention`: B batch, H heads,
Hkv key/value heads, L queries, S keys, D head_dim, Dv value head_dim, E d_model. Masks are boolean,
True = may attend.
"""

from attn_lib import interrupts
from attn_lib.attention import einsum_attention, fused_attention
from attn_lib.blocks import DecoderBlock, PostNormBlock, PreNormBlock
from attn_lib.cross_attention import CrossAttention, encoder_decoder_masks
from attn_lib.decoding import greedy_decode, next_token_loss
from attn_lib.efficient import chunked_attention, sliding_window_attention
from attn_lib.grouped_query import GroupedQueryAttention, mean_pool_kv, repeat_kv
from attn_lib.head_control import diversity_loss, gated_heads, head_importance, masked_heads
from attn_lib.kv_cache import KVCache, kv_cache_bytes
from attn_lib.masks import causal_mask, masked_softmax, padding_mask, sliding_window_mask
from attn_lib.memory_meter import MemoryMeter
from attn_lib.models import (
    Forecaster,
    LanguageModel,
    TextClassifier,
    WordsOverPatches,
    make_windows,
    masked_mean,
    patchify,
)
from attn_lib.multi_head import MultiHeadAttention, merge_heads, split_heads
from attn_lib.patterns import (
    attention_entropy,
    attention_rollout,
    induction_score,
    mean_attention_distance,
    offset_score,
    weighted_value_norms,
)
from attn_lib.positions import (
    ALiBi,
    LearnedPositions,
    Positions,
    RoPE,
    SinusoidalPositions,
    T5Bias,
    alibi_bias,
    apply_rope,
    half_split_order,
    sinusoidal_positions,
    t5_bucket,
)
from attn_lib.single_head import SelfAttention, SingleHeadAttention

__all__ = [
    "ALiBi",
    "CrossAttention",
    "DecoderBlock",
    "Forecaster",
    "GroupedQueryAttention",
    "KVCache",
    "LanguageModel",
    "LearnedPositions",
    "MemoryMeter",
    "MultiHeadAttention",
    "Positions",
    "PostNormBlock",
    "PreNormBlock",
    "RoPE",
    "SelfAttention",
    "SingleHeadAttention",
    "SinusoidalPositions",
    "T5Bias",
    "TextClassifier",
    "WordsOverPatches",
    "alibi_bias",
    "apply_rope",
    "attention_entropy",
    "attention_rollout",
    "causal_mask",
    "chunked_attention",
    "diversity_loss",
    "einsum_attention",
    "encoder_decoder_masks",
    "fused_attention",
    "gated_heads",
    "greedy_decode",
    "half_split_order",
    "head_importance",
    "induction_score",
    "kv_cache_bytes",
    "make_windows",
    "masked_heads",
    "masked_mean",
    "masked_softmax",
    "mean_attention_distance",
    "mean_pool_kv",
    "merge_heads",
    "next_token_loss",
    "offset_score",
    "padding_mask",
    "patchify",
    "repeat_kv",
    "sinusoidal_positions",
    "sliding_window_attention",
    "sliding_window_mask",
    "split_heads",
    "t5_bucket",
    "weighted_value_norms",
]

interrupts.raise_again()
