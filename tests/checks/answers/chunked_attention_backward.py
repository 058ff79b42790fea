"""Answers to chunked_attention_backward that no row makes: tiles, other sums, and autograd."""

import math

import torch
import torch.nn.functional as F

from attn_lib.checks.task import find_task
from tests.checks.answers import Answers

SAME = ("q", "k", "v", "out", "grad_out")
answers = Answers(
    "chunked_attention_backward",
    spelled=dict(
        total=["lse.unsqueeze(-1)"],
        delta=["torch.einsum('bhld,bhld->bhl', grad_out, out).unsqueeze(-1)"],
        block_k=["k.narrow(-2, start, min(chunk_size, S - start))"],
        products=["torch.einsum('bhld,bhsd->bhls', q, block_k)"],
        scores=["products * D**-0.5"],
        weights=[
            "(scores - total).exp()",
            "torch.exp2((scores - total) * 1.4426950408889634)",
        ],
        grad_weights=["torch.einsum('bhld,bhsd->bhls', grad_out, block_v)"],
        grad_scores=["weights * grad_weights - weights * delta"],
        grad_q_new=["torch.einsum('bhls,bhsd->bhld', grad_products, block_k) + grad_q"],
        part_k=["torch.einsum('bhls,bhld->bhsd', grad_products, q)"],
        part_v=["torch.einsum('bhls,bhld->bhsd', weights, grad_out)"],
        grad_k=["torch.cat(parts_k, dim=2)"],
    ),
    # All have one shape; and a join has another spelling.
    survivors=[
        *(dict(D=f"{x}.shape[-1]") for x in SAME[1:]),
        *(dict(S=f"{x}.shape[-2]") for x in SAME),
        dict(S="k.shape[2]"),
        dict(first_queries="range(0, q.shape[2], chunk_size)"),
        *(dict(first_queries=f"range(0, {x}.shape[-2], chunk_size)") for x in SAME[1:]),
        *({f"grad_{y}": f"torch.zeros_like({x})"} for x in SAME for y in "kv" if x != y),
        *({f"grad_{x}": f"torch.cat(parts_{x}, 2)"} for x in "qkv"),
    ],
)
right = find_task("chunked_attention_backward").reference


@answers.right
def in_tiles(q, k, v, out, lse, grad_out, chunk_size):
    grads = [torch.zeros_like(t) for t in (q, k, v)]
    grad_q, grad_k, grad_v = grads
    scale, delta = q.shape[-1] ** -0.5, (grad_out * out).sum(-1)
    for i in range(0, q.shape[2], chunk_size):
        rows = slice(i, i + chunk_size)
        for j in range(0, k.shape[2], chunk_size):
            keys = slice(j, j + chunk_size)
            p = (q[:, :, rows] @ k[:, :, keys].mT * scale - lse[:, :, rows, None]).exp()
            ds = p * (grad_out[:, :, rows] @ v[:, :, keys].mT - delta[:, :, rows, None])
            grad_q[:, :, rows] += ds @ k[:, :, keys] * scale
            grad_k[:, :, keys] += ds.mT @ q[:, :, rows] * scale
            grad_v[:, :, keys] += p.mT @ grad_out[:, :, rows]
    return grads


@answers.right
def summed_in_float32(q, k, v, out, lse, grad_out, chunk_size):
    wide = torch.promote_types(q.dtype, torch.float32)
    grads = right(*(t.to(wide) for t in (q, k, v, out, lse, grad_out)), chunk_size)
    return tuple(g.to(q.dtype) for g in grads)


@answers.right
def keys_scaled_once(q, k, v, out, lse, grad_out, chunk_size):
    """The scale goes into the queries, and what is left of it to the end."""
    root = math.sqrt(q.shape[-1])
    scaled = q / root
    delta = torch.linalg.vecdot(grad_out, out)[..., None]
    grad_q, parts = 0, []
    for some_k, some_v in zip(k.split(chunk_size, 2), v.split(chunk_size, 2), strict=True):
        p = torch.exp(scaled @ some_k.transpose(2, 3) - lse[..., None])
        ds = (grad_out @ some_v.transpose(2, 3)).sub(delta).mul(p)
        grad_q = grad_q + ds @ some_k
        parts.append((ds.transpose(2, 3) @ scaled, p.transpose(2, 3) @ grad_out))
    return grad_q / root, *(torch.cat(some, 2) for some in zip(*parts, strict=True))


@answers.wrong
def through_autograd_a_chunk_of_queries_at_a_time(q, k, v, out, lse, grad_out, chunk_size):
    with torch.enable_grad():
        k, v = (t.detach().requires_grad_() for t in (k, v))
        parts, grad_k, grad_v = [], 0, 0
        for some, upstream in zip(
            q.split(chunk_size, 2), grad_out.split(chunk_size, 2), strict=True
        ):
            some = some.detach().requires_grad_()
            again = F.scaled_dot_product_attention(some, k, v)
            one, two, three = torch.autograd.grad(again, (some, k, v), upstream)
            parts.append(one)
            grad_k, grad_v = grad_k + two, grad_v + three
    return torch.cat(parts, 2), grad_k, grad_v


@answers.wrong
def weights_made_to_add_up(q, k, v, out, lse, grad_out, chunk_size):
    """An lse of its own, for fear that the given one is rounded."""
    scores = [q @ some.mT / math.sqrt(q.shape[-1]) for some in k.split(chunk_size, 2)]
    own = torch.stack([s.logsumexp(-1) for s in scores]).logsumexp(0)
    return right(q, k, v, out, own, grad_out, chunk_size)


@answers.wrong
def all_at_once(q, k, v, out, lse, grad_out, chunk_size):
    return right(q, k, v, out, lse, grad_out, k.shape[2])


@answers.wrong
def chunks_of_256_at_least(q, k, v, out, lse, grad_out, chunk_size):
    return right(q, k, v, out, lse, grad_out, max(256, chunk_size))


@answers.wrong
def in_the_given_tensors(q, k, v, out, lse, grad_out, chunk_size):
    grads = right(q, k, v, out, lse, grad_out, chunk_size)
    return tuple(t.copy_(g) for t, g in zip((q, k, v), grads, strict=True))


@answers.wrong
def half_an_answer(q, k, v, out, lse, grad_out, chunk_size):
    grad_q, grad_k, _ = right(q, k, v, out, lse, grad_out, chunk_size)
    return grad_q, grad_k, torch.zeros_like(v)


@answers.wrong
def every_grad_q_kept_until_the_end(q, k, v, out, lse, grad_out, chunk_size):
    parts = []
    for keys, values in zip(k.split(chunk_size, 2), v.split(chunk_size, 2), strict=True):
        parts.append(right(q, keys, values, out, lse, grad_out, chunk_size))
    grad_q, grad_k, grad_v = zip(*parts, strict=True)
    return sum(grad_q), torch.cat(grad_k, 2), torch.cat(grad_v, 2)
