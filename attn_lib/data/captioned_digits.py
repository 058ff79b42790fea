"""Pictures of four handwritten digits, each with a caption that names three of them.

The scans are the test set of "Optical Recognition of Handwritten Digits" by E. Alpaydin and C. Kaynak
(1998, UCI Machine Learning Repository, license CC BY 4.0, doi.org/10.24432/C50P49), which comes with
scikit-learn (license BSD-3-Clause): 1,797 scans of 8 × 8 gray values.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
SIDE = 3  # fields in a row of a picture
SCAN = 8  # pixels in a row of a scan


class Captioned(NamedTuple):
    """Pictures, captions, and what no model is told: where the named digits are."""

    images: Float[Tensor, "n 1 h w"]
    """(N, 1, 24, 24), from 0 (paper) to 1 (ink)."""
    captions: Int[Tensor, "n 3"]
    """(N, 3): three digits, in any order. `NAMES` has their words."""
    fields: Int[Tensor, "n 3"]
    """(N, 3): the field of each named digit, 0 to 8, row by row."""
    digits: Int[Tensor, "n 4"]
    """(N, 4): all digits of the picture, no two alike."""


def scans() -> tuple[Float[Tensor, "m 8 8"], Int[Tensor, " m"]]:
    """Return the 1,797 scans, from 0 (paper) to 1 (ink), and their digits."""
    from sklearn.datasets import load_digits  # here: it takes a second

    data = load_digits()
    images = torch.tensor(data.images, dtype=torch.float32) / 16
    return images, torch.tensor(data.target)


def captioned_digits(
    images: Float[Tensor, "m 8 8"],
    labels: Int[Tensor, " m"],
    count: int,
    *,
    generator: torch.Generator | None = None,
) -> Captioned:
    """Compose pictures of nine fields, four of which hold scans of different digits.

    Args:
        images: the scans to choose from.
        labels: their digits; each of 0 to 9 must occur.
        count: N, how many pictures.
        generator: where chance comes from; PyTorch's own if None.

    Raises:
        ValueError: a digit does not occur.
    """
    if labels.unique().tolist() != list(range(len(NAMES))):
        raise ValueError(f"expected all digits 0 to 9, got {labels.unique().tolist()}")

    def several(of: int, take: int) -> Tensor:
        """Draw numbers below `of`, no two alike, for each picture."""
        return torch.rand(count, of, generator=generator).argsort(1)[:, :take]

    digits, fields, named = several(10, 4), several(SIDE**2, 4), several(4, 3)
    # Of all scans of a digit, the one with the largest random number.
    luck = torch.rand(count, 4, len(labels), generator=generator)
    chosen = luck.masked_fill(labels != digits[..., None], -1).argmax(-1)  # (N, 4)
    grid = torch.zeros(count, SIDE**2, SCAN, SCAN)
    grid[torch.arange(count)[:, None], fields] = images[chosen]
    rows = grid.view(count, SIDE, SIDE, SCAN, SCAN).transpose(2, 3)
    pictures = rows.reshape(count, 1, SIDE * SCAN, SIDE * SCAN)
    return Captioned(pictures, digits.gather(1, named), fields.gather(1, named), digits)
