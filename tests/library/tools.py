"""Helpers that several tests of the library share."""

import math

import torch

TOLERANCE = {
    torch.float64: 1e-12,
    torch.float32: 1e-6,
    torch.float16: 3e-3,
    torch.bfloat16: 3e-2,
}


def slow_attention(q, k, v, mask):
    """Attention of one head, query by query, in plain Python numbers."""
    output = torch.zeros(len(q), v.shape[1], dtype=torch.float64)
    for i in range(len(q)):
        allowed = [j for j in range(len(k)) if mask[i, j]]
        scores = [sum((q[i] * k[j]).tolist()) / math.sqrt(q.shape[1]) for j in allowed]
        shares = [math.exp(s - max(scores)) for s in scores]
        for share, j in zip(shares, allowed, strict=True):
            output[i] += share / sum(shares) * v[j]
    return output


def sharpen(module, seed=0):
    """Scores with a spread near 2 and biases that are not zero, so that mistakes show."""
    rng = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            parameter.normal_(generator=rng)
            if parameter.ndim == 2:
                gain = 1.5 if name[0] in "qk" or name == "in_proj_weight" else 1.0
                parameter.mul_(gain / parameter.shape[1] ** 0.5)
    return module


def gradients(output, *tensors):
    """The gradients of a fixed random mixture of the output."""
    rng = torch.Generator().manual_seed(0)
    weight = torch.randn(output.shape, generator=rng, dtype=torch.float64)
    return torch.autograd.grad((output.double() * weight).sum(), tensors)
