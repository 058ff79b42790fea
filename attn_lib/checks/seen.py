"""Where mistakes were seen outside of this course, and what they looked like there."""

_MASK = "A book's code let every word see the words after it, and nothing raised: the mask of one function was given to another"
_SOFTMAX = "It stood in the notebook of a tutorial for a year: all shapes are right"
_TURNED = "Right for a short text; at position 1,857 in float16, an angle was off by almost a radian"
# By the ids of mistakes: what happened, and the thread on github.com that tells it.
SEEN = {
    "full-row-nan": (
        "One sentence may see nothing, and the gradients of the whole batch are NaN",
        "pytorch/pytorch/issues/41508",
    ),
    "inverted": (_MASK, "rasbt/LLMs-from-scratch/issues/1061"),
    "mask-inverted": (_MASK, "rasbt/LLMs-from-scratch/issues/1061"),
    "scale-missing": (
        "Nothing raised. The vectors of a sentence encoder had a cosine of 0.86 with the right ones",
        "mlc-ai/mlc-llm/pull/3426",
    ),
    "scale-twice": (
        "The queries were scaled, and then handed to a kernel that scales",
        "AI-Hypercomputer/maxtext/issues/3138",
    ),
    "heads-tiled": (
        "A tidied line gave each query head the keys of another one: all shapes stayed",
        "apple/axlearn/pull/842",
    ),
    "top-left": (
        "Right in training. With a cache, the new token sees the first one only",
        "pytorch/pytorch/issues/103082",
    ),
    "window-one-off": (
        "One library counts the token itself as part of its window, the other does not",
        "huggingface/transformers/issues/39408",
    ),
    "interleaved-pairs": (
        "The first words of a real model were right, then its text fell apart: at position 0 nothing is turned",
        "NeuraLegion/shainet/pull/111",
    ),
    "half-precision": (_TURNED, "EleutherAI/gpt-neox/issues/1003"),
    "positions-rounded": (_TURNED, "EleutherAI/gpt-neox/issues/1003"),
    "unbiased": (
        "In a well-known tutorial: a thousandth too small at 512 channels, and 6 percent at 8",
        "harvardnlp/annotated-transformer/pull/119",
    ),
    "softmax-over-queries": (_SOFTMAX, "nerminnuraydogan/vision-transformer/issues/1"),
    "softmax-over-the-wrong-axis": (
        _SOFTMAX,
        "nerminnuraydogan/vision-transformer/issues/1",
    ),
}


def seen(mistake: str) -> str:
    """Say of a mistake, by its id, what it looked like in practice and where; "" if no place is known."""
    if mistake not in SEEN:
        return ""
    what, thread = SEEN[mistake]
    return f"In practice: {what} (https://github.com/{thread})."
