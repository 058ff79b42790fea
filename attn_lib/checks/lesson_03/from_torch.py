"""The task `from_torch`: the weights of PyTorch's own module, carried over into the learner's."""

import torch
from torch import nn

import attn_lib
from attn_lib.checks.case import Case
from attn_lib.checks.lesson_03.runs import LAYERS, Weights, carry_over
from attn_lib.checks.lesson_03.steps import with_step
from attn_lib.checks.task import task

# Named like the learner's own: some messages of PyTorch name the class.
MultiHeadAttention = with_step()


@task(
    lesson=3,
    points=3,
    returns=("output for x", "output for x and a context", "output with a mask"),
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
    return attn_lib.MultiHeadAttention.from_torch(mha)


@from_torch.cases
def _(rng):
    def randn(*shape):
        return torch.randn(*shape, generator=rng)

    def case(B, L, S, H, D, mask=None, also="", **options):
        E = H * D
        weight = randn(3 * E, E) / E**0.5
        weight[: 2 * E] *= 1.5
        weights = {
            "in_proj_weight": weight,
            "in_proj_bias": randn(3 * E),
            "out_proj.weight": randn(E, E) / E**0.5,
            "out_proj.bias": randn(E),
        }
        if mask is None:
            keep = torch.randint(S, (L, 1), generator=rng)
            mask = (torch.rand(L, S, generator=rng) < 0.6).scatter(-1, keep, True)
        inputs = {"x": randn(B, L, E), "context": randn(B, S, E), "mask": mask}
        about = f"an `nn.MultiheadAttention({E}, {H})`{also}"
        return Case(about, (Weights(H, weights), inputs), carry_over, **options)

    # Three matrices that are easy to tell apart.
    eye = torch.eye(4)
    out = [[1.0, 0, 0, 1], [0, 1, 0, 0], [0, 2, 1, 0], [0, 0, 0, 1]]
    weights = {
        "in_proj_weight": torch.cat([eye, 2 * eye.roll(1, 0), 3 * eye.roll(1, 1)]),
        "in_proj_bias": torch.tensor([1.0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2]),
        "out_proj.weight": torch.tensor(out),
        "out_proj.bias": torch.tensor([0.0, 0.0, 3.0, 0.0]),
    }
    context = [[[0.0, 0, 1, 0], [0, 1, 0, 1], [1, 0, 0, 0], [0, 0, 1, 1]]]
    inputs = {
        "x": torch.tensor([[[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]]]),
        "context": torch.tensor(context),
        "mask": torch.tensor([[True, False, True, False], [True, True, False, True]]),
    }
    about = "an `nn.MultiheadAttention(4, 2)` with simple weights"
    yield Case(about, (Weights(2, weights), inputs), carry_over)
    yield case(2, 5, 7, 3, 6)
    yield case(2, 5, 7, 6, 3)
    yield case(2, 5, 7, 6, 3, also=", other weights", grad=False)
    yield case(3, 4, 5, 3, 3, grad=False)
    yield case(2, 3, 4, 1, 5, grad=False)
    yield case(2, 3, 4, 5, 1, grad=False)
    padding = (torch.arange(4) < torch.tensor([[4], [2]]))[:, None, None]
    yield case(2, 3, 4, 2, 6, mask=padding, also=", a padding mask", grad=False)


def _copied(mha, weights, biases, heads=None):
    """The right module, with these weights and biases in q_proj, k_proj, v_proj, o_proj.

    None leaves the numbers that the layer was made with.
    """
    module = MultiHeadAttention(mha.embed_dim, heads or mha.num_heads)
    with torch.no_grad():
        for name, weight, bias in zip(LAYERS, weights, biases, strict=True):
            layer = getattr(module, name)
            if weight is not None:
                layer.weight.copy_(weight)
            if bias is not None:
                layer.bias.copy_(bias)
    return module


def _weights(mha):
    return [*mha.in_proj_weight.chunk(3), mha.out_proj.weight]


def _biases(mha):
    return [*mha.in_proj_bias.chunk(3), mha.out_proj.bias]


def _ordered(values, order):
    return [values[i] for i in order]


_ORDER = (
    "The rows of `in_proj_weight`, from above: whose are the first E, whose the next? The name that PyTorch "
    "gives to a forward, `mha(query, key, value)`, has them in the same order."
)
for _order in ((1, 0, 2, 3), (2, 1, 0, 3), (0, 2, 1, 3), (1, 2, 0, 3), (2, 0, 1, 3)):

    @from_torch.mistake("chunk-order-mixed-up", _ORDER)
    def _(mha, order=_order):
        return _copied(mha, _ordered(_weights(mha), order), _ordered(_biases(mha), order))


for _order in ((1, 0, 2, 3), (2, 1, 0, 3), (0, 2, 1, 3)):

    @from_torch.mistake(
        "bias-order-mixed-up",
        "The weights are in their places. In which order does `in_proj_bias` hold the three biases?",
    )
    def _(mha, order=_order):
        return _copied(mha, _weights(mha), _ordered(_biases(mha), order))


@from_torch.mistake(
    "same-chunk-for-all-three",
    "Do your three slices begin at different rows?",
)
def _(mha):
    weights, biases = _weights(mha), _biases(mha)
    return _copied(mha, _ordered(weights, (0, 0, 0, 3)), _ordered(biases, (0, 0, 0, 3)))


@from_torch.mistake(
    "weights-transposed",
    "What is the shape of `nn.Linear(3, 5).weight`? Does PyTorch store its own matrix the other way round?",
)
def _(mha):
    return _copied(mha, [w.T for w in _weights(mha)], _biases(mha))


@from_torch.mistake(
    "in-proj-transposed",
    "`F.linear(x, w)` computes x times w transposed, in PyTorch's module as in `nn.Linear`. Do the three "
    "input matrices need a `.T` then?",
)
def _(mha):
    *weights, last = _weights(mha)
    return _copied(mha, [*(w.T for w in weights), last], _biases(mha))


@from_torch.mistake(
    "out-proj-transposed",
    "`mha.out_proj` is an `nn.Linear`, and so is your `o_proj`. Why should one be transposed?",
)
def _(mha):
    *weights, last = _weights(mha)
    return _copied(mha, [*weights, last.T], _biases(mha))


@from_torch.mistake(
    "out-proj-forgotten",
    "Four layers need new numbers. Which one of yours still has the random ones it was made with?",
)
def _(mha):
    return _copied(mha, [*_weights(mha)[:3], None], [*_biases(mha)[:3], None])


@from_torch.mistake(
    "in-proj-forgotten",
    "Four layers need new numbers. Which of yours still have the random ones they were made with?",
)
def _(mha):
    return _copied(mha, [None] * 3 + _weights(mha)[3:], [None] * 3 + _biases(mha)[3:])


_BIAS = (
    "How many parameters has each of your layers: a weight only? What becomes of `mha.in_proj_bias` and "
    "`mha.out_proj.bias`?"
)
_ZEROS = [0.0] * 4
for _made in ("as they were made", "zero"):
    for _keep in ((), (3,), (0, 1, 2)):

        @from_torch.mistake("biases-forgotten", _BIAS)
        def _(mha, keep=_keep, zero=_made == "zero"):
            other = torch.zeros(mha.embed_dim) if zero else None
            biases = [b if i in keep else other for i, b in enumerate(_biases(mha))]
            return _copied(mha, _weights(mha), biases)


@from_torch.mistake(
    "fused-rows-interleaved",
    "Are the rows of the three projections stacked one after the other, or dealt out in turn? Compare "
    "`w[0::3]` and `w[:E]`.",
)
def _(mha):
    weight, bias = mha.in_proj_weight, mha.in_proj_bias
    return _copied(
        mha,
        [*(weight[i::3] for i in range(3)), mha.out_proj.weight],
        [*(bias[i::3] for i in range(3)), mha.out_proj.bias],
    )


@from_torch.mistake(
    "fused-rows-per-head",
    "Which comes first in the 3E rows: queries of all heads, or queries, keys and values of head 0? Write "
    "down which rows your head 0 calls q.",
)
def _(mha):
    weight = mha.in_proj_weight.unflatten(0, (mha.num_heads, 3, -1))
    bias = mha.in_proj_bias.unflatten(0, (mha.num_heads, 3, -1))
    return _copied(
        mha,
        [*(weight[:, i].flatten(0, 1) for i in range(3)), mha.out_proj.weight],
        [*(bias[:, i].flatten(0, 1) for i in range(3)), mha.out_proj.bias],
    )


@from_torch.mistake(
    "num-heads-wrong",
    "How many heads has `mha`, and how many has yours? `head_dim` is the width of one head.",
)
def _(mha):
    return _copied(mha, _weights(mha), _biases(mha), heads=mha.head_dim)


@from_torch.mistake("num-heads-wrong", "How many heads has `mha`, and how many has yours?")
def _(mha):
    return _copied(mha, _weights(mha), _biases(mha), heads=1)


@from_torch.mistake(
    "nothing-copied",
    "Which line of yours writes a number of `mha` into your module? With `strict=False`, names that do not "
    "match are skipped in silence.",
)
def _(mha):
    return MultiHeadAttention(mha.embed_dim, mha.num_heads)


@from_torch.mistake(
    "sizes-swapped",
    "In which order does your `MultiHeadAttention` take its two sizes: the width first, or the number of "
    "heads?",
)
def _(mha):
    module = MultiHeadAttention(mha.num_heads, mha.embed_dim)
    with torch.no_grad():
        module.q_proj.weight.copy_(mha.in_proj_weight[: mha.embed_dim])
    return module


@from_torch.mistake(
    "names-do-not-match",
    "Which names has `mha.state_dict()`, and which has that of your module? Three of yours are one of theirs.",
)
def _(mha):
    module = MultiHeadAttention(mha.embed_dim, mha.num_heads)
    module.load_state_dict(mha.state_dict())
    return module


@from_torch.mistake(
    "tensor-assigned-as-parameter",
    "A layer's weight must stay an `nn.Parameter`. Which method writes new numbers into the one that is "
    "there?",
)
def _(mha):
    module = MultiHeadAttention(mha.embed_dim, mha.num_heads)
    module.q_proj.weight = mha.in_proj_weight[: mha.embed_dim]
    return module


@from_torch.mistake(
    "tensor-assigned-as-layer",
    "`q_proj` is a layer, and a matrix is one of its two parameters. What is that parameter called, and "
    "which method writes new numbers into it?",
)
def _(mha):
    module = MultiHeadAttention(mha.embed_dim, mha.num_heads)
    module.q_proj = mha.in_proj_weight[: mha.embed_dim]
    return module


@from_torch.mistake(
    "parameters-zipped",
    "How many parameters has `mha`, and how many has your module? Print the names and shapes of both, side "
    "by side.",
)
def _(mha):
    module = MultiHeadAttention(mha.embed_dim, mha.num_heads)
    with torch.no_grad():
        for mine, theirs in zip(module.parameters(), mha.parameters(), strict=False):
            mine.copy_(theirs)
    return module


@from_torch.mistake(
    "copied-outside-no-grad",
    "Should copying be part of what autograd records? Under which `with` does it record nothing?",
)
def _(mha):
    module = MultiHeadAttention(mha.embed_dim, mha.num_heads)
    module.q_proj.weight.copy_(mha.in_proj_weight[: mha.embed_dim])
    return module


@from_torch.mistake(
    "chunked-along-inputs",
    "The matrix is (3E, E). Along which of its axes do three (E, E) matrices stand one after the other?",
)
def _(mha):
    weights = [*mha.in_proj_weight.chunk(3, dim=1), mha.out_proj.weight]
    return _copied(mha, weights, _biases(mha))


@from_torch.mistake(
    "mha-changed",
    "The given module should only be read. Which line of yours writes into it? In `a.copy_(b)`, which of "
    "the two receives the numbers?",
)
def _(mha):
    module = MultiHeadAttention(mha.embed_dim, mha.num_heads)
    with torch.no_grad():
        for name, weight, bias in zip(LAYERS, _weights(mha), _biases(mha), strict=True):
            weight.copy_(getattr(module, name).weight)
            bias.copy_(getattr(module, name).bias)
    return module


@from_torch.mistake(
    "mha-changed",
    "The given module should only be read. Which line of yours sets something in it? `eval()`, `double()` "
    "and `requires_grad_()` change a module in place, whatever they return.",
)
def _(mha):
    return _copied(mha.eval(), _weights(mha), _biases(mha))


_MADE: dict = {}


@from_torch.mistake(
    "one-module-for-all",
    "Is your module made inside the function or outside, once for all calls?",
)
def _(mha):
    sizes = mha.embed_dim, mha.num_heads
    module = _MADE.setdefault(sizes, MultiHeadAttention(*sizes))
    module.load_state_dict(_copied(mha, _weights(mha), _biases(mha)).state_dict())
    return module


@from_torch.mistake(
    "mha-returned",
    "The task is to carry the weights over. Into a module of which class?",
)
def _(mha):
    return mha


@from_torch.mistake(
    "class-returned",
    "A class is a plan. Which call makes a module from it, and with which two numbers?",
)
def _(mha):
    return MultiHeadAttention


class _Wrapper(nn.Module):
    def __init__(self, mha):
        super().__init__()
        self.mha = mha

    def forward(self, x, context=None, mask=None):
        context = x if context is None else context
        return self.mha(x, context, context, attn_mask=None if mask is None else ~mask)[0]


@from_torch.mistake(
    "mha-wrapped",
    "Does your module compute attention itself, or does it ask PyTorch's to do so? Which eight parameters "
    "should it have?",
)
def _(mha):
    return _Wrapper(mha)


@from_torch.mistake(
    "weights-scaled-again",
    "Your module divides by the square root of D already. Does PyTorch store its queries' weights divided?",
)
def _(mha):
    weights, biases = _weights(mha), _biases(mha)
    s = mha.head_dim**-0.5
    return _copied(mha, [weights[0] * s, *weights[1:]], [biases[0] * s, *biases[1:]])
