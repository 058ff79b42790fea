"""A language model of characters from a checkpoint, which writes until a deadline."""

import string
import threading
import time
from pathlib import Path
from typing import Any

import torch

from attn_lib.checkpoint import load_checkpoint
from attn_lib.models import LanguageModel
from attn_lib.positions import RoPE

UNTRAINED: dict[str, Any] = {
    "vocabulary": string.printable,
    "d_model": 64,
    "num_heads": 4,
    "num_layers": 2,
}


def load_model(checkpoint: Path | None) -> tuple[LanguageModel, str]:
    """Return a model of characters and its vocabulary; without a checkpoint, an untrained one.

    The config of the checkpoint is {"vocabulary": str, "d_model": int, "num_heads": int,
    "num_layers": int}; the model has RoPE.

    Raises:
        ValueError: the checkpoint is damaged, or does not hold such a model.
    """
    torch.manual_seed(0)
    state, config = load_checkpoint(checkpoint) if checkpoint else (None, UNTRAINED)
    try:
        sizes = [config[name] for name in ("d_model", "num_heads", "num_layers")]
        vocabulary = str(config["vocabulary"])
        model = LanguageModel(len(vocabulary), *sizes, positions=RoPE())
        if state is not None:
            model.load_state_dict(state)
    except (LookupError, ArithmeticError, TypeError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"{checkpoint} does not hold a language model: {error!r}"
        ) from error
    return model.eval(), vocabulary


@torch.inference_mode()
def write(
    model: LanguageModel,
    ids: list[int],
    max_new_tokens: int,
    deadline: float,
    stop: threading.Event,
) -> list[int]:
    """Write the likeliest tokens, until there are enough, `stop` is set, or the deadline has passed.

    A thread cannot be ended from outside, so it looks before each token.
    """
    caches = model.new_caches(1, len(ids) + max_new_tokens)
    new, written = torch.tensor([ids]), list[int]()
    while len(written) < max_new_tokens:
        if stop.is_set() or time.monotonic() >= deadline:
            break
        new = model(new, caches=caches)[:, -1].argmax(-1, keepdim=True)
        written.append(int(new))
    return written
