"""Answers to attention_rollout that no row makes."""

import functools

import torch

from tests.checks.answers import Answers

answers = Answers(
    "attention_rollout",
    spelled=dict(
        path=["list(layers)", "layers[::-1][::-1]"],
        start=["identity.expand(len(layers[0]), -1, -1)"],
        together=[
            "torch.einsum('bhij->bij', weights) / weights.shape[1]",
            "sum(weights[:, h] for h in range(weights.shape[1])) / weights.shape[1]",
        ],
        added=["together + torch.eye(len(together[0])).to(together)"],
        step=[
            "added / added.sum(-1, keepdim=True)",
            "torch.lerp(together, identity, 0.5)",
            "((weights + identity) / 2).mean(1)",
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


def eye(layers):
    return torch.eye(layers[0].shape[-1]).to(layers[0])


def steps(layers):
    return [(weights.mean(1) + eye(layers)) / 2 for weights in layers]


@answers.right
def from_the_top(layers):
    return functools.reduce(torch.matmul, steps(layers)[::-1])


@answers.right
def divided_at_the_end(layers):
    result = eye(layers)
    for weights in layers:
        result = weights.mean(1) @ result + result
    return result / result.sum(-1, keepdim=True)


@answers.right
def over_subsets(layers):
    """The mean over all subsets of layers of the product of their maps."""
    paths = [eye(layers).double().expand(len(layers[0]), -1, -1)]
    for weights in layers:
        paths += [weights.double().mean(1) @ path for path in paths]
    return (sum(paths) / len(paths)).to(layers[0].dtype)


def rolled(maps):
    return functools.reduce(lambda below, layer: layer @ below, maps)


@answers.wrong
def list_emptied(layers):
    result = eye(layers)
    while layers:
        weights = layers.pop(0)
        result = (weights.mean(1) + torch.eye(weights.shape[-1]).to(weights)) / 2 @ result
    return result


@answers.wrong
def identity_put_into_the_list(layers):
    layers.insert(0, eye(layers).expand_as(layers[0]))
    return rolled(steps(layers))


@answers.wrong
def diagonal_added_in_place(layers):
    for weights in layers:
        weights.diagonal(dim1=2, dim2=3).add_(1.0)
    return rolled([weights.mean(1) / 2 for weights in layers])


@answers.wrong
def ten_layers_at_most(layers):
    return rolled(steps(layers[:10]))


@answers.wrong
def third_layer_on_the_wrong_side(layers):
    return functools.reduce(torch.matmul, steps(layers)[2:], rolled(steps(layers)[:2]))


@answers.wrong
def equal_layers_once(layers):
    new = [w for n, w in enumerate(layers) if not n or not w.equal(layers[n - 1])]
    return rolled(steps(new))


@answers.wrong
def samples_for_heads_if_as_many(layers):
    means = [w.mean(0 if len(w) == w.shape[1] else 1) for w in layers]
    return rolled([(a + eye(layers)) / 2 for a in means])
