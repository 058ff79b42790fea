"""Answers to stable_softmax that no row makes."""

from torch import nn

from tests.checks.answers import Answers

answers = Answers(
    "stable_softmax",
    spelled=dict(
        largest=["x.max(dim, True)[0].detach()", "x.logsumexp(dim, keepdim=True)"],
        exponentials=["2.0 ** (shifted * math.log2(math.e))"],
        total=["_ + 1e-12", "torch.sum(exponentials, dim=dim).unsqueeze(dim)"],
        shares=["x.log_softmax(dim).exp()"],
    ),
)


@answers.right
def in_place_on_its_own(x, dim=-1):
    y = x - x.amax(dim, keepdim=True)
    y = y.exp_()
    return y.div(y.sum(dim, keepdim=True))


class SoftmaxModule(nn.Module):
    def forward(self, x, dim=-1):
        return x.log_softmax(dim).exp()


answers.right(SoftmaxModule())
answers.right(lambda x, axis=-1: x.softmax(axis))  # another name for dim


@answers.wrong
def shifts_only_large_numbers(x, dim=-1):
    e = (x - x.amax(dim, keepdim=True)).exp() if x.max() > 80 else x.exp()
    return e / e.sum(dim, keepdim=True)


@answers.wrong
def denominator_cut_off(x, dim=-1):
    e = (x - x.amax(dim, keepdim=True)).exp()
    return e / e.sum(dim, keepdim=True).detach()


remembered: dict = {}


@answers.wrong
def remembers_by_shape(x, dim=-1):
    return remembered.setdefault((x.shape, dim, x.dtype), x.softmax(dim))
