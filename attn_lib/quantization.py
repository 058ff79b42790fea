"""Weights as small whole numbers: one byte each instead of four, and one scale for each row."""

import copy

import torch
import torch.nn.functional as F
from jaxtyping import Float, Float32, Int8
from torch import Tensor, nn


def quantize_int8(
    weight: Float[Tensor, "out inp"],
) -> tuple[Int8[Tensor, "out inp"], Float32[Tensor, "out 1"]]:
    """Round a weight matrix to int8, symmetrically, with a scale for each output channel.

    scale_o = max_i |W_oi| / 127,   q_oi = round(W_oi / scale_o)

    The largest number of a row becomes 127 or -127; -128 is not used, so that w and -w become q and
    -q. A row of zeros stays zero, with scale 1.

    Args:
        weight: (out, in), of any floating dtype.

    Returns:
        q (out, in) of int8, from -127 to 127; and the scales (out, 1) of float32.

    Raises:
        ValueError: the weight is not a matrix, is empty, or holds inf or NaN (in float32).

    Source: the symmetric form of Jacob et al., 2018, arxiv.org/abs/1712.05877, row by row
    """
    if weight.ndim != 2 or weight.numel() == 0:
        raise ValueError(f"expected a weight (out, in), got {tuple(weight.shape)}")
    weight = weight.detach().float()
    largest = weight.abs().amax(dim=1, keepdim=True)
    if not largest.isfinite().all():
        raise ValueError("expected finite weights, got inf or NaN")
    scale = largest / 127
    scale = torch.where(scale > 0, scale, 1.0)
    return (weight / scale).round().clamp(-127, 127).to(torch.int8), scale


def dequantize_int8(
    q: Int8[Tensor, "out inp"], scale: Float[Tensor, "out 1"]
) -> Float32[Tensor, "out inp"]:
    """Return the weights that q and scale stand for: W_oi ~ q_oi * scale_o, in float32.

    Each differs from what was quantized by half a scale at most.

    Args:
        q: (out, in), int8.
        scale: (out, 1).

    Raises:
        ValueError: q is not an int8 matrix, or there is not one scale for each of its rows.
    """
    if q.dtype != torch.int8 or q.ndim != 2 or scale.shape != (len(q), 1):
        raise ValueError(
            "expected q (out, in) of torch.int8 and scale (out, 1), "
            f"got {tuple(q.shape)} of {q.dtype} and {tuple(scale.shape)}"
        )
    return q.float() * scale.float()


class Int8Linear(nn.Module):
    """What an `nn.Linear` computes, with its weight in int8: y = x (q * scale)^T + b.

    Only the weight is rounded. It is turned back for each call: that saves memory, not time.

    Args:
        linear: whose weight is rounded; it is left as it is.
    """

    weight: Tensor  # (out, in), int8
    scale: Tensor  # (out, 1)

    def __init__(self, linear: nn.Linear):
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        q, scale = quantize_int8(linear.weight)
        self.register_buffer("weight", q)
        self.register_buffer("scale", scale)
        self.bias = copy.deepcopy(linear.bias)

    def forward(self, x: Float[Tensor, "*b inp"]) -> Float[Tensor, "*b out"]:
        """Return y (..., out) for x (..., in), in the dtype of x."""
        return F.linear(x, dequantize_int8(self.weight, self.scale).to(x.dtype), self.bias)

    def extra_repr(self) -> str:
        return f"{self.in_features}, {self.out_features}, bias={self.bias is not None}"


def quantized(module: nn.Module) -> nn.Module:
    """Return a copy of a module in which every `nn.Linear` is an `Int8Linear`.

    All else stays as it was, embeddings too, and classes that inherit from `nn.Linear`, as
    `nn.MultiheadAttention` has one and reads its weight.
    """
    if type(module) is nn.Linear:
        return Int8Linear(module)
    result = copy.deepcopy(module)
    made: dict[nn.Module, Int8Linear] = {}  # a layer that stands in two places stays one
    for name, layer in list(result.named_modules(remove_duplicate=False)):
        if type(layer) is nn.Linear:
            if layer not in made:
                made[layer] = Int8Linear(layer)
            result.set_submodule(name, made[layer])
    return result
