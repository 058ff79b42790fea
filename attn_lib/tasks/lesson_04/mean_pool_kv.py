"""The task `mean_pool_kv`: fewer K/V heads out of a trained projection."""

import torch

import attn_lib
from attn_lib.checks.authoring import Case, task
from attn_lib.tasks.lesson_04.runs import of_a_layer


@task(
    lesson=4,
    points=2,
    insight="Averaged heads are where the paper of GQA began, and then it trained a little more.",
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
    rows = weight
    E = rows.shape[1]
    D = rows.shape[0] // num_heads
    group = num_heads // num_kv_heads
    groups = rows.reshape(num_kv_heads, group, D, E)
    means = groups.mean(1)
    pooled = means
    output = pooled.flatten(0, 1)
    return output


@mean_pool_kv.cases
def _(rng):
    # Weights are pooled once, after training: who works under `no_grad` is right.
    def given(about, weight, H, Hkv):
        return Case(about, (weight, H, Hkv), grad=False)

    def case(about, H, Hkv, D, E):
        return given(about, torch.randn(H * D, E, generator=rng), H, Hkv)

    yield given("four heads of one row each", torch.tensor([[1.0, 3, 6, 12]]).T, 4, 2)
    rows = torch.tensor([[1.0, 10, 3, 30, 6, 60, 12, 120]]).T
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
    yield case("D = Hkv = E", 6, 3, 3, 3)
    yield case("twelve heads to four", 12, 4, 3, 2)
    yield given("not contiguous", torch.randn(5, 16, generator=rng).T, 8, 2)
    for dtype in (torch.float64, torch.bfloat16):
        weight = torch.randn(12, 5, generator=rng).to(dtype)
        yield given(f"{dtype}".removeprefix("torch."), weight, 6, 2)
    exact = torch.randn(16, 5, generator=rng, dtype=torch.float64)
    about = "float64, to nine digits"
    yield Case(about, (exact, 8, 2), grad=False, tolerance=1e-9)
    yield given("float16", torch.randn(12, 5, generator=rng).half(), 6, 2)
    weight = torch.randn(12, 5, generator=rng)
    about = "the parameter of a layer"
    yield Case(about, (weight, 6, 2), of_a_layer, grad=False)


mean_pool_kv.rows("""
Which query heads will read K/V head 0 later: neighbors, or every Hkv-th one? Average those.
    every-nth-head-pooled  groups = rows.reshape(group, num_kv_heads, D, E).transpose(0, 1)
With 8 heads and 2 K/V heads, how many heads make a group: 2 or 4?
    groups-of-num-kv-heads  groups = rows.reshape(group, num_kv_heads, D, E)
Rows 0 and 1 both belong to head 0. Which row of head 1 should row 0 be averaged with?
    neighboring-rows-pooled  groups = rows.reshape(num_kv_heads, D, group, E).transpose(1, 2)
How many rows has a head before pooling, and after yours? Are heads averaged, or channels?
    channels-pooled-away  means = (1) => (2)
Do rows 0 and 1 of the weight belong to one head? How many rows does a head have, one below the
other?
    head-as-the-fast-axis  rows = weight.unflatten(0, (-1, num_heads)).transpose(0, 1).flatten(0, 1)
Which row of your result comes after the first one of K/V head 0: its own next row?
    rows-out-of-order  output = pooled.transpose(0, 1).flatten(0, 1)
`nn.Linear` stores (out, in). Which of the two stands first in your result?
    result-transposed  output = _.T
Which axis of your cut weight counts groups, and which one the heads of a group? Over which of them
do you average?
    mean-over-the-groups  means = (1) => (0)
An input of the layer is a column. Is there still one column for each?
    inputs-averaged  means = (1) => (3)
Where does your second group begin: one head after the first one, or where the first one ends?
    overlapping-groups  groups = torch.stack([rows[g * D:(g + group) * D].reshape(group, D, E) for g in range(num_kv_heads)])
How many rows should be left for each K/V head: 1 or D? Over how many axes do you average?
    whole-group-to-one-row  means = (1) => ((1, 2), keepdim=True) ; output = pooled.flatten(0, 2)
`nn.Linear` stores (out, in). Which axis of the weight counts the rows of the heads?
    columns-pooled  rows = weight.T ; output = _.T
    columns-pooled  rows = weight.T
Which axis of the weight holds the H * D rows, the first or the second? From which do you take D?
    head-dim-from-the-columns  D = shape[0] => shape[1]
    head-dim-from-the-columns  D = shape[0] => shape[1] ; groups = rows.reshape(num_heads, D, E).unflatten(0, (num_kv_heads, group))
    head-dim-from-the-columns  D = shape[0] => shape[1] ; groups = group => -1
    head-dim-from-the-columns  D = shape[0] => shape[1] ; groups = D, E => D, -1
How many heads has the weight that you are given? By which number of heads do you divide its rows?
    head-dim-from-kv-heads  D = num_heads => num_kv_heads
    head-dim-from-kv-heads  D = num_heads => num_kv_heads ; groups = D, E => D, -1
If all heads of a group are equal, what should come out? What does yours give?
    summed  pooled = _ * group
How many heads are added up for one K/V head: H, Hkv or H / Hkv? By how many do you divide?
    divided-by-another-number  pooled = _ * group / num_heads || _ * group / num_kv_heads
    divided-by-another-number  pooled = _ * group / 2 || _ * math.sqrt(group)
Change each head of a group in turn. Which of them does your result notice?
    first-head-of-each-group  means = groups[:, 0] || groups[:, -1] || groups[:, :2].mean(1)
What has become of the last heads? How many heads of the old weight does your result see?
    first-heads-kept  output = weight[:D * num_kv_heads]
Is it the mean of the group that you take?
    maximum  means = .mean(1) => .amax(1) || .mean(1) => .median(1).values || .mean => .max
Where does the size of a group come from? Try 8 heads and 2 K/V heads.
    groups-of-two  group = 2
    groups-of-two  groups = rows.reshape(-1, 2, D, E)
How many K/V heads were asked for, and which heads of the old weight may each of them see? Which do
yours see?
    all-heads-pooled  means = (1) => ((0, 1)) ; output = pooled
    all-heads-pooled  means = (1) => ((0, 1)) ; output = pooled.repeat(num_kv_heads, 1)
A weight has two axes. Which of yours make the rows together?
    rows-not-merged  output = pooled
    rows-not-merged  means = (1) => (1, keepdim=True) ; output = pooled
    rows-not-merged  output = pooled.flatten(1) || pooled.transpose(0, 1).flatten(1)
How many rows should be left? Does the averaged axis still stand there, or was it repeated?
    group-axis-kept  output = _.repeat(group, 1)
    group-axis-kept  means = _.repeat_interleave(group, 0)
What type is 8 / 2 in Python? How do you divide to get a whole number?
    ratio-is-a-float  group = // => /
    ratio-is-a-float  D = // => /
How many rows come out of your function, and how many should?
    nothing-pooled  output = weight
Over which axis do you average? What does `mean` do with the axes if it is not told?
    mean-of-everything  output = weight.mean()
""")

mean_pool_kv.drills(
    "ratio-is-a-float, rows-not-merged 2, head-dim-from-kv-heads, head-dim-from-the-columns, channels-pooled-away, "
    "groups-of-num-kv-heads, columns-pooled"
)
