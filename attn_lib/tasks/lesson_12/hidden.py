"""The hidden implementations of `test_attention`: wrong ones from the rows of `masked_attention`, and
right ones that round otherwise. A learner's test sees what they compute, and nothing else."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor

from attn_lib.checks.authoring import Reply, Row, Served, Variants
from attn_lib.checks.scoring import known
from attn_lib.tasks.lesson_02.masked_attention import masked_attention

# Each kind of a wrong implementation: the rows it comes from, and a question for those who miss it.
KINDS = {
    "scale": (
        ("scale-missing", "scale-twice", "scale-by-the-wrong-size 1", "scale-by-the-wrong-size 3"),
        "Wrong scales obey every law that a softmax does: rows still sum to 1. What tells you the very "
        "numbers? And where two of your sizes are equal, does one pass for the other?",
    ),
    "softmax": (
        ("softmax-over-queries", "softmax-over-the-wrong-axis 0", "softmax-twice", "hard-maximum"),
        "Whose weights sum to 1 in a right implementation? Along which other axes could it normalize, "
        "and do your sizes show the difference?",
    ),
    "mask": (
        ("mask-ignored", "inverted 0", "mask-transposed", "causal-always", "none-becomes-causal 1",
         "one-mask-for-all-heads 1", "not-renormalized", "forbidden-scores-set-to-zero 1",
         "three-axes-as-sentences", "two-axes-as-padding", "padding-ignored", "causal-if-square"),
        "With which masks do you call it? None is one, also where L = S; which shapes broadcast to (B, H, L, S)? "
        "And does each of yours forbid something that matters?",
    ),
    "rows that see nothing": (
        ("full-row-nan", "full-row-uniform", "nan-painted-over 1", "full-row-of-one-head-uniform"),
        "What should a query get that may attend to nothing, and which gradient flows from there? Does "
        "one of your masks have such a row: in all heads, and in one of them only? And does your "
        "comparison notice a nan?",
    ),
    "batch and heads": (
        ("softmax-over-the-wrong-axis 1", "heads-mixed 2", "mask-repeated-in-the-wrong-order"),
        "Does a head, or a sentence, ever read another one's numbers? How many of each do you test with, "
        "and does each have a mask of its own?",
    ),
    "large numbers": (
        ("maximum-not-subtracted 2", "epsilon-in-denominator 1", "fill-minus-100"),
        "What becomes of exp(100), and of a small number that was added somewhere, when scores are large? And "
        "of a forbidden key that is given a low score, when all others are lower still? Does your comparison notice a nan?",
    ),
    "precision": (
        ("fill-too-large-for-float16", "added-1e9 1", "dtype-changed", "float64-in-float32",
         "float32-in-float16"),
        "With which dtypes do you call it? Do you ask which one comes out, and of each as many digits as it has?",
    ),
    "output": (
        ("weights-times-k", "dropout-left-in", "output-in-another-layout 0", "axes-of-1-lost"),
        "A right output is a mixture of the values, by exactly these weights, and it is (B, H, L, Dv), also if "
        "one of these is 1. What do you compare with what?",
    ),
    "gradients": (
        ("weights-cut-off", "keys-cut-off", "half-of-the-values-cut-off", "nan-gradient-in-float32",
         "half-a-gradient-in-float16"),
        "Attention is trained. What in your test would notice that no gradient, half of it, or a nan comes back: by "
        "q, k and v, and in which dtypes?",
    ),
}  # fmt: skip

# What no row makes: there, the check itself sees it, or an input that is tried.
OTHERS = {
    "weights-cut-off": {"kept": "_.detach() + 0 * _"},  # a gradient comes back, and it is 0
    "keys-cut-off": {"products": "q @ k.detach().mT"},
    "half-of-the-values-cut-off": {"heads": "kept @ (v + v.detach()) / 2"},
    "nan-gradient-in-float32": {
        "kept": "weights if q.dtype == torch.float32 else _",
        "heads": "(_).nan_to_num(0.0)",
    },
    "half-a-gradient-in-float16": {
        "heads": "(kept + kept.detach()) @ v / 2 if q.dtype == torch.float16 else _"
    },
    "float32-in-float16": {
        "products": "(q.half() @ k.half().mT).float() if q.dtype == torch.float32 else _"
    },
    "fill-minus-100": {"hidden": "scores.masked_fill(forbidden, -100.0)"},
    "axes-of-1-lost": {"heads": "(_).squeeze()"},
    "full-row-of-one-head-uniform": {
        "hidden": "scores.masked_fill(forbidden, torch.finfo(scores.dtype).min)",
        "kept": "weights.masked_fill(~allowed.expand(scores.shape).any((1, 3), keepdim=True), 0.0)",
    },
    "causal-if-square": {"everything": "_.tril() if q.shape[2] == k.shape[2] else _"},
    "padding-ignored": {
        "allowed": "everything if mask is None or mask.shape[-2:-1] == (1,) and q.shape[2] > 1 else mask"
    },
    "two-axes-as-padding": {
        "allowed": "everything if mask is None else mask[:, None, None] if mask.ndim == 2 else mask"
    },
    "fill-too-large-for-float16": {
        "hidden": "scores if mask is None else scores.masked_fill(forbidden, -1e30)"
    },
    "float64-in-float32": {"products": "(q.float() @ k.float().mT).to(q.dtype)"},
    "three-axes-as-sentences": {
        "allowed": "everything if mask is None else mask[:, None] if mask.ndim == 3 else mask"
    },
}

# Ways to write the right one, which round otherwise.
RIGHT: list[Row] = [
    {"products": "torch.einsum('bhld,bhsd->bhls', q, k)"},
    {"products": "q.double() @ k.double().mT", "heads": "(kept @ v.double()).to(q.dtype)"},
    {"scores": "(q * D**-0.25) @ (k * D**-0.25).mT"},
    {
        "products": "torch.bmm(q.flatten(0, 1), k.flatten(0, 1).mT).unflatten(0, q.shape[:2])"
    },
    # In float64: a logsumexp that is rounded to float16 is far off if scores are large.
    {
        "weights": "((h := hidden.double()) - h.logsumexp(-1, keepdim=True)).exp().to(q.dtype)"
    },
    {
        "weights": "(e := torch.exp2((hidden - hidden.amax(-1, keepdim=True)) * math.log2(math.e)))"
        " / e.sum(-1, keepdim=True)"
    },
    {
        "heads": "torch.stack([torch.stack([kept[b, h] @ v[b, h] for h in range(q.shape[1])])"
        " for b in range(len(q))])"
    },
    {
        "return": "F.scaled_dot_product_attention(q, k, v, attn_mask=mask if mask is None else allowed.expand(scores.shape))"
    },
]

# Wrong on almost every input, by far. Some of them come first: a test that takes the first one that it
# meets for right accuses the right ones. And three come in several roundings, as the right one does: a
# test that goes by what comes often says different things about these, which shows that it remembers.
GROSS = (
    "scale-missing", "scale-twice", "softmax-over-queries", "softmax-twice", "softmax-over-the-wrong-axis 0",
    "softmax-over-the-wrong-axis 1", "heads-mixed 2", "hard-maximum", "weights-times-k",
)  # fmt: skip
COPIED, COPIES = 3, 5

LARGEST = 4_000_000  # products of two numbers in one call
MOST_ROWS = 16_384  # of queries in one call: some implementations take one after the other


DTYPES = torch.float16, torch.float32, torch.float64


class Refused(Exception):
    """Raised for an input that no implementation is asked about."""


@dataclass(frozen=True)
class Hidden:
    """An implementation, as a case serves it.

    Attributes:
        name: what it does; copies that round otherwise have the same.
        kind: one of KINDS; "" for a right one.
        function: computes it.
    """

    name: str
    kind: str
    function: Callable

    def __call__(self, given: list[Any], gradient: Tensor | None) -> Reply:
        """Serve a call, or its gradient."""

        def checked(*given: Any) -> Tensor:
            _refuse(*given)
            return self.function(*given)

        return Served(checked)(given, gradient)


def hidden(seed: int) -> list[Hidden]:
    """Return the implementations in an order that tells nothing; the first right one may be at many places."""
    rng, mine = random.Random(seed), _variants()
    share = {name: rng.uniform(0.6, 1.0) for kind, name in _names() if kind != "gradients"}
    right = [Hidden("right", "", function) for function in mine.right]

    def mixed(name: str, function: Callable) -> Callable:
        return (
            partial(_mixed, function, mine.right[0], share[name])
            if name in share
            else function
        )

    wrong = [
        Hidden(name, kind, mixed(name, mine.wrong[name][0])) for kind, name in _names()
    ]
    for name in rng.sample(GROSS, COPIED):
        kind = next(kind for kind, other in _names() if other == name)
        copies = mine.wrong[name][1:]
        copies = rng.sample(copies, min(COPIES, len(copies)))
        wrong += [Hidden(name, kind, mixed(name, copy)) for copy in copies]
    gross = [one for one in wrong if one.name in GROSS]
    first = rng.sample(gross, rng.randint(1, len(gross)))
    rest = [one for one in wrong + right if one not in first]
    return first + rng.sample(rest, len(rest))


def _mixed(wrong: Callable, right: Callable, share: float, *given: Any) -> Tensor:
    """Compute a mixture of wrong numbers, most of it, and right ones, where both have one shape and dtype.

    The wrong implementations can be read by everybody. A list of what comes out of them is no test.
    """
    one, other = wrong(*given), right(*given)
    if (one.shape, one.dtype) != (other.shape, other.dtype):
        return one
    return other + share * (one - other)


def _names() -> list[tuple[str, str]]:
    return [(kind, name) for kind, (names, _) in KINDS.items() for name in names]


@dataclass(frozen=True)
class _All:
    right: list[Callable]
    wrong: dict[str, list[Callable]]  # the second and later ones round otherwise


@cache
def _variants() -> _All:
    """Write all implementations, from the lines of the right answer to `masked_attention`."""
    of = [_row(name) for _, name in _names()]
    variants = Variants(masked_attention.reference, [*RIGHT, *of])
    wrong = {}
    for number, (_, name) in enumerate(_names(), start=len(RIGHT)):
        # The last way to write the right one would replace what is wrong.
        fits = (n for n in range(len(RIGHT) - 1) if variants.compose(n, number))
        wrong[name] = [variants.variant(number)]
        if name in GROSS:
            wrong[name] += [variants.variant(n, number) for n in fits]
    return _All([variants.variant(n) for n in range(len(RIGHT))], wrong)


def _row(name: str) -> Row:
    return OTHERS[name] if name in OTHERS else known("masked_attention").row(name)


def _refuse(q: Any, k: Any, v: Any, mask: Any) -> None:
    """Raise an error for what no implementation is asked about, and for what takes too long."""
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        if tensor is None or tensor.dtype not in DTYPES:
            raise Refused(f"{name} should be a tensor of float16, float32 or float64")
        if tensor.ndim != 4 or not tensor.numel():
            raise Refused(
                f"{name} should have four axes, none empty, got {tuple(tensor.shape)}"
            )
        if tensor.dtype != q.dtype:
            raise Refused(f"q, k, v should have one dtype, got {q.dtype}, {tensor.dtype}")
    (B, H, L, D), S = q.shape, k.shape[2]
    if k.shape != (B, H, S, D):
        raise Refused(f"k should be {(B, H, S, D)}, got {tuple(k.shape)}")
    if v.shape[:3] != (B, H, S):
        raise Refused(f"v should be {(B, H, S)} and its width, got {tuple(v.shape)}")
    if mask is not None:
        if mask.dtype != torch.bool:
            raise Refused(f"mask should be boolean, True = may attend, got {mask.dtype}")
        fits = zip(reversed(mask.shape), (S, L, H, B), strict=False)
        if not 2 <= mask.ndim <= 4 or any(size not in (1, whole) for size, whole in fits):
            raise Refused(
                f"mask should have two to four axes and broadcast to {(B, H, L, S)}, got {tuple(mask.shape)}"
            )
    products = math.prod((B, H, L, S, max(D, v.shape[-1])))
    if products > LARGEST or B * H * L > MOST_ROWS:
        raise Refused("these tensors are too large here: a test can do with small ones")
