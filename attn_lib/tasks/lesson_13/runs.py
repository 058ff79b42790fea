"""How the cases of this lesson call an answer, where it is more than one plain call.

Nothing here is an answer: this file goes into the sandbox with a learner's code. `fingerprint` is given to
learners in the exercise.
"""

import atexit
import contextlib
import hashlib
import json
import math
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from attn_lib import MultiHeadAttention
from attn_lib.checks.authoring import Wrong, changed_in, describe, state_of_module

TRACE = "code-ran"  # the file that code hidden in a checkpoint leaves behind, if it is run
WRITTEN = 10**18  # when the file that is to be read was written, in nanoseconds


def fingerprint(tensors: dict[str, Tensor], config_text: str) -> str:
    """Return the SHA-256 of a config's text and of all tensors by name, in hex digits."""
    digest = hashlib.sha256(config_text.encode())
    for name in sorted(tensors):
        tensor = tensors[name].contiguous()
        digest.update(f"{name}{tensor.dtype}{tuple(tensor.shape)}".encode())
        digest.update(bytes_of(tensor))
    return digest.hexdigest()


def bytes_of(tensor: Tensor) -> bytes:
    """Return the numbers of a tensor as they lie in memory."""
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


# ------------------------------------------------------------------------------ quantize_int8


def quantized(returned, weight):
    """Make 1 of the scale of a row of zeros, which may be any positive number."""
    if not isinstance(returned, tuple | list) or len(returned) != 2:
        return returned
    q, scale = returned
    if isinstance(q, Tensor) and q.shape == weight.shape:
        largest = weight.abs().amax(1)
        if ((largest > 0) & (largest < 1e-6) & (q == 0).all(1)).any():
            raise Wrong("tiny row lost", "A row of tiny numbers became a row of zeros.")
    if isinstance(scale, Tensor) and scale.shape == (len(weight), 1):
        is_empty = (weight == 0).all(1, keepdim=True)
        for one in scale[is_empty].tolist():
            if not 0 < one < math.inf:
                raise Wrong(
                    "scale of zeros",
                    f"The scale of a row of zeros should be a positive number, but is {one}.",
                )
        scale = scale.masked_fill(is_empty, 1)
        _refuse_other_small_scales(scale, weight)
    return q, scale


def _refuse_other_small_scales(scale: Tensor, weight: Tensor) -> None:
    """Raise `Wrong` if only the scales of small rows are wrong: beside large ones, nobody sees them."""
    largest = weight.abs().amax(1).double()
    times = torch.where(largest > 0, scale[:, 0].double() * 127 / largest, 1.0)
    is_off = (times - 1).abs() > 0.02
    is_small = largest < 0.1 * largest.amax()
    if is_off.any() and not (is_off & ~is_small).any():
        row = int(is_off.nonzero()[0])
        raise Wrong(
            "scale of a small row",
            f"The scale of row {row}, whose numbers are small, is {times[row]:.3g} times what it should be.",
        )


def one_after_the_other(answer, q, scale):
    """Call it for the rows turned round, then for the rows: the first result, turned back, must stay what it was."""
    first, second = answer(q.flip(0), scale.flip(0)), answer(q, scale)
    both = isinstance(first, Tensor) and isinstance(second, Tensor)
    if both and first.shape == second.shape and not first.flip(0).equal(second):
        raise Wrong(
            "first result lost",
            "The rows turned round, and then as they were: the two results should hold the same rows, but do not.\n"
            "Look at the first one again after the second call.",
        )
    return second


def with_parameter(answer, weight):
    """Give the answer what an `nn.Linear` has."""
    parameter = nn.Parameter(weight)
    result = answer(parameter)
    if not parameter.requires_grad or parameter.grad is not None:
        weight.fill_(torch.nan)  # what hangs on the parameter shows here
    return result


# ------------------------------------------------------------- what both checkpoint tasks use


@cache
def _folder() -> Path:
    """A folder for all calls: on some disks, to remove one takes longer than all else."""
    folder = tempfile.mkdtemp(prefix="attn-checkpoints-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


@contextlib.contextmanager
def _in_an_empty_folder() -> Iterator[None]:
    _folder().mkdir(exist_ok=True)
    with contextlib.chdir(_folder()):
        try:
            yield
        finally:
            for path in _folder().iterdir():
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink()


# ---------------------------------------------------------------------------- save_checkpoint


def _tied() -> nn.Module:
    module = nn.ModuleDict({"read": nn.Embedding(4, 3), "write": nn.Linear(3, 4, False)})
    module["write"].weight = module["read"].weight
    module["again"] = module["write"]
    return module


def _with_a_passing_buffer() -> nn.Module:
    module = nn.Linear(3, 2)
    module.register_buffer("cache", torch.ones(5), persistent=False)
    return module


def _of_nothing() -> nn.Module:
    with warnings.catch_warnings():  # there is nothing to initialize, it says
        warnings.simplefilter("ignore")
        return nn.Linear(3, 0)


def _sliced() -> nn.Module:
    """Three matrices, each a part of one memory."""
    module = nn.ModuleDict({f"{x}_proj": nn.Linear(3, 2, False) for x in "qkv"})
    for layer, part in zip(module.values(), torch.zeros(6, 3).chunk(3), strict=True):
        layer.weight = nn.Parameter(part)
    return module


def _overlapping() -> nn.Module:
    """Two matrices with rows in common."""
    module = nn.ModuleDict({f"{x}_proj": nn.Linear(3, 4, False) for x in "kv"})
    memory = torch.zeros(6, 3)
    for layer, part in zip(module.values(), (memory[:4], memory[2:]), strict=True):
        layer.weight = nn.Parameter(part)
    return module


def _half_at_rest() -> nn.Module:
    module = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    module[1].eval()
    return module


def _frozen() -> nn.Module:
    module = nn.Linear(3, 2)
    module.bias.requires_grad_(False)
    return module


def _of_bytes() -> nn.Module:
    """No parameter; two masks with rows in common."""
    module, mask = nn.Module(), torch.zeros(5, 4, dtype=torch.bool)
    module.register_buffer("weight", torch.zeros(2, 3, dtype=torch.int8))
    module.register_buffer("places", torch.zeros(3, dtype=torch.int32))
    module.register_buffer("pixels", torch.zeros(2, 2, dtype=torch.uint8))
    for name, rows in (("mask", mask[:4]), ("later", mask[1:])):
        module.register_buffer(name, rows)
    return module


MODULES: dict[str, Callable[[], nn.Module]] = {
    "an `nn.Linear(3, 2)`": lambda: nn.Linear(3, 2),
    "an `nn.Linear(3, 2)` whose weight is a transposed matrix": lambda: nn.Linear(3, 2),
    "an `nn.Linear(3, 2)` with a buffer of `persistent=False`": _with_a_passing_buffer,
    "a linear layer and an `nn.BatchNorm1d(3)`": lambda: nn.Sequential(
        nn.Linear(2, 3), nn.BatchNorm1d(3)
    ),
    "an `attn_lib.MultiHeadAttention(4, 2)`": lambda: MultiHeadAttention(4, 2),
    "an `nn.Linear(3, 2)` in a wrapper, under the name `module`": lambda: nn.ModuleDict(
        {"module": nn.Linear(3, 2)}
    ),
    "an `nn.Linear(3, 2)` in two wrappers, under the name `_orig_mod`": lambda: (
        nn.ModuleDict({"_orig_mod": nn.ModuleDict({"_orig_mod": nn.Linear(3, 2)})})
    ),
    "an `nn.Linear(3, 2)` in eval mode": lambda: nn.Linear(3, 2).eval(),
    "a linear layer, and an `nn.BatchNorm1d(3)` in eval mode": _half_at_rest,
    "an `nn.Linear(3, 2)` whose bias needs no gradient": _frozen,
    "an int8 weight and two masks, slices of one": _of_bytes,
    "an `nn.ReLU()`": nn.ReLU,
    "an `nn.Linear(3, 1)`": lambda: nn.Linear(3, 1),
    "an `nn.Linear(3, 0)`": _of_nothing,
    "an `nn.Conv2d(3, 2, 2)` whose channels lie last": lambda: nn.Conv2d(3, 2, 2),
    "an embedding and an output layer with one weight, the layer under two names": _tied,
    "three matrices that are slices of one": _sliced,
    "two overlapping slices of one matrix": _overlapping,
}


@dataclass(frozen=True)
class Module:
    """A module to be made: one of MODULES, and the tensors that replace its own."""

    kind: str
    tensors: dict[str, Tensor]

    @cached_property
    def kept(self) -> nn.Module:
        """One that nobody changes."""
        return self.made()

    def made(self) -> nn.Module:
        """A new module."""
        with torch.random.fork_rng(devices=[]):  # an answer may draw random numbers
            torch.default_generator.manual_seed(0)
            module = MODULES[self.kind]()
        state = module.state_dict()
        for name, tensor in self.tensors.items():
            if state[name].dtype == tensor.dtype and tensor.is_contiguous():
                state[name].copy_(tensor)  # what shares its memory goes on sharing it
            else:
                module.get_parameter(name).data = tensor.clone()
        for parameter in module.parameters():
            if parameter.requires_grad:
                parameter.grad = torch.ones_like(parameter)
        return module


@dataclass(frozen=True)
class PathTo:
    """A path that is no text."""

    name: str


OLD = bytes(10_000)  # the old file
# They lie beside it, and are none of the answer's business: `NAME.tmp` may be where another program writes.
NEIGHBORS = "notes.txt", "model.tmp"


def saved(answer, module, config, path):
    """Save a module; return what lies in the file, its path, another file, and the module as it is then."""
    given, own = module.made(), deepcopy(config)
    before, everything = _parts(given), state_of_module(given)
    with _in_an_empty_folder():
        place = Path(path.name) if isinstance(path, PathTo) else Path(path)
        place.parent.mkdir(exist_ok=True)
        beside = [place.with_name(name) for name in NEIGHBORS]
        for one in beside:
            one.write_text(one.name)
        if "old" in place.name:
            place.write_bytes(OLD)
        where = place if isinstance(path, PathTo) else path
        if "trained" in place.name:  # it was saved before the last step of its training
            with torch.no_grad():
                for _ in range(2):
                    for parameter in given.parameters():
                        parameter.neg_()
                    returned = answer(given, own, where)
        else:
            returned = answer(given, own, where)
        for one in beside:
            if not one.is_file() or one.read_text() != one.name:
                raise Wrong(
                    "neighbor",
                    f"{one.name!r} lay in the folder. After the call it is gone, or changed.",
                )
        there = [found for found in _whatever_there_is(place) if found not in beside]
        if not there and (returned is None or returned is Ellipsis):
            raise NotImplementedError
        if place.is_symlink():
            raise Wrong(
                "a link", f"After the call, {str(place)!r} is a link to a file elsewhere."
            )
        data = place.read_bytes() if place.is_file() else None
    other = next((str(path) for path in there if path != place), "")
    file = None if data is None else torch.tensor([*data], dtype=torch.uint8)
    changed = (
        "The given `config` is not the same after the call."
        if repr(own) != repr(config)  # True == 1.0
        else _what_changed(given, module.kept, before, everything)
    )
    if returned is not None and not changed:
        changed = f"It should return nothing, but it returned {describe(returned)}."
    return file, str(place), other, changed, *given.state_dict().values()


def _whatever_there_is(place: Path) -> list[Path]:
    """List what is in the folder, links too, and empty folders last; but not the folder of a path."""

    def is_full(path: Path) -> bool:
        return path.is_dir() and not path.is_symlink() and any(path.iterdir())

    found = {path for path in Path().rglob("*") if not is_full(path)}
    return sorted(found - {*place.parents}, key=lambda path: (path.is_dir(), path))


def _parts(module: nn.Module) -> dict[str, tuple]:
    """Return each tensor of a module, and how it lies in memory."""
    state = module.state_dict(keep_vars=True)
    return {name: (t, t.data_ptr(), t.stride()) for name, t in state.items()}


CHANGED = "The given `module` is not the same after the call"


def _what_changed(module: nn.Module, was: nn.Module, before: dict, everything: dict) -> str:
    """Say what differs from a module that nobody changed, or lies elsewhere in memory; "" for nothing."""
    now, kept = _parts(module), was.state_dict(keep_vars=True)
    if now.keys() != before.keys():
        return f"{CHANGED}."
    if module.training != was.training:
        return f"{CHANGED}: look at its `training`."
    for name, (tensor, *lies) in now.items():
        right = kept[name]
        same = {
            "the tensor itself": tensor is before[name][0],
            "its dtype": tensor.dtype == right.dtype,
            "its numbers": bytes_of(tensor) == bytes_of(right),
            "how it lies in memory": tuple(lies) == before[name][1:],
            "its `requires_grad`": tensor.requires_grad == right.requires_grad,
            "its `grad`": (tensor.grad is None) == (right.grad is None),
        }
        for what, is_same in same.items():
            if not is_same:
                return f"{CHANGED}: look at its `{name}`, {what}."
    other = changed_in(module, everything)
    return f"{CHANGED}: look at its `{other}`." if other else ""


# ---------------------------------------------------------------------------- load_checkpoint


@dataclass(frozen=True)
class File:
    """A file to be read, whole or damaged: its name, and its bytes as a tensor."""

    name: str
    data: Tensor
    is_text: bool = True  # its path is a str, else a Path


def loaded(answer, file):
    """Load a file, and return all that came back; whether it should have been refused, nobody here knows."""
    data = file.data.numpy().tobytes()
    with _in_an_empty_folder():
        place = Path(file.name)
        place.write_bytes(data)
        os.utime(place, ns=(WRITTEN, WRITTEN))
        kind = _kind(place)
        try:
            returned = answer(file.name if file.is_text else place)
        except ValueError as error:
            _raise_if_harmed(place, data, kind)
            # A learner's own kind of ValueError is one, too.
            raise ValueError(str(error)).with_traceback(error.__traceback__) from None
        except Exception:
            _raise_if_harmed(place, data, kind)
            raise
        _raise_if_harmed(place, data, kind)
    if returned is None or returned is Ellipsis:
        return returned
    tensors, config = _two(returned)
    texts = json.dumps([*tensors], default=str), json.dumps(config, default=str)
    return *(
        torch.tensor([*text.encode()], dtype=torch.uint8) for text in texts
    ), *tensors.values()


def _kind(place: Path) -> tuple[int, ...]:
    """Return what a file is, beside its bytes: a file or a link, who may read it, and under how many names."""
    said = place.lstat()
    return said.st_mode, said.st_ino, said.st_nlink


def _raise_if_harmed(place: Path, data: bytes, kind: tuple[int, ...]) -> None:
    """Raise `Wrong` if code in a file was run, or the file is not what it was."""
    if Path(TRACE).exists():
        raise Wrong(
            "code ran",
            "Opening this file ran code that stood in it. (Here it only left a trace.) Whoever sends "
            "such a file can do everything on your machine that you can do.",
        )
    if not place.is_file() or place.read_bytes() != data:
        raise Wrong("file changed", "After the call the file is gone, or another one.")
    if place.stat().st_mtime_ns != WRITTEN or _kind(place) != kind:
        raise Wrong(
            "file changed",
            "The call has written to the file, which it should only read, or changed who may read it.",
        )
    if more := [str(path) for path in _whatever_there_is(place) if path != place]:
        raise Wrong(
            "more files", f"After the call there is {more[0]!r} beside {str(place)!r}."
        )


def _two(returned: Any) -> tuple[dict[str, Tensor], dict]:
    """Return tensors and config, if they are such; whether they are those of the file, nobody here knows."""
    if not isinstance(returned, tuple | list) or len(returned) != 2:
        raise Wrong(
            "not two",
            f"It should return two things, the tensors and the config. It returned {describe(returned)}.",
        )
    tensors, config = returned
    for what, value, kind in (
        ("tensors by name", tensors, "not two"),
        ("config", config, "no dict"),
    ):
        if not isinstance(value, dict):
            raise Wrong(
                kind, f"The {what} should be a dict, but it returned {describe(value)}."
            )
    if any(isinstance(value, Tensor) for value in config.values()):
        raise Wrong("not two", "It should return the tensors first, and then the config.")
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise Wrong(
                "other tensor", f"{name!r} should be a tensor, but is {describe(tensor)}."
            )
    return tensors, config
