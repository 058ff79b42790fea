"""Answers to induction_score that no row makes."""

from tests.checks.answers import Answers

answers = Answers(
    "induction_score",
    spelled=dict(
        given=["weights.clone()", "weights.tril()"],
        per_query=[
            "given.mT.diagonal(period - 1, 2, 3)",
            "torch.stack([given[:, :, i, i + offset] for i in range(period - 1, given.shape[2])], 2)",
            "given[:, :, torch.ones_like(given[0, 0]).tril(offset).triu(offset).bool()]",
            "given.flatten(2)[..., (period - 1) * given.shape[2] :: given.shape[2] + 1]",
        ],
        per_head=[
            "per_query.transpose(0, 1).flatten(1).mean(1)",
            "per_query.sum((0, 2)) / (len(weights) * (weights.shape[-1] - period + 1))",
        ],
    ),
    survivors=[dict(per_query="given.diagonal(offset, dim1=2, dim2=-1)")],
)


def score(w, period):
    return w.diagonal(1 - period, dim1=2, dim2=3).mean((0, 2))


# Nothing for the whole length, needs contiguous weights, thirty tokens at most.
answers.wrong(
    lambda w, period: score(w, period) * (period < w.shape[-1]),
    lambda w, period: score(w.view(-1, *w.shape[2:]).view(w.shape), period),
    lambda w, period: score(w[..., :30, :30], period),
)
