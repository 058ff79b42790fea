"""All that is in a module, to see after a call that should only have read it that it is as it was."""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.modules import module as globally


class Seen(NamedTuple):
    """A thing in a module, kept alive, and what it was like."""

    thing: Any
    was: Any


def state_of_module(module: nn.Module) -> dict[str, Seen]:
    """Return everything in a module and its parts by its path: "num_heads", "o_proj.weight", "o_proj.training".

    Also what is private, the hooks of modules and tensors, and those of all modules.
    """
    found: dict[str, Seen] = {}
    for name, part in module.named_modules():
        path = f"{name}." if name else ""
        for key, value in {"class": type(part), **vars(part)}.items():
            found[path + key] = _seen(value)
            if key in ("_parameters", "_buffers", "_modules"):
                found |= {path + entry: _seen(kept) for entry, kept in value.items()}
    hooks = {key: _seen(value) for key, value in vars(globally).items() if "_hooks" in key}
    return found | hooks


def changed_in(module: nn.Module, before: dict[str, Seen]) -> str:
    """Return the path of what is not as `state_of_module` found it, "" if everything is."""
    now = state_of_module(module)
    for path, (thing, was) in before.items():
        if path not in now or now[path].thing is not thing or now[path].was != was:
            return path
    return next((path for path in now if path not in before), "")


def _seen(value: Any) -> Seen:
    return Seen(value, _like(value))


def _like(value: Any) -> Any:
    """Return what can be compared by ==: of a tensor all that is in it, of a collection who is in it."""
    if isinstance(value, Tensor):
        grad, hooks = value.grad, value._backward_hooks or {}
        lies = value.dtype, tuple(value.shape), value.stride(), value.data_ptr()
        numbers = _bytes(value), None if grad is None else _bytes(grad)
        return *lies, *numbers, value.requires_grad, [*hooks]
    if isinstance(value, dict):
        return [(key, id(entry)) for key, entry in value.items()]
    if isinstance(value, list | tuple):
        return [*map(id, value)]
    return set(value) if isinstance(value, set) else None


def _bytes(tensor: Tensor) -> bytes:
    plain = tensor.detach().contiguous().reshape(-1)
    return plain.view(torch.uint8).numpy().tobytes() if plain.numel() else b""
