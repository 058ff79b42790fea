"""Right answers to the tasks of lesson 01, by task name."""

import functools
import math

import torch
import torch.nn.functional as F
from torch import nn

# --------------------------------------------------------------------- stable_softmax


def softmax_by_torch(x, dim=-1):
    return torch.softmax(x, dim)


def softmax_by_logsumexp(x, dim=-1):
    return (x - x.logsumexp(dim, keepdim=True)).exp()


def softmax_base_two(x, dim=-1):
    y = 2.0 ** ((x - x.max(dim, keepdim=True).values) * math.log2(math.e))
    return y / y.sum(dim, keepdim=True)


def softmax_on_moved_axis(x, dim=-1):
    x = x.movedim(dim, -1)
    e = torch.exp(x - x.max(-1, True)[0].detach())
    return (e / e.sum(-1, True)).movedim(-1, dim)


def softmax_in_float64(x, dim=-1):
    e = torch.exp(x.double() - x.double().amax(dim, True))
    return (e / e.sum(dim, True)).to(x.dtype)


def softmax_in_float32(x, dim=-1):
    return F.softmax(x.float(), dim=dim).to(x.dtype)


def softmax_in_place_on_its_own(x, dim=-1):
    y = x - x.amax(dim, keepdim=True)
    y = y.exp_()
    return y.div(y.sum(dim, keepdim=True))


def softmax_row_by_row(x, dim=-1):
    rows = [(r - r.max()).exp() for r in x.movedim(dim, -1).reshape(-1, x.shape[dim])]
    rows = torch.stack([r / r.sum() for r in rows])
    return rows.view(x.movedim(dim, -1).shape).movedim(-1, dim)


def softmax_multiplied_by_reciprocal(x, dim=-1):
    e = (x - torch.amax(x, dim=dim, keepdim=True)).exp()
    return e * e.sum(dim=dim, keepdim=True).reciprocal()


def softmax_with_epsilon_that_is_harmless(x, dim=-1):
    e = (x - x.amax(dim, keepdim=True)).exp()
    return e / (e.sum(dim, keepdim=True) + 1e-12)


def softmax_with_keyword_only_dim(x, *, dim=-1):
    return x.softmax(dim)


def softmax_with_another_name_for_dim(x, axis=-1):
    return x.softmax(axis)


def softmax_online(x, dim=-1):
    """Largest value and sum in one pass, entry by entry."""
    largest, total = x.narrow(dim, 0, 1), torch.ones_like(x.narrow(dim, 0, 1))
    for i in range(1, x.shape[dim]):
        entry = x.narrow(dim, i, 1)
        new = torch.maximum(largest, entry)
        safe = new.masked_fill(new == -torch.inf, 0.0)
        total = (
            total * (largest - safe).exp() * (largest != -torch.inf) + (entry - safe).exp()
        )
        largest = new
    return (x - largest).exp() / total


class SoftmaxModule(nn.Module):
    def forward(self, x, dim=-1):
        return x.log_softmax(dim).exp()


# ------------------------------------------------------------------- attention_scores


def scores_matmul(q, k):
    return q @ k.transpose(-2, -1) / q.size(-1) ** 0.5


def scores_bmm(q, k):
    return torch.bmm(q, k.permute(0, 2, 1)) / math.sqrt(k.shape[2])


def scores_scaled_query(q, k):
    return torch.einsum("bij,bkj->bik", q * q.shape[-1] ** -0.5, k)


def scores_split_scale(q, k):
    s = q.shape[-1] ** -0.25
    return (q * s) @ (k * s).mT


def scores_double_loop(q, k):
    out = torch.zeros(q.shape[0], q.shape[1], k.shape[1], dtype=q.dtype)
    for i in range(q.shape[1]):
        for j in range(k.shape[1]):
            out[:, i, j] = (q[:, i] * k[:, j]).sum(-1)
    return out / math.sqrt(q.shape[-1])


def scores_from_transposed(q, k):
    return (k @ q.mT).mT / math.sqrt(q.shape[-1])


def scores_broadcast(q, k):
    return (q[:, :, None] * k[:, None]).sum(-1) / torch.tensor(q.shape[-1]).sqrt().to(
        q.dtype
    )


def scores_baddbmm(q, k):
    zero = torch.zeros(q.shape[0], q.shape[1], k.shape[1], dtype=q.dtype)
    return torch.baddbmm(zero, q, k.mT, alpha=q.shape[-1] ** -0.5)


def scores_batch_by_batch(q, k):
    return torch.stack([a @ b.T for a, b in zip(q, k, strict=True)]) / q.shape[-1] ** 0.5


def scores_by_vmap(q, k):
    one = torch.vmap(torch.dot, in_dims=(None, 0))
    many = torch.vmap(torch.vmap(one, in_dims=(0, None)))
    return many(q, k) / math.sqrt(q.shape[-1])


# -------------------------------------------------------------------------- attention


def attention_matmul(q, k, v):
    w = F.softmax(q @ k.mT / math.sqrt(q.shape[-1]), dim=-1)
    return w @ v, w


def attention_list(q, k, v):
    w = (q @ k.mT * q.shape[-1] ** -0.5).softmax(2)
    return [torch.bmm(w, v), w]


def attention_on_transposed_scores(q, k, v):
    w = (k @ q.mT / math.sqrt(q.shape[-1])).softmax(dim=1).mT
    return w @ v, w


def attention_by_hand(q, k, v):
    s = q @ k.mT / math.sqrt(q.shape[-1])
    e = (s - s.amax(-1, keepdim=True)).exp()
    return (e @ v) / e.sum(-1, keepdim=True), e / e.sum(-1, keepdim=True)


def attention_sdpa(q, k, v):
    w = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)
    return F.scaled_dot_product_attention(q, k, v), w


def attention_query_by_query(q, k, v):
    outs, ws = [], []
    for i in range(q.shape[1]):
        s = torch.einsum("bd,bsd->bs", q[:, i], k) / math.sqrt(q.shape[-1])
        w = s.softmax(-1)
        ws.append(w)
        outs.append((w[..., None] * v).sum(1))
    return torch.stack(outs, 1), torch.stack(ws, 1)


def attention_sample_by_sample(q, k, v):
    outs, ws = [], []
    for qq, kk, vv in zip(q, k, v, strict=True):
        w = torch.softmax(qq @ kk.T / qq.shape[-1] ** 0.5, -1)
        ws.append(w)
        outs.append(w @ vv)
    return torch.stack(outs), torch.stack(ws)


def attention_in_place_scores(q, k, v):
    s = q @ k.transpose(1, 2)
    s /= math.sqrt(q.size(2))
    s -= s.max(dim=-1, keepdim=True).values.detach()
    w = s.softmax(-1)
    return torch.matmul(w, v), w


def attention_float64_inside(q, k, v):
    w = (q.double() @ k.double().mT / math.sqrt(q.shape[-1])).softmax(-1)
    return (w @ v.double()).to(v.dtype), w.to(v.dtype)


def attention_scale_on_key(q, k, v):
    k = k / math.sqrt(k.shape[-1])
    w = torch.einsum("bld,bsd->bls", q, k).softmax(-1)
    return torch.einsum("bls,bsv->blv", w, v), w


def attention_shifted_by_constant(q, k, v):
    s = q @ (k - k.mean(1, keepdim=True)).mT / math.sqrt(q.shape[-1])
    w = (s + 3.0).softmax(-1)
    return w @ v, w


# ---------------------------------------------------------------------- SelfAttention


class SelfAttentionMatmul(nn.Module):
    def __init__(self, d_model, head_dim):
        super().__init__()
        self.q_proj = nn.Linear(d_model, head_dim, bias=False)
        self.k_proj = nn.Linear(d_model, head_dim, bias=False)
        self.v_proj = nn.Linear(d_model, head_dim, bias=False)

    def forward(self, x):
        return attention_matmul(self.q_proj(x), self.k_proj(x), self.v_proj(x))[0]


class SelfAttentionSdpa(SelfAttentionMatmul):
    def forward(self, x):
        return F.scaled_dot_product_attention(
            self.q_proj(x), self.k_proj(x), self.v_proj(x)
        )


class SelfAttentionFunctional(SelfAttentionMatmul):
    def forward(self, x):
        q, k, v = (F.linear(x, p.weight) for p in (self.q_proj, self.k_proj, self.v_proj))
        return attention_query_by_query(q, k, v)[0]


class SelfAttentionFusedWeights(SelfAttentionMatmul):
    def forward(self, x):
        w = torch.cat([self.q_proj.weight, self.k_proj.weight, self.v_proj.weight])
        q, k, v = (x @ w.T).chunk(3, dim=-1)
        return attention_by_hand(q, k, v)[0]


class SelfAttentionWithSetting(SelfAttentionMatmul):
    def __init__(self, d_model, head_dim, extra=None):
        super().__init__(d_model, head_dim)
        self.scale = head_dim**-0.5
        self.dropout = nn.Dropout(0.0)
        self.register_buffer("unused", torch.zeros(1))

    def forward(self, x):
        q = self.q_proj(x) * self.scale
        return self.dropout((q @ self.k_proj(x).mT).softmax(-1)) @ self.v_proj(x)


class SelfAttentionOddOrder(nn.Module):
    def __init__(self, d_model, head_dim):
        nn.Module.__init__(self)
        self.v_proj, self.k_proj, self.q_proj = (
            nn.Linear(d_model, head_dim, bias=False) for _ in range(3)
        )
        self.head_dim = head_dim

    def forward(self, inputs):
        keys, queries = self.k_proj(inputs), self.q_proj(inputs)
        scores = torch.einsum("bqd,bkd->bqk", queries, keys)
        weights = torch.softmax(scores / math.sqrt(self.head_dim), dim=-1)
        return self.v_proj(weights @ inputs)  # mixing and projecting commute


def self_attention_factory(d_model, head_dim):
    return SelfAttentionMatmul(d_model, head_dim)


class SelfAttentionKeyBias(SelfAttentionMatmul):
    def __init__(self, d_model, head_dim):
        super().__init__(d_model, head_dim)
        self.k_proj = nn.Linear(d_model, head_dim)  # softmax ignores a key bias


class SelfAttentionOneHeadOfMany(SelfAttentionMatmul):
    def forward(self, x):
        q, k, v = (p(x)[:, None] for p in (self.q_proj, self.k_proj, self.v_proj))
        return F.scaled_dot_product_attention(q, k, v)[:, 0]


class SelfAttentionWordByWord(SelfAttentionMatmul):
    def forward(self, x):
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        words = [attention_matmul(q[:, i : i + 1], k, v)[0] for i in range(x.shape[1])]
        return torch.cat(words, dim=1)


ALTERNATIVES = {
    "stable_softmax": [
        softmax_by_torch,
        softmax_by_logsumexp,
        softmax_base_two,
        softmax_on_moved_axis,
        softmax_in_float64,
        softmax_in_float32,
        softmax_in_place_on_its_own,
        softmax_row_by_row,
        softmax_multiplied_by_reciprocal,
        softmax_with_epsilon_that_is_harmless,
        softmax_with_keyword_only_dim,
        softmax_with_another_name_for_dim,
        softmax_online,
        functools.partial(F.softmax, dim=-1),
        SoftmaxModule(),
    ],
    "attention_scores": [
        scores_matmul,
        scores_bmm,
        scores_scaled_query,
        scores_split_scale,
        scores_double_loop,
        scores_from_transposed,
        scores_broadcast,
        scores_baddbmm,
        scores_batch_by_batch,
        scores_by_vmap,
    ],
    "attention": [
        attention_matmul,
        attention_list,
        attention_on_transposed_scores,
        attention_by_hand,
        attention_sdpa,
        attention_query_by_query,
        attention_sample_by_sample,
        attention_in_place_scores,
        attention_float64_inside,
        attention_scale_on_key,
        attention_shifted_by_constant,
    ],
    "SelfAttention": [
        SelfAttentionMatmul,
        SelfAttentionSdpa,
        SelfAttentionFunctional,
        SelfAttentionFusedWeights,
        SelfAttentionWithSetting,
        SelfAttentionOddOrder,
        self_attention_factory,
        SelfAttentionKeyBias,
        SelfAttentionOneHeadOfMany,
        SelfAttentionWordByWord,
    ],
}
