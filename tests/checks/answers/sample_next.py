"""Answers to sample_next that no row makes."""

import torch

from attn_lib.generation import next_token
from tests.checks.answers import Answers

answers = Answers(
    "sample_next",
    spelled=dict(
        likeliest=["logits.max(-1).indices", "logits.topk(1).indices[:, 0]"],
        divisor=["temperature or 1.0", "max(temperature, 1e-6)"],
        exact=["logits.double()", "logits.float() if logits.dtype.itemsize < 4 else logits", "logits.float()"],
        shifted=["exact", "exact.double()"],
        chances=["torch.softmax(scaled, -1)", "scaled.log_softmax(-1).exp()"],
        order=["chances.sort(-1, descending=True).indices", "(-chances).argsort(-1)", "chances.topk(logits.shape[-1]).indices"],
        outside=["F.pad(upto, (1, 0))[:, :-1] >= top_p"],
        first=["F.one_hot(torch.tensor(0), logits.shape[-1]).bool()"],
        stay=["ordered * ~cut", "(k := ordered.masked_fill(cut, 0.0)) / k.sum(-1, keepdim=True)"],
        ranks=[
            "torch.multinomial(stay.double(), 1, generator=generator)",
            "torch.cat([row.multinomial(1, generator=generator)[None] for row in stay])",
            "(stay.cumsum(-1) <= torch.rand(len(logits), 1, generator=generator) * stay.sum(-1, keepdim=True)).sum(-1, keepdim=True).clamp(max=logits.shape[-1] - 1)",
            "(stay / -torch.rand(stay.shape, generator=generator).log()).argmax(-1, keepdim=True)",
        ],
        drawn=["torch.take_along_dim(order, ranks, -1)"],
        column=["drawn.squeeze(1)", "drawn.flatten()"],
    ),
    survivors=[
        dict(divisor="2.0 if greedy else temperature"),  # what is greedy draws nothing
        dict(shifted="exact + exact.amax(-1, keepdim=True)"),  # a softmax does not see it
        dict(shifted="exact - -1"),
        dict(outside="before > top_p"),  # a sum that is top_p to the last digit: chance
        dict(column="drawn[:, -1]"),
        # The last axis of two.
        dict(likeliest="logits.argmax(1)"),
        dict(shifted="exact - exact.amax(1, keepdim=True)"),
        dict(chances="scaled.softmax(1)"),
        dict(order="chances.argsort(1, descending=True)"),
        dict(ordered="chances.gather(1, order)"),
        dict(upto="ordered.cumsum(1)"),
        dict(first="torch.arange(logits.shape[1]) == 0"),
        dict(drawn="order.gather(1, ranks)"),
    ],
)  # fmt: skip


@answers.right
def row_by_row(logits, temperature, top_p, generator):
    top_p = max(top_p, 1e-9)  # the library wants more than 0
    return torch.tensor([next_token(row, temperature, top_p, generator) for row in logits])


@answers.right
def of_hidden_logits(logits, temperature, top_p, generator):
    """As in the library of Hugging Face: from the least likely one up."""
    if temperature == 0:
        return logits.argmax(dim=-1)
    logits = logits.float() / temperature
    ascending, order = torch.sort(logits, descending=False)
    remove = ascending.softmax(-1).cumsum(-1) <= 1 - top_p
    remove[..., -1:] = False
    logits = logits.masked_fill(remove.scatter(1, order, remove), -torch.inf)
    return torch.multinomial(logits.softmax(-1), 1, generator=generator).squeeze(1)


@answers.right
def one_after_another(logits, temperature, top_p, generator):
    """Adds up the likeliest tokens in a loop."""
    if not temperature:
        return logits.max(1)[1]
    ids = []
    for row in (logits.double() / temperature).softmax(1):
        total, among = 0.0, []
        for token in row.argsort(descending=True).tolist():
            among.append(token)
            total += row[token].item()
            if total >= top_p:
                break
        drawn = torch.rand((), generator=generator, dtype=torch.float64).item() * total
        while len(among) > 1 and drawn >= row[among[0]]:
            drawn -= row[among.pop(0)].item()
        ids.append(among[0])
    return torch.tensor(ids)


@answers.right
def gumbel(logits, temperature, top_p, generator):
    if temperature == 0:
        return logits.argmax(1)
    logits = logits.double() / temperature
    logits, order = logits.sort(dim=1, descending=True)
    upto = logits.softmax(1).cumsum(1)
    keep = torch.ones_like(upto, dtype=torch.bool)
    keep[:, 1:] = upto[:, :-1] < top_p
    noise = -(-torch.rand(logits.shape, generator=generator).double().log()).log()
    ranks = (logits + noise).masked_fill(~keep, -torch.inf).argmax(1, keepdim=True)
    return order.gather(1, ranks)[:, 0]


def _logits(change):
    return lambda logits, *rest: of_hidden_logits(change(logits), *rest)


# No token after the third; -inf made finite; half precision; the first token never; another top_p.
answers.wrong(
    _logits(lambda logits: logits[:, :3]),
    _logits(lambda logits: logits.nan_to_num(neginf=0.0)),
    _logits(lambda logits: logits.clamp(-8, 8)),
    _logits(lambda logits: logits.flip(0)),
    lambda logits, t, p, g: of_hidden_logits(logits, t, max(p, 0.9), g),
    lambda logits, t, p, g: of_hidden_logits(logits, max(t, 0.6), p, g),
    lambda logits, t, p, g: of_hidden_logits(logits, t, p, g) + 1,
    lambda logits, t, p, g: of_hidden_logits(logits.repeat(2, 1), t, p, g),
    lambda logits, t, p, g: of_hidden_logits(logits, t, p, torch.Generator()),
)


@answers.wrong
def hides_in_place(logits, temperature, top_p, generator):
    ids = of_hidden_logits(logits, temperature, top_p, generator)
    logits[:, 0] = -1.0
    return ids
