"""Four bits a weight: a linear layer for writing, by PyTorch's kernel for x86 processors.

Each 32 weights of a row become even steps, 0 to 15, from their least to their largest. GGUF calls this Q4_1; the
blocks of SmolLM2 lie in its file so, and come out as they went in.
"""

from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attn_lib.llama import Llama
from attn_lib.quantization import Float16Linear, quantized

GROUP = 32  # weights that share a scale and a least value


class Int4Linear(nn.Module):
    """An `nn.Linear` with its weight in four bits, and all else in bfloat16.

    W_oi ~ q_oi * scale + least,  scale = (largest - least) / 15,  q_oi = round((W_oi - least) / scale)

    Args:
        linear: whose weight is rounded; it is left as it is.

    Raises:
        RuntimeError: PyTorch has no such kernel for this processor.
        ValueError: its widths are no multiples of 32 (in) and 16 (out), or a weight is inf or NaN.
    """

    def __init__(self, linear: nn.Linear):
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        if torch.backends.cpu.get_cpu_capability() not in ("AVX2", "AVX512"):
            raise RuntimeError("expected a processor with AVX2 or AVX512")
        if self.in_features % GROUP or self.out_features % 16:
            raise ValueError(
                f"expected widths that are multiples of {GROUP} and 16, got {linear}"
            )
        groups = linear.weight.detach().float().unflatten(1, (-1, GROUP))
        least, largest = groups.aminmax(dim=-1, keepdim=True)
        scale = (largest - least) / 15
        if not scale.isfinite().all():
            raise ValueError("expected finite weights, got inf or NaN")
        q = ((groups - least) / torch.where(scale > 0, scale, 1.0)).round().int()
        # The kernel has two q in a byte, and (q - 8) * scale + zero of a group beside each other.
        self.packed = torch.ops.aten._convert_weight_to_int4pack_for_cpu(q.flatten(1), 1)
        both = torch.cat([scale, least + 8 * scale], dim=-1)
        self.scales = both.transpose(0, 1).bfloat16().contiguous()  # (groups, out, 2)
        self.bias = None if linear.bias is None else linear.bias.detach().clone()

    def forward(self, x: Float[Tensor, "*b inp"]) -> Float[Tensor, "*b out"]:
        """Return y (..., out) for x (..., in), in the dtype of x; without gradients."""
        rows = x.reshape(-1, self.in_features).bfloat16()
        y = torch.ops.aten._weight_int4pack_mm_for_cpu(
            rows, self.packed, GROUP, self.scales
        )
        y = y.to(x.dtype).reshape(*x.shape[:-1], self.out_features)
        return y if self.bias is None else y + self.bias.to(x.dtype)


def in_four_bits(model: Llama) -> Llama:
    """Return a copy with its blocks in four bits, and its head in float16: it decides which token comes.

    Args:
        model: of any kind; SmolLM2's blocks are of four bits already, others lose a little.

    Raises:
        RuntimeError, ValueError: see `Int4Linear` and `Float16Linear`.
    """
    return cast(
        Llama,
        quantized(model, lambda x: (Float16Linear if x is model.head else Int4Linear)(x)),
    )
