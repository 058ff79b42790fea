"""The task `PreNormBlock`: attention and a feed-forward network around a path that nothing bends."""

import torch
from torch import nn

import attn_lib
from attn_lib.checks.authoring import Case, task
from attn_lib.checks.authoring import run_module_in_eval as run
from attn_lib.tasks.lesson_01.far_scores import FAR, ROUGHLY
from attn_lib.tasks.lesson_09.parts import (
    around_minus_two,
    by_hand,
    constant,
    far_below,
    far_from_zero,
    large_numbers,
    nearly_constant,
    norm_rows,
    some,
    strided,
    trained,
    uneven,
)
from attn_lib.tasks.lesson_09.runs import two_new_norms


class PreNormBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attn = attn_lib.MultiHeadAttention(d_model, num_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.ff = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.GELU(), nn.Linear(d_ff, d_model)
        )

    def forward(self, x, mask=None):
        normed1 = self.norm1(x)
        seen = self.attn(normed1, mask=mask)
        middle = x + seen
        normed2 = self.norm2(middle)
        fed = self.ff(normed2)
        output = middle + fed
        return output


pre_norm_block = task(
    lesson=9,
    points=4,
    insight="From input to output there is a sum that no norm stands in: a gradient goes straight through.",
    library=attn_lib.PreNormBlock,
    hints=[
        "Draw it as in the lesson: a straight line from x to the output, and two parts that read from it and "
        "add to it. How many times does your code say `+`?",
        "Two questions for each part: what does it read, and to what is its result added? The answers "
        "differ. Give the x in the middle a name of its own: who reads it?",
        "Names count: `norm1`, `attn`, `norm2`, `ff`, and inside `ff` the parts 0, 1 and 2. The mask is for the "
        "attention alone; pass it on by name, `mask=mask`, also if it is None.",
    ],
)(PreNormBlock)


@pre_norm_block.cases
def _(rng):
    def case(
        about, B, L, H, D, d_ff, mask=None, *, change=None, dtype=torch.float32, **more
    ):
        init = (H * D, H, d_ff)
        parameters = trained(PreNormBlock(*init), rng)
        x = torch.randn(B, L, H * D, generator=rng)
        x = change(parameters, x) if change else x
        parameters = {name: p.to(dtype) for name, p in parameters.items()}
        args = (init, parameters, x.to(dtype), *([] if mask is None else [{"mask": mask}]))
        return Case(about, args, run, **{"grad": False} | more)

    # A LayerNorm of width 2 makes 1 and -1 of any two numbers.
    tiny = by_hand(
        norm1=[[1, 2], [0, 1]],
        attn__q_proj=[[1, 0], [0, 1], [0, 0]],
        attn__k_proj=[[1, 0], [0, 1], [0, 1]],
        attn__v_proj=[[1, 0], [0, 2], [0, 1]],
        attn__o_proj=[[1, 1], [0, 1], [1, 0]],
        norm2=[[2, 1], [1, 0]],
        ff__0=[[1, 0], [0, 1], [1, 1], [0, 1, 0]],
        ff__2=[[1, 0, 2], [0, 1, 0], [0, -1]],
    )
    one, two = torch.tensor([[[5.0, 1.0]]]), torch.tensor([[[5.0, 1.0], [0.0, 4.0]]])
    yield Case("one word", ((2, 1, 3), tiny, one), run)
    yield Case("two words", ((2, 1, 3), tiny, two), run)
    first = {"mask": torch.tensor([[True, False], [True, True]])}
    about = "the same words, word 0 may not see word 1"
    yield Case(about, ((2, 1, 3), tiny, two, first), run)

    yield case("all sizes different", 2, 5, 3, 2, 10, grad=True)
    causal = attn_lib.causal_mask(5, 5)
    yield case("a causal mask (L, L)", 2, 5, 3, 2, 10, causal)
    padded = attn_lib.padding_mask(torch.tensor([5, 2]), 5)
    yield case("a padding mask (B, 1, 1, L)", 2, 5, 3, 2, 10, padded, grad=True)
    yield case("padding and causal (B, 1, L, L)", 2, 5, 2, 4, 7, padded & causal)
    yield case("a mask for each head (B, H, L, L)", 2, 4, 3, 2, 5, some(rng, 2, 3, 4, 4))
    nothing = some(rng, 2, 1, 4, 4)
    nothing[0, :, 1] = nothing[1, :, 3] = False
    yield case("some words may see nothing", 2, 4, 2, 3, 5, nothing, grad=True)
    alone = some(rng, 2, 3, 4, 4)
    alone[0, 1, 2] = alone[1, 2, 0] = False
    about = "a word may see nothing in one head"
    yield case(about, 2, 4, 3, 2, 5, alone, grad=True)
    keys = some(rng, 3, 1, 4)
    yield case("B = H, a mask of keys for each head (H, 1, L)", 3, 4, 3, 2, 5, keys)
    yield case("B = H, a mask (H, L, L)", 3, 4, 3, 2, 5, some(rng, 3, 4, 4))
    yield case("B = L, a mask (L, L)", 4, 4, 2, 3, 5, some(rng, 4, 4))
    one = some(rng, 4, 4) & (torch.arange(4) != 2)[:, None]
    yield case("a mask (L, L), a word that may see nothing", 2, 4, 2, 3, 5, one)
    yield case("B = L = H = D", 3, 3, 3, 3, 9, some(rng, 3, 1, 1, 3))
    keys = torch.tensor([[True, False, True, True, False, True]])
    yield case("L = d_model, a mask of keys (1, L)", 2, 6, 3, 2, 8, keys)
    yield case("260 words", 1, 260, 2, 2, 5)
    yield case("B = L = d_model = d_ff", 4, 4, 2, 2, 4)
    hidden = torch.tensor([[False]])
    yield case("one word each, which may not see itself", 3, 1, 1, 5, 6, hidden)
    yield case("one sentence, d_ff = 1", 1, 4, 2, 3, 1)

    yield case("tokens of very different lengths", 2, 4, 2, 3, 7, change=uneven)
    yield case("tokens that are nearly constant", 2, 3, 2, 3, 7, change=nearly_constant)
    yield case("a token of equal numbers", 2, 3, 2, 3, 7, change=constant, grad=True)
    about = "tokens around 3,000"
    yield case(about, 2, 3, 2, 3, 7, change=far_from_zero, tolerance=1e-5)
    yield case("tokens of a million", 2, 3, 2, 3, 7, change=large_numbers)
    about = "the feed-forward network is near -2 before its GELU"
    yield case(about, 2, 3, 2, 2, 40, change=around_minus_two)
    yield case("not contiguous", 2, 4, 3, 2, 5, change=strided)
    yield case(FAR, 2, 5, 3, 2, 10, padded & causal, change=far_below, **ROUGHLY)
    # Larger than the others, which are shown first: who forgot a mask should not look for a dtype.
    large = 3, 5, 3, 2, 12
    yield case("float64", *large, some(rng, 5, 5), dtype=torch.float64, grad=True)
    yield case("bfloat16", *large, some(rng, 5, 5), dtype=torch.bfloat16, tolerance=6e-2)
    yield case("66 words, causal", 2, 66, 3, 2, 12, attn_lib.causal_mask(66, 66))
    yield Case("the norms of a new block", ((6, 2, 5), {}), two_new_norms, grad=False)


pre_norm_block.rows(
    norm_rows(
        ["x", "middle"],
        ["seen", "fed"],
        dict(attn="attn_lib.MultiHeadAttention(d_model, num_heads"),
    )
)
pre_norm_block.rows("""
Which part comes first, attention or the feed-forward network? Follow the lines.
    ff-first  normed1 = self.norm2(x) ; seen = self.ff(normed1) ; normed2 = self.norm1(middle) ; fed = self.attn(normed2, mask=mask)
    ff-first  seen = self.ff(normed1) ; fed = self.attn(normed2, mask=mask)
Does the feed-forward network know what the attention has found? Which x does its norm read?
    parts-side-by-side  normed2 = self.norm2(x)
    parts-side-by-side  fed = self.ff(normed1)
The feed-forward network reads what the attention said, and nothing else. What would the sum be good for?
    ff-reads-the-attention-only  normed2 = self.norm2(seen)
    ff-reads-the-attention-only  fed = self.ff(seen)
    ff-reads-the-attention-only  fed = self.ff(seen) ; output = x + fed
    ff-reads-the-attention-only  normed2 = self.norm2(seen) ; output = x + fed
To which x is the result of the second part added? What has become of the attention's?
    attention-lost  output = x + fed
    attention-lost  middle = x
Which part of the block is not heard in your output?
    ff-left-out  output = middle
    ff-left-out  fed = normed2
Does your attention get the mask? Change one entry of it: does the output move?
    mask-not-passed-on  seen = self.attn(normed1)
Second comes the context in `MultiHeadAttention(...)(x, context, mask)`. By which name do you pass the mask?
    mask-as-context  seen = self.attn(normed1, mask)
    mask-as-context  seen = _ if mask is None else self.attn.k_proj(mask)
True means 'may look' in this task, and in the attention of exercise 03. Who turns the mask round, in between or in the attention?
    mask-inverted  seen = self.attn(normed1, mask=None if mask is None else ~mask)
Python's `if`, `not`, `and` and `or` ask whether the whole mask is true. What asks whether there is one?
    mask-as-truth-value  seen = self.attn(normed1, mask=mask if mask else None)
`mask` may be None. What does your line make of None?
    none-not-handled  seen = self.attn(normed1, mask=~~mask)
    none-not-handled  seen = self.attn(normed1, mask=mask[:])
    none-not-handled  seen = self.attn(normed1, mask=mask.bool())
Nobody asked for a causal mask: only the mask that is given counts. Who else hides words in your code?
    causal-always  seen = self.attn(normed1, mask=mask, is_causal=True)
    causal-always  seen = self.attn(normed1, mask=attn_lib.causal_mask(x.shape[1], x.shape[1]) if mask is None else mask)
The mask already has axes that line up with (B, H, L, L). Which of its shapes does your line misread?
    mask-axes-changed  seen = self.attn(normed1, mask=None if mask is None else mask.unsqueeze(1))
    mask-axes-changed  seen = self.attn(normed1, mask=None if mask is None else mask[:, None, None])
    mask-axes-changed  seen = self.attn(normed1, mask=mask.unsqueeze(1) if mask is not None and mask.ndim == 3 else mask)
Do queries, keys and values come from one and the same x? Which of them does your norm not reach?
    keys-not-normalized  seen = self.attn(normed1, x, mask=mask)
    keys-not-normalized  seen = self.attn(x, normed1, mask=mask)
How often does the attention run, and on what?
    attention-twice  seen = self.attn(_, mask=mask)
How often does a norm stand before one part?
    normalized-twice  normed1 = self.norm1(_)
    normalized-twice  normed2 = self.norm2(_)
    normalized-twice  normed1 = self.norm1(_) ; normed2 = self.norm2(_)
One tensor is asked for. What do you return beside it?
    two-returned  return = _, seen
A word that may see nothing gets zeros from each head. What does `o_proj` make of zeros? Who puts zeros in the place of that?
    bias-of-o-proj-lost  seen = self.attn(normed1, mask=mask) if mask is None else self.attn(normed1, mask=mask).masked_fill(~mask.expand(len(x), self.attn.num_heads, x.shape[1], x.shape[1]).any(-1).any(1)[..., None], 0.0)
""")

pre_norm_block.drills(
    "residual-missing 2, no-activation 1, mask-not-passed-on, residual-from-normed 1, attention-lost, "
    "parts-side-by-side, keys-not-normalized, mask-as-context, post-norm 1"
)
