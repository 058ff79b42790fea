"""The task `sample_next`: draw the next token of each row, among the likeliest."""

from functools import partial

import torch

from attn_lib.checks.authoring import (
    Case,
    Wrong,
    can_be_chance,
    can_be_independent,
    parts,
    repeated_too_often,
    task,
)
from attn_lib.tasks.lesson_15.runs import Draws, sampled


@task(
    lesson=15,
    points=4,
    insight="Temperature changes all chances, top_p cuts off the tail: two knobs for two faults.",
    returns=("tokens that are drawn", "shares of the tokens"),
    also=("next_token",),
    hints=[
        "First only the temperature: what do the logits become before the softmax, and what is left to do at 0? "
        "`torch.multinomial(chances, 1, generator=...)` draws one place in each row; its rows need not add up to 1.",
        "For top_p, sort the chances of each row, the largest first, and keep the order: `sort` and `argsort` tell it. "
        "`cumsum` says how much the likeliest ones have together.",
        "A token stays if those before it have not reached top_p yet; the first one always does. Put 0 for all others, draw, "
        "and remember that what you drew is a place in the sorted row: which token stands there?",
    ],
)
def sample_next(logits, temperature, top_p, generator):
    likeliest = logits.argmax(-1)
    greedy = temperature == 0
    divisor = 1.0 if greedy else temperature
    exact = logits.to(torch.promote_types(logits.dtype, torch.float32))
    shifted = exact - exact.amax(-1, keepdim=True)
    scaled = shifted / divisor
    chances = scaled.softmax(-1)
    order = chances.argsort(-1, descending=True)
    ordered = chances.gather(-1, order)
    upto = ordered.cumsum(-1)
    before = upto - ordered
    outside = before >= top_p
    first = torch.arange(logits.shape[-1]) == 0
    cut = outside & ~first
    stay = ordered.masked_fill(cut, 0.0)
    ranks = torch.multinomial(stay, 1, generator=generator)
    drawn = order.gather(-1, ranks)
    column = drawn[:, 0]
    ids = likeliest if greedy else column
    return ids


def shares(exact, returned, logits, temperature, top_p, drawn):
    """Judge draws by what must hold, however they were made.

    Returns which tokens of each kind of row were drawn, and how often: if the difference can be chance, what is
    exact.
    """
    ids, again, elsewhere, later, untouched = parts(returned)
    B, V = logits.shape
    got = tuple(ids.shape[1:])
    if got != (B,):
        text = f"The ids should have shape (B,), here {(B,)}, but have {got}."
        raise Wrong("shape of ids", text)
    if ids.dtype != torch.int64:
        text = f"The ids should have dtype torch.int64, but have {ids.dtype}."
        raise Wrong("dtype of ids", text)
    if not 0 <= int(ids.min()) <= int(ids.max()) < V:
        raise Wrong("no token", f"Each id should be one of V tokens, from 0 to {V - 1}.")
    if ((exact > 0).sum(1) > 1).any():
        _refuse_other_chance(exact, ids, again, elsewhere, later, untouched)
        alike = ids.view(len(ids), -1, drawn.kinds)  # (calls, rows of a kind, kinds)
        by_chance = (exact ** alike.shape[1]).sum(1).max()
        if by_chance < 1e-6 and (alike == alike[:, :1]).all():
            text = "In every call, all rows with the same logits get the same token."
            raise Wrong("one token", text)
    rows = ids.view(-1, drawn.kinds).T  # all draws of each kind of row
    counts = torch.stack([torch.bincount(row, minlength=V) for row in rows]).double()
    if all(map(_fits, counts, exact, logits[: drawn.kinds])):
        if (exact > 0).equal(counts > 0):
            kinds = ids.view(len(ids), -1, drawn.kinds).movedim(2, 0)
            if not all(map(can_be_independent, kinds, exact)):
                text = "Each token comes as often as it should, but of two rows, one tells something of the other."
                raise Wrong("rows tied", text)
        return exact > 0, exact
    return counts > 0, counts / rows.shape[1]


def _exact(row, temperature, top_p, near):
    """Return how likely each token is (V,); no sum of chances is as near to top_p as this."""
    row = row.double()
    if temperature == 0:
        return torch.nn.functional.one_hot(row.argmax(), len(row)).double()
    chances = (row / temperature).softmax(-1)
    order = chances.argsort(descending=True, stable=True)
    total, kept = 0.0, torch.zeros_like(chances)
    for token in order.tolist():
        if total < top_p or total == 0:
            kept[token] = chances[token]
        total += chances[token].item()
        decided = abs(total - top_p) > near or top_p == 1 or {*chances.tolist()} == {0.25}
        is_one_of_many = int((chances == chances[token]).sum()) > 100
        assert decided or is_one_of_many, "rounding would decide"
        if total > max(top_p, 0.99999):
            break
    return kept / kept.sum()


def _fits(counts, exact, logits):
    """Say whether it can be chance. Of equally likely tokens, any may be in the set."""
    equals = logits.unique(return_inverse=True)[1]
    came, likely = (torch.bincount(equals, each.double()) for each in (counts, exact))
    return can_be_chance(came, likely) and can_be_chance(
        _likeliest_first(logits, counts), _likeliest_first(logits, exact)
    )


def _likeliest_first(logits, numbers):
    """Sort numbers of tokens by their logits, and those of equal logits by themselves."""
    numbers = numbers.sort(descending=True)
    order = logits[numbers.indices].argsort(descending=True, stable=True)
    return numbers.values[order]


def _refuse_other_chance(exact, ids, again, elsewhere, later, untouched):
    """Raise `Wrong` if another generator drew, or none."""
    if not untouched:
        text = "It should draw with `generator`, and leave PyTorch's own generator alone."
        raise Wrong("global generator", text)
    if not again.equal(ids[: len(again)]):
        text = "Generators with the same seed should give the same ids, and did not."
        raise Wrong("not by the generator", text)
    if ids.min() == ids.max():  # nothing is drawn, and this is seen in the shares
        return
    if elsewhere.equal(ids[: len(elsewhere)]):
        text = "Generators with different seeds should give different ids, and did not."
        raise Wrong("seed ignored", text)
    by_chance = (len(elsewhere) - 1) * (exact**2).sum(1).max().log()
    if by_chance < -14 and elsewhere[:-1].equal(ids[1 : len(elsewhere)]):
        text = "With the next seed, the first ids are the second ones of this seed: a call should go on with the generator."
        raise Wrong("next seed", text)
    if by_chance < -14 and later[1:].equal(ids[1 : len(later)]):
        text = "Whether the generator has drawn before or not, the second ids are the same: a call should go on where the generator is."
        raise Wrong("goes on elsewhere", text)
    if len(ids) > 1 and (ids == ids[0]).all():
        text = "Every call gives the same ids, though the generator has gone on."
        raise Wrong("always the same", text)
    most = exact.amax(1).log().sum() * (ids.shape[1] / len(exact))
    repeated = repeated_too_often(ids, most.exp().item())
    if repeated:
        text = "The ids of whole calls come again, more often than by chance."
        raise Wrong("few batches", f"{text}\nOf {len(ids)}, {repeated} came before.")


@sample_next.cases
def _(rng):
    def case(
        about,
        logits,
        temperature,
        top_p,
        *,
        rows=500,
        calls=2,
        dtype=torch.float32,
        turned=False,
        near=0.02,
        is_slow=False,
    ):
        exact = torch.stack(
            [_exact(row.to(dtype), temperature, top_p, near) for row in logits]
        )
        seed = int(torch.randint(1 << 31, (), generator=rng))
        logits = logits.to(dtype).repeat(rows, 1)
        if turned:
            logits = logits.T.contiguous().T
        about += (
            f", {rows} rows of each"
            if rows > 1
            else f", {calls} times"
            if calls > 2
            else ""
        )
        args = (logits, temperature, top_p, Draws(calls, seed, len(exact)))
        more = {"grad": False, "tolerance": 0.15, "is_slow": is_slow}
        return Case(about, args, sampled, finish=partial(shares, exact), **more)

    def of(about, chances, temperature, top_p, **more):
        told = " and ".join(str(row) for row in chances)
        return case(
            f"{about}: {told}", torch.tensor(chances).log(), temperature, top_p, **more
        )

    two = torch.tensor([[1.0, 3.0, 2.0], [5.0, 0.0, 1.0]])
    yield case("greedy, in two rows", two, 0, 1.0, rows=1)
    yield case("greedy, all logits negative", -two.exp(), 0.0, 0.9, rows=1)
    yield case("greedy, one row", two[:1], 0, 0.5, rows=1)
    yield case("greedy, B = V", torch.randn(5, 5, generator=rng), 0, 1.0, rows=1)
    yield case("greedy, 400 tokens", torch.randn(3, 400, generator=rng), 0, 0.3, rows=1)
    near = torch.tensor([[1.0, 1 - 2e-6, 1 - 1e-6]])
    yield case("greedy, logits that nearly equal each other", near, 0, 1.0, rows=100)
    four = [[0.5, 0.3, 0.15, 0.05]]
    mixed = [[0.08, 0.5, 0.12, 0.3]]
    yield of("one row of the chances", mixed, 1.0, 0.7, rows=1, calls=240)
    yield of("chances", four, 1.0, 1.0)
    yield of("the two likeliest of the chances", four, 1.0, 0.7)
    yield of("chances in another order", mixed, 1.0, 0.7)
    yield of("four tokens of the chances", mixed, 1.0, 1.0, rows=3000, calls=1)
    yield of("three tokens of the chances", mixed, 1, 0.85)
    yield of("only the likeliest of the chances", mixed, 1.0, 0.4)
    yield of("top_p 0, chances", mixed, 1.0, 0.0)
    yield of("one token far in front, chances", [[0.03, 0.95, 0.02]], 1.0, 1.0)
    yield of("a higher temperature, chances at 1", mixed, 2.0, 1)
    yield of("a lower temperature, chances at 1", mixed, 0.5, 1.0)
    yield of("a higher temperature and top_p, chances at 1", mixed, 2.0, 0.7)
    yield of("a lower temperature and top_p, chances at 1", mixed, 0.6, 0.7)
    rows = [[0.75, 0.1, 0.05, 0.1], [0.25, 0.1, 0.35, 0.3], [0.1, 0.48, 0.05, 0.37]]
    yield of("rows of three kinds, chances", rows, 1.0, 0.68)
    yield of("rows of three kinds, all tokens, chances", rows, 1.0, 1.0)
    yield of("equal chances", [[0.25, 0.25, 0.25, 0.25]], 1.0, 0.6)
    yield of("top_p reached exactly, chances", [[0.25] * 4], 1.0, 0.5)
    level = torch.full((1, 60), 2.0)
    yield case("60 equal logits", level, 1.0, 1.0, rows=5, calls=1000, is_slow=True)
    edge = [[0.699995, 0.300005], [0.700005, 0.299995]]
    yield of("a little less than top_p, and a little more", edge, 1.0, 0.7, near=1e-6)
    near = 0.05 * torch.tensor(mixed).log()
    yield case(
        f"a temperature of 0.05, at which the chances are {mixed[0]}", near, 0.05, 1.0
    )
    yield of("two of equal chances", [[0.1, 0.4, 0.1, 0.4]], 1.0, 0.7)
    yield of(
        "tokens that cannot come, chances",
        [[0.0, 0.6, 0.0, 0.3, 0.1]],
        5000.0,
        0.95,
        rows=2500,
    )
    yield of("B = V, chances", [*rows, *four], 1.0, 0.68, rows=1, calls=100)
    single = torch.tensor([[-torch.inf, -torch.inf, 1.5]])
    yield case("only one token can come", single, 1.0, 0.9)
    yield case(
        "logits near 10000", torch.tensor(mixed).log() + 1e4, 1.0, 0.7, dtype=torch.float64
    )
    yield case("logits near -300", torch.tensor(mixed).log() - 300, 1.0, 0.7)
    low = 0.1 * torch.tensor(mixed).log() - 300
    yield case("logits near -300, a temperature of 0.1", low, 0.1, 0.7)
    yield case("logits near 300", torch.tensor(rows).log() + 300, 1.0, 1.0)
    far = torch.tensor([[2.0, 5.0, -400.0, 4.0]])
    yield case("a temperature near 0", far, 0.05, 0.9)
    yield case("one token to choose from", torch.tensor([[0.3]]), 1.0, 0.5)
    yield of("one row, chances", [[0.5, 0.5]], 1.0, 1.0, rows=1, calls=50)
    many = torch.full((2, 200), -60.0)
    many[0, [170, 3, 120]] = torch.tensor([0.5, 0.3, 0.2]).log()
    many[1, [0, 199]] = torch.tensor([0.4, 0.6]).log()
    yield case("200 tokens", many, 1.0, 0.9, rows=80)
    yield of("float64, chances", mixed, 1.3, 0.8, dtype=torch.float64)
    yield of("float16, chances", mixed, 1.3, 0.8, dtype=torch.float16)
    none = torch.tensor(
        [[-torch.inf, 2.0, -torch.inf, 5.0], [-torch.inf, -400.0, -300.0, -torch.inf]]
    )
    yield case("greedy, tokens that cannot come", none, 0, 0.5, rows=1)
    near = torch.tensor([[1.0, 1 + 5e-13, 1 + 1e-12]], dtype=torch.float64)
    about = "greedy, float64 logits that nearly equal each other"
    yield case(about, near, 0, 1.0, rows=100, dtype=torch.float64)
    told = torch.tensor(mixed).double().log()
    for temperature, least, dtype in (
        (1e-4, 0, torch.float32),
        (1e-6, 0, torch.float64),
        (0.01, -300, torch.float32),
        (300.0, 0, torch.float32),
    ):
        about = f"logits near {least}, " if least else ""
        about += f"a temperature of {temperature:g}, at which the chances are {mixed[0]}"
        yield case(about, temperature * told + least, temperature, 0.7, dtype=dtype)
    apart = torch.tensor(mixed + four).log() + torch.tensor([[300.0], [-800.0]])
    yield case("rows near 300 and near -800", apart, 1.0, 0.7)
    rare = torch.tensor([[0.0, 0.6, 0.0, 0.3, 0.1]]).log() - 300
    yield case("logits near -300, and tokens that cannot come", rare, 1.0, 0.95)
    yield of("not contiguous, chances", mixed, 1.0, 0.7, turned=True)
    yield of("four rows, chances", [[0.5, 0.5]], 1.0, 1.0, rows=4, calls=144)
    high = torch.tensor([[600.0, 596.0, 592.0]])  # divided as bfloat16, two are equal
    about = "bfloat16, logits 600, 596 and 592"
    yield case(about, high, 2.3, 1.0, dtype=torch.bfloat16)
    level = 7.0 * (torch.arange(1000) == 5).float()
    about = "a token of half of the chances, and 999 with a thousandth of its chance"
    yield case(about, level[None], 1.0, 1.0, rows=60)
    level = -0.25 * (torch.arange(900) % 3 == 1).float()
    about = "bfloat16, 600 tokens of equal chances and 300 less likely ones"
    yield case(about, level[None], 1.0, 0.6, rows=60, calls=1, dtype=torch.bfloat16)
    level = -0.25 * (torch.arange(900) % 3 != 1).float()
    about = "bfloat16, 300 tokens of equal chances and 600 less likely ones"
    yield case(about, level[None], 1.0, 0.8, rows=60, calls=1, dtype=torch.bfloat16)
    level = 0.125 * (torch.arange(3000) % 10 < 3).float()
    about = "900 tokens of equal chances and 2,100 less likely ones"
    yield case(about, level[None], 1.0, 1.0, rows=50, calls=1)


sample_next.rows("""
Divided by a temperature below 1, are logits farther from each other or nearer? What does your line do?
    temperature-multiplied  scaled = shifted * divisor || shifted * divisor ; divisor = temperature
Give it two temperatures. Where does yours come in? If you divide shares: what is left of that, once they are shares
again?
    temperature-ignored  scaled = shifted ; stay = _ / divisor
    temperature-ignored  chances = (powers := shifted.softmax(-1) / divisor) / powers.sum(-1, keepdim=True)
    temperature-ignored  scaled = shifted
    temperature-ignored  divisor = 1.0
A softmax makes shares of differences. What does a division after it change, once they are shares again?
    divided-after-the-softmax  chances = shifted.softmax(-1) / divisor
At temperature 2, does the set hold the tokens that are likeliest at 2? By which chances do you cut, and by which do you draw?
    cut-without-temperature  ordered = shifted.softmax(-1).gather(-1, order) ; stay = chances.gather(-1, order).masked_fill(cut, 0.0)
    cut-without-temperature  chances = shifted.softmax(-1) ; stay = (_) ** (1 / divisor)
At temperature 0 the likeliest token is taken. What do you divide by, and where is that case handled?
    temperature-of-zero  greedy = False ; divisor = temperature
    temperature-of-zero  divisor = temperature
    temperature-of-zero  greedy = temperature is None
    temperature-of-zero  greedy = False
Which of the V tokens does greedy mean, in each row? Which shape and dtype has what you return then?
    greedy-otherwise  likeliest = logits.argmax() || logits.argmax(0) || logits.argmin(-1) || logits.amax(-1)
    greedy-otherwise  likeliest = logits.abs().argmax(-1) || logits[:1].argmax(-1).expand(len(logits))
    greedy-otherwise  likeliest = logits.argmax(-1, keepdim=True) || logits.argmax().expand(len(logits))
When is it greedy? Print your chances for the second token, as you draw by them: how often should it come?
    always-greedy  ids = likeliest
    always-greedy  ranks = stay.argmax(-1, keepdim=True)
    always-greedy  chances = scaled.exp()
    always-greedy  greedy = temperature <= 1 || temperature < 1 || True
Each row hands out a total of 1 among its tokens. Which axis holds the tokens?
    softmax-over-rows  chances = scaled.softmax(0)
What do chances add up to? What makes them of logits?
    no-chances  chances = scaled || scaled.sigmoid() || scaled.log_softmax(-1)
    no-chances  chances = (x := scaled - scaled.amin(-1, keepdim=True) + 1e-6) / x.sum(-1, keepdim=True)
    no-chances  chances = scaled.softmax(-1).square()
What is the exp of a logit of 300, or of 10000? A softmax is the same if all logits are lowered by the largest.
    exp-too-large  shifted = logits ; chances = (powers := scaled.exp()) / powers.sum(-1, keepdim=True)
Change top_p: which line of yours knows?
    top-p-ignored  outside = before > 2
    top-p-ignored  stay = ordered
    top-p-ignored  stay = chances ; drawn = ranks
Add up the likeliest tokens until the sum reaches top_p. Is the token that reaches it in your set?
    one-token-too-few  outside = upto > top_p || upto >= top_p
    one-token-too-few  outside = upto > top_p ; cut = outside
    one-token-too-few  outside = upto > top_p + 1e-6 ; cut = outside
The sum has reached top_p. Does one more token slip into your set?
    one-token-too-many  outside = F.pad(before, (1, 0))[:, :-1] >= top_p
    one-token-too-many  outside = before > top_p || upto - ordered > top_p + 1e-4
    one-token-too-many  cut = F.pad(outside & ~first, (1, 0))[:, :-1]
What if top_p is 0? How many tokens stay at least, and what can be drawn from nothing?
    nothing-left  cut = outside
What is `not 0.0` in Python? With top_p 0, how many tokens can yours draw?
    zero-taken-for-none  outside = before >= (top_p or 2)
top_p is a bound of a sum. What do you compare it with: one chance, or all up to it?
    compared-with-one-chance  outside = ordered < top_p || ordered < 1 - top_p || ordered < top_p * ordered[:, :1]
    compared-with-one-chance  outside = ordered > top_p || ordered >= top_p
    compared-with-one-chance  outside = ordered < (1 - top_p) * ordered[:, :1]
    compared-with-one-chance  stay = chances.masked_fill(chances < (1 - top_p) * ordered[:, :1], 0.0) ; drawn = ranks
    compared-with-one-chance  stay = chances.masked_fill(chances < top_p * ordered[:, :1], 0.0) ; drawn = ranks
    compared-with-one-chance  stay = chances.masked_fill(chances < 1 - top_p, 0.0) ; drawn = ranks
top_p is a share of the chances. Do you take it for a share, or a number, of the tokens?
    share-of-the-tokens  outside = torch.arange(logits.shape[-1]) >= top_p * logits.shape[-1]
    share-of-the-tokens  outside = (torch.arange(logits.shape[-1]) >= top_p * logits.shape[-1]).expand(logits.shape)
Which tokens are in the set first, the likeliest or the least likely? In which order do you add them up?
    least-likely-first  order = chances.argsort(-1)
    least-likely-first  outside = before < top_p
    least-likely-first  outside = upto - ordered < 1 - top_p
You add chances up. Along which axis, in which order do the tokens stand, and are the likeliest in front?
    not-sorted  order = torch.arange(logits.shape[-1]).expand(logits.shape)
    sorted-over-rows  order = chances.argsort(0, descending=True)
    sorted-over-rows  order = chances.argsort(-1, descending=True)[:1].expand(logits.shape)
    sorted-over-rows  order = chances.mean(0).argsort(descending=True).expand(logits.shape)
    sorted-over-rows  upto = ordered.cumsum(0)
What you drew is a place in the sorted row. Which token stands there, in this very row?
    place-instead-of-token  drawn = ranks
    place-instead-of-token  drawn = order.argsort(-1).gather(-1, ranks)
    place-instead-of-token  drawn = order[:1].expand(logits.shape).gather(-1, ranks)
    place-instead-of-token  drawn = order.gather(0, ranks) || order[:, ranks[:, 0]][:, :1]
Your mask belongs to the sorted row. To which row do you apply it, and from which one do you draw?
    mask-in-another-order  stay = chances.masked_fill(cut, 0.0) ; drawn = ranks
    mask-in-another-order  stay = chances.masked_fill(cut, 0.0)
    mask-in-another-order  stay = chances.masked_fill(cut.gather(-1, order), 0.0) ; drawn = ranks
Which tokens stay is a question for each row. Does another row of the batch change the set in yours?
    one-set-for-all-rows  cut = (outside & ~first).all(0, keepdim=True).expand(logits.shape)
    one-set-for-all-rows  cut = (outside & ~first).any(0, keepdim=True).expand(logits.shape)
    one-set-for-all-rows  cut = (outside & ~first)[:1].expand(logits.shape)
    one-set-for-all-rows  stay = ordered.masked_fill(torch.arange(logits.shape[-1]) >= (~cut).sum(-1).max(), 0.0)
    one-set-for-all-rows  stay = ordered.masked_fill(torch.arange(logits.shape[-1]) >= (~cut).sum(-1).min(), 0.0)
    one-set-for-all-rows  upto = ordered.flatten().cumsum(0).view_as(ordered)
    one-set-for-all-rows  upto = ordered.mean(0, keepdim=True).cumsum(-1).expand(ordered.shape) ; before = upto - ordered.mean(0, keepdim=True)
Of four equal chances and top_p 0.5, how many tokens has the smallest set? Do you cut by a count, or by a chance that others
share?
    equals-all-stay  stay = ordered.masked_fill(ordered < ordered.gather(-1, (~cut).sum(-1, keepdim=True) - 1), 0.0)
You remove tokens. Whom do you remove, and whom do you keep?
    upside-down  stay = ordered.masked_fill(~cut, 0.0)
All in the set share what is left. Print your chances for one row: have they the ratios that they had before?
    set-drawn-evenly  stay = (~cut).float()
    set-drawn-evenly  stay = ordered.masked_fill(cut, 0.0).softmax(-1)
    set-drawn-evenly  stay = ordered.masked_fill(cut, -torch.inf).softmax(-1)
    set-drawn-evenly  stay = ordered.masked_fill(cut, 0.0).square()
How many draws does your batch have? Two rows with the same logits: may they get different tokens?
    one-draw-for-all-rows  drawn = order.gather(-1, ranks)[:1].expand(len(logits), 1)
    one-draw-for-all-rows  ranks = torch.multinomial(stay[:1], 1, generator=generator).expand(len(logits), 1)
    one-draw-for-all-rows  ranks = torch.multinomial(stay.mean(0), 1, generator=generator).expand(len(logits), 1)
    one-draw-for-all-rows  ranks = (stay.cumsum(-1) < torch.rand(1, generator=generator) * stay.sum(-1, keepdim=True)).sum(-1, keepdim=True)
    one-draw-for-all-rows  ranks = (stay.cumsum(-1) < ((torch.rand(1, generator=generator) + 0.618034 * torch.arange(len(logits))) % 1)[:, None] * stay.sum(-1, keepdim=True)).sum(-1, keepdim=True)
One draw for each row: from which row's chances does it come?
    chances-of-one-row  ranks = torch.multinomial(stay[0], len(logits), replacement=True, generator=generator)[:, None]
    chances-of-one-row  ranks = torch.multinomial(stay.mean(0), len(logits), replacement=True, generator=generator)[:, None]
The set's chances add up to less than 1. With a number of your own from 0 to 1, what happens beyond their sum?
    not-renormalized  ranks = (stay.cumsum(-1) < torch.rand(len(logits), 1, generator=generator)).sum(-1, keepdim=True).clamp(max=logits.shape[-1] - 1)
    not-renormalized  ranks = (stay.cumsum(-1) < torch.rand(len(logits), 1, generator=generator)).sum(-1, keepdim=True) % logits.shape[-1]
    not-renormalized  ranks = (stay.cumsum(-1) < torch.rand(len(logits), 1, generator=generator)).long().sum(-1, keepdim=True).clamp(max=int((~cut).sum(-1).max()) - 1)
Which generator draws? Where do you hand over the one that was given?
    generator-not-used  ranks = torch.multinomial(stay, 1)
    generator-not-used  ranks = torch.distributions.Categorical(stay).sample()[:, None]
    generator-not-used  ranks = torch.multinomial(stay, 1, generator=torch.manual_seed(generator.initial_seed()))
A generator goes on with each number that it gives. Where do you set it back, or begin with another one?
    generator-set-back  ranks = torch.multinomial(stay, 1, generator=generator.manual_seed(generator.initial_seed()))
    generator-set-back  ranks = torch.multinomial(stay, 1, generator=torch.Generator().manual_seed(generator.initial_seed()))
    generator-set-back  ranks = torch.multinomial(stay, 1, generator=generator.clone_state())
Which seed draws in yours: that of the generator that was given, or always the same?
    seed-of-its-own  ranks = torch.multinomial(stay, 1, generator=generator.manual_seed(0))
    seed-of-its-own  ranks = torch.multinomial(stay, 1, generator=torch.Generator().manual_seed(0))
One id for each row, (B,): which axis has yours too many, or too few?
    axis-left-over  column = drawn || drawn[None, :, 0] || drawn.squeeze()
    axis-left-over  ids = (likeliest if greedy else column)[:, None] || (likeliest if greedy else column).squeeze()
    only-one-row  ids = (likeliest if greedy else column)[0] || (likeliest if greedy else column)[:1]
An embedding reads whole numbers. Which dtype have your ids, and are they in a tensor? Or are these chances, or logits?
    other-than-ids  return = chances.gather(-1, ids[:, None])[:, 0] || logits.gather(-1, ids[:, None])[:, 0]
    other-than-ids  ids = (likeliest if greedy else column).float() || (likeliest if greedy else column).int()
    other-than-ids  ids = (likeliest if greedy else column).tolist()
What do you return: ids, their chances, or their logits?
    chances-instead-of-ids  return = chances || stay || (ids, chances) || F.one_hot(ids, logits.shape[-1])
""")

sample_next.drills(
    "generator-not-used, temperature-multiplied, upside-down, least-likely-first, softmax-over-rows, "
    "place-instead-of-token, axis-left-over 2, mask-in-another-order 1, temperature-of-zero 1, set-drawn-evenly 2, "
    "always-greedy 2, one-token-too-many 1, temperature-ignored"
)
