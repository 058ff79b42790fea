"""Inputs by hand and mistakes that `masked_heads` and `gated_heads` share.

Both answers have the lines `factor`, what the heads are multiplied by, and `scaled`, their product.
"""

import torch

from attn_lib import MultiHeadAttention
from attn_lib.checks.authoring import Case, Task, sharpened_parameters
from attn_lib.tasks.lesson_07.runs import Attention, unless_changed, with_module

ADDED = {"v_proj.bias": torch.tensor([1.0, 2.0]), "o_proj.bias": torch.tensor([10.0, 20.0])}
SWAPPED = (
    "two heads of one channel, one token; v_proj adds 1 and 2; o_proj swaps both channels, and "
    "then adds 10 and 20"
)
ALIKE = (
    "two heads of one channel, two tokens; q_proj is zero, the other layers the identity"
)
BY_HAND = [
    ("two heads of one channel, one token, all four layers the identity", 2, {}),
    (SWAPPED, 2, ADDED | {"o_proj.weight": torch.eye(2).flip(0)}),
    (ALIKE, 2, {"q_proj.weight": torch.zeros(2, 2)}),
    # Here the factor hides nothing of what is wrong with the scores.
    ("one head of two channels, three tokens, all four layers the identity", 1, {}),
]


def by_hand(number, x, factors):
    """A case with E = 2; layers that BY_HAND does not name are the identity, without bias."""
    about, H, tensors = BY_HAND[number]
    layer = {"weight": torch.eye(2), "bias": torch.zeros(2)}
    layers = {f"{name}_proj.{kind}": t for name in "qkvo" for kind, t in layer.items()}
    args = (Attention(H, layers | tensors), torch.tensor([x]), torch.tensor(factors))
    return Case(about, args, with_module, finish=unless_changed)


def random_attention(rng, H, D, dtype=torch.float32):
    """Scores that spread, and biases that are not zero."""
    return Attention(H, sharpened_parameters(MultiHeadAttention(H * D, H), rng, dtype))


# The first questions stand above rows of each task itself, too.
SCORES = (
    "With a factor of 0, what should a head say: nothing, or the mean of all values? What does "
    "softmax make of a row of equal scores?"
)
AFTER_O_PROJ = (
    "After o_proj, which heads have a part in channel 0? Where is a head still alone?"
)
INPUT = (
    "Which heads read channel 0 of x? Does it belong to one head before the projections?"
)
# What does not depend on where the factors come from.
ROWS = f"""
{SCORES}
    scores-scaled  scaled = (scores * factor).softmax(-1) @ v
How often is a head multiplied on its way to o_proj?
    scaled-twice  factor = _.square()
With a factor of 0, a head is silent. What does a 0 leave of it in your code?
    factor-added  scaled = heads + factor
With all heads silent, what should be left: nothing, or the bias of o_proj, once?
    o-proj-bias-not-once  output = merged @ attn.o_proj.weight.T
    o-proj-bias-not-once  output = _ + (H - 1) * attn.o_proj.bias
    o-proj-bias-not-once  output = _ + (factor.sum(-3) - 1) * attn.o_proj.bias
Your result has four axes. Which two of them together are the E channels that o_proj reads?
    heads-not-merged  output = scaled
With all heads silent, what does your function return? Does it add x, which the task does not ask for?
    input-added  output = x + _
Which numbers of token 0 end up in head 0? Does a `view` to (B, H, L, D) move tokens, too?
    split-without-transpose  q, k, v = .unflatten(-1, (H, -1)).transpose(1, 2) => .reshape(len(x), H, x.shape[1], -1)
Compare with `attn(x)`, every factor being 1. How long are the vectors in the dot product of one
head: E, or D?
    scale-of-the-whole-width  D = x.shape[-1]
A layer is more than its weight. What does `attn.q_proj(x)` add that yours leaves out?
    projection-bias-forgotten  queries = x @ attn.q_proj.weight.T ; keys = x @ attn.k_proj.weight.T ; values = x @ attn.v_proj.weight.T
Which layer makes the queries, and which the keys? Read your projections once more.
    the-same-layer-twice  keys = attn.q_proj(x)
"""
# These stand behind the rows of the tasks.
MORE_ROWS = """
Nobody asked for a causal mask here. May the first token see the last one?
    causal-always  scores = (s := _).masked_fill(torch.ones_like(s).triu(1).bool(), -torch.inf)
What is the shape of `nn.Linear(3, 5).weight`? Why not call the layer and let it transpose?
    weights-not-transposed  output = merged @ attn.o_proj.weight + attn.o_proj.bias
    weights-not-transposed  queries = x @ attn.q_proj.weight + attn.q_proj.bias ; keys = x @ attn.k_proj.weight + attn.k_proj.bias ; values = x @ attn.v_proj.weight + attn.v_proj.bias
    weights-not-transposed  queries = x @ attn.q_proj.weight + attn.q_proj.bias ; keys = x @ attn.k_proj.weight + attn.k_proj.bias ; values = x @ attn.v_proj.weight + attn.v_proj.bias ; output = merged @ attn.o_proj.weight + attn.o_proj.bias
Which two axes does your score matrix have: tokens by tokens, or heads by heads? Print the shape of
q right before q·k.
    heads-attend-to-each-other  q, k, v = .transpose(1, 2) => ; factor = _.transpose(-3, -2) ; merged = scaled.flatten(2)
    heads-attend-to-each-other  q, k, v = .transpose(1, 2) => ; merged = scaled.flatten(2)
    heads-attend-to-each-other  q, k, v = .transpose(1, 2) =>
What comes out of `attn(x)` has been through o_proj already. Where is a head still alone?
    output-of-attn-taken-for-heads  heads = attn(x).unflatten(-1, (H, -1)).transpose(1, 2)
"""


def add_mistakes(task: Task, argument: str) -> None:
    """Add the mistakes that both tasks share; the factors come from `argument`."""
    task.rows(ROWS)
    # With these it is an error, whatever comes out.
    hooked = task.mistake(
        "hook-left-behind",
        "Your hook is still there after the call. Which object did `register_...` return, and what "
        "does its method `remove` do?",
    )
    hooked(lambda attn, x, _: attn.o_proj.register_forward_pre_hook(lambda *args: None))
    hooked(lambda attn, x, _: attn.v_proj.register_forward_hook(lambda *args: None))
    stored = task.mistake(
        "something-stored-in-attn",
        "A function or a number that you store in `attn` is still there in the next call. Is there a "
        "way without storing anything?",
    )
    stored(lambda attn, x, _: setattr(attn, "kernel", None))
    stored(lambda attn, x, factors: setattr(attn, argument, factors))
