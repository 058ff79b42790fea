"""How the cases of this lesson call an answer, where it is more than one plain call.

Nothing here is an answer: this file goes into the sandbox with a learner's code.
"""

from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import nn

from attn_lib.checks.authoring import (
    Result,
    Wrong,
    changed_in,
    describe,
    parts,
    quicker,
    state_of_module,
)

LAYERS = ("q_proj", "k_proj", "v_proj", "o_proj")
WANTED = [f"{layer}.{kind}" for layer in LAYERS for kind in ("weight", "bias")]
SETTINGS = ("training", "batch_first", "num_heads", "embed_dim", "head_dim", "dropout")


@dataclass(frozen=True)
class Weights:
    """The parameters of PyTorch's module. An object of its own, so that no verdict lists them."""

    num_heads: int
    tensors: dict[str, torch.Tensor]

    @property
    def embed_dim(self):
        """The width of all heads together."""
        return len(self.tensors["out_proj.bias"])

    def by_hand(self):
        """What a learner writes to make the module, and the parameters it has then."""
        sizes = f"{self.embed_dim}, {self.num_heads}"
        return f"nn.MultiheadAttention({sizes}, batch_first=True)", self.tensors

    @cached_property
    def kept(self):
        """One of PyTorch's modules with these parameters, for those who do not change it."""
        return self.made()

    def made(self):
        """A new one of PyTorch's modules, with these parameters."""
        return deepcopy(self._first)

    @cached_property
    def _first(self):  # no random number is drawn: an answer may draw some
        sizes = self.embed_dim, self.num_heads
        mha = nn.utils.skip_init(nn.MultiheadAttention, *sizes, batch_first=True)
        mha.load_state_dict(self.tensors)
        return mha


def carry_over_once(answer, weights, inputs):
    """Convert a module of PyTorch's with a known answer, and run what came back."""
    mha = weights.kept
    try:
        module = _converted(answer, mha, weights)
        with torch.no_grad():
            outputs, parameters = _outputs(module, inputs)
        returned = *outputs, *_state(mha, weights)
        unless_changed(returned, weights, inputs)
        return Result(returned, parameters)
    except Exception:
        vars(weights).pop("kept")  # it may be changed: those who come after get a new one
        raise


@quicker(carry_over_once)
def carry_over(answer, weights, inputs):
    """Convert a module of PyTorch's, then another one, and run what came back first."""
    mha, another = weights.made(), weights.made()
    before = state_of_module(mha)
    # It is trained on after a first call, whose result is thrown away. What a second one leaves random is as in a
    # known answer.
    with torch.no_grad():
        for parameter in mha.parameters():
            parameter.neg_()
        answer(mha)
        torch.default_generator.manual_seed(0)
        for parameter in mha.parameters():
            parameter.neg_()
    module = _converted(answer, mha, weights)
    if changed := changed_in(mha, before):
        raise _changed(changed)
    with torch.no_grad():
        for parameter in another.parameters():
            parameter.neg_()
    if answer(another) is module:
        raise Wrong(
            "same module",
            "Two calls with two different `mha` gave one and the same module. Make a new one inside "
            "the function, in every call.",
        )
    outputs, parameters = _outputs(module, inputs)
    if changed := changed_in(mha, before):  # by a call of the new module
        raise _changed(changed)
    return Result((*outputs, *_state(mha, weights)), parameters)


def _converted(answer, mha, weights):
    """Return what an answer makes of a module, if it is a new one, and the given one is as it was."""
    given = dict(mha.named_parameters())  # kept alive, so that no memory is used again
    module = answer(mha)
    _raise_unless_usable(module, mha)
    _raise_if_shared(module, given)
    return module


def _outputs(module, inputs):
    x, context, mask = inputs["x"], inputs["context"], inputs["mask"]
    was = module.training
    module.eval()  # a dropout may be in it, and must do nothing
    outputs = (module(x), module(x, context), module(x, context, mask=mask))
    module.train(was)
    parameters = dict(module.named_parameters(remove_duplicate=False))
    # The softmax does not notice a bias of the keys: it adds one number to all scores of a row.
    unseen = parameters["k_proj.bias"].detach().clone()
    return Result((*outputs, unseen), {name: parameters[name] for name in WANTED})


def _raise_if_shared(module, given):
    """Raise `Wrong` if a change of one of the module's parameters would change a given one."""
    theirs = {p.untyped_storage().data_ptr(): name for name, p in given.items()}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        shared = theirs.get(parameter.untyped_storage().data_ptr())
        if shared is not None:
            raise Wrong(
                "shares memory",
                f"`{name}` of the returned module and `{shared}` of the given `mha` are in one place "
                "in memory: a training step on one would change the other.",
            )


def _state(mha, weights):
    """Return what a module holds after a call: parameters, names of others, of those trained, settings."""
    now = dict(mha.named_parameters())
    tensors = [now[name].detach() if name in now else 0 for name in weights.tensors]
    added = [name for name in now if name not in weights.tensors]
    trained = [name for name, p in now.items() if p.requires_grad]
    names = (" ".join(some) for some in (added, trained))
    return *tensors, *names, *(getattr(mha, name, "") for name in SETTINGS)


def unless_changed(returned, weights, inputs):
    """Return the outputs, if the module that was given came back as it was; else name what differs."""
    outputs, after = parts(returned)[:4], list(returned[4:])
    now = {name: after.pop(0) for name in weights.tensors}
    added, trained, *settings = after

    def is_kept(name, was):
        p = now[name]
        is_same = isinstance(p, torch.Tensor) and p.dtype == was.dtype and p.equal(was)
        return is_same and name in trained.split()

    changed = [name for name, was in weights.tensors.items() if not is_kept(name, was)]
    changed += added.split()
    E, H = weights.embed_dim, weights.num_heads
    were = (True, True, H, E, E // H, 0.0)
    pairs = zip(SETTINGS, settings, were, strict=True)
    changed += [name for name, now, was in pairs if now != was]
    if changed:
        raise _changed(changed[0])
    return outputs


def _changed(name):
    return Wrong(
        "mha changed",
        f"The given `mha` is not the same after the call: look at its `{name}`. "
        "It should only be read.",
    )


def _raise_unless_usable(module, mha):
    if module is None or module is Ellipsis:
        raise NotImplementedError
    if isinstance(module, nn.MultiheadAttention):
        its = ("the", " that it was given") if module is mha else ("an", "")
        raise Wrong(
            "of PyTorch",
            f"It returned {its[0]} `nn.MultiheadAttention`{its[1]}. It should return one of your own "
            "`MultiHeadAttention`, with the same weights.",
        )
    if not isinstance(module, nn.Module):
        extra = " without parentheses" if isinstance(module, type) else ""
        raise Wrong(
            "no module",
            f"It should return a module, one of your own `MultiHeadAttention`, but it returned "
            f"{describe(module)}{extra}.",
        )
    own = dict(module.named_parameters(remove_duplicate=False))
    for name in WANTED:
        if name not in own:
            raise Wrong(
                "not yours",
                f"What came back has no parameter `{name}`: is it one of your own "
                f"`MultiHeadAttention`? It has: {', '.join(own) or 'none'}.",
            )
