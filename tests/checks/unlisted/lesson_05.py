"""Wrong answers to the tasks of lesson 05 that its listed mistakes do not foresee, by task name."""

import math

import torch
import torch.nn.functional as F
from torch import nn

import attn_lib
from attn_lib import causal_mask

# --------------------------------------------------------------------- CrossAttention


class Cross(nn.Module):
    def __init__(self, d_model, d_context, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_context, d_model)
        self.v_proj = nn.Linear(d_context, d_model)
        self.o_proj = nn.Linear(d_model, d_model)

    def heads(self, x, context):
        return tuple(
            p(c).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for p, c in ((self.q_proj, x), (self.k_proj, context), (self.v_proj, context))
        )

    def weights(self, q, k, mask, fill=-torch.inf, cover=True):
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        if mask is None:
            return scores.softmax(-1)
        hidden = ~mask[:, None, None, :]
        weights = scores.masked_fill(hidden, fill).softmax(-1)
        return weights.masked_fill(hidden, 0.0) if cover else weights

    def merged(self, output):
        return self.o_proj(output.transpose(1, 2).flatten(2))

    def forward(self, x, context, context_mask=None):
        q, k, v = self.heads(x, context)
        return self.merged(self.weights(q, k, context_mask) @ v)


def cross(forward):
    """Make a module whose forward is `forward(self, x, context, mask)`."""

    def with_default(self, x, context, context_mask=None):
        return forward(self, x, context, context_mask)

    return type("OtherCross", (Cross,), {"forward": with_default})


def nan_painted_over_at_the_end(self, x, context, mask):
    q, k, v = self.heads(x, context)
    output = torch.nan_to_num(self.weights(q, k, mask, cover=False) @ v)
    return self.merged(output)


def empty_sentences_skipped(self, x, context, mask):
    """Right values; but the empty sentence is decided for the whole batch."""
    if mask is not None and not mask.any(1).all():
        return self.o_proj(torch.zeros_like(x))
    return Cross.forward(self, x, context, mask)


def counted_prefix(self, x, context, mask):
    if mask is not None:
        mask = torch.arange(mask.shape[1]) < mask.sum(1, keepdim=True)
    return Cross.forward(self, x, context, mask)


def longest_sentence_only(self, x, context, mask):
    """Cuts the context to the longest sentence, and hides nothing else."""
    if mask is not None:
        context = context[:, : max(1, int(mask.sum(1).max()))]
    return Cross.forward(self, x, context)


def first_mask_for_all(self, x, context, mask):
    return Cross.forward(
        self, x, context, None if mask is None else mask[:1].expand_as(mask)
    )


def low_but_not_lowest(fill):
    def forward(self, x, context, mask):
        q, k, v = self.heads(x, context)
        return self.merged(self.weights(q, k, mask, fill, cover=False) @ v)

    return forward


def low_and_covered(self, x, context, mask):
    q, k, v = self.heads(x, context)
    return self.merged(self.weights(q, k, mask, fill=-20.0) @ v)


def renormalized_with_epsilon(self, x, context, mask):
    q, k, v = self.heads(x, context)
    weights = self.weights(q, k, None)
    if mask is not None:
        weights = weights * mask[:, None, None, :]
        weights = weights / (weights.sum(-1, keepdim=True) + 1e-2)
    return self.merged(weights @ v)


def mask_only_where_shapes_allow(self, x, context, mask):
    """Takes a mask (B, S) for one of (L, S) where it can."""
    q, k, v = self.heads(x, context)
    if mask is None or len(x) != x.shape[1]:
        return Cross.forward(self, x, context, mask)
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return self.merged(attn_lib.masked_softmax(scores, mask) @ v)


def view_instead_of_transpose_when_equal(self, x, context, mask):
    if x.shape[1] != self.num_heads:
        return Cross.forward(self, x, context, mask)
    q, k, v = self.heads(x, context)
    return self.o_proj((self.weights(q, k, mask) @ v).flatten(2))


def in_place_on_context(self, x, context, mask):
    if mask is not None:
        context[~mask] = 0.0
    return Cross.forward(self, x, context, mask)


def values_frozen(self, x, context, mask):
    q, k, v = self.heads(x, context)
    return self.merged(self.weights(q, k, mask) @ v.detach())


def context_frozen(self, x, context, mask):
    return Cross.forward(self, x, context.detach(), mask)


def value_bias_forgotten(self, x, context, mask):
    q, k, _ = self.heads(x, context)
    v = F.linear(context, self.v_proj.weight)
    v = v.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
    return self.merged(self.weights(q, k, mask) @ v)


def query_bias_forgotten(self, x, context, mask):
    _, k, v = self.heads(x, context)
    q = F.linear(x, self.q_proj.weight)
    q = q.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
    return self.merged(self.weights(q, k, mask) @ v)


def scaled_for_64(self, x, context, mask):
    q, k, v = self.heads(x, context)
    return self.merged(self.weights(q * (q.shape[-1] / 64) ** 0.5, k, mask) @ v)


def samples_mixed(self, x, context, mask):
    """PyTorch's own forward, without its transposes: the batch is taken for the length."""
    if len(x) != len(context) or x.shape[1] != context.shape[1] or mask is not None:
        return Cross.forward(self, x, context, mask)
    swapped = Cross.forward(self, x.transpose(0, 1), context.transpose(0, 1))
    return swapped.transpose(0, 1)


def opened_in_place(self, x, context, mask):
    """Right values; but the mask that was handed in is another one afterwards."""
    if mask is None:
        return Cross.forward(self, x, context)
    empty = ~mask.any(1)
    mask[empty] = True
    q, k, v = self.heads(x, context)
    weights = self.weights(q, k, mask)
    return self.merged(weights.masked_fill(empty[:, None, None, None], 0.0) @ v)


def scaled_before_the_bias(self, x, context, mask):
    q, k, v = self.heads(x, context)
    root = math.sqrt(q.shape[-1])
    q = self.heads(x / root, context)[0] * root  # `weights` divides by the root again
    return self.merged(self.weights(q, k, mask) @ v)


def bias_once_for_each_head(self, x, context, mask):
    q, k, v = self.heads(x, context)
    output = self.weights(q, k, mask) @ v
    parts = self.o_proj.weight.chunk(self.num_heads, dim=1)
    return sum(output[:, h] @ w.T + self.o_proj.bias for h, w in enumerate(parts))


def heads_averaged(self, x, context, mask):
    """One set of weights for all heads: their mean."""
    q, k, v = self.heads(x, context)
    return self.merged(self.weights(q, k, mask).mean(1, keepdim=True) @ v)


def shorter_of_both(self, x, context, mask):
    """Zip-like: reads only as many context tokens as there are queries."""
    n = x.shape[1]
    return Cross.forward(self, x, context[:, :n], None if mask is None else mask[:, :n])


def mask_only_in_self_attention(self, x, context, mask):
    same = x.shape[1] == context.shape[1]
    return Cross.forward(self, x, context, mask if same else None)


def joined(self, x, context, mask):
    """Attends to x and the context together, where the widths allow it."""
    if x.shape[-1] != context.shape[-1]:
        return Cross.forward(self, x, context, mask)
    if mask is not None:
        mask = F.pad(mask, (x.shape[1], 0), value=True)
    return Cross.forward(self, x, torch.cat([x, context], dim=1), mask)


def zero_vectors_taken_for_pads(self, x, context, mask):
    if mask is None:
        mask = context.abs().sum(-1) > 0
    return Cross.forward(self, x, context, mask)


def attends_to_nothing_too(self, x, context, mask):
    """A key more, with a score and a value of zero: an empty sentence looks right."""
    q, k, v = self.heads(x, context)
    k, v = F.pad(k, (0, 0, 1, 0)), F.pad(v, (0, 0, 1, 0))
    if mask is not None:
        mask = F.pad(mask, (1, 0), value=True)
    return self.merged(self.weights(q, k, mask) @ v)


def pairs_only(self, x, context, mask):
    """Zip-like: what x has beyond the length of the context is not answered."""
    output = Cross.forward(self, x, context, mask)
    beyond = torch.arange(x.shape[1]) >= context.shape[1]
    return output.masked_fill(beyond[:, None], 0.0)


def scaled_by_the_number_of_heads(self, x, context, mask):
    q, k, v = self.heads(x, context)
    q = q * math.sqrt(q.shape[-1] / self.num_heads)
    return self.merged(self.weights(q, k, mask) @ v)


def value_bias_added_at_the_end(self, x, context, mask):
    """Right as long as the weights add up to 1: not where all is padding."""
    q, k, _ = self.heads(x, context)
    v = F.linear(context, self.v_proj.weight)
    v = v.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
    bias = self.v_proj.bias.view(self.num_heads, 1, -1)
    return self.merged(self.weights(q, k, mask) @ v + bias)


def divided_with_an_epsilon(self, x, context, mask):
    """Subtracts the largest score, which may be a pad's: what is left is as small as epsilon."""
    q, k, v = self.heads(x, context)
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    e = (scores - scores.amax(-1, keepdim=True)).exp()
    if mask is not None:
        e = e * mask[:, None, None, :]
    return self.merged(e / (e.sum(-1, keepdim=True) + 1e-6) @ v)


def x_where_all_is_padding(self, x, context, mask):
    output = Cross.forward(self, x, context, mask)
    return output if mask is None else torch.where(mask.any(1)[:, None, None], output, x)


def mask_for_head_0_only(self, x, context, mask):
    q, k, v = self.heads(x, context)
    first, others = self.weights(q, k, mask)[:, :1], self.weights(q, k, None)[:, 1:]
    return self.merged(torch.cat([first, others], dim=1) @ v)


def mask_used_if_it_says_anything(self, x, context, mask):
    return Cross.forward(
        self, x, context, mask if mask is not None and mask.any() else None
    )


def mask_of_the_sentence_above(self, x, context, mask):
    return Cross.forward(self, x, context, None if mask is None else mask.roll(1, 0))


def full_mask_without_its_last(self, x, context, mask):
    if mask is not None and mask.all():
        mask = F.pad(mask[:, :-1], (0, 1))
    return Cross.forward(self, x, context, mask)


def folded_and_unfolded_otherwise(self, x, context, mask):
    q, k, v = self.heads(x, context)
    output = self.weights(q, k, mask) @ v
    B, H, L, D = output.shape
    return self.merged(output.reshape(H, B, L, D).transpose(0, 1))


def viewed_as_one_list_of_tokens(self, x, context, mask):
    return Cross.forward(
        self, x, context.view(-1, context.shape[-1]).view(context.shape), mask
    )


def keys_without_gradients(self, x, context, mask):
    q, _, v = self.heads(x, context)
    with torch.no_grad():
        k = self.heads(x, context)[1]
    return self.merged(self.weights(q, k, mask) @ v)


class ScaleInFloat32(Cross):
    def __init__(self, d_model, d_context, num_heads):
        super().__init__(d_model, d_context, num_heads)
        self.root = torch.tensor([math.sqrt(d_model // num_heads)])

    def weights(self, q, k, mask, fill=-torch.inf, cover=True):
        q = q * math.sqrt(q.shape[-1]) / self.root
        return super().weights(q, k, mask, fill, cover)


class RemembersContext(Cross):
    def heads(self, x, context):
        q, k, v = super().heads(x, context)
        if not hasattr(self, "kept"):
            self.kept = k, v
        return (q, *self.kept)


class ContextNormed(Cross):
    def __init__(self, d_model, d_context, num_heads):
        super().__init__(d_model, d_context, num_heads)
        self.norm = nn.LayerNorm(d_context)

    def heads(self, x, context):
        return super().heads(x, self.norm(context))


class TiedKeysAndValues(Cross):
    def __init__(self, d_model, d_context, num_heads):
        super().__init__(d_model, d_context, num_heads)
        self.v_proj = self.k_proj


class MaskMustBeThere(Cross):
    def forward(self, x, context, context_mask):
        return super().forward(x, context, context_mask)


# -------------------------------------------------------------- encoder_decoder_masks

masks = attn_lib.encoder_decoder_masks


def real(ids, pad_id):
    return (ids != pad_id)[:, None, None, :]


def first_pad_ends_it(src_ids, tgt_ids, pad_id):
    def keys(ids):
        return ((ids != pad_id).long().cumprod(1) > 0)[:, None, None]

    L = tgt_ids.shape[1]
    return keys(src_ids), keys(tgt_ids) & causal_mask(L, L), keys(src_ids)


def last_token_ends_it(src_ids, tgt_ids, pad_id):
    """Pads after the last token are hidden, and those before it are not."""

    def keys(ids):
        return ((ids != pad_id).flip(1).long().cumsum(1) > 0).flip(1)[:, None, None]

    L = tgt_ids.shape[1]
    return keys(src_ids), keys(tgt_ids) & causal_mask(L, L), keys(src_ids)


def hidden_only_at_both_ends(src_ids, tgt_ids, pad_id):
    def keys(ids):
        found = (ids != pad_id).long()
        return (found.cumsum(1).bool() & found.flip(1).cumsum(1).flip(1).bool())[
            :, None, None
        ]

    L = tgt_ids.shape[1]
    return keys(src_ids), keys(tgt_ids) & causal_mask(L, L), keys(src_ids)


def causal_only_for_long_outputs(src_ids, tgt_ids, pad_id):
    encoder, decoder, cross = masks(src_ids, tgt_ids, pad_id)
    if tgt_ids.shape[1] > src_ids.shape[1]:
        decoder = real(tgt_ids, pad_id).expand_as(decoder)
    return encoder, decoder, cross


def first_column_always_seen(src_ids, tgt_ids, pad_id):
    encoder, decoder, cross = (m.clone() for m in masks(src_ids, tgt_ids, pad_id))
    decoder[..., 0] = True
    return encoder, decoder, cross


def skips_pads_if_there_are_none_in_the_output(src_ids, tgt_ids, pad_id):
    encoder, decoder, cross = masks(src_ids, tgt_ids, pad_id)
    if not (tgt_ids == pad_id).any():
        return torch.ones_like(encoder), decoder, torch.ones_like(cross)
    return encoder, decoder, cross


def changes_the_pads(src_ids, tgt_ids, pad_id):
    src_ids[src_ids == pad_id] = -100
    return masks(src_ids, tgt_ids, -100)[0], *masks(src_ids, tgt_ids, pad_id)[1:]


def cross_hides_pads_of_the_output_where_it_fits(src_ids, tgt_ids, pad_id):
    encoder, decoder, cross = masks(src_ids, tgt_ids, pad_id)
    return (
        encoder,
        decoder,
        real(tgt_ids, pad_id) if src_ids.shape == tgt_ids.shape else cross,
    )


def a_pad_sees_itself_in_the_encoder(src_ids, tgt_ids, pad_id):
    encoder, decoder, cross = masks(src_ids, tgt_ids, pad_id)
    return encoder | torch.eye(encoder.shape[-1], dtype=torch.bool), decoder, cross


def pad_queries_see_everything(src_ids, tgt_ids, pad_id):
    encoder, decoder, cross = masks(src_ids, tgt_ids, pad_id)
    return encoder, decoder | ~real(tgt_ids, pad_id).mT, cross


def compared_by_identity(src_ids, tgt_ids, pad_id):
    """Python keeps one object for each of the numbers -5 to 256, and no longer beyond."""

    def keys(ids):
        return torch.tensor([[[[t is not pad_id for t in row]]] for row in ids.tolist()])

    L = tgt_ids.shape[1]
    return keys(src_ids), keys(tgt_ids) & causal_mask(L, L), keys(src_ids)


def last_id_is_the_pad(src_ids, tgt_ids, pad_id):
    return masks(src_ids, tgt_ids, int(src_ids[-1, -1]))


def input_opened_where_all_is_padding(src_ids, tgt_ids, pad_id):
    _, decoder, _ = masks(src_ids, tgt_ids, pad_id)
    src = real(src_ids, pad_id)
    src = src | ~src.any(-1, keepdim=True)
    return src, decoder, src


def eos_hidden_too(src_ids, tgt_ids, pad_id):
    encoder, decoder, cross = masks(src_ids, tgt_ids, pad_id)
    return encoder & real(src_ids, 2), decoder, cross


def decoder_shifted_by_one(src_ids, tgt_ids, pad_id):
    encoder, decoder, cross = masks(src_ids, tgt_ids, pad_id)
    return encoder, F.pad(decoder[..., :-1], (1, 0)), cross


# ---------------------------------------------------------------------- greedy_decode


def decode(
    step, batch_size, bos_id, eos_id, max_len,
    choose=lambda logits: logits[:, -1].argmax(-1),
    after=lambda newest: newest,
    shown=lambda ids: ids,
):  # fmt: skip
    ids = torch.full((batch_size, 1), bos_id)
    ended = torch.zeros(batch_size, dtype=torch.bool)
    for _ in range(max_len):
        newest = after(choose(step(shown(ids))).masked_fill(ended, eos_id))
        ids = torch.cat([ids, newest[:, None]], dim=1)
        ended |= newest == eos_id
        if ended.all():
            break
    return ids[:, 1:]


def with_choice(choose):
    return lambda step, b, bos, eos, n: decode(step, b, bos, eos, n, choose=choose)


def no_token_twice_in_a_row(step, batch_size, bos_id, eos_id, max_len):
    """Greedy, but a token may not come again."""
    seen = torch.zeros(batch_size, 5000, dtype=torch.bool)

    def choose(logits):
        last = logits[:, -1].masked_fill(seen[:, : logits.shape[-1]], -torch.inf)
        newest = last.argmax(-1)
        seen[torch.arange(batch_size), newest] = newest != eos_id
        return newest

    return decode(step, batch_size, bos_id, eos_id, max_len, choose=choose)


def never_ends_at_once(step, batch_size, bos_id, eos_id, max_len):
    def choose(logits):
        last = logits[:, -1].clone()
        if logits.shape[1] == 1:
            last[:, eos_id] = -torch.inf
        return last.argmax(-1)

    return decode(step, batch_size, bos_id, eos_id, max_len, choose=choose)


def eos_only_at_the_end(step, batch_size, bos_id, eos_id, max_len):
    def choose(logits):
        last = logits[:, -1].clone()
        last[:, eos_id] = -torch.inf
        return last.argmax(-1)

    return decode(step, batch_size, bos_id, eos_id, max_len, choose=choose)


def last_column_is_eos(step, batch_size, bos_id, eos_id, max_len):
    ids = decode(step, batch_size, bos_id, eos_id, max_len).clone()
    if ids.shape[1] == max_len:
        ids[:, -1] = eos_id
    return ids


def eos_replaced_by_the_token_before(step, batch_size, bos_id, eos_id, max_len):
    ids = decode(step, batch_size, bos_id, eos_id, max_len).clone()
    if ids.shape[1] > 1:
        tail = ids[:, -1] == eos_id
        ids[tail, -1] = ids[tail, -2]
    return ids


def stops_after_half_have_ended(step, batch_size, bos_id, eos_id, max_len):
    ids = torch.full((batch_size, 1), bos_id)
    ended = torch.zeros(batch_size, dtype=torch.bool)
    while ids.shape[1] <= max_len and ended.float().mean() <= 0.5:
        newest = step(ids)[:, -1].argmax(-1).masked_fill(ended, eos_id)
        ids = torch.cat([ids, newest[:, None]], dim=1)
        ended |= newest == eos_id
    return ids[:, 1:]


def last_row_decides(step, batch_size, bos_id, eos_id, max_len):
    ids = torch.full((batch_size, 1), bos_id)
    ended = torch.zeros(batch_size, dtype=torch.bool)
    while ids.shape[1] <= max_len and ids[-1, -1] != eos_id:
        newest = step(ids)[:, -1].argmax(-1).masked_fill(ended, eos_id)
        ids = torch.cat([ids, newest[:, None]], dim=1)
        ended |= newest == eos_id
    return ids[:, 1:]


def majority_decides(step, batch_size, bos_id, eos_id, max_len):
    """All rows get the token that most of them want."""

    def choose(logits):
        newest = logits[:, -1].argmax(-1)
        return newest.mode().values.expand_as(newest)

    return decode(step, batch_size, bos_id, eos_id, max_len, choose=choose)


def ended_kept_as_a_number(step, batch_size, bos_id, eos_id, max_len):
    """Counts the eos it sees, and stops at batch_size: a row may be counted twice."""
    ids = torch.full((batch_size, 1), bos_id)
    count = 0
    while ids.shape[1] <= max_len and count < batch_size:
        newest = step(ids)[:, -1].argmax(-1)
        newest = newest.masked_fill((ids == eos_id).any(1), eos_id)
        count += int((newest == eos_id).sum())
        ids = torch.cat([ids, newest[:, None]], dim=1)
    return ids[:, 1:]


def one_step_late(step, batch_size, bos_id, eos_id, max_len):
    """Rows are marked as ended only after the next token."""
    ids = torch.full((batch_size, 1), bos_id)
    ended = torch.zeros(batch_size, dtype=torch.bool)
    for _ in range(max_len):
        newest = step(ids)[:, -1].argmax(-1).masked_fill(ended, eos_id)
        ended = ended | (ids[:, -1] == eos_id)
        ids = torch.cat([ids, newest[:, None]], dim=1)
    return ids[:, 1:]


def one_row_at_a_time(step, batch_size, bos_id, eos_id, max_len):
    rows = [decode(step, 1, bos_id, eos_id, max_len) for _ in range(batch_size)]
    return torch.cat(rows)


def drops_rows_that_ended(step, batch_size, bos_id, eos_id, max_len):
    ids = torch.full((batch_size, max_len + 1), eos_id)
    ids[:, 0] = bos_id
    running = torch.arange(batch_size)
    for t in range(max_len):
        newest = step(ids[running, : t + 1])[:, -1].argmax(-1)
        ids[running, t + 1] = newest
        running = running[newest != eos_id]
        if len(running) == 0:
            break
    return ids[:, 1:]


def all_of_a_fixed_length(step, batch_size, bos_id, eos_id, max_len):
    ids = torch.full((batch_size, max_len + 1), eos_id)
    ids[:, 0] = bos_id
    for t in range(max_len):
        ids[:, t + 1] = step(ids)[:, t].argmax(-1)
    return ids[:, 1:]


def longer_by_the_end(step, batch_size, bos_id, eos_id, max_len):
    """bos, max_len tokens, and eos: as a training target would look."""
    ids = decode(step, batch_size, bos_id, eos_id, max_len)
    return F.pad(F.pad(ids, (1, 0), value=bos_id), (0, 1), value=eos_id)


def bos_and_one_too_few(step, batch_size, bos_id, eos_id, max_len):
    ids = decode(step, batch_size, bos_id, eos_id, max(0, max_len - 2))
    return F.pad(ids, (1, 0), value=bos_id)


def shows_only_the_last(count):
    return lambda step, b, bos, eos, n: decode(
        step, b, bos, eos, n, shown=lambda ids: ids[:, -count:]
    )


def stops_when_nothing_changes(step, batch_size, bos_id, eos_id, max_len):
    ids = torch.full((batch_size, 1), bos_id)
    for _ in range(max_len):
        newest = step(ids)[:, -1].argmax(-1)
        newest = newest.masked_fill((ids == eos_id).any(1), eos_id)
        if (newest == ids[:, -1]).all():
            break
        ids = torch.cat([ids, newest[:, None]], dim=1)
    return ids[:, 1:]


def ends_at(which):
    """Rows end at another id too: `which(bos_id)`."""

    def answer(step, batch_size, bos_id, eos_id, max_len):
        def after(newest):
            return newest.masked_fill(newest == which(bos_id), eos_id)

        return decode(step, batch_size, bos_id, eos_id, max_len, after=after)

    return answer


def bos_forbidden(step, batch_size, bos_id, eos_id, max_len):
    def choose(logits):
        last = logits[:, -1].clone()
        last[:, bos_id] = -torch.inf
        return last.argmax(-1)

    return decode(step, batch_size, bos_id, eos_id, max_len, choose=choose)


def asks_once_before_it_begins(step, batch_size, bos_id, eos_id, max_len):
    step(torch.full((batch_size, 1), bos_id))
    return decode(step, batch_size, bos_id, eos_id, max_len)


def remembers_ended_rows(step, batch_size, bos_id, eos_id, max_len, ended=set()):  # noqa: B006
    """A default value that is kept from one call to the next."""

    def after(newest):
        newest[list(ended & set(range(batch_size)))] = eos_id
        ended.update((newest == eos_id).nonzero()[:, 0].tolist())
        return newest

    return decode(step, batch_size, bos_id, eos_id, max_len, after=after)


UNLISTED = {
    "CrossAttention": {
        "nan painted over at the end": cross(nan_painted_over_at_the_end),
        "one empty sentence empties all": cross(empty_sentences_skipped),
        "real words counted, not looked at": cross(counted_prefix),
        "longest sentence only": cross(longest_sentence_only),
        "the first mask for all": cross(first_mask_for_all),
        "filled with -100": cross(low_but_not_lowest(-100.0)),
        "filled with -1e4": cross(low_but_not_lowest(-1e4)),
        "filled with -20, then covered": cross(low_and_covered),
        "renormalized with an epsilon": cross(renormalized_with_epsilon),
        "mask (B, S) as (L, S) where it fits": cross(mask_only_where_shapes_allow),
        "no transpose where H = L": cross(view_instead_of_transpose_when_equal),
        "pads zeroed in place": cross(in_place_on_context),
        "values cut off": cross(values_frozen),
        "context cut off": cross(context_frozen),
        "value bias forgotten": cross(value_bias_forgotten),
        "query bias forgotten": cross(query_bias_forgotten),
        "scaled for head_dim 64": cross(scaled_for_64),
        "samples mixed where it fits": cross(samples_mixed),
        "mask opened in place": cross(opened_in_place),
        "x scaled before the bias": cross(scaled_before_the_bias),
        "the bias once for each head": cross(bias_once_for_each_head),
        "the mean of all heads' weights": cross(heads_averaged),
        "reads no further than x is long": cross(shorter_of_both),
        "mask only where L = S": cross(mask_only_in_self_attention),
        "x and context joined where it fits": cross(joined),
        "vectors of zeros are pads": cross(zero_vectors_taken_for_pads),
        "attends to nothing too": cross(attends_to_nothing_too),
        "no more answers than context tokens": cross(pairs_only),
        "scaled by the number of heads": cross(scaled_by_the_number_of_heads),
        "value bias added at the end": cross(value_bias_added_at_the_end),
        "divided with an epsilon": cross(divided_with_an_epsilon),
        "x where all is padding": cross(x_where_all_is_padding),
        "mask for head 0 only": cross(mask_for_head_0_only),
        "mask used if it says anything": cross(mask_used_if_it_says_anything),
        "the mask of the sentence above": cross(mask_of_the_sentence_above),
        "a full mask loses its last": cross(full_mask_without_its_last),
        "folded and unfolded otherwise": cross(folded_and_unfolded_otherwise),
        "viewed as one list of tokens": cross(viewed_as_one_list_of_tokens),
        "keys without gradients": cross(keys_without_gradients),
        "the scale is a float32 tensor": ScaleInFloat32,
        "remembers the first context": RemembersContext,
        "context normalized": ContextNormed,
        "one layer for keys and values": TiedKeysAndValues,
        "the mask has no default": MaskMustBeThere,
        "an instance": Cross(4, 4, 2),
    },
    "encoder_decoder_masks": {
        "everything after the first pad": first_pad_ends_it,
        "pads before the last token seen": last_token_ends_it,
        "causal for short outputs only": causal_only_for_long_outputs,
        "bos always seen": first_column_always_seen,
        "pads hidden only if the output has some": skips_pads_if_there_are_none_in_the_output,
        "changes the input's pads": changes_the_pads,
        "one mask": lambda s, t, p: masks(s, t, p)[1],
        "two masks": lambda s, t, p: masks(s, t, p)[:2],
        "a dictionary": lambda s, t, p: dict(
            zip(("encoder", "decoder", "cross"), masks(s, t, p), strict=True)
        ),
        "stacked heads first": lambda s, t, p: tuple(
            m.transpose(0, 1) for m in masks(s, t, p)
        ),
        "the first sentence's pads": lambda s, t, p: tuple(m[:1] for m in masks(s, t, p)),
        "pads of all sentences": lambda s, t, p: tuple(
            m.all(0, keepdim=True) for m in masks(s, t, p)
        ),
        "cross transposed": lambda s, t, p: (
            *masks(s, t, p)[:2],
            real(s, p).mT.expand(-1, 1, -1, t.shape[1]),
        ),
        "cross by the output where it fits": cross_hides_pads_of_the_output_where_it_fits,
        "a pad sees itself in the encoder": a_pad_sees_itself_in_the_encoder,
        "pad queries see everything": pad_queries_see_everything,
        "compared by identity": compared_by_identity,
        "the last id is the pad": last_id_is_the_pad,
        "opened where the input is all padding": input_opened_where_all_is_padding,
        "token 2 hidden too": eos_hidden_too,
        "decoder shifted by one": decoder_shifted_by_one,
        "ids in half precision": lambda s, t, p: masks(s.half(), t.half(), p),
        "the pad without its sign": lambda s, t, p: masks(s, t, abs(p)),
        "negative ids cut off": lambda s, t, p: masks(s.clamp(min=0), t.clamp(min=0), p),
        "cross inverted": lambda s, t, p: (*masks(s, t, p)[:2], ~masks(s, t, p)[2]),
        "pads hidden only at both ends": hidden_only_at_both_ends,
        "lists": lambda s, t, p: [m.tolist() for m in masks(s, t, p)],
        "bytes": lambda s, t, p: tuple(m.byte() for m in masks(s, t, p)),
        "ids 0 and 1 hidden": lambda s, t, p: tuple(
            a & b for a, b in zip(masks(s, t, p), masks(s, t, 1), strict=True)
        ),
        "decoder sees the input's pads too": lambda s, t, p: (
            masks(s, t, p)[0],
            masks(s, t, p)[1] & masks(s, s, p)[1]
            if s.shape == t.shape
            else masks(s, t, p)[1],
            masks(s, t, p)[2],
        ),
        "a head for every sentence": lambda s, t, p: tuple(
            m.expand(-1, len(s), -1, -1) for m in masks(s, t, p)
        ),
    },
    "greedy_decode": {
        "the last 2 ids to the model": shows_only_the_last(2),
        "the last 8 ids to the model": shows_only_the_last(8),
        "stops when nothing changes": stops_when_nothing_changes,
        "bos ends a row too": ends_at(lambda bos_id: bos_id),
        "0 ends a row too": ends_at(lambda bos_id: 0),
        "bos forbidden": bos_forbidden,
        "asks once before it begins": asks_once_before_it_begins,
        "remembers ended rows": remembers_ended_rows,
        "eos is always 2": lambda step, b, bos, eos, n: decode(step, b, bos, 2, n),
        "without its last column": lambda *args: decode(*args)[:, :-1],
        "exp without a maximum": with_choice(
            lambda logits: (e := logits[:, -1].exp()).div(e.sum(-1, True)).argmax(-1)
        ),
        "half precision": with_choice(lambda logits: logits[:, -1].half().argmax(-1)),
        "whole numbers": with_choice(lambda logits: logits[:, -1].long().argmax(-1)),
        "no token twice": no_token_twice_in_a_row,
        "never ends at once": never_ends_at_once,
        "eos forbidden": eos_only_at_the_end,
        "always ends with eos": last_column_is_eos,
        "eos overwritten": eos_replaced_by_the_token_before,
        "stops when half have ended": stops_after_half_have_ended,
        "the last row decides": last_row_decides,
        "the majority decides": majority_decides,
        "counts every eos it sees": ended_kept_as_a_number,
        "ended one step late": one_step_late,
        "one row at a time": one_row_at_a_time,
        "ended rows are dropped": drops_rows_that_ended,
        "all ids of a fixed length": all_of_a_fixed_length,
        "bos, and eos at the end": longer_by_the_end,
        "bos, and one too few": bos_and_one_too_few,
        "the largest absolute value": with_choice(
            lambda logits: logits[:, -1].abs().argmax(-1)
        ),
        "the mean over positions": with_choice(lambda logits: logits.mean(1).argmax(-1)),
        "the sum over positions": with_choice(lambda logits: logits.sum(1).argmax(-1)),
        "never beyond 1000": with_choice(lambda logits: logits[:, -1, :1000].argmax(-1)),
        "second best": with_choice(lambda logits: logits[:, -1].topk(2).indices[:, 1]),
        "rounded logits": with_choice(lambda logits: logits[:, -1].round().argmax(-1)),
        "threshold": with_choice(
            lambda logits: (logits[:, -1] > 1.2).int().argmax(-1).clamp(max=7)
        ),
        "int32 ids to the model": lambda step, b, bos, eos, n: decode(
            step, b, bos, eos, n, shown=lambda ids: ids.int()
        ),
        "float ids": lambda *args: decode(*args).float(),
        "a list": lambda *args: decode(*args).tolist(),
        "transposed": lambda *args: decode(*args).T,
        "with an axis more": lambda *args: decode(*args)[..., None],
        "with the model": lambda *args: (decode(*args), args[0]),
        "bos also in front of the end": lambda step, b, bos, eos, n: F.pad(
            decode(step, b, bos, eos, n), (2, 0), value=bos
        )[:, :n],
    },
}
