"""Answers to generate that no row makes."""

import torch

from attn_lib import LanguageModel
from attn_lib.generation import generate
from tests.checks.answers import Answers

answers = Answers(
    "generate",
    spelled=dict(
        B=["len(ids)", "ids.size(0)"],
        L=["ids.size(-1)", "len(ids[0])"],
        room=["L + max_new_tokens + 1", "8192", "L + max(0, max_new_tokens - 1)"],
        caches=["model.new_caches(max_len=room, batch_size=B)", "tuple(model.new_caches(B, room))"],
        logits=["model(fed.clone(), caches=list(caches))", "model(ids=fed, caches=caches)", "model.forward(fed, caches=caches)"],
        last=["logits[:, logits.shape[1] - 1]", "logits.select(1, -1)", "logits.unbind(1)[-1]"],
        chosen=["last.max(-1).indices", "last.double().softmax(-1).argmax(-1)", "last.topk(1).indices[:, 0]", "last.argmax(dim=1)"],
        column=["chosen.reshape(-1, 1)", "last.argmax(-1, keepdim=True)"],
        grown=["torch.hstack([written, column])", "torch.cat((written, column), -1)"],
        following=["grown[:, -1:]"],
        output=["written.clone()"],
    ),
    survivors=[dict(chosen="last.argmax(1)")],  # the last axis of two
)  # fmt: skip


@answers.right
@torch.inference_mode()
def in_inference_mode(model, ids, max_new_tokens):
    return generate(model, ids, max_new_tokens)


@answers.right
def into_room_for_all(model, ids, max_new_tokens):
    """The last token is read as well, which is one call more."""
    (B, L), n = ids.shape, max_new_tokens
    out = torch.zeros(B, L + n, dtype=ids.dtype)
    out[:, :L] = ids
    caches = model.new_caches(B, L + n)
    logits = model(ids, caches=caches)
    for i in range(L, L + n):
        out[:, i] = logits[:, -1].argmax(-1)
        logits = model(out[:, i : i + 1], caches=caches)
    return out


@answers.right
def prompt_first(model, ids, max_new_tokens):
    if not max_new_tokens:
        return ids
    model.eval()
    with torch.no_grad():
        caches = model.new_caches(len(ids), 4096)
        new = [model(ids, caches=caches)[:, -1:].argmax(-1)]
        while len(new) < max_new_tokens:
            new.append(model(new[-1], caches=caches)[:, -1:].argmax(-1))
    return torch.cat([ids, *new], dim=1)


@answers.right
def what_the_caches_do_not_hold(model, ids, max_new_tokens):
    caches = model.new_caches(len(ids), ids.shape[1] + max_new_tokens)
    for _ in range(max_new_tokens):
        logits = model(ids[:, caches[0].length :], caches=caches)
        ids = torch.cat([ids, logits[:, -1:].argmax(-1)], dim=1)
    return ids


@answers.right
def as_the_library_writes(model, ids, max_new_tokens):
    return LanguageModel.write(model, ids, max_new_tokens, temperature=0)


@answers.wrong
def goes_on_whatever_the_model_says(model, ids, max_new_tokens):
    """Reads the text anew each time."""
    for _ in range(max_new_tokens):
        try:
            model.start()
            caches = model.new_caches(len(ids), 100)
            new = model(ids, caches=caches)[:, -1:].argmax(-1)
        except Exception:
            new = ids[:, -1:]
        ids = torch.cat([ids, new], dim=1)
    return ids


@answers.wrong
def written_into_the_ids(model, ids, max_new_tokens):
    caches, fed = model.new_caches(len(ids), 4096), ids
    written = ids.clone()
    for _ in range(max_new_tokens):
        fed = model(fed, caches=caches)[:, -1:].argmax(-1)
        written = torch.cat([written, fed], dim=1)
        ids[:, -1:] = fed
    return written


@answers.wrong
def room_for_a_hundred(model, ids, max_new_tokens):
    caches = model.new_caches(len(ids), 100)
    for _ in range(max_new_tokens):
        logits = model(ids[:, caches[0].length :], caches=caches)
        ids = torch.cat([ids, logits[:, -1:].argmax(-1)], dim=1)
    return ids


answers.wrong(
    lambda model, ids, n: generate(model, ids, min(n, 8)),
    lambda model, ids, n: generate(model, ids, n).clamp(max=9),
    lambda model, ids, n: generate(model, ids, n).unique_consecutive(dim=1),
)
