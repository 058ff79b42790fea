"""Weights as small integers: one byte each instead of four, and one scale for each row."""

import copy
from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Float, Float32, Int8
from torch import Tensor, nn

SCALE = ".scale"  # in the name of what holds the scales of a matrix


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


def rounded(state: dict[str, Tensor]) -> nn.Module:
    """Return a module to save in the place of a large one: its matrices as int8, with a scale for each row.

    Args:
        state: of the module, by name; what is no matrix stays as it is.
    """
    module = nn.Module()
    for name, weight in state.items():
        if weight.ndim == 2:
            weight, scale = quantize_int8(weight)
            module.register_buffer((name + SCALE).replace(".", "/"), scale)
        module.register_buffer(name.replace(".", "/"), weight)
    return module


def unrounded(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return what `rounded` was given, in float32, from the state of what it made.

    Raises:
        ValueError: a matrix and its scale do not fit.
        LookupError: there is a scale without its matrix.
    """
    state = {name.replace("/", "."): tensor for name, tensor in state.items()}
    for name in [name for name in state if name.endswith(SCALE)]:
        matrix = name.removesuffix(SCALE)
        state[matrix] = dequantize_int8(state[matrix], state.pop(name))
    return state


class Int8Linear(nn.Module):
    """An `nn.Linear` with its weight in int8: y = x (q * scale)^T + b.

    Only the weight is rounded. For one token, a kernel of PyTorch turns it back inside the product (x is
    rounded to bfloat16 there); for more, it is turned back first: that saves memory, not time.

    Args:
        linear: whose weight is rounded; it is left as it is.
    """

    weight: Tensor  # (out, in), int8
    scale: Tensor  # (out, 1)
    ones: Tensor  # (out,), the kernel's own scales: it would round others to bfloat16

    def __init__(self, linear: nn.Linear):
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        q, scale = quantize_int8(linear.weight)
        self.register_buffer("weight", q.contiguous())
        self.register_buffer("scale", scale)
        ones = torch.ones(len(q), dtype=torch.bfloat16, device=q.device)
        self.register_buffer("ones", ones, persistent=False)
        self.bias = copy.deepcopy(linear.bias)

    def forward(self, x: Float[Tensor, "*b inp"]) -> Float[Tensor, "*b out"]:
        """Return y (..., out) for x (..., in), in the dtype of x."""
        if not self._fits_the_kernel(x):
            weight = dequantize_int8(self.weight, self.scale).to(x.dtype)
            return F.linear(
                x, weight, self.bias if self.bias is None else self.bias.to(x.dtype)
            )
        row = x.reshape(1, -1).bfloat16()
        y = torch._weight_int8pack_mm(row, self.weight, self.ones.bfloat16())
        y = (y * self.scale.mT).reshape(*x.shape[:-1], -1)
        return (y if self.bias is None else y + self.bias).to(x.dtype)

    def _fits_the_kernel(self, x: Tensor) -> bool:
        """Say whether x is one row, without gradients; the kernel reads 16 numbers at a time."""
        one_row = x.numel() == self.in_features and self.in_features % 16 == 0
        return one_row and x.device.type == "cpu" and not torch.is_grad_enabled()

    def extra_repr(self) -> str:
        return f"{self.in_features}, {self.out_features}, bias={self.bias is not None}"


class Float16Linear(nn.Module):
    """An `nn.Linear` with its weight in float16 and all else in float32.

    The kernel (FBGEMM, for x86 processors) turns the weight back inside the product, at the speed of
    memory.

    Args:
        linear: whose weight is rounded; it is left as it is.

    Raises:
        RuntimeError: PyTorch has no such kernel for this processor.
    """

    def __init__(self, linear: nn.Linear):
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        bias = None if linear.bias is None else linear.bias.detach().float()
        weight = linear.weight.detach().float().contiguous()
        self.packed = torch.ops.quantized.linear_prepack_fp16(weight, bias)

    def forward(self, x: Float32[Tensor, "*b inp"]) -> Float32[Tensor, "*b out"]:
        """Return y (..., out) for x (..., in); without gradients."""
        y = torch.ops.quantized.linear_dynamic_fp16(torch.atleast_2d(x), self.packed)
        return y.reshape(*x.shape[:-1], self.out_features)


def quantized(
    module: nn.Module, layer: Callable[[nn.Linear], nn.Module] = Int8Linear
) -> nn.Module:
    """Return a copy of a module in which another layer, usually of rounded weights, stands for every `nn.Linear`.

    All else stays as it was, embeddings too, and classes that inherit from `nn.Linear`, as
    `nn.MultiheadAttention` has one and reads its weight.

    Args:
        module: of any kind; a layer that stands in two places stays one.
        layer: makes the layer that takes the place of an `nn.Linear`.
    """
    made = {id(x): layer(x) for x in module.modules() if type(x) is nn.Linear}
    return copy.deepcopy(module, made)  # what it finds there, it does not copy
