"""Answers to SelfAttention that no row makes."""

import torch
from torch import nn

from tests.checks.answers import Answers

answers = Answers(
    "SelfAttention",
    spelled=dict(
        q=["x @ self.q_proj.weight.T"],
        products=["torch.einsum('bqd,bkd->bqk', q, k)"],
        scores=["products * D**-0.5", "_ - _.amax(-1, keepdim=True)"],
        weights=["scores.mT.softmax(1).mT"],
        # The softmax ignores a key bias.
        k_proj=["nn.Linear(d_model, head_dim)"],
        output=["F.scaled_dot_product_attention(q, k, v)", "self.v_proj(weights @ x)"],
    ),
    survivors=[
        dict(k_proj=f"nn.Linear(d_model, head_dim{b})") for b in ("", ", bias=True")
    ],
)


class Head(nn.Module):
    def __init__(self, d_model, head_dim, extra=None):
        nn.Module.__init__(self)
        self.v_proj, self.k_proj, self.q_proj = (
            nn.Linear(d_model, head_dim, bias=False) for _ in range(3)
        )
        self.scale = head_dim**-0.5
        self.dropout = nn.Dropout(0.0)
        self.register_buffer("unused", torch.zeros(1))

    def forward(self, x):
        weights = (self.q_proj(x) * self.scale @ self.k_proj(x).mT).softmax(-1)
        return self.dropout(weights) @ self.v_proj(x)


answers.right(Head)
answers.right(lambda d_model, head_dim: Head(d_model, head_dim))


@answers.wrong
class CachesKeys(Head):
    def forward(self, x):
        if not hasattr(self, "k"):
            self.k = self.k_proj(x)
        weights = (self.q_proj(x) * self.scale @ self.k.mT).softmax(-1)
        return weights @ self.v_proj(x)


@answers.wrong
class SixWordsAtMost(Head):
    def forward(self, x):
        return super().forward(x[:, :6])


answers.wrong(Head(4, 2))
