"""The mistakes that the function and the module of grouped-query attention share."""

GROUPS = """
Which K/V head do query heads 0 and 1 read in your code? Neighbors share one: 0 0 1 1, not 0 1 0 1.
    heads-tiled  which = torch.arange(H) % Hkv
Do the key and the value of query head 1 come from the same K/V head? Compare how you copy k and how
you copy v.
    keys-and-values-of-different-heads  k = which => torch.arange(H) % Hkv
    keys-and-values-of-different-heads  v = which => torch.arange(H) % Hkv
How many query heads share one K/V head: Hkv, or H / Hkv? By which of the two do you divide?
    divided-by-num-kv-heads  which = torch.arange(H) // Hkv
Change the last K/V head. Which query heads notice?
    all-read-head-0  which = _ * 0
Let a hidden key's score be 400, and the others 0 and 1. What does the softmax over all three leave for
those two? When must a key be hidden, so that it takes no share?
    rescaled-after-the-softmax  hidden = scores ; kept = _ / _.sum(-1, keepdim=True).clamp(min=1e-30)
    rescaled-after-the-softmax  hidden = scores ; kept = _ / (_.sum(-1, keepdim=True) + 1e-6)
"""

QUERIES = """
Only keys and values are shared. Put another query into head 1: may the output of head 0 change?
    queries-shared-too  products = q.unflatten(1, (Hkv, -1)).mean(2).repeat_interleave(H // Hkv, 1) @ k.mT
    queries-shared-too  products = q.unflatten(1, (Hkv, -1)).sum(2).repeat_interleave(H // Hkv, 1) @ k.mT
    queries-shared-too  products = q[:, ::H // Hkv].repeat_interleave(H // Hkv, 1) @ k.mT
Query heads 0 and 1 are the first two of q. Which two come first in yours, once you have cut q into groups?
    query-heads-reordered  products = q.unflatten(1, (-1, Hkv)).transpose(1, 2).flatten(1, 2) @ k.mT
"""
