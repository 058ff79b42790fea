"""The task `head_importance`: one backward pass says how much each head matters."""

import torch

import attn_lib
from attn_lib.checks.authoring import Case, task
from attn_lib.tasks.lesson_07.losses import Loss
from attn_lib.tasks.lesson_07.runs import Trained, importance, with_loss


@task(
    lesson=7,
    points=2,
    insight="The gradient at a gate tells what a small change does, not what it does to remove the head.",
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
        loss = Loss(H, formula, tensors, trained, scale)
        args = (Trained({name: tensors[name] for name in trained}), H)
        return Case(about, args, with_loss, grad=False, serves=loss, finish=importance)

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
        trained = ("weight", "bias")
        return case(f"a classifier with {about}", H, "classification", trained, **tensors)

    def square_error(about, H, N=6, D=2, C=5):
        tensors = {"heads": random(H, N, D), "weight": random(H, D, C) / H}
        tensors["target"] = random(N, C)
        about = f"a mean squared error with {about}"
        return case(about, H, "square error", ("weight",), **tensors)

    yield by_hand("2 m0 - 3 m1", 2.0, -3.0)
    yield by_hand("m0^3 + 5 m1", 0.0, 5.0, cube=1.0)
    about = "4 m0 m1 - m2, with trained parameters"
    yield by_hand(about, 0.0, 0.0, -1.0, product=4.0, trained=("linear",))
    yield by_hand("2 m0 + 0 m1", 2.0, 0.0)
    yield by_hand("-2 m0 (one head)", -2.0)
    yield by_hand("m0 - 3 m1 + 2 m2 (zero at ones)", 1.0, -3.0, 2.0)
    yield polynomial("three heads", 3)
    yield polynomial("five heads, with trained parameters", 5, trained=("linear", "pairs"))
    yield polynomial("tiny", 4, scale=1e-6)
    yield polynomial("huge", 4, scale=1e6)
    yield classification("four heads", 4)
    yield classification("one head", 1)
    yield classification("eight heads", 8, N=3)
    yield square_error("three heads", 3)
    yield square_error("six heads, one sample", 6, N=1)


head_importance.rows("""
One head makes the loss smaller when it is turned up, another one makes it larger. Does only one of
them matter? Which sign can an importance have?
    sign-matters  importance = gradient || -gradient || gradient.relu()
    sign-matters  importance = (-gradient).relu()
Of what do you take the absolute value: of the loss, or of how it changes?
    absolute-loss  loss = _.abs() ; importance = gradient
    absolute-loss  importance = loss.abs()
For a loss of 2 m0 - 3 m1, what comes out: 2 and 3, or 4 and 9?
    squared  importance = _.square()
The question is what the heads do in the model as it is. With which factors does every head work as
usual? At which factors do you take the gradient?
    gradient-elsewhere  start = torch.zeros(num_heads) || torch.full((num_heads,), 0.5)
    gradient-elsewhere  start = torch.full((num_heads,), 1 / num_heads)
    gradient-elsewhere  start = torch.full((num_heads,), 2.0) || torch.rand(num_heads)
    gradient-elsewhere  start = torch.randn(num_heads)
    gradient-elsewhere  factors = head_mask.sigmoid() || head_mask.softmax(0)
How often does your function call loss_fn? One gradient holds the derivatives by all H numbers.
    more-than-one-call  loss = [loss_fn(factors) for h in range(num_heads)][0]
    more-than-one-call  importance = torch.stack([(loss_fn(1 - one) - loss).abs() for one in torch.eye(num_heads)])
`backward()` writes into every parameter's `.grad`. Which function returns one gradient only?
    gradients-left-behind  gradients = (loss.backward(), head_mask.grad)[1:]
Who writes into `.grad`, `backward()` or `torch.autograd.grad`, and what does the other one return?
Which have you called? And is your tensor made as it is, or calculated from another one?
    nothing-in-grad  gradient = head_mask.grad
Which tensor should autograd follow? Does it ask for a gradient before the loss is computed, is it
the one that loss_fn received, and is nothing inside `torch.no_grad()`?
    no-gradient-asked-for  head_mask = start
    no-gradient-asked-for  head_mask = start ; gradients = (loss.backward(), head_mask.grad)[1:]
    no-gradient-asked-for  head_mask = start ; gradients = torch.autograd.grad(loss, head_mask.requires_grad_())
    no-gradient-asked-for  factors = head_mask.detach().requires_grad_()
    no-gradient-asked-for  loss = _.detach()
`item()` makes a plain number of the loss. Can autograd go backward from it?
    loss-made-a-number  loss = _.item()
    loss-made-a-number  loss = _.item() ; gradients = (loss.backward(), head_mask.grad)[1:]
Of which dtype are your ones? Can a whole number change by a little?
    whole-numbers  start = torch.ones(num_heads, dtype=torch.long)
    whole-numbers  head_mask = torch.ones(num_heads, dtype=torch.long, requires_grad=True)
Which dtype do the model's numbers have, and which one have your factors?
    factors-of-another-dtype  start = torch.ones(num_heads, dtype=torch.float64)
    factors-of-another-dtype  start = torch.ones(num_heads, dtype=torch.float16)
    factors-of-another-dtype  factors = head_mask.double()
One factor for each head: which shape has head_mask then, and which has yours?
    mask-of-another-shape  start = torch.ones(1, num_heads) || torch.ones(num_heads, 1)
    mask-of-another-shape  start = torch.ones(num_heads, 1, 1)
    mask-of-another-shape  start = torch.ones(num_heads, num_heads) || torch.tensor(1.0)
loss_fn calculates with its factors. Can a list of numbers be multiplied?
    mask-is-a-list  head_mask = [1.0] * num_heads
For a loss of 2 m0 - 3 m1 the importances are 2 and 3. By what do you divide them? Should they add
up to something?
    normalized  importance = _ / _.sum() || _ / _.max() || _ / _.norm() || _ / num_heads
    normalized  importance = _.softmax(0) || (_ - _.min()) / (_.max() - _.min()) || _ / loss
Entry h of the result belongs to head h. Which head does your first entry belong to?
    sorted  importance = _.sort(descending=True).values || _.sort().values
The result should say how important each head is. Does yours say so, or which head comes first?
    order-of-heads-returned  importance = _.argsort(descending=True)
How many numbers come out of your function for H heads?
    one-number-for-all-heads  importance = _.sum() || _.mean() || _.max() || _.norm()
You return a list. What makes one tensor of its numbers?
    a-list-of-numbers  importance = _.tolist()
`torch.autograd.grad` returns a tuple, one gradient for each tensor. Which do you need?
    tuple-not-opened  gradient = gradients
What does the task ask for: the loss, or how it changes with each head?
    loss-returned  importance = loss
`torch.autograd.grad` returns a tuple, even of one gradient. Which element do you need? And which
sign can an importance have?
    tuple-returned  importance = gradients
""")

head_importance.drills(
    "loss-made-a-number, tuple-not-opened, sign-matters, gradient-elsewhere, mask-of-another-shape 2"
)
