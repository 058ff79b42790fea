"""A linear layer that writes with all threads: BLAS multiplies a matrix by one vector with a single one."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn


class SplitLinear(nn.Module):
    """An `nn.Linear` that, for one vector, gives each thread an equal part of the rows: the same numbers.

    PyTorch's batched product hands its parts to the threads. No weight is copied.

    Args:
        linear: whose weight and bias are used, and stay shared with it.
    """

    def __init__(self, linear: nn.Linear):
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.weight, self.bias = linear.weight, linear.bias

    def forward(self, x: Float[Tensor, "*b inp"]) -> Float[Tensor, "*b out"]:
        """Return y (..., out) for x (..., in)."""
        parts = torch.get_num_threads()
        if parts == 1 or x.numel() != self.in_features or self.out_features % parts:
            return F.linear(x, self.weight, self.bias)
        weight = self.weight.unflatten(0, (parts, -1)).mT  # (parts, in, out / parts)
        y = torch.bmm(x.reshape(1, 1, -1).expand(parts, -1, -1), weight)
        y = y.reshape(*x.shape[:-1], self.out_features)
        return y if self.bias is None else y + self.bias
