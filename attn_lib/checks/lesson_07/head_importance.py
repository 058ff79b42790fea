"""The task `head_importance`: one backward pass says how much each head matters."""

import torch

import attn_lib
from attn_lib.checks.case import Case
from attn_lib.checks.lesson_07.runs import Loss, importance
from attn_lib.checks.task import task


@task(
    lesson=7,
    points=2,
    hints=[
        "The loss is a function of H numbers. At which H numbers do all heads work as usual? Its gradient "
        "there says how fast it changes with each of them.",
        "Make a tensor of ones that asks for a gradient (`requires_grad=True`), give it to `loss_fn`, and "
        "go backward from what comes out.",
        "`loss.backward()` fills the `.grad` of every parameter of the model, too. `torch.autograd.grad` "
        "takes the loss and the tensor you ask about, and returns a tuple of gradients. Is one with a "
        "minus sign unimportant?",
    ],
)
def head_importance(loss_fn, num_heads):
    return attn_lib.head_importance(loss_fn, num_heads)


@head_importance.cases
def _(rng):
    def random(*shape):
        return torch.randn(shape, generator=rng)

    def by_hand(about, linear, pairs=None, cubes=None, trained=()):
        H = len(linear)
        tensors = {
            "linear": torch.tensor(linear),
            "pairs": torch.zeros(H, H),
            "cubes": torch.zeros(H) if cubes is None else torch.tensor(cubes),
        }
        for (g, h), factor in (pairs or {}).items():
            tensors["pairs"][g, h] = factor
        loss = Loss("polynomial", tensors, trained)
        return Case(f"loss = {about}", (loss, H), importance, grad=False)

    def polynomial(about, H, **kwargs):
        tensors = {"linear": random(H), "pairs": random(H, H), "cubes": random(H)}
        loss = Loss("polynomial", tensors, **kwargs)
        return Case(
            f"a polynomial of the factors, {about}", (loss, H), importance, grad=False
        )

    def classification(about, H, N=7, D=3, C=4, **kwargs):
        tensors = {
            "heads": random(H, N, D),
            "weight": random(H, D, C),
            "bias": random(C),
            "target": torch.randint(C, (N,), generator=rng),
        }
        loss = Loss("classification", tensors, ("weight", "bias"), **kwargs)
        return Case(f"a classifier with {about}", (loss, H), importance, grad=False)

    def square_error(about, H, N=6, D=2, C=5, **kwargs):
        tensors = {"heads": random(H, N, D), "weight": random(H, D, C) / H}
        tensors["target"] = random(N, C)
        loss = Loss("square error", tensors, ("weight",), **kwargs)
        return Case(f"a mean squared error with {about}", (loss, H), importance, grad=False)

    yield by_hand("2 m0 - 3 m1", [2.0, -3.0])
    yield by_hand("m0^3 + 5 m1", [0.0, 5.0], cubes=[1.0, 0.0])
    yield by_hand(
        "4 m0 m1 - m2, with trained parameters",
        [0.0, 0.0, -1.0],
        {(0, 1): 4.0},
        trained=("linear",),
    )
    yield by_hand("2 m0 + 0 m1", [2.0, 0.0])
    yield by_hand("-2 m0 (one head)", [-2.0])
    yield by_hand("m0 - 3 m1 + 2 m2 (zero at ones)", [1.0, -3.0, 2.0])
    yield polynomial("three heads", 3)
    yield polynomial("five heads, with trained parameters", 5, trained=("linear", "pairs"))
    yield polynomial("twelve heads", 12, trained=("cubes",))
    yield polynomial("tiny", 4, scale=1e-6)
    yield polynomial("huge", 4, scale=1e6)
    yield classification("four heads", 4)
    yield classification("one head", 1)
    yield classification("eight heads", 8, N=3)
    yield classification("H = N = D = C = 3", 3, 3, 3, 3)
    yield square_error("three heads", 3)
    yield square_error("six heads, one sample", 6, N=1)


# ------------------------------------------------------------------------------- mistakes


def _ones(num_heads):
    return torch.ones(num_heads, requires_grad=True)


def _gradient(loss_fn, head_mask):
    return torch.autograd.grad(loss_fn(head_mask), head_mask)[0]


@head_importance.mistake(
    "sign-kept",
    "One head makes the loss smaller when it is turned up, another one makes it larger. Does only one "
    "of them matter? Which sign can an importance have?",
)
def _(loss_fn, num_heads):
    return _gradient(loss_fn, _ones(num_heads))


@head_importance.mistake(
    "sign-turned",
    "One head makes the loss smaller when it is turned up, another one makes it larger. Does only one "
    "of them matter? Which sign can an importance have?",
)
def _(loss_fn, num_heads):
    return -_gradient(loss_fn, _ones(num_heads))


@head_importance.mistake(
    "negative-cut-off",
    "A head with a negative gradient lowers the loss when it is turned up. Is it unimportant?",
)
def _(loss_fn, num_heads):
    return _gradient(loss_fn, _ones(num_heads)).relu()


@head_importance.mistake(
    "squared", "For a loss of 2 m0 - 3 m1, what comes out: 2 and 3, or 4 and 9?"
)
def _(loss_fn, num_heads):
    return _gradient(loss_fn, _ones(num_heads)).square()


_POINT = (
    "The question is what the heads do in the model as it is. With which factors does every head work "
    "as usual? At which factors do you take the gradient?"
)


@head_importance.mistake("gradient-at-zeros", _POINT)
def _(loss_fn, num_heads):
    return _gradient(loss_fn, torch.zeros(num_heads, requires_grad=True)).abs()


@head_importance.mistake("gradient-at-halves", _POINT)
def _(loss_fn, num_heads):
    return _gradient(loss_fn, torch.full((num_heads,), 0.5, requires_grad=True)).abs()


@head_importance.mistake("gradient-at-equal-shares", _POINT)
def _(loss_fn, num_heads):
    share = torch.full((num_heads,), 1 / num_heads, requires_grad=True)
    return _gradient(loss_fn, share).abs()


@head_importance.mistake("gradient-at-random-factors", _POINT)
def _(loss_fn, num_heads):
    return _gradient(loss_fn, torch.rand(num_heads, requires_grad=True)).abs()


@head_importance.mistake("gradient-at-random-factors", _POINT)
def _(loss_fn, num_heads):
    return _gradient(loss_fn, torch.randn(num_heads, requires_grad=True)).abs()


@head_importance.mistake("gradient-through-sigmoid", _POINT)
def _(loss_fn, num_heads):
    ones = _ones(num_heads)
    return torch.autograd.grad(loss_fn(ones.sigmoid()), ones)[0].abs()


@head_importance.mistake(
    "gradient-of-softmax-factors",
    "Should a head be turned up only by turning the others down? What does your softmax make of ones?",
)
def _(loss_fn, num_heads):
    ones = _ones(num_heads)
    return torch.autograd.grad(loss_fn(ones.softmax(0)), ones)[0].abs()


_ONE_CALL = (
    "How often does your function call loss_fn for H heads? One gradient holds the derivative by every "
    "one of H numbers."
)


@head_importance.mistake("more-than-one-call", _ONE_CALL)
def _(loss_fn, num_heads):
    ones = torch.ones(num_heads)
    without = 1 - torch.eye(num_heads)
    return torch.stack([(loss_fn(row) - loss_fn(ones)).abs() for row in without])


@head_importance.mistake("more-than-one-call", _ONE_CALL)
def _(loss_fn, num_heads):
    ones = _ones(num_heads)
    loss_fn(ones)
    return _gradient(loss_fn, ones).abs()


_LEFT = (
    "For how many tensors does `backward()` compute a gradient? Which function returns the gradient of "
    "one tensor only, and writes it nowhere?"
)


@head_importance.mistake("gradients-left-behind", _LEFT)
def _(loss_fn, num_heads):
    ones = _ones(num_heads)
    loss_fn(ones).backward()
    return ones.grad.abs()


_ASKS = (
    "Which tensor should autograd follow? Does it ask for a gradient before the loss is computed, is it "
    "the one that loss_fn received, and is nothing inside `torch.no_grad()`?"
)


@head_importance.mistake("no-gradient-asked-for", _ASKS)
def _(loss_fn, num_heads):
    return _gradient(loss_fn, torch.ones(num_heads)).abs()


@head_importance.mistake("no-gradient-asked-for", _ASKS)
def _(loss_fn, num_heads):
    ones = _ones(num_heads).detach()
    loss_fn(ones).backward()
    return ones.grad.abs()


@head_importance.mistake("no-gradient-asked-for", _ASKS)
def _(loss_fn, num_heads):
    ones = torch.ones(num_heads)
    loss = loss_fn(ones)
    return torch.autograd.grad(loss, ones.requires_grad_())[0].abs()


@head_importance.mistake("no-gradient-asked-for", _ASKS)
def _(loss_fn, num_heads):
    ones = _ones(num_heads)
    with torch.no_grad():
        loss = loss_fn(ones)
    return torch.autograd.grad(loss, ones)[0].abs()


_ITEM = "`item()` makes a plain number of the loss. Can autograd go backward from it?"


@head_importance.mistake("loss-made-a-number", _ITEM)
def _(loss_fn, num_heads):
    ones = _ones(num_heads)
    return torch.autograd.grad(loss_fn(ones).item(), ones)[0].abs()


@head_importance.mistake("loss-made-a-number", _ITEM)
def _(loss_fn, num_heads):
    ones = _ones(num_heads)
    loss_fn(ones).item().backward()
    return ones.grad.abs()


@head_importance.mistake("no-gradient-asked-for", _ASKS)
def _(loss_fn, num_heads):
    ones = _ones(num_heads)
    return torch.autograd.grad(loss_fn(ones.detach().requires_grad_()), ones)[0].abs()


_WHOLE = "Of which dtype are your ones? Can a whole number change by a little?"


@head_importance.mistake("whole-numbers", _WHOLE)
def _(loss_fn, num_heads):
    ones = torch.ones(num_heads, dtype=torch.long, requires_grad=True)
    return _gradient(loss_fn, ones).abs()


@head_importance.mistake("whole-numbers", _WHOLE)
def _(loss_fn, num_heads):
    return _gradient(loss_fn, torch.tensor([1] * num_heads, requires_grad=True)).abs()


_SHAPE = "One factor for each head: which shape has head_mask then, and which has yours?"


@head_importance.mistake("mask-of-another-shape", _SHAPE)
def _(loss_fn, num_heads):
    ones = torch.ones(1, num_heads, requires_grad=True)
    return _gradient(loss_fn, ones)[0].abs()


@head_importance.mistake("mask-of-another-shape", _SHAPE)
def _(loss_fn, num_heads):
    ones = torch.ones(num_heads, 1, 1, requires_grad=True)
    return _gradient(loss_fn, ones).flatten().abs()


@head_importance.mistake("mask-of-another-shape", _SHAPE)
def _(loss_fn, num_heads):
    ones = torch.ones(num_heads, num_heads, requires_grad=True)
    return _gradient(loss_fn, ones).diagonal().abs()


@head_importance.mistake(
    "mask-is-a-list",
    "loss_fn calculates with its factors. Can a list of numbers be multiplied?",
)
def _(loss_fn, num_heads):
    return _gradient(loss_fn, [1.0] * num_heads)


_NORMALIZED = (
    "For a loss of 2 m0 - 3 m1 the importances are 2 and 3. By what do you divide them? Should they add "
    "up to something?"
)


@head_importance.mistake("normalized", _NORMALIZED)
def _(loss_fn, num_heads):
    importance = _gradient(loss_fn, _ones(num_heads)).abs()
    return importance / importance.sum()


@head_importance.mistake("normalized", _NORMALIZED)
def _(loss_fn, num_heads):
    importance = _gradient(loss_fn, _ones(num_heads)).abs()
    return importance / importance.max()


@head_importance.mistake("normalized", _NORMALIZED)
def _(loss_fn, num_heads):
    importance = _gradient(loss_fn, _ones(num_heads)).abs()
    return importance / importance.norm()


@head_importance.mistake("normalized", _NORMALIZED)
def _(loss_fn, num_heads):
    return _gradient(loss_fn, _ones(num_heads)).abs().softmax(0)


@head_importance.mistake("normalized", _NORMALIZED)
def _(loss_fn, num_heads):
    return _gradient(loss_fn, _ones(num_heads)).abs() / num_heads


_ORDER = (
    "Entry h of the result belongs to head h. Which head does your first entry belong to?"
)


@head_importance.mistake("sorted", _ORDER)
def _(loss_fn, num_heads):
    return _gradient(loss_fn, _ones(num_heads)).abs().sort(descending=True).values


@head_importance.mistake("sorted", _ORDER)
def _(loss_fn, num_heads):
    return _gradient(loss_fn, _ones(num_heads)).abs().sort().values


@head_importance.mistake(
    "order-of-heads-returned",
    "The result should say how important each head is. Does yours say so, or which head comes first?",
)
def _(loss_fn, num_heads):
    return _gradient(loss_fn, _ones(num_heads)).abs().argsort(descending=True)


@head_importance.mistake(
    "one-number-for-all-heads", "How many numbers come out of your function for H heads?"
)
def _(loss_fn, num_heads):
    return _gradient(loss_fn, _ones(num_heads)).abs().sum()


@head_importance.mistake(
    "one-number-for-all-heads", "How many numbers come out of your function for H heads?"
)
def _(loss_fn, num_heads):
    return _gradient(loss_fn, _ones(num_heads)).abs().mean()


@head_importance.mistake(
    "tuple-not-opened",
    "`torch.autograd.grad` returns a tuple, with one gradient for each tensor asked about. Which do you "
    "need?",
)
def _(loss_fn, num_heads):
    ones = _ones(num_heads)
    return torch.autograd.grad(loss_fn(ones), ones).abs()


@head_importance.mistake(
    "loss-returned",
    "What does the task ask for: the loss, or how it changes with each head?",
)
def _(loss_fn, num_heads):
    return loss_fn(_ones(num_heads))
