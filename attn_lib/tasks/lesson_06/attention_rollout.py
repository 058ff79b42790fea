"""The task `attention_rollout`: attention followed through all layers."""

import torch

import attn_lib
from attn_lib.checks.authoring import task
from attn_lib.tasks.lesson_06.steps import case, causal, drawn, turned


@task(
    lesson=6,
    points=3,
    insight="Rollout takes for granted that all that is looked at is passed on: a picture, not a proof.",
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
        return [drawn(rng, *shape) for _ in range(n)]

    first = torch.tensor([[[[1.0, 0.0], [0.5, 0.5]]]])
    second = torch.tensor([[[[0.0, 1.0], [1.0, 0.0]]]])
    yield case("one layer, one head, two tokens", [first])
    yield case("two layers, one head, two tokens", [first, second])
    heads = torch.tensor([[[[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.0, 1.0]]]])
    yield case("one layer, two heads, two tokens", [heads])
    other = torch.tensor([[[[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [0.5, 0.5]]]])
    yield case("two layers, two heads, two tokens", [heads, other])
    samples = [torch.cat([first, second]), torch.cat([second, first])]
    yield case("two layers, two samples, two tokens", samples)
    yield case("three layers, all sizes different", several(3, 2, 4, 5, 5))
    yield case("as many layers as samples, heads and tokens", several(4, 4, 4, 4, 4))
    yield case("the same layer three times", [drawn(rng, 2, 3, 4, 4)] * 3)
    yield case("causal", [causal(rng, 2, 4, 5, 5) for _ in range(3)])
    yield case("eleven layers", several(11, 1, 2, 3, 3))
    yield case("not contiguous", [turned(weights) for weights in several(2, 2, 3, 4, 4)])
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        layers = [weights.to(dtype) for weights in several(3, 2, 3, 4, 4)]
        yield case(f"{dtype}".removeprefix("torch."), layers)
    yield case("12 layers, 13 heads, 20 tokens", several(12, 1, 13, 20, 20))
    # Each token looks at itself nearly alone, so that the last layers matter, too.
    slow = [weights * 0.05 + torch.eye(2) * 0.95 for weights in several(150, 1, 2, 2, 2)]
    yield case("150 layers", slow)


attention_rollout.rows("""
The last layer's keys are what the layer before put out. In the row of an output, which layer is met
first: must the last one stand on the left of the product, or on the right?
    order-reversed  path = layers[::-1]
    order-reversed  product = reached[-1] @ step
Beside what it gathers, each token keeps itself: the residual connection. Where is it in yours?
    residual-forgotten  step = together
The residual connection is a part of the layer. Where do you take it away again?
    residual-taken-away  output = _ - identity
Which of the two is halved in yours: A, I, both, or neither? What do the rows of one layer add up to?
    not-halved  step = added || together / 2 + identity || together + identity / 2
A layer is half the mean of its heads, half the identity. Which share has the identity in yours?
    another-share-than-half  step = (weights.sum(1) + identity) / (weights.shape[1] + 1)
    another-share-than-half  step = (2 * together + identity) / 3
Every layer has a residual connection of its own. Which layers of yours are without?
    residual-not-in-every-layer  step = together ; output = (_ + identity) / 2
    residual-not-in-every-layer  step = added / 2 if len(reached) == 1 else together
    residual-not-in-every-layer  step = added / 2 if len(reached) > 1 else together
(R + I) / 2 mixes the identity with everything so far. With what should it be mixed before the
product: with this layer's map alone?
    residual-after-the-product  step = together ; product = (_ + identity) / 2
The residual gives each token itself, and nothing of the others. Which matrix says that: print
`torch.ones(3, 3)` and `torch.eye(3)`.
    ones-instead-of-the-identity  added = together + 1
Layers are added up in yours. If the second layer looks at k, and k had looked at j in the first
one: which product leads from the output to j?
    added-up-over-layers  start = 0 * identity ; product = step + reached[-1]
    added-up-over-layers  start = 0 * identity ; product = step + reached[-1] ; output = _ / len(layers)
`*` multiplies entry by entry. A path from i to j may pass any token k in between: which product
adds up over k?
    elementwise-product  product = step * reached[-1]
    elementwise-product  start = torch.ones_like(identity) ; product = step * reached[-1]
You follow each head on its own, layer by layer. Does head 0 of layer 2 read only what head 0 of
layer 1 wrote? When should the heads be averaged?
    heads-averaged-at-the-end  together = weights ; output = _.mean(1)
The result has no axis for heads. When do they become one map?
    heads-not-averaged  together = weights
After your sum over the heads, what does a row of one layer add up to? What should it?
    heads-added-up  together = weights.sum(1)
The heads of one layer work side by side, not one after the other. What becomes of them before you
multiply?
    heads-multiplied-one-by-one  path = [h for weights in layers for h in weights.unbind(1)] ; together = weights
You keep the largest of the heads. Which number does the task make of them?
    largest-head  together = weights.amax(1)
    largest-head  together = weights.amax(1) / weights.amax(1).sum(-1, keepdim=True)
    largest-head  together = weights.amax(1) ; step = added / added.sum(-1, keepdim=True)
Change one head of a layer after the other. Does your result change each time?
    first-head-only  together = weights[:, 0] || weights[:, -1]
The rows of a layer's map add up to 1 already. What does a softmax make of its zeros?
    softmax-once-more  step = added.softmax(-1)
    softmax-once-more  together = _.softmax(-1)
A row is a query, and its shares of the keys add up to 1. Over which axis of (B, L, L) do you take
the sum by which you divide?
    columns-made-to-add-up-to-one  step = added / added.sum(1, keepdim=True)
    columns-made-to-add-up-to-one  step = added / added.sum((1, 2), keepdim=True)
Change one layer after the other. Does your result change each time? Where does your loop begin, and
where does it end?
    layer-left-out  path = layers[1:] || layers[:-1]
    layer-left-out  path = layers[1:] ; start = identity.expand(len(layers[0]), -1, -1)
    layer-left-out  path = layers[:-1] ; start = identity.expand(len(layers[0]), -1, -1)
    layer-left-out  path = layers[-1:] || layers[:1] || layers[:2] || layers[-2:]
Any number of layers must do. Which layer does yours name by its number, and how many has this list?
    two-layers-only  path = [layers[0], layers[1]]
`layers` is a list. What does it hold, which shape has one of them, and how do you come to each?
    a-list-not-a-tensor  path = layers.mean(2)
    a-list-not-a-tensor  start = torch.eye(layers.shape[-1])
How many tokens are there, and how many heads? Which of these is the size of your identity?
    identity-of-the-heads  identity = torch.eye(layers[0].shape[1]).to(layers[0])
Which layers does your loop multiply: each one once, or the same one again and again?
    the-same-layer-again  path = [layers[-1]] * len(layers) || [layers[0]] * len(layers)
    the-same-layer-again  path = [sum(layers) / len(layers)] * len(layers)
Your product begins with the first layer. Does the loop after it begin with the first or with the
second one?
    first-layer-counted-twice  path = [layers[0], *layers]
Row i of the result belongs to output i, and adds up to 1. Do your rows or your columns?
    result-transposed  output = _.mT
    result-transposed  step = _.mT
A token's attention to itself belongs to the map as well. Where did you take it out?
    diagonal-taken-out  together = _ - _.diagonal(dim1=-2, dim2=-1).diag_embed()
Which axis of (B, H, L, L) is that of the heads? Axes are counted from 0.
    wrong-axis-averaged  together = weights.mean(0) || weights.mean(2) || weights.mean(-1)
You average over the samples as well. The result holds a map for each of them: which axes does your
mean name?
    wrong-axis-averaged  together = weights.mean((0, 1))
The result holds a map for each sentence. Which axis of (B, L, L) have you taken away?
    an-axis-lost  output = _.mean(0) || _[:, -1]
Change the second sample. Does your result change?
    first-sample-only  together = _[0]
You return the result after every layer. Which of them is asked for?
    every-step-returned  output = reached[1:] || torch.stack(reached[1:])
Give it float16 and float64. Which dtype does your identity have, and what is made of it?
    dtype-of-the-identity  identity = torch.eye(layers[0].shape[-1])
    dtype-of-the-identity  start = torch.eye(layers[0].shape[-1])
    dtype-of-the-identity  added = together + torch.eye(layers[0].shape[-1]) ; product = step @ reached[-1].to(step.dtype)
Give it float16, then float64: which dtype comes out, and which one should?
    dtype-changed  path = [weights.float() for weights in layers] ; identity = _.float()
    dtype-changed  path = [weights.double() for weights in layers] ; identity = _.double()
    dtype-changed  together, identity = _.float() || _.double()
Before the first layer, each token is itself, and nothing of the others. Which matrix says that? Print
the one that you begin with.
    wrong-start  start = torch.zeros_like(identity) || torch.ones_like(identity)
How often is something halved in yours, and how many layers are there? What do the rows add up to
after two of them?
    halved-once  step = added ; output = _ / 2
`second[i, k] * first[k, j]` is added up over k. Which axis of the first layer's map is that: in yours,
and in this formula?
    factor-transposed  product = step @ reached[-1].mT
Which comes first in Python: `+`, or `/` and `@`? Where does your line need parentheses?
    parentheses-missing  product = together + identity / 2 @ reached[-1]
""")

attention_rollout.drills(
    "identity-of-the-heads, wrong-axis-averaged, heads-added-up, elementwise-product, not-halved, layer-left-out, "
    "dtype-of-the-identity, columns-made-to-add-up-to-one, order-reversed 1, heads-averaged-at-the-end"
)
