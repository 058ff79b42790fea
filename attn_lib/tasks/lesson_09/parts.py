"""Numbers as training leaves them, masks, and mistakes with norms, for both tasks of this lesson."""

import torch
from torch import Tensor, nn

from attn_lib.tasks.lesson_01.far_scores import set_far


def trained(block: nn.Module, rng: torch.Generator) -> dict[str, Tensor]:
    """Draw parameters as they are after training: sharp attention, norms that scale and shift."""
    parameters = {}
    for name, parameter in block.named_parameters():
        values = torch.randn(parameter.shape, generator=rng)
        layer = name.split(".")[-2]
        if parameter.ndim == 2:
            gain = 1.5 if layer in ("q_proj", "k_proj") else 1.0
            values = values * gain / parameter.shape[1] ** 0.5
        elif layer.startswith("norm"):
            values = 0.5 * values + name.endswith("weight")
        parameters[name] = values
    return parameters


def by_hand(**rows: list) -> dict[str, Tensor]:
    """Make parameters of small numbers: of each layer the rows of its weight, then its bias.

    A norm has its weights, then its biases.
    """
    parameters = {}
    for layer, (*weight, bias) in rows.items():
        numbers = torch.tensor(weight, dtype=torch.float)
        name = layer.replace("__", ".")
        parameters[f"{name}.weight"] = numbers[0] if layer.startswith("norm") else numbers
        parameters[f"{name}.bias"] = torch.tensor(bias, dtype=torch.float)
    return parameters


def some(rng: torch.Generator, *shape: int, p: float = 0.6) -> Tensor:
    """Draw a mask in which every query may see at least one key."""
    mask = torch.rand(*shape, generator=rng) < p
    keep = torch.randint(shape[-1], (*shape[:-1], 1), generator=rng)
    return mask.scatter(-1, keep, True)


# What a case does to its parameters and to x, which it returns.


def uneven(parameters: dict[str, Tensor], x: Tensor) -> Tensor:
    """Make tokens of very different lengths, none of them of mean 0."""
    return x * torch.tensor([30.0, 1.0, 5.0, 0.2])[:, None] + 10.0


def nearly_constant(parameters: dict[str, Tensor], x: Tensor) -> Tensor:
    """Make tokens whose variance is below what a norm adds to it."""
    return x * 2e-3


def constant(parameters: dict[str, Tensor], x: Tensor) -> Tensor:
    """Make the first token one of equal numbers: its variance is 0."""
    return x.clone().index_fill(1, torch.tensor([0]), 3.0)


def far_from_zero(parameters: dict[str, Tensor], x: Tensor) -> Tensor:
    """Make tokens whose squares float32 rounds to whole numbers: no variance is left in them."""
    return x + 3000.0


def large_numbers(parameters: dict[str, Tensor], x: Tensor) -> Tensor:
    """Make tokens of numbers that no float16 holds."""
    return x * 1e6


def around_minus_two(parameters: dict[str, Tensor], x: Tensor) -> Tensor:
    """Make all of the output where functions that look like a GELU differ most from it."""
    parameters["ff.0.weight"] *= 0.3
    parameters["ff.0.bias"] = parameters["ff.0.bias"] * 0.3 - 2.2
    parameters["ff.2.weight"] = parameters["ff.2.weight"].abs()
    parameters["ff.2.bias"] *= 0
    for name in parameters:
        if "o_proj" in name:
            parameters[name] *= 0.02
    return x * 0.1


def far_below(parameters: dict[str, Tensor], x: Tensor) -> Tensor:
    """Make every score of every attention the same, near -1,000,000."""
    set_far(parameters)
    return x


def strided(parameters: dict[str, Tensor], x: Tensor) -> Tensor:
    """Make x not contiguous."""
    return x.mT.contiguous().mT


# ----------------------------------------------------------------------------- mistakes

UNBIASED = """
By what does `torch.std` divide if nothing is said: by n, or by n - 1? And by what a LayerNorm?
"""
# With x for what is normalized; the weight and the bias of the norm come after it.
NORMS_BY_HAND = {
    UNBIASED: [
        "unbiased  (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + 1e-5).sqrt()",
        "unbiased  (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-5)",
        "unbiased  (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-6)",
        "unbiased  (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + 1e-6).sqrt()",
    ],
    """
    A token may be nearly constant. What is added to its variance, how much, and inside the root or outside?
    `nn.LayerNorm(4)` prints its own.
    """: [
        "epsilon  (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True, unbiased=False) + 1e-5)",
        "epsilon  (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True, unbiased=False) + 1e-6)",
        "epsilon  (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, unbiased=False) + 1e-6).sqrt()",
        "epsilon  (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, unbiased=False) + 1e-8).sqrt()",
        "epsilon  (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True, unbiased=False)",
    ],
    "Change token 4. Does the normalized token 0 move? Over which axis are mean and variance taken?": [
        "norm-over-time  (x - x.mean(1, keepdim=True)) / (x.var(1, keepdim=True, unbiased=False) + 1e-5).sqrt()",
    ],
    """
    Change one token. Do other tokens come out of the norm changed? How many means has a LayerNorm of (B, L, E)?
    """: [
        "norm-over-everything  (x - x.mean()) / (x.var(unbiased=False) + 1e-5).sqrt()",
        "norm-over-everything  (x - x.mean((1, 2), keepdim=True)) / (x.var((1, 2), keepdim=True, unbiased=False) + 1e-5).sqrt()",
        "norm-over-everything  (x - x.mean((0, 1), keepdim=True)) / (x.var((0, 1), keepdim=True, unbiased=False) + 1e-5).sqrt()",
    ],
    "A LayerNorm does two things to a token before its weight and bias. Which one does yours leave out?": [
        "half-a-norm  x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt()",
        "half-a-norm  x - x.mean(-1, keepdim=True)",
    ],
}  # fmt: skip


# What the attention itself may have wrong, written as another kernel.
KERNELS = [
    "lambda q, k, v, **rest: attn_lib.fused_attention(q * q.shape[-1] ** 0.5, k, v, **rest)",
    "lambda q, k, v, **rest: attn_lib.fused_attention(q * q.shape[1] ** -0.5, k, v, **rest)",
    "lambda q, k, v, mask=None, **rest: ((q @ k.mT * q.shape[-1] ** -0.5).masked_fill(torch.tensor(False) if mask is None else ~mask, -torch.inf).softmax(-1) @ v, None)",
    "lambda q, k, v, mask=None, **rest: ((q @ k.mT * q.shape[-1] ** -0.5).masked_fill(torch.tensor(False) if mask is None else ~mask, -1e9).softmax(-1) @ v, None)",
]


def norm_rows(streams: list[str], added: list[str], attentions: dict[str, str]) -> str:
    """Return the table of mistakes that a block with these lines can have.

    Args:
        streams: the names of x as it goes from part to part, each read by the norm of its number.
        added: the names of what the parts give, each added to the stream of its number.
        attentions: what makes each attention, by the line's name, without its last parenthesis.
    """
    numbers = range(1, len(streams) + 1)
    after = [*streams[1:], "output"]

    def both(text: str) -> str:
        """Write a line for every part: N its number, S its stream, A what it adds, T the stream after."""
        return " ; ".join(each(text, n) for n in numbers)

    def each(text: str, n: int) -> str:
        words = {"N": str(n), "S": streams[n - 1], "A": added[n - 1], "T": after[n - 1]}
        for word, name in words.items():
            text = text.replace(f"<{word}>", name)
        return text

    def apart(id: str, text: str) -> str:
        return "\n".join(f"    {id}  {each(text, n)}" for n in numbers)

    table = f"""
Is the path from x to the output free of any norm? Where do your norms stand: before the parts, or after
the sums?
    post-norm  {both("normed<N> = <S> ; <T> = self.norm<N>(_)")}
{apart("post-norm", "normed<N> = <S> ; <T> = self.norm<N>(_)")}
Does a norm come before its part, or after it? What does the part read in your code?
    norm-after-the-part  {both("normed<N> = <S> ; <A> = self.norm<N>(_)")}
{apart("norm-after-the-part", "normed<N> = <S> ; <A> = self.norm<N>(_)")}
To what exactly is the result of a part added: to what the part has read, or to what the norm has read?
    residual-from-normed  {both("<T> = normed<N> + <A>")}
{apart("residual-from-normed", "<T> = normed<N> + <A>")}
If a part gave zeros only, what should come out of the block? Which sum is missing?
    residual-missing  {both("<T> = <A>")}
{apart("residual-missing", "<T> = <A>")}
What does each part read, x as it is or a normalized one?
    norm-missing  {both("normed<N> = <S>")}
{apart("norm-missing", "normed<N> = <S>")}
How often is a stream added in your code, and how often should it be?
    residual-twice  {both("<T> = _ + <S>")}
{apart("residual-twice", "<T> = _ + <S>")}
How many norms does x meet on its way out? In a pre-norm block, none: the model ends with one.
    norm-at-the-end  output = self.norm1(_) || self.norm{len(streams)}(_)
    norm-at-the-end  output = F.layer_norm(_, _.shape[-1:])
Every part has a norm with numbers of its own. How many norms does yours make, and which part uses which?
    one-norm-for-all  {" ; ".join(each("normed<N> = self.norm1(<S>)", n) for n in numbers[1:])}
    one-norm-for-all  {" ; ".join(each("normed<N> = self.norm2(<S>)", n) for n in numbers if n != 2)}
    one-norm-for-all  {" ; ".join(each("norm<N> = self.norm1", n) for n in numbers[1:])}
Which norm stands before which part? Follow the numbers.
    norms-swapped  normed1 = self.norm2({streams[0]}) ; normed2 = self.norm1({streams[1]})
What does a norm over the batch know of in training that is not there when one sentence comes alone? Is it
what the task asks for?
    batch-norm  {both("norm<N> = nn.BatchNorm1d(d_model).eval() ; normed<N> = self.norm<N>(<S>.transpose(1, 2)).transpose(1, 2)")}
    batch-norm  {both("norm<N> = nn.BatchNorm1d(d_model).eval()")}
    batch-norm  {both("norm<N> = nn.BatchNorm1d(d_model).eval() ; normed<N> = self.norm<N>(<S>.flatten(0, 1)).view_as(<S>)")}
Which two parameters has an `nn.LayerNorm`, of which size? Which of them has yours?
    norm-without-its-parameters  {both("norm<N> = nn.LayerNorm(d_model, elementwise_affine=False)")}
    norm-without-its-parameters  {both("norm<N> = nn.LayerNorm(d_model, bias=False)")}
Over how many numbers does each norm go? What stands in its parentheses?
    norm-of-another-size  {both("norm<N> = nn.LayerNorm(d_ff)")}
A token may be nearly constant. How much is added to its variance, and how much by an `nn.LayerNorm` of which
nothing is said?
    epsilon  {both("norm<N> = nn.LayerNorm(d_model, eps=1e-6)")}
    epsilon  {both("norm<N> = nn.LayerNorm(d_model, eps=1e-12)")}
    epsilon  {both("norm<N> = nn.LayerNorm(d_model, eps=1e-3)")}
Print your function for -3 to 3, beside `nn.GELU()`. Is it this one?
    another-activation  ff = nn.GELU() => nn.ReLU() || nn.GELU() => nn.SiLU()
    another-activation  ff = nn.GELU() => nn.Tanh() || nn.GELU() => nn.GELU("tanh")
Two linear maps in a row are one linear map. What stands between the two?
    no-activation  ff = nn.GELU() => nn.Identity()
    no-activation  ff = nn.Sequential(nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model))
What does the last line of `ff` do in yours, after its second layer? Can it still say -3?
    activation-at-the-end  ff = nn.Sequential(*_, nn.GELU())
    activation-at-the-end  fed = F.gelu(_)
The numbers in `ff.0.weight` and `ff.2.weight` count the parts of your `nn.Sequential`. Print it: which part
moves the others on?
    parts-of-ff-counted-otherwise  ff = nn.GELU() => nn.GELU(), nn.Dropout(0.1)
Which width goes into the feed-forward network, which is inside, which comes out?
    widths-of-ff  ff = nn.Sequential(nn.Linear(d_model, d_model), nn.GELU(), nn.Linear(d_model, d_model))
    widths-of-ff  ff = nn.Sequential(nn.Linear(d_model, 4 * d_model), nn.GELU(), nn.Linear(4 * d_model, d_model))
A linear layer has a weight and a bias. Which of your layers have no bias, and whose parameters have no place then?
    layers-without-bias  ff = nn.Linear(d_model, d_ff) => nn.Linear(d_model, d_ff, bias=False)
    layers-without-bias  ff = nn.Linear(d_ff, d_model) => nn.Linear(d_ff, d_model, bias=False)
    layers-without-bias  ff = nn.Sequential(nn.Linear(d_model, d_ff, bias=False), nn.GELU(), nn.Linear(d_ff, d_model, bias=False))
Call it twice, in `eval()`: is the answer the same? `F.dropout` does not ask the module for its mode.
    dropout-in-eval  fed = F.dropout(_)
How many heads has your attention? Which argument says so, and who must be told?
"""
    for name, made in attentions.items():
        table += f"    heads-ignored  {name} = {made.replace('num_heads', '1')})\n"
    all_of_them = (
        f"{n} = {made.replace('num_heads', '1')})" for n, made in attentions.items()
    )
    table += (
        f"    heads-ignored  {' ; '.join(all_of_them)}\n" if len(attentions) > 1 else ""
    )
    table += """\
Does your attention pass the check of its own exercise? Try that first: it knows more of what can be wrong there.
"""
    for kernel in KERNELS:
        lines = (f"{name} = {made}, kernel={kernel})" for name, made in attentions.items())
        table += f"    attention-itself  {' ; '.join(lines)}\n"
    for question, rows in NORMS_BY_HAND.items():
        table += "\n".join(line.strip() for line in question.strip().splitlines()) + "\n"
        for row in rows:
            id, _, formula = row.partition("  ")
            formula = formula.replace("x", "<S>")
            line = f"normed<N> = ({formula}) * self.norm<N>.weight + self.norm<N>.bias"
            table += f"    {id}  {both(line)}\n"
    return table
