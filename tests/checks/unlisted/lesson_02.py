"""Wrong answers to the tasks of lesson 02 that its listed mistakes do not foresee, by task name."""

import math

import torch
import torch.nn.functional as F


def causal(q_len, kv_len):
    return torch.ones(q_len, kv_len, dtype=torch.bool).tril(kv_len - q_len)


def steps(q_len, kv_len):
    return torch.arange(q_len)[:, None] + kv_len - q_len - torch.arange(kv_len)


def window(q_len, kv_len, width):
    return (steps(q_len, kv_len) >= 0) & (steps(q_len, kv_len) < width)


def padding(lengths, max_len):
    return (torch.arange(max_len) < lengths[:, None])[:, None, None]


def softmax(scores, mask):
    return scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0.0)


def scores(q, k):
    return q @ k.mT / math.sqrt(q.shape[-1])


def attend(q, k, v, mask=None):
    s = scores(q, k)
    return (s.softmax(-1) if mask is None else softmax(s, mask)) @ v


def exchange(mask, change):
    """Apply a change to the mask, if there is one."""
    return None if mask is None else change(mask)


def causal_from_a_buffer(q_len, kv_len):
    buffer = torch.ones(1024, 1024, dtype=torch.bool).tril()
    return buffer[kv_len - q_len : kv_len, :kv_len]


def causal_never_empty(q_len, kv_len):
    mask = causal(q_len, kv_len)
    mask[:, 0] = True
    return mask


def causal_refuses_short_keys(q_len, kv_len):
    if kv_len < q_len:
        raise ValueError("kv_len must not be smaller than q_len")
    return causal(q_len, kv_len)


def padding_writes_into_lengths(lengths, max_len):
    lengths.clamp_(max=max_len - 1)
    return padding(lengths, max_len)


def padding_sorted(lengths, max_len):
    return padding(lengths.sort(descending=True).values, max_len)


def window_grows(q_len, kv_len, width):
    return causal(q_len, kv_len) & (steps(q_len, kv_len) <= max(width - 1, 1))


def softmax_in_place(s, mask):
    s.masked_fill_(~mask, -torch.inf)
    return s.softmax(-1).masked_fill(~mask, 0.0)


def softmax_first_row_decides(s, mask):
    mask = mask.expand_as(s)
    return softmax(s, mask[..., :1, :].expand_as(s))


def softmax_epsilon(s, mask):
    e = s.masked_fill(~mask, -torch.inf)
    e = (e - e.amax(-1, keepdim=True).nan_to_num(0, neginf=0)).exp()
    return e / (e.sum(-1, keepdim=True) + 1e-3)


def softmax_dropped_axis(s, mask):
    return softmax(s, mask).squeeze(0)


def attend_in_place(q, k, v, mask=None):
    q.mul_(q.shape[-1] ** -0.5)
    s = q @ k.mT
    return (s.softmax(-1) if mask is None else softmax(s, mask)) @ v


def attend_changes_mask(q, k, v, mask=None):
    if mask is None:
        return attend(q, k, v)
    mask = mask.logical_not_()
    return softmax(scores(q, k), ~mask) @ v


def attend_zeroes_hidden_values_only(q, k, v, mask=None):
    if mask is not None and mask.shape[-2] == 1:
        v = v * mask.mT
    return attend(q, k, v)


def attend_one_mask_for_all_heads(q, k, v, mask=None):
    if mask is not None and mask.ndim == 4:
        mask = mask[:, :1]
    return attend(q, k, v, mask)


def attend_query_rows_only(q, k, v, mask=None):
    """Reads a mask of a single row as causal."""
    if mask is not None and mask.ndim == 2 and len(mask) == 1:
        mask = mask | True
    return attend(q, k, v, mask)


def remembering(function, key):
    """Compute once for each key, and give back what was computed first."""
    kept = {}

    def answer(*args):
        return kept.setdefault(key(*args), function(*args))

    return answer


def safe_total(e):
    total = e.sum(-1, keepdim=True)
    return total.masked_fill(total == 0, 1.0)


def attend_with(weigh):
    """Attention with another softmax."""

    def answer(q, k, v, mask=None):
        s = scores(q, k)
        allowed = torch.ones_like(s, dtype=torch.bool) if mask is None else mask
        return weigh(s, allowed) @ v

    return answer


def attend_mask_by_sentence_only(q, k, v, mask=None):
    """In a loop over heads, the mask of head 0 for all."""
    masks = exchange(mask, lambda m: m[:, 0] if m.ndim == 4 else m)
    parts = zip(q.unbind(1), k.unbind(1), v.unbind(1), strict=True)
    return torch.stack([attend(*part, masks) for part in parts], 1)


UNLISTED = {
    "causal_mask": {
        "a buffer of 1024": causal_from_a_buffer,
        "never empty": causal_never_empty,
        "refuses short keys": causal_refuses_short_keys,
        "at least one key for each query": lambda n, m: (
            (steps(n, m).clamp(min=0) >= 0)
            & (torch.arange(m) <= (torch.arange(n)[:, None] + m - n).clamp(min=0))
        ),
        "one key for all at once when decoding": lambda n, m: (
            torch.eye(m, dtype=torch.bool)[-1:] if n == 1 else causal(n, m)
        ),
        "decoding sees one key less": lambda n, m: (
            causal(n, m).logical_and(torch.arange(m) < m - 1) if n == 1 else causal(n, m)
        ),
        "uint8": lambda n, m: causal(n, m).to(torch.uint8),
        "strict for short keys": lambda n, m: (
            causal(n, m) if m >= n else torch.zeros(n, m, dtype=torch.bool)
        ),
        "flattened": lambda n, m: causal(n, m).flatten(),
        "two results": lambda n, m: (causal(n, m), ~causal(n, m)),
        "centered triangle": lambda n, m: torch.ones(n, m, dtype=torch.bool).tril(
            (m - n) // 2
        ),
        "rows upside down": lambda n, m: causal(n, m).flip(0),
        "keys in reverse": lambda n, m: causal(n, m).flip(1),
        "squeezed": lambda n, m: causal(n, m).squeeze(),
        "proportional": lambda n, m: (
            torch.arange(m)[None] * n <= torch.arange(n)[:, None] * m
        ),
        "the first key is always hidden but for one row": lambda n, m: (
            causal(n, m) & ~((steps(n, m) == m - 1) & (m > 1))
        ),
        "at most 512 steps back": lambda n, m: window(n, m, 512),
        "offset by one for chunks": lambda n, m: torch.ones(n, m, dtype=torch.bool).tril(
            m - n - (n not in (1, m))
        ),
        "a batch axis": lambda n, m: causal(n, m)[None],
        "the first result forever": remembering(causal, lambda n, m: None),
        "one mask for each q_len": remembering(causal, lambda n, m: n),
        "one mask for each kv_len": remembering(causal, lambda n, m: m),
        "empty rows cut off": lambda n, m: causal(n, m)[max(0, n - m) :],
        "all of the last row, a triangle above": lambda n, m: (
            torch.ones(n, m, dtype=torch.bool).tril().index_fill(0, torch.tensor(n - 1), 1)
        ),
        "stretched over the keys": lambda n, m: (
            torch.arange(n)[:, None] * (m / n) >= torch.arange(m)
        ),
        "sizes exchanged, then transposed": lambda n, m: causal(m, n).T,
        "rows rolled on": lambda n, m: causal(n, m).roll(1, 0),
        "numpy": lambda n, m: causal(n, m).numpy(),
        "with its offset": lambda n, m: (causal(n, m), m - n),
    },
    "padding_mask": {
        "writes into lengths": padding_writes_into_lengths,
        "sorted": padding_sorted,
        "at least one word": lambda n, m: padding(n.clamp(min=1), m),
        "at most six words": lambda n, m: padding(n.clamp(max=6), m),
        "a full sentence loses a word": lambda n, m: padding(
            torch.where(n == m, n - 1, n), m
        ),
        "empty sentences see everything": lambda n, m: padding(
            torch.where(n == 0, m, n), m
        ),
        "squeezed": lambda n, m: padding(n, m).squeeze(),
        "uint8": lambda n, m: padding(n, m).to(torch.uint8),
        "the first sentence is full": lambda n, m: (
            padding(n, m) | (torch.arange(len(n)) == 0)[:, None, None, None]
        ),
        "in batches of sentences": lambda n, m: padding(n, m).transpose(0, 1),
        "sentences in reverse": lambda n, m: padding(n.flip(0), m),
        "keys in reverse": lambda n, m: padding(n, m).flip(-1),
        "int64 only": lambda n, m: padding(n.view(torch.int64), m),
        "wrong when square": lambda n, m: (
            padding(n, m).permute(3, 1, 2, 0) if len(n) == m else padding(n, m)
        ),
        "a column too many": lambda n, m: padding(n, m + 1),
        "a head axis of 2": lambda n, m: padding(n, m).expand(-1, 2, -1, -1),
        "a buffer of 512": lambda n, m: torch.arange(512)[:m] < n[:, None, None, None],
        "relative to the longest": lambda n, m: padding(n + m - n.max(), m),
        "causal, too": lambda n, m: padding(n, m) & causal(m, m),
        "a list": lambda n, m: list(padding(n, m)),
        "one mask for each shape": remembering(padding, lambda n, m: (len(n), m)),
        "equal lengths once": lambda n, m: padding(n.unique(), m),
        "the shortest decides": lambda n, m: padding(n.min().expand(len(n)), m),
        "the last decides": lambda n, m: padding(n[-1:].expand(len(n)), m),
        "int8 positions": lambda n, m: (
            torch.arange(m, dtype=torch.int8) < n.to(torch.int8)[:, None, None, None]
        ),
        "one pad hidden": lambda n, m: torch.arange(m) != n[:, None, None, None],
        "lengths repeated in the wrong order": lambda n, m: (
            torch.arange(m).repeat(len(n)) < n.repeat(m)
        ).view(len(n), 1, 1, m),
        "no class for a full sentence": lambda n, m: (
            F.one_hot(n.long(), m).cumsum(-1) == 0
        )[:, None, None],
        "broadcast if square": lambda n, m: (
            (torch.arange(m) < n).expand(m, 1, 1, m) if len(n) == m else padding(n, m)
        ),
        "as long as the lengths differ": lambda n, m: (
            padding(n, m) if n.min() < n.max() or n.min() == m else padding(n * 0 + m, m)
        ),
        "numpy": lambda n, m: padding(n, m).numpy(),
    },
    "sliding_window_mask": {
        "at least two keys": window_grows,
        "the first key stays": lambda n, m, w: (
            window(n, m, w) | (causal(n, m) & (torch.arange(m) == 0))
        ),
        "never empty": lambda n, m, w: (
            window(n, m, w) | ((torch.arange(m) == 0) & ~causal(n, m).any(1, keepdim=True))
        ),
        "window clipped to the queries": lambda n, m, w: window(n, m, min(w, n)),
        "window clipped to below the keys": lambda n, m, w: window(
            n, m, min(w, max(m - 1, 1))
        ),
        "causal when decoding": lambda n, m, w: window(n, m, w if n > 1 else m),
        "last keys when not square": lambda n, m, w: (
            window(n, m, w) if n == m else causal(n, m) & (torch.arange(m) >= m - w)
        ),
        "dilated": lambda n, m, w: window(n, m, 2 * w - 1) & (steps(n, m) % 2 == 0),
        "strided": lambda n, m, w: causal(n, m) & (steps(n, m) % w == 0),
        "refuses a long window": lambda n, m, w: (
            window(n, m, w) if w <= m else (_ for _ in ()).throw(ValueError("too long"))
        ),
        "refuses short keys": lambda n, m, w: (
            window(n, m, w) if n <= m else torch.zeros(n, m, dtype=torch.bool)
        ),
        "grows along the text": lambda n, m, w: (
            causal(n, m) & (steps(n, m) < w + torch.arange(n)[:, None] // 3)
        ),
        "uint8": lambda n, m, w: window(n, m, w).to(torch.uint8),
        "negative steps wrap around": lambda n, m, w: steps(n, m) % m < w,
        "even windows are one longer": lambda n, m, w: window(n, m, w // 2 * 2 + 1),
        "own key hidden when the window is long": lambda n, m, w: (
            window(n, m, w) & ((steps(n, m) > 0) | (w < m))
        ),
        "rows upside down": lambda n, m, w: window(n, m, w).flip(0),
        "a buffer of 1024": lambda n, m, w: window(1024, 1024, w)[m - n : m, :m],
        "window counted from top-left when short": lambda n, m, w: (
            window(n, m, w) if m >= n else window(n, n, w)[:, :m]
        ),
        "one mask for each shape": remembering(window, lambda n, m, w: (n, m)),
        "one mask for each kv_len and width": remembering(window, lambda n, m, w: (m, w)),
        "everything if the window is long": lambda n, m, w: (
            window(n, m, w) | (torch.ones(n, m) * (w >= m and n < m)).bool()
        ),
        "causal if the window exceeds the queries": lambda n, m, w: (
            causal(n, m) if w > n else window(n, m, w)
        ),
        "a long window clipped when decoding": lambda n, m, w: window(
            n, m, min(w, m - 1) if n < m else w
        ),
        "two blocks": lambda n, m, w: (
            causal(n, m)
            & (torch.arange(m - n, m)[:, None] // w - torch.arange(m) // w <= 1)
        ),
        "the last keys for all": lambda n, m, w: (
            (torch.arange(m) >= m - w).expand(n, m).clone()
        ),
        "a window of one sees nothing": lambda n, m, w: window(n, m, w) & (w > 1),
        "always three": lambda n, m, w: window(n, m, 3),
        "the far edge on the wrong side": lambda n, m, w: causal(n, m).triu(m - n + w - 1),
        "distance from the end without a sign": lambda n, m, w: (
            (s := torch.arange(n)[:, None] + abs(m - n) - torch.arange(m)).ge(0) & (s < w)
        ),
        "conditions without parentheses": lambda n, m, w: (
            steps(n, m) >= 0 & (steps(n, m) < w)
        ),
    },
    "masked_softmax": {
        "in place": softmax_in_place,
        "the first row decides": softmax_first_row_decides,
        "nan of the division painted over": lambda s, mask: (
            (w := s.softmax(-1) * mask) / w.sum(-1, keepdim=True)
        ).nan_to_num(0.0),
        "epsilon in the denominator": softmax_epsilon,
        "an axis dropped": softmax_dropped_axis,
        "gradient cut": lambda s, mask: softmax(s.detach(), mask),
        "weights cut": lambda s, mask: softmax(s, mask).detach(),
        "no empty sentence": lambda s, mask: softmax(s, mask | ~mask.any(-1, keepdim=True)),
        "empty rows see themselves": lambda s, mask: softmax(
            s, mask | (~mask.any(-1, True) & (torch.arange(s.shape[-1]) == 0))
        ),
        "fill of -1000": lambda s, mask: s.masked_fill(~mask, -1000.0).softmax(-1) * mask,
        "fill below the minimum": lambda s, mask: (
            torch.where(mask, s, s.amin(-1, keepdim=True) - 4).softmax(-1) * mask
        ),
        "clamped": lambda s, mask: softmax(s.clamp(-100, 100), mask),
        "never quite zero": lambda s, mask: softmax(s, mask).clamp(min=1e-3),
        "uniform where forbidden scores are large": lambda s, mask: softmax(
            s.nan_to_num(0.0) if s.abs().max() < 1e3 else s * 0, mask
        ),
        "the same mask for every sentence": lambda s, mask: softmax(
            s, mask[:1] if mask.ndim == 4 else mask
        ),
        "the same mask for every head": lambda s, mask: softmax(
            s, mask[:, :1] if mask.ndim == 4 else mask
        ),
        "no 4-D mask": lambda s, mask: softmax(s, mask.reshape(mask.shape[-2:])),
        "the shape of the mask": lambda s, mask: (
            softmax(s.expand_as(mask), mask)[None] if mask.ndim == 2 else softmax(s, mask)
        ),
        "padding for 2-D masks": lambda s, mask: softmax(
            s,
            mask[:, None]
            if mask.ndim == 2 and s.ndim == 3 and len(s) == len(mask)
            else mask,
        ),
        "bfloat16 in between": lambda s, mask: softmax(s.bfloat16(), mask).to(s.dtype),
        "only float32": lambda s, mask: softmax(s, mask).to(
            s.dtype if s.dtype != torch.float64 else torch.float32
        ),
        "nan in empty rows of half precision": lambda s, mask: (
            softmax(s, mask)
            if s.dtype.itemsize > 2
            else s.masked_fill(~mask, -torch.inf).softmax(-1)
        ),
        "scores of zero hidden": lambda s, mask: softmax(s, mask & (s != 0)),
        "exact gradient lost": lambda s, mask: (
            (w := softmax(s, mask)) / w.sum(-1, keepdim=True).detach().clamp(min=0.5) * 1.0
            + (s * 0.01 - s.detach() * 0.01) * mask
        ),
        "gradient nan by division": lambda s, mask: (
            (
                (
                    e := (s - s.masked_fill(~mask, -1e38).amax(-1, True))
                    .masked_fill(~mask, -torch.inf)
                    .exp()
                )
                / e.sum(-1, keepdim=True)
            ).nan_to_num(0.0)
            * mask
            + (s.masked_fill(~mask, 0.0) * 0).sum() / mask.any(-1, True).to(s) * 0
        ),
        "sigmoid": lambda s, mask: s.sigmoid().masked_fill(~mask, 0.0),
        "hardmax when sharp": lambda s, mask: softmax(
            s.masked_fill(s < s.masked_fill(~mask, -torch.inf).amax(-1, True) - 1.5, -1e9)
            if s.dtype == torch.float32
            else s,
            mask,
        ),
        "one maximum for each sentence": lambda s, mask: (
            (e := (s - s.amax((-2, -1), keepdim=True)).exp() * mask) / safe_total(e)
        ),
        "ten below the minimum": lambda s, mask: (
            torch.where(mask, s, s.amin(-1, keepdim=True) - 10).softmax(-1) * mask
        ),
        "twelve lower if forbidden": lambda s, mask: (
            torch.where(mask, s, s - 12).softmax(-1) * mask
        ),
        "almost zero": lambda s, mask: (
            torch.where(mask, s, s.amin(-1, keepdim=True) - 16).softmax(-1)
            * mask.any(-1, keepdim=True)
        ),
        "masks of three axes have no heads": lambda s, mask: softmax(
            s, mask[:, None] if mask.ndim == 3 and s.ndim == 4 else mask
        ),
        "masks of one axis ignored": lambda s, mask: softmax(
            s, mask if mask.ndim > 1 else mask | True
        ),
        "nan behind half precision": lambda s, mask: (
            softmax(s, mask)
            if s.dtype.itemsize > 2
            else (s + mask.to(s).log()).softmax(-1).nan_to_num(0.0)
        ),
        "all zero if any row is empty": lambda s, mask: (
            softmax(s, mask) * mask.expand_as(s).any(-1).all()
        ),
        "zero only if everything is forbidden": lambda s, mask: (
            s.masked_fill(~mask, -torch.inf).softmax(-1) if mask.any() else s * 0.0
        ),
        "one total for all": lambda s, mask: (
            (e := s.masked_fill(~mask, -torch.inf).exp()) / e.sum().clamp(min=1e-9)
        ),
        "one more in the total": lambda s, mask: (
            (e := (s - s.amax(-1, keepdim=True)).exp() * mask)
            / (1 + e.sum(-1, keepdim=True))
        ),
        "rows of a single key are zero": lambda s, mask: softmax(
            s, mask & (mask.expand_as(s).sum(-1, keepdim=True) > 1)
        ),
        "small weights dropped": lambda s, mask: (w := softmax(s, mask)) * (w > 1e-2),
        "scaled": lambda s, mask: softmax(s / math.sqrt(s.shape[-1]), mask),
    },
    "masked_attention": {
        "q in place": attend_in_place,
        "mask in place": attend_changes_mask,
        "hidden values zeroed only": attend_zeroes_hidden_values_only,
        "one mask for all heads": attend_one_mask_for_all_heads,
        "a single row is causal": attend_query_rows_only,
        "one mask for all sentences": lambda q, k, v, mask=None: attend(
            q, k, v, exchange(mask, lambda m: m[:1] if m.ndim == 4 else m)
        ),
        "masks of two axes ignored": lambda q, k, v, mask=None: attend(
            q, k, v, None if mask is not None and mask.ndim == 2 else mask
        ),
        "masks of one query ignored": lambda q, k, v, mask=None: attend(
            q, k, v, None if mask is not None and mask.shape[-2] == 1 else mask
        ),
        "padding of the first query": lambda q, k, v, mask=None: attend(
            q, k, v, exchange(mask, lambda m: m[..., :1, :])
        ),
        "scores cut": lambda q, k, v, mask=None: attend(q.detach(), k, v, mask),
        "values cut": lambda q, k, v, mask=None: attend(q, k, v.detach(), mask),
        "empty queries get the mean": lambda q, k, v, mask=None: attend(
            q, k, v, exchange(mask, lambda m: m | ~m.any(-1, keepdim=True))
        ),
        "empty queries get the first value": lambda q, k, v, mask=None: attend(
            q,
            k,
            v,
            exchange(
                mask,
                lambda m: m | (~m.any(-1, keepdim=True) & (torch.arange(m.shape[-1]) == 0)),
            ),
        ),
        "int sqrt": lambda q, k, v, mask=None: attend(
            q * math.sqrt(q.shape[-1]) / math.isqrt(q.shape[-1]), k, v, mask
        ),
        "at most root of 32": lambda q, k, v, mask=None: attend(
            q * max(1.0, math.sqrt(q.shape[-1] / 32)), k, v, mask
        ),
        "float16 in between": lambda q, k, v, mask=None: attend(
            q.half(), k.half(), v.half(), mask
        ).to(q.dtype),
        "values clamped": lambda q, k, v, mask=None: attend(q, k, v.clamp(-2, 2), mask),
        "small fill": lambda q, k, v, mask=None: (
            (
                scores(q, k).masked_fill(
                    torch.tensor(False) if mask is None else ~mask, -60.0
                )
            ).softmax(-1)
            @ v
        ),
        "small fill, then zero": lambda q, k, v, mask=None: (
            attend(q, k, v)
            if mask is None
            else (scores(q, k).masked_fill(~mask, -500.0).softmax(-1) * mask) @ v
        ),
        "mask after v": lambda q, k, v, mask=None: (
            attend(q, k, v)
            if mask is None
            else attend(q, k, v) * mask.any(-1, keepdim=True)
        ),
        "nan to num of v": lambda q, k, v, mask=None: (
            attend(q, k, v)
            if mask is None
            else torch.where(
                mask.any(-1, keepdim=True),
                scores(q, k).masked_fill(~mask, -torch.inf).softmax(-1) @ v,
                0.0,
            )
        ),
        "sdpa, unscaled": lambda q, k, v, mask=None: F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, scale=1.0
        ),
        "sdpa, causal if no mask": lambda q, k, v, mask=None: (
            F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None)
        ),
        "sdpa with an additive bool": lambda q, k, v, mask=None: (
            F.scaled_dot_product_attention(
                q, k, v, attn_mask=exchange(mask, lambda m: m.to(q.dtype))
            )
        ),
        "sdpa, dropout": lambda q, k, v, mask=None: F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, dropout_p=0.1
        ),
        "keys from the first head": lambda q, k, v, mask=None: attend(
            q, k[:, :1].expand_as(k), v, mask
        ),
        "heads share a softmax": lambda q, k, v, mask=None: (
            attend(q, k, v, mask) * q.shape[1] / max(q.shape[1], 2)
        ),
        "mask given must be 4-D": lambda q, k, v, mask=None: (
            attend(q, k, v, exchange(mask, lambda m: m.view(*m.shape[:2], *m.shape[2:4])))
            if mask is None or mask.ndim == 4
            else attend(q, k, v, mask.view(-1, 1, 1, mask.shape[-1]))
        ),
        "at most seven keys": lambda q, k, v, mask=None: attend(
            q,
            k[:, :, -7:],
            v[:, :, -7:],
            exchange(mask, lambda m: m[..., -7:]),
        ),
        "a list of one": lambda q, k, v, mask=None: [attend(q, k, v, mask)],
        "a dictionary": lambda q, k, v, mask=None: {"output": attend(q, k, v, mask)},
        "query added": lambda q, k, v, mask=None: (
            attend(q, k, v, mask) + q
            if q.shape[-1] == v.shape[-1]
            else attend(q, k, v, mask)
        ),
        "scores of zero hidden": lambda q, k, v, mask=None: attend(
            q, k, v, exchange(mask, lambda m: m & (q @ k.mT != 0))
        ),
        "float64 becomes float32": lambda q, k, v, mask=None: attend(q, k, v, mask).to(
            torch.float32 if q.dtype == torch.float64 else q.dtype
        ),
        "one maximum for all": attend_with(
            lambda s, mask: (e := (s - s.max()).exp() * mask) / safe_total(e)
        ),
        "ten below the minimum": attend_with(
            lambda s, mask: (
                torch.where(mask, s, s.amin(-1, keepdim=True) - 10).softmax(-1) * mask
            )
        ),
        "nan behind half precision": attend_with(
            lambda s, mask: (
                softmax(s, mask)
                if s.dtype.itemsize > 2
                else (s + mask.to(s).log()).softmax(-1).nan_to_num(0.0)
            )
        ),
        "detached weights": attend_with(lambda s, mask: softmax(s, mask).detach()),
        "one key alone gets nothing": attend_with(
            lambda s, mask: softmax(s, mask & (mask.expand_as(s).sum(-1, keepdim=True) > 1))
        ),
        "an empty query empties its sentence": attend_with(
            lambda s, mask: (
                softmax(s, mask)
                * mask.expand_as(s).any(-1, keepdim=True).all(-2, keepdim=True)
            )
        ),
        "a mask by sentence only": attend_mask_by_sentence_only,
        "pads see nothing": lambda q, k, v, mask=None: attend(
            q, k, v, exchange(mask, lambda m: m & m.mT if q.shape == k.shape else m)
        ),
        "padding read as (H, S)": lambda q, k, v, mask=None: attend(
            q,
            k,
            v,
            exchange(
                mask,
                lambda m: (
                    m.transpose(0, 1)
                    if m.ndim == 4 and m.shape[:2] == (q.shape[1], 1)
                    else m
                ),
            ),
        ),
        "ignores the mask of a single query": lambda q, k, v, mask=None: attend(
            q, k, v, None if q.shape[2] == 1 else mask
        ),
        "any key of any head": lambda q, k, v, mask=None: attend(
            q, k, v, exchange(mask, lambda m: m.any(1, True) if m.ndim == 4 else m)
        ),
        "scaled after the softmax": lambda q, k, v, mask=None: (
            attend(q * math.sqrt(q.shape[-1]), k, v, mask) / math.sqrt(q.shape[-1])
        ),
        "root of H times D": lambda q, k, v, mask=None: attend(
            q / math.sqrt(q.shape[1]), k, v, mask
        ),
        "sdpa, -1e9 added": lambda q, k, v, mask=None: F.scaled_dot_product_attention(
            q, k, v, exchange(mask, lambda m: torch.where(m, 0.0, -1e9).to(q))
        ),
        "keys and values of the first sentence": lambda q, k, v, mask=None: attend(
            q, k[:1].expand_as(k), v[:1].expand_as(v), mask
        ),
    },
}
