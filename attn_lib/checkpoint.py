"""A checkpoint that is data: a module's tensors and its configuration, and a hash of both.

`torch.save` writes a pickle, and opening a pickle runs what stands in it. A safetensors file holds
numbers and a header, nothing to run: github.com/huggingface/safetensors. But a flipped bit in it
loads as another number, and nothing is said; so a hash goes with it.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from attn_lib.files import write_whole


def save_checkpoint(module: nn.Module, config: dict[str, Any], path: str | Path) -> None:
    """Write the state of a module, with what is needed to build it anew, to a safetensors file.

    The file is there whole or not at all: it is written under another name, which then takes its
    place. Tensors that share memory, such as tied weights, are written once under each name, so that
    `load_state_dict` finds them all; what ties them is the module.

    Args:
        module: its `state_dict()` is written.
        config: whatever builds such a module; a dict that JSON gives back as it was.
        path: of the file; what was there before is replaced.

    Raises:
        ValueError: JSON cannot hold the config, or safetensors an entry of the state.
        OSError: the file cannot be written; what was there before still is.
    """
    text = _config_text(config)
    tensors = {name: _own_memory(name, t) for name, t in module.state_dict().items()}
    metadata = {"config": text, "sha256": fingerprint(tensors, text)}
    try:
        data = save(tensors, metadata)
    except (SafetensorError, KeyError, ValueError) as error:  # an unknown dtype
        raise ValueError(f"safetensors cannot hold this state: {error}") from error
    write_whole(Path(path), data)


def load_checkpoint(path: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `save_checkpoint` wrote; nothing of it is ever run.

    Returns:
        The tensors by name, for `load_state_dict`, on the CPU; and the config.

    Raises:
        ValueError: the file is damaged, cut off, altered, or was not written by `save_checkpoint`.
        FileNotFoundError: there is no such file; a folder is none.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"expected a checkpoint, found no file {path}")
    try:
        with safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
            # Copies: what is hashed is what is returned, whatever happens to the file.
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise ValueError(
            f"expected a whole safetensors file, got {path}: {error}"
        ) from error
    if not {"config", "sha256"} <= metadata.keys():
        raise ValueError(
            f"expected the metadata 'config' and 'sha256' of `save_checkpoint` in {path}, "
            f"got {sorted(metadata)}"
        )
    found = fingerprint(tensors, metadata["config"])
    if found != metadata["sha256"]:
        raise ValueError(
            f"{path} is not what was written: expected the hash {metadata['sha256']:.12}, "
            f"got {found:.12}"
        )
    return tensors, _read_config(metadata["config"], path)


def fingerprint(tensors: Mapping[str, Tensor], config_text: str) -> str:
    """Return the SHA-256 of a config and of all tensors, in hex digits.

    Hashed are the text of the config, and for each tensor, in the order of their names: name, dtype,
    shape, and its bytes in the order of its indices.
    """
    digest = hashlib.sha256(config_text.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name}{tensor.dtype}{tuple(tensor.shape)}".encode())
        flat = tensor.detach().cpu().contiguous().reshape(-1)
        digest.update(flat.view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _config_text(config: dict[str, Any]) -> str:
    try:
        text = json.dumps(config, allow_nan=False)
        same = isinstance(config, dict) and json.loads(text) == config
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"expected a config that JSON can hold, got {error}") from error
    if not same:  # JSON turns tuples into lists, and numbers as keys into text
        raise ValueError(
            "expected a config that JSON gives back as it was (a dict with text as keys, lists "
            f"instead of tuples), got {config!r:.200}"
        )
    return text


def _read_config(text: str, path: str | Path) -> dict[str, Any]:
    try:
        config = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"expected a config in JSON in {path}, got {error}") from error
    if not isinstance(config, dict):
        raise ValueError(
            f"expected a config that is a dict in {path}, got {type(config).__name__}"
        )
    return config


def _own_memory(name: str, entry: object) -> Tensor:
    """Copy an entry of the state: safetensors takes no tensors that share memory, nor views."""
    if not isinstance(entry, Tensor) or entry.layout != torch.strided or entry.is_meta:
        raise ValueError(
            f"expected dense tensors with numbers in the state, got {name}: {entry!r:.200}"
        )
    return entry.detach().cpu().clone(memory_format=torch.contiguous_format)
