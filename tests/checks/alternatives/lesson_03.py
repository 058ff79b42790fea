"""Right answers to the tasks of lesson 03, by task name."""

import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

# ------------------------------------------------------------------------ split_heads


def split_view(x, num_heads):
    B, L, E = x.shape
    return x.view(B, L, num_heads, E // num_heads).transpose(1, 2)


def split_reshape_permute(x, num_heads):
    B, L, _ = x.shape
    return x.reshape(B, L, num_heads, -1).permute(0, 2, 1, 3)


def split_contiguous(x, num_heads):
    return x.unflatten(2, (num_heads, -1)).transpose(1, 2).contiguous()


def split_chunks(x, num_heads):
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)


def split_by_width(x, num_heads):
    return torch.stack(x.split(x.shape[-1] // num_heads, dim=-1), 1)


def split_slices(x, num_heads):
    D = x.size(-1) // num_heads
    return torch.stack([x[:, :, h * D : (h + 1) * D] for h in range(num_heads)], dim=1)


def split_into_empty(x, num_heads):
    B, L, E = x.shape
    D = E // num_heads
    out = torch.empty(B, num_heads, L, D, dtype=x.dtype)
    for h in range(num_heads):
        out[:, h] = x[..., h * D : h * D + D]
    return out


def split_element_by_element(x, num_heads):
    B, L, E = x.shape
    D = E // num_heads
    rows = [
        [
            torch.stack([x[b, i, h * D : h * D + D] for i in range(L)])
            for h in range(num_heads)
        ]
        for b in range(B)
    ]
    return torch.stack([torch.stack(heads) for heads in rows])


def split_by_index(x, num_heads):
    D = x.shape[-1] // num_heads
    channels = torch.arange(num_heads)[:, None] * D + torch.arange(D)
    return x[..., channels].movedim(2, 1)


def split_transposed_first(x, num_heads):
    B, L, E = x.shape
    return x.mT.reshape(B, num_heads, E // num_heads, L).mT


def split_tensor_split(x, num_heads):
    return torch.stack(torch.tensor_split(x, num_heads, dim=2)).transpose(0, 1)


def split_swapaxes(x, num_heads):
    return torch.swapaxes(x.reshape(*x.shape[:-1], num_heads, -1), -2, -3)


def split_by_einsum(x, num_heads):
    """Multiply by one picking matrix for each head."""
    pick = torch.eye(x.shape[-1], dtype=x.dtype).unflatten(1, (num_heads, -1))
    return torch.einsum("ble,ehd->bhld", x, pick)


def split_cat_of_unsqueezed(x, num_heads):
    pieces = torch.chunk(x, num_heads, 2)
    return torch.cat([piece.unsqueeze(1) for piece in pieces], dim=1)


def split_sample_by_sample(x, num_heads):
    return torch.stack([s.unflatten(-1, (num_heads, -1)).transpose(0, 1) for s in x])


def split_into_new_buffer(x, num_heads):
    B, L, _ = x.shape
    return (
        x.contiguous()
        .view(B * L, num_heads, -1)
        .view(B, L, num_heads, -1)
        .transpose(-3, -2)
    )


# ------------------------------------------------------------------------ merge_heads


def merge_reshape(x):
    B, H, L, D = x.shape
    return x.transpose(1, 2).reshape(B, L, H * D)


def merge_contiguous_view(x):
    B, _, L, _ = x.size()
    return x.permute(0, 2, 1, 3).contiguous().view(B, L, -1)


def merge_flatten(x):
    return x.transpose(-2, -3).flatten(start_dim=2)


def merge_cat(x):
    return torch.cat(list(x.unbind(1)), dim=-1)


def merge_slices(x):
    return torch.cat([x[:, h] for h in range(x.shape[1])], -1)


def merge_hstack(x):
    return torch.cat(torch.unbind(x.movedim(1, 0)), dim=2)


def merge_into_zeros(x):
    B, H, L, D = x.shape
    out = x.new_zeros(B, L, H * D)
    for h in range(H):
        out[:, :, h * D : (h + 1) * D] += x[:, h]
    return out


def merge_token_by_token(x):
    return torch.stack([x[:, :, i].flatten(1) for i in range(x.shape[2])], dim=1)


def merge_by_einsum(x):
    _, H, _, D = x.shape
    put = torch.eye(H * D, dtype=x.dtype).view(H, D, H * D)
    return torch.einsum("bhld,hde->ble", x, put)


def merge_via_transposed(x):
    return x.mT.flatten(1, 2).mT


def merge_movedim(x):
    return torch.movedim(x, 1, 2).flatten(-2, -1)


def merge_einsum_order(x):
    return torch.einsum("bhld->blhd", x).reshape(x.shape[0], x.shape[2], -1)


def merge_sample_by_sample(x):
    return torch.stack([s.transpose(0, 1).reshape(s.shape[1], -1) for s in x])


def merge_sum_of_padded(x):
    H, D = x.shape[1], x.shape[3]
    return sum(F.pad(x[:, h], (h * D, (H - 1 - h) * D)) for h in range(H))


# ----------------------------------------------------------------- MultiHeadAttention


def layers(module, d_model):
    for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
        setattr(module, name, nn.Linear(d_model, d_model))


def weights_of(scores, mask):
    if mask is None:
        return scores.softmax(-1)
    return scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0.0)


class WithSdpa(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        layers(self, d_model)

    def qkv(self, x, context):
        context = x if context is None else context
        q, k, v = self.q_proj(x), self.k_proj(context), self.v_proj(context)
        return (split_view(t, self.num_heads) for t in (q, k, v))

    def forward(self, x, context=None, mask=None):
        q, k, v = self.qkv(x, context)
        return self.o_proj(
            merge_reshape(F.scaled_dot_product_attention(q, k, v, attn_mask=mask))
        )


class ByHand(WithSdpa):
    def forward(self, x, context=None, mask=None):
        q, k, v = self.qkv(x, context)
        w = weights_of(q @ k.mT / math.sqrt(q.size(-1)), mask)
        return self.o_proj(merge_flatten(w @ v))


class WithEinsum(WithSdpa):
    """Never transposes: the heads stay where the view puts them."""

    def forward(self, x, context=None, mask=None):
        if context is None:
            context = x
        heads = (self.num_heads, -1)
        q, k, v = (
            t.unflatten(-1, heads)
            for t in (self.q_proj(x), self.k_proj(context), self.v_proj(context))
        )
        w = weights_of(torch.einsum("blhd,bshd->bhls", q, k) * q.shape[-1] ** -0.5, mask)
        return self.o_proj(torch.einsum("bhls,bshd->blhd", w, v).flatten(2))


class HeadByHead(WithSdpa):
    def forward(self, x, context=None, mask=None):
        c = x if context is None else context
        D, outs = x.shape[-1] // self.num_heads, []
        q, k, v = self.q_proj(x), self.k_proj(c), self.v_proj(c)
        for h in range(self.num_heads):
            part = slice(h * D, (h + 1) * D)
            m = None
            if mask is not None:
                m = mask.expand(len(x), self.num_heads, x.shape[1], c.shape[1])[:, h]
            w = weights_of(q[..., part] @ k[..., part].mT / D**0.5, m)
            outs.append(w @ v[..., part])
        return self.o_proj(torch.cat(outs, dim=-1))


class SumOfHeads(WithSdpa):
    """Merging and projecting is a sum over heads, each with its slice of o_proj."""

    def forward(self, x, context=None, mask=None):
        q, k, v = self.qkv(x, context)
        heads = F.scaled_dot_product_attention(q, k, v, mask)
        slices = self.o_proj.weight.chunk(self.num_heads, dim=1)
        out = self.o_proj.bias
        for h, part in enumerate(slices):
            out = out + heads[:, h] @ part.T
        return out


class SumOfHeadsEinsum(ByHand):
    def forward(self, x, context=None, mask=None):
        q, k, v = self.qkv(x, context)
        w = weights_of(torch.einsum("bhld,bhsd->bhls", q, k) / q.shape[-1] ** 0.5, mask)
        by_head = self.o_proj.weight.unflatten(1, (self.num_heads, -1))
        return torch.einsum("bhls,bhsd,ehd->ble", w, v, by_head) + self.o_proj.bias


class FusedProjections(WithSdpa):
    def qkv(self, x, context):
        ps = (self.q_proj, self.k_proj, self.v_proj)
        w, b = torch.cat([p.weight for p in ps]), torch.cat([p.bias for p in ps])
        if context is None:
            three = F.linear(x, w, b).chunk(3, -1)
        else:
            E = x.shape[-1]
            three = (
                F.linear(x, w[:E], b[:E]),
                *F.linear(context, w[E:], b[E:]).chunk(2, -1),
            )
        return (split_chunks(t, self.num_heads) for t in three)


class FoldedIntoBatch(WithSdpa):
    def forward(self, x, context=None, mask=None):
        q, k, v = self.qkv(x, context)
        B, H, L, D = q.shape
        S = k.shape[2]
        q, k, v = (t.reshape(B * H, -1, D) for t in (q, k, v))
        scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(D)
        if mask is not None:
            mask = mask.expand(B, H, L, S).reshape(B * H, L, S)
        out = torch.bmm(weights_of(scores, mask), v)
        return self.o_proj(out.view(B, H, L, D).transpose(1, 2).reshape(B, L, H * D))


class AdditiveMask(WithSdpa):
    def forward(self, x, context=None, mask=None):
        q, k, v = self.qkv(x, context)
        scores = q @ k.mT / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores + torch.zeros(()).to(q).where(mask, torch.finfo(q.dtype).min)
        w = scores.softmax(-1)
        if mask is not None:
            w = w * mask.any(-1, keepdim=True)
        return self.o_proj(merge_cat(w @ v))


class LargeNegativeThenZero(WithSdpa):
    def forward(self, x, context=None, mask=None):
        q, k, v = self.qkv(x, context)
        mask = torch.ones(1, 1, dtype=torch.bool) if mask is None else mask
        w = torch.where(mask, q @ k.mT * q.shape[-1] ** -0.5, -1e9).softmax(-1)
        return self.o_proj(merge_reshape(torch.where(mask, w, torch.zeros_like(w)) @ v))


class NanReplacedBeforeAFill(WithSdpa):
    """The fill of a whole row cuts it off from the gradient, nan and all."""

    def forward(self, x, context=None, mask=None):
        q, k, v = self.qkv(x, context)
        s = q @ k.mT / math.sqrt(q.shape[-1])
        s = s if mask is None else s.masked_fill(~mask, float("-inf"))
        return self.o_proj(merge_reshape(s.softmax(-1).nan_to_num(0.0) @ v))


class ByExponentials(WithSdpa):
    """Numerator and denominator apart; rows without a key are divided by 1."""

    def forward(self, x, context=None, mask=None):
        q, k, v = self.qkv(x, context)
        s = q @ k.mT / math.sqrt(q.shape[-1])
        e = (s - s.amax(-1, keepdim=True).detach()).exp()
        if mask is not None:
            s = s.masked_fill(~mask, -1e30)
            e = (s - s.amax(-1, keepdim=True).detach()).exp() * mask
        total = e.sum(-1, keepdim=True)
        return self.o_proj(merge_reshape((e @ v) / total.where(total > 0, 1.0)))


class InFloat64(WithSdpa):
    def forward(self, x, context=None, mask=None):
        q, k, v = (t.double() for t in self.qkv(x, context))
        w = weights_of(q @ k.mT / math.sqrt(q.shape[-1]), mask)
        return self.o_proj(merge_reshape(w @ v).to(x.dtype))


class QueryByQuery(WithSdpa):
    def forward(self, x, context=None, mask=None):
        q, k, v = self.qkv(x, context)
        B, H, L, D = q.shape
        allowed = torch.ones(B, H, L, k.shape[2], dtype=torch.bool)
        allowed = allowed if mask is None else allowed & mask
        rows = []
        for i in range(L):
            s = (q[:, :, i, None] * k).sum(-1) / D**0.5
            rows.append((weights_of(s, allowed[:, :, i])[..., None] * v).sum(2))
        return self.o_proj(merge_reshape(torch.stack(rows, 2)))


class ScaledQueries(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        nn.Module.__init__(self)
        self.o_proj, self.v_proj, self.k_proj, self.q_proj = (
            nn.Linear(d_model, d_model, bias=True) for _ in range(4)
        )
        self.H, self.D = num_heads, d_model // num_heads
        self.scale = self.D**-0.5
        self.dropout = nn.Dropout(dropout)

    def forward(self, inputs, context=None, *, mask=None):
        source = inputs if context is None else context
        (B, L, E), S = inputs.shape, source.shape[1]
        q = self.q_proj(inputs).mul(self.scale).view(B, L, self.H, self.D).transpose(1, 2)
        k = self.k_proj(source).view(B, S, self.H, self.D).permute(0, 2, 3, 1)
        v = self.v_proj(source).view(B, S, self.H, self.D).transpose(1, 2)
        w = self.dropout(weights_of(torch.matmul(q, k), mask))
        return self.o_proj(torch.matmul(w, v).transpose(1, 2).reshape(B, L, E))


class FromPieces(WithSdpa):
    """One small linear map for each head, cut out of the full weights."""

    def forward(self, x, context=None, mask=None):
        c = x if context is None else context
        H = self.num_heads

        def per_head(layer, t):
            pieces = zip(layer.weight.chunk(H), layer.bias.chunk(H), strict=True)
            return torch.stack([F.linear(t, w, b) for w, b in pieces], dim=1)

        q, k, v = (
            per_head(self.q_proj, x),
            per_head(self.k_proj, c),
            per_head(self.v_proj, c),
        )
        return self.o_proj(merge_slices(F.scaled_dot_product_attention(q, k, v, mask)))


class TorchInside(WithSdpa):
    """PyTorch's own function where there is no mask."""

    def forward(self, x, context=None, mask=None):
        if mask is not None:
            return super().forward(x, context, mask)
        c = x if context is None else context
        ps = (self.q_proj, self.k_proj, self.v_proj)
        out, _ = F.multi_head_attention_forward(
            x.transpose(0, 1), c.transpose(0, 1), c.transpose(0, 1),
            x.shape[-1], self.num_heads, None, torch.cat([p.bias for p in ps]),
            None, None, False, 0.0, self.o_proj.weight, self.o_proj.bias,
            need_weights=False, use_separate_proj_weight=True,
            q_proj_weight=ps[0].weight, k_proj_weight=ps[1].weight, v_proj_weight=ps[2].weight,
        )  # fmt: skip
        return out.transpose(0, 1)


def multi_head_factory(d_model, num_heads):
    return ByHand(d_model, num_heads)


# ------------------------------------------------------------------------- from_torch


def from_torch_chunks(mha):
    module = WithSdpa(mha.embed_dim, mha.num_heads)
    names = (module.q_proj, module.k_proj, module.v_proj)
    with torch.no_grad():
        for p, w, b in zip(
            names, mha.in_proj_weight.chunk(3), mha.in_proj_bias.chunk(3), strict=True
        ):
            p.weight.copy_(w)
            p.bias.copy_(b)
        module.o_proj.weight.copy_(mha.out_proj.weight)
        module.o_proj.bias.copy_(mha.out_proj.bias)
    return module


def from_torch_slices_into_data(mha):
    E = mha.in_proj_weight.shape[1]
    module = ByHand(E, mha.num_heads)
    module.q_proj.weight.data = mha.in_proj_weight.data[:E].clone()
    module.k_proj.weight.data = mha.in_proj_weight.data[E : 2 * E].clone()
    module.v_proj.weight.data = mha.in_proj_weight.data[2 * E :].clone()
    module.q_proj.bias.data = mha.in_proj_bias.data[:E].clone()
    module.k_proj.bias.data = mha.in_proj_bias.data[E : 2 * E].clone()
    module.v_proj.bias.data = mha.in_proj_bias.data[2 * E :].clone()
    module.o_proj.load_state_dict(mha.out_proj.state_dict())
    return module


def from_torch_state_dict(mha):
    old, new = mha.state_dict(), {}
    for kind in ("weight", "bias"):
        parts = old[f"in_proj_{kind}"].chunk(3)
        for letter, part in zip("qkv", parts, strict=True):
            new[f"{letter}_proj.{kind}"] = part
        new[f"o_proj.{kind}"] = old[f"out_proj.{kind}"]
    module = WithEinsum(mha.embed_dim, mha.num_heads)
    module.load_state_dict(new)
    return module


def from_torch_new_parameters(mha):
    module = WithSdpa(mha.embed_dim, mha.num_heads)
    q, k, v = mha.in_proj_weight.detach().clone().split(mha.embed_dim)
    bq, bk, bv = mha.in_proj_bias.detach().clone().split(mha.embed_dim)
    module.q_proj.weight, module.q_proj.bias = nn.Parameter(q), nn.Parameter(bq)
    module.k_proj.weight, module.k_proj.bias = nn.Parameter(k), nn.Parameter(bk)
    module.v_proj.weight, module.v_proj.bias = nn.Parameter(v), nn.Parameter(bv)
    module.o_proj = copy.deepcopy(mha.out_proj)
    return module


def from_torch_by_view(mha):
    module = HeadByHead(mha.embed_dim, mha.num_heads)
    weights = mha.in_proj_weight.view(3, mha.embed_dim, mha.embed_dim).unbind(0)
    biases = mha.in_proj_bias.view(3, -1)
    with torch.no_grad():
        for i, letter in enumerate("qkv"):
            layer = module.get_submodule(f"{letter}_proj")
            layer.weight[:] = weights[i]
            layer.bias[:] = biases[i]
        for mine, theirs in zip(
            module.o_proj.parameters(), mha.out_proj.parameters(), strict=True
        ):
            mine.copy_(theirs)
    return module


def from_torch_by_fill(mha):
    module = WithSdpa(mha.embed_dim, mha.num_heads)
    E = mha.embed_dim
    with torch.no_grad():
        for i, p in enumerate((module.q_proj, module.k_proj, module.v_proj)):
            p.weight.zero_().add_(mha.in_proj_weight[i * E : (i + 1) * E])
            p.bias.zero_().add_(mha.in_proj_bias[i * E : (i + 1) * E])
        module.o_proj.weight.set_(mha.out_proj.weight.clone())
        module.o_proj.bias.set_(mha.out_proj.bias.clone())
    return module


def from_torch_by_numpy(mha):
    module = WithSdpa(mha.embed_dim, mha.num_heads)
    parts = [
        torch.tensor(part.numpy().copy()) for part in mha.in_proj_weight.detach().chunk(3)
    ]
    for layer, w, b in zip(
        (module.q_proj, module.k_proj, module.v_proj, module.o_proj),
        [*parts, mha.out_proj.weight.detach()],
        [*mha.in_proj_bias.detach().chunk(3), mha.out_proj.bias.detach()],
        strict=True,
    ):
        layer.weight.data.copy_(w)
        layer.bias.data.copy_(b)
    return module


def from_torch_in_eval_mode(mha):
    return from_torch_chunks(mha).eval()


def from_torch_in_shared_memory(mha):
    """Not to be recommended, but nobody asked for copies."""
    module = WithSdpa(mha.embed_dim, mha.num_heads)
    weights, biases = mha.in_proj_weight.chunk(3), mha.in_proj_bias.chunk(3)
    for name, w, b in zip(("q_proj", "k_proj", "v_proj"), weights, biases, strict=True):
        layer = getattr(module, name)
        layer.weight.data, layer.bias.data = w.data, b.data
    module.o_proj = mha.out_proj
    return module


def from_torch_from_a_copy(mha):
    mha = copy.deepcopy(mha)
    module = ScaledQueries(mha.embed_dim, mha.num_heads)
    E = mha.embed_dim
    for i, name in enumerate(["q_proj", "k_proj", "v_proj"]):
        rows = slice(i * E, (i + 1) * E)
        layer = nn.Linear(E, E)
        with torch.no_grad():
            layer.weight.copy_(mha.in_proj_weight[rows])
            layer.bias.copy_(mha.in_proj_bias[rows])
        setattr(module, name, layer)
    module.o_proj = mha.out_proj
    return module


def from_torch_with_two_calls(mha):
    first = from_torch_state_dict(mha)
    module = SumOfHeads(mha.embed_dim, mha.num_heads)
    module.load_state_dict(first.state_dict())
    return module


def from_torch_by_named_parameters(mha):
    module = FusedProjections(mha.out_proj.out_features, mha.num_heads)
    theirs = dict(mha.named_parameters())
    E = module.q_proj.in_features
    for name, p in module.named_parameters():
        layer, kind = name.split(".")
        if layer == "o_proj":
            p.data = theirs[f"out_proj.{kind}"].data.clone()
        else:
            i = ("q_proj", "k_proj", "v_proj").index(layer)
            p.data = theirs[f"in_proj_{kind}"].data[i * E : (i + 1) * E].clone()
    return module


@torch.no_grad()
def from_torch_decorated(mha):
    module = ByExponentials(mha.embed_dim, mha.num_heads)
    weights = (*mha.in_proj_weight.tensor_split(3), mha.out_proj.weight)
    biases = (*mha.in_proj_bias.tensor_split(3), mha.out_proj.bias)
    for layer, w, b in zip(module.children(), weights, biases, strict=True):
        layer.weight.copy_(w)
        layer.bias.copy_(b)
    return module


class FromTorchAsClassmethod(WithSdpa):
    @classmethod
    def from_torch(cls, mha):
        module = cls(mha.embed_dim, mha.num_heads)
        module.load_state_dict(from_torch_state_dict(mha).state_dict())
        return module


def from_torch_from_weights_only(mha):
    E, H = mha.out_proj.weight.shape[0], mha.embed_dim // mha.head_dim
    module = FromPieces(E, H)
    flat = torch.cat([mha.in_proj_weight, mha.out_proj.weight]).detach()
    bias = torch.cat([mha.in_proj_bias, mha.out_proj.bias]).detach()
    for i, layer in enumerate((module.q_proj, module.k_proj, module.v_proj, module.o_proj)):
        layer.weight = nn.Parameter(flat[i * E : (i + 1) * E].clone())
        layer.bias = nn.Parameter(bias[i * E : (i + 1) * E].clone())
    return module


ALTERNATIVES = {
    "split_heads": [
        split_view,
        split_reshape_permute,
        split_contiguous,
        split_chunks,
        split_by_width,
        split_slices,
        split_into_empty,
        split_element_by_element,
        split_by_index,
        split_transposed_first,
        split_tensor_split,
        split_swapaxes,
        split_by_einsum,
        split_cat_of_unsqueezed,
        split_sample_by_sample,
        split_into_new_buffer,
    ],
    "merge_heads": [
        merge_reshape,
        merge_contiguous_view,
        merge_flatten,
        merge_cat,
        merge_slices,
        merge_hstack,
        merge_into_zeros,
        merge_token_by_token,
        merge_by_einsum,
        merge_via_transposed,
        merge_movedim,
        merge_einsum_order,
        merge_sample_by_sample,
        merge_sum_of_padded,
    ],
    "MultiHeadAttention": [
        WithSdpa,
        ByHand,
        WithEinsum,
        HeadByHead,
        SumOfHeads,
        SumOfHeadsEinsum,
        FusedProjections,
        FoldedIntoBatch,
        AdditiveMask,
        LargeNegativeThenZero,
        NanReplacedBeforeAFill,
        ByExponentials,
        InFloat64,
        QueryByQuery,
        ScaledQueries,
        FromPieces,
        TorchInside,
        multi_head_factory,
    ],
    "from_torch": [
        from_torch_chunks,
        from_torch_slices_into_data,
        from_torch_state_dict,
        from_torch_new_parameters,
        from_torch_by_view,
        from_torch_by_fill,
        from_torch_by_numpy,
        from_torch_in_eval_mode,
        from_torch_from_a_copy,
        from_torch_in_shared_memory,
        from_torch_with_two_calls,
        from_torch_by_named_parameters,
        from_torch_decorated,
        FromTorchAsClassmethod.from_torch,
        from_torch_from_weights_only,
    ],
}
