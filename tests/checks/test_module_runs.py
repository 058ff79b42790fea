"""How a module is run: its parameters are copied in by name, and nothing in it can hide."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import attn_lib
from attn_lib.checks import judge
from attn_lib.checks.module_runs import run_known_module, run_module, sharpened_parameters
from attn_lib.checks.task import find_task
from tests.checks.told import told


class Head(nn.Module):
    """A SelfAttention whose layers are made in another order than the reference's."""

    def __init__(self, d_model, head_dim):
        super().__init__()
        for name in "vkq":
            setattr(self, f"{name}_proj", nn.Linear(d_model, head_dim, bias=False))

    def forward(self, x):
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        return attn_lib.einsum_attention(q, k, v)[0]


def test_the_weights_are_copied_in_by_name_not_by_the_order_of_the_layers():
    assert judge("SelfAttention", Head).status == "passed"


def head(d_model, head_dim, **added):
    """Make a head and give it other parts."""
    made = Head(d_model, head_dim)
    for name, part in added.items():
        setattr(made, name, part)
    return made


@told("SelfAttention", "bias-left-in", "In the result")
def test_a_bias_that_nobody_asked_for_cannot_hide_behind_zeros(d_model, head_dim):
    layers = {f"{name}_proj": nn.Linear(d_model, head_dim) for name in "qkv"}
    for layer in layers.values():
        nn.init.zeros_(layer.bias)
    return head(d_model, head_dim, **layers)


def adding(name, size=None, learned=True):
    """Return a class of heads that add a parameter of their own, which is 0 at first."""

    def make(d_model, head_dim):
        own = nn.Parameter(torch.zeros(size or head_dim), requires_grad=learned)
        made = head(d_model, head_dim, **{name: own})
        made.register_forward_hook(lambda module, args, result: result + own)
        return made

    return make


def test_a_parameter_that_nobody_asked_for_cannot_hide_behind_zeros(without_search):
    assert judge("SelfAttention", adding("bias")).status == "wrong"
    assert judge("SelfAttention", adding("gate", size=1)).status == "wrong"
    assert judge("SelfAttention", adding("gate", size=1, learned=False)).status == "passed"


def named_before(d_model, head_dim):
    """Make a module whose layers have had other names before those that the task asks for."""
    made = Head(d_model, head_dim)
    layers = {name: made._modules.pop(f"{name}_proj") for name in "qkv"}
    made.by_letter = nn.ModuleDict(layers)
    for name, layer in layers.items():
        setattr(made, f"{name}_proj", layer)
    return made


def test_a_layer_is_found_under_the_second_of_its_names():
    assert judge("SelfAttention", named_before).status == "passed"


def remembers(d_model, head_dim):
    """Make a module that returns again what it returned first."""
    made = Head(d_model, head_dim)
    seen = []
    made.register_forward_hook(lambda module, args, result: seen.append(result) or seen[0])
    return made


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            lambda E, D: head(E, D, q_proj=nn.Linear(D, E, bias=False)),
            "`q_proj.weight` should have shape (2, 3), for (3, 2), but has (3, 2).",
        ),
        (
            lambda E, D: nn.Identity(),
            "It has none. Is there a `self.` before it, and does a Module or a Parameter",
        ),
        (
            lambda E, D: 3,
            "inherits from `nn.Module`; calling it with (3, 2) returned an int",
        ),
    ],
)
def test_a_module_that_cannot_take_the_weights_is_told_why(answer, said, without_search):
    verdict = judge("SelfAttention", answer)
    assert verdict.status == "wrong"
    assert said in verdict.evidence


def test_a_module_that_keeps_its_first_result_is_wrong(without_search):
    assert judge("SelfAttention", remembers).status == "wrong"


def test_a_module_is_called_on_other_numbers_first():
    seen = []

    class Notes(Head):
        def forward(self, x):
            seen.append(x.tolist())
            return super().forward(x)

    weights = dict(Head(3, 2).named_parameters())
    x = torch.randn(2, 4, 3)
    run_module(Notes, (3, 2), weights, x)
    # A copy; shorter ones and other numbers, both with other weights; other numbers; other weights; another module; then what counts.
    own, flipped = x.tolist(), x.flip(1).tolist()
    assert seen == [own, x[:, :-1].tolist(), flipped, flipped, own, own, own, own]


@pytest.mark.parametrize("of_class", [True, False])
def test_a_module_that_knows_a_tensor_again_by_its_place_is_wrong(of_class, without_search):
    shared = {}

    class Knows(attn_lib.CrossAttention):
        def forward(self, x, context, context_mask=None):
            kept = shared if of_class else self.__dict__.setdefault("own", {})
            key = context.data_ptr(), context.shape, context.dtype
            _, numbers = kept.setdefault(key, (context, context.detach().clone()))
            return super().forward(x, numbers, context_mask=context_mask)

    verdict = judge("CrossAttention", Knows)
    assert verdict.status == "wrong"
    assert "gives two results" in verdict.evidence


def test_a_module_that_keeps_its_first_weights_is_wrong(without_search):
    class KeepsWeights(attn_lib.SelfAttention):
        kept = None

        def forward(self, x):
            if self.kept is None and not torch.is_grad_enabled():
                self.kept = self.q_proj.weight.clone()
            weight = self.q_proj.weight if self.kept is None else self.kept
            q, k, v = x @ weight.T, self.k_proj(x), self.v_proj(x)
            return torch.nn.functional.scaled_dot_product_attention(q, k, v)

    verdict = judge("SelfAttention", KeepsWeights)
    assert verdict.status == "wrong"
    assert "other weights between" in verdict.evidence


@pytest.mark.parametrize("draws", [True, False])
def test_what_draws_nothing_does_the_same_in_training(draws, without_search):
    class Otherwise(attn_lib.MultiHeadAttention):
        def forward(self, x, context=None, mask=None):
            output = super().forward(x, context, mask=mask)
            if not self.training:
                return output
            return F.dropout(output) if draws else output * 2

    verdict = judge("MultiHeadAttention", Otherwise)
    assert verdict.status == ("passed" if draws else "wrong")
    assert draws or verdict.mistake == "wrong-in-training"


def test_a_mask_of_an_earlier_call_may_not_stay_behind():
    class Remembers(attn_lib.MultiHeadAttention):
        last = None

        def forward(self, x, context=None, mask=None):
            self.last = self.last if mask is None else mask
            return super().forward(x, context, mask=self.last)

    verdict = judge("MultiHeadAttention", Remembers)
    assert verdict.status == "wrong"
    assert "keep from one call to the next" in verdict.message


def test_chance_begins_at_the_same_place_in_an_answer_and_in_a_known_mistake():
    class Drops(Head):
        def forward(self, x):
            return F.dropout(super().forward(x), 0.5)

    weights = dict(Head(3, 20).named_parameters())
    results = []
    for seed, run in enumerate((run_module, run_known_module, run_known_module)):
        torch.manual_seed(seed)
        results.append(run(Drops, (3, 20), weights, torch.ones(2, 4, 3)).value)
    assert all(result.equal(results[0]) for result in results)


@told("MultiHeadAttention", "dropout-left-in", forward_of=attn_lib.MultiHeadAttention)
def test_a_dropout_does_the_same_in_an_answer_as_in_the_known_mistake(
    self, x, context=None, mask=None
):
    source = x if context is None else context
    projected = self.q_proj(x), self.k_proj(source), self.v_proj(source)
    sizes = self.num_heads, -1
    q, k, v = (t.unflatten(-1, sizes).transpose(1, 2) for t in projected)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    hidden = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
    weights = F.dropout(hidden.softmax(-1).nan_to_num(0.0), 0.1)
    return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


def test_parameters_are_drawn_so_that_attention_is_not_uniform():
    """Scores spread near 2; the variance of all else is that of the input; no bias is zero."""
    module = nn.ModuleDict({f"{name}_proj": nn.Linear(50, 400) for name in "qkv"})
    drawn = sharpened_parameters(module, torch.Generator().manual_seed(0))
    spread = {name: values.std().item() for name, values in drawn.items()}
    gains = {"q_proj": 1.5, "k_proj": 1.5, "v_proj": 1.0}
    for layer, gain in gains.items():
        assert spread[f"{layer}.weight"] * 50**0.5 == pytest.approx(gain, rel=0.03)
        assert spread[f"{layer}.bias"] == pytest.approx(1.0, rel=0.15)
    again = sharpened_parameters(module, torch.Generator().manual_seed(0))
    assert all(again[name].equal(values) for name, values in drawn.items())


def test_weights_that_get_no_gradient_unless_the_input_asks_for_one_are_not_trained(
    without_search,
):
    class AsksTheInput(attn_lib.SelfAttention):
        def forward(self, x):
            output = super().forward(x)
            return output if x.requires_grad else output.detach()

    verdict = judge("SelfAttention", AsksTheInput)
    assert (verdict.status, verdict.mistake) == ("wrong", "weights-not-trained")


def test_a_module_that_writes_into_its_input_is_asked_about_that(without_search):
    class InPlace(nn.Module):
        def __init__(self, d_model, eps):
            super().__init__()
            self.weight, self.eps = nn.Parameter(torch.ones(d_model)), eps

        def forward(self, x):
            h = x.to(torch.promote_types(x.dtype, torch.float32))
            h *= torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
            return self.weight * h.to(x.dtype)

    assert judge("RMSNorm", InPlace).mistake == "changes-input"


def test_a_module_that_asks_whether_gradients_are_recorded_is_asked_about_that():
    class Dropping(find_task("PreNormBlock").reference):
        def forward(self, x, mask=None):
            return F.dropout(super().forward(x, mask), 0.1, torch.is_grad_enabled())

    verdict = judge("PreNormBlock", Dropping)
    assert (verdict.status, verdict.mistake) == ("wrong", "gradients-change-the-result")
