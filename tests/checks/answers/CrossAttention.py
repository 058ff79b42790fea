"""Answers to CrossAttention that no row makes."""

import torch

from attn_lib.checks.task import find_task
from tests.checks.answers import Answers

answers = Answers(
    "CrossAttention",
    spelled=dict(
        q=["torch.stack(queries.chunk(H, dim=-1), dim=1)"],
        k=["keys.view(*context.shape[:2], H, -1).permute(0, 2, 1, 3)"],
        scores=["(q * D**-0.25) @ (k * D**-0.25).mT"],
        allowed=["mask.unsqueeze(1).unsqueeze(2)", "mask[:, None, None].expand_as(scores)"],
        hidden=["scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)"],
        weights=["hidden.double().softmax(-1).to(x.dtype)"],
        kept=["torch.where(allowed, weights, 0.0)"],
        merged=["heads.transpose(1, 2).reshape(x.shape)", "torch.cat(heads.unbind(1), -1)"],
        output=["merged @ self.o_proj.weight.T + self.o_proj.bias"],
    ),
)
Right = find_task("CrossAttention").reference


@answers.right
class SentenceBySentence(Right):
    """Only the real context words are ever touched."""

    def forward(self, x, context, context_mask=None):
        outputs = []
        for b, one in enumerate(x):
            real = slice(None) if context_mask is None else context_mask[b]
            outputs.append(super().forward(one[None], context[b, real][None]))
        return torch.cat(outputs)


@answers.wrong
class MaskMustBeThere(Right):
    def forward(self, x, context, context_mask):
        return super().forward(x, context, context_mask)
