"""The task `CrossAttention`: queries from one sequence, keys and values from another."""

import math

import torch
from torch import nn

import attn_lib
from attn_lib.checks.authoring import (
    Case,
    run_module,
    run_module_in_eval,
    sharpened_parameters,
    task,
)
from attn_lib.tasks.lesson_01.far_scores import FAR, ROUGHLY, set_far


class CrossAttention(nn.Module):
    def __init__(self, d_model, d_context, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_context, d_model)
        self.v_proj = nn.Linear(d_context, d_model)
        self.o_proj = nn.Linear(d_model, d_model)

    def forward(self, x, context, context_mask=None):
        H = self.num_heads
        mask = torch.ones(1, 1, dtype=torch.bool) if context_mask is None else context_mask
        queries = self.q_proj(x)
        keys = self.k_proj(context)
        values = self.v_proj(context)
        q = queries.unflatten(-1, (H, -1)).transpose(1, 2)
        k = keys.unflatten(-1, (H, -1)).transpose(1, 2)
        v = values.unflatten(-1, (H, -1)).transpose(1, 2)
        D = q.shape[-1]
        products = q @ k.mT
        scores = products / math.sqrt(D)
        allowed = mask[:, None, None, :]
        forbidden = ~allowed
        hidden = scores.masked_fill(forbidden, -torch.inf)
        weights = hidden.softmax(-1)
        kept = weights.masked_fill(forbidden, 0.0)
        heads = kept @ v
        merged = heads.transpose(1, 2).flatten(2)
        output = self.o_proj(merged)
        return output


cross_attention = task(
    lesson=5,
    points=4,
    insight="Only the source of keys and values is another one: the queries ask a second text.",
    library=attn_lib.CrossAttention,
    # Those that a mask (B, S) cannot have, and what is "from-the-wrong-layer".
    without=(
        "mask-transposed",
        "mask-axes-changed",
        "one-mask-for-all-heads",
        "fill-not-low-enough",
        "keys-and-values-swapped",
    ),
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
    def given(about, *args, mask="", grad=False, **options):
        """A case with a mask that is drawn: a word for each sentence, x = may be read."""
        drawn = [[c == "x" for c in row] for row in mask.split()]
        args += ({"context_mask": torch.tensor(drawn)},) if mask else ()
        return Case(about, args, run_module, grad=grad, **options)

    def case(about, *sizes, dtype=torch.float32, change=lambda *args: args[1:], **options):
        B, L, S, H, D, d_context, *mask = sizes
        init = (H * D, d_context, H)
        parameters = sharpened_parameters(CrossAttention(*init), rng, dtype)
        x = torch.randn(B, L, H * D, generator=rng).to(dtype)
        context = torch.randn(B, S, d_context, generator=rng).to(dtype)
        x, context = change(parameters, x, context)
        return given(about, init, parameters, x, context, mask="".join(mask), **options)

    # Worked out by hand: one head, scores 2/sqrt(2) and 4/sqrt(2), values [1, 2] and [5, 0].
    numbers = {
        "q_proj": ([[1.0, 0.0], [1.0, 1.0]], [0.0, -1.0]),
        "k_proj": ([[1.0], [0.0]], [0.0, 1.0]),
        "v_proj": ([[4.0], [-2.0]], [1.0, 2.0]),
        "o_proj": ([[1.0, 1.0], [0.0, 2.0]], [0.5, -1.0]),
    }
    tiny = {}
    for name, (weight, bias) in numbers.items():
        tiny[f"{name}.weight"], tiny[f"{name}.bias"] = map(torch.tensor, (weight, bias))
    # The values tell; gradients are compared on four only.
    args = (2, 1, 1), tiny, torch.tensor([[[2.0, 1.0]]]), torch.tensor([[[0.0], [1.0]]])
    yield given("one query, two context tokens, one head", *args)
    yield given("the second context token is padding", *args, mask="x.", grad=True)
    yield given("the first context token is padding", *args, mask=".x")
    yield given("all of the context is padding", *args, mask="..", grad=True)

    yield case("all sizes different, no mask", 2, 5, 7, 3, 6, 10, grad=True)
    yield case("padding in front and in the middle", 2, 3, 5, 4, 6, 7, "..xxx x.xx.")
    about = "the middle sentence is all padding"
    yield case(about, 3, 2, 4, 5, 6, 7, "xxx. .... xxxx", grad=True)
    yield case("L = S and d_context = d_model, no mask", 3, 5, 5, 2, 6, 12)
    yield case("B = H = L = S = D = 4", 4, 4, 4, 4, 4, 16, "xxxx xxx. x... ..x.")
    yield case("more queries than context tokens", 2, 7, 3, 5, 1, 6, "xx. xxx")
    yield case("one context token", 2, 3, 1, 3, 6, 4, "x .")
    yield case("30 context tokens, head_dim 32", 1, 3, 30, 2, 32, 9, "x" * 30)

    def huge_pads(parameters, x, context):
        # Only the values read the last channel, so that the scores stay ordinary.
        parameters["k_proj.weight"][:, -1] = 0
        context[1, 2:, -1] = 1e30
        return x.mT.contiguous().mT, context.transpose(0, 1).contiguous().transpose(0, 1)

    def far_off(parameters, x, context):
        parameters["q_proj.bias"].fill_(8.0)
        parameters["k_proj.bias"].fill_(-8.0)[:6] = 8.0
        return x, context

    sizes = 2, 3, 5, 4, 6, 7
    yield case("huge pads, not contiguous", *sizes, "xxxxx xx...", change=huge_pads)
    about = "every score near 150 in head 0, near -150 in the others"
    yield case(about, *sizes, "xxxxx xx...", change=far_off, tolerance=1e-2)

    def far_below(parameters, x, context):
        set_far(parameters)
        return x, context

    yield case(FAR, *sizes, "xxxxx .xx..", change=far_below, **ROUGHLY)
    args = case("", *sizes, "xxx.. xxxxx").args
    yield Case("in eval mode", args, run_module_in_eval)
    yield case("float64", *sizes, "xxx.. .....", dtype=torch.float64, tolerance=1e-6)
    yield case("float16", *sizes, "xxx.. .....", dtype=torch.float16)
    mask = "xxxxx .xx.."

    def far_above(parameters, x, context):
        # Channel 0 of the context alone decides, so that the values differ, and every score is exact.
        for layer, bias in ("q_proj", 128.0), ("k_proj", 0.0):
            parameters[f"{layer}.weight"].zero_()
            parameters[f"{layer}.bias"].fill_(bias)
        parameters["k_proj.weight"][:, 0], parameters["v_proj.weight"][:, 0] = 1.0, 0.0
        real = torch.tensor([[c == "x" for c in row] for row in mask.split()])
        context[..., 0] = torch.where(real, -128.0, 128.0)
        return x, context

    about = "scores below -10,000 of real tokens, above 10,000 of pads"
    yield case(about, *sizes, mask, change=far_above, tolerance=1e-2)
    yield case("1100 context tokens", 1, 2, 1100, 2, 3, 4)


cross_attention.rows("""
What is the largest number float16 can hold? Which fill fits into every float type?
    fill-too-large-for-float16  hidden = -torch.inf => -1000000000.0
Which sequence asks, and which one is read? From which of them come your q, k and v?
    from-the-wrong-sequence  queries = self.q_proj(context)
    from-the-wrong-sequence  keys = self.k_proj(x)
    from-the-wrong-sequence  values = self.v_proj(x)
    from-the-wrong-sequence  keys = self.k_proj(x) ; values = self.v_proj(x)
    from-the-wrong-sequence  queries = x => context ; keys = context => x ; values = context => x
For each of queries, keys and values: which layer makes it in your code?
    from-the-wrong-layer  queries = x
    from-the-wrong-layer  keys = context || self.v_proj(context)
    from-the-wrong-layer  values = context
    from-the-wrong-layer  keys = self.v_proj(context) ; values = self.k_proj(context)
Which layer does your answer not use? What makes the values that are mixed?
    weights-times-k  values = self.k_proj(context)
    weights-times-k  heads = @ v => @ k
The two sequences differ in length. Whose length do you write where you split k and v into heads?
    length-of-the-other  k, v = .unflatten(-1, (H, -1)) => .view(len(x), x.shape[1], H, -1)
Which dtype is a bool times a float, and what does it make of float16 scores? And in a row that may
see nothing, what is left of what you add? Can the mask replace a score instead?
    added-1e9  hidden = scores + forbidden * -1e9 ; kept = weights
    added-1e9  hidden = scores + forbidden * -1e9
    added-1e9  hidden = scores + forbidden * -30000.0 ; kept = weights
Nobody asked to add x here. Does the formula add it?
    residual-added  output = x + _
How long is one query inside ONE head? Is what you divide by exactly the root of that?
    scale-by-d-model  D = x.shape[-1] || context.shape[-1]
    scale-by-d-model  scores = math.sqrt => math.isqrt
With three heads, how many sets of weights should a query have? How many has it in your code?
    one-head-only  H = 1
    one-head-only  kept = _.mean(1, keepdim=True)
    one-head-only  products = _.sum(1, keepdim=True)
`context_mask` may be None, or have many entries. What does your line make of either?
    none-not-handled  mask = context_mask || ~~context_mask
Python's `if`, `not`, `and`, `or` ask if the whole mask is true. What asks if there is one?
    mask-as-truth-value  mask = _ if not context_mask else context_mask
What does True promise here: 'may look' or 'hide'? Which cells does `masked_fill` change?
    inverted  mask = _ if context_mask is None else ~_
    inverted  mask = _ if context_mask is None else ~_ ; kept = weights
A context vector of zeros still gets a key and a value from the biases. Which score does it get?
    context-zeroed-instead  keys = context => context.masked_fill(~mask[..., None], 0) ; values = context => context.masked_fill(~mask[..., None], 0) ; hidden = scores ; kept = weights
How many pads has a sentence, and where do they stand? Put one in front: which token does yours hide?
    pads-assumed-at-the-end  mask = torch.arange(context.shape[1]) < _.expand(len(x), context.shape[1]).sum(-1, keepdim=True)
    pads-assumed-at-the-end  mask = torch.arange(context.shape[1]) < _.expand(len(x), context.shape[1]).sum(-1).amax()
Each head gives zero where all is padding. What does `o_proj` make of zeros?
    bias-of-o-proj-hidden-too  output = _.masked_fill(~mask.any(-1)[:, None, None], 0)
Line your mask up from the right with the scores, (B, H, L, S). Which axis does its B meet?
    mask-axes-missing  allowed = mask[:, None, :] || mask
B sentences and H heads in one axis: which of the two comes first in `repeat`?
    mask-repeated-in-the-wrong-order  allowed = mask.repeat(H, 1).view(-1, H, 1, mask.shape[1])
Whose words does `context_mask` describe? Which axis of (B, H, L, S) counts those?
    hides-queries-instead-of-keys  allowed = mask[:, None, :, None]
    hides-queries-instead-of-keys  allowed = mask[:, None, :, None] ; merged = .flatten(2) => .reshape(x.shape)
Each sentence has pads of its own. Whose pads does your mask hide in the second one?
    mask-of-the-first-sentence  mask = _[:1]
How wide is what each layer reads, and what comes out of it? Which number of `nn.Linear(a, b)` is which?
    context-width-forgotten  k_proj = d_context => d_model ; v_proj = d_context => d_model
    context-width-forgotten  k_proj = nn.Linear(d_model, d_context) ; v_proj = nn.Linear(d_model, d_context)
    context-width-forgotten  v_proj = d_context => d_model
    context-width-forgotten  q_proj = nn.Linear(d_context, d_model)
    context-width-forgotten  q_proj = nn.Linear(d_model, d_context) ; k_proj, v_proj = nn.Linear(d_context, d_context)
Which numbers of token 0 end up in head 0? Try it with `torch.arange`.
    split-without-transpose  q, k, v = .unflatten(-1, (H, -1)).transpose(1, 2) => .reshape(len(x), H, -1, x.shape[-1] // H)
    split-without-transpose  q, k, v = .unflatten(-1, (H, -1)).transpose(1, 2) => .reshape(len(x), H, -1, x.shape[-1] // H) ; merged = heads.reshape(x.shape)
You hand over (B, L, H, D). Which axis does the attention take for the words?
    heads-among-the-words  q, k, v = .transpose(1, 2) => ; merged = heads.flatten(2)
Which rows of `q_proj.weight` make head 0: the first D, or every H-th?
    channels-interleaved  q, k, v = .unflatten(-1, (H, -1)).transpose(1, 2) => .unflatten(-1, (-1, H)).permute(0, 3, 1, 2)
    channels-interleaved  q, k, v = .unflatten(-1, (H, -1)).transpose(1, 2) => .unflatten(-1, (-1, H)).permute(0, 3, 1, 2) ; merged = heads.permute(0, 2, 3, 1).flatten(2)
The task asks for biases. Which argument of `nn.Linear` switches them off?
    bias-left-out  q_proj, k_proj, v_proj, o_proj = ) => , bias=False)
    bias-left-out  q_proj, k_proj, v_proj = ) => , bias=False)
    bias-left-out  k_proj, v_proj = ) => , bias=False)
    bias-left-out  o_proj = ) => , bias=False)
What is 0 * -inf? Print what you add, for an allowed key.
    zero-times-inf  hidden = scores + forbidden.to(scores) * -torch.inf
    zero-times-inf  hidden = scores if context_mask is None else scores + forbidden.to(scores) * -torch.inf
A boolean tensor cannot be subtracted from 1. Which operator turns True into False there?
    boolean-subtracted  forbidden = 1 - allowed
    boolean-subtracted  forbidden = _ if context_mask is None else 1 - allowed
What are the shapes of q and k? Which two axes of k must change places, so that D meets D?
    keys-not-transposed  products = q @ k || q @ k.transpose(1, 2)
You return how much each query looks where. Of what is it a mixture, and which layer comes last?
    weights-returned  output = kept || weights
Each query hands out a total of 1 among its keys. Which axis of your scores holds the keys?
    softmax-over-queries  weights = softmax(-1) => softmax(-2)
    softmax-over-queries  hidden = (_).masked_fill(~allowed.any(-1, keepdim=True), 0.0) ; weights = softmax(-1) => softmax(-2) ; kept = weights.masked_fill(~allowed.any(-1, keepdim=True), 0.0)
""")


@cross_attention.mistake(
    "keys-and-values-kept",
    "The next context may be another one. How long do your keys and values live?",
)
class KeepsTheFirstContext(CrossAttention):
    def forward(self, x, context, context_mask=None):
        self.kept = getattr(self, "kept", context.detach())
        return super().forward(x, self.kept, context_mask)


cross_attention.drills(
    "keys-not-transposed 1, from-the-wrong-sequence, residual-added, softmax-over-queries, scale-by-d-model, "
    "mask-axes-missing, hides-queries-instead-of-keys, merged-without-transpose, zero-times-inf, "
    "context-width-forgotten, fill-1e9"
)
