"""Answers to save_checkpoint that no row makes."""

import json
import os
import tempfile
from pathlib import Path

import torch
from safetensors.torch import save, save_file

from attn_lib.checkpoint import fingerprint
from attn_lib.checkpoint import save_checkpoint as right
from tests.checks.answers import Answers

answers = Answers(
    "save_checkpoint",
    spelled=dict(
        state=["dict(module.state_dict())", "module.state_dict(keep_vars=True)"],
        tensors=[
            "{n: t.detach().clone(memory_format=torch.contiguous_format) for n, t in state.items()}",
            "{n: torch.tensor(t.tolist(), dtype=t.dtype).reshape(t.shape) for n, t in state.items()}",
            "{n: torch.empty(t.shape, dtype=t.dtype).copy_(t.detach()) for n, t in reversed(state.items())}",
        ],
        text=[
            "json.dumps(config, ensure_ascii=False)",
            "json.dumps(config, indent=2, sort_keys=True)",
            "json.JSONEncoder().encode(config)",
        ],
        metadata=["dict(config=text, sha256=digest, format='pt')", "{'sha256': digest, 'config': text}"],
    ),
)  # fmt: skip


def contiguous(state):
    return {name: t.detach().contiguous().clone() for name, t in state.items()}


@answers.right
def whole_or_not_at_all(module, config, path):
    text, tensors = json.dumps(config), contiguous(module.state_dict())
    data = save(tensors, {"config": text, "sha256": fingerprint(tensors, text)})
    handle, temporary = tempfile.mkstemp(dir=Path(path).parent)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    os.replace(temporary, path)


@answers.right
def by_hand(module, config, path):
    """Header and numbers, without the library."""
    names = {
        torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
        torch.int64: "I64", torch.int32: "I32", torch.int8: "I8", torch.uint8: "U8", torch.bool: "BOOL",
    }  # fmt: skip
    state, text, body = module.state_dict(), json.dumps(config), b""
    header = {"__metadata__": {"config": text, "sha256": fingerprint(state, text)}}
    for name in sorted(state, key=lambda name: -state[name].element_size()):
        raw = state[name].contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
        places = [len(body), len(body) + len(raw)]
        shape = list(state[name].shape)
        header[name] = dict(
            dtype=names[state[name].dtype], shape=shape, data_offsets=places
        )
        body += raw
    written = json.dumps(header).encode()
    written += b" " * (-len(written) % 8)
    Path(path).write_bytes(len(written).to_bytes(8, "little") + written + body)


@answers.wrong
def with_the_hash_of_another_name(module, config, path):
    text, tensors = json.dumps(config), contiguous(module.state_dict())
    digest = fingerprint({f"x{name}": t for name, t in tensors.items()}, text)
    save_file(tensors, path, {"config": text, "sha256": digest})


@answers.wrong
def with_a_word_back(module, config, path):
    right(module, config, path)
    return path


@answers.wrong
def without_the_last_entry_of_the_config(module, config, path):
    right(module, dict(list(config.items())[:2]), path)


@answers.wrong
def beside_an_old_file_only(module, config, path):
    if not Path(path).exists():
        right(module, config, path)


@answers.wrong
def by_way_of_a_file_that_may_be_somebodys(module, config, path):
    part = Path(path).with_suffix(".tmp")
    right(module, config, part)
    part.replace(path)
