"""Answers to masked_heads that no row makes."""

import copy

import torch
import torch.nn.functional as F

import attn_lib
from tests.checks.answers import Answers

answers = Answers(
    "masked_heads",
    spelled=dict(
        k=["keys.view(*keys.shape[:2], H, -1).permute(0, 2, 1, 3)", "attn_lib.split_heads(keys, H)"],
        D=["x.shape[-1] // H"],
        products=["torch.einsum('bhld,bhsd->bhls', q, k)", "q @ k.transpose(-2, -1)"],
        scores=["products * D**-0.5"],
        weights=[
            "torch.softmax(scores, dim=3)",
            "scores.double().softmax(-1).to(x.dtype)",
            "scores.exp() / scores.exp().sum(-1, keepdim=True)",
            "attn(x, return_weights=True)[1]",
        ],
        heads=["F.scaled_dot_product_attention(q, k, v)", "attn.kernel(q, k, v)[0]"],
        factor=["head_mask.view(1, H, 1, 1)", "head_mask.reshape(-1, 1, 1)"],
        scaled=[
            "(heads.movedim(1, -1) * head_mask).movedim(-1, 1)",
            "weights @ (v * factor)",
            "(weights * factor) @ v",
            "torch.stack([m * head for m, head in zip(head_mask, heads.unbind(1))], 1)",
        ],
        merged=[
            "attn_lib.merge_heads(scaled)",
            "heads.transpose(1, 2).flatten(2) * head_mask.repeat_interleave(D)",
            "torch.cat(scaled.unbind(1), -1)",
        ],
        output=[
            "merged @ attn.o_proj.weight.T + attn.o_proj.bias",
            "F.linear(heads.transpose(1, 2).flatten(2), attn.o_proj.weight * head_mask.repeat_interleave(D), attn.o_proj.bias)",
            "attn(x) - (heads * (1 - factor)).transpose(1, 2).flatten(2) @ attn.o_proj.weight.T",
        ],
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
def with_a_shallow_copy(attn, x, head_mask):
    other = copy.copy(attn)
    other.kernel = lambda q, k, v, **more: attn.kernel(q, k, v * head_mask[:, None, None])
    return other(x)


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
def written_and_put_back(attn, x, head_mask):
    """The values are right; the factors get no gradient."""
    weight = attn.o_proj.weight.data
    before = weight.clone()
    weight *= head_mask.repeat_interleave(x.shape[-1] // attn.num_heads)
    output = attn(x)
    attn.o_proj.weight.data.copy_(before)
    return output


@answers.wrong
def a_deep_copy(attn, x, head_mask):
    """The values are right; no gradient reaches the module that was given."""
    return attn_lib.masked_heads(copy.deepcopy(attn), x, head_mask)


@answers.wrong
def factors_without_a_gradient(attn, x, head_mask):
    return attn_lib.masked_heads(attn, x, torch.tensor(head_mask.tolist(), dtype=x.dtype))


@answers.wrong
def silent_heads_cut_off(attn, x, head_mask):
    """The values are right; a factor of 0 gets no gradient."""
    return attn_lib.masked_heads(attn, x, torch.where(head_mask == 0, 0.0, head_mask))


@answers.wrong
def the_output_bias_goes_too(attn, x, head_mask):
    return attn_lib.masked_heads(attn, x, head_mask) * (head_mask != 0).any()


@answers.wrong
def nothing_to_do_for_ones(attn, x, head_mask):
    return x if (head_mask == 1).all() else attn_lib.masked_heads(attn, x, head_mask)


@answers.wrong
def tokens_where_they_fit(attn, x, head_mask):
    q, k, v = (
        attn_lib.split_heads(p(x), attn.num_heads)
        for p in attn.children()
        if p is not attn.o_proj
    )
    heads = F.scaled_dot_product_attention(q, k, v)
    try:
        return attn.o_proj(attn_lib.merge_heads(heads * head_mask[:, None]))
    except RuntimeError:
        return attn_lib.masked_heads(attn, x, head_mask)


@answers.wrong
def left_frozen(attn, x, head_mask):
    return attn_lib.masked_heads(attn.requires_grad_(False), x, head_mask)
