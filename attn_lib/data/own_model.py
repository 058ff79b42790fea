"""A small language model that writes documentation, trained by the recipe of lesson 15, and its file.

`python -m attn_lib.programs.train_own` trains one like it. The file holds each matrix as int8, with a scale for
each row, and as its config the sizes, the merges of the tokenizer, and what trained it.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from attn_lib.checkpoint import load_checkpoint, save_checkpoint
from attn_lib.generation import stream
from attn_lib.llama import Llama, LlamaConfig
from attn_lib.quantization import rounded, unrounded

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SHIPPED = Path(__file__).with_suffix(".safetensors")
END, END_ID = "<|end|>", 0  # after each document
SIZES = "d_model", "num_heads", "num_kv_heads", "num_layers", "d_ff", "max_len"
NUM_MERGES = 1791  # with 256 bytes and END, 2,048 tokens


def new_tokenizer(merges: Sequence[Sequence[str]]) -> "Tokenizer":
    """Return a tokenizer of bytes that are merged pair by pair, within words.

    Args:
        merges: pairs of tokens, the first to merge first; each byte is written as one character.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    tokens = [END, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokens += dict.fromkeys(left + right for left, right in merges)
    numbers = {token: i for i, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(numbers, [(left, right) for left, right in merges]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([END])
    return tokenizer


def token_ids(tokenizer: "Tokenizer", documents: Iterable[str]) -> Int[Tensor, " n"]:
    """Return the ids of all documents in one row (N,), with the id of END after each."""
    encoded = tokenizer.encode_batch(list(documents))
    return torch.tensor([i for document in encoded for i in (*document.ids, END_ID)])


def count_words(documents: Iterable[str]) -> Counter[str]:
    """Return how often each word occurs: a space before it belongs to it, each byte is one character."""
    split = new_tokenizer([]).pre_tokenizer.pre_tokenize_str
    return Counter(word for text in documents for word, _ in split(text))


def new_model(
    vocab_size: int,
    *,
    d_model: int = 192,
    num_heads: int = 6,
    num_kv_heads: int = 3,
    num_layers: int = 5,
    d_ff: int = 512,
    max_len: int = 256,
) -> Llama:
    """Return an untrained model, from PyTorch's random numbers; its first guess is nearly even.

    The matrices that write into the residual stream begin smaller, the more of them there are: Radford et al.,
    "Language Models are Unsupervised Multitask Learners", 2019, section 2.3.
    """
    sizes = d_model, num_heads, num_kv_heads, num_layers, d_ff, max_len
    model = Llama(LlamaConfig(vocab_size, *sizes, rope_base=10_000.0))
    model.requires_grad_(True)  # the embedding, too
    for name, weight in model.named_parameters():
        if weight.ndim == 2:
            writes = name.endswith(("o_proj.weight", "down_proj.weight"))
            nn.init.normal_(weight, std=0.02 / (2 * num_layers if writes else 1) ** 0.5)
    return model


def save_own_model(
    model: Llama,
    merges: Sequence[Sequence[str]],
    path: str | Path,
    recipe: dict[str, Any] | None = None,
) -> None:
    """Write a model and its tokenizer to a file, whole or not at all; matrices are rounded to int8.

    Args:
        model: of `new_model`.
        merges: of its tokenizer.
        path: of the file; what was there before is replaced.
        recipe: what trained it: a dict that JSON gives back as it was.
    """
    state = model.state_dict()
    del state["embed.weight"]  # it is the head's
    sizes = {name: getattr(model.config, name) for name in SIZES}
    config = {"sizes": sizes, "merges": [list(pair) for pair in merges]}
    save_checkpoint(rounded(state), config | {"recipe": recipe or {}}, path)


def load_own_model(path: str | Path = SHIPPED) -> tuple[Llama, "Tokenizer"]:
    """Load a model that `save_own_model` wrote, in float32, and its tokenizer.

    Args:
        path: of the file; the course's own model, if none is given.

    Raises:
        ValueError: the file is damaged, or does not hold such a model.
        FileNotFoundError: there is no such file.
    """
    tensors, config = load_checkpoint(path)
    try:
        state = unrounded(tensors)
        tokenizer = new_tokenizer(config["merges"])
        model = new_model(tokenizer.get_vocab_size(), **config["sizes"])
        model.load_state_dict(state | {"embed.weight": state["head.weight"]})
    except (LookupError, TypeError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"{path} does not hold a model of `save_own_model`: {error!r}"
        ) from error
    return model.eval().requires_grad_(False), tokenizer


@torch.no_grad()
def bits_per_byte(model: Llama, ids: Int[Tensor, " n"], num_bytes: int) -> float:
    """Return how many bits a model needs for each byte of a text, read in windows of its length.

    Args:
        model: of `new_model`.
        ids: (N,), the text.
        num_bytes: the bytes of the text.
    """
    L = model.config.max_len
    windows = [ids[start : start + L + 1] for start in range(0, len(ids) - 1, L)]
    nats = sum(
        F.cross_entropy(model(w[None, :-1])[0], w[1:], reduction="sum").item()
        for w in windows
    )
    return nats / math.log(2) / num_bytes


def write(
    model: Llama,
    ids: list[int],
    sample_next: Callable[..., Tensor],
    generator: torch.Generator,
    *,
    temperature: float = 0.7,
    top_p: float = 0.9,
) -> Iterator[int]:
    """Yield tokens after ids, until a document ends or the model's length is reached.

    Args:
        model: of `new_model`.
        ids: at least one, END_ID to begin with.
        sample_next: `sample_next(logits, temperature, top_p, generator)` chooses ids (B,) by logits (B, V).
        generator: where the draws come from.
        temperature: at 0 the likeliest token; else they are drawn, below 1 likely ones more often.
        top_p: the share of likely tokens to draw from.
    """

    def choose(logits: Float[Tensor, " v"], *sampling: Any) -> int:
        return int(sample_next(logits[None], *sampling))

    room, caches = (
        model.config.max_len - len(ids),
        model.new_caches(1, model.config.max_len),
    )
    tokens = stream(
        model,
        [*ids],
        caches,
        temperature=temperature,
        top_p=top_p,
        generator=generator,
        choose=choose,
    )
    yield from takewhile(lambda token: token != END_ID, islice(tokens, room))
