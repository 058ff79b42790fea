"""Thirty-six small sentences for a model that predicts the next word.

"the trophy did not fit in the suitcase because it was too big ." with six things and six containers.
Each thing has an adjective of its own, so whoever has seen the thing can tell the last word. The thing
and the container are free: nobody can know them before they are said.
"""

import torch
from jaxtyping import Int
from torch import Tensor

THINGS = {
    "trophy": "big",
    "book": "thick",
    "guitar": "long",
    "lamp": "tall",
    "rug": "wide",
    "ball": "round",
}
CONTAINERS = ("suitcase", "box", "bag", "drawer", "chest", "basket")

_TEXTS = [
    f"the {thing} did not fit in the {container} because it was too {adjective} ."
    for thing, adjective in THINGS.items()
    for container in CONTAINERS
]
vocabulary = list(dict.fromkeys(word for text in _TEXTS for word in text.split()))
sentences = torch.tensor([[vocabulary.index(w) for w in t.split()] for t in _TEXTS])


def text(ids: Int[Tensor, " l"]) -> str:
    """Return the words of one row of ids, with spaces between them.

    Raises:
        ValueError: ids is not one row, or holds a number that stands for no word.
    """
    if ids.ndim != 1:
        raise ValueError(f"expected one row of ids (L,), got shape {tuple(ids.shape)}")
    if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < len(vocabulary):
        raise ValueError(
            f"expected ids from 0 to {len(vocabulary) - 1}, "
            f"got {int(ids.min())} to {int(ids.max())}"
        )
    return " ".join(vocabulary[i] for i in ids.tolist())
