"""How the cases of this lesson call an answer, where it is more than one plain call.

Nothing here is an answer: this file goes into the sandbox with a learner's code.
"""

import torch
from torch import Tensor

from attn_lib.checks.authoring import Wrong, describe

NAMES = ("encoder mask", "decoder mask", "cross mask")


def on_the_way_back(answer, logits, ids, pad_id):
    """Run a case where all gradients are 0; no gradient at all is none: training would stop with an error."""
    loss = answer(logits, ids, pad_id)
    if logits.requires_grad and isinstance(loss, Tensor) and not loss.requires_grad:
        raise Wrong(
            "no way back",
            "`loss.backward()` raises an error here: nothing leads from this loss back to the logits. "
            "Which line makes a loss without them?",
        )
    return loss


def without_heads(answer, src_ids, tgt_ids, pad_id, num_heads):
    """Run a case; how many heads there are, masks need not know."""
    return answer(src_ids, tgt_ids, pad_id)


def expanded(masks, src_ids, tgt_ids, pad_id, num_heads):
    """Expand each mask to its full shape, so that every broadcastable shape can be compared."""
    (B, S), L = src_ids.shape, tgt_ids.shape[1]
    if not isinstance(masks, tuple | list) or len(masks) != 3:
        raise Wrong(
            "wrong",
            "It should return three masks: for the encoder, for the decoder, and the cross mask. It "
            f"returned {describe(masks)}.",
        )
    shapes = (B, num_heads, S, S), (B, num_heads, L, L), (B, num_heads, L, S)
    return tuple(map(_expanded, NAMES, masks, shapes))


def _expanded(name: str, mask: Tensor, shape: tuple) -> Tensor:
    if not isinstance(mask, Tensor):
        raise Wrong("wrong", f"The {name} should be a tensor, but is {describe(mask)}.")
    if mask.layout != torch.strided:
        raise Wrong(
            "wrong", f"The {name} should be an ordinary tensor, but is {mask.layout}."
        )
    if mask.dtype != torch.bool:
        raise Wrong(
            "wrong",
            f"The {name} should be boolean, True = may attend, but its dtype is {mask.dtype}.",
        )
    try:
        return mask.expand(shape)
    except RuntimeError:
        raise Wrong(
            "wrong",
            f"The {name} has shape {tuple(mask.shape)}, which does not broadcast to {shape}: "
            "sentences, heads, queries, keys.",
        ) from None


def with_step(answer, _, batch_size, bos_id, eos_id, max_len, call):
    """Decode with a `step` that asks a model elsewhere."""

    def step(ids):
        if not isinstance(ids, Tensor):
            raise Wrong(
                "wrong ids",
                f"`step` needs a tensor of ids, but it received {describe(ids)}.",
            )
        return call(ids)

    return answer(step, batch_size, bos_id, eos_id, max_len)


def decoded(model, ids, _, batch_size, bos_id, eos_id, max_len):
    """Bring all forms that are allowed to one: (B, max_len), no bos."""
    has_bos = _usable(ids, batch_size, bos_id, max_len)
    written = ids[:, 1:] if has_bos else ids
    length = max_len - 1 if has_bos else max_len
    if written.shape[1] < length:
        unended = [r for r, row in enumerate(written.tolist()) if eos_id not in row]
        for row in unended[:1]:
            raise Wrong(
                "unended",
                f"Row {row} of the result is {written[row].tolist()}: it stops without eos_id, "
                f"which is {eos_id}, although max_len is {max_len}.",
            )
    filler = written.new_full((batch_size, length - written.shape[1]), eos_id)
    written = torch.cat([written, filler], dim=1).long()
    if not has_bos:
        return written
    # With bos among max_len columns, the last token had no room: the model itself adds it.
    last = [
        eos_id if eos_id in row else model.next_token(r, (bos_id, *row))
        for r, row in enumerate(written.tolist())
    ]
    return torch.cat([written, torch.tensor(last)[:, None]], dim=1)


def _usable(ids: Tensor, batch_size: int, bos_id: int, max_len: int) -> bool:
    """Raise `Wrong` for what cannot be ids; say whether the first column holds bos."""
    if isinstance(ids, tuple):  # what came back as a list is one here, too
        kind = "a tuple or list" if len(ids) != 1 else "a tuple or list of one"
        raise Wrong("wrong", f"It should return one tensor of ids, but it returned {kind}.")
    if not isinstance(ids, Tensor):
        raise Wrong(
            "wrong", f"It should return one tensor of ids, but it returned {describe(ids)}."
        )
    if ids.layout != torch.strided or ids.device.type != "cpu":
        kind = ids.layout if ids.layout != torch.strided else f"on device {ids.device}"
        raise Wrong(
            "wrong", f"The ids should be an ordinary tensor on cpu, but are {kind}."
        )
    if ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool:
        raise Wrong(
            "wrong", f"Ids are integers, but it returned a tensor of dtype {ids.dtype}."
        )
    if ids.ndim != 2 or len(ids) != batch_size:
        raise Wrong(
            "wrong",
            f"The ids should have shape (B, at most max_len), here ({batch_size}, at most "
            f"{max_len}), but have {tuple(ids.shape)}.",
        )
    has_bos = ids.shape[1] > 0 and bool((ids[:, 0] == bos_id).all())
    if ids.shape[1] > max_len:
        text = f"It returned {ids.shape[1]} columns, but max_len is {max_len}."
        text += " The column of bos_id counts, if it is returned." if has_bos else ""
        raise Wrong("too long", text)
    return has_bos
