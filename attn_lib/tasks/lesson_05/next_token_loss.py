"""The task `next_token_loss`: teacher forcing, every place of every sentence at once."""

import torch

import attn_lib
from attn_lib.checks.authoring import Case, task
from attn_lib.tasks.lesson_05.runs import on_the_way_back


@task(
    lesson=5,
    points=3,
    insight="One text of L tokens gives L - 1 predictions to learn from, all in one pass.",
    library=attn_lib.next_token_loss,
    hints=[
        "Write the ids of one sentence in a row, and below each the token that the logits at this place guess. "
        "Which place has no guess to be judged, and which token is never guessed?",
        "Cut logits and ids so that a guess and its token stand at the same place. `F.cross_entropy` wants (N, V) "
        "and (N,), and the logits as they are. Which targets must not count?",
        "Add up the losses of the real targets of all sentences, and divide once, by the number of them. If there "
        "is none, that is 0/0: which divisor does no harm?",
    ],
)
def next_token_loss(logits, ids, pad_id):
    guesses = logits[:, :-1]
    targets = ids[:, 1:]
    real = targets != pad_id
    log_probs = guesses.log_softmax(-1)
    chosen = log_probs.gather(-1, targets[..., None])
    losses = -chosen[..., 0]
    counted = losses.masked_fill(~real, 0.0)
    total = counted.sum()
    count = real.sum()
    divisor = count.clamp(min=1)
    loss = total / divisor
    return loss


@next_token_loss.cases
def _(rng):
    def case(about, V, pad_id, *texts, dtype=torch.float32, change=lambda t: t, **options):
        """Sentences of V tokens, drawn: a word for each, x = any real token, . = a pad."""
        drawn = torch.tensor([[c == "." for c in text] for text in texts])
        ids = torch.randint(V - 1, drawn.shape, generator=rng)
        ids = (ids + (ids >= pad_id)).masked_fill(drawn, pad_id)
        logits = torch.randn(*ids.shape, V, generator=rng) * 2
        args = change(logits).to(dtype), ids, pad_id
        return Case(about, args, **{"grad": False} | options)

    # With these logits, each place says 1/2, 1/4, 1/8 and 1/8 of four tokens, in another order.
    shares = torch.tensor([0.5, 0.25, 0.125, 0.125])
    halves = torch.stack([shares, shares.roll(2), shares.roll(1)]).log()[None]
    yield Case("three tokens, no pad", (halves, torch.tensor([[0, 1, 2]]), 3))
    yield Case(
        "three tokens, the last one is a pad", (halves, torch.tensor([[0, 1, 3]]), 3)
    )
    one = halves, torch.tensor([[1, 3, 3]]), 3
    yield Case("one token and pads", one, on_the_way_back)
    two = torch.cat([halves, halves.flip(1)])
    about = "two sentences, of three tokens and of two"
    yield Case(about, (two, torch.tensor([[0, 1, 2], [2, 0, 3]]), 3))
    yield case("all sizes different", 7, 6, "xxxxx", "xx...", "xxx..", grad=True)
    yield case("no pads", 7, 6, "xxxxx", "xxxxx", "xxxxx")
    yield case("pad_id is 0", 7, 0, "xxxxx", "xx...", "xxx..")
    yield case("pad_id is 3: real ids are smaller and larger", 7, 3, "xxxxxx", "xxx...")
    about = "pads in front and in the middle"
    yield case(about, 7, 2, ".xxxx", "..xxx", "xx.xx", grad=True)
    yield case("one sentence is all padding", 5, 4, "xxxx", "....", "xx..", grad=True)
    nothing = "nothing but padding"
    yield case(nothing, 5, 4, "....", "....", grad=True, run=on_the_way_back)
    yield case(f"{nothing}, float64", 5, 4, "....", dtype=torch.float64)
    about = "one token each: nothing to guess"
    yield case(about, 5, 4, "x", "x", "x", grad=True, run=on_the_way_back)
    yield case("two tokens each", 5, 4, "xx", "x.", "xx")
    yield case("one sentence", 6, 1, "xxxx.")
    yield case("B = L = V", 4, 3, "xxxx", "xx..", "xxx.", "xxx.")
    yield case("a sentence of twenty, and one of two", 6, 5, "x" * 20, "xx" + "." * 18)
    # So that at least one share of nine is too small for float32.
    sure = lambda t: t * 90  # noqa: E731
    yield case("sure of itself", 6, 5, "xxxxxx", "xxxxx.", change=sure)
    about = "all logits near 1000"
    yield case(about, 6, 5, "xxxxx", "xxx..", change=lambda t: t + 1000, tolerance=1e-3)
    strided = lambda t: t.mT.contiguous().mT  # noqa: E731
    yield case("not contiguous", 6, 5, "xxxxx", "xxx..", change=strided)
    exact = {"dtype": torch.float64, "tolerance": 1e-9}
    yield case("float64, to nine digits", 6, 5, "xxxxx", "xxx..", grad=True, **exact)
    about = "all logits near -1000"
    yield case(about, 6, 5, "xxxxx", "xxx..", change=lambda t: t - 1000, tolerance=1e-3)
    about = "logits in the hundred thousands"
    yield case(about, 6, 5, "xxxxx", "xxx..", change=lambda t: t * 1e5)
    yield case("two sentences of 300 tokens", 4, 3, "x" * 300, "x" * 300)
    # More than int16 counts to: the last words of the vocabulary come.
    ids, logits = (
        torch.arange(33_000 - 4, 33_000)[None],
        torch.randn(1, 4, 33_000, generator=rng),
    )
    yield Case("a vocabulary of 33,000", (logits, ids, 0), grad=False, is_slow=True)


next_token_loss.rows("""
The logits at place i have read the token at place i. Which token do they guess, and with which one do you
compare them?
    not-shifted  guesses = logits ; targets = ids
    shifted-the-wrong-way  guesses = logits[:, 1:] ; targets = ids[:, :-1]
    shifted-twice  guesses = logits[:, :-2] ; targets = ids[:, 2:]
Three tokens make two guesses. How many does yours make of them, and which one is left out?
    last-token-dropped  guesses = logits[:, :-2] ; targets = ids[:, 1:-1]
    first-token-dropped  guesses = logits[:, 1:-1] ; targets = ids[:, 2:]
You cut logits and ids. Are they as long as each other now, and does the same place mean the same token?
    cut-on-one-side-only  targets = ids || ids[:, :-1]
    cut-on-one-side-only  guesses = logits[:, 1:]
    cut-on-one-side-only  losses = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
    cut-on-one-side-only  losses = F.cross_entropy(guesses.flatten(0, 1), ids.flatten(), reduction="none")
    cut-on-one-side-only  losses = F.cross_entropy(guesses.mT, ids, reduction="none")
    cut-on-one-side-only  losses = F.cross_entropy(logits.mT, targets, reduction="none")
Whose first token does the last place of a sentence guess in yours? Cut first, then flatten.
    across-sentences  guesses = logits.flatten(0, 1)[:-1] ; targets = ids.flatten()[1:]
Change the first token of a sentence, then each of its guesses: does your loss move?
    only-the-last-place  guesses = logits[:, -2:-1] ; targets = ids[:, -1:]
    only-the-last-place  guesses = logits[:, -1:] ; targets = ids[:, -1:]
Nobody wants the model to write pads. Who counts them in yours: in the sum, in the number that you divide by?
    pads-counted  real = torch.ones_like(targets, dtype=torch.bool)
    pads-added-up  counted = losses
    divided-by-all-places  count = torch.tensor(real.numel())
    divided-by-all-places  loss = counted.mean()
Three tokens make how many guesses? Which token is nobody's target, and do you divide by it?
    first-token-counted  count = (ids != pad_id).sum() || torch.tensor(ids.numel())
A place has two tokens: the one that is read, and the one that is guessed. Which of them must be real?
    pad-of-the-input  real = ids[:, :-1] != pad_id
    pad-of-the-input  real = (ids[:, :-1] != pad_id) & (targets != pad_id)
What does `real` say of a place in yours: that it counts, or that it does not?
    inverted  counted = ~real => real
    inverted  real = targets == pad_id
Which ids are pads in yours? The pad is an argument, any number may be handed over, and real ids are smaller and larger.
    pad-id-fixed  real = targets != 0 || targets > pad_id || targets < pad_id
What is `not 0` in Python? Token 0 is an id like any other: what does yours do if it is the pad?
    zero-taken-for-none  real = (targets != pad_id) | (pad_id == 0)
Where may pads stand: only at the end? Does your mask look at each token, or count how many are real?
    ends-at-the-first-pad  real = (targets != pad_id).cumprod(1).bool()
    ends-at-the-first-pad  real = (ids != pad_id).cumprod(1).bool()[:, 1:]
    ends-at-the-first-pad  real = torch.arange(1, ids.shape[1]) < (ids != pad_id).sum(1)[:, None]
A sentence of two tokens and one of twenty: how much does a token count in each, in your mean of means? Add up
first, divide once.
    mean-of-means  loss = (counted.sum(1) / real.sum(1).clamp(min=1)).mean()
    mean-of-means  loss = (counted.sum(1) / real.sum(1)).mean()
    mean-of-means  loss = (counted.sum(1) / real.sum(1)).nanmean()
    mean-of-means  loss = (counted.sum(1) / real.sum(1).clamp(min=1)).sum() / real.any(1).sum().clamp(min=1)
    mean-of-means  loss = (counted.sum(0) / real.sum(0).clamp(min=1)).mean()
    mean-of-means  loss = counted.sum(1).mean() / real.sum(1).float().mean().clamp(min=1)
Which of the losses does yours rest on: on all of them, or on the largest?
    largest-loss  loss = counted.sum(1).max() / divisor || counted.amax()
A batch twice as large: should the loss double? Is the sum divided, and by the number of all its real targets?
    sum-not-mean  loss = total
    sum-not-mean  divisor = len(ids) || ids.shape[1] || targets.shape[1]
By how many do you divide, if there are two real targets? A guard against 0 must not change other batches.
    count-off-by-one  divisor = count + 1
    count-off-by-one  divisor = (count - 1).clamp(min=1)
What you add so that nothing is divided by 0 is in every other mean, too. By which number could you
divide nothing?
    epsilon-in-denominator  divisor = count + 0.01 || count + 1e-3
The first token of a sentence is never a target. Where no target is real, what is 0 / 0?
    nan-for-nothing  divisor = count
A batch may hold nothing but padding. What do `torch.stack` and `len` make of an empty list?
    error-for-nothing  loss = torch.stack(list(losses[real])).mean()
    error-for-nothing  loss = sum(list(losses[real])) / len(losses[real])
Where no target is real, your loss is a number of its own. Which dtype has it, and from where does
`backward()` start there? What if you divided 0 by 1, instead?
    constant-for-nothing  loss = _ if real.any() else torch.tensor(0.0)
Among how many tokens does the softmax share out? Who takes the pad away from it?
    pad-taken-out-of-the-softmax  guesses = _.masked_fill(torch.arange(logits.shape[-1]) == pad_id, -torch.inf)
How often does a softmax run over the logits? `F.cross_entropy` has one of its own.
    softmax-before  guesses = logits[:, :-1].softmax(-1) || logits[:, :-1].sigmoid()
What makes probabilities of logits? `F.nll_loss` and `gather` take what they are given.
    softmax-missing  log_probs = guesses || guesses.log()
What is the loss of a guess that is sure and right: 0, or -1? Where is the logarithm?
    logarithm-missing  log_probs = guesses.softmax(-1)
    logarithm-missing  losses = 1 - chosen[..., 0].exp()
What is the exp of 1000, and of 100? Which function takes the logarithm of a softmax in one step?
    softmax-overflows  log_probs = (guesses.exp() / guesses.exp().sum(-1, keepdim=True)).log()
    softmax-overflows  log_probs = guesses.softmax(-1).log()
    softmax-overflows  log_probs = (guesses.softmax(-1) + 1e-9).log()
    softmax-overflows  log_probs = (guesses.softmax(-1) + 1e-8).log() || (guesses.softmax(-1) + 1e-12).log()
    softmax-overflows  log_probs = guesses.softmax(-1).clamp(min=1e-7).log()
Is a loss that the training makes smaller good or bad news in yours? What is the sign of a logarithm of a
share?
    sign-turned  losses = chosen[..., 0]
    sign-turned  loss = -_
A model that knows nothing of V tokens should have ln V. What does yours have: to which base is your logarithm, and what comes after it?
    in-bits  loss = _ / torch.tensor(2.0).log().to(_)
    perplexity  loss = _.exp()
Which axis counts the V tokens, among which the softmax shares out?
    softmax-over-the-wrong-axis  log_probs = guesses.log_softmax(1)
    softmax-over-the-wrong-axis  log_probs = guesses.log_softmax(0)
`F.cross_entropy` wants the V tokens in axis 1. What moves an axis there, a reshape or a transpose? Or join B
and L in one axis.
    tokens-in-the-wrong-axis  losses = F.cross_entropy(guesses, targets, reduction="none")
    tokens-in-the-wrong-axis  guesses = _.reshape(len(ids), logits.shape[2], ids.shape[1] - 1).mT
Of which shape is a loss: how many numbers can `backward()` start from?
    not-one-number  loss = losses || counted || counted.sum(1) / real.sum(1).clamp(min=1)
    not-one-number  loss = losses[real] || _[None]
Of which type is your loss, and of which dtype? Is there a way back from it to the logits, so that `backward()` can start?
    a-number-without-gradients  loss = _.item() || torch.tensor(_.item())
Change the second sentence: does your loss move?
    only-the-first-sentence  guesses = logits[:1, :-1] ; targets = ids[:1, 1:]
The mean of some logarithms, or the logarithm of a mean: which of them does the loop compute?
    logarithm-of-the-mean  losses = chosen[..., 0].exp() ; loss = -(_).log()
What does `roll` put at the end of each row? With which token do you compare what the last place guesses?
    shifted-by-a-roll  guesses = logits ; targets = ids.roll(-1, 1)
An index in `[:, :, targets]` takes all targets at each place. Which function takes one of them at each?
    every-target-at-each-place  losses = -log_probs[:, :, targets]
Where may pads stand: only at the end? Does your line look at each token, or count how many are real?
    pads-assumed-at-the-end  real = torch.arange(targets.shape[1]) < (targets != pad_id).sum(1, keepdim=True)
""")

next_token_loss.drills(
    "sign-turned, logarithm-missing, inverted, cut-on-one-side-only 1, softmax-over-the-wrong-axis, pad-id-fixed, "
    "pad-of-the-input, nan-for-nothing, first-token-counted, softmax-overflows 1, shifted-the-wrong-way, "
    "shifted-by-a-roll, across-sentences"
)
