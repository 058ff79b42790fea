"""The task `diversity_loss`: how similar the heads are to each other, as a loss."""

import torch
import torch.nn.functional as F

import attn_lib
from attn_lib.checks.case import Case
from attn_lib.checks.lesson_07.steps import (
    careless,
    cosines,
    flat,
    mean_of_others,
    others,
)
from attn_lib.checks.task import task


@task(
    lesson=7,
    points=2,
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
    return attn_lib.diversity_loss(weights)


@diversity_loss.cases
def _(rng):
    def random(B, H, L, S, spread=2.0):
        """Sharp heads and flat ones, sharp rows and flat ones: what a missing norm would weigh."""
        by_head, by_row = (
            torch.rand(s, generator=rng) * 2 for s in ((1, H, 1, 1), (B, H, L, 1))
        )
        scores = torch.randn(B, H, L, S, generator=rng) + torch.randn(
            B, 1, L, S, generator=rng
        )
        return (scores * spread * by_head * by_row).softmax(-1)

    def case(about, *shape, **kwargs):
        return Case(about, (random(*shape),), **kwargs)

    def with_zeros(about, weights, *place):
        weights[place] = 0.0
        return Case(about, (weights,), grad=False)

    two = torch.tensor([[1.0, 0.0], [0.6, 0.8]])
    yield Case("two heads, one query, two keys", (two.view(1, 2, 1, 2),))
    three = torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    # The absolute value of a cosine is the same here, but has no gradient at 0.
    about = "three heads, one query, two keys"
    yield Case(about, (three.view(1, 3, 1, 2),), grad=False)
    half = torch.tensor([[[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.5, 0.5]]])
    yield Case("two heads that agree on the first query", (half.view(1, 2, 2, 2),))
    both = torch.stack([two, torch.eye(2)]).view(2, 2, 1, 2)
    about = "two sentences: alike in the first, apart in the second"
    yield Case(about, (both,), grad=False)
    yield case("all sizes different", 2, 3, 4, 5)
    yield case("two heads", 3, 2, 4, 5)
    yield case("eight heads", 2, 8, 5, 6, grad=False)
    yield case("one sentence", 1, 4, 3, 5, grad=False)
    yield case("one query", 2, 3, 1, 6, grad=False)
    yield case("H = L*S", 2, 6, 2, 3, grad=False)
    yield case("B = H = L = S", 3, 3, 3, 3, grad=False)
    yield case("sharp heads", 2, 4, 5, 7, 8.0)
    same = random(2, 1, 4, 5).expand(2, 3, 4, 5).clone()
    yield Case("all heads the same", (same,), grad=False)
    apart = torch.eye(4).view(1, 4, 1, 4).repeat(2, 1, 3, 1)
    yield Case("no two heads share a key", (apart,), grad=False)
    some = "three sentences, the last one all padding: its weights are 0"
    yield with_zeros(some, random(3, 3, 4, 4), 2)
    yield with_zeros("one head without any weight", random(2, 3, 4, 5), slice(None), 1)
    causal = random(2, 3, 5, 5).tril()
    yield Case("causal", (causal / causal.sum(-1, keepdim=True),))
    pads = random(2, 4, 5, 6)
    pads[1, :, :, 4:] = 0
    pads[1, :, 3:] = 0
    yield Case("rows and columns of zeros", (pads,))
    yield Case("float64", (random(2, 3, 4, 5).double(),))
    yield Case("bfloat16", (random(2, 3, 4, 5).bfloat16(),), grad=False)
    strided = random(2, 4, 3, 5).transpose(1, 2).contiguous().transpose(1, 2)
    yield Case("not contiguous", (strided,))


# ------------------------------------------------------------------------------- mistakes


def wrong_use(id, question):
    """Register a wrong use of the similarities (B, H, H), with and without a thought of zeros."""

    def keep(use):
        for similar in (cosines, careless):
            diversity_loss.mistake(id, question)(
                lambda weights, similar=similar: use(similar(flat(weights)))
            )
        return use

    return keep


_DIAGONAL = (
    "How similar is a head to itself? Can training change that? How many pairs of different heads are "
    "there?"
)


@wrong_use("diagonal-included", _DIAGONAL)
def _(similarity):
    return similarity.mean()


@wrong_use("diagonal-in-the-sum", _DIAGONAL)
def _(similarity):
    B, H, _ = similarity.shape
    return similarity.sum() / (B * H * (H - 1))


@wrong_use("diagonal-in-the-triangle", _DIAGONAL)
def _(similarity):
    B, H, _ = similarity.shape
    return similarity.triu().sum() / (B * H * (H + 1) / 2)


_COUNT = "By which number do you divide, and how many similarities did you add up? Count them for H = 3."


@wrong_use("divided-by-all-entries", _COUNT)
def _(similarity):
    return others(similarity).mean()


@wrong_use("pairs-counted-twice", _COUNT)
def _(similarity):
    B, H, _ = similarity.shape
    return others(similarity).sum() / (B * H * (H - 1) / 2)


@wrong_use("pairs-counted-half", _COUNT)
def _(similarity):
    return mean_of_others(similarity.triu(1))


@wrong_use("triangle-divided-by-all-entries", _COUNT)
def _(similarity):
    return similarity.triu(1).mean()


@wrong_use("divided-by-the-heads", _COUNT)
def _(similarity):
    B, H, _ = similarity.shape
    return others(similarity).sum() / (B * H)


@wrong_use("batch-not-averaged", _COUNT)
def _(similarity):
    return mean_of_others(similarity) * len(similarity)


@wrong_use("summed-not-averaged", _COUNT)
def _(similarity):
    return others(similarity).sum()


@wrong_use("summed-not-averaged", _COUNT)
def _(similarity):
    return similarity.triu(1).sum()


_SCALAR = "How many numbers come out of your function? What can `backward()` start from?"


@wrong_use("one-number-for-each-sentence", _SCALAR)
def _(similarity):
    H = similarity.shape[1]
    return others(similarity).sum((1, 2)) / (H * (H - 1))


@wrong_use("one-number-for-each-pair", _SCALAR)
def _(similarity):
    return others(similarity).mean(0)


@wrong_use("all-similarities-returned", _SCALAR)
def _(similarity):
    return similarity


_SIGN = (
    "An optimizer makes the loss smaller. What becomes of the heads if it makes yours smaller: are they "
    "more different, or more alike?"
)


@wrong_use("sign-turned", _SIGN)
def _(similarity):
    return -mean_of_others(similarity)


@wrong_use("one-minus", _SIGN)
def _(similarity):
    return 1 - mean_of_others(similarity)


@wrong_use(
    "squared",
    "Two heads have a cosine of 0.6. What does your function return: 0.6, or 0.36?",
)
def _(similarity):
    return mean_of_others(similarity.square())


_PAIRS = (
    "Which pairs of heads does your code compare? Write them down for H = 4: there are six."
)


@wrong_use("neighbors-only", _PAIRS)
def _(similarity):
    return similarity.diagonal(offset=1, dim1=1, dim2=2).mean()


@wrong_use("neighbors-in-a-ring", _PAIRS)
def _(similarity):
    return similarity.roll(1, dims=1).diagonal(dim1=1, dim2=2).mean()


@wrong_use("first-head-only", _PAIRS)
def _(similarity):
    return similarity[:, 0, 1:].mean()


_IDENTITY = (
    "You measure how far the whole matrix of similarities is from an identity matrix. What do squares "
    "make of a cosine of 0.6, and what is the mean of the similarities themselves?"
)


@wrong_use("distance-from-the-identity", _IDENTITY)
def _(similarity):
    return others(similarity).norm(dim=(1, 2)).mean()


@wrong_use("distance-from-the-identity", _IDENTITY)
def _(similarity):
    return others(similarity).square().sum((1, 2)).mean()


@wrong_use(
    "largest-only",
    "The task asks for the mean over all pairs. Which pair is left in your result?",
)
def _(similarity):
    return others(similarity).amax((1, 2)).mean()


_LENGTH = (
    "What is the similarity of a head with itself in your code? A cosine gives 1, for sharp heads and "
    "for flat ones."
)


@diversity_loss.mistake("not-normalized", _LENGTH)
def _(weights):
    maps = flat(weights)
    return mean_of_others(maps @ maps.mT)


@diversity_loss.mistake("divided-by-the-sum", _LENGTH)
def _(weights):
    maps = flat(weights)
    maps = maps / maps.sum(-1, keepdim=True)
    return mean_of_others(maps @ maps.mT)


@diversity_loss.mistake("divided-by-the-squared-length", _LENGTH)
def _(weights):
    maps = flat(weights)
    maps = maps / maps.square().sum(-1, keepdim=True)
    return mean_of_others(maps @ maps.mT)


@diversity_loss.mistake("divided-by-the-size", _LENGTH)
def _(weights):
    maps = flat(weights)
    return mean_of_others(maps @ maps.mT / maps.shape[-1])


@diversity_loss.mistake(
    "normalized-along-the-heads",
    "Which vectors should have length 1: the map of one head, or what all heads say of one cell? Along "
    "which axis does `F.normalize` work if it is not told?",
)
def _(weights):
    maps = F.normalize(flat(weights))
    return mean_of_others(maps @ maps.mT)


_ROWS = "Here a head is one vector, its whole map in a sentence. Which numbers do your vectors hold?"


def wrong_vectors(id, question):
    """Register the right use of wrong vectors (..., heads, N), with and without a thought of zeros."""

    def keep(vectors):
        for similar in (cosines, careless):
            diversity_loss.mistake(id, question)(
                lambda weights, similar=similar: mean_of_others(similar(vectors(weights)))
            )
        return vectors

    return keep


@wrong_vectors("row-by-row", _ROWS)
def _(weights):
    return weights.transpose(1, 2)


@diversity_loss.mistake(
    "cosine-along-another-axis",
    "Along which axis does `F.cosine_similarity` work if it is not told? Which axis of your two tensors "
    "counts the L * S numbers of a map?",
)
def _(weights):
    maps = flat(weights)
    g, h = torch.triu_indices(maps.shape[1], maps.shape[1], 1)
    return F.cosine_similarity(maps[:, g], maps[:, h]).mean()


@wrong_vectors("column-by-column", _ROWS)
def _(weights):
    return weights.permute(0, 3, 1, 2)


@diversity_loss.mistake("column-by-column", _ROWS)
def _(weights):
    """What `F.cosine_similarity` does to maps (B, L, S), if it is not told an axis."""
    g, h = torch.triu_indices(weights.shape[1], weights.shape[1], 1)
    return F.cosine_similarity(weights[:, g], weights[:, h], dim=2).mean()


@wrong_vectors("rows-of-one-head-compared", _ROWS)
def _(weights):
    return weights


@wrong_vectors("mean-over-queries-first", _ROWS)
def _(weights):
    return weights.mean(2)


@wrong_vectors("first-query-only", _ROWS)
def _(weights):
    return weights[:, :, 0]


@wrong_vectors("last-query-only", _ROWS)
def _(weights):
    return weights[:, :, -1]


@diversity_loss.mistake("rows-normalized-only", _ROWS)
def _(weights):
    maps = flat(F.normalize(weights, dim=-1))
    return mean_of_others(maps @ maps.mT)


_SENTENCES = (
    "Which two things should be different: two heads in one sentence, or two sentences?"
)


@wrong_vectors("sentences-compared", _SENTENCES)
def _(weights):
    return flat(weights).transpose(0, 1)


@wrong_vectors("sentences-compared-whole", _SENTENCES)
def _(weights):
    return weights.flatten(1)


@wrong_vectors("heads-and-sentences-compared", _SENTENCES)
def _(weights):
    return weights.flatten(0, 1).flatten(1)


_BATCH = "Two heads are compared in each sentence, and then comes the mean. When do you mix the sentences?"


@wrong_vectors("batch-in-one-vector", _BATCH)
def _(weights):
    return weights.transpose(0, 1).flatten(1)


@wrong_vectors("mean-over-the-batch-first", _BATCH)
def _(weights):
    return flat(weights).mean(0)


@wrong_vectors("first-sentence-only", _BATCH)
def _(weights):
    return flat(weights[:1])


@wrong_vectors(
    "correlation", "A cosine compares vectors as they are. What do you subtract before?"
)
def _(weights):
    maps = flat(weights)
    return maps - maps.mean(-1, keepdim=True)


@diversity_loss.mistake("compared-with-the-mean", _PAIRS)
def _(weights):
    maps = flat(weights)
    return F.cosine_similarity(maps, maps.mean(1, keepdim=True), dim=-1).mean()


@diversity_loss.mistake(
    "nan-for-a-map-of-zeros",
    "A sentence of padding has weights of 0 only. How long is that vector, and what do you divide by it?",
)
def _(weights):
    return mean_of_others(careless(flat(weights)))


_EYE = "You subtract 1 for each head, its similarity with itself. And for a map of zeros: is that 1, or 0?"


@diversity_loss.mistake("ones-subtracted", _EYE)
def _(weights):
    B, H = weights.shape[:2]
    return (cosines(flat(weights)).sum() - B * H) / (B * H * (H - 1))


@diversity_loss.mistake("ones-subtracted", _EYE)
def _(weights):
    B, H = weights.shape[:2]
    similarity = cosines(flat(weights)) - torch.eye(H, dtype=weights.dtype)
    return similarity.abs().sum() / (B * H * (H - 1))


@diversity_loss.mistake(
    "sentences-of-zeros-left-out",
    "A sentence of padding counts as 0. By how many sentences do you divide the sum?",
)
def _(weights):
    return careless(flat(weights))[
        :, ~torch.eye(weights.shape[1], dtype=torch.bool)
    ].nanmean()


@diversity_loss.mistake(
    "sentences-of-zeros-left-out",
    "A sentence of padding counts as 0. By how many sentences do you divide the sum?",
)
def _(weights):
    return mean_of_others(cosines(flat(weights[weights.flatten(1).sum(1) > 0])))
