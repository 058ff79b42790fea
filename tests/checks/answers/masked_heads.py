"""Answers to masked_heads that no row makes."""

import torch
import torch.nn.functional as F

import attn_lib
from tests.checks.answers import Answers

answers = Answers(
    "masked_heads",
    spelled=dict(
        k=["keys.view(*keys.shape[:2], H, -1).permute(0, 2, 1, 3)"],
        weights=["scores.exp() / scores.exp().sum(-1, keepdim=True)", "attn(x, return_weights=True)[1]"],
        heads=["F.scaled_dot_product_attention(q, k, v)", "attn.kernel(q, k, v)[0]"],
        factor=["head_mask.reshape(-1, 1, 1)"],
        scaled=["(heads.movedim(1, -1) * head_mask).movedim(-1, 1)", "(weights * factor) @ v"],
        merged=["torch.cat(scaled.unbind(1), -1)"],
        output=["attn(x) - (heads * (1 - factor)).transpose(1, 2).flatten(2) @ attn.o_proj.weight.T"],
    ),
)  # fmt: skip


@answers.right
def with_a_hook_that_is_removed(attn, x, head_mask):
    factors = head_mask.repeat_interleave(x.shape[-1] // attn.num_heads)
    with attn.v_proj.register_forward_hook(lambda _, args, output: output * factors):
        return attn(x)


@answers.right
def with_a_kernel_for_a_while(attn, x, head_mask):
    kernel = attn.kernel
    attn.kernel = lambda q, k, v, **more: kernel(q, k, v * head_mask[:, None, None], **more)
    try:
        return attn(x)
    finally:
        attn.kernel = kernel


@answers.right
def functionally(attn, x, head_mask):
    factors = head_mask.repeat_interleave(x.shape[-1] // attn.num_heads)
    changed = {"o_proj.weight": attn.o_proj.weight * factors}
    return torch.func.functional_call(attn, changed, (x,))


@answers.right
def in_place_head_by_head(attn, x, head_mask):
    """A key bias adds the same to all scores of a query: softmax does not notice."""
    H = attn.num_heads
    q, v = (attn_lib.split_heads(p(x), H) for p in (attn.q_proj, attn.v_proj))
    k = attn_lib.split_heads(x @ attn.k_proj.weight.T, H)
    heads = F.scaled_dot_product_attention(q, k, v).clone()
    for h in range(H):
        heads[:, h] *= head_mask[h]
    return attn.o_proj(attn_lib.merge_heads(heads)).mT.contiguous().mT


@answers.wrong
def tokens_where_they_fit(attn, x, head_mask):
    if x.shape[1] != len(head_mask):
        return functionally(attn, x, head_mask)
    factors = head_mask[:, None]
    with attn.o_proj.register_forward_pre_hook(lambda _, args: args[0] * factors):
        return attn(x)


# No gradient for a factor of 0, the output bias goes too, nothing to do for ones, left frozen.
answers.wrong(
    lambda attn, x, m: functionally(attn, x, m.where(m != 0, 0.0)),
    lambda attn, x, m: functionally(attn, x, m) * (m != 0).any(),
    lambda attn, x, m: x if (m == 1).all() else functionally(attn, x, m),
    lambda attn, x, m: functionally(attn.requires_grad_(False), x, m),
)
