"""Answers to CrossAttention that no row makes."""

import math

import torch
import torch.nn.functional as F

from attn_lib.checks.task import find_task
from tests.checks.answers import Answers

answers = Answers(
    "CrossAttention",
    spelled=dict(
        q=["torch.stack(queries.chunk(H, dim=-1), dim=1)"],
        k=["keys.view(*context.shape[:2], H, -1).permute(0, 2, 1, 3)"],
        products=["q @ k.transpose(2, 3)", "torch.einsum('bhld,bhsd->bhls', q, k)"],
        scores=["products * D**-0.5", "(q * D**-0.25) @ (k * D**-0.25).mT"],
        allowed=["mask.unsqueeze(1).unsqueeze(2)", "mask[:, None, None].expand_as(scores)"],
        hidden=[
            "torch.where(allowed, scores, -torch.inf)",
            "scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)",
        ],
        weights=["F.softmax(hidden, dim=-1)", "hidden.double().softmax(-1).to(x.dtype)"],
        kept=["torch.where(allowed, weights, 0.0)"],
        heads=["torch.einsum('bhls,bhsd->bhld', kept, v)"],
        merged=["heads.transpose(1, 2).reshape(x.shape)", "torch.cat(heads.unbind(1), -1)"],
        output=["merged @ self.o_proj.weight.T + self.o_proj.bias"],
    ),
)
Right = find_task("CrossAttention").reference


class Parts(Right):
    def parts(self, x, context):
        parts = self.q_proj(x), self.k_proj(context), self.v_proj(context)
        return [t.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for t in parts]

    def scores(self, x, context):
        q, k, v = self.parts(x, context)
        return q @ k.mT / math.sqrt(q.shape[-1]), v

    def merged(self, heads):
        return self.o_proj(heads.transpose(1, 2).flatten(2))


@answers.right
class Fused(Parts):
    def forward(self, x, context, context_mask=None):
        mask = None if context_mask is None else context_mask[:, None, None]
        q, k, v = self.parts(x, context)
        return self.merged(F.scaled_dot_product_attention(q, k, v, attn_mask=mask))


@answers.right
class SentenceBySentence(Right):
    """Only the real context words are ever touched."""

    def forward(self, x, context, context_mask=None):
        outputs = []
        for b in range(len(x)):
            real = context[b] if context_mask is None else context[b][context_mask[b]]
            empty = self.o_proj(torch.zeros_like(x[b]))
            outputs.append(
                super().forward(x[b : b + 1], real[None])[0] if len(real) else empty
            )
        return torch.stack(outputs)


@answers.right
class Renormalized(Parts):
    """Hides after the softmax, and makes what is left add up to 1 again."""

    def forward(self, x, context, context_mask=None):
        scores, v = self.scores(x, context)
        weights = scores.softmax(-1)
        if context_mask is not None:
            weights = weights * context_mask[:, None, None]
            total = weights.sum(-1, keepdim=True)
            weights = weights / total.masked_fill(total == 0, 1.0)
        return self.merged(weights @ v)


@answers.wrong
class NanPaintedOverAtTheEnd(Parts):
    """Right values; the gradients are nan."""

    def forward(self, x, context, context_mask=None):
        scores, v = self.scores(x, context)
        if context_mask is not None:
            scores = scores.masked_fill(~context_mask[:, None, None], -torch.inf)
        return self.merged((scores.softmax(-1) @ v).nan_to_num())


@answers.wrong
class PadsZeroedInPlace(Right):
    def forward(self, x, context, context_mask=None):
        if context_mask is not None:
            context[~context_mask] = 0.0
        return super().forward(x, context, context_mask)


@answers.wrong
class CountsRealWords(Right):
    def forward(self, x, context, context_mask=None):
        if context_mask is not None:
            count = context_mask.sum(1, keepdim=True)
            context_mask = torch.arange(context.shape[1]) < count
        return super().forward(x, context, context_mask)


@answers.wrong
class MaskMustBeThere(Right):
    def forward(self, x, context, context_mask):
        return super().forward(x, context, context_mask)
