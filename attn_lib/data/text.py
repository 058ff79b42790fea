"""English text that every Python brings along: its own help pages, read character by character.

The pages come from `pydoc_data.topics` of the Python that runs (PSF license). They differ a little
from version to version, so no exact number about them holds everywhere.
"""

from pydoc_data.topics import topics

import torch
from jaxtyping import Int
from torch import Tensor


def python_help() -> str:
    """Return all help topics of this Python as one text, in alphabetical order of their names."""
    return "\n\n".join(topics[name] for name in sorted(topics))


def encode(text: str, vocabulary: str = "") -> tuple[Int[Tensor, " n"], str]:
    """Number the characters of a text.

    Args:
        text: at least one character.
        vocabulary: of a model that will read the text; other characters are left out. If empty, the
            characters of the text.

    Returns:
        The ids (N,), and the vocabulary: each character once, at the position that is its id.

    Raises:
        ValueError: the text is empty.
    """
    if not text:
        raise ValueError("expected a text of at least one character, got an empty one")
    vocabulary = vocabulary or "".join(sorted(set(text)))
    number = {character: i for i, character in enumerate(vocabulary)}
    return torch.tensor([number[c] for c in text if c in number]), vocabulary


def split_help(vocabulary: str = "") -> tuple[Int[Tensor, " n"], Int[Tensor, " m"], str]:
    """Return what language models of this course train on, and what they are tested on.

    Args:
        vocabulary: see `encode`.

    Returns:
        The ids of the first nine tenths of the help (N,), those of the last tenth (M,), and the
        vocabulary of both.
    """
    ids, vocabulary = encode(python_help(), vocabulary)
    cut = len(ids) * 9 // 10
    return ids[:cut], ids[cut:], vocabulary


def random_windows(
    ids: Int[Tensor, " n"],
    length: int,
    batch_size: int,
    *,
    generator: torch.Generator | None = None,
) -> Int[Tensor, "b l"]:
    """Cut windows out of a long text, at random places.

    Args:
        ids: (N,), the text.
        length: L, the characters of one window.
        batch_size: B, how many windows.
        generator: where the places come from; PyTorch's own if None.

    Returns:
        (B, L) ids.

    Raises:
        ValueError: the text is not one-dimensional, or shorter than a window.
    """
    if ids.ndim != 1 or len(ids) < length:
        raise ValueError(
            f"expected ids (N,) with N at least {length}, the length of a window, "
            f"got {tuple(ids.shape)}"
        )
    starts = torch.randint(len(ids) - length + 1, (batch_size,), generator=generator)
    return ids[starts[:, None] + torch.arange(length)]
