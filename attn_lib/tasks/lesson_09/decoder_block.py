"""The task `DecoderBlock`: a block that also reads another sequence."""

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
from attn_lib.tasks.lesson_09.runs import three_new_norms


class DecoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.self_attn = attn_lib.MultiHeadAttention(d_model, num_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.cross_attn = attn_lib.CrossAttention(d_model, d_model, num_heads)
        self.norm3 = nn.LayerNorm(d_model)
        self.ff = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.GELU(), nn.Linear(d_ff, d_model)
        )

    def forward(self, x, context, mask=None, context_mask=None):
        normed1 = self.norm1(x)
        seen = self.self_attn(normed1, mask=mask)
        middle = x + seen
        normed2 = self.norm2(middle)
        read = self.cross_attn(normed2, context, context_mask=context_mask)
        later = middle + read
        normed3 = self.norm3(later)
        fed = self.ff(normed3)
        output = later + fed
        return output


decoder_block = task(
    lesson=9,
    points=4,
    insight="Three sums on one stream: look at yourself, look at the source, think.",
    library=attn_lib.DecoderBlock,
    hints=[
        "Take your `PreNormBlock` and open it between attention and feed-forward. What stands there now, what "
        "does it read of x, and what of the context?",
        "Three parts, three norms, three sums, in the order of their numbers. Only the stream of x is "
        "normalized. The context comes from an encoder, which has a norm of its own at its end.",
        "Two masks for two attentions: `mask` says which words of x a word of x may see, `context_mask`, (B, S), "
        "which words of the context are real. Which attention gets which, by which name?",
    ],
)(DecoderBlock)


@decoder_block.cases
def _(rng):
    def real(text):
        """A mask (B, S) that is drawn: a word for each sentence, x = may be read."""
        return torch.tensor([[c == "x" for c in row] for row in text.split()])

    def case(about, *sizes, change=None, dtype=torch.float32, **more):
        B, L, S, H, D, d_ff = sizes
        init = (H * D, H, d_ff)
        parameters = trained(DecoderBlock(*init), rng)
        # A context as it comes: not of mean 0 and length 1, so that a norm of it shows.
        x, context = (torch.randn(B, n, H * D, generator=rng) for n in (L, S))
        context = context * 1.3 + 0.4
        x = change(parameters, x) if change else x
        context = strided(parameters, context) if change is strided else context
        parameters = {name: p.to(dtype) for name, p in parameters.items()}
        masks = {name: more.pop(name) for name in ("mask", "context_mask") if name in more}
        args = (
            init,
            parameters,
            x.to(dtype),
            context.to(dtype),
            *([masks] if masks else []),
        )
        return Case(about, args, run, **{"grad": False} | more)

    # A LayerNorm of width 2 makes 1 and -1 of any two numbers.
    tiny = by_hand(
        norm1=[[1, 2], [0, 1]],
        self_attn__q_proj=[[1, 0], [0, 1], [0, 0]],
        self_attn__k_proj=[[1, 0], [0, 1], [0, 1]],
        self_attn__v_proj=[[1, 0], [0, 2], [0, 1]],
        self_attn__o_proj=[[1, 1], [0, 1], [1, 0]],
        norm2=[[2, 1], [1, 0]],
        cross_attn__q_proj=[[0, 1], [1, 0], [1, 0]],
        cross_attn__k_proj=[[1, 1], [1, 0], [0, 0]],
        cross_attn__v_proj=[[2, 0], [0, 1], [0, 0]],
        cross_attn__o_proj=[[1, 0], [1, 1], [0, 1]],
        norm3=[[1, 1], [0, 2]],
        ff__0=[[1, 0], [0, 1], [1, 1], [0, 1, 0]],
        ff__2=[[1, 0, 2], [0, 1, 0], [0, -1]],
    )
    x, context = torch.tensor([[[5.0, 1.0]]]), torch.tensor([[[3.0, 2.0], [1.0, 0.0]]])
    yield Case("one word, a context of one", ((2, 1, 3), tiny, x, context[:, :1]), run)
    yield Case("one word, a context of two", ((2, 1, 3), tiny, x, context), run)
    about, last = "the same, the last word of the context is a pad", real("x.")
    args = (2, 1, 3), tiny, x, context, {"context_mask": last}
    yield Case(about, args, run)

    sizes, causal = (2, 5, 7, 3, 2, 10), attn_lib.causal_mask(5, 5)
    yield case("all sizes different, no mask", *sizes, grad=True)
    yield case("a causal mask (L, L)", *sizes, mask=causal)
    pads = real("xxxxxxx xx..x..")
    yield case("a context mask", *sizes, context_mask=pads, grad=True)
    yield case("a causal mask, a context mask", *sizes, mask=causal, context_mask=pads)
    both = attn_lib.padding_mask(torch.tensor([5, 2]), 5) & causal
    about = "padding and causal (B, 1, L, L), a context mask"
    yield case(about, *sizes, mask=both, context_mask=pads, grad=True)
    heads = some(rng, 2, 3, 5, 5)
    yield case("a mask for each head (B, H, L, L)", *sizes, mask=heads, context_mask=pads)
    about, empty = (
        "some words may see nothing, a context is all padding",
        some(rng, 2, 1, 4, 4),
    )
    empty[0, :, 1] = empty[1, :, 3] = False
    masks = dict(mask=empty, context_mask=real("x.x ..."))
    yield case(about, 2, 4, 3, 2, 3, 5, **masks, grad=True)
    all_pads = dict(context_mask=real("... ..."))
    yield case("every context is all padding", 2, 4, 3, 2, 3, 5, **all_pads)
    alone = some(rng, 2, 3, 4, 4)
    alone[0, 1, 2] = alone[1, 2, 0] = False
    about = "a word may see nothing in one head"
    yield case(about, 2, 4, 5, 3, 2, 5, mask=alone, grad=True)
    about, keys = "B = H, a mask of keys for each head (H, 1, L)", some(rng, 3, 1, 4)
    yield case(about, 3, 4, 5, 3, 2, 5, mask=keys)
    heads = some(rng, 3, 5, 5)
    yield case("B = H, a mask (H, L, L)", 3, 5, 7, 3, 2, 10, mask=heads)
    yield case("B = L, a mask (L, L)", 4, 4, 3, 2, 3, 5, mask=some(rng, 4, 4))
    one = some(rng, 4, 4) & (torch.arange(4) != 2)[:, None]
    yield case("a mask (L, L), a word that may see nothing", 2, 4, 3, 2, 3, 5, mask=one)
    yield case("L = S, no mask", 2, 4, 4, 2, 3, 5)
    causal = attn_lib.causal_mask(4, 4)
    yield case("L = S, a causal mask, no context mask", 2, 4, 4, 2, 3, 5, mask=causal)
    square = dict(mask=attn_lib.causal_mask(4, 4), context_mask=real("xxxx x..."))
    yield case("L = S, both masks", 2, 4, 4, 2, 3, 5, **square)
    third = dict(mask=some(rng, 3, 1, 1, 3), context_mask=real("x.x .xx x.."))
    yield case("B = L = S = H = D", 3, 3, 3, 3, 3, 9, **third)
    keys = torch.tensor([[True, False, True, True]])
    about = "L = S = d_model = d_ff, a mask of keys (1, L)"
    yield case(about, 2, 4, 4, 2, 2, 4, mask=keys)
    about, hidden = "one word each, which may not see itself", torch.tensor([[False]])
    yield case(about, 3, 1, 2, 1, 5, 6, mask=hidden)
    about, pad = "the context is one word, here and there a pad", real("x .")
    yield case(about, 2, 4, 1, 2, 3, 1, context_mask=pad)
    yield case("200 words, a context of 260", 1, 200, 260, 2, 2, 5)

    yield case("tokens of very different lengths", 2, 4, 3, 2, 3, 7, change=uneven)
    yield case("tokens that are nearly constant", 2, 3, 4, 2, 3, 7, change=nearly_constant)
    yield case("a token of equal numbers", 2, 3, 4, 2, 3, 7, change=constant, grad=True)
    about = "tokens around 3,000"
    yield case(about, 2, 3, 4, 2, 3, 7, change=far_from_zero, tolerance=1e-5)
    yield case("tokens of a million", 2, 3, 4, 2, 3, 7, change=large_numbers)
    about = "the feed-forward network is near -2 before its GELU"
    yield case(about, 2, 3, 4, 2, 2, 40, change=around_minus_two)
    yield case("not contiguous", 2, 4, 3, 3, 2, 5, change=strided)
    masks = dict(mask=both, context_mask=pads)
    yield case(FAR, *sizes, **masks, change=far_below, **ROUGHLY)
    # Larger than the others, which are shown first: who forgot a mask should not look for a dtype.
    large = 3, 5, 7, 3, 2, 12
    masks = dict(mask=some(rng, 5, 5), context_mask=real("xx..... x.x...x xxxxxxx"))
    about, pads = "a context as long as x, with pads, and no mask", real("x..x. .x...")
    yield case(about, 2, 5, 5, 3, 2, 10, context_mask=pads)
    yield case("float64", *large, **masks, dtype=torch.float64, grad=True)
    yield case("bfloat16", *large, **masks, dtype=torch.bfloat16, tolerance=6e-2)
    pads = real("x.......x. .x......xx")
    masks = dict(mask=attn_lib.causal_mask(66, 66), context_mask=pads)
    yield case("66 words, causal, a context with pads", 2, 66, 10, 3, 2, 12, **masks)
    yield Case("the norms of a new block", ((6, 2, 5), {}), three_new_norms, grad=False)


def values_from_x(cross, x, context, context_mask):
    """Attend to a context by its keys, but mix values that are made of x."""
    read = cross.q_proj(x), cross.k_proj(context), cross.v_proj(x)
    q, k, v = (t.unflatten(-1, (cross.num_heads, -1)).transpose(1, 2) for t in read)
    hidden = torch.zeros(len(x), 1, 1, context.shape[1], dtype=torch.bool)
    if context_mask is not None:
        hidden = ~context_mask[:, None, None]
    scores = (q @ k.mT * q.shape[-1] ** -0.5).masked_fill(hidden, -1e9)
    weights = scores.softmax(-1).masked_fill(hidden, 0.0)
    return cross.o_proj((weights @ v).transpose(1, 2).flatten(2))


decoder_block.rows(
    norm_rows(
        ["x", "middle", "later"],
        ["seen", "read", "fed"],
        dict(
            self_attn="attn_lib.MultiHeadAttention(d_model, num_heads",
            cross_attn="attn_lib.CrossAttention(d_model, d_model, num_heads",
        ),
    )
)
decoder_block.rows("""
Which part comes first, which second, which last? Follow the lines.
    parts-in-another-order  seen = self.cross_attn(normed1, context, context_mask=context_mask) ; read = self.self_attn(normed2, mask=mask)
    parts-in-another-order  normed1 = self.norm2(x) ; seen = self.cross_attn(normed1, context, context_mask=context_mask) ; normed2 = self.norm1(middle) ; read = self.self_attn(normed2, mask=mask)
    parts-in-another-order  read = self.ff(normed2) ; fed = self.cross_attn(normed3, context, context_mask=context_mask)
    parts-in-another-order  normed2 = self.norm3(middle) ; read = self.ff(normed2) ; normed3 = self.norm2(later) ; fed = self.cross_attn(normed3, context, context_mask=context_mask)
Which norm stands before which part? Follow the numbers.
    norms-swapped  normed2 = self.norm3(middle) ; normed3 = self.norm2(later)
    norms-swapped  normed1 = self.norm3(x) ; normed3 = self.norm1(later)
Every part has a norm with numbers of its own. Which parameters of yours get no gradient?
    one-norm-for-all  normed3 = self.norm2(later)
    one-norm-for-all  normed2 = self.norm1(middle)
    one-norm-for-all  normed3 = self.norm1(later)
The context is read as it comes. Which of your norms does it meet, and whose numbers are in that norm?
    context-normalized  read = self.cross_attn(normed2, self.norm2(context), context_mask=context_mask)
    context-normalized  read = self.cross_attn(normed2, self.norm1(context), context_mask=context_mask)
    context-normalized  read = self.cross_attn(normed2, self.norm3(context), context_mask=context_mask)
    context-normalized  read = self.cross_attn(middle, self.norm2(context), context_mask=context_mask)
    context-normalized  read = self.cross_attn(normed2, F.layer_norm(context, context.shape[-1:]), context_mask=context_mask)
Who asks, and who is read? The block has one vector for each word of x, as many as come in.
    queries-from-the-context  read = self.cross_attn(context, normed2, context_mask=context_mask)
    queries-from-the-context  read = self.cross_attn(context, normed2)
What does the second attention mix: words of the context, or of x? Which two of its first three layers read the context?
    values-from-x  read = values_from_x(self.cross_attn, normed2, context, context_mask)
What does the second attention read: x, or the context? Change the context: does the output move?
    context-not-read  read = self.cross_attn(normed2, normed2)
    context-not-read  read = self.cross_attn(normed2, middle)
    context-not-read  later = middle
The first attention is that of x with itself. What reads the context there?
    self-attention-reads-the-context  seen = self.self_attn(normed1, context)
    self-attention-reads-the-context  seen = self.self_attn(normed1, context, mask=None if context_mask is None else context_mask[:, None, None])
Which x does each norm read: the one that came in, or the one that the part before has added to?
    sum-not-carried-on  normed2 = self.norm2(x)
    sum-not-carried-on  normed3 = self.norm3(middle)
    sum-not-carried-on  read = self.cross_attn(normed1, context, context_mask=context_mask)
    sum-not-carried-on  fed = self.ff(normed2)
    sum-not-carried-on  normed2 = self.norm2(x) ; normed3 = self.norm3(x)
A part reads what the part before has said, and nothing else. What would the sum be good for?
    the-last-part-only  normed2 = self.norm2(seen)
    the-last-part-only  normed3 = self.norm3(read)
    the-last-part-only  normed2 = self.norm2(seen) ; normed3 = self.norm3(read)
To which x is each result added? What has become of the parts before?
    earlier-parts-lost  later = x + read
    earlier-parts-lost  output = x + fed || middle + fed
    earlier-parts-lost  middle = x
Which part of the block is not heard in your output?
    ff-left-out  output = later
    ff-left-out  fed = normed3
Two masks come in, for two attentions. Change one entry of each: does the output move each time?
    mask-not-passed-on  seen = self.self_attn(normed1)
    mask-not-passed-on  seen = self.self_attn(normed1) ; read = self.cross_attn(normed2, context)
    context-mask-not-passed-on  read = self.cross_attn(normed2, context)
With both masks yours is right, with one alone it is not. Does each mask have an `if` of its own?
    both-masks-or-none  seen = self.self_attn(normed1, mask=None if context_mask is None else mask) ; read = self.cross_attn(normed2, context, context_mask=None if mask is None else context_mask)
By which name does a `CrossAttention` take its mask? `help(attn_lib.CrossAttention.forward)` knows.
    context-mask-by-another-name  read = self.cross_attn(normed2, context, mask=context_mask)
    context-mask-by-another-name  read = self.cross_attn(normed2, context, context_mask)
Which parameters do your two attentions share, and which should they share?
    one-attention-for-both  read = self.self_attn(normed2, context, mask=None if context_mask is None else context_mask[:, None, None])
    one-attention-for-both  cross_attn = self.self_attn ; read = self.cross_attn(normed2, context, mask=None if context_mask is None else context_mask[:, None, None])
Whose words does each of the two masks describe? Which attention reads those words?
    masks-in-the-wrong-place  seen = self.self_attn(normed1, mask=None if context_mask is None else context_mask[:, None, None])
    masks-in-the-wrong-place  seen = self.self_attn(normed1, mask=None if context_mask is None else context_mask[:, None, None]) ; read = self.cross_attn(normed2, context)
    masks-in-the-wrong-place  seen = self.self_attn(normed1, mask=mask if context_mask is None else context_mask[:, None, None] if mask is None else mask & context_mask[:, None, None])
    masks-in-the-wrong-place  cross_attn = attn_lib.MultiHeadAttention(d_model, num_heads) ; read = self.cross_attn(normed2, context, mask=mask)
    masks-in-the-wrong-place  read = self.cross_attn(normed2, context, context_mask=mask)
    masks-in-the-wrong-place  seen = self.self_attn(normed1, mask=context_mask)
    masks-in-the-wrong-place  seen = self.self_attn(normed1, mask=context_mask) ; read = self.cross_attn(normed2, context)
    masks-in-the-wrong-place  cross_attn = attn_lib.tasks.lesson_03.multi_head_attention.MultiHeadAttention(d_model, num_heads) ; read = self.cross_attn(normed2, context, mask=mask)
    masks-in-the-wrong-place  seen = self.self_attn(normed1, mask=context_mask) ; read = self.cross_attn(normed2, context, context_mask=mask)
    masks-in-the-wrong-place  self_attn = attn_lib.tasks.lesson_03.multi_head_attention.MultiHeadAttention(d_model, num_heads) ; cross_attn = attn_lib.tasks.lesson_05.cross_attention.CrossAttention(d_model, d_model, num_heads) ; seen = self.self_attn(normed1, mask=context_mask) ; read = self.cross_attn(normed2, context, context_mask=mask)
Where may pads stand: only at the end? Does your line look at each word, or count how many are real?
    pads-assumed-at-the-end  read = self.cross_attn(normed2, context, context_mask=None if context_mask is None else torch.arange(context.shape[1]) < context_mask.sum(1, keepdim=True))
Who says which words of the context are pads? May a word be a vector of zeros?
    zeros-taken-for-pads  read = self.cross_attn(normed2, context, context_mask=(context != 0).any(-1) if context_mask is None else context_mask)
A vector of zeros still gets a key and a value from the biases. Which score does it get?
    context-zeroed-instead  read = self.cross_attn(normed2, context if context_mask is None else context * context_mask[..., None])
True means 'may look' in this task, and in the attentions of exercises 03 and 05. Who turns a mask round, in between or in an
attention?
    mask-inverted  seen = self.self_attn(normed1, mask=None if mask is None else ~mask)
    context-mask-inverted  read = self.cross_attn(normed2, context, context_mask=None if context_mask is None else ~context_mask)
Line `context_mask` up from the right with the scores, (B, H, L, S). Which axis does its B meet?
    context-mask-without-axes  cross_attn = attn_lib.MultiHeadAttention(d_model, num_heads) ; read = self.cross_attn(normed2, context, mask=context_mask)
    context-mask-without-axes  cross_attn = attn_lib.tasks.lesson_03.multi_head_attention.MultiHeadAttention(d_model, num_heads) ; read = self.cross_attn(normed2, context, mask=context_mask)
Python's `if`, `not`, `and` and `or` ask whether the whole mask is true. What asks whether there is one?
    mask-as-truth-value  seen = self.self_attn(normed1, mask=mask if mask else None)
    mask-as-truth-value  read = self.cross_attn(normed2, context, context_mask=context_mask if context_mask else None)
`mask` and `context_mask` may be None. What does your line make of None?
    none-not-handled  seen = self.self_attn(normed1, mask=~~mask)
    none-not-handled  seen = self.self_attn(normed1, mask=mask[:])
    none-not-handled  read = self.cross_attn(normed2, context, context_mask=context_mask[:])
    none-not-handled  read = self.cross_attn(normed2, context, context_mask=~~context_mask)
Nobody asked for a causal mask: only the mask that is given counts. Who else hides words in your code?
    causal-always  seen = self.self_attn(normed1, mask=mask, is_causal=True)
    causal-always  seen = self.self_attn(normed1, mask=attn_lib.causal_mask(x.shape[1], x.shape[1]) if mask is None else mask)
    causal-always  cross_attn = attn_lib.MultiHeadAttention(d_model, num_heads) ; read = self.cross_attn(normed2, context, mask=None if context_mask is None else context_mask[:, None, None], is_causal=True)
Nobody asked which word of the context comes first. What else than `context_mask` hides words of it in yours?
    causal-in-the-context  cross_attn = attn_lib.MultiHeadAttention(d_model, num_heads) ; read = self.cross_attn(normed2, context, mask=torch.ones(x.shape[1], context.shape[1], dtype=torch.bool).tril() if context_mask is None else torch.ones(x.shape[1], context.shape[1], dtype=torch.bool).tril() & context_mask[:, None, None])
    causal-in-the-context  cross_attn = attn_lib.MultiHeadAttention(d_model, num_heads) ; read = self.cross_attn(normed2, context, mask=mask if context_mask is None or mask is None or mask.shape[-1] != context.shape[1] else mask & context_mask[:, None, None])
Second comes the context in `MultiHeadAttention(...)(x, context, mask)`. By which name do you pass the mask?
    mask-as-context  seen = self.self_attn(normed1, mask)
    mask-as-context  seen = _ if mask is None else self.self_attn.k_proj(mask)
One tensor is asked for. What do you return beside it?
    two-returned  return = _, context
The block to be diagnosed is still here. With a context of one word, (2, 3): which number of the table is the first that
is another in yours?
    the-block-to-be-diagnosed  middle = normed1 + seen ; read = self.cross_attn(normed2, self.norm3(context), context_mask=context_mask) ; normed3 = self.norm2(later)
    the-block-to-be-diagnosed  read = self.cross_attn(normed2, self.norm3(context), context_mask=context_mask) ; normed3 = self.norm2(later)
    the-block-to-be-diagnosed  middle = normed1 + seen ; read = self.cross_attn(normed2, self.norm3(context), context_mask=context_mask)
    the-block-to-be-diagnosed  middle = normed1 + seen ; normed3 = self.norm2(later)
""")

decoder_block.drills(
    "residual-missing 1, another-activation, mask-not-passed-on, queries-from-the-context, causal-always, "
    "residual-from-normed 2, sum-not-carried-on, earlier-parts-lost, mask-as-context"
)
