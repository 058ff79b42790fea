"""How the cases of this lesson call an answer, where it is more than one plain call.

Nothing here is an answer: this file goes into the sandbox with a learner's code.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from attn_lib.checks.authoring import Result, Wrong, built, describe

# ------------------------------------------------------------------------- RMSNorm and SwiGLU


def run_once(answer: Callable, init: tuple, parameters: dict, x: Tensor) -> Result:
    """Run a case of a module whose x may have one axis; `run_module` turns round the second, too."""
    module, own = built(answer, init, parameters, [x], {})
    return Result(module(x), {name: own[name] for name in parameters})


def state_of(answer: Callable, init: tuple, parameters: dict, x: Tensor) -> str:
    """Return the names of what a module keeps after a call, each with the first name of the same parameter.

    A name of two parts comes with whether the first one is a `nn.Linear`.
    """
    module, own = built(answer, init, parameters, [x], {})
    with contextlib.suppress(Exception), torch.no_grad():  # other cases show what is wrong
        module(x)
    first = dict[int, str]()
    for name, parameter in own.items():
        first.setdefault(id(parameter), name)
    # Buffers that are not saved, too.
    kept = module.state_dict() | dict(module.named_buffers())
    layers = {name for name, part in module.named_modules() if isinstance(part, nn.Linear)}
    return "\n".join(
        f"{name} {first.get(id(own.get(name)), name)} {name.rpartition('.')[0] in layers}"
        for name in kept
    )


def nothing_more(names: str, init: tuple, parameters: dict, x: Tensor) -> int:
    """Insist that a module keeps the parameters that were asked for, and nothing else."""
    lines = [line.split(" ") for line in names.split("\n")]
    kept = {name: first for name, first, _ in lines}
    if set(kept) != set(parameters):
        raise Wrong(
            "other state",
            "The module should keep the parameters that the task names, and nothing else.\n"
            f"It should keep: {', '.join(parameters)}. It keeps: {', '.join(kept)}.",
        )
    if len({*kept.values()}) < len(kept):
        raise Wrong(
            "one for two",
            "Two names stand for one parameter: what is loaded last is in both.",
        )
    for name, _, is_linear in lines:
        if "." in name and is_linear != "True":
            layer = name.rpartition(".")[0]
            raise Wrong("no linear", f"`{layer}` should be an `nn.Linear`.")
    return len(kept)


# ------------------------------------------------------------------------------ map_llama_name

REFUSED, TAKEN, OTHERWISE = range(3)


def refused(answer: Callable, names: tuple[str, ...]) -> Tensor:
    """Return what an answer does with each of many names."""
    done = []
    for name in names:
        try:
            answer(name)
            done.append(TAKEN)
        except NotImplementedError:
            raise
        except ValueError:
            done.append(REFUSED)
        except Exception:
            done.append(OTHERWISE)
    return torch.tensor(done)


def all_refused(done: Tensor, names: tuple[str, ...]) -> int:
    """Insist that none of the names is taken; one that is not refused is enough to be shown."""
    for name, what in zip(names, done.tolist(), strict=True):
        if what != REFUSED:
            text = "A name that is not in the table should raise a ValueError."
            did = "was taken" if what == TAKEN else "raised another error"
            raise Wrong("not refused", f"{text}\n{name!r} {did}.")
    return len(names)


# ----------------------------------------------------------------------------------- generate


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
        self.weight = nn.Parameter(torch.zeros(1))  # nobody needs it; it must stay as it is
        self.eval()
        self.start()

    def start(self) -> None:
        """Begin with a new text."""
        self._owner, self._is_made = object(), False

    def new_caches(self, batch_size: int, max_len: int) -> list[Cache]:
        """Make an empty cache for each layer, for max_len tokens of each row."""
        if self._is_made:
            raise Wrong("made twice", "`new_caches` was called twice for one text.")
        number = int(self._call(torch.tensor([batch_size, max_len])))
        self._is_made = True
        return [Cache((number, layer), self._owner) for layer in range(self.num_layers)]

    def forward(self, ids: Tensor, *, caches: list[Cache] | None = None) -> Tensor:
        """Return the logits (B, L, V) of ids (B, L), which follow what is in the caches."""
        if not isinstance(ids, Tensor):
            raise Wrong(
                "not ids", f"The model needs a tensor of ids.\nIt received {describe(ids)}."
            )
        places = None if caches is None else self._places(caches)
        logits = self._call(ids, places)
        for cache in caches or ():
            cache.length += ids.shape[1]
        return logits

    def _places(self, caches: Any) -> Tensor:
        is_list = isinstance(caches, list | tuple)
        if not is_list or not all(isinstance(cache, Cache) for cache in caches):
            raise Wrong(
                "not the caches",
                f"`caches` should be the list that `new_caches` returned.\nIt is {describe(caches)}.",
            )
        if any(cache.owner is not self._owner for cache in caches):
            raise Wrong(
                "old caches", "These caches hold an earlier text, of another call of yours."
            )
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
    if model.training or not model.weight.requires_grad:
        raise Wrong(
            "model changed",
            "After the call, the model is not what it was: it was in `eval()`, and its parameters asked for gradients.",
        )
    if not torch.is_grad_enabled():
        text = "After the call, gradients are switched off, for all code that follows."
        raise Wrong("gradients off", f"{text}\n`with torch.no_grad():` ends by itself.")
    return written
