"""The task `online_softmax_step`: one more block of keys, and three numbers for each query.

Some cases are a single step, others a whole row in blocks, each step with what the last one returned.
"""

import torch

from attn_lib.checks.authoring import Case, task
from attn_lib.tasks.lesson_01.far_scores import APART, ROUGHLY
from attn_lib.tasks.lesson_11.runs import whole_rows


@task(
    lesson=11,
    points=3,
    insight="m, l and acc are enough to forget all scores: FlashAttention rests on this.",
    returns=("m", "l", "acc"),
    hints=[
        "Say there is only one block. Which maximum, which sum and which mixture of values do you get? Now a "
        "second block comes, with a larger maximum. Which of your numbers were made with the old one?",
        "exp(s - old) becomes exp(s - new) when it is multiplied by one factor, the same for all s. "
        "Multiply by it what has been summed so far, and add what the new block brings.",
        "A row of -inf only has the maximum -inf, and -inf - (-inf) is NaN. Which finite number could you "
        "subtract there, so that every exp is 0?",
    ],
)
def online_softmax_step(m, l, acc, scores, values):  # noqa: E741
    block_max = scores.amax(-1, keepdim=True)
    m_new = torch.maximum(m, block_max)
    subtracted = m_new.masked_fill(m_new == -torch.inf, 0.0)
    factor = torch.exp(m - subtracted)
    weights = torch.exp(scores - subtracted)
    block_sum = weights.sum(-1, keepdim=True)
    l_new = l * factor + block_sum
    mixture = weights @ values
    acc_new = acc * factor + mixture
    return m_new, l_new, acc_new


@online_softmax_step.cases
def _(rng):
    def random(*shape, scale=1.0):
        return torch.randn(*shape, generator=rng) * scale

    def start(scores, values):
        m = scores.new_full((*scores.shape[:-1], 1), -torch.inf)
        return m, torch.zeros_like(m), values.new_zeros(*m.shape[:-1], values.shape[-1])

    def row(about, scores, values, sizes, grad=True, tolerance=None):
        about += ", " * bool(about) + "blocks of " + " + ".join(map(str, sizes)) + " keys"
        args = (*start(scores, values), scores, values, sizes)
        return Case(about, args, whole_rows, grad=grad, tolerance=tolerance)

    def step(about, *args, tolerance=None):
        return Case(f"one step, {about}", args, grad=False, tolerance=tolerance)

    def later(*shape, C, D):
        """A state in the middle of a row: its maximum, and a sum of at least 1."""
        return random(*shape, 1, scale=2), 1 + random(*shape, 1).abs(), random(*shape, D)

    first = torch.tensor([[0.0, 0.0, 1.0]]), torch.tensor([[1.0], [4.0], [2.0]])
    yield step("the first block", *start(*first), *first)
    state = (torch.tensor([[x]]) for x in (1.0, 2.0, 3.0))
    yield step(
        "a larger maximum comes", *state, torch.tensor([[3.0]]), torch.tensor([[5.0]])
    )
    state = (torch.tensor([[x]]) for x in (3.0, 2.0, 3.0))
    yield step("the maximum stays", *state, torch.tensor([[1.0]]), torch.tensor([[5.0]]))
    yield step("2 queries, 3 keys", *later(2, C=3, D=4), random(2, 3), random(3, 4))
    m = torch.tensor([[0.0], [-100.0]])
    about = "far below the maximum of one row, above that of another"
    yield step(about, m, 1 + m * 0, random(2, 3), random(2, 4) - 60, random(4, 3))
    shape = (2, 3, 5)
    yield step(
        "2 samples, 3 heads, 5 queries",
        *later(*shape, C=4, D=6), random(*shape, 4, scale=3), random(2, 3, 4, 6),
    )  # fmt: skip
    shape = (3, 3, 3)
    yield step(
        "all sizes 3",
        *later(*shape, C=3, D=3),
        random(*shape, 3, scale=3),
        random(3, 3, 3, 3),
    )
    scores = random(2, 2, 4, 7, scale=2)
    yield row("", scores, random(2, 2, 7, 3), (3, 3, 1))
    rising = torch.arange(8) * 1.5 + random(1, 3, 4, 8)
    yield row("rising maxima", rising, random(1, 3, 8, 5), (2, 2, 2, 2))
    yield row("falling maxima", rising.flip(-1) - 3, random(1, 3, 8, 5), (3, 3, 2))
    yield row("one query, one number", random(1, 1, 1, 5), random(1, 1, 5, 1), (1,) * 5)
    yield row("", random(2, 1, 6, 6), random(2, 1, 6, 6), (6,))
    yield row(
        "13 heads, 40 channels", random(1, 13, 3, 50), random(1, 13, 50, 40), (30, 20)
    )
    causal = random(1, 2, 6, 6, scale=2).masked_fill(
        torch.ones(6, 6).triu(1).bool(), -torch.inf
    )
    yield row("causal", causal, random(1, 2, 6, 4), (2, 2, 2))
    # A NaN that is painted over in the first block is a NaN on the way back.
    about = "causal, from the last block to the first"
    order = torch.tensor([5, 3, 4, 0, 1, 2])
    none = causal.index_fill(-2, torch.tensor(2), -torch.inf)[..., order]
    about += ", and a query that sees none"
    yield row(about, none, random(1, 2, 6, 4), (1, 2, 3))
    closed = torch.full((1, 2, 3), -torch.inf)
    values = random(1, 3, 2)
    exact = dict(tolerance=1e-300)  # a sum of nothing is 0, not almost
    about = "a first block that nobody may see"
    yield step(about, *start(closed, values), closed, values, **exact)
    state = later(1, 2, C=3, D=2)
    yield step("a later block that nobody may see", *state, closed, values)
    far = random(1, 2, 5, 6, scale=90.0) + 300 * torch.tensor([[-1.0], [1.0]])[..., None]
    yield row("scores hundreds apart", far, random(1, 2, 6, 3), (2, 3, 1), tolerance=1e-2)
    below = torch.full((1, 1, 2, 4), -20000.0) + random(1, 1, 2, 4)
    about = "all scores near -20,000"
    yield row(about, below, random(1, 1, 4, 3), (2, 2), tolerance=1e-2)
    below = torch.randint(-8, 9, (1, 1, 2, 4), generator=rng) / 4 - 2.0**20
    below[..., 0, :] += 2.0**21
    yield row(APART, below, random(1, 1, 4, 3), (2, 2), **ROUGHLY)
    # One key in a block: a sum of two is lost in the logarithm of one so far away.
    below = torch.tensor([[[-3e38, -2e38], [0.5, 1.0]]])
    about = "all scores of one row near -2e38"
    yield row(about, below, random(1, 2, 3), (1, 1), grad=False)
    values = random(1, 2, 6, 4)
    values[..., :2, :] = 0.0
    about = "the first values are zeros"
    yield row(about, random(1, 2, 3, 6), values, (2, 4))
    scores, values = random(2, 3, 4, 6).mT.contiguous().mT, random(2, 3, 5, 6).mT
    yield row("not contiguous", scores, values, (2, 4))
    state = (
        t.transpose(1, 2).contiguous().transpose(1, 2) for t in later(2, 3, 5, C=4, D=6)
    )
    about = "m, l and acc not contiguous"
    yield step(about, *state, random(2, 3, 5, 4), random(2, 3, 4, 6))
    state = later(2, 1, 3, 2, C=4, D=5)
    yield step("five axes", *state, random(2, 1, 3, 2, 4), random(2, 1, 3, 4, 5))
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        scores, values = random(2, 2, 3, 6).to(dtype), random(2, 2, 6, 4).to(dtype)
        scores[..., 0, :3] = -torch.inf
        about = f"{dtype}, one row of the first block hidden".removeprefix("torch.")
        nine = 1e-9 if dtype == torch.float64 else None
        grad = dtype == torch.float64
        yield row(about, scores, values, (3, 3), grad=grad, tolerance=nine)
    scores = random(1, 2, 2, 6, scale=6.0)
    scores[..., 1, :] = -58_000 - 500 * torch.randperm(6, generator=rng)
    about = "float16, scores near -60,000 in one row"
    values = random(1, 2, 6, 3).half()
    yield row(about, scores.half(), values, (3, 3), grad=False, tolerance=2e-2)


online_softmax_step.rows("""
Three numbers are kept for each query. Which of them were made with the old maximum, and are mixed with
new ones now?
    sum-not-rescaled  l_new = l + block_sum
    output-not-rescaled  acc_new = acc + mixture
    nothing-rescaled  factor = torch.ones_like(m)
If the maximum rises, must what was summed before become larger or smaller?
    factor-inverted  factor = torch.exp(subtracted - m)
    factor-inverted  acc_new = acc / factor + mixture
    factor-inverted  l_new = l / factor + block_sum
    factor-inverted  factor = torch.exp((subtracted - m).clamp(min=-80, max=80).masked_fill(m == -torch.inf, -torch.inf))
Old terms were divided by exp(old maximum). By which one power of e do you multiply them now?
    factor-of-another-kind  factor = torch.exp(m) || torch.exp(-subtracted)
    factor-of-another-kind  factor = m - subtracted
    factor-of-another-kind  factor = (m / subtracted).nan_to_num(0.0, 0.0, 0.0)
    factor-of-another-kind  factor = torch.exp(m - block_max.masked_fill(block_max == -torch.inf, 0.0))
    factor-of-another-kind  factor = torch.exp2(m - subtracted)
With which maximum do you weigh the new block, and with which one were the old sums made? Which of the two needs a factor,
and which one?
    new-block-rescaled-too  l_new = (l + block_sum) * factor
    new-block-rescaled-too  acc_new = (acc + mixture) * factor
    new-block-rescaled-too  l_new = (l + block_sum) * factor ; acc_new = (acc + mixture) * factor
    new-block-rescaled-too  l_new = l + block_sum * factor
    new-block-rescaled-too  acc_new = acc + mixture * factor
    new-block-rescaled-too  l_new = l + block_sum * factor ; acc_new = acc + mixture * factor
A block with small scores follows one with large scores. What is the maximum of all keys so far?
    maximum-of-the-block-only  m_new = block_max
Two blocks, each with a maximum of its own: what do you subtract from the new scores, and what from the
old ones? When are two exp of the same kind?
    another-maximum-in-the-block  weights = torch.exp(scores - block_max.masked_fill(block_max == -torch.inf, 0.0))
    another-maximum-in-the-block  weights = torch.exp(scores - block_max)
    another-maximum-in-the-block  weights = torch.exp(scores - m)
    another-maximum-in-the-block  weights = torch.exp(scores - subtracted.where(m == -torch.inf, m))
    another-maximum-in-the-block  weights = torch.exp(scores - m.masked_fill(m == -torch.inf, 0.0))
Let one score be 1000. What is exp(1000)? What was subtracted in lesson 01?
    maximum-not-subtracted  weights = torch.exp(scores) ; factor = torch.ones_like(m)
    maximum-not-subtracted  weights = torch.exp(scores)
    maximum-not-subtracted  weights = torch.exp(scores) / torch.exp(subtracted)
    maximum-not-subtracted  m_new = m ; subtracted = torch.zeros_like(m) ; factor = torch.ones_like(m)
    maximum-not-subtracted  m_new = m ; weights = torch.exp(scores) ; factor = torch.ones_like(m)
    maximum-not-subtracted  m_new = torch.zeros_like(m) ; factor = torch.ones_like(m)
Which maximum belongs to the l and the acc that you return?
    old-maximum-returned  return = m, l_new, acc_new || block_max, l_new, acc_new
How many maxima has a block of 3 queries and 5 keys: along which axis do you look?
    maximum-over-the-wrong-axis  block_max = scores.amax(-2, keepdim=True) || scores.amax()
    maximum-over-the-wrong-axis  block_max = scores.amax((-2, -1), keepdim=True)
    maximum-over-the-wrong-axis  block_max = scores.amax(-2, keepdim=True).mT
m has the shape (..., L, 1). Which shape has a maximum, or a sum, over the last axis in yours?
    axis-lost  block_max = scores.amax(-1)
    axis-lost  block_sum = weights.sum(-1)
    axis-lost  block_max = scores.amax(-1) ; block_sum = weights.sum(-1)
Along an axis, `max` gives two things: the values, and their places. Which of the two do you need?
    values-and-places  block_max = scores.max(-1)
    values-and-places  block_max = scores.max(-1, keepdim=True)
A row may see nothing of this block. What of the earlier blocks should be left then, and by which factor?
    lost-in-an-empty-block  factor = _.masked_fill(block_max == -torch.inf, 0.0)
One row has seen nothing yet, and another one has. Does yours ask each row, or all of them at once?
    one-row-decides-for-all  factor = torch.exp(m - subtracted) if (m > -torch.inf).all() else torch.zeros_like(m)
What is -inf - (-inf)? Which row can have a maximum of -inf, and when?
    inf-minus-inf  subtracted = m_new || _ if (scores == -torch.inf).all() else m_new
    inf-minus-inf  factor = torch.exp(m - m_new)
    inf-minus-inf  weights = torch.exp(scores - m_new)
At the first block the old maximum is -inf. What should become of the zeros in l and acc there, and which
of your exp is not 0?
    first-block-not-handled  factor = torch.exp(m.masked_fill(m == -torch.inf, 0.0) - subtracted)
A row has seen no key that it may see. Its maximum so far: which number says so? Which one do you return?
    empty-maximum-changed  return = subtracted, l_new, acc_new
    empty-maximum-changed  return = m_new.clamp(min=torch.finfo(m.dtype).min), l_new, acc_new
    empty-maximum-changed  return = m_new.clamp(min=-10000.0), l_new, acc_new
    empty-maximum-changed  return = m_new.clamp(min=-1e9), l_new, acc_new
A row has seen no key: l is a sum of nothing. Where is a division by 0 to be avoided: in each step, or
once, before the division?
    empty-sum-changed  l_new = _.clamp(min=1)
When is a row divided by l: after each block, or once at the end? What does the next step multiply?
    normalized-in-every-step  acc_new = _ / l_new || _ / l_new.masked_fill(l_new == 0, 1.0)
    normalized-in-every-step  acc_new = (acc * l * factor + mixture) / l_new
    normalized-in-every-step  acc_new = (acc * l * factor + mixture) / l_new.masked_fill(l_new == 0, 1.0)
    normalized-in-every-step  mixture = weights @ values / block_sum || weights @ values / block_sum.clamp(min=1e-9)
    normalized-in-every-step  weights = _ / _.sum(-1, keepdim=True) ; block_sum = torch.exp(scores - subtracted).sum(-1, keepdim=True)
Each block has a softmax of its own in yours: its weights add up to 1. Do two blocks always deserve the
same say?
    softmax-of-the-block  weights = scores.softmax(-1)
    softmax-of-the-block  mixture = scores.softmax(-1) @ values
    softmax-of-the-block  weights = scores.softmax(-1).nan_to_num(0.0)
What is your exp for a hidden key, whose score is -inf? What should it be?
    hidden-keys-seen-a-little  weights = torch.exp((scores - subtracted).clamp(min=-20.0))
    hidden-keys-seen-a-little  weights = torch.exp((scores - subtracted).clamp(min=-40.0))
    hidden-keys-seen-a-little  weights = torch.exp(scores.masked_fill(scores == -torch.inf, -20.0) - subtracted)
l is the denominator of the softmax. Is that a sum of exp, their mean, their largest, or a number of keys?
    another-denominator  block_sum = weights.mean(-1, keepdim=True)
    another-denominator  block_sum = weights.amax(-1, keepdim=True)
    another-denominator  block_sum = (weights > 0).sum(-1, keepdim=True).to(weights)
    another-denominator  block_sum = scores.shape[-1] || weights.sum()
    another-denominator  block_sum = weights.sum(-2, keepdim=True)
    another-denominator  block_sum = weights.sum(-2, keepdim=True).mT
    another-denominator  block_sum = scores.sum(-1, keepdim=True)
    another-denominator  l_new = _.log()
What is kept for the next block: the sum of this block, or that of all blocks so far?
    old-blocks-forgotten  l_new = block_sum
    old-blocks-forgotten  acc_new = mixture
    old-blocks-forgotten  l_new = block_sum ; acc_new = mixture
    old-blocks-forgotten  factor = torch.zeros_like(m)
    old-blocks-forgotten  return = m_new, l, acc_new || m_new, l_new, acc
What is mixed, and with which numbers: scores, or their exp?
    scores-mixed  mixture = scores @ values
    scores-mixed  mixture = scores.masked_fill(scores == -torch.inf, 0.0) @ values
    weights-not-multiplied  mixture = values.sum(-2, keepdim=True)
The scores are ready: divided, and masked. What do you do to them once more?
    scaled-again  block_max = _ / math.sqrt(values.shape[-1]) ; weights = torch.exp(scores / math.sqrt(values.shape[-1]) - subtracted)
    scaled-again  weights = torch.exp(scores / math.sqrt(values.shape[-1]) - subtracted)
What is the order of the three in the task?
    another-order  return = l_new, m_new, acc_new || acc_new, m_new, l_new
    another-order  return = m_new, acc_new, l_new || acc_new, l_new, m_new
Three things go into the next step. What do you return?
    not-three-things  return = acc_new || acc_new / l_new || l_new, acc_new
    not-three-things  return = m_new, l_new, acc_new, acc_new / l_new
exp or a power of 2: both can make a softmax, but one of them needs other scores. Which base have l and
acc?
    another-base  factor = torch.exp2(m - subtracted) ; weights = torch.exp2(scores - subtracted)
    another-base  weights = torch.exp2(scores - subtracted)
The maximum is that of the scores. Where does a number come in that is none of them?
    maximum-never-negative  m_new = _.clamp(min=0.0)
    maximum-never-negative  m_new = (m + block_max) / 2
    maximum-never-negative  m_new = torch.maximum(m.nan_to_num(neginf=0.0), block_max)
    maximum-of-absolute-values  block_max = scores.abs().amax(-1, keepdim=True)
""")

online_softmax_step.drills(
    "sum-not-rescaled, maximum-over-the-wrong-axis, axis-lost 1, factor-inverted, another-maximum-in-the-block 1, "
    "normalized-in-every-step, maximum-of-the-block-only, inf-minus-inf 2, empty-maximum-changed"
)
