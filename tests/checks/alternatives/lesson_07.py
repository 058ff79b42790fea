"""Right answers to the tasks of lesson 07, by task name."""

import copy
import functools
import itertools
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import attn_lib

# ----------------------------------------------------------------------- masked_heads


def heads_of(attn, x):
    q, k, v = (
        attn_lib.split_heads(layer(x), attn.num_heads)
        for layer in (attn.q_proj, attn.k_proj, attn.v_proj)
    )
    return torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), dim=-1) @ v


def masked_by_hand(attn, x, head_mask):
    B, L, E = x.shape
    H = attn.num_heads
    D = E // H
    q = attn.q_proj(x).view(B, L, H, D).transpose(1, 2)
    k = attn.k_proj(x).view(B, L, H, D).transpose(1, 2)
    v = attn.v_proj(x).view(B, L, H, D).transpose(1, 2)
    weights = (q @ k.transpose(-2, -1) / D**0.5).softmax(dim=-1)
    z = weights @ v * head_mask.view(1, H, 1, 1)
    return attn.o_proj(z.transpose(1, 2).reshape(B, L, E))


def masked_by_sdpa(attn, x, head_mask):
    q, k, v = (
        layer(x).unflatten(-1, (attn.num_heads, -1)).transpose(1, 2)
        for layer in (attn.q_proj, attn.k_proj, attn.v_proj)
    )
    z = F.scaled_dot_product_attention(q, k, v)
    return attn.o_proj((z * head_mask[None, :, None, None]).transpose(1, 2).flatten(2))


def masked_in_einsums(attn, x, head_mask):
    H = attn.num_heads
    q, k, v = (
        layer(x).unflatten(-1, (H, -1)) for layer in (attn.q_proj, attn.k_proj, attn.v_proj)
    )
    weights = torch.einsum("blhd,bshd->bhls", q / q.shape[-1] ** 0.5, k).softmax(-1)
    merged = torch.einsum("bhls,bshd,h->blhd", weights, v, head_mask).flatten(2)
    return attn.o_proj(merged)


def masked_values(attn, x, head_mask):
    """The value that a head reads, scaled with its bias: the same, because mixing is linear."""
    q, k, v = (
        attn_lib.split_heads(layer(x), attn.num_heads)
        for layer in (attn.q_proj, attn.k_proj, attn.v_proj)
    )
    return attn.o_proj(
        attn_lib.merge_heads(
            attn_lib.einsum_attention(q, k, v * head_mask[:, None, None])[0]
        )
    )


def masked_weights(attn, x, head_mask):
    _, weights = attn(x, return_weights=True)
    v = attn_lib.split_heads(attn.v_proj(x), attn.num_heads)
    weights = weights * head_mask.reshape(-1, 1, 1)
    return attn.o_proj(attn_lib.merge_heads(weights @ v))


def masked_channel_by_channel(attn, x, head_mask):
    merged = attn_lib.merge_heads(heads_of(attn, x))
    factors = head_mask.repeat_interleave(x.shape[-1] // attn.num_heads)
    return attn.o_proj(merged * factors)


def masked_by_kron(attn, x, head_mask):
    merged = attn_lib.merge_heads(heads_of(attn, x))
    ones = torch.ones(x.shape[-1] // attn.num_heads, dtype=x.dtype)
    return attn.o_proj(merged @ torch.diag(torch.kron(head_mask, ones)))


def masked_columns_of_o_proj(attn, x, head_mask):
    merged = attn_lib.merge_heads(heads_of(attn, x))
    weight = attn.o_proj.weight.unflatten(1, (attn.num_heads, -1)) * head_mask[:, None]
    return F.linear(merged, weight.flatten(1), attn.o_proj.bias)


def masked_head_by_head(attn, x, head_mask):
    heads = heads_of(attn, x)
    scaled = [heads[:, h] * head_mask[h] for h in range(attn.num_heads)]
    return attn.o_proj(torch.cat(scaled, dim=-1))


def masked_as_a_sum_over_heads(attn, x, head_mask):
    heads, D = heads_of(attn, x), x.shape[-1] // attn.num_heads
    output = attn.o_proj.bias
    for h in range(attn.num_heads):
        columns = attn.o_proj.weight[:, h * D : (h + 1) * D]
        output = output + head_mask[h] * (heads[:, h] @ columns.T)
    return output


def masked_by_a_hook_that_is_removed(attn, x, head_mask):
    factors = head_mask.repeat_interleave(x.shape[-1] // attn.num_heads)
    handle = attn.o_proj.register_forward_pre_hook(lambda _, args: (args[0] * factors,))
    try:
        return attn(x)
    finally:
        handle.remove()


def masked_by_a_hook_on_the_values(attn, x, head_mask):
    factors = head_mask.repeat_interleave(x.shape[-1] // attn.num_heads)
    handle = attn.v_proj.register_forward_hook(lambda _, args, output: output * factors)
    output = attn(x)
    handle.remove()
    return output


def masked_by_a_kernel_for_a_while(attn, x, head_mask):
    kernel = attn.kernel

    def masked_kernel(*args, **kwargs):
        output, weights = kernel(*args, **kwargs)
        return output * head_mask[:, None, None], weights

    attn.kernel = masked_kernel
    try:
        return attn(x)
    finally:
        attn.kernel = kernel


def masked_by_the_modules_kernel(attn, x, head_mask):
    layers = (attn.q_proj, attn.k_proj, attn.v_proj)
    heads, _ = attn.kernel(*(attn_lib.split_heads(p(x), attn.num_heads) for p in layers))
    heads = torch.mul(heads.transpose(0, 1), head_mask.view(-1, 1, 1, 1)).transpose(0, 1)
    return attn.o_proj(attn_lib.merge_heads(heads))


def masked_functionally(attn, x, head_mask):
    factors = head_mask.repeat_interleave(x.shape[-1] // attn.num_heads)
    changed = {
        "v_proj.weight": attn.v_proj.weight * factors[:, None],
        "v_proj.bias": attn.v_proj.bias * factors,
    }
    return torch.func.functional_call(attn, changed, (x,))


def masked_sentence_by_sentence(attn, x, head_mask):
    rows = []
    for sentence in x:
        q, k, v = (
            layer(sentence).tensor_split(attn.num_heads, dim=-1)
            for layer in (attn.q_proj, attn.k_proj, attn.v_proj)
        )
        heads = [
            m * ((a @ b.T / a.shape[-1] ** 0.5).softmax(-1) @ c)
            for m, a, b, c in zip(head_mask, q, k, v, strict=True)
        ]
        rows.append(attn.o_proj(torch.cat(heads, dim=-1)))
    return torch.stack(rows)


def masked_in_float64(attn, x, head_mask):
    heads = heads_of(attn, x).double() * head_mask.double()[:, None, None]
    return attn.o_proj(attn_lib.merge_heads(heads).to(x.dtype))


def masked_as_a_difference(attn, x, head_mask):
    """All heads, less what is taken away from each."""
    away = heads_of(attn, x) * (1 - head_mask)[:, None, None]
    return attn(x) - attn_lib.merge_heads(away) @ attn.o_proj.weight.T


def masked_in_place(attn, x, head_mask):
    heads = heads_of(attn, x).clone()
    heads *= head_mask[:, None, None]
    return attn.o_proj(heads.permute(0, 2, 1, 3).contiguous().flatten(-2))


def masked_channels_first(attn, x, head_mask):
    """(B, D, L, H): then head_mask meets the last axis."""
    heads = (heads_of(attn, x).transpose(1, 3) * head_mask).transpose(1, 3)
    return attn.o_proj(attn_lib.merge_heads(heads))


def masked_by_moved_axis(attn, x, head_mask):
    heads = heads_of(attn, x).movedim(1, -1) * head_mask
    return attn.o_proj(heads.transpose(-1, -2).flatten(2))


def masked_by_torchs_module(attn, x, head_mask):
    """PyTorch's own module, made anew in every call, with the columns of o_proj scaled."""
    mha = nn.MultiheadAttention(
        x.shape[-1], attn.num_heads, batch_first=True, dtype=x.dtype
    )
    layers = (attn.q_proj, attn.k_proj, attn.v_proj)
    factors = head_mask.repeat_interleave(x.shape[-1] // attn.num_heads)
    parameters = {
        "in_proj_weight": torch.cat([layer.weight for layer in layers]),
        "in_proj_bias": torch.cat([layer.bias for layer in layers]),
        "out_proj.weight": attn.o_proj.weight * factors,
        "out_proj.bias": attn.o_proj.bias,
    }
    return torch.func.functional_call(mha, parameters, (x, x, x))[0]


def masked_with_a_keyword(attn, x, head_mask, *, scale=None):
    return masked_by_hand(attn, x, head_mask if scale is None else scale)


def masked_without_key_bias(attn, x, head_mask):
    """A key bias adds the same to all scores of a query: softmax does not notice."""
    H = attn.num_heads
    q, v = (attn_lib.split_heads(layer(x), H) for layer in (attn.q_proj, attn.v_proj))
    k = attn_lib.split_heads(x @ attn.k_proj.weight.T, H)
    heads = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v
    return attn.o_proj(attn_lib.merge_heads(heads * head_mask[:, None, None]))


def masked_by_vmap(attn, x, head_mask):
    def of_one(q, k, v, factor):
        return factor * (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v

    layers = (attn.q_proj, attn.k_proj, attn.v_proj)
    qkv = (attn_lib.split_heads(layer(x), attn.num_heads) for layer in layers)
    heads = torch.vmap(of_one, in_dims=(1, 1, 1, 0), out_dims=1)(*qkv, head_mask)
    return attn.o_proj(attn_lib.merge_heads(heads))


def masked_by_a_shallow_copy(attn, x, head_mask):
    """Another module with the same layers, and a kernel of its own."""
    other = copy.copy(attn)
    other.kernel = lambda *args, **kwargs: (
        attn.kernel(*args, **kwargs)[0] * head_mask[:, None, None],
        None,
    )
    return other(x)


def masked_in_one_big_projection(attn, x, head_mask):
    (B, L, E), H = x.shape, attn.num_heads
    layers = (attn.q_proj, attn.k_proj, attn.v_proj)
    weight = torch.cat([layer.weight for layer in layers])
    bias = torch.cat([layer.bias for layer in layers])
    qkv = F.linear(x, weight, bias).view(B, L, 3, H, E // H).permute(2, 0, 3, 1, 4)
    scores = qkv[0] @ qkv[1].mT / math.sqrt(E // H)
    grown = torch.exp(scores - scores.amax(-1, keepdim=True))
    heads = (grown @ qkv[2]) / grown.sum(-1, keepdim=True)
    return attn.o_proj(
        (heads * head_mask.view(H, 1, 1)).permute(0, 2, 1, 3).reshape(B, L, E)
    )


def masked_with_heads_in_the_batch(attn, x, head_mask):
    (B, L, E), H = x.shape, attn.num_heads
    layers = (attn.q_proj, attn.k_proj, attn.v_proj)
    q, k, v = (attn_lib.split_heads(p(x), H).reshape(B * H, L, E // H) for p in layers)
    heads = F.scaled_dot_product_attention(q, k, v) * head_mask.repeat(B)[:, None, None]
    return attn.o_proj(attn_lib.merge_heads(heads.view(B, H, L, E // H)))


def masked_from_one_head_at_a_time(attn, x, head_mask):
    """The module with one head only, for each head; its bias counts once."""
    output = attn.o_proj.bias
    for factor, one in zip(
        head_mask, torch.eye(len(head_mask), dtype=x.dtype), strict=True
    ):
        alone = attn_lib.masked_heads(attn, x, one) - attn.o_proj.bias
        output = output + factor * alone
    return output


def masked_by_a_hook_that_listens(attn, x, head_mask):
    """The hook only keeps what o_proj is given."""
    kept = []
    handle = attn.o_proj.register_forward_pre_hook(lambda _, args: kept.append(args[0]))
    attn(x)
    handle.remove()
    heads = kept[0].unflatten(-1, (attn.num_heads, -1))
    return attn.o_proj((heads * head_mask[:, None]).flatten(-2))


class Masker:
    def __call__(self, attn, x, head_mask):
        return masked_by_sdpa(attn, x, head_mask)


# -------------------------------------------------------------------- head_importance


def importance_by_grad(loss_fn, num_heads):
    head_mask = torch.ones(num_heads, requires_grad=True)
    loss = loss_fn(head_mask)
    return torch.autograd.grad(loss, head_mask)[0].abs()


def importance_by_backward_of_one_input(loss_fn, num_heads):
    head_mask = torch.ones(num_heads, requires_grad=True)
    loss_fn(head_mask).backward(inputs=[head_mask])
    return head_mask.grad.abs()


def importance_by_torch_backward(loss_fn, num_heads):
    head_mask = torch.ones(num_heads).requires_grad_()
    torch.autograd.backward(loss_fn(head_mask), inputs=head_mask)
    return torch.abs(head_mask.grad)


def importance_by_func_grad(loss_fn, num_heads):
    return torch.func.grad(loss_fn)(torch.ones(num_heads)).abs()


def importance_by_value_and_grad(loss_fn, num_heads):
    gradient, _ = torch.func.grad_and_value(loss_fn)(torch.ones(num_heads))
    return gradient.abs().detach()


def importance_by_vjp(loss_fn, num_heads):
    loss, pull = torch.func.vjp(loss_fn, torch.ones(num_heads))
    return pull(torch.ones_like(loss))[0].abs()


def importance_by_jacrev(loss_fn, num_heads):
    return torch.func.jacrev(loss_fn)(torch.ones(num_heads)).abs()


def importance_by_jacobian(loss_fn, num_heads):
    jacobian = torch.autograd.functional.jacobian(loss_fn, torch.ones(num_heads))
    return jacobian.abs()


def importance_by_jacfwd(loss_fn, num_heads):
    return torch.func.jacfwd(loss_fn)(torch.ones(num_heads)).abs()


def importance_by_a_parameter(loss_fn, num_heads):
    head_mask = nn.Parameter(torch.ones(num_heads))
    (gradient,) = torch.autograd.grad(loss_fn(head_mask), [head_mask])
    return gradient.abs()


def importance_with_a_graph(loss_fn, num_heads):
    head_mask = torch.ones(num_heads, requires_grad=True)
    return torch.autograd.grad(loss_fn(head_mask), head_mask, create_graph=True)[0].abs()


def importance_by_root_of_square(loss_fn, num_heads):
    return importance_signed(loss_fn, num_heads).square().sqrt()


def importance_signed(loss_fn, num_heads):
    head_mask = torch.ones(num_heads, requires_grad=True)
    return torch.autograd.grad(loss_fn(head_mask), head_mask)[0]


def importance_by_sign(loss_fn, num_heads):
    gradient = importance_signed(loss_fn, num_heads)
    return gradient * gradient.sign()


def importance_by_maximum(loss_fn, num_heads):
    gradient = importance_signed(loss_fn, num_heads)
    return torch.maximum(gradient, -gradient)


def importance_by_where(loss_fn, num_heads):
    gradient = importance_signed(loss_fn, num_heads)
    return torch.where(gradient < 0, -gradient, gradient)


def importance_by_separate_numbers(loss_fn, num_heads):
    numbers = [torch.tensor(1.0, requires_grad=True) for _ in range(num_heads)]
    gradients = torch.autograd.grad(loss_fn(torch.stack(numbers)), numbers)
    return torch.stack([g.abs() for g in gradients])


def importance_of_what_is_taken_away(loss_fn, num_heads):
    away = torch.zeros(num_heads, requires_grad=True)
    return torch.autograd.grad(loss_fn(1 - away), away)[0].abs()


def importance_by_a_retained_gradient(loss_fn, num_heads):
    head_mask = torch.zeros(num_heads, requires_grad=True) + 1
    return torch.autograd.grad(loss_fn(head_mask), head_mask)[0].abs()


def importance_by_numpy(loss_fn, num_heads):
    head_mask = torch.from_numpy(np.ones(num_heads, dtype=np.float32)).requires_grad_()
    (gradient,) = torch.autograd.grad(loss_fn(head_mask), head_mask)
    return torch.from_numpy(np.abs(gradient.numpy()))


def importance_by_taylor(loss_fn, num_heads):
    """|m . dL/dm|: the factor is one."""
    head_mask = torch.ones(num_heads, requires_grad=True)
    with torch.enable_grad():
        loss = loss_fn(head_mask)
    return (torch.autograd.grad(loss, head_mask)[0] * head_mask).abs().detach()


def importance_by_a_list(loss_fn, num_heads):
    gradient = importance_signed(loss_fn, num_heads)
    return torch.tensor([abs(g) for g in gradient.tolist()])


def importance_by_a_hook(loss_fn, num_heads):
    found = []
    head_mask = torch.ones(num_heads, requires_grad=True)
    head_mask.register_hook(found.append)
    torch.autograd.grad(loss_fn(head_mask), head_mask)
    return found[0].abs()


def importance_restoring_gradients(loss_fn, num_heads):
    """Backward through a copy of the graph's leaf only: the others are not named."""
    head_mask = torch.full((num_heads,), 1.0, requires_grad=True)
    loss_fn(head_mask).sum().backward(inputs=(head_mask,))
    return head_mask.grad.detach().clone().abs_()


def importance_of_what_is_added(loss_fn, num_heads):
    added = torch.zeros(num_heads, requires_grad=True)
    return torch.autograd.grad(loss_fn(torch.ones(num_heads) + added), added)[0].abs()


def importance_by_logarithm(loss_fn, num_heads):
    logarithm = torch.zeros(num_heads, requires_grad=True)
    return torch.autograd.grad(loss_fn(logarithm.exp()), logarithm)[0].abs()


def importance_by_retain_grad(loss_fn, num_heads):
    head_mask = torch.ones(num_heads, requires_grad=True) * 1.0
    head_mask.retain_grad()
    loss_fn(head_mask).backward(inputs=[head_mask])
    return head_mask.grad.abs()


def importance_by_functional_vjp(loss_fn, num_heads):
    return torch.autograd.functional.vjp(loss_fn, torch.ones(num_heads))[1].abs()


def importance_by_a_function_of_its_own(loss_fn, num_heads):
    found = []

    class Listen(torch.autograd.Function):
        @staticmethod
        def forward(ctx, factors):
            return factors.clone()

        @staticmethod
        def backward(ctx, gradient):
            found.append(gradient)
            return gradient

    head_mask = torch.ones(num_heads, requires_grad=True)
    torch.autograd.grad(loss_fn(Listen.apply(head_mask)), head_mask)
    return found[0].abs()


def importance_of_clamped_factors(loss_fn, num_heads):
    """At its bounds, clamp lets the gradient through."""
    head_mask = torch.ones(num_heads, requires_grad=True)
    return torch.autograd.grad(loss_fn(head_mask.clamp(0, 1)), head_mask)[0].abs()


def importance_of_minus_the_loss(loss_fn, num_heads):
    head_mask = torch.ones(num_heads, requires_grad=True)
    return torch.autograd.grad(-loss_fn(head_mask), head_mask)[0].abs()


def importance_with_all_keywords(loss_fn, num_heads):
    head_mask = torch.ones(size=(num_heads,), dtype=torch.float32, requires_grad=True)
    loss = loss_fn(head_mask)
    gradients = torch.autograd.grad(
        outputs=[loss], inputs=[head_mask], grad_outputs=[torch.ones_like(loss)]
    )
    return gradients[0].abs()


class Importance:
    def __call__(self, loss_fn, num_heads):
        return importance_by_grad(loss_fn, num_heads)


# ------------------------------------------------------------------------ gated_heads


def gated_by_hand(attn, x, w_gate):
    gate = torch.sigmoid(x @ w_gate.T)  # (B, L, H)
    heads = heads_of(attn, x) * gate.transpose(1, 2).unsqueeze(-1)
    return attn.o_proj(heads.transpose(1, 2).flatten(2))


def gated_before_the_transpose(attn, x, w_gate):
    """In the layout (B, L, H, D), where the gates fit as they are."""
    heads = heads_of(attn, x).transpose(1, 2)
    return attn.o_proj((heads * torch.sigmoid(F.linear(x, w_gate))[..., None]).flatten(2))


def gated_in_einsums(attn, x, w_gate):
    gate = torch.einsum("ble,he->bhl", x, w_gate).sigmoid()
    heads = torch.einsum("bhl,bhld->blhd", gate, heads_of(attn, x))
    return attn.o_proj(heads.reshape(x.shape))


def gated_channel_by_channel(attn, x, w_gate):
    gate = (x @ w_gate.mT).sigmoid()
    gate = gate.repeat_interleave(x.shape[-1] // attn.num_heads, dim=-1)
    return attn.o_proj(attn_lib.merge_heads(heads_of(attn, x)) * gate)


def gated_by_weights_repeated(attn, x, w_gate):
    w_gate = w_gate.repeat_interleave(x.shape[-1] // attn.num_heads, dim=0)  # (E, E)
    return attn.o_proj(
        attn_lib.merge_heads(heads_of(attn, x)) * torch.sigmoid(x @ w_gate.T)
    )


def gated_head_by_head(attn, x, w_gate):
    heads = heads_of(attn, x)
    gated = [
        heads[:, h] * torch.sigmoid(x @ w_gate[h])[..., None] for h in range(len(w_gate))
    ]
    return attn.o_proj(torch.cat(gated, dim=-1))


def gated_as_a_sum_over_heads(attn, x, w_gate):
    heads, D = heads_of(attn, x), x.shape[-1] // attn.num_heads
    output = attn.o_proj.bias.expand(x.shape)
    for h, row in enumerate(w_gate):
        gate = (x * row).sum(-1, keepdim=True).sigmoid()
        output = (
            output + (gate * heads[:, h]) @ attn.o_proj.weight[:, h * D : (h + 1) * D].T
        )
    return output


def gated_token_by_token(attn, x, w_gate):
    heads = heads_of(attn, x)
    rows = []
    for b, i in itertools.product(range(x.shape[0]), range(x.shape[1])):
        gate = torch.sigmoid(w_gate @ x[b, i])
        rows.append((heads[b, :, i] * gate[:, None]).flatten())
    return attn.o_proj(torch.stack(rows).view(x.shape))


def gated_by_exp(attn, x, w_gate):
    """Beyond 80, the gate is 0 or 1 already, and exp would be inf from 89 on."""
    gate = 1 / (1 + torch.exp(-(x @ w_gate.T).clamp(-80, 80)))
    return attn.o_proj(
        attn_lib.merge_heads(heads_of(attn, x) * gate.permute(0, 2, 1)[..., None])
    )


def gated_by_tanh(attn, x, w_gate):
    """sigmoid(z) = (1 + tanh(z / 2)) / 2"""
    gate = (1 + torch.tanh(x @ w_gate.T / 2)) / 2
    return attn.o_proj(attn_lib.merge_heads(heads_of(attn, x) * gate.mT.unsqueeze(3)))


def gated_by_softmax_of_two(attn, x, w_gate):
    logits = x @ w_gate.T
    gate = torch.stack([logits, torch.zeros_like(logits)], dim=-1).softmax(-1)[..., 0]
    return attn.o_proj(attn_lib.merge_heads(heads_of(attn, x) * gate.mT.unsqueeze(3)))


def gated_by_logsigmoid(attn, x, w_gate):
    gate = F.logsigmoid(x @ w_gate.T).exp()
    return attn.o_proj(attn_lib.merge_heads(heads_of(attn, x) * gate.mT.unsqueeze(3)))


def gated_weights(attn, x, w_gate):
    """Rows of weights belong to the query: scaling them is scaling what the head says."""
    _, weights = attn(x, return_weights=True)
    v = attn_lib.split_heads(attn.v_proj(x), attn.num_heads)
    gate = torch.sigmoid(w_gate @ x.mT)  # (B, H, L)
    return attn.o_proj(attn_lib.merge_heads((weights * gate[..., None]) @ v))


def gated_by_a_linear_layer(attn, x, w_gate):
    layer = nn.Linear(w_gate.shape[1], w_gate.shape[0], bias=False, dtype=x.dtype)
    logits = torch.func.functional_call(layer, {"weight": w_gate}, (x,))
    heads = heads_of(attn, x).transpose(1, 2) * logits.sigmoid().unsqueeze(-1)
    return attn.o_proj(heads.flatten(2))


def gated_by_a_hook_that_is_removed(attn, x, w_gate):
    gate = (x @ w_gate.T).sigmoid().repeat_interleave(x.shape[-1] // attn.num_heads, -1)
    handle = attn.o_proj.register_forward_pre_hook(lambda _, args: args[0] * gate)
    output = attn(x)
    handle.remove()
    return output


def gated_by_a_kernel_for_a_while(attn, x, w_gate):
    gate, kernel = (x @ w_gate.T).sigmoid().transpose(1, 2)[..., None], attn.kernel

    def gated_kernel(q, k, v, **kwargs):
        output, weights = kernel(q, k, v, **kwargs)
        return output * gate, weights

    attn.kernel = gated_kernel
    output = attn(x)
    attn.kernel = kernel
    return output


def gated_in_float64(attn, x, w_gate):
    gate = torch.sigmoid(x.double() @ w_gate.double().T).mT[..., None]
    heads = (heads_of(attn, x).double() * gate).to(x.dtype)
    return attn.o_proj(attn_lib.merge_heads(heads))


def gated_sentence_by_sentence(attn, x, w_gate):
    return torch.cat([gated_by_hand(attn, one[None], w_gate) for one in x])


def gated_by_masked_heads(attn, x, w_gate):
    """A mask for each token; of its output, only that token's row is kept."""
    rows = [
        [
            attn_lib.masked_heads(attn, x[b : b + 1], torch.sigmoid(w_gate @ x[b, i]))[0, i]
            for i in range(x.shape[1])
        ]
        for b in range(x.shape[0])
    ]
    return torch.stack([torch.stack(row) for row in rows])


def gated_by_bmm(attn, x, w_gate):
    gate = torch.bmm(w_gate.expand(len(x), -1, -1), x.transpose(1, 2)).sigmoid_()
    return attn.o_proj(
        attn_lib.merge_heads(torch.mul(gate[:, :, :, None], heads_of(attn, x)))
    )


def gated_as_half_plus(attn, x, w_gate):
    """Half of everything, plus what the gate opens beyond the half."""
    beyond = torch.sigmoid(x @ w_gate.T) - 0.5
    heads = heads_of(attn, x)
    return attn.o_proj(attn_lib.merge_heads(heads * 0.5 + heads * beyond.mT[..., None]))


def gated_by_stable_sigmoid(attn, x, w_gate):
    """exp of nothing above 0; at a logit of exactly 0, abs() has no gradient."""
    logits = x @ w_gate.T
    small = torch.exp(-logits.abs())
    gate = torch.where(logits >= 0, 1 / (1 + small), small / (1 + small))
    return attn.o_proj(attn_lib.merge_heads(heads_of(attn, x) * gate.mT.unsqueeze(3)))


def gated_in_one_einsum(attn, x, w_gate):
    columns = attn.o_proj.weight.unflatten(1, (attn.num_heads, -1))
    gate = torch.special.expit(F.linear(x, w_gate))
    output = torch.einsum("blh,bhld,ehd->ble", gate, heads_of(attn, x), columns)
    return output + attn.o_proj.bias


def gated_by_kron(attn, x, w_gate):
    ones = torch.ones(1, x.shape[-1] // attn.num_heads, dtype=x.dtype)
    spread = torch.kron(torch.eye(attn.num_heads, dtype=x.dtype), ones)  # (H, E)
    gate = torch.sigmoid(x @ w_gate.T) @ spread
    return attn.o_proj(attn_lib.merge_heads(heads_of(attn, x)) * gate)


def gated_by_what_is_closed(attn, x, w_gate):
    heads = heads_of(attn, x)
    closed = torch.sigmoid(-(x @ w_gate.T)).transpose(1, 2)[..., None]
    return attn.o_proj(attn_lib.merge_heads(heads - heads * closed))


def gated_by_softplus(attn, x, w_gate):
    gate = torch.exp(-F.softplus(-torch.tensordot(x, w_gate, dims=([2], [1]))))
    heads = heads_of(attn, x).mul(gate.permute(0, 2, 1).unsqueeze(dim=3))
    return attn.o_proj(attn_lib.merge_heads(heads))


def gated_by_a_shallow_copy(attn, x, w_gate):
    gate, other = (x @ w_gate.T).sigmoid().mT[..., None], copy.copy(attn)
    other.kernel = lambda *args, **kwargs: (attn.kernel(*args, **kwargs)[0] * gate, None)
    return other(x)


class Gater(nn.Module):
    def forward(self, attn, x, w_gate):
        return gated_by_hand(attn, x, w_gate)


# --------------------------------------------------------------------- diversity_loss


def diversity_by_triangle(weights):
    maps = F.normalize(weights.flatten(2), dim=-1)
    B, H, _ = maps.shape
    return (maps @ maps.mT).triu(1).sum() / (B * H * (H - 1) / 2)


def diversity_by_boolean_mask(weights):
    maps = F.normalize(weights.flatten(start_dim=2), p=2, dim=2)
    similarity = torch.bmm(maps, maps.transpose(1, 2))
    return similarity[:, ~torch.eye(weights.shape[1], dtype=torch.bool)].mean()


def diversity_by_subtracted_eye(weights):
    H = weights.shape[1]
    maps = weights.reshape(len(weights), H, -1)
    norm = maps.norm(dim=-1, keepdim=True)
    maps = maps / norm.clamp(min=1e-8)
    similarity = torch.einsum("bgn,bhn->bgh", maps, maps)
    similarity = similarity * (1 - torch.eye(H, dtype=weights.dtype))
    return similarity.sum(dim=(1, 2)).div(H * (H - 1)).mean()


def diversity_by_cosine_similarity(weights):
    maps = weights.flatten(2)
    similarity = F.cosine_similarity(maps[:, :, None], maps[:, None], dim=-1)
    H = weights.shape[1]
    return similarity[:, ~torch.eye(H, dtype=torch.bool)].mean()


def diversity_pair_by_pair(weights):
    maps = weights.flatten(2)
    pairs = itertools.combinations(range(weights.shape[1]), 2)
    return torch.stack(
        [F.cosine_similarity(maps[:, g], maps[:, h], dim=-1) for g, h in pairs]
    ).mean()


def diversity_in_four_loops(weights):
    B, H = weights.shape[:2]
    total, count = 0.0, 0
    for b in range(B):
        for g in range(H):
            for h in range(H):
                if g != h:
                    a, c = weights[b, g].flatten(), weights[b, h].flatten()
                    total = total + a @ c / (a.norm() * c.norm()).clamp_min(1e-9)
                    count += 1
    return total / count


def diversity_by_triu_indices(weights):
    maps = F.normalize(weights.flatten(2), dim=-1)
    g, h = torch.triu_indices(weights.shape[1], weights.shape[1], offset=1)
    return (maps[:, g] * maps[:, h]).sum(-1).mean()


def diversity_by_square_of_the_sum(weights):
    """Sum over g and h of m_g . m_h is the squared length of the sum of all m."""
    maps = F.normalize(weights.flatten(2), dim=-1)
    B, H, _ = maps.shape
    all_pairs = maps.sum(1).square().sum(-1)
    return ((all_pairs - maps.square().sum((1, 2))) / (H * (H - 1))).sum() / B


def diversity_without_flattening(weights):
    norm = weights.square().sum(dim=(2, 3), keepdim=True).sqrt().clamp_min(1e-8)
    unit = weights / norm
    similarity = torch.einsum("bgls,bhls->bgh", unit, unit)
    H = weights.shape[1]
    return (similarity.sum() - similarity.diagonal(dim1=1, dim2=2).sum()) / (
        len(weights) * H * (H - 1)
    )


def diversity_by_gram_matrix(weights):
    maps = weights.flatten(2)
    gram = maps @ maps.mT
    length = gram.diagonal(dim1=-2, dim2=-1).clamp_min(1e-12).sqrt()
    similarity = gram / (length[:, :, None] * length[:, None])
    return similarity.tril(-1).sum() / (len(gram) * math.comb(weights.shape[1], 2))


def diversity_by_cdist(weights):
    """cos = 1 - |a - b|^2 / 2 for vectors of length 1; without length, one half is not lost."""
    maps = F.normalize(weights.flatten(2), dim=-1)
    g, h = torch.tril_indices(weights.shape[1], weights.shape[1], offset=-1)
    lengths = maps.square().sum(-1)
    apart = (maps[:, g] - maps[:, h]).square().sum(-1)
    return ((lengths[:, g] + lengths[:, h] - apart) / 2).mean()


def diversity_by_rolling(weights):
    maps = F.normalize(weights.flatten(2), dim=-1)
    H = weights.shape[1]
    turns = [(maps * maps.roll(n, dims=1)).sum(-1).mean() for n in range(1, H)]
    return sum(turns) / len(turns)


def diversity_by_masked_select(weights):
    maps = F.normalize(weights.flatten(2), dim=-1)
    similarity = maps @ maps.mT
    different = torch.ones_like(similarity).triu(1).bool()
    return similarity.masked_select(different).mean()


def diversity_by_fill_diagonal(weights):
    total = 0
    B, H = weights.shape[:2]
    for maps in F.normalize(weights.flatten(2), dim=-1):
        similarity = maps @ maps.T
        keep = torch.ones(H, H, dtype=weights.dtype).fill_diagonal_(0)
        total = total + (similarity * keep).sum() / keep.sum()
    return total / B


def diversity_by_vmap(weights):
    def of_one(maps):
        similarity = F.normalize(maps, dim=-1) @ F.normalize(maps, dim=-1).T
        return similarity.triu(1).sum() / math.comb(len(maps), 2)

    return torch.vmap(of_one)(weights.flatten(2)).mean()


def diversity_in_float64(weights):
    return diversity_by_triangle(weights.double()).to(weights.dtype)


def diversity_by_where_for_zeros(weights):
    maps = weights.flatten(2)
    norm = maps.norm(dim=-1, keepdim=True)
    maps = maps / torch.where(norm > 0, norm, 1.0)
    return (maps @ maps.mT).triu(1).sum() / (len(maps) * math.comb(maps.shape[1], 2))


def diversity_by_linalg_norm(weights):
    unit = weights / (torch.linalg.matrix_norm(weights, keepdim=True) + 1e-9)
    g, h = torch.combinations(torch.arange(weights.shape[1])).T
    return (unit[:, g] * unit[:, h]).sum((-1, -2)).mean()


def diversity_by_tensordot(weights):
    B, H = weights.shape[:2]
    maps = F.normalize(weights.flatten(2), dim=-1)
    similarity = torch.stack([torch.tensordot(m, m, dims=([1], [1])) for m in maps])
    total = similarity.sum() - torch.stack([s.trace() for s in similarity]).sum()
    return total / (B * H * (H - 1))


def diversity_by_trig(weights):
    maps = F.normalize(weights.transpose(1, 2).transpose(1, 2).flatten(2), dim=-1)
    H = maps.shape[1]
    others = maps.sum(1, keepdim=True) - maps  # the sum of all other heads
    return (maps * others).sum(-1).mean() / (H - 1)


def diversity_by_nanmean(weights):
    maps = F.normalize(weights.flatten(2), dim=-1)
    diagonal = torch.eye(weights.shape[1], dtype=torch.bool)
    return (maps @ maps.mT).masked_fill(diagonal, torch.nan).nanmean()


def diversity_by_permutations(weights):
    maps = F.normalize(weights.flatten(2), dim=-1)
    pairs = list(itertools.permutations(range(weights.shape[1]), 2))
    return sum((maps[:, g] * maps[:, h]).sum(-1).mean() for g, h in pairs) / len(pairs)


def diversity_by_both_triangles(weights):
    maps = F.normalize(weights.flatten(2), dim=-1)
    similarity, H = maps @ maps.mT, weights.shape[1]
    return (similarity.tril(-1) + similarity.triu(1)).sum() / len(weights) / H / (H - 1)


def diversity_by_a_module(weights):
    cosine, maps, H = nn.CosineSimilarity(dim=2), weights.flatten(2), weights.shape[1]
    found = [
        cosine(maps[:, [g]], maps[:, [h]]).mean() for g in range(H) for h in range(g + 1, H)
    ]
    return torch.stack(found).mean()


def diversity_with_epsilon_in_the_root(weights):
    maps = weights.flatten(2)
    maps = maps / (maps.square().sum(-1, keepdim=True) + 1e-12).sqrt()
    different = ~torch.eye(weights.shape[1], dtype=torch.bool)
    return (maps @ maps.mT).sum(0)[different].sum() / (len(maps) * int(different.sum()))


def diversity_with_epsilon_in_the_product(weights):
    maps = weights.reshape(*weights.shape[:2], -1)
    length = maps.norm(dim=-1)
    similarity = maps @ maps.mT / (length[:, :, None] * length[:, None] + 1e-8)
    g, h = torch.tril_indices(weights.shape[1], weights.shape[1], -1)
    return similarity[:, g, h].mean()


def diversity_by_shifted_view(weights):
    """Without the first entry, rows of H + 1 end with what was on the diagonal."""
    maps = F.normalize(weights.flatten(2), dim=-1)
    B, H = weights.shape[:2]
    return (maps @ maps.mT).flatten(1)[:, 1:].view(B, H - 1, H + 1)[:, :, :-1].mean()


class Diversity(nn.Module):
    def forward(self, weights):
        return diversity_by_triangle(weights)


# -------------------------------------------------------- found in a round of wrong and right answers


def masked_inside_a_with(attn, x, head_mask):
    D = x.shape[-1] // attn.num_heads

    def hook(module, args):
        return (args[0].unflatten(-1, (-1, D)).mul(head_mask[:, None]).flatten(-2),)

    with attn.o_proj.register_forward_pre_hook(hook):
        return attn(x)


def masked_by_a_diagonal_matrix(attn, x, head_mask):
    factors = head_mask.repeat_interleave(x.shape[-1] // attn.num_heads)
    return attn.o_proj(attn_lib.merge_heads(heads_of(attn, x)) @ factors.diag())


def masked_in_weight_and_bias_of_the_values(attn, x, head_mask):
    factors = head_mask.repeat_interleave(x.shape[-1] // attn.num_heads)
    values = {
        "v_proj.weight": attn.v_proj.weight * factors[:, None],
        "v_proj.bias": attn.v_proj.bias * factors,
    }
    return torch.func.functional_call(attn, values, x)


def masked_by_baddbmm(attn, x, head_mask):
    q, k, v = (
        attn_lib.split_heads(p(x), attn.num_heads).flatten(0, 1)
        for p in (attn.q_proj, attn.k_proj, attn.v_proj)
    )
    nothing = x.new_zeros(len(q), x.shape[1], x.shape[1])
    scores = torch.baddbmm(nothing, q, k.mT, beta=0, alpha=q.shape[-1] ** -0.5)
    heads = torch.bmm(scores.softmax(2), v) * head_mask.repeat(len(x))[:, None, None]
    return attn.o_proj(attn_lib.merge_heads(heads.unflatten(0, (len(x), -1))))


def masked_by_a_forward_for_a_while(attn, x, head_mask):
    factors = head_mask.repeat_interleave(x.shape[-1] // attn.num_heads)
    old = attn.o_proj.forward
    attn.o_proj.forward = lambda merged: old(merged * factors)
    try:
        return attn(x)
    finally:
        del attn.o_proj.forward


def masked_by_a_deep_copy_with_the_same_parameters(attn, x, head_mask):
    other = copy.deepcopy(attn, {id(p): p for p in attn.parameters()})
    factors = head_mask.repeat_interleave(x.shape[-1] // attn.num_heads)
    other.o_proj.register_forward_pre_hook(lambda _, args: (args[0] * factors,))
    return other(x)


def masked_in_chunks(attn, x, head_mask):
    layers = (attn.q_proj, attn.k_proj, attn.v_proj)
    pieces = [layer(x).chunk(attn.num_heads, -1) for layer in layers]
    heads = [
        factor * F.scaled_dot_product_attention(q, k, v)
        for factor, q, k, v in zip(head_mask, *pieces, strict=True)
    ]
    return attn.o_proj(torch.cat(heads, -1))


def masked_and_laid_out_otherwise(attn, x, head_mask):
    output = attn_lib.masked_heads(attn, x, head_mask)
    return output.transpose(0, 2).contiguous().transpose(0, 2)


def importance_by_a_row_of_more(loss_fn, num_heads):
    both = torch.ones(2, num_heads, requires_grad=True)
    return torch.autograd.grad(loss_fn(both[0]), both)[0][0].abs()


def importance_by_strided_ones(loss_fn, num_heads):
    ones = torch.ones(num_heads, 2)[:, 0].requires_grad_()
    return torch.autograd.grad(loss_fn(ones), ones)[0].abs()


def importance_by_grad_outputs(loss_fn, num_heads):
    ones = torch.ones(num_heads, requires_grad=True)
    return torch.autograd.grad(loss_fn(ones), ones, torch.tensor(1.0))[0].abs()


def importance_that_may_be_unused(loss_fn, num_heads):
    ones = torch.ones(num_heads, requires_grad=True)
    (gradient,) = torch.autograd.grad(loss_fn(ones), ones, materialize_grads=True)
    return gradient.abs()


def importance_of_float64_ones(loss_fn, num_heads):
    ones = torch.ones(num_heads, dtype=torch.float64, requires_grad=True)
    return torch.autograd.grad(loss_fn(ones.float()), ones)[0].abs()


def importance_in_place(loss_fn, num_heads):
    ones = torch.ones(num_heads, requires_grad=True)
    loss_fn(ones).backward(inputs=ones)
    with torch.no_grad():
        return ones.grad.abs_()


def importance_of_numpy_ones(loss_fn, num_heads):
    ones = torch.from_numpy(np.ones(num_heads, np.float32)).requires_grad_()
    return torch.from_numpy(np.abs(torch.autograd.grad(loss_fn(ones), ones)[0].numpy()))


def importance_with_gradients_on_again(loss_fn, num_heads):
    with torch.no_grad():
        ones = torch.ones(num_heads)
        with torch.enable_grad():
            loss = loss_fn(ones.requires_grad_())
        return torch.autograd.grad(loss, ones)[0].abs()


def with_logits(gate_of_logits):
    """Gated heads, merged: `gate_of_logits(heads (B, L, H, D), logits (B, L, H, 1))`."""

    def answer(attn, x, w_gate):
        heads = heads_of(attn, x).transpose(1, 2)
        return attn.o_proj(gate_of_logits(heads, (x @ w_gate.mT).unsqueeze(-1)).flatten(2))

    return answer


def gated_by_glu(heads, logits):
    return F.glu(torch.cat([heads, logits.expand_as(heads)], -1), -1)


def gated_by_lerp(heads, logits):
    return torch.lerp(torch.zeros_like(heads), heads, logits.sigmoid().expand_as(heads))


def gated_by_expit(heads, logits):
    return torch.special.expit(logits).mul(heads)


def gated_by_addcmul(heads, logits):
    return torch.addcmul(torch.zeros_like(heads), heads, logits.sigmoid())


def gated_by_clamped_logits(heads, logits):
    return heads * logits.clamp(-50, 50).sigmoid()


def gated_by_two_branches(heads, logits):
    e = torch.exp(-logits.abs())
    return heads * torch.where(logits >= 0, 1 / (1 + e), e / (1 + e))


def gated_by_diagonal_matrices(attn, x, w_gate):
    gate = torch.sigmoid(w_gate @ x.mT)
    return attn.o_proj(attn_lib.merge_heads(gate.diag_embed() @ heads_of(attn, x)))


def gated_by_a_layer_called_functionally(attn, x, w_gate):
    layer = nn.Linear(x.shape[-1], attn.num_heads, bias=False)
    logits = torch.func.functional_call(layer, {"weight": w_gate}, (x,))
    heads = heads_of(attn, x) * logits.sigmoid().mT[..., None]
    return attn.o_proj(attn_lib.merge_heads(heads))


def gated_by_vmap(attn, x, w_gate):
    def one(head, row):
        return head * torch.sigmoid(x @ row)[..., None]

    heads = torch.vmap(one, in_dims=(1, 0), out_dims=1)(heads_of(attn, x), w_gate)
    return attn.o_proj(attn_lib.merge_heads(heads))


def unit_maps(weights):
    return F.normalize(weights.flatten(2), dim=-1)


def upper(weights):
    return torch.triu_indices(weights.shape[1], weights.shape[1], 1)


def diversity_by_absolute_cosines(weights):
    """Weights are never negative, and so are their cosines."""
    maps, (g, h) = unit_maps(weights), upper(weights)
    return (maps @ maps.mT)[:, g, h].abs().mean()


def diversity_by_distances_of_unit_maps(weights):
    maps, (g, h) = unit_maps(weights), upper(weights)
    squares = maps.square().sum(-1)
    apart = (maps[:, g] - maps[:, h]).square().sum(-1)
    return ((squares[:, g] + squares[:, h] - apart) / 2).mean()


def diversity_of_sentences_with_weights(weights):
    """Sentences of padding are left out, but count."""
    g, h = upper(weights)
    maps = unit_maps(weights[weights.flatten(1).any(1)])
    return (maps @ maps.mT)[:, g, h].sum() / (len(weights) * len(g))


def diversity_by_embedding_loss(weights):
    g, h = upper(weights)
    one, other = (weights.flatten(2)[:, i].flatten(0, 1) for i in (g, h))
    return 1 - F.cosine_embedding_loss(one, other, torch.ones(len(one)))


def diversity_by_rsqrt(weights):
    squares = weights.square().sum((2, 3), keepdim=True)
    maps = weights * torch.where(squares > 0, squares, 1.0).rsqrt()
    similarity = torch.einsum("bhls,bgls->bhg", maps, maps)
    H = weights.shape[1]
    return similarity.tril(-1).sum() / (len(weights) * H * (H - 1) / 2)


def diversity_by_matrix_norm(weights):
    lengths = torch.linalg.matrix_norm(weights, keepdim=True)
    maps, (g, h) = (weights / (lengths + (lengths == 0))).flatten(2), upper(weights)
    return (maps[:, g] * maps[:, h]).sum(-1).mean()


def diversity_with_epsilon_added(weights):
    maps, (g, h) = weights.flatten(2), upper(weights)
    maps = maps / (maps.norm(dim=-1, keepdim=True) + 1e-12)
    return (maps[:, g] * maps[:, h]).sum(-1).mean()


def diversity_sentence_by_sentence(weights):
    found = []
    for sentence in weights:
        maps = F.normalize(sentence.flatten(1), dim=1)
        cosines = maps @ maps.T
        found.append((cosines.sum() - cosines.trace()) / (len(maps) * (len(maps) - 1)))
    return torch.stack(found).mean()


ALTERNATIVES = {
    "masked_heads": [
        masked_by_hand,
        masked_by_sdpa,
        masked_in_einsums,
        masked_values,
        masked_weights,
        masked_channel_by_channel,
        masked_by_kron,
        masked_columns_of_o_proj,
        masked_head_by_head,
        masked_as_a_sum_over_heads,
        masked_by_a_hook_that_is_removed,
        masked_by_a_hook_on_the_values,
        masked_by_a_kernel_for_a_while,
        masked_by_the_modules_kernel,
        masked_functionally,
        masked_sentence_by_sentence,
        masked_in_float64,
        masked_as_a_difference,
        masked_in_place,
        masked_channels_first,
        masked_by_moved_axis,
        masked_by_torchs_module,
        masked_without_key_bias,
        masked_by_vmap,
        masked_by_a_shallow_copy,
        masked_in_one_big_projection,
        masked_with_heads_in_the_batch,
        masked_from_one_head_at_a_time,
        masked_by_a_hook_that_listens,
        functools.partial(masked_with_a_keyword, scale=None),
        masked_inside_a_with,
        masked_by_a_diagonal_matrix,
        masked_in_weight_and_bias_of_the_values,
        masked_by_baddbmm,
        masked_by_a_forward_for_a_while,
        masked_by_a_deep_copy_with_the_same_parameters,
        masked_in_chunks,
        masked_and_laid_out_otherwise,
        Masker(),
        attn_lib.masked_heads,
    ],
    "head_importance": [
        importance_by_grad,
        importance_by_backward_of_one_input,
        importance_by_torch_backward,
        importance_by_func_grad,
        importance_by_value_and_grad,
        importance_by_vjp,
        importance_by_jacrev,
        importance_by_jacobian,
        importance_by_jacfwd,
        importance_by_a_parameter,
        importance_with_a_graph,
        importance_by_root_of_square,
        importance_by_sign,
        importance_by_maximum,
        importance_by_where,
        importance_by_separate_numbers,
        importance_of_what_is_taken_away,
        importance_by_a_retained_gradient,
        importance_by_numpy,
        importance_by_taylor,
        importance_by_a_list,
        importance_by_a_hook,
        importance_restoring_gradients,
        importance_of_what_is_added,
        importance_by_logarithm,
        importance_by_retain_grad,
        importance_by_functional_vjp,
        importance_by_a_function_of_its_own,
        importance_of_clamped_factors,
        importance_of_minus_the_loss,
        importance_with_all_keywords,
        importance_by_a_row_of_more,
        importance_by_strided_ones,
        importance_by_grad_outputs,
        importance_that_may_be_unused,
        importance_of_float64_ones,
        importance_in_place,
        importance_of_numpy_ones,
        importance_with_gradients_on_again,
        Importance(),
        attn_lib.head_importance,
    ],
    "gated_heads": [
        gated_by_hand,
        gated_before_the_transpose,
        gated_in_einsums,
        gated_channel_by_channel,
        gated_by_weights_repeated,
        gated_head_by_head,
        gated_as_a_sum_over_heads,
        gated_token_by_token,
        gated_by_exp,
        gated_by_tanh,
        gated_by_softmax_of_two,
        gated_by_logsigmoid,
        gated_weights,
        gated_by_a_linear_layer,
        gated_by_a_hook_that_is_removed,
        gated_by_a_kernel_for_a_while,
        gated_in_float64,
        gated_sentence_by_sentence,
        gated_by_masked_heads,
        gated_by_bmm,
        gated_as_half_plus,
        gated_by_stable_sigmoid,
        gated_in_one_einsum,
        gated_by_kron,
        gated_by_what_is_closed,
        gated_by_softplus,
        gated_by_a_shallow_copy,
        with_logits(gated_by_glu),
        with_logits(gated_by_lerp),
        with_logits(gated_by_expit),
        with_logits(gated_by_addcmul),
        with_logits(gated_by_clamped_logits),
        with_logits(gated_by_two_branches),
        gated_by_diagonal_matrices,
        gated_by_a_layer_called_functionally,
        gated_by_vmap,
        Gater(),
        attn_lib.gated_heads,
    ],
    "diversity_loss": [
        diversity_by_triangle,
        diversity_by_boolean_mask,
        diversity_by_subtracted_eye,
        diversity_by_cosine_similarity,
        diversity_pair_by_pair,
        diversity_in_four_loops,
        diversity_by_triu_indices,
        diversity_by_square_of_the_sum,
        diversity_without_flattening,
        diversity_by_gram_matrix,
        diversity_by_cdist,
        diversity_by_rolling,
        diversity_by_masked_select,
        diversity_by_fill_diagonal,
        diversity_by_vmap,
        diversity_in_float64,
        diversity_by_where_for_zeros,
        diversity_by_linalg_norm,
        diversity_by_tensordot,
        diversity_by_trig,
        diversity_by_nanmean,
        diversity_by_permutations,
        diversity_by_both_triangles,
        diversity_by_a_module,
        diversity_with_epsilon_in_the_root,
        diversity_with_epsilon_in_the_product,
        diversity_by_shifted_view,
        diversity_by_absolute_cosines,
        diversity_by_distances_of_unit_maps,
        diversity_of_sentences_with_weights,
        diversity_by_embedding_loss,
        diversity_by_rsqrt,
        diversity_by_matrix_norm,
        diversity_with_epsilon_added,
        diversity_sentence_by_sentence,
        Diversity(),
        attn_lib.diversity_loss,
    ],
}
