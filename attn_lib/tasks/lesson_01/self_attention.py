"""The task `SelfAttention`: one head as a module."""

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
from attn_lib.tasks.lesson_01.far_scores import FAR, ROUGHLY


class SelfAttention(nn.Module):
    def __init__(self, d_model, head_dim):
        super().__init__()
        self.q_proj = nn.Linear(d_model, head_dim, bias=False)
        self.k_proj = nn.Linear(d_model, head_dim, bias=False)
        self.v_proj = nn.Linear(d_model, head_dim, bias=False)

    def forward(self, x):
        q = self.q_proj(x)
        k = self.k_proj(x)
        v = self.v_proj(x)
        D = q.shape[-1]
        products = q @ k.mT
        scores = products / math.sqrt(D)
        weights = scores.softmax(-1)
        output = weights @ v
        return output


self_attention = task(
    lesson=1,
    points=4,
    insight="Three matrices are all that this head can learn.",
    library=attn_lib.SelfAttention,
    without=("softmax-over-the-wrong-axis", "weights-times-k"),
    hints=[
        "In `__init__`, after `super().__init__()`: three `nn.Linear`, named `q_proj`, `k_proj`, "
        "`v_proj`. From which width to which? With a bias or not?",
        "In `forward`, one x makes all three: queries, keys and values. Then call your `attention`.",
        "`attention` returns two things, `forward` should return one: the output. And the scale "
        "belongs to head_dim, which `attention` reads from the queries by itself.",
    ],
)(SelfAttention)


@self_attention.cases
def _(rng):
    def case(about, B, L, d_model, head_dim, dtype=torch.float32, scale=1.0, **options):
        parameters = sharpened_parameters(SelfAttention(d_model, head_dim), rng, dtype)
        x = (torch.randn(B, L, d_model, generator=rng) * scale).to(dtype)
        return Case(about, ((d_model, head_dim), parameters, x), run_module, **options)

    # Worked out by hand, so that a wrong answer is far from the right one.
    parameters = {
        "q_proj.weight": torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]),
        "k_proj.weight": torch.tensor([[0.0, 2.0, 0.0], [1.0, 0.0, -1.0]]),
        "v_proj.weight": torch.tensor([[2.0, 0.0, 1.0], [0.0, 4.0, -1.0]]),
    }
    x = torch.tensor([[[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]]])
    yield Case("two words", ((3, 2), parameters, x), run_module)
    yield case("all sizes different", 2, 5, 10, 6)
    yield case("the same sizes, other numbers", 2, 5, 10, 6)
    yield case("D larger than d_model", 2, 5, 4, 7)
    yield case("d_model = head_dim", 2, 5, 8, 8)
    yield case("every size 4", 4, 4, 4, 4)
    yield case("one word", 2, 1, 10, 6)
    yield case("batch 1, D = 1", 1, 4, 5, 1)
    yield case("40 words, head_dim 64", 1, 40, 24, 64, scale=0.4)
    far = {"tolerance": 1e-2, "grad": False}
    yield case("scores in the hundreds", 2, 5, 10, 6, scale=12.0, **far)
    # Queries and keys read channel 0 only, which is the same in each word.
    same = torch.tensor([[850.0, 0.0, 0.0]]).expand(2, 3)
    apart = {**parameters, "q_proj.weight": same, "k_proj.weight": -same}
    x = torch.tensor([[[1.0, 0.0, 2.0], [1.0, 1.0, 0.0], [1.0, 2.0, 1.0]]])
    yield Case(FAR, ((3, 2), apart, x), run_module, grad=False, **ROUGHLY)
    sizes, parameters, x = case("", 2, 5, 10, 6).args
    strided = sizes, parameters, x.mT.contiguous().mT
    yield Case("not contiguous", strided, run_module)
    yield Case("in eval mode", (sizes, parameters, x), run_module_in_eval)
    yield case("float64", 2, 5, 10, 6, torch.float64, tolerance=1e-6)
    yield case("bfloat16", 2, 5, 10, 6, torch.bfloat16, grad=False)
    exact = {"tolerance": 1e-9, "grad": False}
    yield case("float64, to nine digits", 2, 5, 10, 4, torch.float64, scale=1 / 3, **exact)
    yield case("float16", 2, 5, 10, 6, torch.float16, grad=False)
    yield case("300 words", 1, 300, 3, 2)


self_attention.rows("""
How long are the vectors inside the dot product?
    scale-by-d-model  D = x.shape[-1]
D need not be a square number. Which type has the root of such a D in your code?
    scale-int-sqrt  scores = sqrt => isqrt || products / round(math.sqrt(D))
Change sample 1. Does the output of sample 0 move?
    softmax-over-batch  weights = softmax(-1) => softmax(0)
How many different layers are there in your module? Does `a = b = nn.Linear(...)` make two?
    one-layer-for-all  q = self.v_proj(x) ; k = self.v_proj(x)
    one-layer-for-all  k = self.q_proj(x) ; v = self.q_proj(x)
    one-layer-for-all  q = self.k_proj(x) ; v = self.k_proj(x)
Where does `forward` use `v_proj`, and is it a layer of its own?
    keys-as-values  v = self.k_proj(x) || self.q_proj(x)
What should be compared with the query, and what be mixed?
    keys-and-values-swapped  k = self.v_proj(x) ; v = self.k_proj(x)
Where does `forward` use `k_proj`, and is it a layer of its own?
    queries-as-keys  k = self.q_proj(x) || self.v_proj(x)
Where does `forward` use `q_proj`, and is it a layer of its own?
    keys-as-queries  q = self.k_proj(x) || self.v_proj(x)
What is mixed: x itself, or what `v_proj` makes of it?
    values-not-projected  v = x
What is compared: x itself, or what `q_proj` and `k_proj` make of it?
    x-compared  q = x ; k = x
    x-compared  q = x
    x-compared  k = x
Where does `forward` use your three projections?
    nothing-projected  q = x ; k = x ; v = x
What is the shape of `nn.Linear(3, 5).weight`? Why not call the layer and let it transpose?
    weights-not-transposed  q = x @ self.q_proj.weight ; k = x @ self.k_proj.weight ; v = x @ self.v_proj.weight
Do two words get different outputs in your code? What is a word's output a mixture of?
    mean-of-values  output = v.mean(1, keepdim=True).expand_as(v) || v.mean(1, keepdim=True)
Is it a look-up of one value, or a mixture of all?
    only-the-best-key  weights = nn.functional.one_hot(scores.argmax(-1), x.shape[1]).to(x.dtype)
What does `forward` promise: one thing, or two?
    weights-returned-too  return = output, weights
`forward` should return the mixture. Which one do you return?
    weights-returned  return = weights || scores
Nobody asked to add x here. What shape would it need to have?
    residual-added  output = _ + x
Nobody asked for a mask. May word 0 see word 1 here?
    causal  scores = _ + torch.full_like(_, -torch.inf).triu(1)
Call the module twice with the same input. Is the answer the same?
    dropout-left-in  weights = nn.functional.dropout(_, 0.1) || nn.functional.dropout(_)
    dropout-left-in  output = nn.functional.dropout(_, 0.1)
Feed x = 0: what should come out, and what does? Which argument of `nn.Linear` is on by default?
    bias-left-in  q_proj = False => True ; k_proj = False => True ; v_proj = False => True
    bias-left-in  q_proj = False => True
    bias-left-in  v_proj = False => True
From which width to which does each of your layers lead? What goes in: x, or what another layer made
of it?
    layer-sizes  q_proj = nn.Linear(head_dim, d_model, bias=False)
    layer-sizes  q_proj = nn.Linear(d_model, d_model, bias=False)
    layer-sizes  k_proj = nn.Linear(head_dim, head_dim, bias=False)
    layer-sizes  v_proj = nn.Linear(head_dim, head_dim, bias=False)
    layer-sizes  v_proj = nn.Linear(d_model, d_model, bias=False)
    layer-sizes  k = self.k_proj(q)
    layer-sizes  v = self.v_proj(k) || self.v_proj(q)
Print `list(module.parameters())` before any call. In which method are the layers made, what stands
before their names, and is each one a layer?
    layers-not-kept  q_proj = [_] ; k_proj = [_] ; v_proj = [_]
    layers-not-kept  q_proj = nn.Parameter(torch.randn(d_model, head_dim)) ; k_proj = nn.Parameter(torch.randn(d_model, head_dim)) ; v_proj = nn.Parameter(torch.randn(d_model, head_dim))
Write down all that happens to x, from the first layer to the output. Which step did nobody ask for?
    extra-step  q = _.relu() ; k = _.relu() ; v = _.relu()
    extra-step  q = _.relu() ; k = _.relu()
    extra-step  q = _.tanh() ; k = _.tanh() ; v = _.tanh()
    extra-step  q = _.tanh() ; k = _.tanh()
    extra-step  v = _.relu()
    extra-step  output = nn.functional.layer_norm(_, _.shape[-1:])
    extra-step  v_proj = (_, setattr(self, 'o_proj', nn.Linear(head_dim, head_dim, bias=False)))[0] ; output = self.o_proj(_)
    extra-step  v_proj = (_, setattr(self, 'o_proj', nn.Linear(head_dim, head_dim)))[0] ; output = self.o_proj(_)
    extra-step  v_proj = (_, setattr(self, 'o_proj', nn.Linear(head_dim, d_model, bias=False)))[0] ; output = self.o_proj(_)
    extra-step  v_proj = (_, setattr(self, 'out_proj', nn.Linear(head_dim, head_dim)))[0] ; output = self.out_proj(_)
What makes a positive number of every score, and what must it be divided by?
    no-softmax  weights = scores / scores.sum(-1, keepdim=True) || scores.exp()
Three axes are asked for: (B, L, D). Which one is missing in your result?
    axis-lost  output = _.mean(1) || _.squeeze() || _[0]
Which dtype goes in, and which one comes out?
    dtype-changed  output = _.float() || _.double()
""")


@self_attention.mistake(
    "super-forgotten",
    "A module keeps its layers in places that `nn.Module` makes first. Which line calls its `__init__`?",
)
class WithoutSuper(nn.Module):
    def __init__(self, d_model, head_dim):
        self.q_proj = nn.Linear(d_model, head_dim, bias=False)


self_attention.rows("""
Of what are the shares made: of the queries and the keys, or of how well they fit?
    softmax-before-product  weights = q.softmax(-1) @ k.softmax(-1).mT
    softmax-before-product  weights = q.softmax(-1) @ k.softmax(1).mT
    softmax-before-product  weights = q.softmax(-1) @ k.mT
    softmax-before-product  weights = q.softmax(-1) @ k.softmax(-1).mT / math.sqrt(D)
    softmax-before-product  weights = q.softmax(-1) @ k.mT / math.sqrt(D)
    softmax-before-product  products = q.softmax(-1) @ k.softmax(-1).mT
What should add up to 1: the weights of a word, or the features of its output?
    softmax-of-the-output  output = _.softmax(-1)
""")

self_attention.drills(
    "weights-returned-too, residual-added, scale-multiplied, keys-not-transposed, softmax-over-queries, "
    "transposed-scores, scale-by-d-model, scale-after-softmax"
)
