"""Every tensor that the library makes is on the device of its inputs, or the one that is asked for.

Within `torch.device("meta")`, a tensor that is made anywhere else holds no numbers.
"""

import pytest
import torch

import attn_lib
from tests.library.tools import sharpen

IDS = torch.tensor([[1, 2, 3], [4, 5, 0]])
X = torch.randn(2, 6, 8, generator=torch.Generator().manual_seed(0))
HEADS = X.unflatten(-1, (2, 4)).transpose(1, 2)
WEIGHTS = torch.full((2, 2, 6, 6), 1 / 6)
GROUPED = sharpen(attn_lib.GroupedQueryAttention(8, 2, 1, positions=attn_lib.RoPE()))
MULTI = sharpen(attn_lib.MultiHeadAttention(8, 2))
ONE_HOT = torch.eye(6)


def cached():
    cache = attn_lib.KVCache(2, 1, 6, 4, device="cpu")
    return GROUPED(X, cache=cache, is_causal=True)


CALLS = {
    "KVCache": cached,
    "greedy_decode": lambda: attn_lib.greedy_decode(
        lambda ids: ONE_HOT[(ids + 1) % 6], 2, 0, 3, 9, device="cpu"
    ),
    "causal_mask": lambda: attn_lib.causal_mask(2, 3, device="cpu"),
    "sliding_window_mask": lambda: attn_lib.sliding_window_mask(3, 3, 2, device="cpu"),
    "padding_mask": lambda: attn_lib.padding_mask(torch.tensor([2, 3], device="cpu"), 3),
    "encoder_decoder_masks": lambda: attn_lib.encoder_decoder_masks(IDS, IDS, 0),
    "einsum_attention": lambda: attn_lib.einsum_attention(
        HEADS, HEADS, HEADS, is_causal=True
    ),
    "chunked_attention": lambda: attn_lib.chunked_attention(
        HEADS, HEADS, HEADS, chunk_size=2, is_causal=True
    ),
    "sliding_window_attention": lambda: attn_lib.sliding_window_attention(
        HEADS, HEADS, HEADS, window=2
    ),
    "to_torch": lambda: MULTI.to_torch().in_proj_weight.detach(),
    "t5_bucket": lambda: attn_lib.t5_bucket(IDS),
    "mean_attention_distance": lambda: attn_lib.mean_attention_distance(WEIGHTS),
    "attention_entropy": lambda: attn_lib.attention_entropy(WEIGHTS),
    "next_token_loss": lambda: attn_lib.next_token_loss(X[:, :3], IDS, 0),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_default_device_changes_nothing(name):
    expected = CALLS[name]()
    with torch.device("meta"):
        torch.testing.assert_close(CALLS[name](), expected)
