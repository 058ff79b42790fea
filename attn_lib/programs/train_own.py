"""Train a small language model that writes documentation, with your own code in it where you have passed its task.

It reads English that is installed beside the course. At each stage it says how well it guesses a text that it
has not read, and writes a little. Ctrl-C keeps what there is; the same command goes on.
"""

import argparse
import io
import math
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor
from tqdm import tqdm

from attn_lib.bpe import Pair, train_bpe
from attn_lib.checks import mine
from attn_lib.data.documentation import documentation
from attn_lib.data.own_model import (
    END_ID,
    NUM_MERGES,
    new_model,
    new_tokenizer,
    save_own_model,
    token_ids,
)
from attn_lib.files import write_whole
from attn_lib.llama import Llama
from attn_lib.own_parts import PUT_IN, own_twin
from attn_lib.programs.chat import noting_ctrl_c

STAGES = 20  # how often it is tested, writes, and is kept


@dataclass(frozen=True)
class Recipe:
    """What a training run depends on, beside the text."""

    steps: int = 2000
    batch_size: int = 16
    length: int = 256
    peak: float = 3e-3
    warmup: int = 100
    weight_decay: float = 0.1
    seed: int = 0


SHORT = Recipe(steps=200, warmup=20)


class Run:
    """A training run: model, optimizer, batches and how far it is; what it needs to go on is one file.

    Args:
        model: of `new_model`, changed in place.
        recipe: see there.
        own: the model that computes, with the same weights.
    """

    def __init__(self, model: Llama, recipe: Recipe, own: Llama | None = None):
        self.model, self.recipe, self.own = model, recipe, own or model
        matrices = [p for p in model.parameters() if p.ndim == 2]
        others = [p for p in model.parameters() if p.ndim < 2]
        self.optimizer = torch.optim.AdamW(
            [
                {"params": matrices, "weight_decay": recipe.weight_decay},
                {"params": others, "weight_decay": 0.0},
            ],
            betas=(0.9, 0.95),
            fused=True,
        )
        self.generator = torch.Generator().manual_seed(recipe.seed)
        self.step = 0

    def learn(self, ids: Int[Tensor, " n"], random_batch: Any, learning_rate: Any) -> float:
        """Take one step of training, and return the loss of its batch in nats a token."""
        r = self.recipe
        rate = learning_rate(self.step, r.warmup, r.steps, r.peak, r.peak / 10)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        inputs, targets = random_batch(ids, r.batch_size, r.length, self.generator)
        loss = F.cross_entropy(self.own(inputs).flatten(0, 1), targets.flatten())
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.step += 1
        return loss.item()

    def keep(self, path: Path) -> None:
        """Write all that the run needs to go on."""
        state = {
            "recipe": asdict(self.recipe),
            "step": self.step,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "generator": self.generator.get_state(),
        }
        data = io.BytesIO()
        torch.save(state, data)
        write_whole(path, data.getvalue())

    def go_on(self, path: Path) -> None:
        """Take up what `keep` wrote.

        Raises:
            ValueError: the file is of a run with another recipe.
        """
        state = torch.load(path, weights_only=True)
        if state["recipe"] != asdict(self.recipe):
            raise ValueError(
                f"{path} is of another run, {state['recipe']}: go on with that one, or remove the file"
            )
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.generator.set_state(state["generator"])
        self.step = state["step"]


def count_words(documents: list[str]) -> Counter[str]:
    """Return how often each word occurs, a space before it included, each byte written as one character."""
    split = new_tokenizer([]).pre_tokenizer.pre_tokenize_str
    return Counter(word for text in tqdm(documents, leave=False) for word, _ in split(text))


def find_merges(words: Counter[str], own_train_bpe: Any) -> list[Pair]:
    """Return the merges of all words, once a learner's function finds the same in frequent ones.

    Raises:
        ValueError: it finds others.
    """
    frequent = dict(words.most_common(300))
    own, ours = (train(dict(frequent), 40) for train in (own_train_bpe, train_bpe))
    if [tuple(pair) for pair in own] != ours:
        raise ValueError(f"expected the merges {ours[:3]} ..., got {own[:3]} ...")
    return train_bpe(words, NUM_MERGES)  # quick enough for 35,000 words


@torch.no_grad()
def bits_per_byte(model: Llama, ids: Int[Tensor, " n"], num_bytes: int) -> float:
    """Return how many bits the model needs for a byte of a text of ids (N,), in windows of its length."""
    L = model.config.max_len
    windows = [ids[start : start + L + 1] for start in range(0, len(ids) - 1, L)]
    nats = sum(
        F.cross_entropy(model(w[None, :-1])[0], w[1:], reduction="sum").item()
        for w in windows
    )
    return nats / math.log(2) / num_bytes


@torch.no_grad()
def write(
    model: Llama,
    ids: list[int],
    sample_next: Any,
    generator: torch.Generator,
    *,
    temperature: float = 0.7,
    top_p: float = 0.9,
) -> Iterator[int]:
    """Yield tokens after ids until a document ends, or the model's length is reached."""
    caches = model.new_caches(1, model.config.max_len)
    new = torch.tensor([ids])
    for _ in range(model.config.max_len - len(ids)):
        logits: Float[Tensor, "1 v"] = model(new, caches=caches, last=True)[:, -1]
        new = sample_next(logits, temperature, top_p, generator).view(1, 1)
        if new.item() == END_ID:
            return
        yield int(new)


def options_given() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m attn_lib.programs.train_own",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "path",
        nargs="?",
        type=Path,
        default=Path("mine.safetensors"),
        help="the file to write (mine.safetensors)",
    )
    add(
        "--short",
        action="store_true",
        help="3 minutes instead of 30, for a model that babbles",
    )
    add("--seed", type=int, default=0, help="of the first weights and the batches (0)")
    return parser.parse_args()


def main() -> None:
    """Train, or go on training, and write the model."""
    options = options_given()
    path: Path = options.path
    recipe = SHORT if options.short else Recipe()
    recipe = Recipe(**asdict(recipe) | {"seed": options.seed})
    if path.exists():
        sys.exit(f"{path} is there already: give another name, or move it away.")
    kept = path.with_name(path.name + ".unfinished")
    names = "train_bpe", "random_batch", "learning_rate", "sample_next"
    own_bpe, random_batch, learning_rate, sample_next = map(mine, names)
    pieces = {name: mine(name) for name in PUT_IN}
    pieces = {
        name: x for name, x in pieces.items() if not x.__module__.startswith("attn_lib.")
    }

    print("Reading what is installed, and finding tokens ...")
    train, test = documentation()
    merges = find_merges(count_words(train), own_bpe)
    tokenizer = new_tokenizer(merges)
    ids, held_out = token_ids(tokenizer, train), token_ids(tokenizer, test[::5])
    num_bytes = sum(len(text) + 1 for text in test[::5])  # with an end after each
    print(
        f"{len(ids):,} tokens of {sum(map(len, train)) / len(ids):.1f} bytes to read, {recipe.steps} steps of {recipe.batch_size * recipe.length:,}."
    )

    torch.manual_seed(recipe.seed)
    model = new_model(tokenizer.get_vocab_size())
    try:
        run = Run(model, recipe, own_twin(model, pieces))
        if kept.exists():
            run.go_on(kept)
            print(f"Going on after step {run.step}.")
    except ValueError as error:
        sys.exit(str(error))
    bar = tqdm(total=recipe.steps, initial=run.step, unit="step")
    with noting_ctrl_c() as pressed:
        while run.step < recipe.steps and not pressed:
            loss = run.learn(ids, random_batch, learning_rate)
            bar.set_postfix_str(f"loss {loss:.2f}", refresh=False)
            bar.update()
            if run.step % (recipe.steps // STAGES) == 0 or pressed:
                run.keep(kept)
            if run.step % (recipe.steps // STAGES) == 0:
                bits = bits_per_byte(run.own, held_out, num_bytes)
                same = torch.Generator().manual_seed(0)
                written = tokenizer.decode([*write(run.own, [END_ID], sample_next, same)])
                bar.write(
                    f"\nstep {run.step}: {bits:.3f} bits a byte. It writes:\n{written}"
                )
    bar.close()
    if pressed:
        sys.exit(f"Kept after step {run.step}. The same command goes on.")
    bits = bits_per_byte(run.own, held_out, num_bytes)
    told = asdict(recipe) | {"torch": torch.__version__, "bits_per_byte": round(bits, 3)}
    save_own_model(model, merges, path, told)
    kept.unlink(missing_ok=True)
    print(f"Wrote {path}, {path.stat().st_size / 1e6:.1f} MB.")
    print(f"Talk to it: python -m attn_lib.chat --model {path}")


if __name__ == "__main__":
    main()
