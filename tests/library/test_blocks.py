"""Blocks: agreement with independent ones on copied weights, laws, caches."""

import pytest
import torch
from torch import nn

from attn_lib import (
    DecoderBlock,
    KVCache,
    MultiHeadAttention,
    PostNormBlock,
    PreNormBlock,
    RoPE,
)
from tests.library.test_positions import close
from tests.library.tools import sharpen


def torch_layer(kind, norm_first):
    torch.manual_seed(0)
    layer = kind(24, 4, 40, activation="gelu", batch_first=True, norm_first=norm_first)
    return sharpen(layer.eval())


def copied(block, layer):
    """Fill a block with the parameters of PyTorch's layer."""
    attentions = {"self_attn": layer.self_attn, "attn": layer.self_attn}
    attentions["cross_attn"] = getattr(layer, "multihead_attn", None)
    for name, source in attentions.items():
        if hasattr(block, name):
            ours = MultiHeadAttention.from_torch(source)
            getattr(block, name).load_state_dict(ours.state_dict())
    for theirs, ours in ((layer.linear1, block.ff[0]), (layer.linear2, block.ff[2])):
        ours.load_state_dict(theirs.state_dict())
    for name in ("norm1", "norm2", "norm3"):
        if hasattr(block, name):
            getattr(block, name).load_state_dict(getattr(layer, name).state_dict())
    return block.eval()


@pytest.mark.parametrize(
    ("ours", "norm_first"), [(PreNormBlock, True), (PostNormBlock, False)]
)
def test_blocks_equal_pytorchs_encoder_layer(ours, norm_first):
    layer = torch_layer(nn.TransformerEncoderLayer, norm_first)
    block, x = copied(ours(24, 4, 40), layer), torch.randn(2, 7, 24)
    close(block(x), layer(x))
    allowed = torch.ones(7, 7).tril().bool()
    close(block(x, is_causal=True), layer(x, src_mask=~allowed))


def test_decoder_block_equals_pytorchs_decoder_layer():
    layer = torch_layer(nn.TransformerDecoderLayer, True)
    block = copied(DecoderBlock(24, 4, 40), layer)
    x, context = torch.randn(2, 5, 24), torch.randn(2, 7, 24)
    real = torch.tensor([[1] * 7, [1] * 4 + [0] * 3]).bool()
    expected = layer(
        x, context, tgt_mask=~torch.ones(5, 5).tril().bool(), memory_key_padding_mask=~real
    )
    close(block(x, context, is_causal=True, context_mask=real), expected)
    causal = torch.ones(5, 5).tril().bool()
    close(block(x, context, mask=causal, context_mask=real), expected)
    unmasked = layer(x, context, memory_key_padding_mask=~real)
    close(block(x, context, context_mask=real), unmasked)


@pytest.mark.parametrize("kind", [PreNormBlock, PostNormBlock, DecoderBlock])
def test_a_cached_block_equals_the_full_forward(kind):
    block = sharpen(kind(16, 4, 32, positions=RoPE())).eval()
    x, cache = torch.randn(2, 6, 16), KVCache(2, 4, 6, 4)
    context = [torch.randn(2, 5, 16)] if kind is DecoderBlock else []
    with torch.no_grad():
        parts = x.split((2, 3, 1), 1)
        chunks = [block(part, *context, is_causal=True, cache=cache) for part in parts]
        close(torch.cat(chunks, 1), block(x, *context, is_causal=True))


def test_feed_forward_acts_on_each_token_alone_and_attention_does_not():
    block = sharpen(PreNormBlock(16, 4, 32))
    x = torch.randn(1, 5, 16)
    changed = x.clone()
    changed[0, 2, 0] += 1  # added to all channels, the norm would take it away
    moved = (block.ff(x) - block.ff(changed)).abs().amax(-1)[0] > 1e-6
    assert moved.tolist() == [False, False, True, False, False]
    assert ((block(x) - block(changed)).abs().amax(-1) > 1e-6).all()


def test_dropout_acts_in_training_only_and_on_both_additions():
    block = PreNormBlock(16, 4, 32, dropout=1.0)
    x = torch.randn(1, 5, 16)
    assert torch.equal(block(x), x)
    assert not torch.equal(block.eval()(x), x)
