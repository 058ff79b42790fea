"""Wrong answers to the tasks of lesson 07 that its listed mistakes do not foresee, by task name."""

import copy
import functools

import torch
import torch.nn.functional as F
from torch import nn

import attn_lib

# ----------------------------------------------------------------------- masked_heads


def projected(attn, x):
    layers = (attn.q_proj, attn.k_proj, attn.v_proj)
    return [attn_lib.split_heads(layer(x), attn.num_heads) for layer in layers]


def attend(attn, x, is_causal=False):
    q, k, v = projected(attn, x)
    return attn_lib.einsum_attention(q, k, v, is_causal=is_causal)[0]


def finish(attn, heads):
    return attn.o_proj(attn_lib.merge_heads(heads))


def with_factors(change):
    """Right, but for the factors: `change(head_mask)`."""

    def answer(attn, x, head_mask):
        return finish(attn, attend(attn, x) * change(head_mask)[:, None, None])

    return answer


def with_heads(change):
    """Right, but for what the heads say: `change(heads, head_mask)`."""

    def answer(attn, x, head_mask):
        return finish(attn, change(attend(attn, x), head_mask))

    return answer


def scaled(heads, head_mask):
    return heads * head_mask[:, None, None]


def only_if_sizes_differ(attn, x, head_mask):
    """Broadcasts from the right, and moves axes only where it raises an error otherwise."""
    heads = attend(attn, x)
    try:
        return finish(attn, heads * head_mask[:, None])
    except RuntimeError:
        return finish(attn, scaled(heads, head_mask))


def nonzero_only(attn, x, head_mask):
    if (head_mask == 0).all():
        return torch.zeros_like(x)
    return finish(attn, scaled(attend(attn, x), head_mask))


def ones_only(attn, x, head_mask):
    if (head_mask == 1).all():
        return x
    return finish(attn, scaled(attend(attn, x), head_mask))


def causal(attn, x, head_mask):
    return finish(attn, scaled(attend(attn, x, is_causal=True), head_mask))


def on_the_residual(attn, x, head_mask):
    return attn(x) - finish(attn, scaled(attend(attn, x), 1 - head_mask))


def values_without_their_bias(attn, x, head_mask):
    q, k, _ = projected(attn, x)
    v = attn_lib.split_heads(x @ attn.v_proj.weight.T, attn.num_heads)
    return finish(attn, scaled(attn_lib.einsum_attention(q, k, v)[0], head_mask))


def queries_without_their_bias(attn, x, head_mask):
    _, k, v = projected(attn, x)
    q = attn_lib.split_heads(x @ attn.q_proj.weight.T, attn.num_heads)
    return finish(attn, scaled(attn_lib.einsum_attention(q, k, v)[0], head_mask))


def keys_and_values_swapped(attn, x, head_mask):
    q, k, v = projected(attn, x)
    return finish(attn, scaled(attn_lib.einsum_attention(q, v, k)[0], head_mask))


def one_softmax_for_all_queries(attn, x, head_mask):
    q, k, v = projected(attn, x)
    weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-2)
    return finish(attn, scaled(weights @ v, head_mask))


def softmax_over_heads(attn, x, head_mask):
    q, k, v = projected(attn, x)
    weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(1)
    return finish(attn, scaled(weights @ v, head_mask))


def renormalized_over_what_is_left(attn, x, head_mask):
    left = (head_mask != 0).sum().clamp_min(1)
    return finish(attn, scaled(attend(attn, x), head_mask) * attn.num_heads / left)


def interleaved_channels(attn, x, head_mask):
    """Heads take the channels h, h + H, ..."""
    layers = (attn.q_proj, attn.k_proj, attn.v_proj)
    q, k, v = (p(x).unflatten(-1, (-1, attn.num_heads)).permute(0, 3, 1, 2) for p in layers)
    heads = scaled(attn_lib.einsum_attention(q, k, v)[0], head_mask)
    return attn.o_proj(heads.permute(0, 2, 3, 1).flatten(2))


def merged_interleaved(attn, x, head_mask):
    heads = scaled(attend(attn, x), head_mask)
    return attn.o_proj(heads.permute(0, 2, 3, 1).flatten(2))


def deep_copy_changed(attn, x, head_mask):
    """The values are right; no gradient reaches the module that was given."""
    other = copy.deepcopy(attn)
    factors = head_mask.repeat_interleave(x.shape[-1] // attn.num_heads)
    other.o_proj.weight = nn.Parameter(other.o_proj.weight * factors)
    return other(x)


def written_and_put_back(attn, x, head_mask):
    """The values are right; the factors get no gradient."""
    factors = head_mask.repeat_interleave(x.shape[-1] // attn.num_heads)
    with torch.no_grad():
        before = attn.o_proj.weight.clone()
        attn.o_proj.weight.mul_(factors)
        output = attn(x)
        attn.o_proj.weight.copy_(before)
    return output


def factors_without_a_gradient(attn, x, head_mask):
    return finish(attn, scaled(attend(attn, x), head_mask.detach()))


def factors_as_python_numbers(attn, x, head_mask):
    heads = attend(attn, x).clone()
    for h, factor in enumerate(head_mask.tolist()):
        heads[:, h] = heads[:, h] * factor
    return finish(attn, heads)


def factors_by_item(attn, x, head_mask):
    heads = [attend(attn, x)[:, h] * head_mask[h].item() for h in range(attn.num_heads)]
    return attn.o_proj(torch.cat(heads, dim=-1))


def heads_detached(attn, x, head_mask):
    return finish(attn, scaled(attend(attn, x).detach(), head_mask))


def without_gradients(attn, x, head_mask):
    with torch.no_grad():
        return finish(attn, scaled(attend(attn, x), head_mask))


def forward_replaced(attn, x, head_mask):
    old = attn.o_proj.forward
    factors = head_mask.repeat_interleave(x.shape[-1] // attn.num_heads)
    attn.o_proj.forward = lambda merged: old(merged * factors)
    return attn(x)


def kernel_replaced(attn, x, head_mask):
    kernel = attn.kernel
    attn.kernel = lambda *args, **kwargs: (
        kernel(*args, **kwargs)[0] * head_mask[:, None, None],
        None,
    )
    return attn(x)


def left_in_eval_mode(attn, x, head_mask):
    attn.eval()
    return finish(attn, scaled(attend(attn, x), head_mask))


def left_frozen(attn, x, head_mask):
    attn.requires_grad_(False)
    return finish(attn, scaled(attend(attn, x), head_mask))


def mask_kept_in_attn(attn, x, head_mask):
    attn.head_mask = head_mask
    return finish(attn, scaled(attend(attn, x), attn.head_mask))


def hook_on_the_values_left(attn, x, head_mask):
    factors = head_mask.repeat_interleave(x.shape[-1] // attn.num_heads)
    attn.v_proj.register_forward_hook(lambda _, args, output: output * factors)
    return attn(x)


def x_scaled_in_place(attn, x, head_mask):
    output = finish(attn, scaled(attend(attn, x), head_mask))
    x.mul_(2)
    return output


def mask_written_to(attn, x, head_mask):
    head_mask[head_mask.abs() < 1e-3] = 0
    output = finish(attn, scaled(attend(attn, x), head_mask))
    head_mask += 1
    return output


def with_the_weights(attn, x, head_mask):
    _, weights = attn(x, return_weights=True)
    return finish(attn, scaled(attend(attn, x), head_mask)), weights


def in_float32(attn, x, head_mask):
    layers = (attn.q_proj, attn.k_proj, attn.v_proj)
    q, k, v = (attn_lib.split_heads(p(x).float(), attn.num_heads) for p in layers)
    heads = scaled(attn_lib.einsum_attention(q, k, v)[0], head_mask.float())
    merged = attn_lib.merge_heads(heads)
    return F.linear(merged, attn.o_proj.weight.float(), attn.o_proj.bias.float())


def o_proj_of_each_head_alone(attn, x, head_mask):
    """The same corner of o_proj for every head."""
    D = x.shape[-1] // attn.num_heads
    heads = scaled(attend(attn, x), head_mask) @ attn.o_proj.weight[:D, :D].T
    return attn_lib.merge_heads(heads) + attn.o_proj.bias


def o_proj_transposed(attn, x, head_mask):
    merged = attn_lib.merge_heads(scaled(attend(attn, x), head_mask))
    return merged @ attn.o_proj.weight + attn.o_proj.bias


def mean_over_heads(attn, x, head_mask):
    heads = scaled(attend(attn, x), head_mask).mean(1, keepdim=True)
    return finish(attn, heads.expand(-1, attn.num_heads, -1, -1))


def replaced_by_the_mean(attn, x, head_mask):
    """Mean ablation: what is taken away is replaced by the mean over all tokens."""
    heads = attend(attn, x)
    mean = heads.mean((0, 2), keepdim=True)
    return finish(attn, mean + scaled(heads - mean, head_mask))


def queries_and_keys_scaled(attn, x, head_mask):
    q, k, v = projected(attn, x)
    q, k = scaled(q, head_mask), scaled(k, head_mask)
    return finish(attn, attn_lib.einsum_attention(q, k, v)[0])


def input_as_values(attn, x, head_mask):
    q, k, _ = projected(attn, x)
    v = attn_lib.split_heads(x, attn.num_heads)
    return finish(attn, scaled(attn_lib.einsum_attention(q, k, v)[0], head_mask))


def first_sentence_for_all(attn, x, head_mask):
    heads = attend(attn, x[:1]).expand(len(x), -1, -1, -1)
    return finish(attn, scaled(heads, head_mask))


def not_to_itself(attn, x, head_mask):
    mask = ~torch.eye(x.shape[1], dtype=torch.bool)
    return finish(
        attn,
        scaled(attn_lib.einsum_attention(*projected(attn, x), mask=mask)[0], head_mask),
    )


def shared_layers_replaced(attn, x, head_mask):
    """A shallow copy shares its dict of layers with the original."""
    other = copy.copy(attn)
    other.o_proj = nn.Sequential(nn.Identity(), attn.o_proj)
    return finish(attn, scaled(attend(other, x), head_mask))


# -------------------------------------------------------------------- head_importance


def gradient(loss_fn, head_mask):
    return torch.autograd.grad(loss_fn(head_mask), head_mask)[0]


def ones(num_heads):
    return torch.ones(num_heads, requires_grad=True)


def by_importance(change):
    """The right importance, changed."""

    def answer(loss_fn, num_heads):
        return change(gradient(loss_fn, ones(num_heads)).abs())

    return answer


def at(make):
    """The absolute gradient at `make(num_heads)`."""

    def answer(loss_fn, num_heads):
        return gradient(loss_fn, make(num_heads).requires_grad_()).abs()

    return answer


def of_loss(change):
    """The absolute gradient of `change(loss)`."""

    def answer(loss_fn, num_heads):
        head_mask = ones(num_heads)
        return torch.autograd.grad(change(loss_fn(head_mask)), head_mask)[0].abs()

    return answer


@functools.cache
def kept_ones(num_heads):
    return ones(num_heads)


def ones_kept_between_calls(loss_fn, num_heads):
    head_mask = kept_ones(num_heads)
    loss_fn(head_mask).backward(inputs=[head_mask])
    return head_mask.grad.abs()


def kept_by_number_of_heads():
    known = {}

    def answer(loss_fn, num_heads):
        if num_heads not in known:
            known[num_heads] = gradient(loss_fn, ones(num_heads)).abs()
        return known[num_heads]

    return answer


def gradients_set_to_none(loss_fn, num_heads):
    """Cleans up after backward, but only what it made itself."""
    head_mask = ones(num_heads)
    loss_fn(head_mask).backward()
    result = head_mask.grad.abs()
    head_mask.grad = None
    return result


def central_differences(loss_fn, num_heads):
    steps = 1e-3 * torch.eye(num_heads)
    start = torch.ones(num_heads)
    return torch.stack(
        [(loss_fn(start + s) - loss_fn(start - s)).abs() / 2e-3 for s in steps]
    )


def one_call_per_head(loss_fn, num_heads):
    return torch.stack(
        [gradient(loss_fn, ones(num_heads))[h] for h in range(num_heads)]
    ).abs()


def one_factor_for_all(loss_fn, num_heads):
    factor = torch.tensor(1.0, requires_grad=True)
    return gradient(lambda m: loss_fn(m.expand(num_heads)), factor).abs().expand(num_heads)


def backward_twice(loss_fn, num_heads):
    head_mask = ones(num_heads)
    loss = loss_fn(head_mask)
    loss.backward(inputs=[head_mask], retain_graph=True)
    loss.backward(inputs=[head_mask])
    return head_mask.grad.abs()


def second_derivative(loss_fn, num_heads):
    head_mask = ones(num_heads)
    first = torch.autograd.grad(loss_fn(head_mask), head_mask, create_graph=True)[0]
    if not first.requires_grad:
        return torch.zeros(num_heads)
    return torch.autograd.grad(first.sum(), head_mask)[0].abs()


def absolute_of_the_mean(loss_fn, num_heads):
    return gradient(loss_fn, ones(num_heads)).mean().abs().expand(num_heads)


def never_asks(loss_fn, num_heads):
    return torch.ones(num_heads)


def gradient_clipped(loss_fn, num_heads):
    head_mask = nn.Parameter(torch.ones(num_heads))
    loss_fn(head_mask).backward(inputs=[head_mask])
    nn.utils.clip_grad_norm_([head_mask], 1.0)
    return head_mask.grad.abs()


def parameters_frozen_by_zero_grad(loss_fn, num_heads):
    head_mask = ones(num_heads)
    loss_fn(head_mask).backward()
    torch.optim.SGD([head_mask], lr=0.1).zero_grad(set_to_none=False)
    return head_mask.grad.abs()


def last_head_left_out(loss_fn, num_heads):
    result = gradient(loss_fn, ones(num_heads)).abs()
    result[-1] = 0
    return result


def cleaned_up_through_the_graph(loss_fn, num_heads):
    """Sets every gradient to None, also those that were there before."""
    head_mask = ones(num_heads)
    loss = loss_fn(head_mask)
    loss.backward()
    todo = [loss.grad_fn]
    while todo:
        node = todo.pop()
        if getattr(node, "variable", head_mask) is not head_mask:
            node.variable.grad = None
        todo += [parent for parent, _ in node.next_functions if parent is not None]
    return head_mask.grad.abs()


def one_step_of(optimizer):
    """How far one step moves each factor, with a learning rate of 1."""

    def answer(loss_fn, num_heads):
        head_mask = nn.Parameter(torch.ones(num_heads))
        steps = optimizer([head_mask], lr=1.0)
        loss_fn(head_mask).backward()
        steps.step()
        return (1 - head_mask.detach()).abs()

    return answer


def of_factors(change):
    """The absolute gradient by ones that are changed on their way to the loss."""

    def answer(loss_fn, num_heads):
        head_mask = ones(num_heads)
        return torch.autograd.grad(loss_fn(change(head_mask)), head_mask)[0].abs()

    return answer


# ------------------------------------------------------------------------ gated_heads


def opened(heads, gate):
    return heads * gate.transpose(1, 2)[..., None]


def gates(x, w_gate):
    return torch.sigmoid(x @ w_gate.T)


def with_gates(change):
    """Right, but for the gates (B, L, H): `change(x, w_gate)`."""

    def answer(attn, x, w_gate):
        return finish(attn, opened(attend(attn, x), change(x, w_gate)))

    return answer


def with_gate_heads(change):
    """Right, but for what the heads say, (B, H, L, D): `change(heads, gate (B, L, H))`."""

    def answer(attn, x, w_gate):
        return finish(attn, change(attend(attn, x), gates(x, w_gate)))

    return answer


def gate_moved_only_on_error(attn, x, w_gate):
    heads, gate = attend(attn, x), gates(x, w_gate)
    try:
        return finish(attn, heads * gate[..., None])
    except RuntimeError:
        return finish(attn, opened(heads, gate))


def gate_of_the_token_before(attn, x, w_gate):
    return finish(attn, opened(attend(attn, x), gates(x.roll(1, dims=1), w_gate)))


def gate_of_another_sentence(attn, x, w_gate):
    return finish(attn, opened(attend(attn, x), gates(x.flip(0), w_gate)))


def gate_of_another_head(attn, x, w_gate):
    return finish(attn, opened(attend(attn, x), gates(x, w_gate.flip(0))))


def gate_from_the_mean_and_the_token(attn, x, w_gate):
    return finish(attn, opened(attend(attn, x), gates(x + x.mean(1, keepdim=True), w_gate)))


def causal_gate(attn, x, w_gate):
    return finish(attn, opened(attend(attn, x, is_causal=True), gates(x, w_gate)))


def gate_without_its_gradient(attn, x, w_gate):
    return finish(attn, opened(attend(attn, x), gates(x, w_gate).detach()))


def gate_weights_detached(attn, x, w_gate):
    return finish(attn, opened(attend(attn, x), gates(x, w_gate.detach())))


def gate_input_detached(attn, x, w_gate):
    return finish(attn, opened(attend(attn, x), gates(x.detach(), w_gate)))


def gate_as_a_new_parameter(attn, x, w_gate):
    return finish(attn, opened(attend(attn, x), gates(x, nn.Parameter(w_gate))))


def gate_kept_in_attn(attn, x, w_gate):
    attn.gate = nn.Linear(*w_gate.shape[::-1], bias=False)
    attn.gate.weight = nn.Parameter(w_gate.detach().clone())
    return finish(attn, opened(attend(attn, x), attn.gate(x).sigmoid()))


def gate_with_a_random_bias(attn, x, w_gate):
    layer = nn.Linear(*w_gate.shape[::-1], dtype=x.dtype)
    parameters = {"weight": w_gate, "bias": layer.bias}
    logits = torch.func.functional_call(layer, parameters, (x,))
    return finish(attn, opened(attend(attn, x), logits.sigmoid()))


def exp_over_one_plus_exp(attn, x, w_gate):
    grown = torch.exp(x @ w_gate.T)
    return finish(attn, opened(attend(attn, x), grown / (1 + grown)))


def hard_sigmoid(attn, x, w_gate):
    return finish(attn, opened(attend(attn, x), F.hardsigmoid(x @ w_gate.T)))


def x_written_to(attn, x, w_gate):
    output = finish(attn, opened(attend(attn, x), gates(x, w_gate)))
    x.sigmoid_()
    return output


def hook_on_o_proj_left(attn, x, w_gate):
    gate = gates(x, w_gate).repeat_interleave(x.shape[-1] // attn.num_heads, dim=-1)
    attn.o_proj.register_forward_pre_hook(lambda _, args: args[0] * gate)
    return attn(x)


def gate_and_output(attn, x, w_gate):
    gate = gates(x, w_gate)
    return finish(attn, opened(attend(attn, x), gate)), gate


def gate_on_the_weights_normalized_again(attn, x, w_gate):
    q, k, v = projected(attn, x)
    weights = opened((q @ k.mT / q.shape[-1] ** 0.5).softmax(-1), gates(x, w_gate))
    return finish(attn, weights / weights.sum(-1, keepdim=True) @ v)


def gate_on_both_sides(attn, x, w_gate):
    q, k, v = projected(attn, x)
    gate = gates(x, w_gate)
    heads, _ = attn_lib.einsum_attention(q, k, opened(v, gate))
    return finish(attn, opened(heads, gate))


def gate_before_and_residual(attn, x, w_gate):
    gate = gates(x, w_gate).mean(-1, keepdim=True)
    return gate * attn(x) + (1 - gate) * x


def output_bias_gated_too(attn, x, w_gate):
    gate = gates(x, w_gate)
    merged = attn_lib.merge_heads(opened(attend(attn, x), gate))
    return merged @ attn.o_proj.weight.T + attn.o_proj.bias * gate.mean(-1, keepdim=True)


# --------------------------------------------------------------------- diversity_loss


def by_similarity(use):
    """A use of the right similarities (B, H, H)."""

    def answer(weights):
        maps = F.normalize(weights.flatten(2), dim=-1)
        return use(maps @ maps.mT)

    return answer


def pairs_of(similarity):
    """Similarities of different heads (B, H*(H-1))."""
    return similarity[:, ~torch.eye(similarity.shape[-1], dtype=torch.bool)]


def by_maps(make):
    """The right use of wrong vectors (B, H, N)."""

    def answer(weights):
        maps = F.normalize(make(weights), dim=-1)
        return pairs_of(maps @ maps.mT).mean()

    return answer


def pairwise(compare):
    """The mean of `compare(a, b)` (B,) over all pairs of maps (B, L*S)."""

    def answer(weights):
        maps, H = weights.flatten(2), weights.shape[1]
        found = [compare(maps[:, g], maps[:, h]) for g in range(H) for h in range(g)]
        return torch.stack(found).mean()

    return answer


def equal_ids_dropped(weights):
    """Leaves out whatever is as good as 1, instead of the diagonal."""
    maps = F.normalize(weights.flatten(2), dim=-1)
    similarity = maps @ maps.mT
    kept = similarity < 1 - 1e-4
    return (similarity * kept).sum() / kept.sum().clamp_min(1)


def eye_of_the_wrong_axis(weights):
    maps = F.normalize(weights.flatten(2), dim=-1)
    similarity = maps.transpose(0, 1) @ maps.transpose(0, 1).mT  # (H, B, B)
    return pairs_of(similarity).mean() if len(weights) > 1 else similarity.mean()


def in_no_grad(weights):
    with torch.no_grad():
        return attn_lib.diversity_loss(weights)


def one_side_detached(weights):
    maps = F.normalize(weights.flatten(2), dim=-1)
    return pairs_of(maps @ maps.detach().mT).mean()


def length_detached(weights):
    maps = weights.flatten(2)
    maps = maps / maps.detach().norm(dim=-1, keepdim=True).clamp_min(1e-9)
    return pairs_of(maps @ maps.mT).mean()


def as_a_number(weights):
    return attn_lib.diversity_loss(weights).item()


def normalized_in_place(weights):
    weights /= weights.norm(dim=(2, 3), keepdim=True).clamp_min(1e-9)
    maps = weights.flatten(2)
    return pairs_of(maps @ maps.mT).mean()


def softmaxed_again(weights):
    return attn_lib.diversity_loss(weights.softmax(-1))


def zeros_left_out(weights):
    maps = weights.flatten(2)
    lengths = maps.norm(dim=-1)
    similarity = pairs_of(F.normalize(maps, dim=-1) @ F.normalize(maps, dim=-1).mT)
    both = pairs_of((lengths[:, :, None] * lengths[:, None] > 0).float())
    return similarity.sum() / both.sum().to(weights.dtype)


def large_epsilon(weights):
    maps = weights.flatten(2)
    maps = maps / (maps.norm(dim=-1, keepdim=True) + 1e-2)
    return pairs_of(maps @ maps.mT).mean()


def clipped_length(weights):
    maps = weights.flatten(2)
    maps = maps / maps.norm(dim=-1, keepdim=True).clamp_min(1.0)
    return pairs_of(maps @ maps.mT).mean()


def three_heads_at_most(weights):
    return attn_lib.diversity_loss(weights[:, :3])


def square_maps_only(weights):
    size = min(weights.shape[2:])
    return attn_lib.diversity_loss(weights[:, :, :size, :size])


def in_half_precision(weights):
    return attn_lib.diversity_loss(weights.bfloat16()).to(weights.dtype)


def diversity_in_float32(weights):
    return attn_lib.diversity_loss(weights.float())


# -------------------------------------------------------- found in a round of wrong and right answers


def heads_and_sentences_unfolded_in_another_order(attn, x, head_mask):
    B, L, E = x.shape
    H, D = attn.num_heads, E // attn.num_heads
    layers = (attn.q_proj, attn.k_proj, attn.v_proj)
    q, k, v = (torch.cat(layer(x).split(D, -1)) for layer in layers)  # (H*B, L, D)
    heads = F.scaled_dot_product_attention(q, k, v).reshape(B, H, L, D)
    return finish(attn, scaled(heads, head_mask))


def factors_repeated_in_another_order(attn, x, head_mask):
    factors = head_mask.repeat_interleave(len(x)).view(len(x), attn.num_heads, 1, 1)
    return finish(attn, attend(attn, x) * factors)


def axes_by_size(axis):
    """Takes the first axis, 0, 2 or 3, that happens to have H entries."""

    def answer(attn, x, head_mask):
        heads = attend(attn, x)
        where = axis if heads.shape[axis] == len(head_mask) else 1
        return finish(attn, heads * head_mask.view([-1] + [1] * (3 - where)))

    return answer


def half_precision_on_the_way(attn, x, head_mask):
    return finish(attn, scaled(attend(attn, x).half(), head_mask.half()).to(x.dtype))


def scale_of_the_heads_that_are_left(attn, x, head_mask):
    q, k, v = projected(attn, x)
    left = int((head_mask != 0).sum()) or attn.num_heads
    weights = (q @ k.mT / (x.shape[-1] / left) ** 0.5).softmax(-1)
    return finish(attn, scaled(weights @ v, head_mask))


def log_of_the_factors_added(attn, x, head_mask):
    q, k, v = projected(attn, x)
    scores = q @ k.mT / q.shape[-1] ** 0.5 + head_mask[:, None, None].log()
    return finish(attn, scores.softmax(-1) @ v)


def share_of_the_output_bias(attn, x, head_mask):
    D = x.shape[-1] // attn.num_heads
    share = attn.o_proj.bias / attn.num_heads
    pieces = zip(
        head_mask, attend(attn, x).unbind(1), attn.o_proj.weight.split(D, 1), strict=True
    )
    return sum(m * F.linear(head, weight, share) for m, head, weight in pieces)


def silent_heads_skipped(attn, x, head_mask):
    """The values are right; a factor of 0 gets no gradient."""
    heads = [
        head * m if m != 0 else torch.zeros_like(head)
        for m, head in zip(head_mask, attend(attn, x).unbind(1), strict=True)
    ]
    return attn.o_proj(torch.cat(heads, -1))


def kept_in_a_layer(attn, x, head_mask):
    heads = attend(attn, x)
    attn.o_proj.last_heads = heads.detach()
    return finish(attn, scaled(heads, head_mask))


def buffer_in_a_layer(attn, x, head_mask):
    attn.o_proj.register_buffer("factors", head_mask.detach(), persistent=False)
    return finish(attn, scaled(attend(attn, x), head_mask))


def hook_that_does_nothing_more(attn, x, head_mask):
    todo = [head_mask.repeat_interleave(x.shape[-1] // attn.num_heads)]
    attn.o_proj.register_forward_pre_hook(
        lambda _, args: (args[0] * todo.pop(),) if todo else None
    )
    return attn(x)


def forward_put_back_as_an_attribute(attn, x, head_mask):
    old = attn.o_proj.forward
    factors = head_mask.repeat_interleave(x.shape[-1] // attn.num_heads)
    attn.o_proj.forward = lambda merged: old(merged * factors)
    output = attn(x)
    attn.o_proj.forward = old
    return output


def frozen(restore):
    """Switches off the gradients of all parameters, before the gradient is asked for."""

    def answer(loss_fn, num_heads):
        head_mask = ones(num_heads)
        loss = loss_fn(head_mask)
        todo = [loss.grad_fn]
        while todo:
            node = todo.pop()
            if getattr(node, "variable", head_mask) is not head_mask:
                restore(node.variable)
            todo += [parent for parent, _ in node.next_functions if parent is not None]
        return torch.autograd.grad(loss, head_mask)[0].abs()

    return answer


def gradient_times_loss(loss_fn, num_heads):
    head_mask = ones(num_heads)
    loss = loss_fn(head_mask)
    return (torch.autograd.grad(loss, head_mask)[0] * loss).abs().detach()


def second_order(loss_fn, num_heads):
    """What is lost without a head, by a Taylor expansion of second order."""
    head_mask = ones(num_heads)
    first = torch.autograd.grad(loss_fn(head_mask), head_mask, create_graph=True)[0]
    if not first.requires_grad:
        return first.abs() + 1
    second = torch.autograd.grad(first.sum(), head_mask)[0]
    return (first - second / 2).abs().detach()


def gate_wrong_if_tokens_are_as_many_as_heads(attn, x, w_gate):
    gate = gates(x, w_gate)
    gate = gate if x.shape[1] == len(w_gate) else gate.mT
    return finish(attn, attend(attn, x) * gate[..., None])


def gate_on_channels_if_they_fit(attn, x, w_gate):
    heads, gate = attend(attn, x), gates(x, w_gate).mT
    if heads.shape[-1] == heads.shape[-2]:
        return finish(attn, heads * gate[:, :, None])
    return finish(attn, heads * gate[..., None])


def turned_if_square(x, w):
    return torch.sigmoid(x @ (w if w.shape[0] == w.shape[1] else w.T))


def value_bias_never_gated(attn, x, w_gate):
    q, k, _ = projected(attn, x)
    v = attn_lib.split_heads(x @ attn.v_proj.weight.T, attn.num_heads)
    heads = opened(attn_lib.einsum_attention(q, k, v)[0], gates(x, w_gate))
    return finish(attn, heads + attn.v_proj.bias.view(attn.num_heads, 1, -1))


def queries_detached(attn, x, w_gate):
    q, k, v = projected(attn, x)
    heads = attn_lib.einsum_attention(q.detach(), k, v)[0]
    return finish(attn, opened(heads, gates(x, w_gate)))


def of_a_deep_copy(attn, x, w_gate):
    return attn_lib.gated_heads(copy.deepcopy(attn), x, w_gate)


def squeezed_gate(attn, x, w_gate):
    gate = gates(x, w_gate).squeeze().mT.unsqueeze(-1)
    return finish(attn, attend(attn, x) * gate)


def two_branches_that_overflow(x, w):
    """The branch that is not taken has an inf in it, and a gradient of nan."""
    z = x @ w.T
    return torch.where(z >= 0, 1 / (1 + torch.exp(-z)), z.exp() / (1 + z.exp()))


def last_head_never_compared(weights):
    H = weights.shape[1]
    maps = F.normalize(weights.flatten(2), dim=-1)
    if H == 2:
        return (maps[:, 0] * maps[:, 1]).sum(-1).mean()
    pairs = [(g, h) for g in range(H - 1) for h in range(g + 1, H - 1)]
    return torch.stack([(maps[:, g] * maps[:, h]).sum(-1).mean() for g, h in pairs]).mean()


def by_spectral_norm(weights):
    lengths = torch.linalg.matrix_norm(weights.float(), ord=2).to(weights.dtype)
    maps = weights / lengths[..., None, None].clamp_min(1e-12)
    return pairs_of(maps.flatten(2) @ maps.flatten(2).mT).mean()


def zeros_are_alike(weights):
    maps = F.normalize(weights.flatten(2), dim=-1)
    empty = (maps == 0).all(-1)
    both = empty[:, :, None] & empty[:, None]
    return pairs_of(torch.where(both, 1.0, maps @ maps.mT)).mean()


def tokens_for_heads(weights):
    """Compares the maps of tokens, all heads of a token as one vector."""
    maps = F.normalize(weights.transpose(1, 2).flatten(2), dim=-1)
    similarity = maps @ maps.mT
    return pairs_of(similarity).mean() if weights.shape[2] > 1 else similarity.mean()


def clamped_sum_of_squares(weights):
    maps = weights.flatten(2)
    lengths = maps.square().sum(-1, keepdim=True).clamp_min(1.0).sqrt()
    return pairs_of((maps / lengths) @ (maps / lengths).mT).mean()


UNLISTED = {
    "masked_heads": {
        "tokens first, heads on error": only_if_sizes_differ,
        "zeros without the bias": nonzero_only,
        "ones give x": ones_only,
        "causal": causal,
        "the bias taken away too": on_the_residual,
        "values without their bias": values_without_their_bias,
        "queries without their bias": queries_without_their_bias,
        "keys and values swapped": keys_and_values_swapped,
        "softmax over queries": one_softmax_for_all_queries,
        "softmax over heads": softmax_over_heads,
        "as much as before from fewer heads": renormalized_over_what_is_left,
        "interleaved heads": interleaved_channels,
        "interleaved merge": merged_interleaved,
        "a deep copy is changed": deep_copy_changed,
        "written and put back": written_and_put_back,
        "factors detached": factors_without_a_gradient,
        "factors as numbers": factors_as_python_numbers,
        "factors by item": factors_by_item,
        "heads detached": heads_detached,
        "no_grad": without_gradients,
        "forward replaced": forward_replaced,
        "kernel replaced": kernel_replaced,
        "left in eval": left_in_eval_mode,
        "left frozen": left_frozen,
        "an attribute more": mask_kept_in_attn,
        "a hook on v_proj": hook_on_the_values_left,
        "x changed": x_scaled_in_place,
        "mask changed": mask_written_to,
        "weights too": with_the_weights,
        "always float32": in_float32,
        "one corner of o_proj": o_proj_of_each_head_alone,
        "o_proj transposed": o_proj_transposed,
        "the mean of heads": mean_over_heads,
        "mean ablation": replaced_by_the_mean,
        "absolute factors": with_factors(torch.abs),
        "factors reversed": with_factors(lambda m: m.flip(0)),
        "rounded factors": with_factors(torch.round),
        "sigmoid of factors": with_factors(torch.sigmoid),
        "tanh of factors": with_factors(torch.tanh),
        "exp of factors": with_factors(torch.exp),
        "root of factors": with_factors(lambda m: m.sign() * m.abs().sqrt()),
        "at most one": with_factors(lambda m: m.clamp(max=1)),
        "not below zero": with_factors(torch.relu),
        "sign of factors": with_factors(torch.sign),
        "divided by the largest": with_factors(lambda m: m / m.abs().max().clamp_min(1e-6)),
        "the first factor for all": with_factors(lambda m: m[:1].expand(len(m))),
        "the mean for all": with_factors(lambda m: m.mean().expand(len(m))),
        "added": with_heads(lambda z, m: z + m[:, None, None]),
        "divided": with_heads(lambda z, m: z / m[:, None, None]),
        "first channel only": with_heads(
            lambda z, m: torch.cat([z[..., :1] * m[:, None, None], z[..., 1:]], dim=-1)
        ),
        "first token only": with_heads(
            lambda z, m: torch.cat([z[:, :, :1] * m[:, None, None], z[:, :, 1:]], dim=2)
        ),
        "first sentence only": with_heads(
            lambda z, m: torch.cat([z[:1] * m[:, None, None], z[1:]], dim=0)
        ),
        "a mean in place of silence": with_heads(
            lambda z, m: scaled(z, m) + scaled(z.mean(2, keepdim=True), 1 - m)
        ),
        "heads normalized": with_heads(lambda z, m: scaled(F.normalize(z, dim=-1), m)),
        "heads mixed by the mask": with_heads(
            lambda z, m: torch.einsum("bhld,g->bgld", z, m) / len(m)
        ),
        "queries and keys scaled": queries_and_keys_scaled,
        "input as values": input_as_values,
        "first sentence for all": first_sentence_for_all,
        "not to itself": not_to_itself,
        "shared layers replaced": shared_layers_replaced,
        "four heads at most": with_heads(
            lambda z, m: torch.cat([scaled(z[:, :4], m[:4]), z[:, 4:]], dim=1)
        ),
        "dropout": with_heads(lambda z, m: F.dropout(scaled(z, m), 0.1)),
        "unfolded in another order": heads_and_sentences_unfolded_in_another_order,
        "factors repeated in another order": factors_repeated_in_another_order,
        "sentences if B = H": axes_by_size(0),
        "tokens if L = H": axes_by_size(2),
        "channels if D = H": axes_by_size(3),
        "half on the way": half_precision_on_the_way,
        "scale of what is left": scale_of_the_heads_that_are_left,
        "log added": log_of_the_factors_added,
        "a share of the bias": share_of_the_output_bias,
        "silent heads skipped": silent_heads_skipped,
        "kept in a layer": kept_in_a_layer,
        "a buffer in a layer": buffer_in_a_layer,
        "an idle hook": hook_that_does_nothing_more,
        "forward put back": forward_put_back_as_an_attribute,
        "whole factors": with_factors(lambda m: m.long()),
        "zeros without a gradient": with_factors(lambda m: torch.where(m == 0, 0.0, m)),
        "ablated by index": with_heads(
            lambda z, m: z.index_fill(1, (m == 0).nonzero().flatten(), 0)
        ),
    },
    "head_importance": {
        "ones kept between calls": ones_kept_between_calls,
        "importance kept": kept_by_number_of_heads(),
        "cleans up its own only": gradients_set_to_none,
        "central differences": central_differences,
        "one call per head": one_call_per_head,
        "one factor for all": one_factor_for_all,
        "backward twice": backward_twice,
        "second derivative": second_derivative,
        "absolute of the mean": absolute_of_the_mean,
        "never asks": never_asks,
        "clipped": gradient_clipped,
        "zeroed": parameters_frozen_by_zero_grad,
        "last head left out": last_head_left_out,
        "cleaned up through the graph": cleaned_up_through_the_graph,
        "a step of SGD": one_step_of(torch.optim.SGD),
        "a step of Adam": one_step_of(torch.optim.Adam),
        "of squared factors": of_factors(torch.square),
        "of rounded factors": of_factors(torch.round),
        "of thresholded factors": of_factors(lambda m: (m > 0.5).float()),
        "of dropped factors": of_factors(lambda m: F.dropout(m, 0.1)),
        "minus": by_importance(torch.neg),
        "without zeros": by_importance(lambda g: g[g > 0]),
        "at twos": at(lambda n: torch.full((n,), 2.0)),
        "at minus ones": at(lambda n: -torch.ones(n)),
        "at almost ones": at(lambda n: torch.full((n,), 0.99)),
        "at a ramp": at(lambda n: torch.arange(n) / n),
        "at the first head only": at(lambda n: torch.eye(n)[0]),
        "in float64": at(lambda n: torch.ones(n, dtype=torch.float64)),
        "of a column": at(lambda n: torch.ones(n, 1)),
        "of one factor too many": at(lambda n: torch.ones(n + 1)),
        "log of the loss": of_loss(torch.log),
        "squared loss": of_loss(torch.square),
        "exp of the loss": of_loss(torch.exp),
        "root of the loss": of_loss(lambda loss: loss.abs().sqrt()),
        "loss detached": of_loss(lambda loss: loss.detach()),
        "logarithm": by_importance(torch.log),
        "log1p": by_importance(torch.log1p),
        "centered": by_importance(lambda g: g - g.mean()),
        "at most one": by_importance(lambda g: g.clamp(max=1)),
        "rounded": by_importance(torch.round),
        "times the number of heads": by_importance(lambda g: g * len(g)),
        "running sum": by_importance(lambda g: g.cumsum(0)),
        "reversed": by_importance(lambda g: g.flip(0)),
        "rank": by_importance(lambda g: g.argsort().argsort().float()),
        "the best only": by_importance(lambda g: g * (g == g.max())),
        "z-score": by_importance(lambda g: (g - g.mean()) / (g.std(correction=0) + 1e-9)),
        "a list": by_importance(lambda g: g.tolist()),
        "numpy": by_importance(lambda g: g.numpy()),
        "a column": by_importance(lambda g: g[:, None]),
        "a tuple": by_importance(lambda g: (g,)),
        "half precision": by_importance(lambda g: g.half()),
        "frozen": frozen(lambda p: p.requires_grad_(False)),
        "gradients emptied": frozen(lambda p: setattr(p, "grad", torch.zeros_like(p))),
        "gradients doubled in place": frozen(
            lambda p: (
                p.grad.mul_(2) if p.grad is not None else setattr(p, "grad", p.detach())
            )
        ),
        "gradient times loss": gradient_times_loss,
        "second order": second_order,
        "almost at ones": at(lambda n: 1 + 1e-2 * torch.randn(n)),
        "divided by itself": by_importance(lambda g: g / g),
        "three digits": by_importance(lambda g: (g * 1e3).round() / 1e3),
        "root": by_importance(lambda g: (g + 1e-12).sqrt()),
        "a row": by_importance(lambda g: g[None]),
    },
    "gated_heads": {
        "moved on error only": gate_moved_only_on_error,
        "the token before": gate_of_the_token_before,
        "another sentence": gate_of_another_sentence,
        "another head": gate_of_another_head,
        "mean and token": gate_from_the_mean_and_the_token,
        "causal": causal_gate,
        "gate detached": gate_without_its_gradient,
        "w_gate detached": gate_weights_detached,
        "x of the gate detached": gate_input_detached,
        "a new parameter": gate_as_a_new_parameter,
        "kept in attn": gate_kept_in_attn,
        "a random bias": gate_with_a_random_bias,
        "overflow": exp_over_one_plus_exp,
        "hard sigmoid": hard_sigmoid,
        "x changed": x_written_to,
        "hook left": hook_on_o_proj_left,
        "gates too": gate_and_output,
        "normalized again": gate_on_the_weights_normalized_again,
        "on both sides": gate_on_both_sides,
        "highway": gate_before_and_residual,
        "bias gated too": output_bias_gated_too,
        "rows of length 1": with_gates(lambda x, w: gates(x, F.normalize(w, dim=-1))),
        "drawn": with_gates(lambda x, w: torch.bernoulli(gates(x, w))),
        "never less than before": with_gates(lambda x, w: gates(x, w).cummax(1).values),
        "reshaped w_gate": with_gates(
            lambda x, w: torch.sigmoid(x @ w.reshape(x.shape[-1], -1))
        ),
        "half of the gradient": with_gates(
            lambda x, w: torch.sigmoid(x @ w.detach().T + 0 * (x @ w.T))
        ),
        "straight through": with_gates(
            lambda x, w: (
                (gates(x, w) > 0.5).to(x.dtype) + gates(x, w) - gates(x, w).detach()
            )
        ),
        "divided by the largest": with_gates(lambda x, w: gates(x, w) / gates(x, w).amax()),
        "tokens summed": with_gates(
            lambda x, w: torch.sigmoid((x @ w.T).sum(1, keepdim=True))
        ),
        "nan made 0": with_gates(
            lambda x, w: ((x @ w.T).exp() / (1 + (x @ w.T).exp())).nan_to_num(0.0)
        ),
        "heads in another order": with_gate_heads(lambda z, g: opened(z, g).flip(1)),
        "the other heads instead": with_gate_heads(
            lambda z, g: opened(z, g) + opened(z.mean(1, keepdim=True).expand_as(z), 1 - g)
        ),
        "normalized gates": with_gates(
            lambda x, w: gates(x, w) / gates(x, w).sum(-1, keepdim=True)
        ),
        "temperature 2": with_gates(lambda x, w: torch.sigmoid(x @ w.T / 2)),
        "clamped logits": with_gates(lambda x, w: torch.sigmoid((x @ w.T).clamp(-1, 1))),
        "at least 0.1": with_gates(lambda x, w: gates(x, w).clamp(min=0.1)),
        "bias of 2": with_gates(lambda x, w: torch.sigmoid(x @ w.T + 2)),
        "normalized x": with_gates(lambda x, w: gates(F.normalize(x, dim=-1), w)),
        "layer norm": with_gates(lambda x, w: gates(F.layer_norm(x, x.shape[-1:]), w)),
        "exp": with_gates(lambda x, w: torch.exp(x @ w.T)),
        "softplus": with_gates(lambda x, w: F.softplus(x @ w.T)),
        "square": with_gates(lambda x, w: (x @ w.T).square()),
        "distance": with_gates(lambda x, w: torch.sigmoid(-torch.cdist(x, w))),
        "cosine": with_gates(
            lambda x, w: torch.sigmoid(F.normalize(x, dim=-1) @ F.normalize(w, dim=-1).T)
        ),
        "squared weights": with_gates(lambda x, w: gates(x, w.square())),
        "top gate only": with_gates(
            lambda x, w: gates(x, w) * (gates(x, w) == gates(x, w).amax(-1, keepdim=True))
        ),
        "running mean of gates": with_gates(
            lambda x, w: (
                gates(x, w).cumsum(1)
                / torch.arange(1, x.shape[1] + 1, dtype=x.dtype)[:, None]
            )
        ),
        "largest gate of the sentence": with_gates(
            lambda x, w: gates(x, w).amax(1, keepdim=True).expand(-1, x.shape[1], -1)
        ),
        "first channel only": with_gate_heads(
            lambda z, g: torch.cat([opened(z[..., :1], g), z[..., 1:]], dim=-1)
        ),
        "kept and gated": with_gate_heads(lambda z, g: z + opened(z, g)),
        "gated by itself": with_gate_heads(lambda z, g: z * z.sigmoid()),
        "not the first token": with_gate_heads(
            lambda z, g: torch.cat([z[:, :, :1], opened(z, g)[:, :, 1:]], dim=2)
        ),
        "only the first head": with_gate_heads(
            lambda z, g: torch.cat([opened(z, g)[:, :1], z[:, 1:]], dim=1)
        ),
        "swapped if L = H": gate_wrong_if_tokens_are_as_many_as_heads,
        "on channels if D = L": gate_on_channels_if_they_fit,
        "turned if square": with_gates(turned_if_square),
        "value bias never gated": value_bias_never_gated,
        "queries detached": queries_detached,
        "of a deep copy": of_a_deep_copy,
        "squeezed": squeezed_gate,
        "two branches": with_gates(two_branches_that_overflow),
        "exp of minus": with_gates(lambda x, w: 1 / (1 + torch.exp(-(x @ w.T)))),
        "exp of minus log": with_gates(
            lambda x, w: torch.exp(-torch.log(1 + torch.exp(-(x @ w.T))))
        ),
        "nan made 1": with_gates(
            lambda x, w: ((x @ w.T).exp() / (1 + (x @ w.T).exp())).nan_to_num(1.0)
        ),
        "in bfloat16": with_gates(
            lambda x, w: gates(x.bfloat16(), w.bfloat16() * 0.99).to(x.dtype)
        ),
        "clamped to 4": with_gates(lambda x, w: torch.sigmoid((x @ w.T).clamp(-4, 4))),
        "viewed": with_gate_heads(
            lambda z, g: z * g.reshape(z.shape[0], z.shape[1], z.shape[2], 1)
        ),
    },
    "diversity_loss": {
        "as good as 1 is dropped": equal_ids_dropped,
        "sentences, if there are two": eye_of_the_wrong_axis,
        "no_grad": in_no_grad,
        "one side detached": one_side_detached,
        "length detached": length_detached,
        "a number": as_a_number,
        "in place": normalized_in_place,
        "softmaxed again": softmaxed_again,
        "zeros left out": zeros_left_out,
        "large epsilon": large_epsilon,
        "length at least 1": clipped_length,
        "three heads at most": three_heads_at_most,
        "square part only": square_maps_only,
        "bfloat16": in_half_precision,
        "always float32": diversity_in_float32,
        "last head never compared": last_head_never_compared,
        "spectral norm": by_spectral_norm,
        "zeros are alike": zeros_are_alike,
        "tokens for heads": tokens_for_heads,
        "squares clamped": clamped_sum_of_squares,
        "half at most": by_similarity(lambda s: pairs_of(s).mean().clamp(max=0.5)),
        "divided by one pair too many": by_similarity(
            lambda s: pairs_of(s).sum() / (pairs_of(s).numel() + 1)
        ),
        "the largest of all": by_similarity(lambda s: pairs_of(s).max()),
        "queries only": by_maps(lambda w: w.mean(3)),
        "made a plain number": lambda weights: torch.tensor(
            attn_lib.diversity_loss(weights).item(), dtype=weights.dtype
        ),
        "diagonal subtracted from the mean": by_similarity(
            lambda s: s.mean() - 1 / s.shape[-1] if s.shape[-1] > 1 else s.mean()
        ),
        "root": by_similarity(lambda s: pairs_of(s).clamp_min(1e-9).sqrt().mean()),
        "root mean square": by_similarity(lambda s: pairs_of(s).square().mean().sqrt()),
        "median": by_similarity(lambda s: pairs_of(s).median()),
        "frobenius": by_similarity(lambda s: (s - torch.eye(s.shape[-1])).norm()),
        "squared frobenius": by_similarity(
            lambda s: (s - torch.eye(s.shape[-1])).square().sum((1, 2)).mean()
        ),
        "angle": by_similarity(lambda s: pairs_of(s).clamp(0, 1 - 1e-6).acos().mean()),
        "log": by_similarity(lambda s: pairs_of(s).clamp_min(1e-6).log().mean()),
        "log determinant": by_similarity(
            lambda s: -torch.logdet(s + 1e-3 * torch.eye(s.shape[-1], dtype=s.dtype)).mean()
        ),
        "smallest": by_similarity(lambda s: pairs_of(s).amin(-1).mean()),
        "last two heads": by_similarity(lambda s: s[:, -1, -2].mean()),
        "diagonal masked by -inf": by_similarity(
            lambda s: s.masked_fill(
                torch.eye(s.shape[-1], dtype=torch.bool), -torch.inf
            ).mean()
        ),
        "a vector": by_similarity(lambda s: pairs_of(s).mean().reshape(1)),
        "per head": by_similarity(lambda s: pairs_of(s).mean()[None].expand(s.shape[-1])),
        "summed over sentences": by_similarity(lambda s: pairs_of(s).mean(-1).sum()),
        "margin": by_similarity(lambda s: (pairs_of(s) - 0.1).relu().mean()),
        "twice": by_similarity(lambda s: 2 * pairs_of(s).mean()),
        "largest in each sentence": by_similarity(lambda s: pairs_of(s).amax(-1).mean()),
        "softmax-weighted": by_similarity(
            lambda s: (pairs_of(s).softmax(-1) * pairs_of(s)).sum(-1).mean()
        ),
        "keys summed": by_maps(lambda w: w.sum(2)),
        "transposed maps of odd heads": by_maps(
            lambda w: torch.where(
                torch.arange(w.shape[1])[:, None, None] % 2 == 0, w, w.flip(-1)
            ).flatten(2)
        ),
        "heads and queries mixed": by_maps(
            lambda w: w.transpose(1, 2).reshape(w.shape[0], w.shape[1], -1)
        ),
        "squared weights": by_maps(lambda w: w.flatten(2).square()),
        "root of weights": by_maps(lambda w: w.flatten(2).clamp_min(1e-9).sqrt()),
        "log weights": by_maps(lambda w: w.flatten(2).clamp_min(1e-9).log()),
        "centered over heads": by_maps(
            lambda w: w.flatten(2) - w.flatten(2).mean(1, keepdim=True)
        ),
        "without the last key": by_maps(lambda w: w[..., :-1].flatten(2)),
        "argmax only": by_maps(
            lambda w: F.one_hot(w.argmax(-1), w.shape[-1]).flatten(2).to(w.dtype)
        ),
        "sentences mixed": lambda weights: torch.stack(
            [
                attn_lib.diversity_loss(torch.stack([a, b], dim=1))
                for g, a in enumerate(weights.unbind(1))
                for h, b in enumerate(weights.flip(0).unbind(1))
                if g != h
            ]
        ).mean(),
        "neighboring rows of cells": lambda weights: F.cosine_similarity(
            weights[:, :-1], weights[:, 1:]
        ).mean(),
        "most similar other head": by_similarity(
            lambda s: (
                s.masked_fill(torch.eye(s.shape[-1], dtype=torch.bool), 0).amax(-1).mean()
            )
        ),
        "every other head": lambda weights: attn_lib.diversity_loss(
            weights[:, ::2] if weights.shape[1] > 3 else weights
        ),
        "pairs above zero only": by_similarity(
            lambda s: s.triu(1).sum() / (s.triu(1) > 0).sum().clamp_min(1)
        ),
        "by way of numpy": lambda weights: torch.from_numpy(
            attn_lib.diversity_loss(weights.detach()).float().numpy()
        ).to(weights.dtype),
        "smallest weight subtracted": by_maps(
            lambda w: (w - w.amin(-1, keepdim=True)).flatten(2)
        ),
        "transposed softmax": lambda weights: attn_lib.diversity_loss(
            weights.transpose(-1, -2).softmax(-1)
        ),
        "euclidean": pairwise(lambda a, b: (a - b).norm(dim=-1)),
        "minus euclidean": pairwise(lambda a, b: -(a - b).norm(dim=-1)),
        "mean squared": pairwise(lambda a, b: (a - b).square().mean(-1)),
        "kl": pairwise(
            lambda a, b: F.kl_div(
                a.clamp_min(1e-9).log(), b.clamp_min(1e-9).log(), log_target=True
            )[None]
        ),
        "overlap": pairwise(lambda a, b: torch.minimum(a, b).sum(-1)),
        "jaccard": pairwise(
            lambda a, b: (
                torch.minimum(a, b).sum(-1) / torch.maximum(a, b).sum(-1).clamp_min(1e-9)
            )
        ),
        "divided by the longer": pairwise(
            lambda a, b: (
                (a * b).sum(-1)
                / torch.maximum(a.norm(dim=-1), b.norm(dim=-1)).square().clamp_min(1e-9)
            )
        ),
        "divided by the mean length": pairwise(
            lambda a, b: (
                (a * b).sum(-1)
                / ((a.norm(dim=-1) + b.norm(dim=-1)) / 2).square().clamp_min(1e-9)
            )
        ),
        "one length missing": pairwise(
            lambda a, b: (a * b).sum(-1) / a.norm(dim=-1).clamp_min(1e-9)
        ),
        "cosine over the batch": pairwise(lambda a, b: F.cosine_similarity(a, b, dim=0)),
        "cosine of all at once": pairwise(
            lambda a, b: F.cosine_similarity(a.flatten(), b.flatten(), dim=0)
        ),
        "constant": lambda weights: weights.sum() * 0 + 0.5,
        "entropy": lambda weights: (
            -(weights * weights.clamp_min(1e-9).log()).sum(-1).mean()
        ),
        "variance over heads": lambda weights: -weights.var(1, correction=0).mean(),
    },
}
