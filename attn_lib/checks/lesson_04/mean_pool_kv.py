"""The task `mean_pool_kv`: fewer K/V heads out of a trained projection."""

import torch

import attn_lib
from attn_lib.checks.case import Case
from attn_lib.checks.task import task


@task(
    lesson=4,
    points=2,
    hints=[
        "Which rows of the weight make head 0? And which heads will share K/V head 0 later?",
        "Give every part of the first axis its own axis: (H*D, E) is really (Hkv, H/Hkv, D, E). Over "
        "which of them do you average?",
        "Cut the first axis into three with `view`, `reshape` or `unflatten`, in the order in which "
        "the rows lie: group, head in the group, channel. Take the mean over the heads of a group, "
        "and merge what is left back into rows.",
    ],
)
def mean_pool_kv(weight, num_heads, num_kv_heads):
    return attn_lib.mean_pool_kv(weight, num_heads, num_kv_heads)


@mean_pool_kv.cases
def _(rng):
    # Weights are pooled once, after training: who works under `no_grad` is right.
    def given(about, weight, H, Hkv):
        return Case(about, (weight, H, Hkv), grad=False)

    def case(about, H, Hkv, D, E):
        return given(about, torch.randn(H * D, E, generator=rng), H, Hkv)

    yield given("four heads of one row each", torch.tensor([[1.0, 3, 6, 8]]).T, 4, 2)
    rows = torch.tensor([[1.0, 10, 3, 30, 6, 60, 8, 80]]).T
    yield given("four heads of two rows each", rows, 4, 2)
    yield case("eight heads to two", 8, 2, 2, 1)
    yield case("six heads to three", 6, 3, 2, 1)
    yield case("all sizes different", 8, 2, 6, 5)
    yield case("six heads to three, wider", 6, 3, 4, 5)
    yield case("all heads to one", 4, 1, 6, 5)
    yield case("an odd number of heads to one", 5, 1, 3, 4)
    yield case("as many K/V heads as heads", 4, 4, 3, 5)
    yield case("a square weight", 8, 2, 3, 24)
    yield case("a square weight, six heads to two", 6, 2, 2, 12)
    yield case("H = D", 4, 2, 4, 6)
    yield case("D = H / Hkv", 8, 2, 4, 3)
    yield case("D = Hkv = E", 6, 3, 3, 3)
    yield case("twelve heads to four", 12, 4, 3, 2)
    yield given("not contiguous", torch.randn(5, 16, generator=rng).T, 8, 2)
    for dtype in (torch.float64, torch.bfloat16):
        weight = torch.randn(12, 5, generator=rng).to(dtype)
        yield given(f"{dtype}".removeprefix("torch."), weight, 6, 2)


def _cut(weight, *sizes):
    return weight.reshape(*sizes, *weight.shape[1:])


@mean_pool_kv.mistake(
    "every-nth-head-pooled",
    "Which query heads will read K/V head 0 later: neighbors, or every Hkv-th one? Average those.",
)
def _(weight, num_heads, num_kv_heads):
    return _cut(weight, num_heads // num_kv_heads, -1).mean(0)


@mean_pool_kv.mistake(
    "neighboring-rows-pooled",
    "Rows 0 and 1 both belong to head 0. Which row of head 1 should row 0 be averaged with?",
)
def _(weight, num_heads, num_kv_heads):
    return _cut(weight, -1, num_heads // num_kv_heads).mean(1)


@mean_pool_kv.mistake(
    "channels-pooled-away",
    "How many rows has a head before pooling, and after yours? Are heads averaged, or channels?",
)
def _(weight, num_heads, num_kv_heads):
    return _cut(weight, num_heads, -1).mean(1)


@mean_pool_kv.mistake(
    "whole-group-to-one-row",
    "How many rows should be left for each K/V head: 1 or D? Over how many axes do you average?",
)
def _(weight, num_heads, num_kv_heads):
    return _cut(weight, num_kv_heads, -1).mean(1)


@mean_pool_kv.mistake(
    "columns-pooled",
    "`nn.Linear` stores (out, in). Which axis of the weight counts the rows of the heads?",
)
def _(weight, num_heads, num_kv_heads):
    group = num_heads // num_kv_heads
    return weight.unflatten(1, (num_kv_heads, group, -1)).mean(2).flatten(1)


@mean_pool_kv.mistake(
    "columns-pooled",
    "`nn.Linear` stores (out, in). Which axis of the weight counts the rows of the heads?",
)
def _(weight, num_heads, num_kv_heads):
    rows, D = weight.shape[0], weight.shape[1] // num_heads
    heads = weight.reshape(rows, num_kv_heads, num_heads // num_kv_heads, D)
    return heads.mean(2).reshape(rows, num_kv_heads * D)


@mean_pool_kv.mistake(
    "summed",
    "If all heads of a group are equal, what should come out? What does yours give?",
)
def _(weight, num_heads, num_kv_heads):
    return _cut(weight, num_kv_heads, num_heads // num_kv_heads, -1).sum(1).flatten(0, 1)


@mean_pool_kv.mistake(
    "divided-by-all-heads",
    "How many heads are added up for one K/V head? By how many do you divide?",
)
def _(weight, num_heads, num_kv_heads):
    groups = _cut(weight, num_kv_heads, num_heads // num_kv_heads, -1)
    return groups.sum(1).flatten(0, 1) / num_heads


@mean_pool_kv.mistake(
    "divided-by-num-kv-heads",
    "How many heads are added up for one K/V head: H / Hkv, or Hkv? By how many do you divide?",
)
def _(weight, num_heads, num_kv_heads):
    groups = _cut(weight, num_kv_heads, num_heads // num_kv_heads, -1)
    return groups.sum(1).flatten(0, 1) / num_kv_heads


@mean_pool_kv.mistake(
    "first-head-of-each-group",
    "Change the second head of a group. Does your result change? Should it?",
)
def _(weight, num_heads, num_kv_heads):
    return _cut(weight, num_kv_heads, num_heads // num_kv_heads, -1)[:, 0].flatten(0, 1)


@mean_pool_kv.mistake(
    "first-heads-kept",
    "What has become of the last heads? How many heads of the old weight does your result see?",
)
def _(weight, num_heads, num_kv_heads):
    return weight[: len(weight) // num_heads * num_kv_heads]


@mean_pool_kv.mistake("maximum", "Is it the mean of the group that you take?")
def _(weight, num_heads, num_kv_heads):
    groups = _cut(weight, num_kv_heads, num_heads // num_kv_heads, -1)
    return groups.amax(1).flatten(0, 1)


@mean_pool_kv.mistake(
    "groups-of-num-kv-heads",
    "With 8 heads and 2 K/V heads, how many heads make a group: 2 or 4?",
)
def _(weight, num_heads, num_kv_heads):
    heads = _cut(weight, num_heads, -1)
    groups = _cut(heads, num_heads // num_kv_heads, num_kv_heads)
    return groups.mean(1).flatten(0, 1)


@mean_pool_kv.mistake(
    "groups-of-two",
    "Where does the size of a group come from? Try 8 heads and 2 K/V heads.",
)
def _(weight, num_heads, num_kv_heads):
    groups = _cut(_cut(weight, num_heads, -1), -1, 2)
    return groups.mean(1).flatten(0, 1)


@mean_pool_kv.mistake("all-heads-pooled", "One K/V head came out. How many were asked for?")
def _(weight, num_heads, num_kv_heads):
    return _cut(weight, num_heads, -1).mean(0)


@mean_pool_kv.mistake(
    "all-heads-pooled",
    "Are your K/V heads all the same? Which heads of the old weight may each of them see?",
)
def _(weight, num_heads, num_kv_heads):
    return _cut(weight, num_heads, -1).mean(0).repeat(num_kv_heads, 1)


@mean_pool_kv.mistake(
    "rows-not-merged", "A weight has two axes. Which of yours make the rows together?"
)
def _(weight, num_heads, num_kv_heads):
    return _cut(weight, num_kv_heads, num_heads // num_kv_heads, -1).mean(1)


@mean_pool_kv.mistake(
    "group-axis-kept",
    "How many rows should be left? Does the averaged axis still stand there, or was it repeated?",
)
def _(weight, num_heads, num_kv_heads):
    groups = _cut(weight, num_kv_heads, num_heads // num_kv_heads, -1)
    return groups.mean(1, keepdim=True).expand_as(groups).flatten(0, 2)


@mean_pool_kv.mistake(
    "head-dim-from-the-columns",
    "Which axis of the weight holds the H * D rows, the first or the second? From which do you take D?",
)
def _(weight, num_heads, num_kv_heads):
    head_dim = weight.shape[1] // num_heads
    groups = weight.view(num_kv_heads, num_heads // num_kv_heads, head_dim, -1)
    return groups.mean(1).flatten(0, 1)


@mean_pool_kv.mistake(
    "head-dim-from-the-columns",
    "Which axis of the weight holds the H * D rows, the first or the second? From which do you take D?",
)
def _(weight, num_heads, num_kv_heads):
    E = weight.shape[1]
    groups = weight.view(num_kv_heads, num_heads // num_kv_heads, E // num_heads, E)
    return groups.mean(1).flatten(0, 1)


@mean_pool_kv.mistake(
    "nothing-pooled", "How many rows come out of your function, and how many should?"
)
def _(weight, num_heads, num_kv_heads):
    return weight
