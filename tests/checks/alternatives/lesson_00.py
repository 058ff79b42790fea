"""Right answers to the task of lesson 00."""

import torch


def mixture_matmul(weights, values):
    return weights @ values


def mixture_loop(weights, values):
    return torch.stack(
        [sum(w * v for w, v in zip(row, values, strict=True)) for row in weights]
    )


def mixture_broadcast(weights, values):
    return (weights[:, :, None] * values[None]).sum(1)


ALTERNATIVES = {"mixture": [mixture_matmul, mixture_loop, mixture_broadcast]}
