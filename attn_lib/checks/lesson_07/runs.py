"""How the cases of this lesson call an answer, where it is more than one plain call.

Nothing here is an answer: this file goes into the sandbox with a learner's code.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attn_lib import MultiHeadAttention
from attn_lib.checks.case import Result, Wrong, quicker
from attn_lib.checks.say import describe

# ------------------------------------------------------------------- masked_heads, gated_heads


# A mistake is recognized by the kind of its errors too: so each kind has a class.
class AttnChanged(Wrong):
    """Raised if `attn` is not as it was."""


class HookLeft(Wrong):
    """Raised for a hook that stays behind."""


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


def with_kept_module(answer, attention, x, factors):
    """Call a known answer, which only reads the module."""
    return Result(answer(attention.kept, x, factors), {})


@quicker(with_kept_module)
def with_module(answer, attention, x, factors):
    """Call the answer twice with a new module: nothing may stay behind, or show in the second call."""
    attn = attention.made()
    before = _contents(attn)
    with torch.no_grad():
        answer(attn, x.flip(1), factors.flip(0))
    output = answer(attn, x, factors)
    _raise_if_changed(attn, before, attention)
    return Result(output, {name: before[name] for name in attention.tensors})


def _contents(attn: nn.Module) -> dict[str, Any]:
    """Everything in a module, by its path: "num_heads", "o_proj", "o_proj.weight", "o_proj.training"."""
    found: dict[str, Any] = {"class": type(attn)}
    for name, module in attn.named_modules():
        path = f"{name}." if name else ""
        for key, value in vars(module).items():
            if not key.startswith("_"):
                found[path + key] = value
            elif value and key.endswith("_hooks"):
                raise HookLeft(
                    f"After the call there is still a hook on `{name or 'attn'}`. It will act in "
                    "every later call of `attn`."
                )
            elif value and key in ("_parameters", "_buffers", "_modules"):
                found |= {path + entry: kept for entry, kept in value.items()}
    return found


def _raise_if_changed(
    attn: nn.Module, before: dict[str, Any], attention: Attention
) -> None:
    """Raise `Wrong` if the module that was given is not as it was; name what differs."""
    now = _contents(attn)
    changed = [name for name in before if now.get(name) is not before[name]]
    changed += [name for name in now if name not in before]
    for name, was in attention.tensors.items():
        p = before[name]
        if not (p.equal(was) and p.requires_grad and p.grad is None):
            changed.append(name)
    if changed:
        raise AttnChanged(
            f"The given `attn` is not the same after the call: look at its `{changed[0]}`. "
            "It should only be read."
        )


# ----------------------------------------------------------------------------- head_importance


class WrongMask(Wrong):
    """Raised by `loss_fn` for a head mask that no model could take."""


class CalledAgain(Wrong):
    """Raised by `loss_fn` when it is called a second time."""


class GradientsLeft(Wrong):
    """Raised if the `.grad` of a parameter inside `loss_fn` is not as it was."""


class Frozen(Wrong):
    """Raised if a parameter inside `loss_fn` no longer requires a gradient."""


def polynomial(m, linear, pairs, cubes):
    """Loss that can be worked out by hand: linear . m + m^T pairs m + cubes . m^3."""
    return (linear * m).sum() + m @ pairs @ m + (cubes * m**3).sum()


def classification(m, heads, weight, bias, target):
    """Cross-entropy of N samples: heads (H, N, D), each multiplied, mixed to C classes."""
    logits = torch.einsum("h,hnd,hdc->nc", m, heads, weight) + bias
    return F.cross_entropy(logits, target)


def square_error(m, heads, weight, target):
    """Mean squared error of N samples, through a tanh: heads (H, N, D), target (N, C)."""
    output = torch.einsum("h,hnd,hdc->nc", m, heads, weight)
    return (output.tanh() - target).square().mean()


FORMULAS: dict[str, Callable[..., Tensor]] = {
    "polynomial": polynomial,
    "classification": classification,
    "square error": square_error,
}


@dataclass(frozen=True)
class Loss:
    """What `loss_fn` computes from a head mask (H,).

    Args:
        formula: the name of one of FORMULAS.
        tensors: its other arguments; those named in `trained` are parameters.
        trained: names of tensors that require a gradient, as the weights of a model do.
        scale: the loss is multiplied by it.
    """

    formula: str
    tensors: dict[str, Tensor]
    trained: tuple[str, ...] = ()
    scale: float = 1.0


def importance(answer, loss, num_heads):
    """Ask for the importance in another loss first: nothing may stay behind from that call."""
    _importance(answer, replace(loss, scale=-3.0 * loss.scale), num_heads)
    result = _importance(answer, loss, num_heads)
    is_double = isinstance(result, Tensor) and result.dtype == torch.float64
    return result.float() if is_double else result  # no input says which it should be


def _importance(answer, loss, num_heads):
    tensors = {name: tensor.clone() for name, tensor in loss.tensors.items()}
    trained = [tensors[name].requires_grad_() for name in loss.trained]
    # Some have a gradient already, as in the middle of training.
    for parameter in trained[::2]:
        parameter.grad = torch.ones_like(parameter)
    before = [None if p.grad is None else p.grad.clone() for p in trained]
    calls = 0

    def loss_fn(head_mask):
        nonlocal calls
        calls += 1
        _refuse(head_mask, calls, num_heads)
        return loss.scale * FORMULAS[loss.formula](head_mask, **tensors)

    result = answer(loss_fn, num_heads)
    for parameter, was in zip(trained, before, strict=True):
        if not parameter.requires_grad:
            raise Frozen(
                "After the call, a parameter of the model does not ask for a gradient any more: its "
                "training would stop. Can you ask for the gradient of one tensor only?"
            )
        now = parameter.grad
        if now is not was and (now is None or was is None or not now.equal(was)):
            raise GradientsLeft(
                "After the call, the `.grad` of the model's parameters is not what it was. The next "
                "step of its training would add your gradients to its own."
            )
    return result


def _refuse(head_mask, calls, num_heads):
    if calls > 1:
        raise CalledAgain(
            "`loss_fn` was called a second time. One forward and one backward pass are enough for "
            "all heads."
        )
    if not isinstance(head_mask, Tensor):
        received = describe(head_mask)
    elif head_mask.shape == (num_heads,) and head_mask.dtype == torch.float32:
        return
    else:
        received = f"shape {tuple(head_mask.shape)}, dtype {head_mask.dtype}"
    raise WrongMask(
        f"`loss_fn` needs a tensor with one factor for each head, here shape ({num_heads},), of "
        f"dtype torch.float32, but received {received}."
    )
