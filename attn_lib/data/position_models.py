"""Small language models that differ in their positions only, trained, and the recipe that trained them.

They read Python's help, 32 characters at a time. `python -m attn_lib.data.position_models` trains them
again, in some minutes on two cores, and replaces the files in position_models/.
"""

import argparse
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from attn_lib import positions
from attn_lib.checkpoint import load_checkpoint, save_checkpoint
from attn_lib.data.text import random_windows, split_help
from attn_lib.models import LanguageModel
from attn_lib.quantization import rounded, unrounded
from attn_lib.training import train

FOLDER = Path(__file__).with_suffix("")
TRAINED = 32  # characters
SEEDS = (0, 1, 2)
STEPS, RATE = 2000, 1e-2


def learned() -> positions.LearnedPositions:
    """Return a table of 256 positions, as large as the characters' vectors; 32 will be trained."""
    scheme = positions.LearnedPositions(256, 64)
    nn.init.normal_(scheme.table.weight, std=0.3)
    return scheme


SCHEMES: dict[str, Callable[[], positions.Positions]] = {
    "none": positions.Positions,  # this one does nothing
    "learned": learned,
    "sinusoidal": positions.SinusoidalPositions,
    "T5": lambda: positions.T5Bias(num_heads=4, num_buckets=32, max_distance=24),
    "ALiBi": positions.ALiBi,
    "RoPE": positions.RoPE,
}


def new_model(scheme: str, vocab_size: int, seed: int) -> LanguageModel:
    """Return a fresh model of two layers, with one of SCHEMES."""
    torch.manual_seed(seed)
    model = LanguageModel(vocab_size, 64, 4, 2, positions=SCHEMES[scheme]())
    nn.init.normal_(model.embed.weight, std=0.3)
    return model


def bits(logits: Float[Tensor, "b l v"], targets: Int[Tensor, "b l"]) -> Float[Tensor, ""]:
    """Return the cross-entropy of a guess in bits: 1 bit is a fair coin."""
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten()) / math.log(2)


def learn(
    model: LanguageModel,
    ids: Int[Tensor, " n"],
    seed: int,
    steps: int = STEPS,
    lr: float = RATE,
) -> LanguageModel:
    """Train on windows of the text, in place; return the model, with its weights fixed."""

    def batch_loss(generator: torch.Generator) -> Tensor:
        text = random_windows(ids, TRAINED + 1, 14, generator=generator)
        return bits(model(text[:, :-1]), text[:, 1:])

    train(model, batch_loss, steps=steps, lr=lr, seed=seed)
    return model.requires_grad_(False)


def trained(scheme: str) -> tuple[list[LanguageModel], str]:
    """Return the trained models of a scheme, one for each of SEEDS, and the vocabulary they read."""
    tensors, config = load_checkpoint(FOLDER / f"{scheme}.safetensors")
    models = [new_model(scheme, len(config["vocabulary"]), seed) for seed in SEEDS]
    together = nn.ModuleList(models)
    together.load_state_dict(unrounded(tensors))
    return [model.eval().requires_grad_(False) for model in models], config["vocabulary"]


def main() -> None:
    """Train every model, and write the files."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    ids, _, vocabulary = split_help()
    torch.set_num_threads(1)
    FOLDER.mkdir(exist_ok=True)
    for scheme in SCHEMES:
        models = [new_model(scheme, len(vocabulary), seed) for seed in SEEDS]
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda model, seed: learn(model, ids, seed), models, SEEDS))
        save(scheme, models, vocabulary)


def save(scheme: str, models: list[LanguageModel], vocabulary: str) -> None:
    """Write the models of a scheme, matrices as int8, with what trained them."""
    recipe = {"scheme": scheme, "seeds": list(SEEDS), "steps": STEPS, "lr": RATE}
    config = recipe | {"torch": torch.__version__, "vocabulary": vocabulary}
    path = FOLDER / f"{scheme}.safetensors"
    save_checkpoint(rounded(nn.ModuleList(models).state_dict()), config, path)
    print(f"wrote {path}, {path.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
