"""The task `from_torch`: the weights of PyTorch's own module, carried over into the learner's."""

# ruff: noqa: F841 - every line has a name, even if nobody reads it

from functools import cache

import torch

import attn_lib
from attn_lib.checks.authoring import Case, task
from attn_lib.tasks.lesson_03.runs import Weights, carry_over, unless_changed


@task(
    lesson=3,
    points=3,
    insight="Weights are numbers under names: who knows the layout can carry them anywhere.",
    returns=(
        "output for x",
        "output for x and a context",
        "output with a mask",
        "bias of your `k_proj`",
    ),
    library=attn_lib.MultiHeadAttention.from_torch,
    hints=[
        "Print `mha.in_proj_weight.shape` and `mha.out_proj`. Which of your four layers is there under "
        "another name, and which three must be hidden in one matrix?",
        "The (3E, E) matrix is three (E, E) matrices, one below the other: queries, keys, values. The bias "
        "(3E,) is cut in the same way. An `nn.Linear` keeps its weight as (out, in), as PyTorch does here.",
        "Make your module with `mha.embed_dim` and `mha.num_heads`. Then, under `torch.no_grad()`, "
        "`copy_` writes numbers into a parameter that is there: which goes into which? There are eight.",
    ],
)
def from_torch(mha):
    E = mha.embed_dim
    H = mha.num_heads
    module = attn_lib.MultiHeadAttention(E, H)
    matrices = mha.in_proj_weight.chunk(3)
    biases = mha.in_proj_bias.chunk(3)
    matrix = mha.out_proj.weight
    bias = mha.out_proj.bias
    with torch.no_grad():
        q_weight = module.q_proj.weight.copy_(matrices[0])
        k_weight = module.k_proj.weight.copy_(matrices[1])
        v_weight = module.v_proj.weight.copy_(matrices[2])
        o_weight = module.o_proj.weight.copy_(matrix)
        q_bias = module.q_proj.bias.copy_(biases[0])
        k_bias = module.k_proj.bias.copy_(biases[1])
        v_bias = module.v_proj.bias.copy_(biases[2])
        o_bias = module.o_proj.bias.copy_(bias)
    return module


@from_torch.cases
def _(rng):
    def randn(*shape):
        return torch.randn(*shape, generator=rng)

    def weights(H, *tensors):
        names = ("in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias")
        return Weights(H, dict(zip(names, tensors, strict=True)))

    def case(B, L, S, H, D, mask=None, also="", **options):
        E = H * D
        three = randn(3 * E, E) / E**0.5
        three[: 2 * E] *= 1.5
        made = weights(H, three, randn(3 * E), randn(E, E) / E**0.5, randn(E))
        if mask is None:
            keep = torch.randint(S, (L, 1), generator=rng)
            mask = (torch.rand(L, S, generator=rng) < 0.6).scatter(-1, keep, True)
        inputs = {"x": randn(B, L, E), "context": randn(B, S, E), "mask": mask}
        about = f"an `nn.MultiheadAttention({E}, {H})`{also}"
        return Case(about, (made, inputs), carry_over, finish=unless_changed, **options)

    eye = torch.eye(4)  # from which three matrices are made that are easy to tell apart
    three = torch.cat([eye, 2 * eye.roll(1, 0), 3 * eye.roll(1, 1)])
    bias = torch.tensor([1.0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2])
    out = torch.tensor([[1.0, 0, 0, 1], [0, 1, 0, 0], [0, 2, 1, 0], [0, 0, 0, 1]])
    simple = weights(2, three, bias, out, torch.tensor([0.0, 0, 3, 0]))
    inputs = {
        "x": torch.tensor([[[1.0, 0, 0, 1], [0, 1, 1, 0]]]),
        "context": torch.tensor(
            [[[0.0, 0, 1, 0], [0, 1, 0, 1], [1, 0, 0, 0], [0, 0, 1, 1]]]
        ),
        "mask": torch.tensor([[True, False, True, False], [True, True, False, True]]),
    }
    about = "an `nn.MultiheadAttention(4, 2)` with simple weights"
    yield Case(about, (simple, inputs), carry_over, finish=unless_changed)
    yield case(2, 5, 7, 3, 6)
    yield case(2, 5, 7, 6, 3)
    yield case(2, 5, 7, 6, 3, also=", other weights", grad=False)
    yield case(3, 4, 5, 3, 3, grad=False)
    yield case(2, 3, 4, 1, 5, grad=False)
    yield case(2, 3, 4, 5, 1, grad=False)
    padding = (torch.arange(4) < torch.tensor([[4], [2]]))[:, None, None]
    yield case(2, 3, 4, 2, 6, mask=padding, also=", a padding mask", grad=False)


from_torch.rows("""
Do your three slices begin at different rows?
    same-chunk-for-all-three  matrices, biases = [_[0]] * 3
    same-chunk-for-all-three  matrices = [_[0]] * 3
    same-chunk-for-all-three  biases = [_[0]] * 3
Print `mha.q_proj_weight`. PyTorch fills it only where keys or values have another width. In which matrix
do the weights of the queries stand here?
    name-that-is-not-in-use  q_weight = module.q_proj.weight.copy_(mha.q_proj_weight)
What is the shape of `nn.Linear(3, 5).weight`? Does PyTorch store its own the other way round?
    weights-transposed  matrices = [m.T for m in _] ; matrix = _.T
    weights-transposed  matrices = [m.T for m in _]
    weights-transposed  matrix = _.T
How many heads has `mha`, and how many has yours? `head_dim` is the width of one head.
    num-heads-wrong  H = mha.head_dim || 1 || E
In which order does your `MultiHeadAttention` take its two sizes: the width first, or the number of
heads?
    sizes-swapped  module = attn_lib.MultiHeadAttention(H, H)
Print the names and shapes of the parameters of `mha` and of your module, side by side. How many has
each? Which of yours are in which of theirs?
    names-do-not-match  q_weight = module.load_state_dict(mha.state_dict())
    names-do-not-match  q_weight = [p.copy_(t) for p, t in zip(module.parameters(), mha.parameters())]
`q_proj` is a layer, `q_proj.weight` is one of its two parameters, and both must stay so. Which
method writes new numbers into a parameter that is there?
    tensor-assigned  q_weight = setattr(module.q_proj, 'weight', matrices[0])
    tensor-assigned  q_weight = setattr(module, 'q_proj', matrices[0])
The matrix is (3E, E). Along which of its axes do three (E, E) matrices stand one after the other?
    chunked-along-inputs  matrices = chunk(3) => chunk(3, 1)
Set all numbers of the module that you return to zero. What is `mha` then? Does `nn.Parameter(t)`,
`.data = t`, `assign=True` or `a.layer = b.layer` make new numbers, or a second name for the same
ones?
    shares-memory  q_weight = setattr(module.q_proj, 'weight', nn.Parameter(matrices[0]))
    shares-memory  q_bias = setattr(module.q_proj, 'bias', nn.Parameter(biases[0]))
    shares-memory  o_weight = setattr(module, 'o_proj', mha.out_proj) ; o_bias = None
    shares-memory  o_bias = setattr(module.o_proj, 'bias', mha.out_proj.bias)
The given module should only be read. Which line of yours writes into it? In `a.copy_(b)`, which of
the two receives the numbers? And what do `eval()`, `double()`, `requires_grad_()` do to a module?
    mha-changed  q_weight = matrices[0].copy_(module.q_proj.weight)
    mha-changed  o_weight = matrix.copy_(module.o_proj.weight)
    mha-changed  E = mha.eval().embed_dim
Does your module compute attention itself, or does it ask PyTorch's to do so? Into a module of which
class should the weights be carried over?
    mha-returned  return = mha || nn.ModuleDict(dict(mha=mha))
A class is a plan. Which call makes a module from it, and with which two numbers?
    class-returned  return = attn_lib.MultiHeadAttention
Your module divides by the square root of D already. Does PyTorch store its queries' weights
divided?
    weights-scaled-again  q_weight, q_bias = _.mul_(mha.head_dim**-0.5)
    weights-scaled-again  q_weight = _.mul_(mha.head_dim**-0.5)
Should copying be part of what autograd records? Under which `with` does it record nothing?
    copied-outside-no-grad  q_weight = torch.enable_grad()(module.q_proj.weight.copy_)(matrices[0])
Four layers need new numbers. Which of yours still have the random ones they were made with? With
`strict=False`, names that do not match are skipped in silence.
    layers-forgotten  o_weight, o_bias = None
    layers-forgotten  k_weight, k_bias = None
    layers-forgotten  v_weight, v_bias = None
    layers-forgotten  k_weight, k_bias, v_weight, v_bias = None
    layers-forgotten  q_weight, q_bias, k_weight, k_bias, v_weight, v_bias = None
    layers-forgotten  k_weight, k_bias, v_weight, v_bias, o_weight, o_bias = None
    layers-forgotten  q_weight, q_bias, k_weight, k_bias, v_weight, v_bias, o_weight, o_bias = None
    layers-forgotten  o_weight = None
    layers-forgotten  q_weight = None
    layers-forgotten  k_weight = None
    layers-forgotten  v_weight = None
How many parameters has each of your layers: a weight only? What becomes of `mha.in_proj_bias` and
`mha.out_proj.bias`?
    biases-forgotten  q_bias, k_bias, v_bias, o_bias = None || _.zero_()
    biases-forgotten  q_bias, k_bias, v_bias = None || _.zero_()
    biases-forgotten  o_bias = None || _.zero_()
    biases-forgotten  q_bias = None
    biases-forgotten  v_bias = None
    biases-forgotten  k_bias, v_bias = None
Are the rows of the three projections stacked one after the other, or dealt out in turn, row by row or
head by head? Write down which of the 3E rows your head 0 calls q.
    fused-rows-interleaved  matrices, biases = .chunk(3) => .unflatten(0, (E, 3)).transpose(0, 1)
    fused-rows-interleaved  matrices, biases = .chunk(3) => .unflatten(0, (H, 3, -1)).transpose(0, 1).flatten(1, 2)
Are the rows of the three matrices stacked one after the other, or dealt out in turn? Which of the 3E rows does
your `q_proj` get?
    matrix-rows-interleaved  matrices = .chunk(3) => .unflatten(0, (E, 3)).transpose(0, 1)
Your `k_proj` has a bias, too. No output shows it: it adds one number to all scores of a query, and the softmax
does not notice. Where is it in `mha`?
    bias-of-keys-forgotten  k_bias = None || _.zero_()
Four layers need new numbers, eight in all with their biases. Which line of yours should write into the three
weights? What stands left of `=` there: a parameter, or a new name?
    weights-forgotten  q_weight, k_weight, v_weight = None
    weights-forgotten  q_weight, k_weight, v_weight, o_weight = None
Print `mha`, and the names of its parameters. Under which of them does it hold what you look for?
    names-of-mine  q_weight = module.q_proj.weight.copy_(mha.q_proj.weight)
    names-of-mine  matrix = mha.o_proj.weight || mha.out_proj_weight
Two of your layers get the same numbers of `mha`. Write down where each third begins, and where it ends.
    same-rows-twice  matrices = [_[0], _[1], _[1]] || [_[0], _[0], _[2]]
    same-rows-twice  matrices, biases = [_[0], _[1], _[1]] || [_[0], _[0], _[2]]
    same-rows-twice  biases = [_[0], _[1], _[1]] || [_[0], _[0], _[2]]
""")
for order in ("(1, 0, 2)", "(2, 1, 0)", "(0, 2, 1)", "(1, 2, 0)", "(2, 0, 1)"):
    from_torch.rows(f"""
The rows of `in_proj_weight`, from above: whose are the first E, whose the next? They stand in the order in
which a call takes its three tensors: `mha(query, key, value)`.
    chunk-order-mixed-up  matrices, biases = [_[i] for i in {order}]
The weights are in their places. In which order does `in_proj_bias` hold the three biases?
    bias-order-mixed-up  biases = [_[i] for i in {order}]
The biases are in their places. In which order does `in_proj_weight` hold the three matrices?
    weight-order-mixed-up  matrices = [_[i] for i in {order}]
""")

made = cache(attn_lib.MultiHeadAttention)


@from_torch.mistake(
    "one-module-for-all",
    "Is your module made inside the function or outside, once for all calls?",
)
def _(mha):
    module = made(mha.embed_dim, mha.num_heads)
    right = attn_lib.MultiHeadAttention.from_torch(mha)
    module.load_state_dict(right.state_dict())
    return module


from_torch.drills(
    "names-of-mine 2, num-heads-wrong, weights-transposed 2, chunked-along-inputs"
)
