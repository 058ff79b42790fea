"""An adapter that gives a learner's attention module positions and a cache.

The module of exercise 04 has four projections and `forward(x, mask)`. Whatever a language model needs
besides happens before: the projections that we put into it return queries and keys that are turned
already (RoPE), and the keys and values of all tokens so far.
"""

from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attn_lib.grouped_query import GroupedQueryAttention
from attn_lib.kv_cache import KVCache
from attn_lib.masks import causal_mask
from attn_lib.multi_head import merge_heads, split_heads


class OwnAttention(nn.Module):
    """Causal attention by a module of another class, in the place of a `GroupedQueryAttention`.

    Args:
        make: `make(d_model, num_heads, num_kv_heads)` builds the module.
        attn: whose weights and positions are used.
        square: give it as many queries as keys: zeros for the tokens that the cache holds, and what
            it answers to them is dropped. Many modules count on that; the others are quicker without.
    """

    def __init__(
        self,
        make: Callable[[int, int, int], nn.Module],
        attn: GroupedQueryAttention,
        *,
        square: bool = False,
    ):
        super().__init__()
        self.num_heads, self.num_kv_heads = attn.num_heads, attn.num_kv_heads
        self.q_proj, self.k_proj, self.v_proj = attn.q_proj, attn.k_proj, attn.v_proj
        self.o_proj = attn.o_proj
        self.positions, self.square = attn.positions, square
        with torch.device("meta"):  # its own weights are not needed
            self.own = make(attn.q_proj.in_features, self.num_heads, self.num_kv_heads)
        self.given = _Given(attn.q_proj), _Given(attn.k_proj), _Given(attn.v_proj)
        self.own.q_proj, self.own.k_proj, self.own.v_proj = self.given
        self.own.o_proj = attn.o_proj

    def forward(
        self,
        x: Float[Tensor, "b l e"],
        *,
        is_causal: bool,
        cache: KVCache | None = None,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "b l e"]:
        """Attend from x (B, L, E) to itself and to what the cache holds; return (B, L, E)."""
        q = split_heads(self.q_proj(x), self.num_heads)
        k = split_heads(self.k_proj(x), self.num_kv_heads)
        v = split_heads(self.v_proj(x), self.num_kv_heads)
        if self.positions is not None:
            q, k, _ = self.positions(q, k, 0 if cache is None else cache.length)
        if cache is not None:
            k, v = cache.update(k, v)
        length, kv_len = x.shape[1], k.shape[2]
        if self.square:
            q = F.pad(q, (0, 0, kv_len - length, 0))
            x = F.pad(x, (0, 0, kv_len - length, 0))
        for given, made in zip(self.given, (q, k, v), strict=True):
            given.output = merge_heads(made)
        causal = causal_mask(q.shape[2], kv_len, device=x.device)
        mask = causal if mask is None else causal & mask
        return self.own(x, mask=mask)[:, -length:]


class _Given(nn.Module):
    """A projection that returns what was made before, also to those who multiply by its `weight.T`."""

    output: Tensor
    bias = None

    def __init__(self, layer: nn.Linear):
        super().__init__()
        self.in_features, self.out_features = layer.in_features, layer.out_features

    def forward(self, x: Tensor) -> Tensor:
        return self.output

    @property
    def weight(self) -> "_GivenWeight":
        return _GivenWeight(self.output)


class _GivenWeight:
    """What a product with x is, whichever function of PyTorch makes it."""

    def __init__(self, output: Tensor):
        self.output = output

    def __getattr__(self, name: str) -> Any:
        return self if name in ("T", "mT") else getattr(self.output, name)

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Any, kwargs: Any = None
    ) -> Any:
        return next(arg.output for arg in args if isinstance(arg, cls))


def use_own_attention(model: Any, make: Callable[[int, int, int], nn.Module]) -> None:
    """Put a learner's attention into every block of a model; see `swap_blocks`."""
    for _ in swap_blocks(model, make):
        pass


@torch.no_grad()
def swap_blocks(model: Any, make: Callable[[int, int, int], nn.Module]) -> Iterator[int]:
    """Put a learner's attention into a model, once it has shown that it does the same.

    Args:
        model: a `Llama`; the attention of its blocks is replaced. Its caches stay good.
        make: `make(d_model, num_heads, num_kv_heads)` builds a module with `forward(x, mask)`.

    Yields:
        After each block, how many have it.

    Raises:
        ValueError: the module does not compute what the model's own attention does.
    """
    attn, caches = model.blocks[0].attn, model.new_caches(1, 6)
    x = torch.randn(
        1, 6, attn.q_proj.in_features, generator=torch.Generator().manual_seed(0)
    )
    expected = attn(x, is_causal=True)
    for square in (False, True):
        own, cache = OwnAttention(make, attn, square=square), caches[square]
        try:
            parts = [
                own(part, is_causal=True, cache=cache) for part in x.split([4, 1, 1], dim=1)
            ]
            torch.testing.assert_close(
                torch.cat(parts, dim=1), expected, rtol=1e-3, atol=1e-3
            )
        except Exception as error:
            reason = error
        else:
            for count, block in enumerate(model.blocks, 1):
                block.attn = OwnAttention(make, block.attn, square=square)
                yield count
            return
    raise ValueError(
        f"expected a module that attends like the model's own, with forward(x, mask): {reason}"
    ) from reason
