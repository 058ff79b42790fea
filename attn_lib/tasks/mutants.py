"""Thirty wrong and eight right ways to write attention, to test tests with.

Each is the right answer of the task `masked_attention`, `(q, k, v, mask=None) -> output`, with a line
or two written otherwise. Most of the wrong ones are rows of the checks, so they are mistakes that people make.
"""

from collections.abc import Callable

from attn_lib.checks.authoring import Row, Variants, find_task, table
from attn_lib.checks.scoring import known

Attention = Callable

# The kind of a mistake, and its mistakes in the checks: an id, and which of its rows if not the first.
_FROM_THE_CHECKS = {
    "scale": "scale-missing, scale-multiplied, scale-twice, scale-after-softmax, "
    "scale-by-the-wrong-size 2",
    "softmax": "softmax-missing, softmax-over-queries, softmax-over-the-wrong-axis, "
    "hard-maximum, maximum-not-subtracted",
    "mask": "mask-ignored, inverted, mask-transposed, none-becomes-causal, not-renormalized, "
    "forbidden-scores-set-to-zero, zero-scores-hidden",
    "axes": "transposed-scores, keys-reshaped, weights-times-k, heads-mixed, output-in-another-layout",
    "numbers": "full-row-nan, full-row-uniform, nan-painted-over, fill-too-large-for-float16, "
    "dropout-left-in, dtype-changed",
}
_MORE = {
    "scale": """
Are the vectors of one head as long as those of all heads together?
    scale-by-all-heads  D = q.shape[1] * q.shape[3]
""",
    "mask": """
True means 'may look'. Which keys does this one leave?
    inverted  forbidden = _ if mask is None else allowed ; kept = weights
""",
    "numbers": """
What is the gradient of a tensor that has been detached?
    weights-detached  weights = _.detach()
""",
}
_RIGHT = """
They differ in the order of the operations, so in the last digits.
    einsum           products = torch.einsum('bhld,bhsd->bhls', q, k) ; heads = torch.einsum('bhls,bhsd->bhld', kept, v)
    query-scaled     products = (q / math.sqrt(D)) @ k.mT ; scores = products
    in-float64       products = q.double() @ k.double().mT ; heads = (kept @ v.double()).to(v.dtype)
    lowest-number    hidden = -torch.inf => torch.finfo(scores.dtype).min
    log-sum-exp      weights = (hidden - hidden.logsumexp(-1, keepdim=True)).exp()
    powers-of-two    weights = (e := ((hidden - hidden.amax(-1, keepdim=True)) / math.log(2)).exp2()) / e.sum(-1, keepdim=True)
    divided-last     weights = (hidden - hidden.amax(-1, keepdim=True)).exp() ; heads = _ / kept.sum(-1, keepdim=True).clamp(min=1)
    fused            heads = attn_lib.fused_attention(q, k, v, mask=mask)[0]
"""


def _from_the_checks(names: str) -> dict[str, Row]:
    row = known("masked_attention").row
    return {name.partition(" ")[0]: row(name) for name in names.split(", ")}


def _rows(text: str) -> dict[str, Row]:
    return {id: row for id, _, row in table(text)}


_BY_KIND = {
    kind: _from_the_checks(names) | _rows(_MORE.get(kind, ""))
    for kind, names in _FROM_THE_CHECKS.items()
}
_ALL = {name: row for kind in _BY_KIND.values() for name, row in kind.items()}
_ALL |= _rows(_RIGHT)
_variants = Variants(find_task("masked_attention").reference, list(_ALL.values()))
_made = {name: _variants.variant(number) for number, name in enumerate(_ALL)}

# The lines of the plain right answer, by name.
LINES: dict[str, str] = _variants.lines
# The kinds of mistakes; of each, its wrong implementations by name.
KINDS: dict[str, list[str]] = {kind: list(rows) for kind, rows in _BY_KIND.items()}
WRONG: dict[str, Attention] = {name: _made[name] for k in KINDS.values() for name in k}
RIGHT: dict[str, Attention] = {name: _made[name] for name in _rows(_RIGHT)}


def changed_lines(name: str) -> dict[str, str]:
    """Return what an implementation writes otherwise than the reference, by the name of the line."""
    return dict(_variants.rows[list(_ALL).index(name)])


def as_kernel(attention: Attention) -> Callable:
    """Return an attention as modules call it: `(q, k, v, *, mask, ...) -> (output, None)`."""
    return lambda q, k, v, *, mask=None, **_: (attention(q, k, v, mask), None)
