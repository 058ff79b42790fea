"""Answers to save_checkpoint that no row makes."""

import io
import json
import os
import tempfile
from pathlib import Path

import torch
from safetensors.torch import save, save_file, save_model

from attn_lib.checkpoint import fingerprint, load_checkpoint
from attn_lib.checkpoint import save_checkpoint as right
from tests.checks.answers import Answers

answers = Answers(
    "save_checkpoint",
    spelled=dict(
        state=["dict(module.state_dict())", "module.state_dict(keep_vars=True)"],
        tensors=[
            "{n: t.detach().clone(memory_format=torch.contiguous_format) for n, t in state.items()}",
            "{n: torch.tensor(t.tolist(), dtype=t.dtype) for n, t in state.items()}",
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


@answers.right
def whole_or_not_at_all(module, config, path):
    tensors = {name: t.detach().cpu().contiguous().clone() for name, t in module.state_dict().items()}  # fmt: skip
    text = json.dumps(config)
    data = save(tensors, {"config": text, "sha256": fingerprint(tensors, text)})
    handle, temporary = tempfile.mkstemp(dir=Path(path).parent)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    os.replace(temporary, path)
    return path


@answers.right
def by_bytes(module, config, path):
    buffer = io.BytesIO()
    torch.save(module.state_dict(), buffer)  # in memory only
    tensors = torch.load(io.BytesIO(buffer.getvalue()), weights_only=True)
    tensors = {name: t.contiguous().clone() for name, t in tensors.items()}
    text = json.dumps(config)
    Path(path).write_bytes(save(tensors, {"config": text, "sha256": fingerprint(tensors, text)}))  # fmt: skip


@answers.right
def written_and_read_again(module, config, path):
    right(module, config, path)
    load_checkpoint(path)


@answers.right
def by_hand(module, config, path):
    """Header and numbers, without the library."""
    dtypes = torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64
    names = dict(zip(dtypes, ("F64", "F32", "F16", "BF16", "I64"), strict=True))
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


def with_metadata(module, path, **metadata):
    tensors = {name: t.contiguous().clone() for name, t in module.state_dict().items()}
    save_file(tensors, path, metadata)


@answers.wrong
def with_the_hash_of_another_name(module, config, path):
    text = json.dumps(config)
    tensors = {f"x{name}": t for name, t in module.state_dict().items()}
    with_metadata(module, path, config=text, sha256=fingerprint(tensors, text))


@answers.wrong
def with_the_first_number_rounded(module, config, path):
    module.state_dict()["weight" if "weight" in module.state_dict() else next(iter(module.state_dict()))].round_()  # fmt: skip
    right(module, config, path)


@answers.wrong
def for_floats_only(module, config, path):
    right(module.float(), config, path)


@answers.wrong
def with_a_gradient_asked_for(module, config, path):
    right(module, config, path)
    module.requires_grad_(False)


@answers.wrong
def without_what_is_tied(module, config, path):
    save_model(module, str(path), {"config": json.dumps(config), "sha256": "0" * 64})


@answers.wrong
def without_the_last_entry_of_the_config(module, config, path):
    right(module, dict(list(config.items())[:2]), path)


@answers.wrong
def beside_an_old_file_only(module, config, path):
    if not Path(path).exists():
        right(module, config, path)
