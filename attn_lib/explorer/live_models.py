"""What a live page has to know of a model and its tokenizer, and the weights in one piece."""

import json
from typing import Any

import torch
from torch import Tensor

from attn_lib.explorer.scene import expect
from attn_lib.llama import Llama
from attn_lib.minilm import MiniLM
from attn_lib.quantization import quantize_int8

# Tokens that a page reads at most: more cannot be seen in a heat map.
LONGEST_TEXT, LONGEST_SENTENCE = 256, 64

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}
PARTS = ("type", "vocab", "merges")

About = dict[str, Any]


def llama(model: Llama, tokenizer: Any) -> tuple[About, dict[str, Tensor]]:
    """Return the sizes and tokens of a language model, ready for JSON, and its weights by name.

    Raises:
        TypeError: the tokenizer is no `tokenizers.Tokenizer`.
        ValueError: it works otherwise, or weights do not have the sizes that the config says.
    """
    config, tokens = model.config, _bpe(tokenizer)
    count = len(tokens["tokens"])
    expect(count == config.vocab_size, f"a tokenizer of {config.vocab_size} tokens", count)
    E, F, kv_width = config.d_model, config.d_ff, config.num_kv_heads * config.head_dim
    shapes: dict[str, tuple[int, ...]] = {
        "q_proj": (E, E),
        "k_proj": (kv_width, E),
        "v_proj": (kv_width, E),
    }
    shapes |= {"o_proj": (E, E), "gate_proj": (F, E), "up_proj": (F, E)}
    shapes |= {"down_proj": (E, F), "norm1": (E,), "norm2": (E,)}
    tensors = {"embed": model.embed.weight, "norm": model.norm.weight}
    for number, block in enumerate(model.blocks):
        for name, shape in shapes.items():
            owner = next(
                (o for o in (block.attn, block.ff, block) if hasattr(o, name)), None
            )
            layer = getattr(owner, name, None)
            weight, bias = getattr(layer, "weight", None), getattr(layer, "bias", None)
            got = "none" if weight is None else tuple(weight.shape)
            expect(got == shape, f"block {number} with {name}.weight of {shape}", got)
            expect(
                bias is None, f"a {name} without bias in block {number}", "one with bias"
            )
            tensors[f"{number}.{name}"] = weight
    about = {
        "layers": config.num_layers,
        "heads": config.num_heads,
        "kv_heads": config.num_kv_heads,
        "width": E,
        "d_ff": F,
        "context": min(config.max_len, LONGEST_TEXT),
        "rope_base": config.rope_base,
        "eps": config.eps,
        "tokenizer": tokens,
    }
    return about, tensors


def minilm(model: MiniLM) -> tuple[About, dict[str, Tensor]]:
    """Return the sizes and tokens of the encoder, ready for JSON, and its weights by name."""
    tokens = model.tokenizer.get_vocab()
    block: Any = model.blocks[0]
    special = {
        token.content: id
        for id, token in model.tokenizer.get_added_tokens_decoder().items()
    }
    about = {
        "layers": len(model.blocks),
        "heads": block.attn.num_heads,
        "width": model.norm.weight.numel(),
        "context": LONGEST_SENTENCE,
        "tokenizer": {"tokens": sorted(tokens, key=tokens.__getitem__), "special": special},
    }
    return about, dict(model.named_parameters())


def packed(tensors: dict[str, Tensor]) -> bytes:
    """Return vectors as float32 and matrices as int8 with a scale a row: first all floats, then all int8."""
    floats, integers = [], []
    for tensor in tensors.values():
        if tensor.ndim == 2:
            q, tensor = quantize_int8(tensor)
            integers.append(q)
        floats.append(tensor)
    return b"".join(
        part.detach().cpu().to(dtype).numpy().tobytes()
        for parts, dtype in ((floats, torch.float32), (integers, torch.int8))
        for part in parts
    )


def _bpe(tokenizer: Any) -> About:
    """Return tokens as strings of bytes, the id of each byte, the merges, and the special tokens."""
    from tokenizers import Tokenizer  # here, so that a scene does not need it

    if not isinstance(tokenizer, Tokenizer):
        name = type(tokenizer).__name__
        raise TypeError(f"expected a tokenizers.Tokenizer, got {name}")
    told = json.loads(tokenizer.to_str())
    model, before, after = (
        told[n] or {} for n in ("model", "pre_tokenizer", "post_processor")
    )
    got = {"model": model["type"]} | {name: before.get(name) for name in BYTE_LEVEL}
    expect(got == {"model": "BPE"} | BYTE_LEVEL, f"byte-level BPE, {BYTE_LEVEL}", got)
    others = {name: value for name, value in model.items() if name not in PARTS}
    others["normalizer"] = told["normalizer"]
    others["post_processor"] = after if after.get("type") != "ByteLevel" else None
    others["added_tokens"] = [t for t in told["added_tokens"] if not _is_plain(t)]
    others = {name: value for name, value in others.items() if value}
    expect(not others, "BPE with merges and special tokens, and nothing else", others)
    ids = model["vocab"]
    special = {token["content"]: token["id"] for token in told["added_tokens"]}
    # The character that stands for each byte in a byte-level vocabulary, as GPT-2 has it.
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    chars = {chr(b): b for b in shown} | {chr(256 + i): b for i, b in enumerate(hidden)}
    texts = {
        id: bytes(chars[c] for c in name)
        for name, id in ids.items()
        if id not in special.values()
    }
    texts |= {id: name.encode() for name, id in special.items()}
    of_byte = {byte: ids.get(char) for char, byte in chars.items()}
    merges = [m.split(" ") if isinstance(m, str) else m for m in model["merges"]]
    return {
        "tokens": [texts[id].decode("latin-1") for id in range(len(texts))],
        "bytes": [of_byte[byte] for byte in range(256)],
        "merges": [[ids[a], ids[b], ids[a + b]] for a, b in merges],
        "special": special,
    }


def _is_plain(token: dict[str, Any]) -> bool:
    """Say whether a token is special, and found wherever it stands in a text."""
    others = ("single_word", "lstrip", "rstrip", "normalized")
    return token["special"] and not any(token[name] for name in others)
