"""The task `attention_rollout`: attention followed through all layers."""

import torch

import attn_lib
from attn_lib.checks.lesson_06.steps import (
    causal_weights,
    given,
    in_another_layout,
    random_weights,
)
from attn_lib.checks.task import task


@task(
    lesson=6,
    points=3,
    hints=[
        "Begin with one layer. Its heads become one map, (B, L, L). The residual connection lets each "
        "token keep itself: which matrix says 'each token looks at itself only'?",
        "Two layers: output i looks at k in the second layer, and k looked at j in the first one. Add "
        "up over all k in between. Which product of matrices is that, and which factor stands on the "
        "left?",
        "Start with the identity (L, L), in the dtype of the weights. Walk through the list from its "
        "beginning, and multiply what you have by (A + I) / 2 of the next layer, from the left.",
    ],
)
def attention_rollout(layers):
    return attn_lib.attention_rollout(layers)


@attention_rollout.cases
def _(rng):
    def several(n, *shape):
        return [random_weights(rng, *shape) for _ in range(n)]

    first = torch.tensor([[[[1.0, 0.0], [0.5, 0.5]]]])
    second = torch.tensor([[[[0.0, 1.0], [1.0, 0.0]]]])
    yield given("one layer, one head, two tokens", [first])
    yield given("two layers, one head, two tokens", [first, second])
    heads = torch.tensor([[[[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.0, 1.0]]]])
    yield given("one layer, two heads, two tokens", [heads])
    samples = [torch.cat([first, second]), torch.cat([second, first])]
    yield given("two layers, two samples, two tokens", samples)
    yield given("three layers, all sizes different", several(3, 2, 4, 5, 5))
    yield given("as many layers as samples, heads and tokens", several(4, 4, 4, 4, 4))
    yield given("the same layer three times", [random_weights(rng, 2, 3, 4, 4)] * 3)
    causal = [causal_weights(rng, 2, 4, 5, 5) for _ in range(3)]
    yield given("causal", causal)
    yield given("eleven layers", several(11, 1, 2, 3, 3))
    layouts = [in_another_layout(weights) for weights in several(2, 2, 3, 4, 4)]
    yield given("not contiguous", layouts)
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        layers = [weights.to(dtype) for weights in several(3, 2, 3, 4, 4)]
        yield given(f"{dtype}".removeprefix("torch."), layers)


def _identity(like):
    return torch.eye(like.shape[-1]).to(like)


def _kept(weights):
    """One layer with its residual, (..., L, L)."""
    return (weights + _identity(weights)) / 2


def _product(matrices):
    """The product of a list of matrices, the last one on the left."""
    result = matrices[0]
    for matrix in matrices[1:]:
        result = matrix @ result
    return result


_ORDER = (
    "The last layer's keys are what the layer before put out. In the row of an output, which layer is "
    "met first: must the last one stand on the left of the product, or on the right?"
)


@attention_rollout.mistake("order-reversed", _ORDER)
def _(layers):
    return _product([_kept(weights.mean(1)) for weights in layers[::-1]])


@attention_rollout.mistake(
    "residual-forgotten",
    "Beside what it gathers, each token keeps itself: the residual connection. Where is it in yours?",
)
def _(layers):
    return _product([weights.mean(1) for weights in layers])


@attention_rollout.mistake(
    "not-halved", "What do the rows of A + I add up to? What should they add up to?"
)
def _(layers):
    return _product([weights.mean(1) + _identity(weights) for weights in layers])


@attention_rollout.mistake(
    "residual-at-the-end-only",
    "Every layer has a residual connection. Where in your loop does the identity come in?",
)
def _(layers):
    return _kept(_product([weights.mean(1) for weights in layers]))


@attention_rollout.mistake(
    "residual-at-the-beginning-only",
    "Every layer has a residual connection. Which layers of yours are without?",
)
def _(layers):
    means = [weights.mean(1) for weights in layers]
    return _product([_kept(means[0]), *means[1:]])


@attention_rollout.mistake(
    "first-layer-without-residual",
    "With what does your product begin? The first layer has a residual connection like every other.",
)
def _(layers):
    means = [weights.mean(1) for weights in layers]
    return _product([means[0], *(_kept(a) for a in means[1:])])


@attention_rollout.mistake(
    "ones-instead-of-the-identity",
    "The residual gives each token itself, and nothing of the others. Which matrix says that: print "
    "`torch.ones(3, 3)` and `torch.eye(3)`.",
)
def _(layers):
    return _product([(weights.mean(1) + 1) / 2 for weights in layers])


@attention_rollout.mistake(
    "added-up-over-layers",
    "You add the layers up. If the second layer looks at k, and k had looked at j in the first one: "
    "which product leads from the output to j?",
)
def _(layers):
    return sum(_kept(weights.mean(1)) for weights in layers)


@attention_rollout.mistake(
    "mean-over-layers",
    "You take the mean of the layers. If the second layer looks at k, and k had looked at j in the "
    "first one: which product leads from the output to j?",
)
def _(layers):
    return sum(_kept(weights.mean(1)) for weights in layers) / len(layers)


@attention_rollout.mistake(
    "elementwise-product",
    "`*` multiplies entry by entry. A path from i to j may pass any token k in between: which product "
    "adds up over k?",
)
def _(layers):
    result = _kept(layers[0].mean(1))
    for weights in layers[1:]:
        result = _kept(weights.mean(1)) * result
    return result


@attention_rollout.mistake(
    "heads-averaged-at-the-end",
    "You follow each head on its own, layer by layer. Does head 0 of layer 2 read only what head 0 of "
    "layer 1 wrote? When should the heads be averaged?",
)
def _(layers):
    return _product([_kept(weights) for weights in layers]).mean(1)


@attention_rollout.mistake(
    "heads-not-averaged",
    "The result has no axis for heads. When do they become one map?",
)
def _(layers):
    return _product([_kept(weights) for weights in layers])


@attention_rollout.mistake(
    "heads-added-up",
    "After your sum over the heads, what does a row of one layer add up to? What should it?",
)
def _(layers):
    return _product([_kept(weights.sum(1)) for weights in layers])


@attention_rollout.mistake(
    "heads-multiplied-one-by-one",
    "The heads of one layer work side by side, not one after the other. What becomes of them before "
    "you multiply?",
)
def _(layers):
    return _product([_kept(head) for weights in layers for head in weights.unbind(1)])


@attention_rollout.mistake(
    "largest-head",
    "You keep the largest of the heads. The task takes their mean: what do the rows add up to?",
)
def _(layers):
    return _product([_kept(weights.amax(1)) for weights in layers])


@attention_rollout.mistake(
    "largest-head",
    "You keep the largest of the heads, and make the rows add up to 1. The task takes their mean.",
)
def _(layers):
    maxima = [weights.amax(1) for weights in layers]
    return _product([_kept(a / a.sum(-1, keepdim=True)) for a in maxima])


@attention_rollout.mistake(
    "largest-head",
    "You keep the largest of the heads, and make the rows of A + I add up to 1. The task takes the "
    "mean of the heads.",
)
def _(layers):
    kept = [_kept(weights.amax(1)) for weights in layers]
    return _product([a / a.sum(-1, keepdim=True) for a in kept])


@attention_rollout.mistake(
    "columns-made-to-add-up-to-one",
    "A row is a query, and its shares of the keys add up to 1. Over which axis of (B, L, L) do you "
    "take the sum by which you divide?",
)
def _(layers):
    kept = [_kept(weights.mean(1)) for weights in layers]
    return _product([a / a.sum(1, keepdim=True) for a in kept])


@attention_rollout.mistake(
    "first-head-only", "Change the last head. Does your result change?"
)
def _(layers):
    return _product([_kept(weights[:, 0]) for weights in layers])


@attention_rollout.mistake(
    "last-layer-only", "Change the first layer. Does your result change?"
)
def _(layers):
    return _kept(layers[-1].mean(1))


@attention_rollout.mistake(
    "first-layer-only",
    "Change the last layer. Does your result change? Is there a `return` inside your loop?",
)
def _(layers):
    return _kept(layers[0].mean(1))


@attention_rollout.mistake(
    "first-layer-left-out",
    "Change the first layer. Does your result change? With what does your product begin?",
)
def _(layers):
    return _product([_identity(layers[0].mean(1)), *(_kept(w.mean(1)) for w in layers[1:])])


@attention_rollout.mistake(
    "first-layer-left-out",
    "Change the first layer. Does your result change? With what does your product begin?",
)
def _(layers):
    identity = _identity(layers[0]).expand(len(layers[0]), -1, -1)
    return _product([identity, *(_kept(weights.mean(1)) for weights in layers[1:])])


@attention_rollout.mistake(
    "last-layer-left-out",
    "Change the last layer. Does your result change? Where does your loop end?",
)
def _(layers):
    if len(layers) == 1:
        return _identity(layers[0]).expand(len(layers[0]), -1, -1)
    return _product([_kept(weights.mean(1)) for weights in layers[:-1]])


@attention_rollout.mistake(
    "first-layer-counted-twice",
    "Your product begins with the first layer. Does the loop after it begin with the first or with "
    "the second one?",
)
def _(layers):
    kept = [_kept(weights.mean(1)) for weights in layers]
    return _product([kept[0], *kept])


@attention_rollout.mistake(
    "layers-transposed",
    "Rows are queries, columns are keys. Do the rows of your matrices still add up to 1 when you "
    "multiply them?",
)
def _(layers):
    return _product([_kept(weights.mean(1)).mT for weights in layers])


@attention_rollout.mistake(
    "result-transposed",
    "Row i of the result belongs to output i, and adds up to 1. Do your rows or your columns?",
)
def _(layers):
    return _product([_kept(weights.mean(1)) for weights in layers]).mT


@attention_rollout.mistake(
    "whole-residual-half-the-attention",
    "Which of the two is halved in yours: A, I, or both? What do the rows of one layer add up to?",
)
def _(layers):
    return _product([weights.mean(1) / 2 + _identity(weights) for weights in layers])


@attention_rollout.mistake(
    "half-the-residual-whole-attention",
    "Which of the two is halved in yours: A, I, or both? What do the rows of one layer add up to?",
)
def _(layers):
    return _product([weights.mean(1) + _identity(weights) / 2 for weights in layers])


@attention_rollout.mistake(
    "residual-after-the-product",
    "(R + I) / 2 mixes the identity with everything so far. With what should it be mixed before the "
    "product: with this layer's map alone?",
)
def _(layers):
    result = _identity(layers[0])
    for weights in layers:
        result = _kept(weights.mean(1) @ result)
    return result


@attention_rollout.mistake(
    "diagonal-taken-out",
    "A token's attention to itself belongs to the map as well. Where did you take it out?",
)
def _(layers):
    means = [weights.mean(1) for weights in layers]
    return _product([_kept(a - a.diagonal(dim1=-2, dim2=-1).diag_embed()) for a in means])


@attention_rollout.mistake(
    "batch-averaged",
    "Each sample has its own result. Which axis of (B, H, L, L) is that of the heads?",
)
def _(layers):
    return _product([_kept(weights.mean((0, 1))) for weights in layers])


@attention_rollout.mistake(
    "wrong-axis-averaged",
    "Which axis of (B, H, L, L) is that of the heads? Axes are counted from 0.",
)
def _(layers):
    return _product([_kept(weights.mean(0)) for weights in layers])


@attention_rollout.mistake(
    "first-sample-only", "Change the second sample. Does your result change?"
)
def _(layers):
    return _product([_kept(weights.mean(1)[0]) for weights in layers])


@attention_rollout.mistake(
    "every-step-returned",
    "You return the result after every layer. Which of them is asked for?",
)
def _(layers):
    kept = [_kept(weights.mean(1)) for weights in layers]
    return [_product(kept[: n + 1]) for n in range(len(kept))]


@attention_rollout.mistake(
    "every-step-returned",
    "You return the result after every layer, stacked. Which of them is asked for?",
)
def _(layers):
    kept = [_kept(weights.mean(1)) for weights in layers]
    return torch.stack([_product(kept[: n + 1]) for n in range(len(kept))])


_DTYPE = "Give it float16 and float64. Which dtype does your identity have, and what is made of it?"


@attention_rollout.mistake("dtype-of-the-identity", _DTYPE)
def _(layers):
    return _product(
        [(weights.mean(1) + torch.eye(weights.shape[-1])) / 2 for weights in layers]
    )


@attention_rollout.mistake("dtype-of-the-identity", _DTYPE)
def _(layers):
    result = torch.eye(layers[0].shape[-1])
    for weights in layers:
        result = _kept(weights.mean(1)) @ result
    return result


@attention_rollout.mistake(
    "dtype-changed", "Give it float64: which dtype comes out? Which one should?"
)
def _(layers):
    return _product([_kept(weights.mean(1).float()) for weights in layers])


@attention_rollout.mistake(
    "dtype-changed",
    "You compute in float64, which is fine. But which dtype should the result have?",
)
def _(layers):
    return _product([_kept(weights.mean(1).double()) for weights in layers])
