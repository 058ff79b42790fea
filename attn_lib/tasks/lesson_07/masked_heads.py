"""The task `masked_heads`: every head multiplied by a number, where it is still alone."""

import math

import torch
from torch import nn

import attn_lib
from attn_lib.checks.authoring import Case, task
from attn_lib.tasks.lesson_07 import controlled
from attn_lib.tasks.lesson_07.runs import unless_changed, with_module


@task(
    lesson=7,
    points=3,
    insight="A head switched off is an intervention: evidence that no map alone can give.",
    library=attn_lib.masked_heads,
    hints=[
        "Write down the steps of multi-head attention: project, split, attend, merge, project. Between "
        "which two is a head still alone, with everything that it says, the bias of its values included?",
        "`attn` has `q_proj`, `k_proj`, `v_proj`, `o_proj` and `num_heads`. Use these layers to get what "
        'the heads say, (B, H, L, D). `mine("split_heads")`, `mine("masked_attention")` and '
        '`mine("merge_heads")` may help.',
        "Shapes line up from the right. Which axes of size 1 does `head_mask` (H,) need behind it to "
        "meet (B, H, L, D) at its second axis? After that: merge, and `attn.o_proj`.",
    ],
)
def masked_heads(attn, x, head_mask):
    H = attn.num_heads
    queries = attn.q_proj(x)
    keys = attn.k_proj(x)
    values = attn.v_proj(x)
    q = queries.unflatten(-1, (H, -1)).transpose(1, 2)  # (B, H, L, D)
    k = keys.unflatten(-1, (H, -1)).transpose(1, 2)
    v = values.unflatten(-1, (H, -1)).transpose(1, 2)
    D = q.shape[-1]
    products = q @ k.mT
    scores = products / math.sqrt(D)
    weights = scores.softmax(-1)
    heads = weights @ v
    factor = head_mask[:, None, None]  # (H, 1, 1)
    scaled = heads * factor
    merged = scaled.transpose(1, 2).flatten(2)
    output = attn.o_proj(merged)
    return output


@masked_heads.cases
def _(rng):
    def case(about, B, H, L, D, head_mask=None, dtype=torch.float32, **kwargs):
        x = torch.randn(B, L, H * D, generator=rng)
        factors = torch.randn(H, generator=rng) if head_mask is None else head_mask
        factors = torch.as_tensor(factors, dtype=dtype)
        args = (controlled.random_attention(rng, H, D, dtype), x.to(dtype), factors)
        return Case(about, args, with_module, finish=unless_changed, **kwargs)

    yield controlled.by_hand(0, [[3.0, 5.0]], [0.5, 0.0])
    yield controlled.by_hand(1, [[3.0, 5.0]], [0.0, 2.0])
    yield controlled.by_hand(2, [[1.0, 2.0], [3.0, 6.0]], [1.0, -1.0])
    yield controlled.by_hand(3, [[1.0, 2.0], [2.0, 0.0], [1.0, 1.0]], [1.0])
    yield case("all sizes different", 2, 3, 5, 4)
    yield case("heads 0 and 2 of four ablated", 2, 4, 5, 3, [0, 1, 0, 1])
    yield case("all heads ablated", 2, 3, 5, 4, [0, 0, 0])
    yield case("all factors one", 2, 3, 5, 4, [1, 1, 1], grad=False)
    many = [30, -7, 0, 1.5, -1, 0.3, 2, 0.5]
    yield case("eight heads, seven tokens, factors from -7 to 30", 1, 8, 7, 2, many)
    yield case("B = H, factors that add up to zero", 2, 2, 5, 4, [1.5, -1.5], grad=False)
    yield case("one head", 2, 1, 5, 4, [0.3], grad=False)
    yield case("B = H = L = D", 3, 3, 3, 3, grad=False)
    yield case("D = 1, so that E = H", 2, 5, 4, 1, grad=False)
    yield case("one token", 3, 4, 1, 2, grad=False)
    yield case("float64, and L = E", 2, 3, 6, 2, dtype=torch.float64, tolerance=1e-6)
    yield case("bfloat16", 2, 3, 5, 4, dtype=torch.bfloat16, grad=False)
    attention = controlled.random_attention(rng, 3, 4)
    x = torch.randn(5, 2, 12, generator=rng).transpose(0, 1)
    factors = torch.randn(6, generator=rng)[::2]
    yield Case(
        "not contiguous", (attention, x, factors), with_module, finish=unless_changed
    )
    yield case("13 heads, 20 words", 1, 13, 20, 5, [1, 0] * 6 + [1])
    yield case("factors of thousands", 2, 3, 5, 4, [5000, 0.5, -2000], grad=False)


controlled.add_mistakes(masked_heads, "head_mask")
masked_heads.rows(f"""
How often does the factor act if queries, keys and values are all multiplied? Which of the three
does softmax turn into something else?
    all-three-scaled  scaled = ((q * factor) @ (k * factor).mT / math.sqrt(D)).softmax(-1) @ (v * factor)
In a head with factor 0, what do the numbers add up to that you divide by, in the softmax or after
it? And what does a factor of 0.5 do to a head in your code?
    silent-head-is-nan  scaled = scores.masked_fill(factor == 0, -torch.inf).softmax(-1) @ v
v_proj has a weight and a bias. With factor 0, what is left of the values in your code?
    value-bias-still-flows  values = x @ attn.v_proj.weight.T * head_mask.repeat_interleave(x.shape[-1] // H) + attn.v_proj.bias ; scaled = heads
Print the shape of what you multiply, and below it that of head_mask, lined up from the right. Which
axis does the H of head_mask meet?
    factor-on-the-wrong-axis  factor = head_mask || head_mask[:, None]
    factor-on-the-wrong-axis  factor = head_mask[:, None, None, None]
    factor-on-the-wrong-axis  scaled = heads ; merged = _ * head_mask
In the merged vector, which channels belong to head 0? Which factors do the first D channels get
from you? `repeat` and `repeat_interleave` are not the same.
    factors-tiled  scaled = heads ; merged = _ * head_mask.repeat(v.shape[-1])
Which columns of o_proj's weight read head 2? What do they read in your code once head 1 is left
out? Zeros keep a place, too.
    heads-left-out  scaled = torch.cat([_[:, head_mask != 0], _[:, head_mask == 0]], 1)
    heads-left-out  scaled = _[:, head_mask != 0]
A factor may be any number. What does your code make of 0.3, of 2, and of -1?
    not-any-number  factor = (_ != 0).to(x.dtype) || (_ > 0).to(x.dtype)
    not-any-number  factor = (_ > 0.5).to(x.dtype) || _.clamp(0, 1) || _.clamp(min=0)
Which factor silences a head: 0 or 1? What does yours do with a head whose factor is 1?
    upside-down  factor = 1 - _
Each head is multiplied by its own number. Does your number for head 0 depend on that of head 1?
    factors-normalized  factor = _.softmax(0) || _ * H / _.sum()
Which line of yours uses head_mask? What changes if it is all zero?
    head-mask-ignored  scaled = heads
{controlled.AFTER_O_PROJ}
    scaled-after-o-proj  scaled = heads ; output = _ * head_mask.repeat_interleave(v.shape[-1])
    scaled-after-o-proj  scaled = heads ; output = _ * head_mask || _ * head_mask[:, None]
    scaled-after-o-proj  scaled = heads ; output = merged @ attn.o_proj.weight.T * head_mask.repeat_interleave(v.shape[-1]) + attn.o_proj.bias
{controlled.SCORES}
    scores-scaled  scaled = scores.masked_fill(factor == 0, -1e9).softmax(-1) @ v
{controlled.INPUT}
    input-scaled  queries, keys, values = (x) => (x * head_mask.repeat_interleave(x.shape[-1] // H)) ; scaled = heads
{controlled.MORE_ROWS}""")


def writes(write):
    """Add the mistake of an answer that writes the factors of the channels into `attn`."""

    @masked_heads.mistake(
        "attn-changed",
        "Which line of yours writes into `attn`, or into one of its layers? Everybody else who uses this "
        "module gets your version. Can you multiply what the layer is given, instead of the layer?",
    )
    def _(attn, x, head_mask):
        write(attn, head_mask.repeat_interleave(x.shape[-1] // attn.num_heads))
        return attn(x)


writes(lambda attn, m: attn.o_proj.weight.data.mul_(m))
writes(lambda attn, m: setattr(attn.o_proj, "weight", nn.Parameter(attn.o_proj.weight * m)))
writes(lambda attn, m: [p.data.T.mul_(m) for p in attn.v_proj.parameters()])

masked_heads.drills(
    "upside-down, scale-twice, softmax-over-queries, transposed-scores, factor-on-the-wrong-axis 1, "
    "merged-without-transpose, scale-of-the-whole-width, scale-after-softmax"
)
