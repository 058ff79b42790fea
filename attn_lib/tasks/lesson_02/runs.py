"""How the cases of this lesson call an answer, where it is more than one plain call.

Nothing here is an answer: this file goes into the sandbox with a learner's code.
"""

import torch

from attn_lib.checks.authoring import Wrong, quicker


def raise_unless_gradients_are_finite(result, leaves):
    """Raise an error if NaN or inf flows back from a finite result, or nothing flows back at all.

    Args:
        result: what an answer returned, anything.
        leaves: the inputs to differentiate by, by name.
    """
    if not isinstance(result, torch.Tensor) or not result.requires_grad:
        return
    if not result.isfinite().all():
        return
    if result.dtype not in (leaf.dtype for leaf in leaves.values()):
        return  # the wrong dtype is to be reported first
    try:
        squares = result.square().sum()
        found = torch.autograd.grad(squares, list(leaves.values()), allow_unused=True)
    except RuntimeError as error:
        if "inplace" not in str(error):
            raise
        raise Wrong(
            "no way back",
            "The numbers may be right, but no gradient can be computed: a line writes into a tensor "
            "that the way back still needs, such as the result of the softmax.",
        ) from None
    pairs = zip(leaves, found, strict=True)
    bad = [f"`{name}`" for name, g in pairs if g is not None and not g.isfinite().all()]
    if bad:
        raise Wrong(
            "gradient not finite",
            "The result is finite, but not its gradient: there is nan or inf in the gradient of "
            f"{' and '.join(bad)}.",
        )


def with_one_run(answer, *inputs):
    """Run a known answer, as `with_finite_gradients` does, but once."""
    *given, mask = inputs
    names = ("scores",) if len(given) == 1 else "qkv"
    copies = [t.detach().clone().requires_grad_() for t in given]
    result = answer(*(t.clone() for t in copies), mask.clone())
    raise_unless_gradients_are_finite(result, dict(zip(names, copies, strict=True)))
    return result


@quicker(with_one_run)
def with_finite_gradients(answer, *inputs):
    """Run the answer on `scores` or on q, k, v, and a mask; a gradient that is not finite is an error."""
    given = [t.clone() for t in inputs]
    result = answer(*inputs)
    with_one_run(answer, *given)
    return result


def exact_zeros(weights, scores, mask):
    """Insist that a forbidden key gets exactly 0."""
    if isinstance(weights, torch.Tensor) and weights.shape == scores.shape:
        leak = weights.detach().masked_fill(mask, 0.0).abs().amax().item()
        if 0 < leak < 1e-3:
            raise Wrong(
                "almost zero",
                f"The weight of a forbidden key should be exactly 0, but is {leak:.2g}.",
            )
    return weights
