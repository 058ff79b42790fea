"""Answers to stable_softmax that no row makes."""

from torch import nn

from tests.checks.answers import Answers

answers = Answers(
    "stable_softmax",
    spelled=dict(
        largest=[
            "x.max(dim, keepdim=True).values",
            "x.max(dim, True)[0].detach()",
            "x.logsumexp(dim, keepdim=True)",
        ],
        exponentials=["torch.exp(shifted)", "2.0 ** (shifted * math.log2(math.e))"],
        total=["_ + 1e-12", "torch.sum(exponentials, dim=dim).unsqueeze(dim)"],
        shares=[
            "exponentials * total.reciprocal()",
            "x.log_softmax(dim).exp()",
            "F.softmax(x.float(), dim=dim).to(x.dtype)",
        ],
    ),
)


@answers.right
def in_place_on_its_own(x, dim=-1):
    y = x - x.amax(dim, keepdim=True)
    y = y.exp_()
    return y.div(y.sum(dim, keepdim=True))


@answers.right
def with_another_name_for_dim(x, axis=-1):
    return x.softmax(axis)


class SoftmaxModule(nn.Module):
    def forward(self, x, dim=-1):
        return x.log_softmax(dim).exp()


answers.right(SoftmaxModule())


@answers.wrong
def in_place(x, dim=-1):
    x -= x.amax(dim, keepdim=True)
    return x.softmax(dim)


_remembered: dict = {}


@answers.wrong
def remembers_by_shape(x, dim=-1):
    return _remembered.setdefault((x.shape, dim, x.dtype), x.softmax(dim))


@answers.wrong
def shifts_only_large_numbers(x, dim=-1):
    e = (x - x.amax(dim, keepdim=True)).exp() if x.max() > 80 else x.exp()
    return e / e.sum(dim, keepdim=True)


@answers.wrong
def never_quite_zero(x, dim=-1):
    return x.softmax(dim).clamp(1e-7, 1)


@answers.wrong
def denominator_cut_off(x, dim=-1):
    e = (x - x.amax(dim, keepdim=True)).exp()
    return e / e.sum(dim, keepdim=True).detach()


@answers.wrong
def hard_where_sharp(x, dim=-1):
    return x.clamp(min=-50).softmax(dim)
