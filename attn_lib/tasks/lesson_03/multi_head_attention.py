"""The task `MultiHeadAttention`: the whole module, for self- and cross-attention, with a mask."""

import math

import torch
from torch import nn

import attn_lib
from attn_lib.checks.authoring import Case, run_module_in_eval, sharpened_parameters, task
from attn_lib.tasks.lesson_01.far_scores import FAR, ROUGHLY, set_far


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.o_proj = nn.Linear(d_model, d_model)

    def forward(self, x, context=None, mask=None):
        H = self.num_heads
        source = x if context is None else context
        queries = self.q_proj(x)
        keys = self.k_proj(source)
        values = self.v_proj(source)
        q = queries.unflatten(-1, (H, -1)).transpose(1, 2)  # (B, H, L, D)
        k = keys.unflatten(-1, (H, -1)).transpose(1, 2)
        v = values.unflatten(-1, (H, -1)).transpose(1, 2)
        D = q.shape[-1]
        products = q @ k.mT
        scores = products / math.sqrt(D)
        everything = torch.ones(scores.shape[-2:], dtype=torch.bool)
        allowed = everything if mask is None else mask
        forbidden = ~allowed
        hidden = scores.masked_fill(forbidden, -torch.inf)
        weights = hidden.softmax(-1)
        kept = weights.masked_fill(forbidden, 0.0)
        heads = kept @ v
        merged = heads.transpose(1, 2).flatten(2)
        output = self.o_proj(merged)
        return output


multi_head_attention = task(
    lesson=3,
    points=5,
    insight="Your module and `nn.MultiheadAttention` compute the same from the same numbers.",
    library=attn_lib.MultiHeadAttention,
    without=("weights-times-k", "keys-and-values-swapped", "epsilon-in-denominator"),
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

    def case(about, B, L, H, D, S=None, *, mask=None, dtype=torch.float32, x=None, **rest):
        """S: the length of the context; None = no context is given."""
        parameters = sharpened_parameters(MultiHeadAttention(H * D, H), rng, dtype)
        scale, grad = rest.pop("scale", 1.0), rest.pop("grad", False)
        inputs = [randn(B, n, H * D) * scale for n in (L, S) if n] if x is None else x
        inputs = [t.to(dtype) for t in inputs] + ([] if mask is None else [{"mask": mask}])
        return Case(
            about, ((H * D, H), parameters, *inputs), run_module_in_eval, grad=grad, **rest
        )

    # Small numbers, so that it can be worked out by hand: the rows of each weight, then its bias.
    numbers = dict(
        q_proj=[[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 2, 0], [0, 0, 1, 1], [0, 1, 0, 0]],
        k_proj=[[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 1, 0], [2, 0, 0, 1], [0, 0, 0, 1]],
        v_proj=[[0, 1, 0, 0], [1, 0, 0, 2], [0, 0, 0, 1], [0, 0, 2, 0], [1, 0, 0, 0]],
        o_proj=[[1, 0, 0, 1], [0, 1, 0, 0], [0, 2, 1, 0], [0, 0, 0, 1], [0, 0, 3, 0]],
    )
    rows = {layer: torch.tensor(five).float() for layer, five in numbers.items()}
    parameters = {f"{layer}.weight": five[:4] for layer, five in rows.items()}
    parameters |= {f"{layer}.bias": five[4] for layer, five in rows.items()}
    x = torch.tensor([[[1.0, 0, 0, 1], [0, 1, 1, 0]]])
    context = torch.tensor([[[2.0, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 2]]])
    one = {"mask": torch.tensor([[True, False], [True, True]])}
    nothing = {"mask": torch.tensor([[False, False], [True, True]])}
    for about, *inputs in (
        ("two words, two heads", x),
        ("the same words, word 0 may not see word 1", x, one),
        ("the same words, word 0 may see nothing", x, nothing),
        # As long as x: the fused kernel reads past the end of values that are too few.
        ("two words, a context of two", x, context[:, 1:]),
        ("two words, a context of two, word 0 may not see word 1", x, context[:, 1:], one),
        ("two words, a context of three", x, context),
    ):
        yield Case(about, ((4, 2), parameters, *inputs), run_module_in_eval)

    causal = attn_lib.causal_mask(5, 5)
    yield case("all sizes different, no context", 2, 5, 3, 6, grad=True)
    yield case("all sizes different", 2, 5, 3, 6, S=7, grad=True)
    yield case("a causal mask (L, L)", 2, 5, 3, 6, mask=causal)
    padded = attn_lib.padding_mask(torch.tensor([7, 4]), 7)
    yield case("a padding mask (B, 1, 1, S)", 2, 5, 3, 6, S=7, mask=padded)
    both = attn_lib.padding_mask(torch.tensor([5, 3]), 5) & causal
    yield case("padding and causal (B, 1, L, L)", 2, 5, 3, 6, mask=both, grad=True)
    yield case("a mask for each head", 2, 4, 3, 2, S=5, mask=some(2, 3, 4, 5))
    mask = some(2, 1, 4, 5)
    mask[0, :, 1] = mask[1, :, 3] = False
    yield case("some queries may see nothing", 2, 4, 2, 3, S=5, mask=mask, grad=True)
    mask = some(2, 3, 4, 5)
    mask[0, 1, 2] = mask[1, 2, 0] = False
    yield case("a query may see nothing in one head", 2, 4, 3, 2, S=5, mask=mask, grad=True)
    yield case("B = L = H = S", 3, 3, 3, 4, S=3, mask=some(3, 1, 1, 3, p=0.5))
    yield case("one head", 2, 4, 1, 5, S=3)
    yield case("D = 1", 2, 4, 5, 1, S=3)
    yield case("eight heads, twelve words", 1, 12, 8, 2)
    yield case("one query", 2, 1, 2, 3, S=4, mask=some(2, 1, 1, 4))
    yield case("scores in the hundreds", 2, 5, 3, 4, scale=12.0, tolerance=1e-2)
    about, mask = "every score near -150", some(2, 1, 5, 6)
    below = case(about, 2, 5, 2, 4, S=6, mask=mask, scale=0.5, tolerance=1e-2)
    below.args[1]["q_proj.bias"].fill_(8.7)
    below.args[1]["k_proj.bias"].fill_(-8.7)
    yield below
    padded = attn_lib.padding_mask(torch.tensor([4, 5]), 6)
    about = "every allowed score near -30, forbidden ones 0"
    below = case(about, 2, 5, 2, 4, S=6, mask=padded, scale=0.3)
    _, parameters, _, context, _ = below.args
    parameters["q_proj.bias"].fill_(4.0)
    parameters["k_proj.weight"].copy_(torch.eye(8))
    parameters["k_proj.bias"].zero_()
    context -= 4.0
    context.masked_fill_(~padded[:, 0].mT, 0.0)
    yield below
    below = case(FAR, 2, 5, 3, 2, S=6, mask=some(2, 1, 5, 6), **ROUGHLY)
    set_far(below.args[1])
    yield below
    yield case("nobody may see anything", 2, 3, 2, 3, S=4, mask=torch.zeros(3, 4).bool())
    apart = [randn(2, 6, 4).mT, randn(5, 2, 6).transpose(0, 1)]
    yield case("not contiguous", 2, 4, 3, 2, x=apart, mask=some(4, 5))
    exact = {"dtype": torch.float64, "grad": True, "tolerance": 1e-6}
    yield case("float64", 2, 4, 2, 3, S=5, mask=some(4, 5), **exact)
    for half in (torch.float16, torch.bfloat16):
        about, mask = str(half).removeprefix("torch."), some(2, 1, 4, 5)
        mask[0, :, 1] = False
        yield case(about, 2, 4, 2, 3, S=5, mask=mask, scale=0.7, dtype=half)
    yield case("13 heads, 20 words", 1, 20, 13, 4, S=30)
    mask = some(1, 3, 4, 5)
    mask[0, 1, 2] = False
    yield case("one mask for each head, for both samples", 2, 4, 3, 2, S=5, mask=mask)
    yield case("1100 words of context", 1, 2, 2, 3, S=1100)


multi_head_attention.rows("""
In Python, is 4 / 2 the number 2 or 2.0? Which operator divides into whole numbers?
    head-dim-is-a-float  q = queries.view(len(x), -1, H, x.shape[-1] / H).transpose(1, 2)
    head-dim-is-a-float  q = queries.reshape(len(x), -1, H, x.shape[-1] / H).transpose(1, 2)
After attention the axes are (B, H, L, D). Which two must change places before the heads of one word
stand side by side? Neither `view` nor `reshape` moves an axis, and only one of them may copy.
    merged-without-transpose  merged = heads.reshape(x.shape)
    merged-without-transpose  merged = heads.transpose(1, 2).view(x.shape)
    merged-without-transpose  merged = heads.transpose(2, 3).reshape(x.shape)
How long are the vectors inside the dot product of one head?
    scale-by-d-model  D = x.shape[-1]
Print the number that you divide by. Is its square D, or has something been cut off?
    scale-int-sqrt  scores = products / math.isqrt(D)
`context` and `mask` may be None, or a tensor of many numbers, which is neither true nor false.
Which question tells these two apart?
    none-not-asked  source = context || context or x
One head's scores are (B, L, S), a mask may be (B, H, L, S). Which part of it belongs to head h, and
what if its heads axis has size 1?
    mask-not-cut-for-its-head  merged = torch.cat([(q[:, h] @ k[:, h].mT / math.sqrt(D)).masked_fill(~allowed, -torch.inf).softmax(-1).masked_fill(~allowed, 0.0) @ v[:, h] for h in range(H)], -1)
    mask-not-cut-for-its-head  merged = torch.cat([F.scaled_dot_product_attention(q[:, h], k[:, h], v[:, h], attn_mask=mask) for h in range(H)], -1)
What score does a hidden key have in your code, and what is exp of it? How low must it be, if those
of the allowed keys are low too?
    fill-not-low-enough  hidden = -torch.inf => -100.0 ; kept = weights * allowed.any(-1, keepdim=True)
    fill-not-low-enough  hidden = -torch.inf => -100.0
With three heads, how many sets of weights should a query have? How many has it in your code?
    one-head-only  products = _.sum(1, keepdim=True) || _.mean(1, keepdim=True)
    one-head-only  kept = _.mean(1, keepdim=True)
You call `o_proj`, or add its bias, how many times? What does its bias count for then?
    bias-of-o-proj-for-every-head  output = _ + (H - 1) * self.o_proj.bias
Nobody asked to add x here. Does the formula add it?
    residual-added  output = x + _
Which axis of the weights has to meet the keys' axis of v?
    weights-transposed  heads = kept.mT @ v
How many layers stand between the merged heads and the output?
    o-proj-applied-twice  output = self.o_proj(_)
A query that sees nothing gets zero from every head. What does `o_proj` make of zeros, and does your
output still have that?
    zeroed-after-o-proj  output = _ * allowed.expand(scores.shape).any(-1).any(1)[..., None]
Queries, keys, values: which ask, and which are looked up? Change x alone, then the context alone:
which of your three lines notice?
    wrong-sequence  source = x
    wrong-sequence  queries = self.q_proj(source) ; keys = self.k_proj(x) ; values = self.v_proj(x)
    wrong-sequence  queries = self.q_proj(source) ; keys = self.k_proj(x)
    wrong-sequence  queries = self.q_proj(source)
    wrong-sequence  values = self.v_proj(x)
    wrong-sequence  keys = self.k_proj(x)
If a context is given, whose words may be looked up: only its own, or those of x as well?
    context-appended-to-x  source = x if context is None else torch.cat([x, context], 1)
Which layer makes the queries in your code, which the keys, which the values? Is each used once?
    wrong-projection  values = self.k_proj(source) || source
    wrong-projection  keys = self.v_proj(source) ; values = self.k_proj(source)
    wrong-projection  keys = self.q_proj(source)
    wrong-projection  queries = self.k_proj(x)
    wrong-projection  queries = x ; keys, values = source
What is the shape of `nn.Linear(3, 5).weight`? Why not call the layer and let it transpose?
    weights-not-transposed  queries = x @ self.q_proj.weight + self.q_proj.bias ; keys = source @ self.k_proj.weight + self.k_proj.bias ; values = source @ self.v_proj.weight + self.v_proj.bias
    weights-not-transposed  output = merged @ self.o_proj.weight + self.o_proj.bias
Change sample 1. Does the output of sample 0 move? The first axis of x counts samples.
    batch-as-tokens  queries, keys, values, output = _.transpose(0, 1)
Are `q_proj`, `k_proj` and `v_proj` three layers, or three names of one?
    one-layer-for-all-three  k_proj, v_proj = self.q_proj
    one-layer-for-all-three  v_proj = self.k_proj
Which numbers of word 0 are in head 0? Look at your split: `view` and `reshape` only read on in
memory order. Does `split_heads` pass its own check?
    split-view-no-transpose  q, k, v = .unflatten(-1, (H, -1)).transpose(1, 2) => .reshape(len(x), H, -1, x.shape[-1] // H)
    split-view-no-transpose  q, k, v = .unflatten(-1, (H, -1)).transpose(1, 2) => .reshape(len(x), H, -1, x.shape[-1] // H) ; merged = heads.reshape(x.shape)
Which channels belong to head 0: the first D, or every H-th? Which are channel 0 of head 1 before the
split, and after the merge?
    interleaved-channels  q, k, v = (H, -1)).transpose(1, 2) => (-1, H)).permute(0, 3, 1, 2)
    interleaved-channels  q, k, v = (H, -1)).transpose(1, 2) => (-1, H)).permute(0, 3, 1, 2) ; merged = heads.permute(0, 2, 3, 1).flatten(2)
    interleaved-channels  merged = heads.permute(0, 2, 3, 1).flatten(2)
Print the shape of q after your split. How many heads are there, and how wide is each?
    heads-of-the-wrong-size  q, k, v = (H, -1) => (-1, H)
    heads-of-the-wrong-size  q, k, v = .unflatten(-1, (H, -1)).transpose(1, 2) => [:, None]
Which two axes does your score matrix have: words by words, or heads by heads? Print the shape of q
right before q·k.
    heads-attend-to-each-other  q, k, v = .transpose(1, 2) =>
    heads-attend-to-each-other  q, k, v = .transpose(1, 2) => ; merged = heads.flatten(2)
How many words has the context, and which length does your code use when it cuts keys and values?
    context-cut-by-the-length-of-x  k, v = .unflatten(-1, (H, -1)) => .view(len(x), x.shape[1], H, -1)
    context-cut-by-the-length-of-x  k, v = .unflatten(-1, (H, -1)) => .view(len(x), x.shape[1], H, x.shape[-1] // H)
Feed zeros: what should a layer with a bias give? Which of yours leave theirs out?
    bias-not-added  queries = _ - self.q_proj.bias ; values = _ - self.v_proj.bias
    bias-not-added  queries = _ - self.q_proj.bias
    bias-not-added  values = _ - self.v_proj.bias
    bias-not-added  output = _ - self.o_proj.bias
`d_model` is the width of all heads together. How many channels should each layer read, and how many
make? In which order does `__init__` take the two sizes?
    layers-of-the-wrong-size  q_proj, k_proj, v_proj, o_proj = nn.Linear(d_model // num_heads, d_model // num_heads)
    layers-of-the-wrong-size  q_proj, k_proj, v_proj, o_proj = nn.Linear(d_model, d_model // num_heads)
    layers-of-the-wrong-size  q_proj, k_proj, v_proj, o_proj = nn.Linear(d_model, d_model * num_heads)
    layers-of-the-wrong-size  q_proj, k_proj, v_proj, o_proj = nn.Linear(num_heads, num_heads) ; num_heads = d_model
Each of the four layers has a bias here. Which argument of `nn.Linear` did you set?
    bias-left-out  q_proj, k_proj, v_proj, o_proj = nn.Linear(d_model, d_model, bias=False)
    bias-left-out  q_proj, k_proj, v_proj = nn.Linear(d_model, d_model, bias=False)
    bias-left-out  o_proj = nn.Linear(d_model, d_model, bias=False)
The mask already lines up with the scores (B, H, L, S) from the right, whatever its shape. Which of its
shapes does your line misread?
    mask-taken-for-padding  heads = F.scaled_dot_product_attention(q, k, v, attn_mask=None if mask is None else mask[:, None, None, :])
`any(-1)` takes the axis of the keys away. With which axis of the weights does its result line up then,
counted from the right?
    row-lines-up-with-keys  hidden = -torch.inf => torch.finfo(scores.dtype).min ; kept = weights if mask is None else weights.masked_fill(~allowed.any(-1), 0.0)
    row-lines-up-with-keys  kept = weights if mask is None else weights.masked_fill(~allowed.any(-1), 0.0)
Which two axes of k do you exchange, counted from 0? Heads and words stay apart: D of q must meet D of k.
    wrong-axes-of-k  products = q @ k.transpose(1, 2)
""")

multi_head_attention.drills(
    "none-not-asked 1, wrong-axes-of-k, softmax-over-the-wrong-axis, forbidden-scores-set-to-zero 1, "
    "merged-without-transpose, wrong-sequence 3, scale-by-d-model, scale-after-softmax, "
    "context-cut-by-the-length-of-x, full-row-uniform"
)
