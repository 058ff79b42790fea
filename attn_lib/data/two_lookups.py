"""Questions that need two look-ups at once: the thing of one word and the size of another."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

NUM_WORDS = 8  # places; also the number of things and of sizes
WIDTH = 5 * NUM_WORDS  # E: five one-hot fields, see `two_lookups`


def two_lookups(
    num_sentences: int, generator: torch.Generator
) -> tuple[Float[Tensor, "b 9 40"], Int[Tensor, "b 2"], Int[Tensor, "b 2"]]:
    """Make sentences of eight words and the word "it", which asks two questions.

    The channels are five fields of eight, one number in each of them 1, the others 0:
    a word fills its place, its thing and its size; "it" fills the two places that it asks about,
    always two different ones.

    | channels | 0-7 | 8-15 | 16-23 | 24-31 | 32-39 |
    |-|-|-|-|-|-|
    | of a word | place | thing | size | 0 | 0 |
    | of "it" | 0 | 0 | 0 | the thing of which place? | the size of which place? |

    Args:
        num_sentences: B.
        generator: where the chance comes from.

    Returns:
        The sentences (B, 9, 40), "it" last; the answers (B, 2): a thing and a size, 0 to 7; and the
        places (B, 2) where the answers stand.

    Raises:
        ValueError: there is no sentence to make.
    """
    if num_sentences < 1:
        raise ValueError(f"expected at least 1 sentence, got {num_sentences}")
    n, shape = NUM_WORDS, (num_sentences, NUM_WORDS)
    things, sizes = (torch.randint(n, shape, generator=generator) for _ in range(2))
    # The two largest of eight random numbers stand at two different places.
    places = torch.rand(shape, generator=generator).topk(2).indices
    one_hot = torch.eye(n)
    x = torch.zeros(num_sentences, n + 1, WIDTH)
    x[:, :n, :n] = one_hot
    x[:, :n, n : 2 * n] = one_hot[things]
    x[:, :n, 2 * n : 3 * n] = one_hot[sizes]
    x[:, n, 3 * n :] = one_hot[places].flatten(-2)
    rows = torch.arange(num_sentences)
    answers = torch.stack((things[rows, places[:, 0]], sizes[rows, places[:, 1]]), dim=-1)
    return x, answers, places
