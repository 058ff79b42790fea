"""Right answers to the tasks of lesson 03, by task name."""

import copy
import functools
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


def split_unfold(x, num_heads):
    """A window of D channels that moves on by D."""
    D = x.shape[-1] // num_heads
    return x.unfold(2, D, D).transpose(1, 2)


def split_gather(x, num_heads):
    (B, L, E), H = x.shape, num_heads
    places = torch.arange(E).view(1, H, 1, E // H).expand(B, H, L, -1)
    return x[:, None].expand(B, H, L, E).gather(3, places)


def split_vmap(x, num_heads):
    def one(sample):
        return sample.unflatten(-1, (num_heads, -1)).transpose(0, 1)

    return torch.vmap(one)(x)


def split_own_strides(x, num_heads):
    (B, L, E), (b, t, e) = x.shape, x.stride()
    D = E // num_heads
    return x.as_strided((B, num_heads, L, D), (b, D * e, t, e), x.storage_offset())


def split_recursively(x, num_heads):
    if num_heads == 1:
        return x.unsqueeze(1)
    D = x.shape[-1] // num_heads
    rest = split_recursively(x[..., D:], num_heads - 1)
    return torch.cat([x[:, None, :, :D], rest], dim=1)


def split_narrow(x, num_heads):
    def head(h, D=x.shape[-1] // num_heads):
        return x.narrow(-1, h * D, D)

    return torch.stack(list(map(head, range(num_heads))), dim=1)


def split_in_float64(x, num_heads, *, head_dim=None):
    head_dim = head_dim or x.shape[-1] // num_heads
    pieces = x.double().view(*x.shape[:-1], num_heads, head_dim)
    return pieces.transpose(-3, -2).to(x.dtype)


def split_by_order_of_rows(x, num_heads):
    """Cut into small rows, then pick them in the new order."""
    B, L, _ = x.shape
    rows = x.reshape(B, L * num_heads, -1)
    order = torch.arange(L * num_heads).view(L, num_heads).T.reshape(-1)
    return rows[:, order].reshape(B, num_heads, L, -1)


class Splitter:
    def __call__(self, x, num_heads):
        return torch.stack(x.dsplit(num_heads)).transpose(0, 1)


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


def merge_vmap(x):
    return torch.vmap(lambda sample: sample.transpose(0, 1).flatten(-2))(x)


def merge_gather(x):
    B, H, L, D = x.shape
    sizes = (torch.arange(L), torch.arange(H), torch.arange(D))
    t, h, d = torch.meshgrid(*sizes, indexing="ij")
    places = (h * L * D + t * D + d).reshape(-1)
    return x.reshape(B, -1)[:, places].view(B, L, H * D)


def merge_by_index(x):
    H, D = x.shape[1], x.shape[3]
    channel = torch.arange(H * D)
    return x[:, channel // D, :, channel % D].permute(1, 2, 0)


def merge_reduce(x):
    return functools.reduce(lambda a, b: torch.cat((a, b), dim=-1), x.unbind(1))


def merge_copy(x):
    B, H, L, D = x.shape
    out = x.new_empty(B, L, H, D)
    out.transpose(1, 2).copy_(x)
    return out.view(B, L, H * D)


def merge_recursively(x):
    if x.shape[1] == 1:
        return x[:, 0]
    return torch.cat([x[:, 0], merge_recursively(x[:, 1:])], dim=-1)


def merge_in_float64(x, num_heads=None):
    return x.double().swapdims(1, 2).flatten(start_dim=2).to(x.dtype)


def merge_split_and_cat(x):
    return torch.cat(x.split(1, dim=1), dim=3).squeeze(1)


def merge_dstack(x):
    return torch.dstack(tuple(x.movedim(1, 0)))


class Merger(nn.Module):
    def forward(self, x):
        return x.transpose(1, 2).flatten(-2)


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
            s = s.masked_fill(~mask, torch.finfo(s.dtype).min)
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


class Renormalized(WithSdpa):
    """Hides after the softmax, and makes what is left add up to 1 again."""

    def forward(self, x, context=None, mask=None):
        q, k, v = self.qkv(x, context)
        w = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
        if mask is not None:
            w = w * mask
            total = w.sum(-1, keepdim=True)
            w = w / total.masked_fill(total == 0, 1.0)
        return self.o_proj(merge_flatten(w @ v))


class WithASink(WithSdpa):
    """One more key, that only empty rows may see, and that has no value."""

    def forward(self, x, context=None, mask=None):
        q, k, v = self.qkv(x, context)
        scores = q @ k.mT / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        sink = torch.full_like(scores[..., :1], -torch.inf)
        if mask is not None:
            sink = sink.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        w = torch.cat([scores, sink], dim=-1).softmax(-1)
        return self.o_proj(merge_flatten(w[..., :-1] @ v))


class ByLogsumexp(WithSdpa):
    def forward(self, x, context=None, mask=None):
        q, k, v = self.qkv(x, context)
        scores = torch.einsum("bhld,bhsd->bhls", q, k) / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(mask == 0, torch.finfo(scores.dtype).min)
        w = (scores - scores.logsumexp(-1, keepdim=True)).exp()
        if mask is not None:
            w = w.masked_fill(mask == 0, 0.0)
        return self.o_proj(torch.einsum("bhls,bhsd->blhd", w, v).flatten(2))


class KeysAsColumns(WithSdpa):
    """Scores (B, H, S, L), and a softmax over their rows."""

    def forward(self, x, context=None, mask=None):
        q, k, v = self.qkv(x, context)
        scores = k @ q.mT / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.where(mask.mT, torch.finfo(scores.dtype).min)
        w = scores.softmax(-2)
        if mask is not None:
            w = w * mask.mT
        return self.o_proj(merge_reshape(w.mT @ v))


class WithoutKeys(WithSdpa):
    """Carries the queries over to the context's side, and never makes a key."""

    def forward(self, x, context=None, mask=None):
        c = x if context is None else context
        q, _, v = self.qkv(x, c)
        to_keys = self.k_proj.weight.unflatten(0, (self.num_heads, -1))
        bias = self.k_proj.bias.unflatten(0, (self.num_heads, -1))
        scores = torch.einsum("bhld,hde,bse->bhls", q, to_keys, c)
        scores = scores + torch.einsum("bhld,hd->bhl", q, bias)[..., None]
        w = weights_of(scores / math.sqrt(q.shape[-1]), mask)
        return self.o_proj(merge_cat(w @ v))


class WithoutKeyBias(WithSdpa):
    """It adds the same number to all scores of a row: the softmax does not notice."""

    def qkv(self, x, context):
        q, _, v = super().qkv(x, context)
        c = x if context is None else context
        return q, split_view(c @ self.k_proj.weight.T, self.num_heads), v


class SampleBySample(WithSdpa):
    def forward(self, x, context=None, mask=None):
        c = x if context is None else context
        outs = []
        for b in range(len(x)):
            own = mask is not None and mask.ndim == 4 and len(mask) > 1
            m = mask[b : b + 1] if own else mask
            outs.append(super().forward(x[b : b + 1], c[b : b + 1], m))
        return torch.cat(outs)


class AliasesOfAList(WithSdpa):
    def __init__(self, d_model, num_heads):
        nn.Module.__init__(self)
        self.num_heads = num_heads
        self.layers = nn.ModuleList(nn.Linear(d_model, d_model) for _ in range(4))
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = self.layers


class WithABuffer(ByHand):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__(d_model, num_heads)
        assert d_model % num_heads == 0
        self.register_buffer("scale", torch.tensor((d_model // num_heads) ** -0.5))
        self.attention = nn.Dropout(dropout)
        for layer in (self.q_proj, self.k_proj, self.v_proj, self.o_proj):
            nn.init.xavier_uniform_(layer.weight)

    def forward(self, *args, **kwargs):
        x, context = (*args, kwargs.get("context"))[:2]
        q, k, v = self.qkv(x, context)
        w = self.attention(weights_of(q @ k.mT * self.scale, kwargs.get("mask")))
        return self.o_proj(merge_flatten(w @ v))


class TorchsModuleInside(WithSdpa):
    """PyTorch's own module, lent the four layers' parameters in every call."""

    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        mha = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
        self.__dict__["mha"] = mha  # not registered: its parameters are not ours

    def forward(self, x, context=None, mask=None):
        c = x if context is None else context
        layers = self.q_proj, self.k_proj, self.v_proj
        lent = {
            "in_proj_weight": torch.cat([layer.weight for layer in layers]),
            "in_proj_bias": torch.cat([layer.bias for layer in layers]),
            "out_proj.weight": self.o_proj.weight,
            "out_proj.bias": self.o_proj.bias,
        }
        if mask is not None:
            mask = ~mask.expand(len(x), self.num_heads, x.shape[1], c.shape[1]).flatten(
                0, 1
            )
        options = {"attn_mask": mask, "need_weights": False}
        return torch.func.functional_call(self.mha, lent, (x, c, c), options)[0]


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


def from_torch_into(kind):
    """Make a right answer whose module is of another kind."""

    def from_torch(mha):
        module = kind(mha.embed_dim, mha.num_heads)
        weights = (*mha.in_proj_weight.chunk(3), mha.out_proj.weight)
        biases = (*mha.in_proj_bias.chunk(3), mha.out_proj.bias)
        with torch.no_grad():
            for name, w, b in zip("qkvo", weights, biases, strict=True):
                layer = getattr(module, f"{name}_proj")
                layer.weight.copy_(w)
                layer.bias.copy_(b)
        return module

    return from_torch


def from_torch_as_one_vector(mha):
    module = WithSdpa(mha.embed_dim, mha.num_heads)
    parts = zip(mha.in_proj_weight.chunk(3), mha.in_proj_bias.chunk(3), strict=True)
    parts = [*parts, (mha.out_proj.weight, mha.out_proj.bias)]
    numbers = torch.cat([t.detach().reshape(-1) for part in parts for t in part])
    nn.utils.vector_to_parameters(numbers, module.parameters())
    return module


def from_torch_assigned(mha):
    """The module is made without memory, and gets PyTorch's."""
    with torch.device("meta"):
        module = WithSdpa(mha.embed_dim, mha.num_heads)
    state = {"o_proj.weight": mha.out_proj.weight, "o_proj.bias": mha.out_proj.bias}
    for kind, both in (("weight", mha.in_proj_weight), ("bias", mha.in_proj_bias)):
        for name, part in zip("qkv", both.unflatten(0, (3, -1)), strict=True):
            state[f"{name}_proj.{kind}"] = part
    state = {name: t.detach() for name, t in state.items()}
    module.load_state_dict(state, assign=True)
    return module.requires_grad_()


def from_torch_with_parameters_that_are_views(mha):
    module = WithSdpa(mha.embed_dim, mha.num_heads)
    layers = (module.q_proj, module.k_proj, module.v_proj)
    rows = zip(mha.in_proj_weight.chunk(3), mha.in_proj_bias.chunk(3), strict=True)
    for layer, (w, b) in zip(layers, rows, strict=True):
        layer.weight, layer.bias = nn.Parameter(w), nn.Parameter(b)
    module.o_proj = copy.deepcopy(mha.out_proj)
    return module


def from_torch_through_its_outputs(mha):
    """What the projection makes of the unit vectors is its matrix; of zero, its bias."""
    E = mha.embed_dim
    probes = torch.cat([torch.eye(E), torch.zeros(1, E)])
    answers = F.linear(probes, mha.in_proj_weight, mha.in_proj_bias).detach()
    module = WithSdpa(E, mha.num_heads)
    for i, layer in enumerate((module.q_proj, module.k_proj, module.v_proj)):
        part = answers[:, i * E : (i + 1) * E]
        layer.weight.data, layer.bias.data = (part[:-1] - part[-1]).T.clone(), part[-1]
    module.o_proj.load_state_dict(mha.out_proj.state_dict())
    return module


def from_torch_without_key_bias(mha):
    """The outputs are the same: the softmax does not notice it."""
    module = from_torch_chunks(mha)
    nn.init.zeros_(module.k_proj.bias)
    return module


def from_torch_in_float64_and_back(mha):
    print("E =", mha.embed_dim)
    module = from_torch_chunks(mha).double()
    return module.to(mha.in_proj_weight.dtype).train(mha.training)


class LoadedWhenMade(ByHand):
    def __init__(self, mha):
        super().__init__(mha.embed_dim, mha.num_heads)
        self.load_state_dict(from_torch_state_dict(mha).state_dict())


class Loader:
    def __init__(self, kind):
        self.kind = kind

    def __call__(self, mha):
        return from_torch_into(self.kind)(mha)


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
        split_unfold,
        split_gather,
        split_vmap,
        split_own_strides,
        split_recursively,
        split_narrow,
        split_in_float64,
        split_by_order_of_rows,
        Splitter(),
        functools.partial(lambda dim, x, num_heads: split_slices(x, num_heads), -1),
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
        merge_vmap,
        merge_gather,
        merge_by_index,
        merge_reduce,
        merge_copy,
        merge_recursively,
        merge_in_float64,
        merge_split_and_cat,
        merge_dstack,
        Merger(),
        functools.partial(lambda a, b, x: x.transpose(a, b).flatten(2), 1, 2),
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
        Renormalized,
        WithASink,
        ByLogsumexp,
        KeysAsColumns,
        WithoutKeys,
        WithoutKeyBias,
        SampleBySample,
        AliasesOfAList,
        WithABuffer,
        TorchsModuleInside,
        functools.partial(WithSdpa),
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
        from_torch_into(AliasesOfAList),
        from_torch_into(WithABuffer),
        from_torch_into(TorchsModuleInside),
        from_torch_as_one_vector,
        from_torch_assigned,
        from_torch_with_parameters_that_are_views,
        from_torch_through_its_outputs,
        from_torch_without_key_bias,
        from_torch_in_float64_and_back,
        LoadedWhenMade,
        Loader(WithoutKeys),
    ],
}
