"""A learner's own pieces at work in a Llama: attention, positions, norm, feed-forward and block.

They keep the model's weights; what changes is whose code computes with them. `OwnAttention` gives an attention
module its positions and its cache; here are the smaller pieces.
"""

import copy
from collections.abc import Callable, Mapping
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attn_lib.kv_cache import KVCache
from attn_lib.llama import Llama, LlamaBlock, LlamaConfig, RMSNorm
from attn_lib.own_attention import use_own_attention


class OwnRope(nn.Module):
    """Positions by a function `apply_rope(x, positions, base)`.

    Args:
        apply_rope: turns x (B, H, L, D) at positions (L,).
        base: see `attn_lib.apply_rope`.
    """

    def __init__(self, apply_rope: Callable[..., Tensor], base: float):
        super().__init__()
        self.apply_rope, self.base = apply_rope, base

    def forward(
        self, q: Float[Tensor, "b h l d"], k: Float[Tensor, "b hkv l d"], start: int = 0
    ) -> tuple[Tensor, Tensor, None]:
        """Turn queries and keys; see `Positions.forward`."""
        places = torch.arange(start, start + q.shape[-2])
        q, k = (self.apply_rope(x, places, self.base) for x in (q, k))
        return q, k, None


class OwnBlock(nn.Module):
    """A pre-norm block of another class, in the place of a `LlamaBlock`.

    Args:
        make: `make(d_model, num_heads, d_ff)` builds a module with norm1, attn, norm2, ff and `forward(x)`.
        block: whose parts are used.
        config: its sizes.
    """

    def __init__(
        self, make: Callable[..., nn.Module], block: LlamaBlock, config: LlamaConfig
    ):
        super().__init__()
        self.norm1, self.norm2 = block.norm1, block.norm2
        self.attn, self.ff = block.attn, block.ff
        with torch.device("meta"):  # its own weights are not needed
            own = make(config.d_model, config.num_heads, config.d_ff)
        self.causal = own.attn = _Causal(block.attn)
        own.norm1, own.norm2, own.ff = block.norm1, block.norm2, block.ff
        self.own = own

    def forward(
        self,
        x: Float[Tensor, "b l e"],
        cache: KVCache | None = None,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "b l e"]:
        """Return x (B, L, E) with what attention and feed-forward add to it."""
        self.causal.given = {"cache": cache, "mask": mask}
        return self.own(x)


class _Causal(nn.Module):
    """Attention that looks back, whatever else it is told."""

    def __init__(self, attn: nn.Module):
        super().__init__()
        self.attn = attn
        self.given: dict[str, Any] = {}

    def forward(self, x: Tensor, *_: Any, **__: Any) -> Tensor:
        return self.attn(x, is_causal=True, **self.given)


def _rope(model: Any, apply_rope: Any) -> None:
    for block in model.blocks:
        block.attn.positions = OwnRope(apply_rope, model.config.rope_base)


def _norm(model: Any, make: Any) -> None:
    def own(norm: RMSNorm) -> nn.Module:
        made = make(len(norm.weight), norm.eps)
        made.weight = norm.weight
        return made

    model.norm = own(model.norm)
    for block in model.blocks:
        block.norm1, block.norm2 = own(block.norm1), own(block.norm2)


def _feed_forward(model: Any, make: Any) -> None:
    for block in model.blocks:
        with torch.device("meta"):
            made = make(model.config.d_model, model.config.d_ff)
        for name in ("gate_proj", "up_proj", "down_proj"):
            setattr(made, name, getattr(block.ff, name))
        block.ff = made


def _block(model: Any, make: Any) -> None:
    model.blocks = nn.ModuleList(
        OwnBlock(make, block, model.config) for block in model.blocks
    )


# In this order: a block takes what stands in it.
PUT_IN: dict[str, Callable[[Any, Any], None]] = {
    "RMSNorm": _norm,
    "SwiGLU": _feed_forward,
    "apply_rope": _rope,
    "GroupedQueryAttention": use_own_attention,
    "PreNormBlock": _block,
}


def own_twin(model: Llama, pieces: Mapping[str, Any]) -> Llama:
    """Return a model with the same weights that computes with a learner's pieces.

    Args:
        model: is left as it is; what trains one of the two trains both.
        pieces: by the names of their tasks, those of `PUT_IN`.

    Raises:
        ValueError: there is no piece of this name, or the model computes something else with it.
    """
    if unknown := pieces.keys() - PUT_IN.keys():
        raise ValueError(
            f"expected pieces named {', '.join(PUT_IN)}, got {', '.join(unknown)}"
        )
    twin = copy.deepcopy(model, {id(p): p for p in model.parameters()})
    ids = torch.arange(12)[None] % model.config.vocab_size
    with torch.no_grad():
        expected = model(ids)
        for name, put_in in PUT_IN.items():
            if name not in pieces:
                continue
            try:
                put_in(twin, pieces[name])
                found = [twin(ids), _token_by_token(twin, ids)]
                for logits in found:
                    torch.testing.assert_close(logits, expected, rtol=1e-3, atol=1e-3)
            except Exception as error:
                raise ValueError(
                    f"expected {name} to compute what the model's own does: {error}"
                ) from error
    return twin


def _token_by_token(model: Llama, ids: Tensor) -> Tensor:
    caches = model.new_caches(1, ids.shape[1])
    return torch.cat([model(new, caches=caches) for new in ids.split(1, dim=1)], dim=1)
