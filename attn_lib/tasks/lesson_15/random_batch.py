"""The task `random_batch`: places of a long text, drawn at random, and what follows each token there."""

import math

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
from attn_lib.tasks.lesson_15.runs import Batches, batches

RARE = math.log(1e-6)
STEPS = 2, 3, 5, 16


@task(
    lesson=15,
    points=3,
    insight="Any place that leaves room for a window can begin one: a text has almost as many windows as tokens.",
    also=("random_windows",),
    returns=("distances from inputs to targets", "shares of the places"),
    hints=[
        "Write the windows of the tokens 0 to 4 on paper, of length 2, each with its targets. With which token can a window "
        "begin, so that its last target is still there? How many such places are there?",
        "`torch.randint` with your generator draws where the rows begin: which is the last place at which "
        "one may? A row is a slice of that length. Where do its targets begin and end?",
        "All rows at once: a column of starts and a row that counts the steps make a table of places, (B, L). A tensor can "
        "be indexed with a whole table. What must you add to the table for the targets?",
    ],
)
def random_batch(ids, batch_size, length, generator):
    N = len(ids)
    places = N - length
    starts = torch.randint(places, (batch_size,), generator=generator)
    steps = torch.arange(length)
    read = starts[:, None] + steps
    following = read + 1
    inputs = ids[read]
    targets = ids[following]
    return inputs, targets


@random_batch.other
def row_by_row(ids, batch_size, length, generator):
    N = len(ids)
    places = N - length
    drawn = torch.randint(places, (batch_size,), generator=generator)
    begins = drawn.tolist()
    rows = [ids[i : i + length] for i in begins]
    nexts = [ids[i + 1 : i + length + 1] for i in begins]
    inputs = torch.stack(rows)
    targets = torch.stack(nexts)
    return inputs, targets


def fair(returned, ids, batch_size, length, drawn):
    """Judge batches by what must hold, however they were drawn.

    Returns how far each target is from its input, and the share of each place: if all is as it should be, exact
    ones.
    """
    inputs, targets, again, elsewhere, later, untouched = parts(returned)
    N, calls = len(ids), drawn.calls
    for name, given in (("inputs", inputs), ("targets", targets)):
        shape, got = (batch_size, length), tuple(given.shape[1:])
        if got != shape:
            text = f"The {name} should have shape (B, L), here {shape}, but have {got}."
            raise Wrong(f"shape of {name}", text)
        if given.dtype != ids.dtype:
            text = f"The {name} should have the dtype of ids, {ids.dtype}, but have"
            raise Wrong(f"dtype of {name}", f"{text} {given.dtype}.")
    if len(ids.unique()) == N:
        starts = _places(ids, inputs[..., 0].flatten())
        followers = _places(ids, targets).view(-1, length)
    else:  # a token does not tell its place, but a row does
        starts, following = (_places_of_rows(ids, rows) for rows in (inputs, targets))
        followers = following[:, None] + torch.arange(length)
    read = starts[:, None] + torch.arange(length)
    if (read < 0).any() or not ids[read % N].equal(inputs.reshape(-1, length)):
        text = "A row of the inputs should be a piece of the text, its tokens side by side."
        raise Wrong("no piece", text)
    ahead = followers - read
    if (ahead != ahead[0]).any():
        text = "A row of the targets should be the row of the inputs, one token further."
        raise Wrong("other targets", text)
    if (ahead == 1).all() and N - length > 1:
        _refuse_other_chance(inputs, again, elsewhere, untouched)
        by_chance = -batch_size * (len(elsewhere) - 1) * math.log(N - length)
        if by_chance < RARE and elsewhere[:-1].equal(inputs[1 : len(elsewhere)]):
            text = "With the next seed, the first batch is the second one of this seed: a call should go on with the generator."
            raise Wrong("next seed", text)
        if by_chance < RARE and later[1:].equal(inputs[1 : len(later)]):
            text = "Whether the generator has drawn before or not, the second batch is the same: a call should go on where the generator is."
            raise Wrong("goes on elsewhere", text)
        rows = starts.view(calls, batch_size).diff(dim=1) % (N - length)
        if calls > 5 and batch_size > 1 and (rows == rows[0]).all():
            text = "In every batch, the rows begin at the same distances from each other."
            raise Wrong("rows tied", f"{text}\nThey are {rows[0].tolist()}.")
        _refuse_dependent_rows(starts.view(calls, batch_size), N - length)
    exact, found = _shares(starts, N, N - length)
    if (ahead == 1).all() and exact is found:
        _refuse_ties(starts.view(calls, batch_size), N - length)
    return ahead[0], found


def _places(ids, tokens):
    """Return where each token stands among the ids, which all differ; what is not there stands at -N."""
    N = len(ids)
    ordered, places = ids.sort()
    rank = torch.searchsorted(ordered, tokens.contiguous()).clamp(max=N - 1)
    return places[rank].where(ordered[rank] == tokens, -N)


def _places_of_rows(ids, rows):
    """Return where each row stands in a text in which no two windows are the same; -N if it does not."""
    windows = ids.unfold(0, rows.shape[-1], 1)
    found = (rows.reshape(-1, 1, rows.shape[-1]) == windows).all(-1)
    return found.long().argmax(1).where(found.any(1), -len(ids))


def _refuse_other_chance(inputs, again, elsewhere, untouched):
    """Raise `Wrong` if another generator drew, or none."""
    if not untouched:
        text = "It should draw with `generator`, and leave PyTorch's own generator alone."
        raise Wrong("global generator", text)
    if not again.equal(inputs[: len(again)]):
        text = "Generators with the same seed should give the same batches, and did not."
        raise Wrong("not by the generator", text)
    if elsewhere.equal(inputs[: len(elsewhere)]):
        text = "Generators with different seeds should give different batches, and did not."
        raise Wrong("seed ignored", text)
    if len(inputs) > 5 and (inputs == inputs[0]).all():
        text = "Every call gives the same batch, though the generator has gone on."
        raise Wrong("always the same", text)


def _refuse_dependent_rows(starts, places):
    """Raise `Wrong` if what no batch (calls, B) has comes by chance less than once in a million."""
    calls, B = starts.shape
    among = math.lgamma(places + B) - math.lgamma(places) - math.lgamma(B + 1)
    ascending = among - B * math.log(places)  # places + B - 1 over B, of places**B
    rise = starts.diff(dim=1)
    if calls * ascending < RARE and ((rise >= 0).all() or (rise <= 0).all()):
        text = (
            "In every batch, the rows stand in the order in which they stand in the text."
        )
        raise Wrong("rows sorted", text)
    all_different = sum(math.log1p(-i / places) for i in range(min(B, places)))
    is_repeated = (starts.sort(dim=1).values.diff(dim=1) == 0).any()
    if calls * all_different < RARE and not is_repeated:
        text = "No place is drawn twice in one batch, in"
        raise Wrong(
            "never twice", f"{text} {calls} batches of {B} rows, of {places} places."
        )


def _refuse_ties(starts, places):
    """Raise `Wrong` if one row of a batch (calls, B) tells something of another, or batches come again too often."""
    calls, B = starts.shape
    if not can_be_independent(starts, torch.ones(places) / places):
        text = "Each place comes as often as it should, but of two rows, one tells something of the other."
        raise Wrong("rows tied", text)
    repeated = repeated_too_often(starts, math.exp(-B * math.log(places)))
    if repeated:
        text = "Whole batches come again, more often than by chance."
        raise Wrong("few batches", f"{text}\nOf {calls}, {repeated} came before.")
    if places > 50 and repeated_too_often(starts.view(-1, 1), 1.1 / places):
        text = "Some places of the long text never come: too many rows begin where another one began."
        raise Wrong("few places", text)


def _shares(starts, N, places):
    """Return the exact share of each place, or fiftieth of a long text, and the one found.

    If the difference can be chance, they are the same.
    """
    M = len(starts)
    exact = (torch.arange(N) < places).double() / places
    counts = torch.bincount(starts, minlength=N).double()
    is_fair = True
    if N > 50:
        for step in STEPS:  # what begins at every 16th place only is fair to each fiftieth
            residues = torch.arange(N) % step
            came, chances = (torch.bincount(residues, each) for each in (counts, exact))
            is_fair = is_fair and can_be_chance(came, chances)
        exact, counts = (
            torch.stack([*map(torch.sum, each.chunk(50))]) for each in (exact, counts)
        )
    if not is_fair and can_be_chance(counts, exact):
        text = "Some places of the long text come more often than others: look at `start % 2`, or at `start % 16`."
        raise Wrong("few places", text)
    upto = zip(counts.cumsum(0).tolist(), exact.cumsum(0).tolist(), strict=True)
    halves = (torch.tensor([[n, M - n], [p, 1 - p]]) for n, p in upto)
    is_chance = can_be_chance(counts, exact) and all(can_be_chance(*two) for two in halves)
    return exact, exact if is_chance else counts / M


@random_batch.cases
def _(rng):
    def text(N, step, least, dtype):
        ids = torch.randperm(3 * N * step, generator=rng)[: N * step]
        return (ids + least).to(dtype)[::step]

    def with_equals(N, length, of):
        """Draw tokens of which some are there again, but no window."""
        while True:
            ids = 7 * torch.randint(of, (N,), generator=rng)
            windows = ids.unfold(0, length, 1)
            if len(windows.unique(dim=0)) == len(windows) and len(ids.unique()) < N:
                return ids

    def case(about, N, batch_size, length, calls, *, ids=None, is_slow=False, **kind):
        if ids is None:
            ids = text(N, **{"step": 1, "least": 0, "dtype": torch.int64} | kind)
        seed = int(torch.randint(1 << 31, (), generator=rng))
        args = (ids, batch_size, length, Batches(calls, seed))
        more = {"grad": False, "finish": fair, "tolerance": 0.15, "is_slow": is_slow}
        return Case(about, args, batches, **more)

    yield case("a text with a single place for a window", 4, 1, 3, 2)
    yield case("a single place, three rows", 5, 3, 4, 2)
    yield case("a text of five tokens", 5, 1000, 2, 1)
    yield case("two rows", 7, 2, 3, 150)
    yield case("one row", 6, 1, 2, 80)
    yield case("windows of one token", 5, 2, 1, 40)
    yield case("more rows than places", 8, 12, 5, 8)
    ids = with_equals(9, 3, of=4)
    yield case("B = L, and tokens that come again", 9, 3, 3, 60, ids=ids)
    yield case("all sizes different", 17, 4, 7, 60)
    yield case("many batches of a long text", 500, 4, 3, 1500, is_slow=True)
    yield case("twelve places, many rows", 17, 6000, 5, 1)
    yield case("a long text", 46, 200, 6, 8)
    yield case("a text of 5,000 tokens", 5000, 3000, 4, 2)
    # Of the remainders of 2^20, the first half comes five times, the other half four times.
    large = {"dtype": torch.int32, "is_slow": True}
    yield case("a text of 233,000 tokens", 233_000, 8000, 4, 1, **large)
    yield case("not contiguous, int16", 8, 3, 4, 40, step=2, dtype=torch.int16)
    yield case("int32", 7, 3, 3, 40, dtype=torch.int32)
    yield case("ids beyond 2^24", 7, 3, 3, 40, least=2**24)
    yield case("ids beyond 2^53", 7, 3, 3, 20, least=2**53)
    yield case("uint8", 7, 3, 3, 20, dtype=torch.uint8)
    yield case("four rows of two places", 4, 4, 2, 400)
    yield case("three places, many batches", 5, 3, 2, 300)
    ids = with_equals(300, 3, of=36).to(torch.uint8)
    yield case("a text of 300 tokens, uint8", 300, 3, 3, 20, ids=ids)


random_batch.rows("""
The last token of the text is nobody's input, but is it a target? Where does the last window begin, and how many
places are there from 0 on?
    last-place-never-drawn  places = N - length - 1
    last-place-never-drawn  places = max(N - length - 1, 1)
    last-place-never-drawn  places = N - length - length || max(N - length - length, 1)
Where does the last window begin, how far does it reach, and which token is its last target? Is that still in the
text?
    beyond-the-end  places = N - length + 1 || N || N - 1
    beyond-the-end  places = N - length + 1 ; nexts = _
    beyond-the-end  following = read + 2 || read + length
    beyond-the-end  steps = torch.arange(length + 1) || torch.arange(1, length + 1)
    beyond-the-end  read = starts[:, None] + 2 * steps
    beyond-the-end  following = (read + 1) % N ; places = N
    beyond-the-end  following = (read + 1) % N ; places = N - length + 1
    beyond-the-end  following = (read + 1).clamp(max=N - 1) ; places = N - length + 1
    beyond-the-end  read = (starts[:, None] + steps) % N ; following = (read + 1) % N ; places = N
`randint(n, ...)` begins at 0. Can a window begin with the first token in yours?
    first-place-never-drawn  starts = torch.randint(min(1, places - 1), places, (batch_size,), generator=generator)
    first-place-never-drawn  starts = torch.randint(1, places, (batch_size,), generator=generator)
    first-place-never-drawn  drawn = torch.randint(1, max(2, places), (batch_size,), generator=generator)
Does `torch.randint(a, b, ...)` ever draw b? And which of all places do yours leave out?
    places-left-out  starts = torch.randint(places, (batch_size,), generator=generator) // 2 * 2
    places-left-out  starts = torch.randint((places + length - 1) // length, (batch_size,), generator=generator) * length
    places-left-out  places = min(_, 4) || min(_, 10) || min(_, batch_size) || min(_, 256) || min(_, 1000)
How often is each place drawn? Rounding to the next whole number gives the two ends half of what the others get.
    not-equally-likely  starts = (torch.rand(batch_size, generator=generator) * (places - 1)).round().long()
    not-equally-likely  starts = (torch.rand(batch_size, generator=generator).square() * places).long()
    not-equally-likely  starts = (torch.randn(batch_size, generator=generator) * places / 6 + places / 2).long().clamp(0, places - 1)
    not-equally-likely  starts = torch.randint(N, (batch_size,), generator=generator) % places
    not-equally-likely  starts = torch.randint(places, (2, batch_size), generator=generator).amin(0)
Draws beyond the last place come down to it in yours. How often does it come then?
    too-far-and-clamped  starts = (torch.rand(batch_size, generator=generator) * N).long().clamp(max=places - 1)
    too-far-and-clamped  starts = torch.randint(N, (batch_size,), generator=generator).clamp(max=places - 1)
    too-far-and-clamped  starts = torch.randint(places + 1, (batch_size,), generator=generator).clamp(max=places - 1)
How many numbers do you draw for one batch? Two rows of it: where do they begin?
    one-place-for-all-rows  starts = torch.randint(places, (1,), generator=generator).expand(batch_size)
    one-place-for-all-rows  starts = torch.randint(places, (1,), generator=generator).repeat(batch_size)
    one-place-for-all-rows  starts = torch.randint(places, (1,), generator=generator)
Does one row of your batch tell where the next one begins? Each row has a place of its own.
    rows-side-by-side  starts = (torch.randint(places, (1,), generator=generator) + torch.arange(batch_size)) % places
    rows-side-by-side  starts = ((torch.rand(1, generator=generator) + 0.618034 * torch.arange(batch_size) ** 2) % 1 * places).long()
    rows-side-by-side  starts = (torch.randint(places, (1,), generator=generator) + length * torch.arange(batch_size)) % places
    rows-side-by-side  places = max(N - batch_size * length, 1) ; inputs = ids[starts[0] : starts[0] + batch_size * length].view(batch_size, length) ; targets = ids[starts[0] + 1 : starts[0] + 1 + batch_size * length].view(batch_size, length)
    rows-side-by-side  starts = (torch.randint(max(places - batch_size, 1), (1,), generator=generator) + torch.arange(batch_size)).clamp(max=places - 1)
Each row is drawn for itself. What does the first row of yours tell about the others, once you have sorted them?
    rows-sorted  starts = torch.randint(places, (batch_size,), generator=generator).sort().values
    rows-sorted  starts = torch.randint(places, (batch_size,), generator=generator).sort(descending=True).values
What does your batch read in the second call, and with another seed? Where is chance in it: is nothing drawn, or does a
generator begin with the same seed each time?
    no-chance  starts = torch.arange(batch_size) % places || torch.zeros(batch_size, dtype=torch.long)
    no-chance  starts = torch.arange(batch_size) * length % places
    no-chance  starts = torch.linspace(0, places - 1, batch_size).long()
    no-chance  starts = torch.randint(places, (batch_size,), generator=generator.manual_seed(0))
    no-chance  starts = torch.randint(places, (batch_size,), generator=torch.Generator().manual_seed(0))
Is a place drawn once only? How many rows has your batch, if there are fewer places than rows?
    drawn-without-putting-back  starts = torch.randperm(places, generator=generator)[:batch_size]
    drawn-without-putting-back  starts = torch.randperm(places, generator=generator)[:batch_size] if batch_size <= places else _
    drawn-without-putting-back  starts = torch.ones(places).multinomial(batch_size, generator=generator)
How many different batches can yours give, if a small number stands between the generator and the places?
    few-seeds  starts = torch.randint(places, (batch_size,), generator=torch.Generator().manual_seed(int(torch.randint(1000, (), generator=generator))))
Which generator draws your numbers? Where do you hand over the one that was given?
    generator-not-used  starts = torch.randint(places, (batch_size,))
    generator-not-used  starts = (torch.rand(batch_size) * places).long()
    generator-not-used  starts = torch.tensor([__import__("random").randrange(places) for row in range(batch_size)])
    generator-not-used  starts = torch.randint(places, (batch_size,), generator=torch.manual_seed(generator.initial_seed()))
    generator-not-used  drawn = torch.randint(places, (batch_size,))
A generator goes on with each number that it gives. Where do you set it back, or begin with a copy?
    generator-set-back  starts = torch.randint(places, (batch_size,), generator=generator.manual_seed(generator.initial_seed()))
    generator-set-back  starts = torch.randint(places, (batch_size,), generator=torch.Generator().manual_seed(generator.initial_seed()))
    generator-set-back  starts = torch.randint(places, (batch_size,), generator=generator.clone_state())
What should the model tell after the token at a place: that token, or the next one?
    targets-are-the-inputs  following = read
    targets-are-the-inputs  nexts = rows
    targets-behind  following = read - 1 || (read - 1).clamp(min=0)
Inputs and targets are the same piece of the text. From how many draws do the two come in yours?
    targets-from-other-places  following = torch.randint(places, (batch_size,), generator=generator)[:, None] + steps + 1
    targets-from-other-places  following = torch.randint(places, (batch_size,), generator=generator)[:, None] + steps
How far is a target from its input?
    targets-too-far  following = read + 2 ; places = N - length - 1
    targets-too-far  following = (read + 2).clamp(max=N - 1) || (read + length).clamp(max=N - 1)
    targets-too-far  following = (read + 2) % N || (read + length) % N
    targets-too-far  places = N - 2 * length + 1 ; following = read + length
    targets-too-far  places = max(N - 2 * length + 1, 1) ; following = read + length
What follows the last token of a row, in the text? Is it in that row?
    row-turned-around  targets = inputs.roll(-1, 1) || inputs.roll(-1)
    row-turned-around  targets = torch.cat([inputs[:, 1:], inputs[:, :1]], dim=1)
    row-turned-around  targets = torch.cat([inputs[:, 1:], inputs[:, -1:]], dim=1)
    row-turned-around  targets = F.pad(inputs[:, 1:], (0, 1))
How many targets has a row: one for each of its tokens?
    targets-not-as-many  targets = inputs[:, 1:] || ids[starts + length] || ids[starts + length][:, None] || starts
    targets-not-as-many  nexts = [ids[i + 1 : i + length] for i in begins] || [ids[i + length] for i in begins]
    targets-not-as-many  nexts = [ids[i + 1 : i + length + 2] for i in begins] ; places = N - length - 1
L inputs and their L targets: how many tokens of the text are that in all? How many do you read for a row?
    length-miscounted  inputs = ids[read][:, :-1] ; targets = ids[read][:, 1:]
    length-miscounted  steps = torch.arange(length - 1)
    length-miscounted  steps = torch.arange(length + 1) ; places = N - length - 1
    length-miscounted  rows = [ids[i : i + length + 1] for i in begins]
    length-miscounted  rows = [ids[i : i + length - 1] for i in begins] ; nexts = [ids[i + 1 : i + length] for i in begins]
What does a row of the batch hold: one piece of the text, or the tokens of one step? Which axis comes first?
    rows-and-columns-swapped  inputs = ids[read].T ; targets = ids[following].T
    rows-and-columns-swapped  inputs = ids[read].T || torch.stack(rows, dim=1)
    rows-and-columns-swapped  targets = ids[following].T || torch.stack(nexts, dim=1)
    rows-and-columns-swapped  read = starts + steps[:, None]
    rows-and-columns-swapped  inputs = torch.stack(rows, dim=1) ; targets = torch.stack(nexts, dim=1)
    rows-and-columns-swapped  starts = torch.randint(places, (length,), generator=generator) ; steps = torch.arange(batch_size)
A column of starts and a row of steps make a table. Which shapes meet in your sum?
    starts-meet-steps  read = starts + steps || starts[None] + steps || (starts + steps)[None]
Do the tokens of a row stand side by side in the text, in its order? How many numbers are drawn for a row?
    tokens-drawn-one-by-one  read = torch.randint(places, (batch_size, length), generator=generator)
    tokens-drawn-one-by-one  read = (starts[:, None] + steps).flip(1) ; following = _
    tokens-drawn-one-by-one  read = starts[:, None] * steps
    tokens-drawn-one-by-one  read = (starts[:, None] + 2 * steps) % (N - 1)
What do you return: the tokens, or the places where they stand?
    places-instead-of-tokens  inputs = read ; targets = following
    places-instead-of-tokens  inputs = read
    places-instead-of-tokens  targets = following
An embedding and a loss need whole numbers: which dtype have the ids, and which have yours?
    dtype-changed  inputs = _.float() || _.int() || _.long()
    dtype-changed  targets = _.float() || _.int() || _.long()
    dtype-changed  inputs = _.float() ; targets = _.float()
    dtype-changed  inputs = _.int() ; targets = _.int()
    dtype-changed  inputs = _.long() ; targets = _.long()
Which of your two tensors is one token further? The inputs come first, then the targets.
    inputs-further-than-targets  return = targets, inputs
Two tensors are asked for, (B, L) each: the inputs, then the targets. What do you return?
    returned-otherwise  return = inputs || inputs, targets, starts
    returned-otherwise  return = torch.stack([inputs, targets]) || [*zip(inputs, targets)]
    returned-otherwise  return = inputs.tolist(), targets.tolist() || {"inputs": inputs, "targets": targets}
    returned-otherwise  inputs = rows || torch.cat(rows) ; targets = nexts
    returned-otherwise  inputs = torch.cat(rows) ; targets = torch.cat(nexts)
    returned-otherwise  inputs = ids[read].flatten() ; targets = ids[following].flatten()
""")

random_batch.drills(
    "targets-are-the-inputs, generator-not-used, starts-meet-steps, length-miscounted 1, "
    "rows-and-columns-swapped 5, beyond-the-end, drawn-without-putting-back, last-place-never-drawn, "
    "dtype-changed 8"
)
