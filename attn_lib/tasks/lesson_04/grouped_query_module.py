"""The task `GroupedQueryAttention`: the module with the dial `num_kv_heads`."""

import math

import torch
from torch import nn

from attn_lib import causal_mask, padding_mask
from attn_lib.checks.authoring import (
    Case,
    run_module,
    run_module_in_eval,
    sharpened_parameters,
    task,
)
from attn_lib.tasks.lesson_01.far_scores import FAR, ROUGHLY
from attn_lib.tasks.lesson_04.group_mistakes import GROUPS, QUERIES
from attn_lib.tasks.lesson_04.runs import after_another_mask


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__()
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads
        self.head_dim = d_model // num_heads
        kv_width = num_kv_heads * self.head_dim
        self.q_proj = nn.Linear(d_model, d_model, bias=False)
        self.k_proj = nn.Linear(d_model, kv_width, bias=False)
        self.v_proj = nn.Linear(d_model, kv_width, bias=False)
        self.o_proj = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, mask=None):
        H = self.num_heads
        queries = self.q_proj(x)
        keys = self.k_proj(x)
        values = self.v_proj(x)
        q = queries.unflatten(-1, (H, -1)).transpose(1, 2)
        few_k = keys.unflatten(-1, (self.num_kv_heads, -1)).transpose(1, 2)
        few_v = values.unflatten(-1, (self.num_kv_heads, -1)).transpose(1, 2)
        Hkv = few_k.shape[1]
        which = torch.arange(H) // (H // Hkv)  # the K/V head of each query head
        k = few_k[:, which]
        v = few_v[:, which]
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


grouped_query_module = task(
    lesson=4,
    points=3,
    insight="With RoPE beside it, this module runs a real language model in lesson 14.",
    # Few of the inputs have low scores or are float16.
    without=(
        "fill-1e9",
        "fill-too-large-for-float16",
        "fill-not-low-enough",
        "zero-times-inf",
        "maximum-not-subtracted",
        "epsilon-in-denominator",
        "weights-times-k",
    ),
    hints=[
        "It is your `MultiHeadAttention` of lesson 03, with two projections that are narrower. How "
        "wide are num_kv_heads heads of head_dim channels?",
        "In `forward`: project, split q into H heads but k and v into Hkv heads, call your "
        "`grouped_query_attention` with the mask, merge, and project once more.",
        "head_dim is d_model // num_heads, for all three. Splitting is `unflatten` or `view` to "
        "(B, L, heads, head_dim), and then the axes of L and of the heads change places; merging goes "
        "the same way back.",
    ],
)(GroupedQueryAttention)


@grouped_query_module.cases
def _(rng):
    def case(about, B, L, d_model, H, Hkv, dtype=torch.float32, mask=None, **kwargs):
        parameters = sharpened_parameters(
            GroupedQueryAttention(d_model, H, Hkv), rng, dtype
        )
        x = torch.randn(B, L, d_model, generator=rng).to(dtype)
        inputs = (x,) if mask is None else (x, {"mask": mask})
        return Case(about, ((d_model, H, Hkv), parameters, *inputs), run_module, **kwargs)

    eye = torch.eye(4)
    parameters_by_eye = {
        "q_proj.weight": eye + eye.roll(1, 0),
        "k_proj.weight": torch.tensor([[1.0, 0, 0, 1], [0, 1, 1, 0]]),
        "v_proj.weight": torch.tensor([[1.0, 0, 2, 0], [0, 1, 0, 3]]),
        "o_proj.weight": eye + 2 * eye.roll(1, 1),
    }
    x = torch.tensor([[[1.0, 0, 2, 0], [0, 1, 1, 0], [1, 1, 0, 0]]])
    yield Case("three words", ((4, 2, 1), parameters_by_eye, x), run_module)
    yield case("two words, four heads, two K/V heads", 1, 2, 8, 4, 2)
    yield case("all sizes different", 2, 5, 24, 8, 2)
    yield case("six heads, three K/V heads", 2, 5, 24, 6, 3)
    yield case("one K/V head", 2, 5, 12, 4, 1)
    yield case("as many K/V heads as heads", 2, 5, 12, 4, 4)
    yield case("B = H, one K/V head", 4, 5, 12, 4, 1)
    yield case("L = H", 2, 8, 24, 8, 2)
    yield case("B = L = Hkv", 2, 2, 12, 6, 2)
    yield case("one head", 2, 5, 6, 1, 1)
    yield case("head_dim 1", 2, 3, 6, 6, 2)
    yield case("head_dim 6", 2, 5, 24, 4, 2)
    yield case("one word", 2, 1, 12, 4, 2)
    yield case("three words, a causal mask", 1, 3, 4, 2, 1, mask=causal_mask(3, 3))
    both = padding_mask(torch.tensor([5, 3]), 5) & causal_mask(5, 5)
    yield case("padding and causal", 2, 5, 24, 8, 2, mask=both)
    per_head = (torch.rand(2, 6, 5, 5, generator=rng) < 0.5) | (torch.eye(5) > 0)
    yield case("a mask for each head", 2, 5, 24, 6, 3, mask=per_head)
    # Its keys are the first two channels, its queries the first two and the last two.
    by_eye = {**parameters_by_eye, "q_proj.weight": eye, "k_proj.weight": eye[:2]}
    x = torch.tensor([[[1.0, 0, 1, 2], [0, 1, 2, 1], [300, 300, 0, 0]]])
    mask = {"mask": torch.tensor([[True, True, False]])}
    about = "the hidden word's score is 200 or more above the others"
    yield Case(about, ((4, 2, 1), by_eye, x, mask), run_module, grad=False)
    # Channel 0 is the same in each word: queries and keys read nothing else.
    x = torch.tensor([[[1.0, 1, 1, 2], [1, 1, 2, 1], [1, 0, 3, 0]]])
    far = {"q_proj.weight": eye[:1].expand(4, 4) * 850, "k_proj.weight": eye[:1] * -850}
    far["k_proj.weight"] = far["k_proj.weight"].expand(2, 4)
    args = (4, 2, 1), {**by_eye, **far}, x, mask
    yield Case(FAR, args, run_module, grad=False, **ROUGHLY)
    three_axes = (torch.rand(4, 3, 3, generator=rng) < 0.5) | (torch.eye(3) > 0)
    yield case("B = H, a mask (H, L, L)", 4, 3, 8, 4, 2, mask=three_axes)
    left = (torch.arange(5) >= torch.tensor([[0], [2]]))[:, None, None] & causal_mask(5, 5)
    yield case("words that see nothing", 2, 5, 12, 4, 2, mask=left)
    sizes, parameters, x = case("", 2, 5, 24, 8, 2).args
    five_words = x
    strided = sizes, parameters, x.mT.contiguous().mT
    yield Case("not contiguous", strided, run_module)
    yield Case("in eval mode", (sizes, parameters, x), run_module_in_eval)
    yield case("float64", 2, 5, 24, 8, 2, torch.float64, tolerance=1e-6)
    yield case("bfloat16", 2, 4, 12, 4, 2, torch.bfloat16, grad=False)
    yield case("11 K/V heads for 33", 1, 20, 132, 33, 11)
    exact = {"tolerance": 1e-9, "grad": False}
    yield case("float64, to nine digits", 2, 5, 8, 2, 1, torch.float64, **exact)
    yield case("float16", 2, 5, 12, 4, 2, torch.float16, mask=left, grad=False)
    # The first word meets only itself; all other scores are 0.
    x = torch.tensor([[[1.0, 1, 0, 2], [0, 1, 2, 1], [0, 0, 3, 0]]])
    for dtype, far_away in ((torch.float32, 1e15), (torch.float16, 170.0)):
        low = {"q_proj.weight": far["q_proj.weight"] / 850 * far_away}
        low["k_proj.weight"] = far["k_proj.weight"] / 850 * far_away
        low = {name: t.to(dtype) for name, t in {**by_eye, **low}.items()}
        about = f"{dtype}, a causal mask, the first score below {-(far_away**2):.2g}"
        args = ((4, 2, 1), low, x.to(dtype), {"mask": causal_mask(3, 3)})
        yield Case(about.removeprefix("torch."), args, run_module, grad=False)
    words = padding_mask(torch.tensor([5, 3]), 5)
    yield case("padding (B, 1, 1, L)", 2, 5, 24, 8, 2, mask=words)
    masks = {"first": causal_mask(5, 5), "mask": causal_mask(5, 5).T}
    about = "the second call of one module, with another mask of that shape"
    yield Case(
        about, (sizes, parameters, five_words, masks), after_another_mask, grad=False
    )
    yield case("82 heads, two K/V heads", 1, 3, 82, 82, 2)
    yield case("300 words", 1, 300, 4, 2, 1)


grouped_query_module.rows(GROUPS)
grouped_query_module.rows("""
Lined up from the right with (B, H, L, L), what does the first of three axes of a mask count?
    heads-of-the-mask-for-sentences  allowed = _ if mask is None or _.ndim != 3 else _[:, None]
How many heads does `k_proj` make, and how many channels has each of them?
    kv-width  kv_width = d_model || num_kv_heads
Into how many heads is d_model cut: into num_heads, or into num_kv_heads? How wide is a head?
    head-dim-from-kv-heads  kv_width = d_model // num_kv_heads
    head-dim-from-kv-heads  head_dim = d_model // num_kv_heads ; q_proj = nn.Linear(d_model, num_heads * self.head_dim, bias=False) ; o_proj = nn.Linear(num_heads * self.head_dim, d_model, bias=False)
Feed x = 0: what should come out, and what does? Which argument of `nn.Linear` is on by default?
    bias-left-in  q_proj, k_proj, v_proj, o_proj = False => True
    bias-left-in  q_proj, k_proj, v_proj = False => True
    bias-left-in  q_proj = False => True
    bias-left-in  v_proj = False => True
    bias-left-in  o_proj = False => True
Where should channel 0 of head 1 land in the merged vector: at 1, or at head_dim?
    merged-channels-first  merged = heads.permute(0, 2, 3, 1).flatten(2)
How many matrices stand between the merged heads and the result?
    o-proj-twice  output = self.o_proj(_)
How long are the vectors inside one head's dot product?
    scale-by-d-model  D = x.shape[-1] || keys.shape[-1] || x.shape[-1] // self.num_kv_heads
Change the weight of each of your four layers in turn. Does the result notice every one?
    another-layer-called  values = self.k_proj(x)
    another-layer-called  keys = self.v_proj(x)
    another-layer-called  output = self.q_proj(merged) || self.o_proj(x)
Neighboring channels belong to one head. In which order do you give `view` its two sizes?
    head-as-the-fast-axis  q = (H, -1)).transpose(1, 2) => (-1, H)).permute(0, 3, 1, 2)
    head-as-the-fast-axis  few_k, few_v = (self.num_kv_heads, -1)).transpose(1, 2) => (-1, self.num_kv_heads)).permute(0, 3, 1, 2)
    head-as-the-fast-axis  few_k = (self.num_kv_heads, -1)).transpose(1, 2) => (-1, self.num_kv_heads)).permute(0, 3, 1, 2)
    head-as-the-fast-axis  few_v = (self.num_kv_heads, -1)).transpose(1, 2) => (-1, self.num_kv_heads)).permute(0, 3, 1, 2)
Does each query head read one K/V head in yours, or a mean of several?
    kv-heads-averaged  k = few_k.mean(1, keepdim=True) ; v = few_v.mean(1, keepdim=True)
k and v have fewer heads than q. What makes them as many, before heads meet heads?
    heads-not-shared  k = few_k ; v = few_v
    heads-not-shared  k = few_k.repeat_interleave(Hkv, 1) ; v = few_v.repeat_interleave(Hkv, 1)
Call it twice with the same input. Is the answer the same?
    dropout-left-in  kept = F.dropout(_, 0.1)
    dropout-left-in  output = F.dropout(_, 0.1)
Nobody asked to add x here. Who will do that later?
    residual-added  output = x + _
Print the shapes of q, k and v after the split. How many heads has each of them? Are all heads
equally wide?
    split-into-other-heads  few_k = self.num_kv_heads => H ; v = few_v.repeat_interleave(H // few_v.shape[1], 1)
    split-into-other-heads  few_k = self.num_kv_heads => H ; v = few_v.repeat_interleave(H // few_v.shape[1], 1) ; products = torch.einsum('bhld,bhsd->bhls', q, k)
    split-into-other-heads  few_v = self.num_kv_heads => H
    split-into-other-heads  q = (H, -1) => (self.num_kv_heads, -1)
Which numbers of word 0 end up in head 0? Try `arange`.
    heads-cut-from-words  q = .unflatten(-1, (H, -1)).transpose(1, 2) => .reshape(len(x), H, x.shape[1], -1) ; few_k, few_v = .unflatten(-1, (self.num_kv_heads, -1)).transpose(1, 2) => .reshape(len(x), self.num_kv_heads, x.shape[1], -1)
    heads-cut-from-words  few_k, few_v = .unflatten(-1, (self.num_kv_heads, -1)).transpose(1, 2) => .reshape(len(x), self.num_kv_heads, x.shape[1], -1)
Which rows of `q_proj.weight` belong to head 0: the first head_dim rows, or every H-th?
    channels-dealt-out  q = (H, -1)).transpose(1, 2) => (self.head_dim, -1)).permute(0, 3, 1, 2) ; few_k, few_v = (self.num_kv_heads, -1)).transpose(1, 2) => (self.head_dim, -1)).permute(0, 3, 1, 2)
Whom does word 0 look at in yours: the other words, or the heads of word 0 itself? Print the shape of
your scores. Which two axes should stand last?
    heads-attend-in-a-word  q = .transpose(1, 2) => ; few_k, few_v = .transpose(1, 2) => ; Hkv = self.num_kv_heads ; k = few_k.repeat_interleave(H // Hkv, 2) ; v = few_v.repeat_interleave(H // Hkv, 2) ; merged = heads.flatten(2)
Give a word the keys 1, 2, 3, 4, as two heads of two channels. What is it after your repeat: are whole
heads repeated, or single channels?
    channels-repeated  k = keys.repeat_interleave(H // Hkv, -1).unflatten(-1, (H, -1)).transpose(1, 2) ; v = values.repeat_interleave(H // Hkv, -1).unflatten(-1, (H, -1)).transpose(1, 2)
Are there more heads after your repeat, or more words? Which axis counts heads where you repeat?
    words-repeated  k = few_k.repeat_interleave(H // Hkv, 2) ; v = few_v.repeat_interleave(H // Hkv, 2)
How many heads are merged before `o_proj`: num_heads, or num_kv_heads?
    o-proj-of-kv-width  o_proj = nn.Linear(kv_width, d_model, bias=False)
""")
grouped_query_module.rows(QUERIES)

grouped_query_module.drills(
    "kv-width, softmax-over-queries, o-proj-of-kv-width, merged-without-transpose, divided-by-num-kv-heads, "
    "scale-by-d-model 1, heads-tiled, heads-cut-from-words 1"
)
