"""Wrong answers to the tasks of lesson 03 that its listed mistakes do not foresee, by task name."""

import copy
import math

import torch
import torch.nn.functional as F
from torch import nn


def split(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def merge(x):
    return x.transpose(1, 2).flatten(-2)


def weights(q, k, mask):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is None:
        return scores.softmax(-1)
    return scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0.0)


class Heads(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (
            nn.Linear(d_model, d_model) for _ in range(4)
        )

    def qkv(self, x, context):
        c = x if context is None else context
        three = self.q_proj(x), self.k_proj(c), self.v_proj(c)
        return tuple(split(t, self.num_heads) for t in three)

    def forward(self, x, context=None, mask=None):
        q, k, v = self.qkv(x, context)
        return self.o_proj(merge(weights(q, k, mask) @ v))


def heads(forward):
    """Make a module whose forward is `forward(self, x, context=None, mask=None)`."""
    return type("OtherHeads", (Heads,), {"forward": forward})


def inner(attend):
    """Make a module that differs in `attend(q, k, v, mask)` only."""

    def forward(self, x, context=None, mask=None):
        return self.o_proj(merge(attend(*self.qkv(x, context), mask)))

    return heads(forward)


def with_mask(change):
    """Make a module that uses `change(mask)`."""
    return heads(
        lambda self, x, context=None, mask=None: Heads.forward(
            self, x, context, None if mask is None else change(mask)
        )
    )


# ------------------------------------------------------------------------ split_heads

_remembered: dict = {}


def remembers_by_shape(x, num_heads):
    key = (x.shape, x.dtype, num_heads)
    if key not in _remembered:
        _remembered[key] = split(x, num_heads)
    return _remembered[key]


def view_when_head_and_length_agree(x, num_heads):
    if x.shape[1] == num_heads:
        return x.unflatten(-1, (num_heads, -1))
    return split(x, num_heads)


def strided_view(x, num_heads):
    B, L, E = x.shape
    D = E // num_heads
    return x.as_strided((B, num_heads, L, D), (L * E, D, E, 1))


def one_head_not_split(x, num_heads):
    return x if num_heads == 1 else split(x, num_heads)


def one_head_beside_the_tokens(x, num_heads):
    return x.unsqueeze(2) if num_heads == 1 else split(x, num_heads)


def untransposed_where_b_is_h(x, num_heads):
    y = torch.stack(x.chunk(num_heads, -1))
    return y if len(y) == len(x) else y.transpose(0, 1)


def only_as_many_heads_as_places(x, num_heads):
    """Runs the loop over D, not over H."""
    (B, L, _), D = x.shape, x.shape[-1] // num_heads
    result = x.new_zeros(B, num_heads, L, D)
    for h in range(min(D, num_heads)):
        result[:, h] = x[:, :, h * D : (h + 1) * D]
    return result


def gradient_of_the_first_head_only(x, num_heads):
    y = split(x, num_heads)
    return torch.cat([y[:, :1], y[:, 1:].detach()], 1)


# ------------------------------------------------------------------------ merge_heads


def merge_in_place(x):
    y = merge(x)
    x.zero_()
    return y


_merged: dict = {}


def merge_remembers_by_shape(x):
    key = (x.shape, x.dtype)
    if key not in _merged:
        _merged[key] = merge(x)
    return _merged[key]


def merge_fewer_of_two_are_heads(x):
    """Guesses which axis counts heads: the smaller one."""
    return merge(x) if x.shape[1] <= x.shape[2] else x.flatten(2)


def merge_strides_of_a_split(x):
    B, H, L, D = x.shape
    return x.as_strided((B, L, H * D), (L * H * D, H * D, 1))


def merge_all_but_the_last(x):
    heads = [x[:, h] for h in range(x.shape[1] - 1)]
    return torch.cat([*heads, torch.zeros_like(x[:, 0])], -1)


def merge_with_half_the_gradient(x):
    y = merge(x)
    return y.detach() + (y - y.detach()) / 2


# ----------------------------------------------------------------- MultiHeadAttention


class CachesKeys(Heads):
    def forward(self, x, context=None, mask=None):
        q, k, v = self.qkv(x, context)
        if not hasattr(self, "kv"):
            self.kv = k.detach(), v.detach()
        return self.o_proj(merge(weights(q, *self.kv[:1], mask) @ self.kv[1]))


class CachesTheMask(Heads):
    def forward(self, x, context=None, mask=None):
        self.mask = getattr(self, "mask", None) if mask is None else mask
        if type(self).last is not None and mask is None:
            mask = type(self).last if type(self).last.shape[-1] == x.shape[1] else None
        type(self).last = mask
        return Heads.forward(self, x, context, mask)

    last = None


class CopiesTheWeightsOnce(Heads):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.register_buffer("w", self.q_proj.weight.detach().clone())

    def forward(self, x, context=None, mask=None):
        c = x if context is None else context
        q = F.linear(x, self.w, self.q_proj.bias)
        q, k, v = (split(t, self.num_heads) for t in (q, self.k_proj(c), self.v_proj(c)))
        return self.o_proj(merge(weights(q, k, mask) @ v))


class KeepsTheFirstContext(Heads):
    def forward(self, x, context=None, mask=None):
        if context is not None and not hasattr(self, "context"):
            self.context = context
        return super().forward(x, None if context is None else self.context, mask)


class SizesOfTheFirstModule(Heads):
    first = None

    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        type(self).first = type(self).first or num_heads
        self.num_heads = self.first


class FrozenValues(Heads):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.v_proj.requires_grad_(False)


class Unregistered(Heads):
    def __init__(self, d_model, num_heads):
        nn.Module.__init__(self)
        self.num_heads = num_heads
        self.layers = [nn.Linear(d_model, d_model) for _ in range(4)]


class NotAModule:
    def __init__(self, d_model, num_heads):
        pass

    def __call__(self, x, context=None, mask=None):
        return x


class NormedInside(Heads):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.norm = nn.LayerNorm(d_model)

    def forward(self, x, context=None, mask=None):
        return super().forward(self.norm(x), context, mask)


class NoOutputBias(Heads):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.o_proj = nn.Linear(d_model, d_model, bias=False)


def nan_painted_over(q, k, v, mask):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores + torch.zeros(mask.shape).to(q).masked_fill(~mask, -torch.inf)
    return scores.softmax(-1).nan_to_num(0.0) @ v


def nan_painted_over_in_the_output(self, x, context=None, mask=None):
    q, k, v = self.qkv(x, context)
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return self.o_proj(merge(scores.softmax(-1) @ v)).nan_to_num(0.0)


def nan_painted_over_per_head(q, k, v, mask):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return (scores.softmax(-1) @ v).nan_to_num(0.0)


def without_a_maximum(q, k, v, mask):
    """exp overflows in float32 for scores above 88."""
    e = (q @ k.mT / math.sqrt(q.shape[-1])).exp()
    e = e if mask is None else e * mask
    total = e.sum(-1, keepdim=True)
    return e / total.masked_fill(total == 0, 1.0) @ v


def silent_if_any_head_is(q, k, v, mask):
    y = weights(q, k, mask) @ v
    if mask is None or mask.ndim < 4:
        return y
    return y * mask.any(-1, keepdim=True).all(1, keepdim=True)


def each_head_projects_its_own_channels(self, x, context=None, mask=None):
    c, H = x if context is None else context, self.num_heads
    D, outs = x.shape[-1] // H, []
    for h in range(H):
        p = slice(h * D, (h + 1) * D)
        layers = ((self.q_proj, x), (self.k_proj, c), (self.v_proj, c))
        q, k, v = (F.linear(t[..., p], f.weight[p, p], f.bias[p]) for f, t in layers)
        m = None if mask is None else mask.expand(len(x), H, x.shape[1], c.shape[1])
        outs.append(weights(q, k, m if m is None else m[:, h]) @ v)
    return self.o_proj(torch.cat(outs, -1))


def output_bias_once_per_head(self, x, context=None, mask=None):
    y = Heads.forward(self, x, context, mask)
    return y + (self.num_heads - 1) * self.o_proj.bias


def other_where_the_shapes_agree(choose):
    """Make a module that takes `choose(x, context)` where x and context have one shape."""

    def forward(self, x, context=None, mask=None):
        if context is not None and context.shape == x.shape:
            x, context = choose(x, context)
        return Heads.forward(self, x, context, mask)

    return heads(forward)


def values_from_x_where_the_shapes_agree(self, x, context=None, mask=None):
    q, k, v = self.qkv(x, context)
    if q.shape == k.shape:
        v = split(self.v_proj(x), self.num_heads)
    return self.o_proj(merge(weights(q, k, mask) @ v))


def one_distribution_for_all_heads(q, k, v, mask):
    scores = (q @ k.mT / math.sqrt(q.shape[-1])).mean(1, keepdim=True)
    scores = scores.expand(-1, q.shape[1], -1, -1)
    if mask is None:
        return scores.softmax(-1) @ v
    return scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0.0) @ v


def empty_rows_see_everything(mask):
    return mask | ~mask.any(-1, keepdim=True)


def filled_with(value):
    def attend(q, k, v, mask):
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        if mask is None:
            return scores.softmax(-1) @ v
        w = scores.masked_fill(~mask, value).softmax(-1)
        return (w * mask.any(-1, keepdim=True)) @ v

    return inner(attend)


def repeated_for_heads(q, k, v, mask):
    """Folds heads into the batch, and repeats the mask in the other order."""
    B, H, L, D = q.shape
    S = k.shape[2]
    if mask is not None:
        mask = mask.expand(B, H, L, S) if mask.ndim == 4 and mask.shape[1] > 1 else mask
        if mask.ndim == 4 and mask.shape[1] == 1:
            mask = mask[:, 0].expand(B, L, S).repeat(H, 1, 1)
        elif mask.ndim == 4:
            mask = mask.reshape(B * H, L, S)
    q, k, v = (t.reshape(B * H, -1, D) for t in (q, k, v))
    return (weights(q, k, mask) @ v).view(B, H, L, D)


def renormalized_with_epsilon(q, k, v, mask):
    w = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)
    if mask is not None:
        w = w * mask
        w = w / (w.sum(-1, keepdim=True) + 1e-3)
    return w @ v


# ------------------------------------------------------------------------- from_torch


def parts(mha):
    layers = zip(mha.in_proj_weight.chunk(3), mha.in_proj_bias.chunk(3), strict=True)
    return [*layers, (mha.out_proj.weight, mha.out_proj.bias)]


def carry_over(mha, kind=Heads, change=lambda i, w, b: (w, b)):
    module = kind(mha.embed_dim, mha.num_heads)
    with torch.no_grad():
        for i, (layer, (w, b)) in enumerate(
            zip(list(module.children())[:4], parts(mha), strict=True)
        ):
            w, b = change(i, w, b)
            layer.weight.copy_(w)
            layer.bias.copy_(b)
    return module


_first: list = []


def remembers_the_first(mha):
    if not _first or _first[0].q_proj.in_features != mha.embed_dim:
        _first[:] = [carry_over(mha)]
    return _first[0]


def takes_the_weights_away(mha):
    module = carry_over(mha)
    with torch.no_grad():
        mha.in_proj_weight.zero_()
    return module


def changes_the_given_output_bias(mha):
    module = carry_over(mha)
    with torch.no_grad():
        mha.out_proj.bias.add_(1)
    return module


def frozen(mha):
    return carry_over(mha).requires_grad_(False)


def buffers_instead_of_parameters(mha):
    module = carry_over(mha)
    for layer in module.children():
        weight = layer.weight.detach()
        del layer.weight
        layer.register_buffer("weight", weight)
    return module


def splits_into_the_first_three_heads(mha):
    return carry_over(mha, lambda d_model, num_heads: Heads(d_model, min(num_heads, 3)))


def opposite_masks(mha):
    return carry_over(mha, with_mask(lambda mask: ~mask))


def without_bias_of(layer):
    return lambda mha: carry_over(mha, change=lambda i, w, b: (w, b * (i != layer)))


def freezes_the_given(mha):
    module = carry_over(mha)
    mha.requires_grad_(False)
    return module


def doubles_the_given(mha):
    return carry_over(mha.double())


def tokens_first_from_now_on(mha):
    mha.batch_first = False
    return carry_over(mha)


def adds_a_layer_to_the_given(mha):
    module = carry_over(mha)
    mha.q_proj = module.q_proj
    return module


def takes_the_output_layer_away(mha):
    module = carry_over(mha)
    module.o_proj = mha.out_proj
    del mha.out_proj
    return module


_modules: dict = {}


def one_module_for_each_size(mha):
    sizes = mha.embed_dim, mha.num_heads
    if sizes not in _modules:
        _modules[sizes] = Heads(*sizes)
    _modules[sizes].load_state_dict(carry_over(mha).state_dict())
    return _modules[sizes]


def cannot_be_trained(mha):
    with torch.inference_mode():
        return carry_over(mha)


def keys_and_queries_tied(mha):
    module = carry_over(mha)
    module.k_proj = module.q_proj
    return module


def layers_with_plain_tensors(mha):
    module, E = carry_over(mha), mha.embed_dim
    for i, layer in enumerate((module.q_proj, module.k_proj, module.v_proj)):
        del layer.weight
        layer.weight = mha.in_proj_weight[i * E : (i + 1) * E]
    return module


def asks_a_copy_of_mha(mha):
    """The eight parameters are there, and never used."""
    module, inside = carry_over(mha), copy.deepcopy(mha)

    def forward(x, context=None, mask=None):
        c = x if context is None else context
        if mask is not None:
            mask = ~mask.expand(len(x), mha.num_heads, x.shape[1], c.shape[1]).flatten(0, 1)
        return inside(x, c, c, attn_mask=mask)[0]

    module.forward = forward
    return module


UNLISTED = {
    "split_heads": {
        "remembers by shape": remembers_by_shape,
        "one head not split": one_head_not_split,
        "one head beside the tokens": one_head_beside_the_tokens,
        "untransposed where B = H": untransposed_where_b_is_h,
        "only as many heads as places": only_as_many_heads_as_places,
        "gradient of the first head only": gradient_of_the_first_head_only,
        "float32 in between": lambda x, num_heads: split(x.float(), num_heads).to(x.dtype),
        "half precision in between": lambda x, num_heads: split(
            x.half().to(x.dtype), num_heads
        ),
        "one token squeezed": lambda x, num_heads: split(x, num_heads).squeeze(2),
        "one head squeezed": lambda x, num_heads: split(x, num_heads).squeeze(1),
        "D = 1 squeezed": lambda x, num_heads: split(x, num_heads).squeeze(-1),
        "tokens in pieces": lambda x, num_heads: torch.stack(x.chunk(num_heads, 1), 1),
        "as wide as the root of E": lambda x, num_heads: split(
            x, x.shape[-1] // math.isqrt(x.shape[-1])
        ),
        "untransposed where H = L": view_when_head_and_length_agree,
        "strides of a contiguous x": strided_view,
        "heads reversed": lambda x, num_heads: split(x, num_heads).flip(1),
        "channels reversed": lambda x, num_heads: split(x, num_heads).flip(-1),
        "tokens reversed": lambda x, num_heads: split(x, num_heads).flip(2),
        "gradient cut": lambda x, num_heads: split(x.detach(), num_heads),
        "float32 out": lambda x, num_heads: split(x.float(), num_heads),
        "at most four heads": lambda x, num_heads: split(x, min(num_heads, 4)),
        "three heads always": lambda x, num_heads: split(x, 3),
        "heads of four channels": lambda x, num_heads: split(x, x.shape[-1] // 4),
        "squeezed": lambda x, num_heads: split(x, num_heads).squeeze(),
        "first sample only": lambda x, num_heads: split(x[:1], num_heads).expand(
            len(x), -1, -1, -1
        ),
        "scaled": lambda x, num_heads: (
            split(x, num_heads) / (x.shape[-1] / num_heads) ** 0.5
        ),
        "x made zero": lambda x, num_heads: (split(x, num_heads).clone(), x.zero_())[0],
        "tuple with D": lambda x, num_heads: (
            split(x, num_heads),
            x.shape[-1] // num_heads,
        ),
        "transposed where D = H": lambda x, num_heads: (
            x.unflatten(-1, (num_heads, -1)).permute(0, 3, 1, 2)
            if x.shape[-1] == num_heads**2
            else split(x, num_heads)
        ),
        "a numpy array": lambda x, num_heads: split(x, num_heads).detach().float().numpy(),
        "batch and length swapped where equal": lambda x, num_heads: (
            split(x.transpose(0, 1), num_heads)
            if x.shape[0] == x.shape[1]
            else split(x, num_heads)
        ),
    },
    "merge_heads": {
        "changes x": merge_in_place,
        "remembers by shape": merge_remembers_by_shape,
        "the fewer of two are heads": merge_fewer_of_two_are_heads,
        "strides of a split": merge_strides_of_a_split,
        "all but the last": merge_all_but_the_last,
        "half the gradient": merge_with_half_the_gradient,
        "float32 in between": lambda x: merge(x.float()).to(x.dtype),
        "one head squeezed": lambda x: x.squeeze() if x.shape[1] == 1 else merge(x),
        "one channel squeezed": lambda x: merge(x).squeeze(-1),
        "first sample only": lambda x: merge(x[:1]).expand(len(x), -1, -1),
        "samples side by side": lambda x: torch.cat(list(x), -1),
        "first and last head only": lambda x: torch.cat([x[:, 0], x[:, -1]], -1),
        "untransposed where H = L": lambda x: (
            x.flatten(2) if x.shape[1] == x.shape[2] else merge(x)
        ),
        "untransposed if contiguous": lambda x: (
            x.reshape(x.shape[0], x.shape[2], -1) if x.is_contiguous() else merge(x)
        ),
        "untransposed if not contiguous": lambda x: (
            merge(x)
            if x.is_contiguous()
            else x.reshape(x.shape[0], x.shape[2], x.shape[1] * x.shape[3])
        ),
        "gradient cut": lambda x: merge(x.detach()),
        "float32 out": lambda x: merge(x.float()),
        "three heads always": lambda x: torch.cat([x[:, h] for h in range(3)], -1),
        "heads shifted": lambda x: merge(x.roll(1, dims=1)),
        "channels reversed": lambda x: merge(x.flip(-1)),
        "squeezed": lambda x: merge(x).squeeze(),
        "largest of the heads": lambda x: x.amax(1),
        "divided by H": lambda x: merge(x) / x.shape[1],
        "normalized": lambda x: F.normalize(merge(x), dim=-1),
        "list of samples": lambda x: list(merge(x)),
        "two axes transposed too many": lambda x: merge(x).mT,
        "numbers as integers": lambda x: merge(x.round()),
        "view on strides": lambda x: merge(x.contiguous().as_strided(x.shape, x.stride())),
        "interleaved where D = H": lambda x: (
            x.permute(0, 2, 3, 1).flatten(-2) if x.shape[1] == x.shape[3] else merge(x)
        ),
        "batch and heads swapped where equal": lambda x: (
            merge(x.transpose(0, 1)) if x.shape[0] == x.shape[1] else merge(x)
        ),
    },
    "MultiHeadAttention": {
        "caches keys": CachesKeys,
        "caches the mask": CachesTheMask,
        "copies the weights once": CopiesTheWeightsOnce,
        "keeps the first context": KeepsTheFirstContext,
        "sizes of the first module": SizesOfTheFirstModule,
        "nan painted over in each head": inner(nan_painted_over_per_head),
        "without a maximum": inner(without_a_maximum),
        "silent if any head is": inner(silent_if_any_head_is),
        "own channels only": heads(each_head_projects_its_own_channels),
        "output bias once per head": heads(output_bias_once_per_head),
        "one distribution for all heads": inner(one_distribution_for_all_heads),
        "filled with -20": filled_with(-20.0),
        "context ignored where the shapes agree": other_where_the_shapes_agree(
            lambda x, context: (x, x)
        ),
        "context swapped where the shapes agree": other_where_the_shapes_agree(
            lambda x, context: (context, x)
        ),
        "values from x where the shapes agree": heads(values_from_x_where_the_shapes_agree),
        "empty rows see key 0": with_mask(
            lambda m: torch.cat([m[..., :1] | ~m.any(-1, keepdim=True), m[..., 1:]], -1)
        ),
        "no mask if it allows nothing": heads(
            lambda self, x, context=None, mask=None: Heads.forward(
                self, x, context, mask if mask is not None and mask.any() else None
            )
        ),
        "masks of two axes only": with_mask(
            lambda m: m if m.ndim == 2 else m.new_ones(1, 1)
        ),
        "masks of four axes only": with_mask(
            lambda m: m if m.ndim == 4 else m.new_ones(1, 1)
        ),
        "heads and samples of the mask swapped where equal": heads(
            lambda self, x, context=None, mask=None: Heads.forward(
                self,
                x,
                context,
                mask.transpose(0, 1)
                if mask is not None and mask.ndim == 4 and len(x) == self.num_heads
                else mask,
            )
        ),
        "mask squeezed": with_mask(lambda m: m.squeeze()),
        "scores clamped": inner(
            lambda q, k, v, mask: (
                weights(q, k, mask) @ v
                if mask is not None
                else (q @ k.mT / math.sqrt(q.shape[-1])).clamp(-30, 30).softmax(-1) @ v
            )
        ),
        "scaled by the number of queries": inner(
            lambda q, k, v, mask: (
                weights(q * math.sqrt(q.shape[-1] / q.shape[-2]), k, mask) @ v
            )
        ),
        "frozen values": FrozenValues,
        "unregistered layers": Unregistered,
        "no module": NotAModule,
        "layer norm inside": NormedInside,
        "no output bias": NoOutputBias,
        "an instance": Heads(4, 2),
        "nan painted over in the weights": inner(nan_painted_over),
        "nan painted over in the output": heads(nan_painted_over_in_the_output),
        "empty rows see everything": with_mask(empty_rows_see_everything),
        "filled with -10": filled_with(-10.0),
        "filled with the smallest score": inner(
            lambda q, k, v, mask: (
                weights(q, k, None) @ v
                if mask is None
                else (
                    (s := q @ k.mT / math.sqrt(q.shape[-1]))
                    .where(mask, s.min())
                    .softmax(-1)
                    * mask.any(-1, keepdim=True)
                )
                @ v
            )
        ),
        "mask repeated in the wrong order": inner(repeated_for_heads),
        "renormalized with an epsilon": inner(renormalized_with_epsilon),
        "the mask of sample 0": with_mask(lambda m: m[:1] if m.ndim == 4 else m),
        "the mask of head 0": with_mask(lambda m: m[:, :1] if m.ndim == 4 else m),
        "the mask of query 0": with_mask(lambda m: m[..., :1, :]),
        "the mask of the last query": with_mask(lambda m: m[..., -1:, :]),
        "any head's mask": with_mask(
            lambda m: m.any(1, keepdim=True) if m.ndim == 4 else m
        ),
        "all heads' mask": with_mask(
            lambda m: m.all(1, keepdim=True) if m.ndim == 4 else m
        ),
        "every query sees itself": with_mask(
            lambda m: m | torch.eye(*m.shape[-2:], dtype=torch.bool)
        ),
        "hides pad queries too": with_mask(
            lambda m: m & m.mT if m.shape[-1] == m.shape[-2] else m
        ),
        "no mask with a context": heads(
            lambda self, x, context=None, mask=None: Heads.forward(
                self, x, context, mask if context is None else None
            )
        ),
        "no mask without a context": heads(
            lambda self, x, context=None, mask=None: Heads.forward(
                self, x, context, None if context is None else mask
            )
        ),
        "causal where L = S": heads(
            lambda self, x, context=None, mask=None: Heads.forward(
                self,
                x,
                context,
                torch.ones(x.shape[1], x.shape[1]).tril().bool()
                if mask is None and context is None
                else mask,
            )
        ),
        "scaled by the width of the context": inner(
            lambda q, k, v, mask: weights(q * (q.shape[1] ** -0.01), k, mask) @ v
        ),
        "heads of 64": inner(
            lambda q, k, v, mask: weights(q * q.shape[-1] ** 0.5 / 8, k, mask) @ v
        ),
        "at most eight keys": inner(
            lambda q, k, v, mask: (
                weights(q, k[:, :, :8], None if mask is None else mask[..., :8])
                @ v[:, :, :8]
            )
        ),
        "at most four heads": heads(
            lambda self, x, context=None, mask=None: (
                (t := weights(*(p := self.qkv(x, context))[:2], mask) @ p[2]),
                self.o_proj(merge(t * (torch.arange(t.shape[1]) < 4)[:, None, None])),
            )[-1]
        ),
        "weights cut": inner(lambda q, k, v, mask: weights(q, k, mask).detach() @ v),
        "values cut": inner(lambda q, k, v, mask: weights(q, k, mask) @ v.detach()),
        "changes x": heads(
            lambda self, x, context=None, mask=None: Heads.forward(
                self, x.add_(0.1), context, mask
            )
        ),
        "changes the mask": heads(
            lambda self, x, context=None, mask=None: Heads.forward(
                self, x, context, mask if mask is None else ~mask.logical_not_()
            )
        ),
        "output activated": heads(
            lambda self, x, context=None, mask=None: Heads.forward(
                self, x, context, mask
            ).relu()
        ),
        "mean over words": heads(
            lambda self, x, context=None, mask=None: Heads.forward(
                self, x, context, mask
            ).mean(1, keepdim=True)
        ),
        "squeezed": heads(
            lambda self, x, context=None, mask=None: Heads.forward(
                self, x, context, mask
            ).squeeze()
        ),
        "first sample's context": heads(
            lambda self, x, context=None, mask=None: Heads.forward(
                self,
                x,
                context if context is None else context[:1].expand_as(context),
                mask,
            )
        ),
        "context cut to the length of x": heads(
            lambda self, x, context=None, mask=None: Heads.forward(
                self,
                x,
                context if context is None else context[:, : x.shape[1]],
                mask
                if mask is None or context is None
                else mask[..., : min(x.shape[1], context.shape[1])],
            )
        ),
        "context after x": heads(
            lambda self, x, context=None, mask=None: Heads.forward(
                self,
                x,
                context if context is None else torch.cat([x, context], 1),
                mask
                if mask is None or context is None
                else F.pad(mask, (x.shape[1], 0), value=True),
            )
        ),
        "fully hidden rows become o_proj's bias twice": heads(
            lambda self, x, context=None, mask=None: (
                y := Heads.forward(self, x, context, mask),
                y
                if mask is None
                else y
                + self.o_proj.bias
                * (~mask.expand(len(x), self.num_heads, x.shape[1], -1).any(-1))
                .all(1)[..., None]
                .to(y),
            )[-1]
        ),
        "float32 inside and out": heads(
            lambda self, x, context=None, mask=None: Heads.forward(
                self, x, context, mask
            ).float()
        ),
        "no such argument as mask": heads(
            lambda self, x, context=None, attn_mask=None: Heads.forward(
                self, x, context, attn_mask
            )
        ),
        "a dictionary": heads(
            lambda self, x, context=None, mask=None: {
                "output": Heads.forward(self, x, context, mask)
            }
        ),
    },
    "from_torch": {
        "remembers the first": remembers_the_first,
        "takes the weights away": takes_the_weights_away,
        "changes the given output bias": changes_the_given_output_bias,
        "freezes the given": freezes_the_given,
        "doubles the given": doubles_the_given,
        "tokens first from now on": tokens_first_from_now_on,
        "adds a layer to the given": adds_a_layer_to_the_given,
        "takes the output layer away": takes_the_output_layer_away,
        "one module for each size": one_module_for_each_size,
        "cannot be trained": cannot_be_trained,
        "keys and queries tied": keys_and_queries_tied,
        "layers with plain tensors": layers_with_plain_tensors,
        "asks a copy of mha": asks_a_copy_of_mha,
        "query bias left out": without_bias_of(0),
        "value bias left out": without_bias_of(2),
        "rows one too high": lambda mha: carry_over(
            mha, change=lambda i, w, b: (w if i == 3 else w.roll(1, 0), b)
        ),
        "frozen": frozen,
        "buffers": buffers_instead_of_parameters,
        "at most three heads": splits_into_the_first_three_heads,
        "opposite masks": opposite_masks,
        "a state dict": lambda mha: carry_over(mha).state_dict(),
        "a tuple": lambda mha: (carry_over(mha), mha),
        "a function": lambda mha: carry_over(mha).forward,
        "another of PyTorch's": lambda mha: nn.MultiheadAttention(
            mha.embed_dim, mha.num_heads, batch_first=True
        ),
        "a linear layer": lambda mha: nn.Linear(mha.embed_dim, mha.embed_dim),
        "heads of head_dim 3": lambda mha: carry_over(
            mha,
            lambda d_model, num_heads: (
                Heads(d_model, max(1, d_model // 3))
                if d_model % 3 == 0
                else Heads(d_model, num_heads)
            ),
        ),
        "no mask": lambda mha: carry_over(mha, with_mask(lambda mask: None)),
        "context ignored": lambda mha: carry_over(
            mha,
            heads(
                lambda self, x, context=None, mask=None: Heads.forward(self, x, None, None)
            ),
        ),
        "rounded": lambda mha: carry_over(
            mha, change=lambda i, w, b: (w.mul(100).round() / 100, b)
        ),
        "half precision": lambda mha: carry_over(
            mha, change=lambda i, w, b: (w.bfloat16(), b.bfloat16())
        ),
        "output bias doubled": lambda mha: carry_over(
            mha, change=lambda i, w, b: (w, b * (2 if i == 3 else 1))
        ),
        "heads reversed": lambda mha: carry_over(
            mha,
            change=lambda i, w, b: (
                (w, b)
                if i == 3
                else (
                    w.unflatten(0, (mha.num_heads, -1)).flip(0).flatten(0, 1),
                    b.unflatten(0, (mha.num_heads, -1)).flip(0).flatten(0, 1),
                )
            ),
        ),
        "double precision out": lambda mha: carry_over(mha).double(),
    },
}
