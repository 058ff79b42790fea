"""The task `CrossAttention`: queries from one sequence, keys and values from another."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from attn_lib import causal_mask, einsum_attention, merge_heads, split_heads
from attn_lib.checks.case import Case
from attn_lib.checks.lesson_05.steps import careless, merge, on_keys, scaled, shares, split
from attn_lib.checks.module_runs import run_module, sharpened_parameters
from attn_lib.checks.task import task


class CrossAttention(nn.Module):
    def __init__(self, d_model, d_context, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_context, d_model)
        self.v_proj = nn.Linear(d_context, d_model)
        self.o_proj = nn.Linear(d_model, d_model)

    def forward(self, x, context, context_mask=None):
        q = split_heads(self.q_proj(x), self.num_heads)
        k = split_heads(self.k_proj(context), self.num_heads)
        v = split_heads(self.v_proj(context), self.num_heads)
        mask = None if context_mask is None else context_mask[:, None, None, :]
        output, _ = einsum_attention(q, k, v, mask=mask)
        return self.o_proj(merge_heads(output))


cross_attention = task(
    lesson=5,
    points=4,
    hints=[
        "Two sequences come in. For each of the four projections: which sequence does it read, and "
        "how wide is that? The output has one vector for each vector of x.",
        "In `forward`: project, split each result into heads `(B, H, length, D)`, score, hide, mix, "
        "merge, `o_proj`. L and S differ, so keep the two lengths apart.",
        "The mask is `(B, S)`, the scores are `(B, H, L, S)`: which two axes does it lack, and where? "
        "If every key of a sentence is hidden, its softmax is 0/0. Make those weights 0 without a nan "
        "on the way, for the gradients too.",
    ],
)(CrossAttention)


@cross_attention.cases
def _(rng):
    def mask_of(*rows):
        return torch.tensor([[c == "x" for c in row] for row in rows])

    def case(
        about, B, L, S, H, D, d_context,
        mask=None, dtype=torch.float32, change=None, **options,
    ):  # fmt: skip
        init = (H * D, d_context, H)
        parameters = sharpened_parameters(CrossAttention(*init), rng)
        parameters = {name: p.to(dtype) for name, p in parameters.items()}
        x = torch.randn(B, L, H * D, generator=rng).to(dtype)
        context = torch.randn(B, S, d_context, generator=rng).to(dtype)
        if change:
            x, context = change(parameters, x, context)
        by_name = () if mask is None else ({"context_mask": mask_of(*mask)},)
        return Case(about, (init, parameters, x, context, *by_name), run_module, **options)

    # Worked out by hand: one head, scores 2/sqrt(2) and 4/sqrt(2), values [1, 2] and [5, 0].
    tiny = {
        "q_proj.weight": torch.tensor([[1.0, 0.0], [1.0, 1.0]]),
        "q_proj.bias": torch.tensor([0.0, -1.0]),
        "k_proj.weight": torch.tensor([[1.0], [0.0]]),
        "k_proj.bias": torch.tensor([0.0, 1.0]),
        "v_proj.weight": torch.tensor([[4.0], [-2.0]]),
        "v_proj.bias": torch.tensor([1.0, 2.0]),
        "o_proj.weight": torch.tensor([[1.0, 1.0], [0.0, 2.0]]),
        "o_proj.bias": torch.tensor([0.5, -1.0]),
    }
    x, context = torch.tensor([[[2.0, 1.0]]]), torch.tensor([[[0.0], [1.0]]])
    light = {"grad": False}  # the values tell; gradients are compared on the others
    args = (2, 1, 1), tiny, x, context
    yield Case("one query, two context tokens, one head", args, run_module, **light)
    for about, row in (
        ("the second context token is padding", "x."),
        ("all of the context is padding", ".."),
    ):
        yield Case(about, (*args, {"context_mask": mask_of(row)}), run_module)

    yield case("all sizes different, no mask", 2, 5, 7, 3, 6, 10)
    rows = ["..xxx", "x.xx."]
    yield case("padding in front and in the middle", 2, 3, 5, 4, 6, 7, rows, **light)
    yield case(
        "the middle sentence is all padding", 3, 2, 4, 5, 6, 7, ["xxx.", "....", "xxxx"]
    )
    yield case("L = S and d_context = d_model, no mask", 3, 5, 5, 2, 6, 12, **light)
    rows = ["xxxx", "xxx.", "x...", "..x."]
    yield case("B = H = L = S = D = 4", 4, 4, 4, 4, 4, 16, rows, **light)
    yield case(
        "more queries than context tokens", 2, 7, 3, 5, 1, 6, ["xx.", "xxx"], **light
    )
    yield case("one context token", 2, 3, 1, 3, 6, 4, ["x", "."], **light)
    about = "30 context tokens, none of them a pad, head_dim 32"
    yield case(about, 1, 3, 30, 2, 32, 9, ["x" * 30], **light)

    def huge_pads(parameters, x, context):
        # Only the values read the last channel, so that the scores stay ordinary.
        parameters["k_proj.weight"][:, -1] = 0
        context[1, 2:, -1] = 1e30
        return x.mT.contiguous().mT, context.transpose(0, 1).contiguous().transpose(0, 1)

    mask = ["xxxxx", "xx..."]
    about = "pads with huge values, and not contiguous"
    yield case(about, 2, 3, 5, 4, 6, 7, mask, change=huge_pads, **light)

    def far_off(parameters, x, context):
        parameters["q_proj.bias"].fill_(8.0)
        parameters["k_proj.bias"].fill_(-8.0)
        parameters["k_proj.bias"][:6] = 8.0
        return x, context

    far = {"tolerance": 1e-2, **light}
    about = "every score near 150 in head 0, near -150 in the others"
    yield case(about, 2, 3, 5, 4, 6, 7, mask, change=far_off, **far)

    mask = ["xxx..", "....."]
    yield case("float64", 2, 3, 5, 4, 6, 7, mask, torch.float64, **light)
    yield case("float16", 2, 3, 5, 4, 6, 7, mask, torch.float16, **light)


# Some learners think of empty sentences early, others last: common mistakes come with both softmaxes.
BOTH = (shares, careless)


def _wrong(id, question, softmaxes=(shares,)):
    """Register a forward, `(self, x, context, mask)`, as a mistake, with `self.shares` to use."""

    def keep(forward):
        def with_default(self, x, context, context_mask=None):
            return forward(self, x, context, context_mask)

        for softmax in softmaxes:
            body = {"forward": with_default, "shares": staticmethod(softmax)}
            made = type("CrossAttention", (CrossAttention,), body)
            cross_attention.mistake(id, question)(made)
        return forward

    return keep


def _heads(self, x, context):
    return tuple(
        split(layer(source), self.num_heads)
        for layer, source in (
            (self.q_proj, x), (self.k_proj, context), (self.v_proj, context)
        )
    )  # fmt: skip


def _finish(self, weights, v):
    return self.o_proj(merge(weights @ v))


# ----------------------------------------------------------------- who asks, who answers


@_wrong(
    "roles-swapped",
    "Whose length must the output have: that of x, or that of the context? Which of the two asks?",
)
def _(self, x, context, mask):
    q, k, v = _heads(self, context, x)
    return _finish(self, self.shares(scaled(q, k), on_keys(mask)), v)


@_wrong(
    "context-ignored", "Change the context. Which line of `forward` should notice it?", BOTH
)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, x)
    return _finish(self, self.shares(scaled(q, k), on_keys(mask)), v)


@_wrong(
    "queries-from-context",
    "Who asks here: a word that is being written, or a word of the context?",
)
def _(self, x, context, mask):
    q, k, v = _heads(self, context, context)
    return _finish(self, self.shares(scaled(q, k), on_keys(mask)), v)


@_wrong(
    "values-from-x",
    "What are the weights a mixture of: things said in x, or in the context?",
)
def _(self, x, context, mask):
    q, k, _ = _heads(self, x, context)
    v = split(self.v_proj(x), self.num_heads)
    return _finish(self, self.shares(scaled(q, k), on_keys(mask)), v)


@_wrong(
    "keys-from-x",
    "With what is a query compared: with words of x, or of the context?",
)
def _(self, x, context, mask):
    q, _, v = _heads(self, x, context)
    k = split(self.k_proj(x), self.num_heads)
    return _finish(self, self.shares(scaled(q, k), on_keys(mask)), v)


@_wrong("keys-as-values", "Where does `forward` use `v_proj`?", BOTH)
def _(self, x, context, mask):
    q, k, _ = _heads(self, x, context)
    return _finish(self, self.shares(scaled(q, k), on_keys(mask)), k)


@_wrong(
    "keys-and-values-swapped",
    "What should be compared with the query, and what be mixed?",
)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    return _finish(self, self.shares(scaled(q, v), on_keys(mask)), k)


@_wrong(
    "transposed-scores", "Entry (i, j) of your scores: is i a word of x or of the context?"
)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    return _finish(self, self.shares(scaled(k, q), on_keys(mask)), v)


@_wrong("residual-added", "Nobody asked to add x here. Does the formula add it?", BOTH)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    return x + _finish(self, self.shares(scaled(q, k), on_keys(mask)), v)


@_wrong(
    "causal",
    "The whole context is there before the first word is written. What would a causal mask hide?",
    BOTH,
)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    causal = causal_mask(x.shape[1], context.shape[1])
    mask = causal if mask is None else causal & on_keys(mask)
    return _finish(self, self.shares(scaled(q, k), mask), v)


@_wrong(
    "causal",
    "The whole context is there before the first word is written. What would a causal mask hide?",
    BOTH,
)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    causal = torch.ones(x.shape[1], context.shape[1], dtype=torch.bool).tril()
    mask = causal if mask is None else causal & on_keys(mask)
    return _finish(self, self.shares(scaled(q, k), mask), v)


@_wrong(
    "keys-and-values-kept",
    "The next context may be another one. How long do your keys and values live?",
)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    if not hasattr(self, "kept"):
        self.kept = k.detach(), v.detach()
    k, v = self.kept
    return _finish(self, self.shares(scaled(q, k), on_keys(mask)), v)


# --------------------------------------------------------------------------- the softmax


@_wrong(
    "scale-missing",
    "If head_dim grows from 16 to 1024, what happens to the spread of q·k?",
    BOTH,
)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    return _finish(self, self.shares(q @ k.mT, on_keys(mask)), v)


@_wrong(
    "scale-by-d-model", "How long are the vectors inside the dot product of ONE head?", BOTH
)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    return _finish(self, self.shares(q @ k.mT / math.sqrt(x.shape[-1]), on_keys(mask)), v)


@_wrong(
    "scale-by-d-context",
    "How long are the keys inside one head, after `k_proj` and the split? Is that d_context?",
)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    return _finish(
        self, self.shares(q @ k.mT / math.sqrt(context.shape[-1]), on_keys(mask)), v
    )


@_wrong(
    "scale-by-context-length",
    "Should one more context word change how well two others fit? Which axis is `shape[-1]`?",
)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    return _finish(self, self.shares(q @ k.mT / math.sqrt(k.shape[2]), on_keys(mask)), v)


@_wrong(
    "scale-int-sqrt",
    "What is the square root of 6, as your code computes it?",
)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    return _finish(self, self.shares(q @ k.mT / math.isqrt(q.shape[-1]), on_keys(mask)), v)


@_wrong(
    "scale-multiplied",
    "Does your factor make the scores larger or smaller?",
)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    return _finish(self, self.shares(q @ k.mT * math.sqrt(q.shape[-1]), on_keys(mask)), v)


@_wrong(
    "scale-without-root",
    "By what do you divide: by D, or by its square root? How large are the two for D = 64?",
)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    return _finish(self, self.shares(q @ k.mT / q.shape[-1], on_keys(mask)), v)


@_wrong(
    "softmax-over-queries",
    "Over which axis must the shares of one query add up to 1: L or S?",
    BOTH,
)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    return _finish(self, self.shares(scaled(q, k), on_keys(mask), dim=-2), v)


@_wrong(
    "softmax-over-heads",
    "Do the heads share one total of 1? Which axis of (B, H, L, S) holds the keys?",
)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    return _finish(self, self.shares(scaled(q, k), on_keys(mask), dim=1), v)


@_wrong("softmax-missing", "Where do the scores become shares that add up to 1?")
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    scores = scaled(q, k)
    return _finish(
        self, scores if mask is None else scores.masked_fill(~on_keys(mask), 0), v
    )


@_wrong(
    "exp-overflows",
    "How large is exp(150) in float32? Which number may you subtract first?",
)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    e = scaled(q, k).exp()
    if mask is not None:
        e = e * on_keys(mask)
    return _finish(self, e / e.sum(-1, keepdim=True), v)


@_wrong(
    "exp-overflows",
    "How large is exp(150) in float32? Which number may you subtract first?",
)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    e = scaled(q, k).exp()
    if mask is not None:
        e = e * on_keys(mask)
    total = e.sum(-1, keepdim=True)
    return _finish(self, e / total.masked_fill(total == 0, 1.0), v)


@_wrong(
    "dropout-left-in",
    "Call the module twice with the same input. Is the answer the same?",
    BOTH,
)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    return _finish(self, F.dropout(self.shares(scaled(q, k), on_keys(mask)), 0.1), v)


# ------------------------------------------------------------------------------ the heads


@_wrong(
    "one-head-only",
    "With num_heads = 3, how many sets of weights does a query have? Where do you use num_heads?",
    BOTH,
)
def _(self, x, context, mask):
    q, k, v = self.q_proj(x), self.k_proj(context), self.v_proj(context)
    weights = self.shares(scaled(q, k), None if mask is None else mask[:, None, :])
    return self.o_proj(weights @ v)


@_wrong(
    "split-without-transpose",
    "Which numbers of token 0 end up in head 0? Try it with `torch.arange`.",
    BOTH,
)
def _(self, x, context, mask):
    q, k, v = (
        t.reshape(len(t), self.num_heads, t.shape[1], -1)
        for t in (self.q_proj(x), self.k_proj(context), self.v_proj(context))
    )
    return _finish(self, self.shares(scaled(q, k), on_keys(mask)), v)


@_wrong(
    "split-without-transpose",
    "Which numbers of token 0 end up in head 0? Try it with `torch.arange`.",
    BOTH,
)
def _(self, x, context, mask):
    q, k, v = (
        t.reshape(len(t), self.num_heads, t.shape[1], -1)
        for t in (self.q_proj(x), self.k_proj(context), self.v_proj(context))
    )
    output = self.shares(scaled(q, k), on_keys(mask)) @ v
    return self.o_proj(output.reshape(x.shape))


@_wrong(
    "heads-among-the-words",
    "You hand over (B, L, H, D). Which axis does the attention take for the words?",
)
def _(self, x, context, mask):
    q, k, v = (
        t.unflatten(-1, (self.num_heads, -1))
        for t in (self.q_proj(x), self.k_proj(context), self.v_proj(context))
    )
    mask = on_keys(mask)
    return self.o_proj(F.scaled_dot_product_attention(q, k, v, attn_mask=mask).flatten(2))


@_wrong(
    "merge-without-transpose",
    "After the mixture the axes are (B, H, L, D). Which two have to change places before the heads "
    "are put side by side?",
    BOTH,
)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    return self.o_proj((self.shares(scaled(q, k), on_keys(mask)) @ v).reshape(x.shape))


@_wrong(
    "channels-interleaved",
    "Which rows of `q_proj.weight` make head 0: the first D, or every H-th?",
)
def _(self, x, context, mask):
    q, k, v = (
        t.unflatten(-1, (-1, self.num_heads)).permute(0, 3, 1, 2)
        for t in (self.q_proj(x), self.k_proj(context), self.v_proj(context))
    )
    return _finish(self, self.shares(scaled(q, k), on_keys(mask)), v)


@_wrong(
    "channels-interleaved",
    "Which rows of `q_proj.weight` make head 0: the first D, or every H-th?",
)
def _(self, x, context, mask):
    q, k, v = (
        t.unflatten(-1, (-1, self.num_heads)).permute(0, 3, 1, 2)
        for t in (self.q_proj(x), self.k_proj(context), self.v_proj(context))
    )
    output = self.shares(scaled(q, k), on_keys(mask)) @ v
    return self.o_proj(output.permute(0, 2, 3, 1).flatten(2))


@_wrong("o-proj-missing", "What happens to the heads after they are merged?", BOTH)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    return merge(self.shares(scaled(q, k), on_keys(mask)) @ v)


# ------------------------------------------------------------------------------- the mask


@_wrong("mask-ignored", "Where does `forward` use `context_mask`?")
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    return _finish(self, scaled(q, k).softmax(-1), v)


@_wrong(
    "mask-inverted",
    "What does True promise here: 'may look' or 'hide'? Which cells does `masked_fill` change?",
)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    return _finish(
        self, self.shares(scaled(q, k), None if mask is None else ~on_keys(mask)), v
    )


@_wrong(
    "mask-inverted",
    "What does True promise here: 'may look' or 'hide'? Which cells does `masked_fill` change?",
)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    scores = scaled(q, k)
    if mask is not None:
        scores = scores.masked_fill(on_keys(mask), -torch.inf)
    return _finish(self, scores.softmax(-1), v)


@_wrong(
    "mask-multiplies-scores",
    "What is exp(0)? Does a score of 0 hide a context word?",
)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    scores = scaled(q, k)
    return _finish(
        self, (scores if mask is None else scores * on_keys(mask)).softmax(-1), v
    )


@_wrong(
    "mask-added-as-0-and-1",
    "Adding 1 to a score, or 0: does either of them hide a context word? Which number would?",
)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    scores = scaled(q, k)
    return _finish(
        self, (scores if mask is None else scores + on_keys(mask).to(q)).softmax(-1), v
    )


@_wrong(
    "hidden-after-softmax",
    "If you hide a key after the softmax, what do the remaining weights add up to?",
)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    weights = scaled(q, k).softmax(-1)
    return _finish(self, weights if mask is None else weights * on_keys(mask), v)


@_wrong(
    "context-zeroed-instead",
    "A context vector of zeros still gets a key and a value from the biases. Which score does it get?",
)
def _(self, x, context, mask):
    if mask is not None:
        context = context.masked_fill(~mask[..., None], 0)
    q, k, v = _heads(self, x, context)
    return _finish(self, scaled(q, k).softmax(-1), v)


@_wrong(
    "all-padding-nan", "If every score of a row is -inf, what does its softmax divide by what?"
)  # fmt: skip
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    scores = scaled(q, k)
    if mask is not None:
        scores = scores.masked_fill(~on_keys(mask), -torch.inf)
    return _finish(self, scores.softmax(-1), v)


@_wrong(
    "all-padding-uniform",
    "If every score of a row is -1e9, what are its shares? And does -1e9 fit into float16?",
)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    scores = scaled(q, k)
    if mask is not None:
        scores = scores.masked_fill(~on_keys(mask), -1e9)
    return _finish(self, scores.softmax(-1), v)


@_wrong(
    "all-padding-uniform",
    "If all scores of a row are equal, however low, what are its shares?",
)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    scores = scaled(q, k)
    if mask is not None:
        scores = scores.masked_fill(~on_keys(mask), torch.finfo(scores.dtype).min)
    return _finish(self, scores.softmax(-1), v)


@_wrong(
    "lowest-number-too-low",
    "What is the lowest number of float16? `torch.finfo(scores.dtype)` knows.",
)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    scores = scaled(q, k)
    if mask is None:
        return _finish(self, scores.softmax(-1), v)
    weights = scores.masked_fill(~on_keys(mask), -1e9).softmax(-1)
    return _finish(self, weights.masked_fill(~on_keys(mask), 0), v)


@_wrong(
    "mask-of-another-dtype",
    "Print the dtype of your scores before and after the mask is added, for a float16 input.",
)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    scores = scaled(q, k)
    if mask is None:
        return _finish(self, scores.softmax(-1), v)
    weights = (scores + (1.0 - on_keys(mask).float()) * -1e9).softmax(-1)
    return _finish(self, weights * on_keys(mask), v)


@_wrong(
    "asks-the-whole-batch",
    "One sentence is all padding, and the one beside it is not. Does your `if` ask each of them, or "
    "both at once?",
)
def _(self, x, context, mask):
    if mask is not None and not mask.any():
        return self.o_proj(torch.zeros_like(x))
    q, k, v = _heads(self, x, context)
    return _finish(self, careless(scaled(q, k), on_keys(mask)), v)


@_wrong(
    "empty-sentence-opened",
    "You let a sentence of pads be read, so that nothing is divided by zero. What keeps its words "
    "out of the result?",
)
def _(self, x, context, mask):
    if mask is not None:
        mask = mask | ~mask.any(-1, keepdim=True)
    q, k, v = _heads(self, x, context)
    return _finish(self, self.shares(scaled(q, k), on_keys(mask)), v)


@_wrong(
    "bias-of-o-proj-hidden-too",
    "Each head gives zero where all is padding. What does `o_proj` make of zeros?",
)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    output = _finish(self, self.shares(scaled(q, k), on_keys(mask)), v)
    if mask is not None:
        output = output.masked_fill(~mask.any(-1)[:, None, None], 0)
    return output


@_wrong(
    "mask-meets-the-heads",
    "Your mask has three axes, (B, 1, S). Lined up from the right with (B, H, L, S), which axis "
    "does its B meet?",
    BOTH,
)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    mask = None if mask is None else mask[:, None, :]
    return _finish(self, self.shares(scaled(q, k), mask), v)


@_wrong(
    "mask-meets-the-queries",
    "Your mask has two axes, (B, S). Lined up from the right with (B, H, L, S), which axis does its "
    "B meet?",
    BOTH,
)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    return _finish(self, self.shares(scaled(q, k), mask), v)


@_wrong(
    "mask-repeated-in-the-wrong-order",
    "B sentences and H heads in one axis: which comes first there? `repeat` and `repeat_interleave` "
    "differ in that.",
)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    if mask is not None:
        mask = mask.repeat(self.num_heads, 1).view(len(x), self.num_heads, 1, -1)
    return _finish(self, self.shares(scaled(q, k), mask), v)


@_wrong(
    "hides-queries-instead-of-keys",
    "Whose words does `context_mask` describe: those that ask, or those that are read? Which axis "
    "of (B, H, L, S) is that?",
)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    mask = None if mask is None else mask[:, None, :, None]
    return _finish(self, self.shares(scaled(q, k), mask), v)


@_wrong(
    "hides-queries-instead-of-keys",
    "Whose words does `context_mask` describe: those that ask, or those that are read? Which axis "
    "of (B, H, L, S) is that?",
    BOTH,
)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    mask = None if mask is None else mask[:, None, :, None]
    output = self.shares(scaled(q, k), mask) @ v
    return self.o_proj(output.transpose(1, 2).reshape(x.shape))


# ----------------------------------------------------------------------------- the module


@_wrong("weights-returned-too", "What does `forward` promise: one thing, or two?", BOTH)
def _(self, x, context, mask):
    q, k, v = _heads(self, x, context)
    weights = self.shares(scaled(q, k), on_keys(mask))
    return _finish(self, weights, v), weights


def _wrong_layers(id, question, layers):
    """Register a module as a mistake; `layers(d_model, d_context)` makes those that are wrong."""

    class Built(CrossAttention):
        def __init__(self, d_model, d_context, num_heads):
            super().__init__(d_model, d_context, num_heads)
            for name, layer in layers(d_model, d_context).items():
                setattr(self, name, layer)

    cross_attention.mistake(id, question)(Built)


_CONTEXT_WIDTH = "How wide are the vectors that `k_proj` and `v_proj` read?"
for _names in (("k_proj", "v_proj"), ("v_proj",)):
    _wrong_layers(
        "context-width-forgotten",
        _CONTEXT_WIDTH,
        lambda d_model, d_context, names=_names: {
            name: nn.Linear(d_model, d_model) for name in names
        },
    )
_wrong_layers(
    "layer-sizes-swapped",
    "`nn.Linear(a, b)`: which of the two is what comes in, and which is what goes out?",
    lambda d_model, d_context: {
        name: nn.Linear(d_model, d_context) for name in ("k_proj", "v_proj")
    },
)
_wrong_layers(
    "queries-read-the-context-width",
    "Which sequence does `q_proj` read, and how wide is it?",
    lambda d_model, d_context: {"q_proj": nn.Linear(d_context, d_model)},
)
_wrong_layers(
    "bias-left-out",
    "The task asks for biases. Which argument of `nn.Linear` switches them off?",
    lambda d_model, d_context: {
        "q_proj": nn.Linear(d_model, d_model, bias=False),
        "k_proj": nn.Linear(d_context, d_model, bias=False),
        "v_proj": nn.Linear(d_context, d_model, bias=False),
        "o_proj": nn.Linear(d_model, d_model, bias=False),
    },
)
