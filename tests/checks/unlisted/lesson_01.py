"""Wrong answers to the tasks of lesson 01 that its listed mistakes do not foresee, by task name."""

import math

import torch
import torch.nn.functional as F
from torch import nn


def softmax(x, dim=-1):
    e = (x - x.amax(dim, keepdim=True)).exp()
    return e / e.sum(dim, keepdim=True)


def scores(q, k):
    return q @ k.mT / math.sqrt(q.shape[-1])


def attend(q, k, v):
    weights = softmax(scores(q, k))
    return weights @ v, weights


class Head(nn.Module):
    def __init__(self, d_model, head_dim):
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj = (
            nn.Linear(d_model, head_dim, bias=False) for _ in range(3)
        )

    def forward(self, x):
        return attend(self.q_proj(x), self.k_proj(x), self.v_proj(x))[0]


def head(forward):
    """Make a head whose forward is `forward(self, x)`."""
    return type("OtherHead", (Head,), {"forward": forward})


def subtracts_in_place(x, dim=-1):
    x -= x.amax(dim, keepdim=True)
    return softmax(x, dim)


_remembered: dict = {}


def remembers_by_shape(x, dim=-1):
    key = (x.shape, dim, x.dtype)
    if key not in _remembered:
        _remembered[key] = softmax(x, dim)
    return _remembered[key]


def shifts_only_large_numbers(x, dim=-1):
    e = (x - x.amax(dim, keepdim=True)).exp() if x.max() > 80 else x.exp()
    return e / e.sum(dim, keepdim=True)


class CachesKeys(Head):
    def forward(self, x):
        if not hasattr(self, "k"):
            self.k = self.k_proj(x)
        return attend(self.q_proj(x), self.k, self.v_proj(x))[0]


class FrozenKeys(Head):
    def __init__(self, d_model, head_dim):
        super().__init__(d_model, head_dim)
        self.k_proj.requires_grad_(False)


class NotAModule:
    def __init__(self, d_model, head_dim):
        pass

    def __call__(self, x):
        return x


class Unregistered(nn.Module):
    def __init__(self, d_model, head_dim):
        super().__init__()
        self.layers = [nn.Linear(d_model, head_dim, bias=False) for _ in range(3)]

    def forward(self, x):
        return attend(*(layer(x) for layer in self.layers))[0]


class NormedInside(Head):
    def __init__(self, d_model, head_dim):
        super().__init__(d_model, head_dim)
        self.norm = nn.LayerNorm(d_model)

    def forward(self, x):
        return super().forward(self.norm(x))


UNLISTED = {
    "stable_softmax": {
        "in place": subtracts_in_place,
        "remembers by shape": remembers_by_shape,
        "shifts only large numbers": shifts_only_large_numbers,
        "an extra axis": lambda x, dim=-1: softmax(x, dim)[None],
        "at least 2-D": lambda x, dim=-1: softmax(torch.atleast_2d(x), -1),
        "-inf becomes -1e4": lambda x, dim=-1: softmax(
            torch.nan_to_num(x, neginf=-1e4), dim
        ),
        "never quite zero": lambda x, dim=-1: softmax(x, dim).clamp(1e-7, 1),
        "only three axes": lambda x, dim=-1: softmax(x, dim if -2 <= dim <= 2 else -1),
        "gradient cut": lambda x, dim=-1: softmax(x.detach(), dim),
        "denominator cut": lambda x, dim=-1: (
            (e := (x - x.amax(dim, keepdim=True)).exp()) / e.sum(dim, keepdim=True).detach()
        ),
        "float32 out": lambda x, dim=-1: softmax(x.float(), dim),
        "maximum of the last axis": lambda x, dim=-1: (
            (e := (x - x.amax(-1, keepdim=True)).exp()) / e.sum(dim, keepdim=True)
        ),
        "rounded": lambda x, dim=-1: softmax(x, dim).mul(1000).round().div(1000),
        "hardmax when sharp": lambda x, dim=-1: softmax(x.clamp(min=-50), dim),
    },
    "attention_scores": {
        "root of the first size": lambda q, k: q @ k.mT / math.sqrt(q.shape[0] * 3),
        "root of 64, always": lambda q, k: q @ k.mT / 8,
        "root of at most 10": lambda q, k: q @ k.mT / min(q.shape[-1], 10) ** 0.5,
        "zero scores hidden": lambda q, k: scores(q, k).masked_fill(
            q @ k.mT == 0, -torch.inf
        ),
        "clamped": lambda q, k: scores(q, k).clamp(-50, 50),
        "reshaped keys": lambda q, k: (
            q @ k.reshape(k.shape[0], k.shape[2], k.shape[1]) / math.sqrt(q.shape[-1])
        ),
        "first sample's keys": lambda q, k: q @ k[:1].mT / math.sqrt(q.shape[-1]),
        "scaled in place": lambda q, k: q.div_(q.shape[-1] ** 0.5) @ k.mT,
        "keys cut off": lambda q, k: scores(q, k.detach()),
        "distance": lambda q, k: -torch.cdist(q, k),
        "absolute": lambda q, k: scores(q, k).abs(),
        "centered": lambda q, k: scores(q, k - k.mean(1, keepdim=True)),
        "flattened": lambda q, k: scores(q, k).flatten(1),
    },
    "attention": {
        "two softmaxes": lambda q, k, v: (
            (w := softmax(softmax(scores(q, k)))) @ v,
            w,
        ),
        "scores of the mean query": lambda q, k, v: attend(
            q.mean(1, True).expand_as(q), k, v
        ),
        "no self": lambda q, k, v: (
            (w := softmax(scores(q, k) - 1e4 * torch.eye(q.shape[1], k.shape[1]).to(q)))
            @ v,
            w,
        ),
        "weights cut": lambda q, k, v: ((w := attend(q, k, v)[1]) @ v, w.detach()),
        "values cut": lambda q, k, v: attend(q, k, v.detach()),
        "values normalized": lambda q, k, v: attend(q, k, F.normalize(v, dim=-1)),
        "output of sample 0": lambda q, k, v: (
            attend(q, k, v)[0][:1].expand(len(q), -1, -1),
            attend(q, k, v)[1],
        ),
        "top eight keys": lambda q, k, v: (
            (s := scores(q, k)),
            (
                w := softmax(
                    s.masked_fill(s < s.topk(min(8, s.shape[-1])).values[..., -1:], -1e9)
                )
            ),
            (w @ v, w),
        )[-1],
        "tempered": lambda q, k, v: attend(q * 1.05, k, v),
        "dictionary": lambda q, k, v: {"output": attend(q, k, v)[0]},
        "three results": lambda q, k, v: (*attend(q, k, v), scores(q, k)),
        "query added": lambda q, k, v: (
            (attend(q, k, v)[0] + q, attend(q, k, v)[1])
            if q.shape[-1] == v.shape[-1]
            else attend(q, k, v)
        ),
        "wrong when square": lambda q, k, v: (
            attend(q, k.mT, v) if k.shape[1] == k.shape[2] else attend(q, k, v)
        ),
        "zero weights renormalized": lambda q, k, v: (
            (w := attend(q, k, v)[1].where(attend(q, k, v)[1] > 0.05, 0.0)) @ v,
            w,
        ),
    },
    "SelfAttention": {
        "caches keys": CachesKeys,
        "frozen keys": FrozenKeys,
        "no module": NotAModule,
        "unregistered layers": Unregistered,
        "layer norm inside": NormedInside,
        "mean over words": head(
            lambda self, x: Head.forward(self, x).mean(1, keepdim=True)
        ),
        "x normalized": head(lambda self, x: Head.forward(self, F.normalize(x, dim=-1))),
        "first sample only": head(lambda self, x: Head.forward(self, x[:1])),
        "activated": head(lambda self, x: Head.forward(self, x).relu()),
        "scaled by the width of x": head(
            lambda self, x: attend(
                self.q_proj(x) * (self.q_proj(x).shape[-1] / x.shape[-1]) ** 0.5,
                self.k_proj(x),
                self.v_proj(x),
            )[0]
        ),
        "changes x": head(lambda self, x: Head.forward(self, x.mul_(1.0).add_(0.1))),
        "cut off": head(lambda self, x: Head.forward(self, x).detach()),
        "an instance": Head(4, 2),
        "at most six words": head(lambda self, x: Head.forward(self, x[:, :6])),
        "queries from the value layer": head(
            lambda self, x: attend(self.v_proj(x), self.k_proj(x), self.v_proj(x))[0]
        ),
    },
}
