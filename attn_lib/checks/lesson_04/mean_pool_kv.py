"""The task `mean_pool_kv`: fewer K/V heads out of a trained projection."""

import torch

import attn_lib
from attn_lib.checks.case import Case
from attn_lib.checks.task import task


@task(
    lesson=4,
    points=2,
    library=attn_lib.mean_pool_kv,
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
    E = weight.shape[1]
    D = weight.shape[0] // num_heads
    group = num_heads // num_kv_heads
    groups = weight.reshape(num_kv_heads, group, D, E)
    pooled = groups.mean(1)
    output = pooled.flatten(0, 1)
    return output


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


# ------------------------------------------------------------------------------- mistakes

wrong = mean_pool_kv.wrong
wrong(
    "every-nth-head-pooled",
    "Which query heads will read K/V head 0 later: neighbors, or every Hkv-th one? Average those.",
    dict(groups="weight.reshape(group, num_kv_heads, D, E).transpose(0, 1)"),
)
wrong(
    "groups-of-num-kv-heads",
    "With 8 heads and 2 K/V heads, how many heads make a group: 2 or 4?",
    dict(groups="weight.reshape(group, num_kv_heads, D, E)"),
)
wrong(
    "neighboring-rows-pooled",
    "Rows 0 and 1 both belong to head 0. Which row of head 1 should row 0 be averaged with?",
    dict(groups="weight.reshape(num_kv_heads, D, group, E).transpose(1, 2)"),
)
wrong(
    "channels-pooled-away",
    "How many rows has a head before pooling, and after yours? Are heads averaged, or channels?",
    dict(pooled="(1) => (2)"),
)
wrong(
    "whole-group-to-one-row",
    "How many rows should be left for each K/V head: 1 or D? Over how many axes do you average?",
    dict(pooled="(1) => ((1, 2), keepdim=True)", output="pooled.flatten(0, 2)"),
)
COLUMNS = (
    "`nn.Linear` stores (out, in). Which axis of the weight counts the rows of the heads?"
)
wrong(
    "columns-pooled",
    COLUMNS,
    dict(
        output="weight.unflatten(1, (num_kv_heads, group, -1)).mean(2).flatten(1)",
    ),
    dict(
        groups="weight.reshape(-1, num_kv_heads, group, E // num_heads)",
        pooled="(1) => (2)",
        output="pooled.reshape(-1, num_kv_heads * (E // num_heads))",
    ),
)
wrong(
    "head-dim-from-the-columns",
    "Which axis of the weight holds the H * D rows, the first or the second? From which do you take D?",
    dict(D="shape[0] => shape[1]"),
    dict(D="shape[0] => shape[1]", groups="D, E => D, -1"),
)
wrong(
    "summed",
    "If all heads of a group are equal, what should come out? What does yours give?",
    dict(pooled=".mean => .sum"),
)
wrong(
    "divided-by-another-number",
    "How many heads are added up for one K/V head: H, Hkv or H / Hkv? By how many do you divide?",
    dict(pooled="groups.sum(1) / num_heads"),
    dict(pooled="groups.sum(1) / num_kv_heads"),
)
wrong(
    "first-head-of-each-group",
    "Change the second head of a group. Does your result change? Should it?",
    dict(pooled="groups[:, 0]"),
)
wrong(
    "first-heads-kept",
    "What has become of the last heads? How many heads of the old weight does your result see?",
    dict(output="weight[:D * num_kv_heads]"),
)
wrong(
    "maximum",
    "Is it the mean of the group that you take?",
    dict(pooled=".mean(1) => .amax(1)"),
    dict(pooled=".mean(1) => .median(1).values"),
)
wrong(
    "groups-of-two",
    "Where does the size of a group come from? Try 8 heads and 2 K/V heads.",
    dict(group="2"),
    dict(groups="weight.reshape(-1, 2, D, E)"),
)
wrong(
    "all-heads-pooled",
    "How many K/V heads were asked for, and which heads of the old weight may each of them see? "
    "Which do yours see?",
    dict(pooled="(1) => ((0, 1))", output="pooled"),
    dict(pooled="(1) => ((0, 1))", output="pooled.repeat(num_kv_heads, 1)"),
)
wrong(
    "rows-not-merged",
    "A weight has two axes. Which of yours make the rows together?",
    dict(output="pooled"),
    dict(output="pooled.transpose(0, 1).flatten(1)"),
)
wrong(
    "group-axis-kept",
    "How many rows should be left? Does the averaged axis still stand there, or was it repeated?",
    dict(pooled="_.repeat_interleave(group, 0)"),
)
wrong(
    "ratio-is-a-float",
    "What type is 8 / 2 in Python? How do you divide to get a whole number?",
    dict(group="// => /"),
    dict(D="// => /"),
)
wrong(
    "nothing-pooled",
    "How many rows come out of your function, and how many should?",
    dict(output="weight"),
)
