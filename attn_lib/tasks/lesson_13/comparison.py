"""What a checkpoint holds, and whether it is what it should be: compared where no answer can look.

Unlike runs.py, this file does not go into the sandbox: parts of it would be answers.
"""

import contextlib
import json
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor

from attn_lib.checks.authoring import Wrong, describe, parts
from attn_lib.tasks.lesson_13.runs import CHANGED, OLD, bytes_of, fingerprint


def contents(data: bytes) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return the tensors and the metadata of a safetensors file.

    Raises:
        SafetensorError: it is none.
    """
    tensors = dict(sorted(load(data).items()))
    size = int.from_bytes(data[:8], "little")
    return tensors, json.loads(data[8 : 8 + size]).get("__metadata__", {})


def _raise_unless_same(got: dict, want: dict[str, Tensor], whose: str) -> None:
    """Raise `Wrong` unless two dicts hold the same tensors under the same names."""
    for name in want:
        if name not in got:
            there = ", ".join(map(repr, got)) or "none"
            raise Wrong(
                "other names", f"{whose} no tensor named {name!r}, only: {there:.300}."
            )
    for name, tensor in got.items():
        if name not in want:
            raise Wrong(
                "other names",
                f"{whose} a tensor named {name!r}, which should not be there.",
            )
        _raise_unless_equal(tensor, want[name], name)


def _raise_unless_equal(got: Any, want: Tensor, name: str) -> None:
    if not isinstance(got, Tensor):
        raise Wrong("other tensor", f"{name!r} should be a tensor, but is {describe(got)}.")
    for what in ("dtype", "shape"):
        mine, right = getattr(got, what), getattr(want, what)
        if mine != right:
            shown = (tuple(m) if what == "shape" else m for m in (right, mine))
            text = "The {} of {!r} should be {}, but is {}.".format(what, name, *shown)
            raise Wrong(f"other {what}", text)
    if bytes_of(got) != bytes_of(want):
        raise Wrong("other tensor", f"The numbers of {name!r} are not what they were.")


def _all_of_it(tensors: dict[str, Tensor], config: dict) -> Tensor:
    """Return all bytes in one tensor, to be compared where a learner's code cannot look."""
    pieces = [bytes_of(tensors[name]) for name in sorted(tensors)]
    pieces.append(json.dumps(config, sort_keys=True, default=str).encode())
    return torch.frombuffer(bytearray(b"".join(pieces)), dtype=torch.uint8)


def good_file(returned, module, config, path):
    """Return all that lies in the file, if it is as it should be, and the module as it was."""
    file, place, other, changed, *after = parts(returned)
    tensors, metadata = _read(file, place, other)
    _raise_unless_config(metadata, config)
    right = module.kept.state_dict()
    _raise_unless_same(tensors, right, "The file has")
    _raise_unless_hashed(tensors, metadata)
    for (name, was), now in zip(right.items(), after, strict=True):
        if not isinstance(now, Tensor) or bytes_of(now) != bytes_of(was):
            changed = changed or f"{CHANGED}: look at its `{name}`."
    if changed:
        raise Wrong("input changed", changed)
    return _all_of_it(tensors, json.loads(metadata["config"]))


def _read(
    file: Tensor | None, place: str, other: str
) -> tuple[dict[str, Tensor], dict[str, str]]:
    if file is None:
        if not other:
            raise Wrong(
                "nothing written",
                f"After the call there is no file {place!r}, nor another one.",
            )
        raise Wrong("no file", f"There is no file {place!r} after the call, but {other!r}.")
    data = bytes_of(file)
    if data == OLD:
        raise Wrong("old file", f"After the call the old file is still there: {place!r}.")
    try:
        read = contents(data)
    except SafetensorError:
        kinds = {b"PK": "a zip with a pickle in it, of `torch.save`", b"\x80": "a pickle"}
        found = next((kinds[start] for start in kinds if data.startswith(start)), None)
        found = found or f"none: its first bytes are {data[:12]!r}"
        text = f"The file should be a safetensors file, but is {found}."
        raise Wrong("not safetensors", text) from None
    if other:
        raise Wrong("more files", f"Beside {place!r} there is {other!r} after the call.")
    return read


def _raise_unless_config(metadata: dict[str, str], config: dict) -> None:
    if "config" not in metadata:
        there = ", ".join(map(repr, metadata)) or "nothing"
        raise Wrong(
            "no config", f"The file's metadata has no 'config'. It has: {there:.300}."
        )
    text = metadata["config"]
    try:
        found = json.loads(text)
    except ValueError as error:
        raise Wrong(
            "not json", f"The config in the file is no JSON: {error}. It is {text:.200}"
        ) from None
    if not _is_same(found, config):
        raise Wrong(
            "other config",
            f"The config in the file is read as {found!r:.300}, but should be {config!r:.300}.",
        )


def _is_same(one: Any, other: Any) -> bool:
    """Say whether two configs are the same as JSON: 2 is not 2.0 there."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _raise_unless_hashed(tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
    if "sha256" not in metadata:
        there = ", ".join(map(repr, metadata))
        raise Wrong(
            "no hash", f"The file's metadata has no 'sha256'. It has: {there:.300}."
        )
    if fingerprint(tensors, metadata["config"]) != metadata["sha256"]:
        raise Wrong(
            "other hash",
            "The 'sha256' in the file is not the `fingerprint` of the tensors in it and of the text under "
            "'config' in it.",
        )


def good_load(returned, file):
    """Return all that was loaded, if it is what stands in the file, damaged or not."""
    names, config, *tensors = parts(returned)
    names, config = (json.loads(bytes_of(text)) for text in (names, config))
    found = dict(zip(names, tensors, strict=True))
    with contextlib.suppress(SafetensorError):
        want, metadata = contents(bytes_of(file.data))
        _raise_unless_same(found, want, "It returned")
        with contextlib.suppress(ValueError, KeyError):
            in_file = json.loads(metadata["config"])
            if not _is_same(config, in_file):
                raise Wrong(
                    "other config",
                    f"It returned the config {config!r:.300}. In the file stands {in_file!r:.300}.",
                )
    return _all_of_it(found, config)
