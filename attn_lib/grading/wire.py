"""Inputs and outcomes as messages: a JSON header and raw bytes. Nothing is ever unpickled.

A message is two lengths (4 bytes each), the header, and the bytes of all its tensors. What comes
from a worker is a stranger's: every size and type is checked before it is used.
"""

import json
import math
import struct
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from attn_lib.checks.again import find
from attn_lib.checks.observe import Frame, Outcome, Raised

HEADER_LIMIT = 1 << 20  # bytes
TENSORS_LIMIT = 1 << 22  # the largest in the course are a quarter of that
NO_ROWS = 1000  # of a tensor of no numbers, whose rows somebody may go through
TEXT_LIMIT = 10_000  # characters of one text
NAME_LIMIT = 1000  # characters of a text that an answer returns
ARGUMENTS_LIMIT = 1000  # tensors among the arguments after a call

_WHOLE = torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64
_HALF = torch.float8_e4m3fn, torch.float16, torch.bfloat16
_FULL = torch.float32, torch.float64, torch.complex64
DTYPES = {str(d).removeprefix("torch."): d for d in (*_WHOLE, *_HALF, *_FULL)}


class BadMessage(ValueError):
    """Bytes that are no message, or a larger one than may be."""


class Odd:
    """Stands for a returned value that is neither a tensor nor a number."""


def odd(kind: str) -> Odd:
    """Return a stand-in whose class is called `kind`, as a verdict names it."""
    return type(kind, (Odd,), {})()


# ------------------------------------------------------------------------------- the stream


class Stream(Protocol):
    """A file, or a socket with a deadline."""

    def read(self, size: int, /) -> bytes: ...
    def write(self, data: bytes, /) -> Any: ...
    def flush(self) -> None: ...


def send(stream: Stream, header: Any, blobs: list[bytes]) -> None:
    """Write one message."""
    text, data = json.dumps(header).encode(), b"".join(blobs)
    stream.write(struct.pack("<II", len(text), len(data)) + text + data)
    stream.flush()


def receive(stream: Stream) -> tuple[Any, memoryview]:
    """Read one message: its header and its bytes.

    Raises:
        EOFError: the other side is gone.
        BadMessage: it is too large, or not JSON.
    """
    header_size, data_size = struct.unpack("<II", _exactly(stream, 8))
    if header_size > HEADER_LIMIT or data_size > TENSORS_LIMIT:
        raise BadMessage(f"a message of {header_size} + {data_size} bytes is too large")
    text, data = _exactly(stream, header_size), _exactly(stream, data_size)
    try:
        return json.loads(text), memoryview(data)
    except (ValueError, RecursionError) as error:
        raise BadMessage("not JSON") from error


def _exactly(stream: Stream, size: int) -> bytearray:
    data = bytearray()
    while len(data) < size:
        part = stream.read(size - len(data))
        if not part:
            raise EOFError
        data += part
    return data


# ------------------------------------------------------------------------------------ values


def pack(value: Any, blobs: list[bytes]) -> Any:
    """Turn a case's argument into JSON; the bytes of tensors go to `blobs`."""
    if isinstance(value, Tensor):
        return {"tensor": _pack_tensor(value, blobs)}
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).removeprefix("torch.")}
    if isinstance(value, tuple | list):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [pack(item, blobs) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[pack(k, blobs), pack(v, blobs)] for k, v in value.items()]}
    if value is None or isinstance(value, bool | int | float | str):
        return {"plain": value}
    if is_dataclass(value):  # of the checks: what a `run` needs beside the arguments
        made_by: Any = type(value)
        content = {f.name: getattr(value, f.name) for f in fields(value)}
        return {
            "object": [f"{made_by.__module__}:{made_by.__name__}", pack(content, blobs)]
        }
    raise TypeError(f"a case may not hold {type(value).__name__}: it cannot be sent")


def unpack(packed: Any, data: memoryview) -> Any:
    """Undo `pack`. Only for what the judge sends: an object's class is imported."""
    ((kind, content),) = packed.items()
    if kind == "tensor":
        return _unpack_tensor(content, data)
    if kind == "object":
        return find(content[0])(**unpack(content[1], data))
    if kind == "dtype":
        return DTYPES[content]
    if kind in ("tuple", "list"):
        items = [unpack(item, data) for item in content]
        return tuple(items) if kind == "tuple" else items
    if kind == "dict":
        return {unpack(k, data): unpack(v, data) for k, v in content}
    return content


def _pack_tensor(tensor: Tensor, blobs: list[bytes]) -> list[Any]:
    """Describe a dense tensor: dtype, shape, the order of its axes in memory, where its bytes are."""
    tensor = tensor.detach()
    strides = tensor.stride()
    order = sorted(range(tensor.ndim), key=lambda axis: -strides[axis])
    # A clone: for `contiguous`, an axis of one number may keep any stride, also 0 after `expand`.
    dense = tensor.permute(order).clone(memory_format=torch.contiguous_format)
    raw = bytes(dense.flatten().view(torch.uint8).numpy())
    start = sum(map(len, blobs))
    blobs.append(raw)
    dtype = str(tensor.dtype).removeprefix("torch.")
    return [dtype, list(tensor.shape), order, start]


def _unpack_tensor(content: Any, data: memoryview) -> Tensor:
    try:
        name, shape, order, start = content
        dtype = DTYPES[name]
        sizes = [int(shape[axis]) for axis in order]
        if sorted(order) != list(range(len(shape))):
            raise BadMessage("not a tensor")
        if len(sizes) > 16 or not all(0 <= size <= TENSORS_LIMIT for size in sizes):
            raise BadMessage("a tensor of an impossible shape")
        length = math.prod(sizes) * dtype.itemsize
        if not length and max(sizes) > NO_ROWS:
            raise BadMessage("a tensor of nothing, and of many rows")
        if not 0 <= start <= start + length <= len(data):
            raise BadMessage("a tensor outside of the message")
    except (TypeError, ValueError, KeyError, IndexError) as error:
        raise BadMessage("not a tensor") from error
    if not length:
        return torch.zeros(shape, dtype=dtype)
    # Not a copy: a message can describe the same bytes a thousand times.
    flat = torch.frombuffer(data[start : start + length], dtype=dtype)
    back = sorted(range(len(order)), key=order.__getitem__)
    return flat.view(sizes).permute(back)


def pack_call(given: list[Any], gradient: Any, blobs: list[bytes]) -> dict[str, Any]:
    """Turn a call of what the judge serves into JSON."""
    return {"call": [_pack_value(value, blobs) for value in (gradient, *given)]}


def unpack_call(packed: Any, data: memoryview) -> tuple[list[Any], Any]:
    """Undo `pack_call`, believing nothing: all of it are tensors and None.

    Raises:
        BadMessage: it is something else.
    """
    try:
        values = [_unpack_value(value, data) for value in packed["call"][:20]]
    except Exception as reason:  # whatever a stranger's message makes go wrong
        raise BadMessage("not a call") from reason
    if not values or not all(
        value is None or isinstance(value, Tensor) for value in values
    ):
        raise BadMessage("not a call")
    return values[1:], values[0]


# ---------------------------------------------------------------------------------- outcomes


def pack_outcome(outcome: Outcome, blobs: list[bytes]) -> dict[str, Any]:
    """Turn what an answer did into JSON."""
    error = outcome.error
    return {
        "values": [_pack_value(value, blobs) for value in outcome.values[:20]],
        "count": len(outcome.values),
        "is_sequence": outcome.is_sequence,
        "gradients": {
            name: None if gradient is None else _pack_value(gradient, blobs)
            for name, gradient in outcome.gradients.items()
        },
        "error": error
        and [
            error.kind[:200],
            error.text[:TEXT_LIMIT],
            error.explanation[:TEXT_LIMIT],
            [list(frame) for frame in error.frames[-20:]],
            error.is_wrong,
        ],
        "untouched": outcome.untouched,
        "after": {name: _pack_value(t, blobs) for name, t in outcome.after.items()},
        "printed": outcome.printed,
    }


def unpack_outcome(packed: Any, data: memoryview, gradients: Iterable[str]) -> Outcome:
    """Undo `pack_outcome`, believing nothing.

    Args:
        packed: the header that came.
        data: the bytes that came with it.
        gradients: whose are asked for; what else is there is not looked at.

    Raises:
        BadMessage: it is not an outcome.
    """
    try:
        error = packed["error"]
        if len(packed["after"]) > ARGUMENTS_LIMIT:
            raise BadMessage("too many arguments")
        # Those that are no ordinary tensors any more are missing.
        after = {
            str(name)[:200]: tensor
            for name, value in packed["after"].items()
            if (tensor := _tensor_or_none(value, data)) is not None
        }
        values = [_unpack_value(value, data) for value in packed["values"][:20]]
        values += [odd("value")] * (min(int(packed["count"]), 1000) - len(values))
        return Outcome(
            values=values,
            is_sequence=bool(packed["is_sequence"]),
            gradients={
                name: _tensor_or_none(packed["gradients"].get(name), data)
                for name in gradients
            },
            error=error and _unpack_error(error),
            untouched=bool(packed["untouched"]),
            after=after,
            printed=str(packed["printed"])[:TEXT_LIMIT],
        )
    except Exception as reason:  # whatever a stranger's message makes go wrong
        raise BadMessage("not an outcome") from reason


def _unpack_error(error: Any) -> Raised:
    kind, text, explanation, frames, is_wrong = error
    return Raised(
        str(kind)[:200],
        str(text)[:TEXT_LIMIT],
        str(explanation)[:TEXT_LIMIT],
        tuple(Frame(str(function)[:200], int(line)) for function, line in frames[:20]),
        bool(is_wrong),
    )


def _tensor_or_none(packed: Any, data: memoryview) -> Tensor | None:
    value = None if packed is None else _unpack_value(packed, data)
    return value if isinstance(value, Tensor) else None


def _pack_value(value: Any, blobs: list[bytes]) -> Any:
    if isinstance(value, Tensor):
        usable = (
            value.layout == torch.strided
            and value.device.type == "cpu"
            and not value.is_nested
            and str(value.dtype).removeprefix("torch.") in DTYPES
            and value.numel() * value.dtype.itemsize < TENSORS_LIMIT // 4
        )
        if not usable:
            return {"odd": f"tensor ({value.layout}, {value.dtype}, {value.device})"}
        return {"tensor": _pack_tensor(value.resolve_conj().resolve_neg(), blobs)}
    if value is None:
        return {"none": None}
    if value is Ellipsis:
        return {"ellipsis": None}
    if type(value) in (bool, int, float) and (
        not isinstance(value, int) or abs(value) < 1 << 200
    ):
        return {"plain": value}
    if type(value) is str and len(value) < NAME_LIMIT:
        return {"plain": value}
    return {"odd": type(value).__name__[:200]}


def _unpack_value(packed: Any, data: memoryview) -> Any:
    ((kind, content),) = packed.items()
    if kind == "tensor":
        return _unpack_tensor(content, data)
    if kind == "plain" and type(content) in (bool, int, float):
        return content
    if kind == "plain" and type(content) is str:
        return content[:NAME_LIMIT]
    if kind == "none":
        return None
    return ... if kind == "ellipsis" else odd(str(content)[:200])
