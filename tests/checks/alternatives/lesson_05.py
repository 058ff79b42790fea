"""Right answers to the tasks of lesson 05, by task name."""

import functools
import itertools
import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import attn_lib

# --------------------------------------------------------------------- CrossAttention


class CrossByHand(nn.Module):
    def __init__(self, d_model, d_context, num_heads):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_context, d_model)
        self.v_proj = nn.Linear(d_context, d_model)
        self.o_proj = nn.Linear(d_model, d_model)

    def heads(self, x, context):
        return [
            p(c).view(*c.shape[:2], self.num_heads, self.head_dim).transpose(1, 2)
            for p, c in ((self.q_proj, x), (self.k_proj, context), (self.v_proj, context))
        ]

    def merged(self, output):
        output = output.transpose(1, 2).contiguous()
        return self.o_proj(output.view(*output.shape[:2], -1))

    def forward(self, x, context, context_mask=None):
        q, k, v = self.heads(x, context)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
        if context_mask is not None:
            hidden = ~context_mask[:, None, None, :]
            scores = scores.masked_fill(hidden, float("-inf"))
            weights = scores.softmax(-1).masked_fill(hidden, 0.0)
        else:
            weights = scores.softmax(-1)
        return self.merged(weights @ v)


class CrossSdpa(CrossByHand):
    def forward(self, x, context, context_mask=None):
        q, k, v = self.heads(x, context)
        mask = None if context_mask is None else context_mask[:, None, None]
        return self.merged(F.scaled_dot_product_attention(q, k, v, attn_mask=mask))


class CrossEinsum(CrossByHand):
    def forward(self, x, context, *, context_mask=None):
        q, k, v = (
            p(c).unflatten(-1, (self.num_heads, -1))
            for p, c in ((self.q_proj, x), (self.k_proj, context), (self.v_proj, context))
        )
        scores = torch.einsum("blhd,bshd->bhls", q * self.head_dim**-0.5, k)
        if context_mask is None:
            context_mask = torch.ones(context.shape[:2], dtype=torch.bool)
        mask = context_mask[:, None, None, :]
        scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
        weights = torch.where(mask, scores.softmax(dim=-1), 0.0)
        return self.o_proj(torch.einsum("bhls,bshd->blhd", weights, v).flatten(2))


class CrossHeadByHead(CrossByHand):
    def forward(self, x, context, context_mask=None):
        q, k, v = self.q_proj(x), self.k_proj(context), self.v_proj(context)
        outs = []
        for h in range(self.num_heads):
            part = slice(h * self.head_dim, (h + 1) * self.head_dim)
            scores = torch.bmm(q[..., part], k[..., part].mT) / self.head_dim**0.5
            weights = scores.softmax(2)
            if context_mask is not None:
                weights = attn_lib.masked_softmax(scores, context_mask[:, None])
            outs.append(torch.bmm(weights, v[..., part]))
        return self.o_proj(torch.cat(outs, dim=-1))


class CrossHeadsSummed(CrossByHand):
    def forward(self, x, context, context_mask=None):
        q, k, v = self.heads(x, context)
        mask = None if context_mask is None else context_mask[:, None, None, :]
        output, _ = attn_lib.einsum_attention(q, k, v, mask=mask)
        slices = self.o_proj.weight.chunk(self.num_heads, dim=1)
        total = self.o_proj.bias
        for head, w in enumerate(slices):
            total = total + output[:, head] @ w.T
        return total


class CrossSentenceBySentence(CrossByHand):
    """Only the real context words are ever touched."""

    def forward(self, x, context, context_mask=None):
        outs = []
        for b in range(len(x)):
            real = context[b] if context_mask is None else context[b][context_mask[b]]
            if len(real) == 0:
                outs.append(self.o_proj(x.new_zeros(x.shape[1:])))
                continue
            q, k, v = self.heads(x[b : b + 1], real[None])
            weights = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)
            outs.append(self.merged(weights @ v)[0])
        return torch.stack(outs)


class CrossFloat64Inside(CrossByHand):
    def forward(self, x, context, context_mask=None):
        q, k, v = (t.double() for t in self.heads(x, context))
        scores = q @ k.mT / q.shape[-1] ** 0.5
        weights = scores.softmax(-1)
        if context_mask is not None:
            mask = context_mask.view(len(x), 1, 1, -1)
            weights = (scores + (~mask).double() * -1e30).softmax(-1) * mask
        return self.merged((weights @ v).to(x.dtype))


class CrossFloat32Inside(CrossByHand):
    def forward(self, x, context, context_mask=None):
        q, k, v = self.heads(x, context)
        scores = (q @ k.mT).float() / math.sqrt(q.shape[-1])
        if context_mask is not None:
            mask = context_mask.unsqueeze(1).unsqueeze(2)
            weights = F.softmax(scores.masked_fill(mask == 0, -1e9), dim=-1)
            weights = weights.masked_fill(mask == 0, 0.0)
        else:
            weights = F.softmax(scores, dim=-1)
        return self.merged(weights.to(v.dtype) @ v)


class CrossSafeRows(CrossByHand):
    """Rows that see nothing are opened before the softmax and zeroed after the mixture."""

    def forward(self, x, context, context_mask=None):
        q, k, v = self.heads(x, context)
        scores = torch.matmul(q, k.mT) / math.sqrt(self.head_dim)
        if context_mask is None:
            return self.merged(scores.softmax(-1) @ v)
        sees = context_mask.any(dim=1)[:, None, None, None]
        mask = context_mask[:, None, None, :] | ~sees
        bias = torch.zeros_like(scores).masked_fill(~mask, -math.inf)
        return self.merged(((scores + bias).softmax(-1) * sees) @ v)


class CrossLogOfMask(CrossByHand):
    def forward(self, x, context, context_mask=None):
        if context_mask is None:
            context_mask = context.new_ones(context.shape[:2]).bool()
        q, k, v = self.heads(x, context)
        mask = context_mask[:, None, None, :]
        scores = q @ k.mT / math.sqrt(self.head_dim) + mask.to(x.dtype).log()
        highest = scores.detach().amax(-1, keepdim=True).clamp(min=torch.finfo(x.dtype).min)
        e = (scores - highest).exp()
        return self.merged((e @ v) / e.sum(-1, keepdim=True).clamp(min=1e-6))


class CrossNanPaintedOver(CrossByHand):
    """The gradient of the weights is nan in empty rows, and `masked_fill` zeroes it."""

    def forward(self, x, context, context_mask=None):
        q, k, v = self.heads(x, context)
        scores = q @ k.mT / math.sqrt(self.head_dim)
        if context_mask is not None:
            scores = scores.masked_fill(~context_mask[:, None, None], -math.inf)
        return self.merged(torch.nan_to_num(scores.softmax(-1)) @ v)


class CrossRenormalized(CrossByHand):
    """Hides after the softmax, and makes what is left add up to 1 again."""

    def forward(self, x, context, context_mask=None):
        q, k, v = self.heads(x, context)
        weights = (q @ k.mT * self.head_dim**-0.5).softmax(-1)
        if context_mask is not None:
            weights = weights * context_mask[:, None, None]
            total = weights.sum(-1, keepdim=True)
            weights = weights / total.masked_fill(total == 0, 1.0)
        return self.merged(weights @ v)


class CrossAdditive(CrossByHand):
    def forward(self, x, context, context_mask=None):
        q, k, v = self.heads(x, context)
        scores = q @ k.mT * self.head_dim**-0.5
        if context_mask is None:
            return self.merged(scores.softmax(-1) @ v)
        mask = context_mask[:, None, None, :]
        scores = scores + (1.0 - mask.to(x.dtype)) * torch.finfo(x.dtype).min
        return self.merged(torch.where(mask, scores.softmax(-1), 0.0) @ v)


class CrossSdpaAdditive(CrossByHand):
    def forward(self, x, context, context_mask=None):
        mask = None
        if context_mask is not None:
            mask = x.new_zeros(context_mask.shape).masked_fill(~context_mask, -math.inf)
            mask = mask[:, None, None]
        output = F.scaled_dot_product_attention(*self.heads(x, context), attn_mask=mask)
        return self.merged(output)


class CrossFoldedHeads(CrossByHand):
    def fold(self, t):
        return t.reshape(-1, *t.shape[2:])

    def forward(self, x, context, context_mask=None):
        q, k, v = map(self.fold, self.heads(x, context))
        scores = torch.bmm(q, k.transpose(1, 2)).mul_(self.head_dim**-0.5)
        if context_mask is None:
            weights = scores.softmax(-1)
        else:
            mask = context_mask.repeat_interleave(self.num_heads, dim=0)[:, None]
            weights = attn_lib.masked_softmax(scores, mask)
        return self.merged(torch.bmm(weights, v).unflatten(0, (len(x), -1)))


class CrossFusedKeysValues(CrossByHand):
    def forward(self, x, context, context_mask=None):
        weight = torch.cat([self.k_proj.weight, self.v_proj.weight])
        bias = torch.cat([self.k_proj.bias, self.v_proj.bias])
        both = F.linear(context, weight, bias)
        both = both.view(*context.shape[:2], 2, self.num_heads, -1)
        k, v = both.permute(2, 0, 3, 1, 4)
        q = self.heads(x, context)[0]
        mask = None if context_mask is None else context_mask[:, None, None]
        return self.merged(attn_lib.einsum_attention(q, k, v, mask=mask)[0])


class CrossByTorch(CrossByHand):
    """PyTorch's own forward; its mask says which keys to ignore, and needs one key left."""

    def forward(self, x, context, context_mask=None):
        if context_mask is None:
            context_mask = torch.ones(context.shape[:2], dtype=torch.bool)
        empty = ~context_mask.any(-1, keepdim=True)
        output, _ = F.multi_head_attention_forward(
            x.transpose(0, 1),
            context.transpose(0, 1),
            context.transpose(0, 1),
            embed_dim_to_check=x.shape[-1],
            num_heads=self.num_heads,
            in_proj_weight=None,
            in_proj_bias=torch.cat([self.q_proj.bias, self.k_proj.bias, self.v_proj.bias]),
            bias_k=None,
            bias_v=None,
            add_zero_attn=False,
            dropout_p=0.0,
            out_proj_weight=self.o_proj.weight,
            out_proj_bias=self.o_proj.bias,
            key_padding_mask=~(context_mask | empty),
            need_weights=False,
            use_separate_proj_weight=True,
            q_proj_weight=self.q_proj.weight,
            k_proj_weight=self.k_proj.weight,
            v_proj_weight=self.v_proj.weight,
        )
        return torch.where(empty[..., None], self.o_proj.bias, output.transpose(0, 1))


class CrossTransposedScores(CrossByHand):
    def forward(self, x, context, context_mask=None):
        q, k, v = self.heads(x, context)
        scores = k @ q.mT / math.sqrt(self.head_dim)  # (B, H, S, L)
        if context_mask is None:
            return self.merged(scores.softmax(2).mT @ v)
        hidden = ~context_mask[:, None, :, None]
        weights = scores.masked_fill(hidden, -torch.inf).softmax(2)
        return self.merged(weights.masked_fill(hidden, 0).mT @ v)


class CrossWordByWord(CrossByHand):
    def forward(self, x, context, context_mask=None):
        words = [
            CrossByHand.forward(self, x[:, i : i + 1], context, context_mask)
            for i in range(x.shape[1])
        ]
        return torch.cat(words, dim=1)


class CrossKeyByKey(CrossByHand):
    """A running sum of shares, and a running mixture."""

    def forward(self, x, context, context_mask=None):
        q, k, v = self.heads(x, context)
        scores = q @ k.mT / math.sqrt(self.head_dim)
        if context_mask is not None:
            scores = scores.masked_fill(~context_mask[:, None, None], -6e4)
        high = scores.detach().amax(-1)
        total = torch.zeros_like(high)
        mixture = torch.zeros_like(q)
        for j in range(context.shape[1]):
            e = (scores[..., j] - high).exp()
            if context_mask is not None:
                e = e * context_mask[:, j, None, None]
            value = v[:, :, j : j + 1]
            total = total + e
            mixture = mixture + e[..., None] * value
        return self.merged(mixture / torch.where(total > 0, total, 1.0)[..., None])


class CrossNamedInALoop(nn.Module):
    def __init__(self, d_model, d_context, num_heads):
        super().__init__()
        self.num_heads = num_heads
        for letter, width in zip(
            "ovkq", (d_model, d_context, d_context, d_model), strict=True
        ):
            setattr(self, f"{letter}_proj", nn.Linear(width, d_model))
        self.register_buffer("scale", torch.tensor((d_model // num_heads) ** -0.5))

    def forward(self, x, context, context_mask=None):
        q, k, v = (
            torch.stack(layer(c).chunk(self.num_heads, dim=-1), dim=1)
            for layer, c in (
                (self.q_proj, x), (self.k_proj, context), (self.v_proj, context)
            )
        )  # fmt: skip
        scores = torch.einsum("bhld,bhsd->bhls", q, k) * self.scale
        if context_mask is not None:
            hidden = context_mask.logical_not()[:, None, None].expand_as(scores)
            scores[hidden] = torch.finfo(scores.dtype).min
        weights = (scores - scores.logsumexp(-1, keepdim=True)).exp()
        if context_mask is not None:
            weights = weights * ~hidden
        return self.o_proj(torch.cat((weights @ v).unbind(1), dim=-1))


class CrossModuleList(nn.Module):
    """The four names are second names."""

    def __init__(self, d_model, d_context, num_heads):
        super().__init__()
        widths = d_model, d_context, d_context, d_model
        self.layers = nn.ModuleList(nn.Linear(width, d_model) for width in widths)
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = self.layers
        self.num_heads = num_heads

    def forward(self, x, context, context_mask=None):
        inputs = x, context, context
        q, k, v = (
            layer(c).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for layer, c in zip(self.layers, inputs, strict=False)
        )
        mask = None if context_mask is None else context_mask[:, None, None]
        output = F.scaled_dot_product_attention(q, k, v, mask)
        return self.layers[3](output.transpose(1, 2).flatten(-2))


class CrossWrapped(nn.Module):
    """Only hands on to another module, whose layers it shares."""

    def __init__(self, *sizes, **named):
        super().__init__()
        self.inner = CrossByHand(*sizes, **named)
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(self, name, getattr(self.inner, name))

    def forward(self, *args, **named):
        return self.inner(*args, **named)


class CrossRealTokensFirst(CrossByHand):
    """Sorts the real tokens to the front and cuts the rest off."""

    def forward(self, x, context, context_mask=None):
        if context_mask is None:
            return super().forward(x, context)
        order = context_mask.int().argsort(dim=1, descending=True, stable=True)
        order = order[:, : int(context_mask.sum(1).max())]
        context = context.gather(1, order[..., None].expand(-1, -1, context.shape[-1]))
        return super().forward(x, context, context_mask.gather(1, order))


class CrossExtraKey(CrossByHand):
    """A key with the value zero, to be seen by nobody but empty sentences."""

    def forward(self, x, context, context_mask=None):
        if context_mask is None:
            return super().forward(x, context)
        q, k, v = self.heads(x, context)
        k, v = F.pad(k, (0, 0, 0, 1)), F.pad(v, (0, 0, 0, 1))
        mask = torch.cat([context_mask, ~context_mask.any(1, keepdim=True)], dim=1)
        scores = (q @ k.mT / self.head_dim**0.5).masked_fill(
            ~mask[:, None, None], -math.inf
        )
        return self.merged(scores.softmax(-1) @ v)


class CrossOneLongSequence(CrossByHand):
    """All sentences in one row; a mask keeps them apart."""

    def forward(self, x, context, context_mask=None):
        B, L, S = len(x), x.shape[1], context.shape[1]
        q, k, v = (t.transpose(0, 1).flatten(1, 2) for t in self.heads(x, context))
        of_query, of_key = torch.arange(B * L) // L, torch.arange(B * S) // S
        mask = of_query[:, None] == of_key
        if context_mask is not None:
            mask = mask & context_mask.flatten()
        weights = attn_lib.masked_softmax(q @ k.mT / self.head_dim**0.5, mask)
        return self.merged((weights @ v).unflatten(1, (B, L)).transpose(0, 1))


class CrossByVmap(CrossByHand):
    def forward(self, x, context, context_mask=None):
        if context_mask is None:
            context_mask = torch.ones(context.shape[:2], dtype=torch.bool)

        def one_sentence(x, context, mask):
            return CrossByHand.forward(self, x[None], context[None], mask[None])[0]

        return torch.vmap(one_sentence)(x, context, context_mask)


class CrossOnlyFullSentences(CrossByHand):
    """Only sentences with a real word are computed."""

    def forward(self, x, context, context_mask=None):
        if context_mask is None:
            return super().forward(x, context)
        full = context_mask.sum(dim=1) > 0
        output = self.o_proj(torch.zeros_like(x))
        if full.any():
            output[full] = super().forward(x[full], context[full], context_mask[full])
        return output


class CrossInBase2(CrossByHand):
    """Powers of two, and the division comes last."""

    def forward(self, x, context, context_mask=None):
        q, k, v = self.heads(x, context)
        scores = q @ k.mT * (math.log2(math.e) / math.sqrt(self.head_dim))
        if context_mask is not None:
            scores = scores.masked_fill(~context_mask[:, None, None], -6e4)
        e = torch.exp2(scores - scores.detach().amax(-1, keepdim=True))
        if context_mask is not None:
            e = e * context_mask[:, None, None]
        return self.merged(e @ v / e.sum(-1, keepdim=True).clamp(min=1e-3))


class CrossWithoutKeyBias(CrossByHand):
    """The softmax does not notice it. The context's pads are zeroed as well, which does no harm."""

    def forward(self, x, context, context_mask=None):
        if context_mask is None:
            context_mask = torch.ones(context.shape[:2], dtype=torch.bool)
        q, k, v = self.heads(x, context.masked_fill(~context_mask[..., None], 0.0))
        k = k - self.k_proj.bias.view(self.num_heads, 1, -1)
        mask = context_mask[:, None, None]
        return self.merged(attn_lib.einsum_attention(q, k, v, mask=mask)[0])


def cross_factory(d_model, d_context, num_heads):
    return CrossSdpa(d_model, d_context, num_heads)


# -------------------------------------------------------------- encoder_decoder_masks


def masks_by_hand(src_ids, tgt_ids, pad_id):
    src = (src_ids != pad_id).unsqueeze(1).unsqueeze(2)
    tgt = (tgt_ids != pad_id).unsqueeze(1).unsqueeze(2)
    length = tgt_ids.size(1)
    causal = torch.tril(torch.ones(length, length)).bool()
    return src, tgt & causal, src


def masks_written_out(src_ids, tgt_ids, pad_id):
    S, L = src_ids.shape[1], tgt_ids.shape[1]
    encoder = (src_ids != pad_id)[:, None, None, :].expand(-1, 1, S, -1)
    decoder = (tgt_ids != pad_id)[:, None, None, :].repeat(1, 1, L, 1)
    decoder = decoder.logical_and(torch.arange(L) <= torch.arange(L)[:, None])
    cross = (src_ids != pad_id)[:, None, None, :].repeat(1, 1, L, 1)
    return [encoder, decoder, cross]


def masks_entry_by_entry(src_ids, tgt_ids, pad_id):
    (B, S), L = src_ids.shape, tgt_ids.shape[1]
    encoder = torch.zeros(B, 1, S, S, dtype=torch.bool)
    decoder = torch.zeros(B, 1, L, L, dtype=torch.bool)
    cross = torch.zeros(B, 1, L, S, dtype=torch.bool)
    for b in range(B):
        for j in range(S):
            if src_ids[b, j] != pad_id:
                encoder[b, 0, :, j] = True
                cross[b, 0, :, j] = True
        for i in range(L):
            for j in range(i + 1):
                decoder[b, 0, i, j] = bool(tgt_ids[b, j] != pad_id)
    return encoder, decoder, cross


def masks_by_multiplication(src_ids, tgt_ids, pad_id):
    src = src_ids.ne(pad_id)[:, None, None]
    causal = torch.ones(tgt_ids.shape[1], tgt_ids.shape[1], dtype=torch.long).tril()
    decoder = tgt_ids.ne(pad_id)[:, None, None].long() * causal
    return src, decoder.bool(), src.clone()


def masks_by_what_is_hidden(src_ids, tgt_ids, pad_id):
    src_pad = (src_ids == pad_id)[:, None, None]
    L = tgt_ids.shape[1]
    future = torch.triu(torch.ones(L, L, dtype=torch.bool), diagonal=1)
    return ~src_pad, ~((tgt_ids == pad_id)[:, None, None] | future), ~src_pad


def masks_by_torchs_square_mask(src_ids, tgt_ids, pad_id):
    square = nn.Transformer.generate_square_subsequent_mask(tgt_ids.shape[-1])
    src = torch.not_equal(src_ids, pad_id)[:, None, None, :]
    return src, (square == 0) & (tgt_ids != pad_id)[:, None, None, :], src


def masks_by_where(src_ids, tgt_ids, pad_id):
    yes, no = torch.tensor(True), torch.tensor(False)
    src = torch.where(src_ids == pad_id, no, yes)[:, None, None]
    decoder = attn_lib.causal_mask(tgt_ids.shape[1], tgt_ids.shape[1]).repeat(
        len(tgt_ids), 1, 1, 1
    )
    decoder[(tgt_ids == pad_id)[:, None, None].expand_as(decoder)] = False
    return src, decoder, src


def masks_in_place(src_ids, tgt_ids, pad_id):
    L = tgt_ids.shape[1]
    decoder = torch.ones(len(tgt_ids), 1, L, L, dtype=torch.bool).tril_()
    decoder &= (tgt_ids != pad_id).view(-1, 1, 1, L)
    src = (src_ids != pad_id).reshape(len(src_ids), 1, 1, -1)
    return src, decoder, src


def masks_by_numpy(src_ids, tgt_ids, pad_id):
    import numpy as np

    src = src_ids.numpy() != pad_id
    tgt = tgt_ids.numpy() != pad_id
    decoder = np.tril(np.broadcast_to(tgt[:, None], (*tgt.shape, tgt.shape[1])))
    src, decoder = torch.from_numpy(src), torch.from_numpy(decoder.copy())
    return src[:, None, None], decoder[:, None], src[:, None, None]


def masks_by_helper(src_ids, tgt_ids, pad_id):
    def keys(ids):
        return (ids != pad_id)[:, None, None, :]

    def window(ids):
        n = ids.shape[1]
        return attn_lib.sliding_window_mask(n, n, n)

    return keys(src_ids), keys(tgt_ids) & window(tgt_ids)[None, None], keys(src_ids)


def masks_sentence_by_sentence(src_ids, tgt_ids, pad_id):
    parts = []
    for src, tgt in zip(src_ids, tgt_ids, strict=True):
        real = (src != pad_id)[None, None]
        causal = torch.ones(len(tgt), len(tgt)).cumsum(0) >= torch.arange(1, len(tgt) + 1)
        parts.append((real, ((tgt != pad_id) & causal)[None], real))
    return tuple(torch.stack(part) for part in zip(*parts, strict=True))


def masks_by_signs(src_ids, tgt_ids, pad_id):
    src = (src_ids - pad_id).bool()[:, None, None]
    tgt = (tgt_ids - pad_id).bool()[:, None, None]
    row = torch.arange(tgt_ids.shape[1])
    return src, tgt & (row[:, None] - row >= 0), src


def masks_in_lists(src_ids, tgt_ids, pad_id):
    src = torch.tensor([[[[t != pad_id for t in row]]] for row in src_ids.tolist()])
    decoder = [
        [[[j <= i and t != pad_id for j, t in enumerate(row)] for i in range(len(row))]]
        for row in tgt_ids.tolist()
    ]
    return [src, torch.tensor(decoder), src]


def masks_by_isin(src_ids, tgt_ids, pad_id):
    src, tgt = (~torch.isin(ids, pad_id)[:, None, None] for ids in (src_ids, tgt_ids))
    return src, tgt & torch.eye(tgt_ids.shape[1]).cumsum(0).bool(), src


def masks_from_additive(src_ids, tgt_ids, pad_id):
    """Made of 0 and -inf first, as other libraries want them."""

    def additive(ids):
        return torch.zeros(ids.shape).masked_fill(ids == pad_id, -math.inf)[:, None, None]

    future = torch.full((tgt_ids.shape[1],) * 2, -math.inf).triu(1)
    parts = additive(src_ids), additive(tgt_ids) + future, additive(src_ids)
    return tuple(part == 0 for part in parts)


def masks_of_full_shape(src_ids, tgt_ids, pad_id):
    small = masks_by_hand(src_ids, tgt_ids, pad_id)
    queries = src_ids.shape[1], tgt_ids.shape[1], tgt_ids.shape[1]
    return tuple(
        m.expand(-1, -1, n, -1).mT.contiguous().mT
        for m, n in zip(small, queries, strict=True)
    )


def masks_without_a_batch_of_one(src_ids, tgt_ids, pad_id):
    small = masks_by_hand(src_ids, tgt_ids, pad_id)
    return tuple(m[0, 0] if len(m) == 1 else m for m in small)


def masks_row_by_row(src_ids, tgt_ids, pad_id):
    """Each row of the decoder mask shows one word more."""
    src = (src_ids != pad_id)[:, None, None]
    length = tgt_ids.shape[1]
    rows = [
        F.pad(tgt_ids[:, : i + 1] != pad_id, (0, length - i - 1)) for i in range(length)
    ]
    return src, torch.stack(rows, dim=1).unsqueeze(1), src


class MasksWithState:
    def __init__(self):
        self.calls = 0

    def __call__(self, src_ids, tgt_ids, pad_id):
        self.calls += 1
        return masks_by_hand(src_ids, tgt_ids, torch.tensor(pad_id))


def masks_with_options(src_ids, tgt_ids, pad_id, *, device="cpu", diagonal=0):
    ids = torch.arange(tgt_ids.shape[-1], device=device)
    causal = ids[None, :] - ids[:, None] <= diagonal
    real = {name: ids.ne(pad_id) for name, ids in (("src", src_ids), ("tgt", tgt_ids))}
    src, tgt = (mask.view(len(mask), 1, 1, -1) for mask in real.values())
    return src, torch.logical_and(tgt, causal), src.expand(-1, -1, len(ids), -1)


class Masks(NamedTuple):
    encoder: Tensor
    decoder: Tensor
    cross: Tensor


def masks_as_named_tuple(source, target, pad):
    src = (source != pad)[:, None, None].expand(-1, -1, target.shape[1], -1)
    causal = attn_lib.causal_mask(target.shape[1], target.shape[1])
    return Masks(src[:, :, :1], (target != pad)[:, None, None] & causal, src)


# ---------------------------------------------------------------------- greedy_decode


def decode_plain(step, batch_size, bos_id, eos_id, max_len):
    ids = torch.full((batch_size, 1), bos_id)
    ended = torch.zeros(batch_size, dtype=torch.bool)
    for _ in range(max_len):
        newest = step(ids)[:, -1].argmax(dim=-1)
        newest = torch.where(ended, eos_id, newest)
        ids = torch.cat([ids, newest.unsqueeze(1)], dim=1)
        ended = ended | (newest == eos_id)
        if ended.all():
            break
    return ids[:, 1:]


def decode_with_bos(step, batch_size, bos_id, eos_id, max_len):
    ids = torch.full((batch_size, 1), bos_id, dtype=torch.int64)
    ended = torch.zeros(batch_size, dtype=torch.bool)
    while ids.shape[1] < max_len and not ended.all():
        newest = step(ids)[:, -1, :].argmax(-1)
        newest[ended] = eos_id
        ended |= newest == eos_id
        ids = torch.cat((ids, newest[:, None]), 1)
    return ids


def decode_with_bos_cut(step, batch_size, bos_id, eos_id, max_len):
    ids = torch.full((batch_size, 1), bos_id)
    for _ in range(max_len):
        ids = torch.cat([ids, step(ids)[:, -1:].argmax(-1)], dim=1)
    ended = (ids == eos_id).int().cumsum(1) > 0
    return ids.masked_fill(ended, eos_id)[:, :max_len]


def decode_never_stopping_early(step, batch_size, bos_id, eos_id, max_len):
    ids = torch.full([batch_size, 1], bos_id)
    alive = torch.ones(batch_size, 1, dtype=torch.long)
    for _ in range(max_len):
        best = step(ids)[:, [-1]].argmax(2)
        best = best * alive + eos_id * (1 - alive)
        alive = alive * (best != eos_id)
        ids = torch.hstack([ids, best])
    return ids[:, 1:]


def decode_cleaned_at_the_end(step, batch_size, bos_id, eos_id, max_len):
    """Rows go on after their eos; what they say there is wiped off."""
    ids = torch.full((batch_size, 1), bos_id)
    for _ in range(max_len):
        ids = torch.cat([ids, step(ids)[:, -1].topk(1).indices], dim=1)
        if (ids == eos_id).any(dim=1).all():
            break
    ids = ids[:, 1:]
    after = (ids == eos_id).long().cumsum(dim=1) > 0
    return torch.where(after, eos_id, ids)


def decode_preallocated(step, batch_size, bos_id, eos_id, max_len):
    ids = torch.full((batch_size, max_len + 1), eos_id)
    ids[:, 0] = bos_id
    running = torch.arange(batch_size)
    for t in range(max_len):
        if len(running) == 0:
            break
        newest = step(ids[:, : t + 1])[:, t].argmax(-1)
        ids[running, t + 1] = newest[running]
        running = running[newest[running] != eos_id]
    return ids[:, 1:]


def decode_row_lists(step, batch_size, bos_id, eos_id, max_len):
    rows = [[bos_id] for _ in range(batch_size)]
    for _ in range(max_len):
        logits = step(torch.tensor(rows))
        for row, scores in zip(rows, logits[:, -1].tolist(), strict=True):
            best = max(range(len(scores)), key=scores.__getitem__)
            row.append(eos_id if eos_id in row else best)
        if all(row[-1] == eos_id for row in rows):
            break
    return torch.tensor([row[1:] for row in rows])


@torch.no_grad()
def decode_without_gradients(step, batch_size, bos_id, eos_id, max_len):
    ids = torch.ones(batch_size, 1, dtype=torch.long) * bos_id
    ended = [False] * batch_size
    while ids.shape[1] <= max_len and not all(ended):
        newest = step(ids)[:, -1].softmax(-1).max(-1).indices
        for b in range(batch_size):
            if ended[b]:
                newest[b] = eos_id
            ended[b] = ended[b] or newest[b].item() == eos_id
        ids = torch.cat([ids, newest.view(-1, 1)], dim=1)
    return ids[:, 1:]


def decode_in_inference_mode(step, batch_size, bos_id, eos_id, max_len):
    with torch.inference_mode():
        return decode_plain(step, batch_size, bos_id, eos_id, max_len).clone()


def decode_every_position_again(step, batch_size, bos_id, eos_id, max_len):
    """The model's own words at all positions: the earlier ones come out the same again."""
    start = torch.full((batch_size, 1), bos_id)
    ids = start
    for _ in range(max_len):
        ids = torch.cat([start, step(ids).argmax(-1)], dim=1)
    ids = ids[:, 1:]
    return ids.masked_fill((ids == eos_id).cummax(1).values, eos_id)


def decode_recursively(step, batch_size, bos_id, eos_id, max_len):
    def go_on(ids):
        written = ids[:, 1:]
        ended = (written == eos_id).any(1)
        if written.shape[1] == max_len or ended.all():
            return written
        newest = step(ids)[:, -1].argmax(-1, keepdim=True)
        return go_on(torch.cat([ids, newest.masked_fill(ended[:, None], eos_id)], 1))

    return go_on(torch.full((batch_size, 1), bos_id))


def decode_padded_to_the_end(step, batch_size, bos_id, eos_id, max_len):
    ids = decode_plain(step, batch_size, bos_id, eos_id, max_len)
    return F.pad(ids, (0, max_len - ids.shape[1]), value=eos_id)


def decode_as_int32(step, batch_size, bos_id, eos_id, max_len):
    return decode_plain(step, batch_size, bos_id, eos_id, max_len).int()


def decode_time_first(step, batch_size, bos_id, eos_id, max_len):
    columns = [torch.full((batch_size,), bos_id)]
    over = torch.zeros(batch_size).bool()
    for _ in range(max_len):
        newest = torch.argmax(step(torch.stack(columns, 1)).transpose(0, 1)[-1], dim=1)
        columns.append(newest.where(~over, torch.tensor(eos_id)))
        over = torch.logical_or(over, columns[-1].eq(eos_id))
    return torch.stack(columns[1:]).T


def decode_with_numpy(step, batch_size, bos_id, eos_id, max_len):
    import numpy as np

    ids = np.full((batch_size, 1), bos_id)
    for _ in range(max_len):
        newest = step(torch.from_numpy(ids)).numpy()[:, -1].argmax(-1)
        newest[(ids == eos_id).any(1)] = eos_id
        ids = np.concatenate([ids, newest[:, None]], axis=1)
    return torch.from_numpy(ids[:, 1:])


def decode_by_forcing_eos(step, batch_size, bos_id, eos_id, max_len):
    """Ended rows are made to say eos by their logits."""
    ids = torch.tensor([[bos_id]] * batch_size)
    ended = torch.zeros(batch_size, dtype=torch.bool)
    for _ in range(max_len):
        logits = step(ids)[:, -1].log_softmax(-1)
        logits[ended] = -torch.inf
        logits[ended, eos_id] = 0.0
        newest = logits.argmax(-1)
        ended = newest.eq(eos_id)
        ids = torch.column_stack([ids, newest])
    return ids[:, 1:]


def decode_by_unfinished_as_numbers(step, batch_size, bos_id, eos_id, max_len):
    """As large libraries write it."""
    ids = torch.ones((batch_size, 1), dtype=torch.long) * bos_id
    unfinished = ids.new_ones(batch_size)
    while ids.shape[1] <= max_len:
        newest = torch.argmax(step(ids)[:, -1, :], dim=-1)
        newest = newest * unfinished + eos_id * (1 - unfinished)
        ids = torch.cat([ids, newest[:, None]], dim=-1)
        unfinished = unfinished.mul((newest != eos_id).long())
        if unfinished.max() == 0:
            break
    return ids.narrow(1, 1, ids.shape[1] - 1)


def decode_looking_at_the_newest_only(step, batch_size, bos_id, eos_id, max_len):
    """A row has ended if its newest token is eos: it was filled with eos ever since."""
    ids = torch.tensor([bos_id]).repeat(batch_size, 1)
    for _ in range(max_len):
        ended = ids[:, -1] == eos_id
        if ended.all():
            break
        newest = step(ids=ids).select(1, -1).argsort(dim=-1, descending=True)[:, 0]
        ids = torch.column_stack([ids, torch.where(ended, eos_id, newest)])
    return ids[:, 1:]


def decode_with_a_set(step, batch_size, bos_id, eos_id, max_len):
    ended, columns = set(), [torch.full((batch_size, 1), bos_id)]
    while len(columns) <= max_len and len(ended) < batch_size:
        newest = step(torch.cat(columns, dim=1)).log_softmax(-1).argmax(-1)[:, -1].tolist()
        newest = [eos_id if row in ended else t for row, t in enumerate(newest)]
        ended |= {row for row, t in enumerate(newest) if t == eos_id}
        columns.append(torch.tensor(newest)[:, None])
    return torch.cat(columns[1:], dim=1)


def decode_with_bos_and_without_end(step, batch_size, bos_id, eos_id, max_len):
    ids = torch.full((batch_size, 1), bos_id)
    for _ in range(max_len - 1):
        newest = step(ids)[:, -1:].max(-1).indices
        newest[(ids == eos_id).any(1)] = eos_id
        ids = torch.cat([ids, newest], dim=1)
    return ids


def decode_with_bos_if_there_is_room(step, batch_size, bos_id, eos_id, max_len):
    ids = decode_plain(step, batch_size, bos_id, eos_id, max_len)
    return F.pad(ids, (1, 0), value=bos_id) if ids.shape[1] < max_len else ids


def decode_in_double_precision(step, batch_size, bos_id, eos_id, max_len):
    def in_double(ids):
        return step(ids.clone()).double().softmax(-1)

    return decode_plain(in_double, batch_size, bos_id, eos_id, max_len)


def decode_as_a_generator(step, batch_size, bos_id, eos_id, max_len):
    def tokens():
        ids = torch.full((batch_size, 1), bos_id)
        while not (ids == eos_id).any(1).all():
            newest = step(ids)[:, [-1]].argmax(-1)
            newest = newest.masked_fill((ids == eos_id).any(1, keepdim=True), eos_id)
            ids = torch.cat([ids, newest], dim=1)
            yield newest

    return torch.cat(list(itertools.islice(tokens(), max_len)), dim=1)


def decode_column_major(step, batch_size, bos_id, eos_id, max_len):
    """The ids that `step` receives are not contiguous, and neither is the result."""
    ids = torch.full((1, batch_size), bos_id)
    ended = torch.zeros(batch_size, dtype=torch.bool)
    for _ in range(max_len):
        newest = step(ids.T)[:, -1].argmax(-1)
        newest[ended] = eos_id
        ended |= newest == eos_id
        ids = torch.vstack([ids, newest])
    return ids[1:].T


class Decoder:
    def __call__(self, step, batch_size, bos_id, eos_id, max_len):
        return decode_row_lists(step, batch_size, bos_id, eos_id, max_len)


ALTERNATIVES = {
    "CrossAttention": [
        CrossByHand,
        CrossSdpa,
        CrossEinsum,
        CrossHeadByHead,
        CrossHeadsSummed,
        CrossSentenceBySentence,
        CrossFloat64Inside,
        CrossFloat32Inside,
        CrossSafeRows,
        CrossLogOfMask,
        CrossNanPaintedOver,
        CrossRenormalized,
        CrossAdditive,
        CrossSdpaAdditive,
        CrossFoldedHeads,
        CrossFusedKeysValues,
        CrossByTorch,
        CrossTransposedScores,
        CrossWordByWord,
        CrossKeyByKey,
        CrossNamedInALoop,
        CrossModuleList,
        CrossWrapped,
        CrossRealTokensFirst,
        CrossExtraKey,
        CrossOneLongSequence,
        CrossByVmap,
        CrossOnlyFullSentences,
        CrossInBase2,
        CrossWithoutKeyBias,
        cross_factory,
        attn_lib.CrossAttention,
    ],
    "encoder_decoder_masks": [
        masks_by_hand,
        masks_written_out,
        masks_entry_by_entry,
        masks_by_multiplication,
        masks_by_what_is_hidden,
        masks_by_torchs_square_mask,
        masks_by_where,
        masks_in_place,
        masks_by_numpy,
        masks_by_helper,
        masks_sentence_by_sentence,
        masks_by_signs,
        masks_as_named_tuple,
        masks_in_lists,
        masks_by_isin,
        masks_from_additive,
        masks_of_full_shape,
        masks_without_a_batch_of_one,
        masks_row_by_row,
        MasksWithState(),
        functools.partial(masks_with_options, diagonal=0),
        lambda *args: masks_by_hand(*args),
        attn_lib.encoder_decoder_masks,
    ],
    "greedy_decode": [
        decode_plain,
        decode_with_bos,
        decode_with_bos_cut,
        decode_never_stopping_early,
        decode_cleaned_at_the_end,
        decode_preallocated,
        decode_row_lists,
        decode_without_gradients,
        decode_in_inference_mode,
        decode_every_position_again,
        decode_recursively,
        decode_padded_to_the_end,
        decode_as_int32,
        decode_time_first,
        decode_with_numpy,
        decode_by_forcing_eos,
        decode_by_unfinished_as_numbers,
        decode_looking_at_the_newest_only,
        decode_with_a_set,
        decode_with_bos_and_without_end,
        decode_with_bos_if_there_is_room,
        decode_in_double_precision,
        decode_as_a_generator,
        decode_column_major,
        torch.inference_mode()(decode_plain),
        Decoder(),
        attn_lib.greedy_decode,
    ],
}
