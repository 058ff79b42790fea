"""How the cases of this lesson call an answer, where it is more than one plain call.

Nothing here is an answer: this file goes into the sandbox with a learner's code.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from attn_lib.checks.authoring import Wrong, built, describe

# Below, each kind of `Wrong` has a class: a mistake is recognized by the kind of its errors, too.

# ------------------------------------------------------------------------- RMSNorm and SwiGLU


class OtherState(Wrong):
    """Raised if a module keeps more than it is asked for: a file of weights has nothing for that."""


class OneForTwo(Wrong):
    """Raised if two names stand for one parameter."""


def state_of(answer: Callable, init: tuple, parameters: dict, x: Tensor) -> str:
    """Return the names of what a module keeps, each with the first name of the same parameter."""
    module, own = built(answer, init, parameters, [x], {})
    first = dict[int, str]()
    for name, parameter in own.items():
        first.setdefault(id(parameter), name)
    kept = module.state_dict()
    return "\n".join(f"{name} {first.get(id(own.get(name)), name)}" for name in kept)


def nothing_more(names: str, init: tuple, parameters: dict, x: Tensor) -> int:
    """Insist that a module keeps the parameters that were asked for, and nothing else."""
    kept = dict(line.partition(" ")[::2] for line in names.split("\n"))
    if set(kept) != set(parameters):
        raise OtherState(
            "The module's `state_dict()` should hold what the task names, and nothing else.\n"
            f"It should hold: {', '.join(parameters)}. It holds: {', '.join(kept)}."
        )
    if len({*kept.values()}) < len(kept):
        raise OneForTwo(
            "Two names stand for one parameter: what is loaded last is in both."
        )
    return len(kept)


# ----------------------------------------------------------------------------------- generate


class NoCaches(Wrong):
    """Raised for a call without caches."""


class NotTheCaches(Wrong):
    """Raised for something else in the place of the caches."""


class OldCaches(Wrong):
    """Raised for caches that an earlier call of the answer had made."""


class MadeTwice(Wrong):
    """Raised if caches are made more than once for one text."""


class CachesFull(Wrong):
    """Raised for more tokens than the caches have room for."""


class OtherRows(Wrong):
    """Raised for caches of another number of rows than the prompt has."""


class NotIds(Wrong):
    """Raised for what cannot be ids."""


class NotThePrompt(Wrong):
    """Raised if the first call does not read the whole prompt."""


class NotOneToken(Wrong):
    """Raised if a later call does not read one token in each row."""


class TooManyCalls(Wrong):
    """Raised by a loop that does not end."""


@dataclass
class Cache:
    """Stands for one layer's cache: what it holds is with the model, which is elsewhere.

    Attributes:
        place: the number of the set of caches, and of the layer.
        owner: for which call of the answer it was made.
        length: how many tokens it holds.
    """

    place: tuple[int, int]
    owner: object
    length: int = 0


class Model(nn.Module):
    """A model that is elsewhere: `call` asks it, and only numbers pass."""

    def __init__(self, num_layers: int, call: Callable[..., Tensor]):
        super().__init__()
        self.num_layers, self._call = num_layers, call
        self.start()

    def start(self) -> None:
        """Begin with a new text."""
        self._owner, self._is_made = object(), False

    def new_caches(self, batch_size: int, max_len: int) -> list[Cache]:
        """Make an empty cache for each layer, for max_len tokens of each row."""
        if self._is_made:
            raise MadeTwice("`new_caches` was called twice for one text.")
        number = int(self._call(torch.tensor([batch_size, max_len])))
        self._is_made = True
        return [Cache((number, layer), self._owner) for layer in range(self.num_layers)]

    def forward(self, ids: Tensor, *, caches: list[Cache] | None = None) -> Tensor:
        """Return the logits (B, L, V) of ids (B, L), which follow what is in the caches."""
        if not isinstance(ids, Tensor):
            raise NotIds(f"The model needs a tensor of ids.\nIt received {describe(ids)}.")
        places = None if caches is None else self._places(caches)
        logits = self._call(ids, places)
        for cache in caches or ():
            cache.length += ids.shape[1]
        return logits

    def _places(self, caches: Any) -> Tensor:
        is_list = isinstance(caches, list | tuple)
        if not is_list or not all(isinstance(cache, Cache) for cache in caches):
            raise NotTheCaches(
                f"`caches` should be the list that `new_caches` returned.\nIt is {describe(caches)}."
            )
        if any(cache.owner is not self._owner for cache in caches):
            raise OldCaches("These caches hold an earlier text, of another call of yours.")
        return torch.tensor([cache.place for cache in caches]).reshape(-1, 2)


@dataclass(frozen=True)
class Layers:
    """What is known of the model here."""

    num_layers: int


def generated(
    answer: Callable, layers: Layers, ids: Tensor, max_new_tokens: int, call: Callable
) -> Any:
    """Let the answer go on after another prompt, then after this one: nothing may stay behind."""
    model, written = Model(layers.num_layers, call), None
    for prompt in (ids.flip(1), ids):
        model.start()
        written = answer(model, prompt, max_new_tokens)
    return written
