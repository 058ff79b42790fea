"""Scene 7: switch heads off and on; every combination was measured beforehand."""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attn_lib.explorer.scene import Scene, expect, plain, rounded
from attn_lib.explorer.still import Still

MOST_HEADS = 8


class Ablation(Scene):
    """The loss with any set of heads on, and each head's share in what all of them bring.

    A head's share is its Shapley value: by how much it lowers the loss when it is switched on, as the
    mean over all orders in which the heads can be switched on. The shares add up to the loss with no
    head less the loss with all.

    Args:
        losses: H axes of size 2, H at most 8: losses[1, 0, 1] is the loss with head 1 of three off.
        names: of the heads; head 0, head 1, ... if None.
        largest_weights: (H,), the largest attention weight of each head's rows, on average, to
            compare with what the head is worth.

    Attributes:
        shares: (H,).

    Raises:
        ValueError: a shape does not fit, there are too many heads, or a loss is not finite.

    Source: Shapley, "A Value for n-Person Games", 1953, equation 12, doi.org/10.1515/9781400881970-018
    """

    script = "ablation"
    title = "Ablation: what is each head worth?"

    def __init__(
        self,
        losses: Float[Tensor, "..."],
        *,
        names: Sequence[str] | None = None,
        largest_weights: Float[Tensor, " h"] | None = None,
    ):
        H = losses.ndim
        expect(
            1 <= H <= MOST_HEADS and losses.shape == (2,) * H,
            f"losses with one axis of size 2 for each of 1 to {MOST_HEADS} heads",
            tuple(losses.shape),
        )
        expect(losses.isfinite().all(), "finite losses", "NaN or inf among them")
        names = [f"head {i}" for i in range(H)] if names is None else list(names)
        expect(len(names) == H, f"{H} names", len(names))
        if largest_weights is not None:
            shape = tuple(largest_weights.shape)
            expect(shape == (H,), f"largest_weights of shape ({H},)", shape)
        self.losses, self.names, self.largest_weights = (
            plain(losses),
            names,
            largest_weights,
        )
        self.shares = shares(self.losses)
        listed = ", ".join(
            f"{name} {share:.3f}"
            for name, share in zip(names, self.shares.tolist(), strict=True)
        )
        self.alt = (
            f"With all heads the loss is {self.losses.flatten()[-1]:.3f}, with none "
            f"{self.losses.flatten()[0]:.3f}. Each head's share of the difference: {listed}."
        )

    @classmethod
    def measure(
        cls, loss_fn: Callable[[Tensor], Tensor | float], num_heads: int, **options: Any
    ) -> "Ablation":
        """Measure all 2^H combinations with loss_fn(head_mask), head_mask (H,) of zeros and ones.

        Args:
            loss_fn: as in `head_importance`.
            num_heads: H, at most 8.
            options: names, largest_weights.

        Raises:
            ValueError: there are more heads.
        """
        expect(1 <= num_heads <= MOST_HEADS, f"1 to {MOST_HEADS} heads", num_heads)
        losses = torch.zeros((2,) * num_heads)
        with torch.no_grad():
            for on in itertools.product((0, 1), repeat=num_heads):
                losses[on] = float(loss_fn(torch.tensor(on, dtype=torch.float32)))
        return cls(losses, **options)

    def model(self) -> dict[str, Any]:
        largest = self.largest_weights
        return {
            "names": self.names,
            "losses": rounded(self.losses.flatten()),
            "shares": rounded(self.shares),
            "largest": None if largest is None else rounded(largest, 3),
        }

    def still(self) -> Still:
        still = Still(80 + 70 * len(self.names), 190)
        none, *_, every = self.losses.flatten().tolist()
        both = f"loss with no head {none:.3f}, with all {every:.3f}"
        wide = 40 + 70 * len(self.names)
        still.bars(20, 8, wide, 150, self.shares.tolist(), self.names, "share")
        still.text(20, 174, both)
        return still


def shares(losses: Float[Tensor, "..."]) -> Float[Tensor, " h"]:
    """Return each head's Shapley value from the losses of all combinations, H axes of size 2."""
    H = losses.ndim
    result = torch.zeros(H, dtype=losses.dtype)
    for head in range(H):
        # What it brings, beside each set of others.
        gain = losses.select(head, 0) - losses.select(head, 1)
        for others in itertools.product((0, 1), repeat=H - 1):
            k = sum(others)
            result[head] += gain[others] / (H * math.comb(H - 1, k))
    return result
