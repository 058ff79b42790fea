"""How known mistakes of `train_bpe` and `encode_bpe` merge a pair in a row of tokens."""

from itertools import pairwise


def merged(tokens, pair):
    """Merge from the left."""
    done, rest = [], list(tokens)
    while rest:
        size = 2 if tuple(rest[:2]) == pair else 1
        done.append("".join(rest[:size]))
        rest = rest[size:]
    return done


def from_the_right(tokens, pair):
    turned = [token[::-1] for token in tokens[::-1]]
    turned = merged(turned, tuple(part[::-1] for part in pair[::-1]))
    return [token[::-1] for token in turned[::-1]]


def last_lost(tokens, pair):
    """Look at each token but the last, which has no right neighbor."""
    return merged(tokens, pair)[: None if tuple(tokens[-2:]) == pair else -1]


def each_for_itself(tokens, pair):
    """Ask of each token whether it begins the pair, and leave it out if it ends one."""
    starts = [*(each == pair for each in pairwise(tokens)), False]
    ends = [False, *starts]
    return [
        "".join(pair) if start else token
        for token, start, end in zip(tokens, starts, ends, strict=False)
        if start or not end
    ]
