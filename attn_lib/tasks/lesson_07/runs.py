"""How the cases of this lesson call an answer, where it is more than one plain call.

Nothing here is an answer: this file goes into the sandbox with a learner's code.
"""

from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from attn_lib import MultiHeadAttention
from attn_lib.checks.authoring import (
    Result,
    Wrong,
    changed_in,
    describe,
    parts,
    quicker,
    state_of_module,
)

# ------------------------------------------------------------------- masked_heads, gated_heads


@dataclass(frozen=True)
class Attention:
    """The parameters of an `attn`. An object of its own, so that no verdict lists them."""

    num_heads: int
    tensors: dict[str, Tensor]

    def by_hand(self) -> tuple[str, dict[str, Tensor]]:
        """What a learner writes to make the module, and the parameters it has then."""
        E = len(self.tensors["o_proj.bias"])
        return f"attn_lib.MultiHeadAttention({E}, {self.num_heads})", self.tensors

    @cached_property
    def kept(self) -> MultiHeadAttention:
        """A module with these parameters, for those who do not change it."""
        bias = self.tensors["o_proj.bias"]
        with torch.random.fork_rng(devices=[]):  # an answer may draw random numbers
            module = MultiHeadAttention(len(bias), self.num_heads).to(bias.dtype)
        module.load_state_dict(self.tensors)
        return module

    def made(self) -> MultiHeadAttention:
        """A new module with these parameters."""
        return deepcopy(self.kept)

    def output(self, x: Tensor) -> Tensor:
        """What the module, as it is, makes of x."""
        with torch.no_grad():
            return self.kept(x)


def with_kept_module(answer, attention, x, factors):
    """Call a known answer, which only reads the module."""
    output = answer(attention.kept, x, factors)
    return Result((output, attention.output(x), *attention.tensors.values()), {})


@quicker(with_kept_module)
def with_module(answer, attention, x, factors):
    """Call the answer twice with a new module: nothing may stay behind, or show in the second call."""
    attn = attention.made()
    before = state_of_module(attn)
    with torch.no_grad():
        answer(attn, x.flip(1), factors.flip(0))
    output = answer(attn, x, factors)
    _raise_if_changed(attn, before)
    if output is None or output is Ellipsis:
        return output
    with torch.no_grad():
        after = attn(x), *(attn.get_parameter(n).clone() for n in attention.tensors)
    parameters = {name: before[name].thing for name in attention.tensors}
    return Result((output, *after), parameters)


def unless_changed(returned, attention, x, factors):
    """Return the output, if the module came back with its parameters, and does what it did.

    Whatever else is in a module, such as its hooks, only those can see who have it.
    """
    output, made, *tensors = parts(returned)
    were = attention.output(x), *attention.tensors.values()
    names = "forward", *attention.tensors
    for name, was, now in zip(names, were, (made, *tensors), strict=True):
        if not isinstance(now, Tensor) or not now.equal(was):
            raise _changed(name)
    return output


def _raise_if_changed(attn: nn.Module, before: dict[str, Any]) -> None:
    """Raise `Wrong` if the module that was given is not as it was; name what differs."""
    changed = changed_in(attn, before)
    if "_hooks" in changed:
        name = changed.rpartition(".")[0] or "attn"
        raise Wrong(
            "hook left",
            f"After the call there is still a hook on `{name}`. It will act in every later call of "
            "`attn`.",
        )
    if changed:
        raise _changed(changed)


def _changed(name: str) -> Wrong:
    return Wrong(
        "attn changed",
        f"The given `attn` is not the same after the call: look at its `{name}`. "
        "It should only be read.",
    )


# ----------------------------------------------------------------------------- head_importance


@dataclass(frozen=True)
class Trained:
    """The parameters of the model behind `loss_fn`. An object of its own, so that no verdict lists them."""

    tensors: dict[str, Tensor]


def with_loss(answer, model, num_heads, call):
    """Ask for the importance in another loss first: nothing may stay behind from that call.

    The loss is elsewhere; the parameters that it is given are here, as those of a model are.
    """
    after = []
    for turn in range(2):
        trained = [t.clone().requires_grad_() for t in model.tensors.values()]
        for parameter in trained[
            ::2
        ]:  # some have a gradient already, as in the middle of training
            parameter.grad = torch.ones_like(parameter)

        def loss_fn(head_mask, turn=turn, trained=trained):
            if not isinstance(head_mask, Tensor):
                raise _refusal(num_heads, describe(head_mask))
            return call(head_mask, torch.tensor(turn), *trained)

        result = answer(loss_fn, num_heads)
        if result is None or result is Ellipsis:
            return result
        for parameter in trained:
            after += [parameter.requires_grad, parameter.grad]
    return result, *after


def importance(returned, model, num_heads):
    """Return the result, if the parameters came back as they were."""
    result, *after = parts(returned)
    for i, tensor in enumerate([*model.tensors.values()] * 2):
        is_trained, now = after[2 * i], after[2 * i + 1]
        if is_trained is not True:
            raise Wrong(
                "frozen",
                "After the call, a parameter of the model does not ask for a gradient any more: its "
                "training would stop. Can you ask for the gradient of one tensor only?",
            )
        had_one = i % len(model.tensors) % 2 == 0
        is_same = (
            isinstance(now, Tensor) and now.equal(torch.ones_like(tensor))
            if had_one
            else now is None
        )
        if not is_same:
            raise Wrong(
                "gradients left",
                "After the call, the `.grad` of the model's parameters is not what it was. The next "
                "step of its training would add your gradients to its own.",
            )
    is_double = isinstance(result, Tensor) and result.dtype == torch.float64
    return result.float() if is_double else result  # no input says which it should be


def _refusal(num_heads, received):
    return Wrong(
        "wrong mask",
        f"`loss_fn` needs a tensor with one factor for each head, here shape ({num_heads},), of "
        f"dtype torch.float32, but received {received}.",
    )


def refuse(head_mask, calls, num_heads):
    """Raise `Wrong` for a call of `loss_fn` that no model needs, or could take."""
    if calls > 1:
        raise Wrong(
            "called again",
            "`loss_fn` was called a second time. One forward and one backward pass are enough for "
            "all heads.",
        )
    if head_mask.shape != (num_heads,) or head_mask.dtype != torch.float32:
        raise _refusal(
            num_heads, f"shape {tuple(head_mask.shape)}, dtype {head_mask.dtype}"
        )
