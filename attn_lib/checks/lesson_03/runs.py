"""How the cases of this lesson call an answer, where it is more than one plain call.

Nothing here is an answer: this file goes into the sandbox with a learner's code.
"""

from dataclasses import dataclass

import torch
from torch import nn

from attn_lib.checks.case import Result, Wrong
from attn_lib.checks.say import describe

LAYERS = ("q_proj", "k_proj", "v_proj", "o_proj")
WANTED = [f"{layer}.{kind}" for layer in LAYERS for kind in ("weight", "bias")]


@dataclass(frozen=True)
class Weights:
    """The parameters of PyTorch's module. An object of its own, so that no verdict lists them."""

    num_heads: int
    tensors: dict[str, torch.Tensor]

    def made(self):
        """A new one of PyTorch's modules, with these parameters."""
        embed_dim = self.tensors["in_proj_weight"].shape[1]
        mha = nn.MultiheadAttention(embed_dim, self.num_heads, batch_first=True)
        mha.load_state_dict(self.tensors)
        return mha


def carry_over(answer, weights, inputs):
    """Convert a module of PyTorch's, then another one, and run what came back first."""
    mha, another = weights.made(), weights.made()
    module = answer(mha)
    _raise_unless_usable(module, mha)
    _raise_if_changed(mha, weights)
    with torch.no_grad():
        for parameter in another.parameters():
            parameter.neg_()
    if answer(another) is module:
        raise Wrong(
            "Two calls with two different `mha` gave one and the same module. Make a new one inside "
            "the function, in every call."
        )
    x, context, mask = inputs["x"], inputs["context"], inputs["mask"]
    outputs = (module(x), module(x, context), module(x, context, mask=mask))
    _raise_if_changed(mha, weights)
    parameters = dict(module.named_parameters(remove_duplicate=False))
    return Result(outputs, {name: parameters[name] for name in WANTED})


def _raise_if_changed(mha, weights):
    """Raise `Wrong` if the module that was given is not as it was; name what differs."""
    new, now = weights.made(), dict(mha.named_parameters())
    changed = [
        name
        for name, was in new.named_parameters()
        if not (
            name in now
            and now[name].dtype == was.dtype
            and now[name].equal(was)
            and now[name].requires_grad
        )
    ]
    changed += [name for name in now if name not in weights.tensors]
    for name in (
        "training",
        "batch_first",
        "num_heads",
        "embed_dim",
        "head_dim",
        "dropout",
    ):
        if getattr(mha, name, None) != getattr(new, name):
            changed.append(name)
    if changed:
        raise Wrong(
            f"The given `mha` is not the same after the call: look at its `{changed[0]}`. "
            "It should only be read."
        )


def _raise_unless_usable(module, mha):
    if module is None or module is Ellipsis:
        raise NotImplementedError
    if module is mha:
        raise Wrong(
            "It returned the `nn.MultiheadAttention` that it was given. It should return one of your own "
            "`MultiHeadAttention`, with the same weights."
        )
    if isinstance(module, nn.MultiheadAttention):
        raise Wrong(
            "It returned an `nn.MultiheadAttention`. It should return one of your own "
            "`MultiHeadAttention` (with a small h), with the same weights."
        )
    if not isinstance(module, nn.Module):
        extra = " without parentheses" if isinstance(module, type) else ""
        raise Wrong(
            f"It should return a module, one of your own `MultiHeadAttention`, but it returned "
            f"{describe(module)}{extra}."
        )
    own = dict(module.named_parameters(remove_duplicate=False))
    for name in WANTED:
        if name not in own:
            raise Wrong(
                f"What came back has no parameter `{name}`: is it one of your own "
                f"`MultiHeadAttention`? It has: {', '.join(own) or 'none'}."
            )
