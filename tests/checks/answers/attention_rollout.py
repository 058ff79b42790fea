"""Answers to attention_rollout that no row makes."""

from functools import reduce

import torch

from tests.checks.answers import Answers

answers = Answers(
    "attention_rollout",
    spelled=dict(
        path=["layers[::-1][::-1]"],
        start=["identity.expand(len(layers[0]), -1, -1)"],
        together=["sum(weights[:, h] for h in range(weights.shape[1])) / weights.shape[1]"],
        step=[
            "added / added.sum(-1, keepdim=True)",
            "torch.lerp(together, identity, 0.5)",
            "torch.cat([weights, identity.expand_as(weights)], 1).mean(1)",
        ],
        product=[
            "(reached[-1].mT @ step.mT).mT",
            "0.5 * reached[-1] + 0.5 * (together @ reached[-1])",
            "((weights @ reached[-1].expand_as(together)[:, None]).mean(1) + reached[-1]) / 2",
        ],
    ),
    survivors=[
        dict(identity="torch.eye(layers[0].shape[-1]).to(layers[-1])"),
        dict(identity="torch.eye(layers[0].shape[-2]).to(layers[0])"),
        dict(identity="torch.eye(layers[-1].shape[-1]).to(layers[0])"),
    ],
)


def steps(layers, axis=1):
    return [(w.mean(axis) + torch.eye(w.shape[-1]).to(w)) / 2 for w in layers]


def rolled(maps):
    return reduce(lambda below, layer: layer @ below, maps)


@answers.right
def from_the_top(layers):
    return reduce(torch.matmul, steps(layers)[::-1])


@answers.wrong
def equal_layers_once(layers):
    new = [w for n, w in enumerate(layers) if not n or not w.equal(layers[n - 1])]
    return rolled(steps(new))


# Ten layers at most, samples for heads if as many.
answers.wrong(
    lambda layers: rolled(steps(layers[:10])),
    lambda layers: rolled(steps(layers, 0 if len(layers[0]) == layers[0].shape[1] else 1)),
)
