import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attn_lib import RoPE
from attn_lib.generation import generate, next_token, stream
from attn_lib.llama import Llama, LlamaConfig, RMSNorm, RopeTable, SwiGLU
from attn_lib.own_attention import OwnAttention, swap_blocks, use_own_attention

SMALL = LlamaConfig(
    vocab_size=40,
    d_model=32,
    num_heads=4,
    num_kv_heads=2,
    num_layers=2,
    d_ff=48,
    max_len=64,
)


@pytest.fixture
def model():
    torch.manual_seed(0)
    return Llama(SMALL).eval().requires_grad_(False)


def test_rms_norm_is_its_formula():
    norm, x = RMSNorm(6, eps=0.1), torch.randn(2, 3, 6)
    nn.init.normal_(norm.weight)
    expected = x / (x.square().mean(-1, keepdim=True) + 0.1).sqrt() * norm.weight
    torch.testing.assert_close(norm(x), expected)


def test_swiglu_opens_with_the_gate():
    ff, x = SwiGLU(4, 6), torch.randn(3, 4)
    gate, up = x @ ff.gate_proj.weight.T, x @ ff.up_proj.weight.T
    expected = (gate * gate.sigmoid() * up) @ ff.down_proj.weight.T
    torch.testing.assert_close(ff(x), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_the_table_turns_as_rope_does(dtype):
    q, k = torch.randn(2, 4, 5, 16).to(dtype), torch.randn(2, 2, 5, 16).to(dtype)
    table = RopeTable(16, 30, base=1e5).to(dtype)
    for mine, expected in zip(table(q, k, 7)[:2], RoPE(1e5)(q, k, 7)[:2], strict=True):
        assert mine.dtype == dtype
        torch.testing.assert_close(mine, expected, rtol=1e-5, atol=1e-5)


def test_head_and_embedding_are_one_parameter_and_all_are_trained(model):
    assert model.head.weight is model.embed.weight
    assert all(p.requires_grad for p in Llama(SMALL).parameters())
    assert sum(p is model.embed.weight for p in model.parameters()) == 1


def test_caches_change_nothing_and_the_future_is_not_seen(model):
    ids = torch.randint(40, (2, 9))
    caches = model.new_caches(2, 9)
    parts = [model(part, caches=caches) for part in ids.split([4, 1, 3, 1], dim=1)]
    torch.testing.assert_close(torch.cat(parts, dim=1), model(ids))
    torch.testing.assert_close(model(ids[:, :5]), model(ids)[:, :5])
    torch.testing.assert_close(model(ids, last=True), model(ids)[:, -1:])


def test_generate_takes_the_likeliest_and_feeds_each_token_once(model):
    ids, lengths = torch.randint(40, (2, 3)), []
    model.register_forward_pre_hook(lambda _, args: lengths.append(args[0].shape[1]))
    written = generate(model, ids, 5)
    assert lengths == [3, 1, 1, 1, 1]
    for n in range(3, 8):
        assert torch.equal(written[:, n], model(written[:, :n])[:, -1].argmax(-1))
    assert torch.equal(generate(model, ids, 0), ids)


def test_stream_goes_on_where_the_caches_end(model):
    ids, caches = [1, 2, 3], model.new_caches(1, 20)
    tokens = stream(model, ids, caches)
    first = [next(tokens) for _ in range(4)]
    tokens.close()
    ids += [7, 8]
    more = stream(model, ids, caches)
    second = [next(more) for _ in range(3)]
    assert ids == [1, 2, 3, *first, 7, 8, *second]
    assert second == generate(model, torch.tensor([ids[:-3]]), 3)[0, -3:].tolist()


def test_stream_says_when_the_caches_are_full():
    model = Llama(replace(SMALL, num_layers=1))  # the fewest caches
    tokens = stream(model, [1, 2], model.new_caches(1, 3))
    assert len([next(tokens), next(tokens)]) == 2
    with pytest.raises(ValueError, match="at most 3 tokens"):
        next(tokens)


def test_top_p_draws_among_the_fewest_that_have_the_share():
    logits = torch.tensor([0.1, 0.5, 0.15, 0.25]).log()
    draw = torch.Generator().manual_seed(0)
    for top_p, expected in (
        (0.5, {1}),
        (0.51, {1, 3}),
        (0.8, {1, 3, 2}),
        (1.0, {0, 1, 2, 3}),
    ):
        seen = {next_token(logits, 1.0, top_p, draw) for _ in range(200)}
        assert seen == expected
    assert next_token(logits) == 1


def test_temperature_sharpens_and_flattens():
    logits, draw = torch.tensor([0.0, 1.0]), torch.Generator().manual_seed(0)
    for temperature in (0.5, 1.0, 2.0):
        share = sum(next_token(logits, temperature, 1.0, draw) for _ in range(500)) / 500
        assert share == pytest.approx(1 / (1 + math.exp(-1 / temperature)), abs=0.07)
    assert next_token(100 * logits, 1e-41, 1.0, draw) == 1


class Own(nn.Module):
    """Attention as learners write it: it cuts q, k and v by the length of x."""

    length_of_x = True

    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__()
        self.heads, self.kv_heads, self.d = num_heads, num_kv_heads, d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=False)
        self.k_proj = nn.Linear(d_model, num_kv_heads * self.d, bias=False)
        self.v_proj = nn.Linear(d_model, num_kv_heads * self.d, bias=False)
        self.o_proj = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, mask=None):
        B, L, _ = x.shape
        length = L if self.length_of_x else -1
        q, k, v = (
            proj(x).view(B, length, heads, self.d).transpose(1, 2)
            for proj, heads in (
                (self.q_proj, self.heads),
                (self.k_proj, self.kv_heads),
                (self.v_proj, self.kv_heads),
            )
        )
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
        return self.o_proj(out.transpose(1, 2).reshape(B, L, -1))


class AnyLength(Own):
    length_of_x = False


class ByWeight(AnyLength):
    """It multiplies by the weights itself, and takes its sizes from them."""

    def forward(self, x, mask=None):
        B, L, _ = x.shape
        H = self.q_proj.out_features // self.d
        q = (x @ self.q_proj.weight.T).view(B, L, H, self.d).transpose(1, 2)
        k = F.linear(x, self.k_proj.weight).unflatten(2, (self.kv_heads, -1))
        v = torch.einsum("ble,ke->blk", x, self.v_proj.weight)
        k, v = k.transpose(1, 2), v.unflatten(2, (self.kv_heads, -1)).transpose(1, 2)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
        return self.o_proj(out.transpose(1, 2).flatten(2))


class Unmasked(Own):
    def forward(self, x, mask=None):
        return super().forward(x)


@pytest.mark.parametrize("make", [Own, AnyLength, ByWeight])
def test_a_learners_module_writes_the_same(model, make):
    ids = torch.randint(40, (2, 6))
    logits, written = model(ids), generate(model, ids, 10)
    use_own_attention(model, make)
    assert all(type(block.attn.own) is make for block in model.blocks)
    assert model.blocks[0].attn.square == make.length_of_x
    torch.testing.assert_close(model(ids), logits)
    assert torch.equal(generate(model, ids, 10), written)


def test_a_model_goes_on_writing_while_its_blocks_are_swapped(model):
    ids = [3, 1, 4]
    written = generate(model, torch.tensor([ids]), len(model.blocks))[0].tolist()
    counts = swap_blocks(model, Own)
    for count, _ in zip(counts, stream(model, ids, model.new_caches(1, 9)), strict=False):
        swapped = [isinstance(block.attn, OwnAttention) for block in model.blocks]
        assert swapped == [i < count for i in range(len(model.blocks))]
    assert ids == written


def test_a_module_that_sees_the_future_is_refused(model):
    before = list(model.blocks)
    attention = [block.attn for block in before]
    with pytest.raises(ValueError, match="attends like the model's own"):
        use_own_attention(model, Unmasked)
    assert [block.attn for block in model.blocks] == attention
