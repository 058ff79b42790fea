"""Answers to map_llama_name that no row makes."""

import re

from attn_lib.smollm2 import OUR_NAMES
from tests.checks.answers import Answers

answers = Answers(
    "map_llama_name",
    spelled=dict(
        norms=["dict(ffn_norm='norm2', attn_norm='norm1')"],
        attention=["{f'attn_{a}': f'attn.{b}_proj' for a, b in zip(['q', 'k', 'v', 'output'], 'qkvo')}"],
        feed_forward=["{f'ffn_{word}': f'ff.{word}_proj' for word in ('gate', 'up', 'down')}"],
        parts=["norms | attention | feed_forward"],
        is_outside=["name in ('token_embd.weight', 'output_norm.weight')", "name.removesuffix('.weight') in outside and name.count('.') == 1"],
        is_numbered=["__import__('re').fullmatch('blk[.][0-9]+[.][a-z_]+[.]weight', name) is not None"],
        is_weight=["name.endswith('.weight')"],
        number=["str(int(words[1])) if is_inside else ''", "words[-3:-2][0] if is_inside else None"],
        ours=["path + '.' + words[-1]", "f'{path}.weight'"],
    ),
)  # fmt: skip

TABLE = {"token_embd.weight": "embed.weight", "output_norm.weight": "norm.weight"} | {
    f"blk.{n}.{theirs}.weight": f"blocks.{n}.{ours}.weight"
    for n in range(10_000)
    for theirs, ours in OUR_NAMES.items()
}


@answers.right
def by_a_table_of_all(name):
    if name not in TABLE:
        raise ValueError(f"unknown: {name}")
    return TABLE[name]


@answers.right
def by_a_pattern(name):
    found = re.fullmatch(r"blk\.(\d+)\.(\w+)\.weight", name)
    if found and found[2] in OUR_NAMES:
        return f"blocks.{found[1]}.{OUR_NAMES[found[2]]}.weight"
    outside = {"token_embd.weight": "embed", "output_norm.weight": "norm"}
    if name not in outside:
        raise ValueError(name)
    return outside[name] + ".weight"


class UnknownName(ValueError):
    """A learner's own kind of ValueError."""


@answers.right
def by_an_error_of_its_own(name):
    try:
        return by_a_pattern(name)
    except ValueError:
        raise UnknownName(name) from None


@answers.right
def by_unpacking(name):
    """Too many words, or too few, are a ValueError by themselves."""
    if name in ("token_embd.weight", "output_norm.weight"):
        return TABLE[name]
    block, number, part, weight = name.split(".")
    if (
        (block, weight) != ("blk", "weight")
        or str(int(number)) != number
        or part not in OUR_NAMES
    ):
        raise ValueError(name)
    if number.startswith("-"):
        raise UnknownName(name)
    return f"blocks.{number}.{OUR_NAMES[part]}.weight"


# Names that are made right first: letters, spaces, points, an underscore, a word twice, a sign.
answers.wrong(
    lambda name: by_a_pattern(name.lower()),
    lambda name: by_a_pattern(name.strip()),
    lambda name: by_a_pattern(name.lstrip()),
    lambda name: by_a_pattern(re.sub(r"\.+", ".", name)),
    lambda name: by_a_pattern(name.replace("_0", ".0").replace("0_", "0.")),
    lambda name: by_a_pattern(re.sub(r"(\.weight)+$", ".weight", name)),
    lambda name: by_a_pattern(name.replace("-", "")),
    lambda name: by_a_pattern(name.replace("blk.3.output_norm", "output_norm")),
)

# Ten blocks, blocks from 1 on, the beginning of a name, capitals, bytes, a line break.
answers.wrong(
    lambda name: by_a_table_of_all(re.sub(r"\d(?=\d)", "", name)),
    lambda name: re.sub(r"\d+", lambda n: str(int(n[0]) + 1), by_a_pattern(name)),
    lambda name: by_a_pattern(re.match(r"[^.]*(\.\d+\.\w+)?\.weight|", name)[0]),
    lambda name: by_a_pattern(name).upper(),
    lambda name: by_a_pattern(name).encode(),
    lambda name: by_a_pattern(name) + "\n",
)

# What stands for the number in a table of names, and a name that is taken once only.
taken = set()


@answers.wrong
def with_a_placeholder(name):
    numbers = re.findall(r"\d+", name)
    return by_a_pattern(re.sub("N", (numbers or ["0"])[0], name))


@answers.wrong
def once_only(name):
    if name in taken:
        raise ValueError(name)
    taken.add(name)
    return by_a_pattern(name)


@answers.wrong
def any_sign_before_the_last_word(name):
    return by_a_pattern(re.sub(r"(ffn_(gate|up|down)).weight$", r"\1.weight", name))
