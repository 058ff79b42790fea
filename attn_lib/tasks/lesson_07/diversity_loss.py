"""The task `diversity_loss`: how similar the heads are to each other, as a loss."""

import torch

import attn_lib
from attn_lib.checks.authoring import Case, task


@task(
    lesson=7,
    points=2,
    insight="It makes the maps differ. Whether that helps is a question for a measurement.",
    library=attn_lib.diversity_loss,
    hints=[
        "The map of one head in one sentence has L * S numbers. Lay them out as one vector. What is the "
        "cosine of two vectors, and what is it if both have length 1?",
        "Make every vector one of length 1 (`F.normalize`, and mind `dim`). A matrix product of "
        "(B, H, L*S) with its transpose then holds all cosines, (B, H, H).",
        "What stands on the diagonal of that matrix, and may it count? How many entries are left, in all "
        "sentences together? And what is the length of a map of zeros, by which you would divide?",
    ],
)
def diversity_loss(weights):
    given = weights
    maps = given.flatten(2)  # (B, H, L*S)
    length = maps.norm(dim=-1, keepdim=True)
    divisor = length.clamp_min(1e-12)
    unit = maps / divisor
    similarity = unit @ unit.mT  # (B, H, H)
    different = ~torch.eye(similarity.shape[-1], dtype=torch.bool)
    pairs = similarity[..., different]  # (B, H*(H-1))
    mean = pairs.mean()
    return mean


@diversity_loss.cases
def _(rng):
    def random(B, H, L, S, spread=2.0):
        """Sharp heads and flat ones, sharp rows and flat ones: what a missing norm would weigh."""
        by_head = torch.rand(1, H, 1, 1, generator=rng)
        by_row = torch.rand(B, H, L, 1, generator=rng)
        scores = torch.randn(B, H + 1, L, S, generator=rng)
        scores = scores[:, :H] + scores[:, H:]  # something is common to all heads
        return (scores * 4 * spread * by_head * by_row).softmax(-1)

    def case(about, *shape, **kwargs):
        return given(about, random(*shape), **kwargs)

    def given(about, weights, **kwargs):
        return Case(about, (torch.as_tensor(weights),), **kwargs)

    two = [[[1.0, 0.0]], [[0.6, 0.8]]]
    yield given("two heads, one query, two keys", [two])
    # The absolute value of a cosine is the same here, but has no gradient at 0.
    yield given("three heads, one query, two keys", [[*two, [[0.0, 1.0]]]], grad=False)
    half = [[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.5, 0.5]]
    yield given("two heads that agree on the first query", [half])
    about = "two sentences: alike in the first, apart in the second"
    yield given(about, [two, [[[1.0, 0.0]], [[0.0, 1.0]]]], grad=False)
    yield case("all sizes different", 2, 3, 4, 5)
    yield case("two heads", 3, 2, 4, 5)
    yield case("eight heads", 2, 8, 5, 6, grad=False)
    yield case("one sentence", 1, 4, 3, 5, grad=False)
    yield case("one query", 2, 3, 1, 6, grad=False)
    yield case("B = H = L = S", 3, 3, 3, 3, grad=False)
    yield case("sharp heads", 2, 4, 5, 7, 8.0)
    yield given("all heads the same", random(2, 1, 4, 5).repeat(1, 3, 1, 1), grad=False)
    about = "three sentences, the last one all padding: its weights are 0"
    yield given(about, random(3, 3, 4, 4).index_fill(0, torch.tensor(2), 0), grad=False)
    silent = random(2, 3, 4, 5).index_fill(1, torch.tensor(1), 0)
    yield given("one head without any weight", silent, grad=False)
    causal = random(2, 3, 5, 5).tril()
    yield given("causal", causal / causal.sum(-1, keepdim=True))
    pads = random(2, 4, 5, 6)
    pads[1, :, :, 4:] = pads[1, :, 3:] = 0
    yield given("rows and columns of zeros", pads)
    yield given("float64", random(2, 3, 4, 5).double())
    yield given("bfloat16", random(2, 3, 4, 5).bfloat16(), grad=False)
    strided = random(2, 4, 3, 5).transpose(1, 2).contiguous().transpose(1, 2)
    yield given("not contiguous", strided)
    yield case("13 heads, 20 words", 1, 13, 20, 20)
    scaled = random(2, 4, 3, 5) * torch.tensor([1.0, 1e-3, 1.0, 1e3])[:, None, None]
    about = "one head's weights are a thousand times smaller, another's larger"
    yield given(about, scaled, grad=False)


diversity_loss.rows("""
How similar is a head to itself? Can training change that? How many pairs of different heads are there?
    diagonal-included  pairs = similarity
    diagonal-included  mean = similarity.sum() / pairs.numel()
    diagonal-included  different = torch.ones_like(similarity[0]).triu().bool()
By which number do you divide, and how many similarities did you add up? Count them for H = 3.
    divided-by-another-number  mean = pairs.sum() / similarity.numel() || _ * 2 || _ / 2
    divided-by-another-number  mean = similarity.triu(1).mean()
    divided-by-another-number  mean = pairs.sum() / (similarity.shape[0] * similarity.shape[1])
    divided-by-another-number  mean = pairs.sum() / similarity[0].numel() || pairs.sum()
    divided-by-another-number  mean = pairs.sum() / len(similarity)
    divided-by-another-number  mean = similarity.triu(1).sum() || _ * len(similarity)
How many numbers come out of your function? What can `backward()` start from?
    not-one-number  mean = pairs.mean(-1) || similarity.masked_fill(~different, 0).mean(0)
    not-one-number  mean = similarity || pairs
An optimizer makes the loss smaller. What becomes of the heads if it makes yours smaller: are they
more different, or more alike?
    sign-turned  mean = -_ || 1 - _
    sign-turned  similarity = 1 - _
What do squares make of a cosine of 0.6? And what is the mean of the similarities themselves?
    squared  pairs = _.square()
    squared  mean = pairs.norm(dim=-1).mean() || pairs.square().sum(-1).mean()
Which pairs of heads have a part in your result? Write them down for H = 4: there are six.
    not-every-pair  mean = pairs.amax(-1).mean() || pairs.max()
    not-every-pair  pairs = similarity.diagonal(offset=1, dim1=-2, dim2=-1)
    not-every-pair  pairs = similarity.roll(1, 1).diagonal(dim1=-2, dim2=-1)
    not-every-pair  pairs = similarity[:, 0, 1:]
    not-every-pair  pairs = F.cosine_similarity(maps, maps.mean(1, keepdim=True), dim=-1)
What is the similarity of a head with itself in your code? A cosine gives 1, for sharp heads and for
flat ones.
    not-normalized  unit = maps || maps / maps.shape[-1] ** 0.5
    not-normalized  length = maps.sum(-1, keepdim=True)
    not-normalized  length = maps.square().sum(-1, keepdim=True) || maps.norm()
Along which axis do `F.normalize` and `F.cosine_similarity` work if they are not told? Which axis
counts the L * S numbers of a map?
    cosine-along-another-axis  length = dim=-1 => dim=1
    cosine-along-another-axis  pairs = F.cosine_similarity(*maps[:, torch.triu_indices(*different.shape, 1)].unbind(1))
Here a head is one vector, its whole map in a sentence. Which numbers do your vectors hold?
    not-the-whole-map  maps = given.transpose(1, 2) || given.permute(0, 3, 1, 2)
    not-the-whole-map  maps = given.permute(0, 3, 1, 2) ; divisor = length
    not-the-whole-map  pairs = F.cosine_similarity(*given[:, torch.triu_indices(*different.shape, 1)].unbind(1), dim=2)
    not-the-whole-map  maps = given || given.mean(2) || given[:, :, 0] || given[:, :, -1]
    not-the-whole-map  unit = F.normalize(given, dim=-1).flatten(2)
Which two things should be different: two heads in one sentence, or two sentences?
    sentences-compared  maps = _.transpose(0, 1) || given.flatten(1) || _.flatten(0, 1)
    sentences-compared  maps = given.flatten(1) ; mean = pairs.sum() / (given.shape[1] * (given.shape[1] - 1))
    sentences-compared  pairs = torch.stack([F.cosine_similarity(maps[g].flatten(), maps[h].flatten(), dim=0) for h in range(given.shape[1]) for g in range(h)])
How many axes has your matrix of similarities, and what does its first one count? What does your
code take it for?
    batch-forgotten  pairs = similarity[different]
    batch-forgotten  similarity = unit @ unit.T
Two heads are compared in each sentence, and then comes the mean. Which of your lines puts numbers of
two sentences together?
    sentences-mixed  maps = given.transpose(0, 1).flatten(1) || _.mean(0)
    sentences-mixed  maps = given.reshape(given.shape[1], -1)
A cosine compares vectors as they are. What do you subtract before?
    correlation  maps = _ - _.mean(-1, keepdim=True)
A sentence of padding has weights of 0 only. How long is that vector, and what do you divide by it?
    nan-for-a-map-of-zeros  divisor = length
You subtract 1 for each head, its similarity with itself. And for a map of zeros: is that 1, or 0?
    ones-subtracted  mean = (similarity.sum() - similarity.shape[0] * similarity.shape[1]) / pairs.numel()
    ones-subtracted  mean = (similarity - (~different).to(given.dtype)).abs().sum() / pairs.numel()
A sentence of padding counts as 0. By how many sentences do you divide the sum?
    sentences-of-zeros-left-out  divisor = length ; mean = pairs.nanmean()
    sentences-of-zeros-left-out  given = _[_.flatten(1).sum(1) > 0]
Which two axes does `diagonal` take if you do not name them? Which two of yours count heads?
    axes-of-the-diagonal  mean = (similarity.sum() - similarity.diagonal().sum()) / pairs.numel()
Two heads that share no key have a similarity of 0. Does that pair count in your mean?
    zeros-not-counted  mean = pairs[pairs > 0].mean()
How many pairs (g, h) does your loop visit for H = 3? Is one of them a head with itself?
    loop-meets-itself  mean = similarity.triu().sum() / (pairs.numel() / 2)
""")

diversity_loss.drills(
    "not-one-number, batch-forgotten, sign-turned 1, sentences-compared 1, not-the-whole-map 5, not-normalized 3, "
    "squared, nan-for-a-map-of-zeros, diagonal-included 2, sentences-of-zeros-left-out"
)
