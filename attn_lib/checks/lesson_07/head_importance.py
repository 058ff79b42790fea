"""The task `head_importance`: one backward pass says how much each head matters."""

import torch

import attn_lib
from attn_lib.checks.case import Case
from attn_lib.checks.lesson_07.runs import Loss, importance
from attn_lib.checks.task import task


@task(
    lesson=7,
    points=2,
    library=attn_lib.head_importance,
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
    start = torch.ones(num_heads)
    head_mask = start.requires_grad_()
    factors = head_mask
    loss = loss_fn(factors)
    gradients = torch.autograd.grad(loss, head_mask)
    gradient = gradients[0]
    importance = gradient.abs()
    return importance


@head_importance.cases
def _(rng):
    def random(*shape):
        return torch.randn(shape, generator=rng)

    def case(about, H, formula, trained=(), scale=1.0, **tensors):
        loss = Loss(formula, tensors, trained, scale)
        return Case(about, (loss, H), importance, grad=False)

    def by_hand(about, *linear, product=0.0, cube=0.0, trained=()):
        H = len(linear)
        pairs, cubes = torch.zeros(H, H), torch.zeros(H)
        pairs[0, 1:2], cubes[0] = product, cube  # of m0 and m1, and of m0
        tensors = {"linear": torch.tensor(linear), "pairs": pairs, "cubes": cubes}
        return case(f"loss = {about}", H, "polynomial", trained, **tensors)

    def polynomial(about, H, trained=(), scale=1.0):
        tensors = {"linear": random(H), "pairs": random(H, H), "cubes": random(H)}
        about = f"a polynomial of the factors, {about}"
        return case(about, H, "polynomial", trained, scale, **tensors)

    def classification(about, H, N=7, D=3, C=4):
        tensors = {"heads": random(H, N, D), "weight": random(H, D, C), "bias": random(C)}
        tensors["target"] = torch.randint(C, (N,), generator=rng)
        about = f"a classifier with {about}"
        return case(about, H, "classification", ("weight", "bias"), **tensors)

    def square_error(about, H, N=6, D=2, C=5):
        tensors = {"heads": random(H, N, D), "weight": random(H, D, C) / H}
        about = f"a mean squared error with {about}"
        target = random(N, C)
        return case(about, H, "square error", ("weight",), target=target, **tensors)

    yield by_hand("2 m0 - 3 m1", 2.0, -3.0)
    yield by_hand("m0^3 + 5 m1", 0.0, 5.0, cube=1.0)
    about = "4 m0 m1 - m2, with trained parameters"
    yield by_hand(about, 0.0, 0.0, -1.0, product=4.0, trained=("linear",))
    yield by_hand("2 m0 + 0 m1", 2.0, 0.0)
    yield by_hand("-2 m0 (one head)", -2.0)
    yield by_hand("m0 - 3 m1 + 2 m2 (zero at ones)", 1.0, -3.0, 2.0)
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

BACKWARD = "(loss.backward(), head_mask.grad)[1:]"
wrong = head_importance.wrong
wrong(
    "sign-matters",
    "One head makes the loss smaller when it is turned up, another one makes it larger. Does only one "
    "of them matter? Which sign can an importance have?",
    dict(importance="gradient"),
    dict(importance="-gradient"),
    dict(importance="gradient.relu()"),
)
wrong(
    "squared",
    "For a loss of 2 m0 - 3 m1, what comes out: 2 and 3, or 4 and 9?",
    dict(importance="_.square()"),
)
wrong(
    "gradient-elsewhere",
    "The question is what the heads do in the model as it is. With which factors does every head work "
    "as usual? At which factors do you take the gradient?",
    dict(start="torch.zeros(num_heads)"),
    dict(start="torch.full((num_heads,), 0.5)"),
    dict(start="torch.full((num_heads,), 1 / num_heads)"),
    dict(start="torch.rand(num_heads)"),
    dict(start="torch.randn(num_heads)"),
    dict(factors="head_mask.sigmoid()"),
    dict(factors="head_mask.softmax(0)"),
)
wrong(
    "more-than-one-call",
    "How often does your function call loss_fn for H heads? One gradient holds the derivative by every "
    "one of H numbers.",
    dict(
        importance="torch.stack([(loss_fn(1 - one) - loss).abs() for one in torch.eye(num_heads)])"
    ),
)
wrong(
    "gradients-left-behind",
    "For how many tensors does `backward()` compute a gradient? Which function returns the gradient of "
    "one tensor only, and writes it nowhere?",
    dict(gradients=BACKWARD),
)
wrong(
    "nothing-in-grad",
    "Who writes into `.grad`, `backward()` or `torch.autograd.grad`, and what does the other one return? "
    "Which have you called?",
    dict(gradient="head_mask.grad"),
)
wrong(
    "no-gradient-asked-for",
    "Which tensor should autograd follow? Does it ask for a gradient before the loss is computed, is it "
    "the one that loss_fn received, and is nothing inside `torch.no_grad()`?",
    dict(head_mask="start"),
    dict(head_mask="start", gradients=BACKWARD),
    dict(
        head_mask="start", gradients="torch.autograd.grad(loss, head_mask.requires_grad_())"
    ),
    dict(factors="head_mask.detach().requires_grad_()"),
    dict(loss="_.detach()"),
)
wrong(
    "loss-made-a-number",
    "`item()` makes a plain number of the loss. Can autograd go backward from it?",
    dict(loss="_.item()"),
    dict(loss="_.item()", gradients=BACKWARD),
)
wrong(
    "whole-numbers",
    "Of which dtype are your ones? Can a whole number change by a little?",
    dict(start="torch.ones(num_heads, dtype=torch.long)"),
    dict(head_mask="torch.ones(num_heads, dtype=torch.long, requires_grad=True)"),
)
wrong(
    "mask-of-another-shape",
    "One factor for each head: which shape has head_mask then, and which has yours?",
    dict(start="torch.ones(1, num_heads)"),
    dict(start="torch.ones(num_heads, 1)"),
    dict(start="torch.ones(num_heads, 1, 1)"),
    dict(start="torch.ones(num_heads, num_heads)"),
    dict(start="torch.tensor(1.0)"),
)
wrong(
    "mask-is-a-list",
    "loss_fn calculates with its factors. Can a list of numbers be multiplied?",
    dict(head_mask="[1.0] * num_heads"),
)
wrong(
    "normalized",
    "For a loss of 2 m0 - 3 m1 the importances are 2 and 3. By what do you divide them? Should they add "
    "up to something?",
    dict(importance="_ / _.sum()"),
    dict(importance="_ / _.max()"),
    dict(importance="_ / _.norm()"),
    dict(importance="_ / num_heads"),
    dict(importance="_.softmax(0)"),
)
wrong(
    "sorted",
    "Entry h of the result belongs to head h. Which head does your first entry belong to?",
    dict(importance="_.sort(descending=True).values"),
    dict(importance="_.sort().values"),
)
wrong(
    "order-of-heads-returned",
    "The result should say how important each head is. Does yours say so, or which head comes first?",
    dict(importance="_.argsort(descending=True)"),
)
wrong(
    "one-number-for-all-heads",
    "How many numbers come out of your function for H heads?",
    dict(importance="_.sum()"),
    dict(importance="_.mean()"),
    dict(importance="_.max()"),
)
wrong(
    "tuple-not-opened",
    "`torch.autograd.grad` returns a tuple, with one gradient for each tensor asked about. Which do you "
    "need?",
    dict(gradient="gradients"),
)
wrong(
    "loss-returned",
    "What does the task ask for: the loss, or how it changes with each head?",
    dict(importance="loss"),
)
