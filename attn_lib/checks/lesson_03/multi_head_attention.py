"""The task `MultiHeadAttention`: the whole module, for self- and cross-attention, with a mask."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from attn_lib import fused_attention
from attn_lib import merge_heads as merge
from attn_lib import split_heads as split
from attn_lib.checks.case import Case
from attn_lib.checks.lesson_03.steps import Steps, with_step
from attn_lib.checks.module_runs import run_module, sharpened_parameters
from attn_lib.checks.task import task


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.o_proj = nn.Linear(d_model, d_model)

    def forward(self, x, context=None, mask=None):
        context = x if context is None else context
        q, k, v = self.q_proj(x), self.k_proj(context), self.v_proj(context)
        q, k, v = (split(t, self.num_heads) for t in (q, k, v))
        heads, _ = fused_attention(q, k, v, mask=mask)
        return self.o_proj(merge(heads))


multi_head_attention = task(
    lesson=3,
    points=5,
    hints=[
        "In `__init__`, after `super().__init__()`: four `nn.Linear(d_model, d_model)`, and keep "
        "`num_heads`. In `forward`, settle first what the context is when none is given.",
        "Then: project, split, attend, merge, project. Queries come from x. Where do keys and values "
        "come from, and which of the four layers comes last?",
        "After the split everything is (B, H, L, D), and each head is one more sample to the attention you "
        "know: lesson 02's, with the mask. The scale is that of one head, D = d_model / num_heads.",
    ],
)(MultiHeadAttention)


@multi_head_attention.cases
def _(rng):
    def randn(*shape):
        return torch.randn(*shape, generator=rng)

    def some(*shape, p=0.6):
        """A random mask in which every query may see at least one key."""
        mask = torch.rand(*shape, generator=rng) < p
        keep = torch.randint(shape[-1], (*shape[:-1], 1), generator=rng)
        return mask.scatter(-1, keep, True)

    def padding(lengths, S):
        return (torch.arange(S) < torch.tensor(lengths)[:, None])[:, None, None]

    def case(about, B, L, H, D, S=None, *, mask=None, dtype=torch.float32, x=None, **rest):
        """S: the length of the context; None = no context is given."""
        reference = MultiHeadAttention(H * D, H)
        parameters = sharpened_parameters(reference, rng)
        scale, grad = rest.pop("scale", 1.0), rest.pop("grad", False)
        inputs = [randn(B, n, H * D) * scale for n in (L, S) if n] if x is None else x
        args = [
            (H * D, H),
            {name: p.to(dtype) for name, p in parameters.items()},
            *(t.to(dtype) for t in inputs),
        ]
        if mask is not None:
            args.append({"mask": mask})
        return Case(about, tuple(args), run_module, grad=grad, **rest)

    # Small numbers, so that it can be worked out by hand.
    parameters = {
        "q_proj.weight": [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 2, 0], [0, 0, 1, 1]],
        "q_proj.bias": [0, 1, 0, 0],
        "k_proj.weight": [[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 1, 0], [2, 0, 0, 1]],
        "k_proj.bias": [0, 0, 0, 1],
        "v_proj.weight": [[0, 1, 0, 0], [1, 0, 0, 2], [0, 0, 0, 1], [0, 0, 2, 0]],
        "v_proj.bias": [1, 0, 0, 0],
        "o_proj.weight": [[1, 0, 0, 1], [0, 1, 0, 0], [0, 2, 1, 0], [0, 0, 0, 1]],
        "o_proj.bias": [0, 0, 3, 0],
    }
    parameters = {name: torch.tensor(p).float() for name, p in parameters.items()}
    x = torch.tensor([[[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]]])
    mask = torch.tensor([[True, False], [True, True]])
    nothing = torch.tensor([[False, False], [True, True]])
    yield Case("two words, two heads", ((4, 2), parameters, x), run_module)
    masked = ((4, 2), parameters, x, {"mask": mask})
    yield Case("the same words, word 0 may not see word 1", masked, run_module)
    masked = ((4, 2), parameters, x, {"mask": nothing})
    yield Case("the same words, word 0 may see nothing", masked, run_module)
    yield Case("two words, a context of three", (
        (4, 2), parameters, x, torch.tensor([[[2.0, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 2]]]),
    ), run_module)  # fmt: skip

    causal = torch.ones(5, 5).tril().bool()
    yield case("all sizes different, no context", 2, 5, 3, 6, grad=True)
    yield case("all sizes different", 2, 5, 3, 6, S=7, grad=True)
    yield case("a causal mask (L, L)", 2, 5, 3, 6, mask=causal)
    padded = padding([7, 4], 7)
    yield case("a padding mask (B, 1, 1, S)", 2, 5, 3, 6, S=7, mask=padded)
    both = padding([5, 3], 5) & causal
    yield case("padding and causal (B, 1, L, L)", 2, 5, 3, 6, mask=both, grad=True)
    yield case("a mask for each head", 2, 4, 3, 2, S=5, mask=some(2, 3, 4, 5))
    yield case("the same mask in every sample", 2, 4, 3, 2, S=5, mask=some(1, 3, 4, 5))
    yield case("everything allowed", 2, 3, 2, 3, S=4, mask=torch.ones(3, 4).bool())
    empty_rows = some(2, 1, 4, 5)
    empty_rows[0, :, 1] = empty_rows[1, :, 3] = False
    yield case("some queries may see nothing", 2, 4, 2, 3, S=5, mask=empty_rows, grad=True)
    of_one_head = some(2, 3, 4, 5)
    of_one_head[0, 1, 2] = of_one_head[1, 2, 0] = False
    yield case(
        "a query may see nothing in one head", 2, 4, 3, 2, S=5, mask=of_one_head, grad=True
    )
    yield case(
        "a sample with no key at all", 2, 3, 2, 3, S=4, mask=padding([0, 3], 4), grad=True
    )
    x, context = randn(2, 3, 6), randn(2, 5, 6)
    context[0, 4] *= 8
    context[1, 2:] *= 8
    padded = padding([4, 2], 5)
    yield case("large vectors in the padding", 2, 3, 2, 3, mask=padded, x=[x, context])
    yield case("B = L = H = S", 3, 3, 3, 4, S=3, mask=some(3, 1, 1, 3, p=0.5))
    yield case("every size 4", 4, 4, 4, 4, mask=some(4, 4))
    yield case("one head", 2, 4, 1, 5, S=3)
    yield case("D = 1", 2, 4, 5, 1, S=3)
    yield case("eight heads, twelve words", 1, 12, 8, 2)
    yield case("one query", 2, 1, 2, 3, S=4, mask=some(2, 1, 1, 4))
    yield case("a context of one word", 2, 4, 2, 3, S=1)
    far = {"tolerance": 1e-2}
    yield case("scores in the hundreds", 2, 5, 3, 4, scale=12.0, **far)
    mask = some(2, 1, 5, 6)
    below = case("every score near -150", 2, 5, 2, 4, S=6, mask=mask, scale=0.5, **far)
    below.args[1]["q_proj.bias"].fill_(8.7)
    below.args[1]["k_proj.bias"].fill_(-8.7)
    yield below
    nothing = torch.zeros(3, 4).bool()
    yield case("nobody may see anything", 2, 3, 2, 3, S=4, mask=nothing)
    apart = [randn(2, 6, 4).mT, randn(5, 2, 6).transpose(0, 1)]
    yield case("not contiguous", 2, 4, 3, 2, x=apart, mask=some(4, 5))
    yield case("float64", 2, 4, 2, 3, S=5, mask=some(4, 5), dtype=torch.float64, grad=True)
    for half in (torch.float16, torch.bfloat16):
        about, rest = str(half).removeprefix("torch."), {"scale": 0.7, "dtype": half}
        yield case(about, 2, 4, 2, 3, S=5, mask=some(2, 1, 4, 5), **rest)


def _wrong_step(id, question, step):
    """Register one other step as a mistake."""

    def keep(function):
        multi_head_attention.mistake(id, question)(with_step(**{step: function}))
        return function

    return keep


@_wrong_step(
    "split-view-no-transpose",
    "Which numbers of word 0 are in head 0? Look at your split: `view` and `reshape` only read on in "
    "memory order. Does `split_heads` pass its own check?",
    "split",
)
def _(self, x):
    B, L, E = x.shape
    return x.reshape(B, self.num_heads, L, E // self.num_heads)


@_wrong_step(
    "split-interleaved-channels",
    "Which rows of `q_proj.weight` belong to head 0: the first D, or every H-th?",
    "split",
)
def _(self, x):
    return x.unflatten(-1, (-1, self.num_heads)).permute(0, 3, 1, 2)


@_wrong_step(
    "num-heads-as-head-dim",
    "With d_model 12 and 3 heads, how many heads does your split make, and how wide are they?",
    "split",
)
def _(self, x):
    return x.unflatten(-1, (-1, self.num_heads)).transpose(1, 2)


@_wrong_step(
    "one-wide-head",
    "Does your result change when `num_heads` does? Where are the channels cut into heads?",
    "split",
)
def _(self, x):
    return x[:, None]


@_wrong_step(
    "merge-view-no-transpose",
    "After attention the axes are (B, H, L, D). Which two must change places before the heads of one word "
    "stand side by side? `reshape` alone moves nothing.",
    "merge",
)
def _(self, x):
    B, H, L, D = x.shape
    return x.reshape(B, L, H * D)


class _ReadOnTwice(Steps):
    def split(self, x):
        B, L, E = x.shape
        return x.reshape(B, self.num_heads, L, E // self.num_heads)

    def merge(self, x):
        B, H, L, D = x.shape
        return x.reshape(B, L, H * D)


multi_head_attention.mistake(
    "split-view-no-transpose",
    "Which numbers of word 0 are in head 0? Look at your split: `view` and `reshape` only read on in "
    "memory order. Does `split_heads` pass its own check?",
)(_ReadOnTwice)


class _FusedThenView(Steps):
    """The fused kernel leaves its result in an order of its own, and `view` fails."""

    def forward(self, x, context=None, mask=None):
        q, k, v = map(self.split, self.project(x, x if context is None else context))
        heads = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.o_proj(heads.view(x.shape))


multi_head_attention.mistake(
    "merge-view-no-transpose",
    "After attention the axes are (B, H, L, D). Which two must change places before the heads of one word "
    "stand side by side? `view` alone moves nothing.",
)(_FusedThenView)


@_wrong_step(
    "merge-interleaved-channels",
    "Where should channel 0 of head 1 land in the merged vector?",
    "merge",
)
def _(self, x):
    return x.permute(0, 2, 3, 1).flatten(-2)


_CONSISTENT = "split-interleaved-channels"


class _Interleaved(Steps):
    def split(self, x):
        return x.unflatten(-1, (-1, self.num_heads)).permute(0, 3, 1, 2)

    def merge(self, x):
        return x.permute(0, 2, 3, 1).flatten(-2)


multi_head_attention.mistake(
    _CONSISTENT,
    "Which rows of `q_proj.weight` belong to head 0: the first D, or every H-th?",
)(_Interleaved)


class _NoHeads(Steps):
    def split(self, x):
        return x

    def merge(self, x):
        return x


multi_head_attention.mistake(
    "one-wide-head",
    "Does your result change when `num_heads` does? Where are the channels cut into heads?",
)(_NoHeads)


class _NoHeadsFused(Steps):
    def forward(self, x, context=None, mask=None):
        q, k, v = self.project(x, x if context is None else context)
        return self.o_proj(F.scaled_dot_product_attention(q, k, v, attn_mask=mask))


multi_head_attention.mistake(
    "one-wide-head",
    "Does your result change when `num_heads` does? Where are the channels cut into heads?",
)(_NoHeadsFused)


@_wrong_step(
    "head-dim-is-a-float",
    "In Python, is 4 / 2 the number 2 or 2.0? Sizes must be whole numbers: which operator divides into "
    "those?",
    "split",
)
def _(self, x):
    return x.view(*x.shape[:2], self.num_heads, x.shape[-1] / self.num_heads)


@_wrong_step(
    "head-dim-is-a-float",
    "In Python, is 4 / 2 the number 2 or 2.0? Sizes must be whole numbers: which operator divides into "
    "those?",
    "split",
)
def _(self, x):
    return x.reshape(*x.shape[:2], self.num_heads, x.shape[-1] / self.num_heads)


class _AmongHeads(Steps):
    def split(self, x):
        return x.unflatten(-1, (self.num_heads, -1))

    def merge(self, x):
        return x.flatten(-2)


multi_head_attention.mistake(
    "heads-attend-to-each-other",
    "Which two axes does your score matrix have: words by words, or heads by heads? Print the shape of q "
    "right before q·k.",
)(_AmongHeads)


@_wrong_step(
    "heads-merged-without-undoing-the-split",
    "Which axes stand where after attention? Exchange the same two that the split exchanged.",
    "merge",
)
def _(self, x):
    B, H, L, D = x.shape
    return x.transpose(2, 3).reshape(B, L, H * D)


@_wrong_step(
    "scale-by-d-model",
    "How long are the vectors inside the dot product of one head?",
    "scores",
)
def _(self, q, k):
    return q @ k.mT / math.sqrt(q.shape[1] * q.shape[-1])


@_wrong_step(
    "scale-missing",
    "If D grows from 16 to 1024, what happens to the spread of q·k?",
    "scores",
)
def _(self, q, k):
    return q @ k.mT


@_wrong_step(
    "scale-by-num-heads",
    "What makes a dot product large: many heads, or long vectors?",
    "scores",
)
def _(self, q, k):
    return q @ k.mT / math.sqrt(q.shape[1])


@_wrong_step(
    "scale-by-seq-len", "Should one more key change how well two words fit?", "scores"
)
def _(self, q, k):
    return q @ k.mT / math.sqrt(k.shape[-2])


@_wrong_step(
    "scale-int-sqrt", "What is the square root of 6, as your code computes it?", "scores"
)
def _(self, q, k):
    return q @ k.mT / math.isqrt(q.shape[-1])


@_wrong_step(
    "scale-twice",
    "By what are the scores divided altogether: by D, or by its square root? "
    "`F.scaled_dot_product_attention` scales too.",
    "scores",
)
def _(self, q, k):
    return q @ k.mT / q.shape[-1]


@_wrong_step(
    "scale-multiplied", "Does your factor make the scores larger or smaller?", "scores"
)
def _(self, q, k):
    return q @ k.mT * math.sqrt(q.shape[-1])


@_wrong_step(
    "keys-ask",
    "Entry (i, j) of the scores: does i ask, or does it answer?",
    "scores",
)
def _(self, q, k):
    return k @ q.mT / math.sqrt(q.shape[-1])


def _softmax(dim):
    def share(self, scores, mask):
        if mask is None:
            return scores.softmax(dim)
        return scores.masked_fill(~mask, -torch.inf).softmax(dim).masked_fill(~mask, 0.0)

    return share


def _softmax_nan(dim):
    def share(self, scores, mask):
        scores = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
        return scores.softmax(dim)

    return share


for _dim, _name, _question in (
    (
        -2,
        "queries",
        "If query 0 hands out its attention, over which axis must its shares add up to 1?",
    ),
    (1, "heads", "Do two heads share one total of 1, or has each its own?"),
    (0, "batch", "Change sample 1. Does the output of sample 0 move?"),
):
    _wrong_step(f"softmax-over-{_name}", _question, "share")(_softmax(_dim))
    _wrong_step(f"softmax-over-{_name}", _question, "share")(_softmax_nan(_dim))


@_wrong_step(
    "softmax-missing", "Where do the scores become shares that add up to 1?", "share"
)
def _(self, scores, mask):
    return scores if mask is None else scores.masked_fill(~mask, 0.0)


@_wrong_step(
    "mask-inverted",
    "Does True mean 'may look' here, or 'hide'? And which places does your line change?",
    "share",
)
def _(self, scores, mask):
    return Steps.share(self, scores, None if mask is None else ~mask)


@_wrong_step("mask-ignored", "Where does `forward` use the mask?", "share")
def _(self, scores, mask):
    return scores.softmax(-1)


@_wrong_step(
    "hidden-score-zero",
    "The score of a hidden key is 0, or very near to it. What is exp(0): is the key without weight then?",
    "share",
)
def _(self, scores, mask):
    return (scores if mask is None else scores * mask).softmax(-1)


@_wrong_step(
    "mask-added",
    "What does adding True or False do to a score? By how much must a score fall to get no weight?",
    "share",
)
def _(self, scores, mask):
    return (scores if mask is None else scores + mask).softmax(-1)


@_wrong_step(
    "mask-after-softmax",
    "Add up one row of your weights, where a key is hidden. Is it 1 still?",
    "share",
)
def _(self, scores, mask):
    return scores.softmax(-1) if mask is None else scores.softmax(-1) * mask


@_wrong_step(
    "mask-full-row-uniform",
    "If a query may see nothing, every score of its row is the same large negative number. What does the "
    "softmax make of equal numbers, and what should the head's output be?",
    "share",
)
def _(self, scores, mask):
    return (scores if mask is None else scores.masked_fill(~mask, -1e9)).softmax(-1)


@_wrong_step(
    "mask-full-row-uniform",
    "If a query may see nothing, every score of its row is the same large negative number. What does the "
    "softmax make of equal numbers, and what should the head's output be?",
    "share",
)
def _(self, scores, mask):
    lowest = torch.finfo(scores.dtype).min
    return (scores if mask is None else scores.masked_fill(~mask, lowest)).softmax(-1)


@_wrong_step(
    "mask-value-too-large-for-float16",
    "The largest number of float16 is 65504. Which value do your hidden scores get? Which one fits into "
    "every float type?",
    "share",
)
def _(self, scores, mask):
    if mask is None:
        return scores.softmax(-1)
    return scores.masked_fill(~mask, -1e9).softmax(-1) * mask


@_wrong_step(
    "hidden-score-not-low-enough",
    "What if the scores of all allowed keys are lower still than the number that you give to hidden ones?",
    "share",
)
def _(self, scores, mask):
    if mask is None:
        return scores.softmax(-1)
    return scores.masked_fill(~mask, -100.0).softmax(-1) * mask.any(-1, keepdim=True)


@_wrong_step(
    "empty-row-sees-everything",
    "A row of the mask without any True: which keys does your code let that query see? What should the "
    "query get instead?",
    "share",
)
def _(self, scores, mask):
    if mask is None:
        return scores.softmax(-1)
    return Steps.share(self, scores, mask | ~mask.any(-1, keepdim=True))


@_wrong_step(
    "mask-full-row-nan",
    "If a query may see nothing, every score of its row is -inf. What does the softmax make of that?",
    "share",
)
def _(self, scores, mask):
    return (scores if mask is None else scores.masked_fill(~mask, -torch.inf)).softmax(-1)


@_wrong_step(
    "mask-gets-one-more-axis",
    "The mask lines up with (B, H, L, S) from the right as it is. What is its shape after your "
    "`unsqueeze`, and what does its first axis meet?",
    "share",
)
def _(self, scores, mask):
    return Steps.share(self, scores, None if mask is None else mask.unsqueeze(1))


@_wrong_step(
    "mask-transposed",
    "The last two axes of the mask: which counts queries, and which keys?",
    "share",
)
def _(self, scores, mask):
    return Steps.share(self, scores, None if mask is None else mask.mT)


@_wrong_step(
    "causal",
    "Only the mask that is given counts. May word 0 see word 1 without one?",
    "share",
)
def _(self, scores, mask):
    causal = torch.ones_like(scores).tril().bool()
    return Steps.share(self, scores, causal if mask is None else causal & mask)


@_wrong_step(
    "causal",
    "Only the mask that is given counts. May word 0 see word 1 without one?",
    "share",
)
def _(self, scores, mask):
    causal = torch.ones_like(scores).tril().bool()
    return Steps.share(self, scores, causal if mask is None else mask)


@_wrong_step(
    "dropout-left-in",
    "Call the module twice with the same input. Is the answer the same?",
    "share",
)
def _(self, scores, mask):
    return F.dropout(Steps.share(self, scores, mask), 0.1)


@_wrong_step(
    "weights-transposed",
    "Which axis of the weights has to meet the keys' axis of v?",
    "mix",
)
def _(self, weights, v):
    return weights.mT @ v


@_wrong_step(
    "o-proj-forgotten",
    "The merged heads stand side by side. Which layer lets one channel of the output use all of them?",
    "finish",
)
def _(self, x, mask):
    return x


@_wrong_step(
    "o-proj-applied-twice",
    "How many layers stand between the merged heads and the output?",
    "finish",
)
def _(self, x, mask):
    return self.o_proj(self.o_proj(x))


@_wrong_step(
    "o-proj-bias-forgotten",
    "Set all heads to zero. What is left of the output?",
    "finish",
)
def _(self, x, mask):
    return F.linear(x, self.o_proj.weight)


@_wrong_step(
    "o-proj-weights-not-transposed",
    "What is the shape of `nn.Linear(3, 5).weight`? Why not call the layer and let it transpose?",
    "finish",
)
def _(self, x, mask):
    return x @ self.o_proj.weight + self.o_proj.bias


@_wrong_step(
    "zeroed-after-o-proj",
    "A query that sees nothing gets zero from every head. What does `o_proj` make of zeros, and does your "
    "output still have that?",
    "finish",
)
def _(self, x, mask):
    y = self.o_proj(x)
    if mask is None:
        return y
    nothing = ~mask.expand(*mask.shape[:-1], -1).any(-1)
    nothing = nothing.expand(
        *torch.broadcast_shapes(nothing.shape, (len(x), 1, x.shape[1]))
    )
    return y.masked_fill(nothing.all(1)[..., None], 0.0)


@_wrong_step("context-ignored", "Change the context. Does the output move?", "project")
def _(self, x, context):
    return self.q_proj(x), self.k_proj(x), self.v_proj(x)


@_wrong_step(
    "cross-roles-swapped",
    "Whose length must the output have: that of x or of the context? So who asks?",
    "project",
)
def _(self, x, context):
    return self.q_proj(context), self.k_proj(x), self.v_proj(x)


@_wrong_step(
    "queries-from-context",
    "Change x alone. Does your output move? Which of the three comes from x?",
    "project",
)
def _(self, x, context):
    return self.q_proj(context), self.k_proj(context), self.v_proj(context)


@_wrong_step(
    "values-from-x",
    "A weight says how much of key j's word is taken. Which sequence is that word in?",
    "project",
)
def _(self, x, context):
    return self.q_proj(x), self.k_proj(context), self.v_proj(x)


@_wrong_step(
    "keys-from-x",
    "Key j and value j belong to one word. Are yours from the same sequence?",
    "project",
)
def _(self, x, context):
    return self.q_proj(x), self.k_proj(x), self.v_proj(context)


@_wrong_step("keys-as-values", "Where does `forward` use `v_proj`?", "project")
def _(self, x, context):
    return self.q_proj(x), self.k_proj(context), self.k_proj(context)


@_wrong_step(
    "keys-and-values-swapped",
    "What should be compared with the query, and what be mixed?",
    "project",
)
def _(self, x, context):
    return self.q_proj(x), self.v_proj(context), self.k_proj(context)


@_wrong_step("queries-as-keys", "Where does `forward` use `k_proj`?", "project")
def _(self, x, context):
    return self.q_proj(x), self.q_proj(context), self.v_proj(context)


@_wrong_step("keys-as-queries", "Where does `forward` use `q_proj`?", "project")
def _(self, x, context):
    return self.k_proj(x), self.k_proj(context), self.v_proj(context)


@_wrong_step(
    "values-not-projected",
    "What is mixed: the context itself, or what `v_proj` makes of it?",
    "project",
)
def _(self, x, context):
    return self.q_proj(x), self.k_proj(context), context


@_wrong_step(
    "nothing-projected",
    "Where does `forward` use `q_proj`, `k_proj` and `v_proj`?",
    "project",
)
def _(self, x, context):
    return x, context, context


@_wrong_step(
    "weights-not-transposed",
    "What is the shape of `nn.Linear(3, 5).weight`? Why not call the layer and let it transpose?",
    "project",
)
def _(self, x, context):
    layers = ((x, self.q_proj), (context, self.k_proj), (context, self.v_proj))
    return tuple(t @ layer.weight + layer.bias for t, layer in layers)


_BIAS = "Feed x = 0: what should a layer with a bias give? Which of yours leave theirs out?"


@_wrong_step("bias-not-added", _BIAS, "project")
def _(self, x, context):
    layers = ((x, self.q_proj), (context, self.k_proj), (context, self.v_proj))
    return tuple(F.linear(t, layer.weight) for t, layer in layers)


@_wrong_step("bias-not-added", _BIAS, "project")
def _(self, x, context):
    q = F.linear(x, self.q_proj.weight)
    return q, self.k_proj(context), self.v_proj(context)


@_wrong_step("bias-not-added", _BIAS, "project")
def _(self, x, context):
    v = F.linear(context, self.v_proj.weight)
    return self.q_proj(x), self.k_proj(context), v


def _wrong_forward(id, question):
    def keep(function):
        return _wrong_step(id, question, "forward")(function)

    return keep


def _head_by_head(attend):
    """Make a forward with a loop over the heads, in which the mask stays as it is."""

    def forward(self, x, context=None, mask=None):
        three = self.project(x, x if context is None else context)
        pieces = zip(*(t.chunk(self.num_heads, dim=-1) for t in three), strict=True)
        return self.o_proj(torch.cat([attend(self, *qkv, mask) for qkv in pieces], dim=-1))

    return forward


def _attend_step_by_step(self, q, k, v, mask):
    return self.mix(self.share(self.scores(q, k), mask), v)


def _attend_fused(self, q, k, v, mask):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


for _attend in (_attend_step_by_step, _attend_fused):
    _wrong_forward(
        "mask-not-cut-for-its-head",
        "One head's scores are (B, L, S), a mask may be (B, H, L, S). Which part of it belongs to head h, "
        "and what if its heads axis has size 1?",
    )(_head_by_head(_attend))


@_wrong_forward(
    "batch-as-tokens",
    "Change sample 1. Does the output of sample 0 move? The first axis of x counts samples.",
)
def _(self, x, context=None, mask=None):
    context = x if context is None else context
    return Steps.forward(self, x.transpose(0, 1), context.transpose(0, 1), mask).transpose(
        0, 1
    )


@_wrong_forward(
    "residual-added", "Nobody asked to add x here. What does `forward` promise?"
)
def _(self, x, context=None, mask=None):
    return x + Steps.forward(self, x, context, mask)


@_wrong_forward("two-results", "What does `forward` promise: one thing, or two?")
def _(self, x, context=None, mask=None):
    c = x if context is None else context
    q, k, _ = map(self.split, self.project(x, c))
    return Steps.forward(self, x, context, mask), self.share(self.scores(q, k), mask)


@_wrong_forward(
    "context-required",
    "What is `context` when nobody gives one? Where do keys and values come from then?",
)
def _(self, x, context=None, mask=None):
    q, k, v = map(self.split, self.project(x, context))
    heads = self.mix(self.share(self.scores(q, k), mask), v)
    return self.finish(self.merge(heads), mask)


@_wrong_forward(
    "context-or-x",
    "Is a tensor of many numbers true or false? Python cannot say. Ask whether the context `is None`.",
)
def _(self, x, context=None, mask=None):
    return Steps.forward(self, x, context or x, mask)


@_wrong_forward(
    "context-cut-by-the-length-of-x",
    "How many words has the context, and which length does your code use when it cuts keys and values?",
)
def _(self, x, context=None, mask=None):
    q, k, v = self.project(x, x if context is None else context)
    B, L, E = x.shape
    H, D = self.num_heads, E // self.num_heads
    q, k, v = (t.view(B, L, H, D).transpose(1, 2) for t in (q, k, v))
    heads = self.mix(self.share(self.scores(q, k), mask), v)
    return self.finish(self.merge(heads), mask)


@_wrong_forward(
    "mask-truth-asked",
    "Is a mask of many numbers true or false? Python cannot say. Ask whether the mask `is not None`.",
)
def _(self, x, context=None, mask=None):
    return Steps.forward(self, x, context, mask if mask else None)


@_wrong_forward(
    "view-after-transpose",
    "`view` never moves a number, and after a transpose the numbers of a word are not side by side in "
    "memory. Which other method may copy?",
)
def _(self, x, context=None, mask=None):
    q, k, v = map(self.split, self.project(x, x if context is None else context))
    heads = self.mix(self.share(self.scores(q, k), mask), v)
    return self.finish(heads.transpose(1, 2).view(x.shape), mask)


def _layers(make):
    """Make a class whose four layers are `make(d_model, num_heads)`."""

    class Layers(Steps):
        def __init__(self, d_model, num_heads):
            super().__init__(d_model, num_heads)
            for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
                setattr(self, name, make(d_model, num_heads))

    return Layers


multi_head_attention.mistake(
    "shared-head-projection",
    "Change x[..., 0] only. Which heads should notice: all of them, or the one that holds channel 0? Each "
    "projection is one layer from d_model to d_model, before the split.",
)(_layers(lambda d_model, num_heads: nn.Linear(d_model // num_heads, d_model // num_heads)))

multi_head_attention.mistake(
    "projections-as-wide-as-one-head",
    "Your projection makes one head's worth of channels. How many must it make for all heads?",
)(_layers(lambda d_model, num_heads: nn.Linear(d_model, d_model // num_heads)))

multi_head_attention.mistake(
    "projections-too-wide",
    "`d_model` is the width of all heads together. How wide is one head then, and all of them?",
)(_layers(lambda d_model, num_heads: nn.Linear(d_model, d_model * num_heads)))

multi_head_attention.mistake(
    "bias-left-out",
    "The four layers have a bias here. Which argument of `nn.Linear` did you set?",
)(_layers(lambda d_model, num_heads: nn.Linear(d_model, d_model, bias=False)))


class _OneLayer(Steps):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.k_proj = self.v_proj = self.q_proj


multi_head_attention.mistake(
    "one-layer-for-all-three",
    "Are `q_proj`, `k_proj` and `v_proj` three layers, or three names of one?",
)(_OneLayer)


class _SizesSwapped(Steps):
    def __init__(self, num_heads, d_model):
        super().__init__(d_model, num_heads)


multi_head_attention.mistake(
    "sizes-swapped",
    "In which order are the two sizes given, `MultiHeadAttention(d_model, num_heads)`, and in which does your "
    "`__init__` take them?",
)(_SizesSwapped)
