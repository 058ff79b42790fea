"""Train a small language model that writes documentation, with your own code in it where you have passed its task.

It reads English that is installed beside the course. At each stage it says how well it guesses a text that it
has not read, and writes a little. Ctrl-C keeps what there is; the same command goes on.
"""

import argparse
import sys
from collections import Counter
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from attn_lib.bpe import Pair, train_bpe
from attn_lib.checks import mine
from attn_lib.data.documentation import documentation
from attn_lib.data.own_model import (
    END_ID,
    NUM_MERGES,
    bits_per_byte,
    count_words,
    new_model,
    new_tokenizer,
    save_own_model,
    token_ids,
    write,
)
from attn_lib.own_parts import PUT_IN, own_twin
from attn_lib.programs.chat import noting_ctrl_c
from attn_lib.recipe import Recipe, Run

SHORT: dict[str, Any] = {"steps": 150, "warmup": 15}
STAGES = 20  # how often it is tested, writes, and is kept


def find_merges(words: Counter[str], own_train_bpe: Any) -> list[Pair]:
    """Return the merges of all words; say so if a learner's function finds others in frequent ones."""
    frequent = dict(words.most_common(300))
    own, ours = (train(dict(frequent), 40) for train in (own_train_bpe, train_bpe))
    if [tuple(pair) for pair in own] != ours:
        print(f"Your train_bpe differs: expected {ours[:3]} ..., got {own[:3]} ...")
    return train_bpe(words, NUM_MERGES)  # quick enough for 35,000 words


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
    recipe = Recipe(seed=options.seed, **(SHORT if options.short else {}))
    if not path.parent.is_dir():
        sys.exit(f"There is no folder {path.parent}.")
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
    recipe = replace(recipe, text=sha256(ids.numpy().data).hexdigest()[:16])
    each = sum(map(len, train)) / len(ids)
    print(f"{len(ids):,} tokens of {each:.1f} bytes to read,", end=" ")
    print(f"{recipe.steps} steps of {recipe.batch_size * recipe.length:,}.")

    torch.manual_seed(recipe.seed)
    model = new_model(tokenizer.get_vocab_size())
    try:
        own = own_twin(model, pieces)
    except ValueError as error:
        print(f"{error}\nGoing on with the library's pieces.")
        own = model
    run = Run(model, recipe, own)
    if kept.exists():
        try:
            run.go_on(kept)
        except ValueError as error:
            sys.exit(str(error))
        print(f"Going on after step {run.step}.")
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
    try:
        main()
    except KeyboardInterrupt:  # before the first step
        sys.exit(130)
