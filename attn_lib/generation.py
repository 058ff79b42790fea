"""Text generation: choose a token, feed it back to the model, repeat; caches hold what was read.

A model is anything with `model(ids, caches=...)`, which returns logits (B, L, V), and with
`model.new_caches(batch_size, max_len)`: see `LanguageModel` and `Llama`.
"""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attn_lib.kv_cache import KVCache


def generate(
    model: Any, ids: Int[Tensor, "b l"], max_new_tokens: int
) -> Int[Tensor, "b n"]:
    """Go on after ids with the likeliest token, again and again.

    The prompt is read once. After it, each token costs one forward of length 1.

    Args:
        model: see above.
        ids: (B, L), what to go on from.
        max_new_tokens: how many tokens to write.

    Returns:
        The ids with the new ones behind, (B, L + max_new_tokens).
    """
    caches = model.new_caches(len(ids), ids.shape[1] + max_new_tokens)
    new = written = ids
    with (
        torch.inference_mode()
    ):  # quicker than no_grad, as a token is many small operations
        for _ in range(max_new_tokens):
            new = model(new, caches=caches)[:, -1].argmax(-1, keepdim=True)
            written = torch.cat([written, new], dim=1)
    return written.clone()  # an ordinary tensor


def next_token(
    logits: Float[Tensor, " v"],
    temperature: float = 0.0,
    top_p: float = 1.0,
    generator: torch.Generator | None = None,
) -> int:
    """Choose a token by its logits (V,).

    Args:
        logits: (V,).
        temperature: at 0 the likeliest token; else they are drawn, below 1 likely ones more often.
        top_p: draw among the fewest tokens that together have this share of the chances, in (0, 1].
        generator: where the draws come from; PyTorch's own if None.

    Raises:
        ValueError: temperature or top_p is out of range.

    Source of top_p: Holtzman et al., "The Curious Case of Neural Text Degeneration", 2020, section
    3.1, arxiv.org/abs/1904.09751
    """
    if not (0 <= temperature < float("inf") and 0 < top_p <= 1):
        raise ValueError(
            f"expected 0 <= temperature < inf and 0 < top_p <= 1, got {temperature} and {top_p}"
        )
    if temperature == 0:
        return int(logits.argmax())
    logits = (logits - logits.max()) / temperature  # in this order, nothing overflows
    chances, order = logits.softmax(-1).sort(descending=True)
    before = chances.cumsum(-1) - chances  # the share of all likelier ones
    chances = chances.masked_fill(before >= top_p, 0.0)
    return int(order[torch.multinomial(chances, 1, generator=generator)])


@torch.inference_mode()
def stream(
    model: Any,
    ids: list[int],
    caches: list[KVCache],
    *,
    temperature: float = 0.0,
    top_p: float = 1.0,
    generator: torch.Generator | None = None,
    choose: Callable[..., int] = next_token,
) -> Iterator[int]:
    """Yield tokens, each chosen from the model's logits, until the caller stops.

    Args:
        model: see above, here with `last=True` as in `Llama`.
        ids: the whole text so far; what is yielded is appended.
        caches: of this text; the tokens that they hold already are not read again.
        temperature: see `next_token`.
        top_p: see `next_token`.
        generator: see `next_token`.
        choose: what takes the place of `next_token`.

    Raises:
        ValueError: the caches are full, or an option is out of range.
    """
    while True:
        new = torch.tensor([ids[caches[0].length :]])
        logits = model(new, caches=caches, last=True)[0, -1]
        ids.append(choose(logits, temperature, top_p, generator))
        yield ids[-1]
