"""A meter of the memory that a piece of code takes, and of the operation that takes most."""

import weakref
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, UntypedStorage
from torch.utils._python_dispatch import TorchDispatchMode


class MemoryMeter(TorchDispatchMode):
    """Watch every tensor that is made inside a `with` block, and for how long it lives.

        with MemoryMeter(ignore=(q, k, v)) as meter:
            attention(q, k, v)
        print(meter.peak, meter.largest, meter.where)

    What counts is the memory behind a tensor: a view costs nothing. A tensor that was there before
    counts from its first use on, unless it is ignored. What autograd keeps for the way back counts
    as long as it is kept; so the backward pass belongs into the block if it is to be measured.

    It sees PyTorch's operations in its own thread, but not what goes on inside one of them, nor
    numpy and Python lists.

    Args:
        ignore: tensors that do not count: the inputs.

    Attributes:
        peak: the most bytes that were alive at one time.
        largest: the bytes of the largest single tensor.
        where: the operation that made it, with its shape and dtype.
        now: the bytes that are alive now.
        unseen: by dtype, the bytes of all tensors that were used here, but made where it does not see:
            by numpy, in another thread, before the block. Single numbers are left out.
    """

    def __init__(self, *, ignore: Iterable[Tensor] = ()):
        super().__init__()
        self.now = self.peak = self.largest = 0
        self.unseen = Counter[torch.dtype]()
        self.where = "nothing was made"
        # Of each memory that is alive, by the id of its storage.
        self._bytes: dict[int, int] = {}
        # Of the largest: its size, and its bytes if that is another number.
        self._rank = (0, 0)
        self._ignored = {id(s): s for s in (t.untyped_storage() for t in ignore)}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        given = list(_tensors((args, kwargs)))
        for tensor in given:
            storage = tensor.untyped_storage()
            if tensor.ndim and not self._knows(storage):
                self.unseen[tensor.dtype] += self._size(tensor)
        result = func(*args, **(kwargs or {}))
        # The arguments, too: what is written into with `out=` or `[...] =` may be new to us.
        for tensor in (*given, *_tensors(result)):
            self._see(tensor, func)
        return result

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing is compiled under the meter: PyTorch need not load its compiler, which takes over a second."""
        return False

    def _size(self, tensor: Tensor) -> int:
        return tensor.untyped_storage().nbytes()

    def _knows(self, storage: UntypedStorage) -> bool:
        return id(storage) in self._bytes or id(storage) in self._ignored

    def _see(self, tensor: Tensor, func: Any) -> None:
        storage = tensor.untyped_storage()
        key, size = id(storage), self._size(tensor)
        if key in self._ignored or self._bytes.get(key) == size:
            return
        if key not in self._bytes:
            weakref.finalize(storage, self._forget, key).atexit = False
        self.now += size - self._bytes.get(key, 0)
        self._bytes[key] = size
        self.peak = max(self.peak, self.now)
        if (rank := (size, storage.nbytes())) > self._rank:
            self._rank = rank
            kind = f"{tensor.dtype}".removeprefix("torch.")
            operation = func._schema.name.removeprefix("aten::")
            self.largest, self.where = size, f"{operation} {tuple(tensor.shape)} {kind}"

    def _forget(self, key: int) -> None:
        self.now -= self._bytes.pop(key)


def _tensors(value: Any) -> Iterator[Tensor]:
    """Yield the tensors in what an operation takes or gives: quicker than a walk through any tree."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, tuple | list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _tensors(item)
