"""The task `attention_rollout`: attention followed through all layers."""

import torch

import attn_lib
from attn_lib.checks.lesson_06.steps import (
    case,
    causal_weights,
    in_another_layout,
    random_weights,
)
from attn_lib.checks.task import task


@task(
    lesson=6,
    points=3,
    library=attn_lib.attention_rollout,
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
    path = layers
    identity = torch.eye(layers[0].shape[-1]).to(layers[0])
    start = identity
    reached = [start]
    for weights in path:
        together = weights.mean(1)  # (B, L, L)
        added = together + identity
        step = added / 2
        product = step @ reached[-1]
        reached.append(product)
    output = reached[-1]
    return output


@attention_rollout.cases
def _(rng):
    def several(n, *shape):
        return [random_weights(rng, *shape) for _ in range(n)]

    first = torch.tensor([[[[1.0, 0.0], [0.5, 0.5]]]])
    second = torch.tensor([[[[0.0, 1.0], [1.0, 0.0]]]])
    yield case("one layer, one head, two tokens", [first])
    yield case("two layers, one head, two tokens", [first, second])
    heads = torch.tensor([[[[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.0, 1.0]]]])
    yield case("one layer, two heads, two tokens", [heads])
    samples = [torch.cat([first, second]), torch.cat([second, first])]
    yield case("two layers, two samples, two tokens", samples)
    yield case("three layers, all sizes different", several(3, 2, 4, 5, 5))
    yield case("as many layers as samples, heads and tokens", several(4, 4, 4, 4, 4))
    yield case("the same layer three times", [random_weights(rng, 2, 3, 4, 4)] * 3)
    causal = [causal_weights(rng, 2, 4, 5, 5) for _ in range(3)]
    yield case("causal", causal)
    yield case("eleven layers", several(11, 1, 2, 3, 3))
    layouts = [in_another_layout(weights) for weights in several(2, 2, 3, 4, 4)]
    yield case("not contiguous", layouts)
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        layers = [weights.to(dtype) for weights in several(3, 2, 3, 4, 4)]
        yield case(f"{dtype}".removeprefix("torch."), layers)


# ------------------------------------------------------------------------------- mistakes

wrong = attention_rollout.wrong
wrong(
    "order-reversed",
    "The last layer's keys are what the layer before put out. In the row of an output, which layer is "
    "met first: must the last one stand on the left of the product, or on the right?",
    dict(path="layers[::-1]"),
)
wrong(
    "residual-forgotten",
    "Beside what it gathers, each token keeps itself: the residual connection. Where is it in yours?",
    dict(step="together"),
)
wrong(
    "not-halved",
    "Which of the two is halved in yours: A, I, both, or neither? What do the rows of one layer add up "
    "to?",
    dict(step="added"),
    dict(step="together / 2 + identity"),
    dict(step="together + identity / 2"),
)
wrong(
    "residual-not-in-every-layer",
    "Every layer has a residual connection of its own. Which layers of yours are without?",
    dict(step="together", output="(_ + identity) / 2"),
    dict(step="added / 2 if len(reached) == 1 else together"),
    dict(step="added / 2 if len(reached) > 1 else together"),
)
wrong(
    "residual-after-the-product",
    "(R + I) / 2 mixes the identity with everything so far. With what should it be mixed before the "
    "product: with this layer's map alone?",
    dict(step="together", product="(_ + identity) / 2"),
)
wrong(
    "ones-instead-of-the-identity",
    "The residual gives each token itself, and nothing of the others. Which matrix says that: print "
    "`torch.ones(3, 3)` and `torch.eye(3)`.",
    dict(added="together + 1"),
)
wrong(
    "added-up-over-layers",
    "Layers are added up in yours. If the second layer looks at k, and k had looked at j in the first "
    "one: which product leads from the output to j?",
    dict(start="0 * identity", product="step + reached[-1]"),
    dict(start="0 * identity", product="step + reached[-1]", output="_ / len(layers)"),
)
wrong(
    "elementwise-product",
    "`*` multiplies entry by entry. A path from i to j may pass any token k in between: which product "
    "adds up over k?",
    dict(product="step * reached[-1]"),
    dict(start="torch.ones_like(identity)", product="step * reached[-1]"),
)
wrong(
    "heads-averaged-at-the-end",
    "You follow each head on its own, layer by layer. Does head 0 of layer 2 read only what head 0 of "
    "layer 1 wrote? When should the heads be averaged?",
    dict(together="weights", output="_.mean(1)"),
)
wrong(
    "heads-not-averaged",
    "The result has no axis for heads. When do they become one map?",
    dict(together="weights"),
)
wrong(
    "heads-added-up",
    "After your sum over the heads, what does a row of one layer add up to? What should it?",
    dict(together="weights.sum(1)"),
)
wrong(
    "heads-multiplied-one-by-one",
    "The heads of one layer work side by side, not one after the other. What becomes of them before "
    "you multiply?",
    dict(path="[h for weights in layers for h in weights.unbind(1)]", together="weights"),
)
wrong(
    "largest-head",
    "You keep the largest of the heads. Which number does the task make of them?",
    dict(together="weights.amax(1)"),
    dict(together="weights.amax(1) / weights.amax(1).sum(-1, keepdim=True)"),
    dict(together="weights.amax(1)", step="added / added.sum(-1, keepdim=True)"),
)
wrong(
    "first-head-only",
    "Change one head of a layer after the other. Does your result change each time?",
    dict(together="weights[:, 0]"),
    dict(together="weights[:, -1]"),
)
wrong(
    "columns-made-to-add-up-to-one",
    "A row is a query, and its shares of the keys add up to 1. Over which axis of (B, L, L) do you "
    "take the sum by which you divide?",
    dict(step="added / added.sum(1, keepdim=True)"),
)
wrong(
    "layer-left-out",
    "Change one layer after the other. Does your result change each time? Where does your loop begin, "
    "and where does it end?",
    dict(path="layers[1:]"),
    dict(path="layers[1:]", start="identity.expand(len(layers[0]), -1, -1)"),
    dict(path="layers[:-1]"),
    dict(path="layers[:-1]", start="identity.expand(len(layers[0]), -1, -1)"),
    dict(path="layers[-1:]"),
    dict(path="layers[:1]"),
)
wrong(
    "first-layer-counted-twice",
    "Your product begins with the first layer. Does the loop after it begin with the first or with "
    "the second one?",
    dict(path="[layers[0], *layers]"),
)
wrong(
    "result-transposed",
    "Row i of the result belongs to output i, and adds up to 1. Do your rows or your columns?",
    dict(output="_.mT"),
    dict(step="_.mT"),
)
wrong(
    "diagonal-taken-out",
    "A token's attention to itself belongs to the map as well. Where did you take it out?",
    dict(together="_ - _.diagonal(dim1=-2, dim2=-1).diag_embed()"),
)
wrong(
    "wrong-axis-averaged",
    "Which axis of (B, H, L, L) is that of the heads? Axes are counted from 0.",
    dict(together="weights.mean(0)"),
    dict(together="weights.mean((0, 1))"),
)
wrong(
    "first-sample-only",
    "Change the second sample. Does your result change?",
    dict(together="_[0]"),
)
wrong(
    "every-step-returned",
    "You return the result after every layer. Which of them is asked for?",
    dict(output="reached[1:]"),
    dict(output="torch.stack(reached[1:])"),
)
wrong(
    "dtype-of-the-identity",
    "Give it float16 and float64. Which dtype does your identity have, and what is made of it?",
    dict(identity="torch.eye(layers[0].shape[-1])"),
    dict(start="torch.eye(layers[0].shape[-1])"),
    dict(
        added="together + torch.eye(layers[0].shape[-1])",
        product="step @ reached[-1].to(step.dtype)",
    ),
)
wrong(
    "dtype-changed",
    "Give it float16, then float64: which dtype comes out, and which one should?",
    dict(path="[weights.float() for weights in layers]", identity="_.float()"),
    dict(path="[weights.double() for weights in layers]", identity="_.double()"),
    dict(together="_.float()", identity="_.float()"),
    dict(together="_.double()", identity="_.double()"),
)
