"""What numbers alone do not show: other values once gradients are asked for, and what is left on inputs."""

import os
import re
from pathlib import Path

import pytest
import torch
from torch import nn

import attn_lib
from attn_lib.checks import judge
from attn_lib.checks.authoring import Wrong
from attn_lib.checks.task import find_task
from attn_lib.tasks.lesson_04.runs import one_session
from attn_lib.tasks.lesson_09.runs import two_new_norms


def reference(name):
    return find_task(name).reference


def others_when_asked(x, dim=-1):
    return torch.softmax(x, dim) + 5 * x.requires_grad


def another_dtype_when_asked(x):
    merged = x.transpose(1, 2).flatten(2)
    return merged.double() if x.requires_grad else merged


def a_list_when_asked(x, num_heads):
    heads = reference("split_heads")(x, num_heads)
    return [heads, "text", None] if x.requires_grad else heads


def zeros_when_asked(x):
    merged = x.transpose(1, 2).flatten(2).clone()
    if x.requires_grad:
        x.data.zero_()
    return merged


def no_training_in_half(scores, mask):
    if scores.requires_grad and scores.dtype != torch.float32:
        raise RuntimeError("no training in half precision")
    return reference("masked_softmax")(scores, mask)


class Backwards(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return -1000 * gradient


def another_gradient_in_half(scores, mask):
    weights = reference("masked_softmax")(scores, mask)
    return weights if weights.itemsize > 2 else Backwards.apply(weights)


def appends_none(layers):
    result = reference("attention_rollout")(layers)
    layers.append(None)
    return result


def in_the_place_of_the_first(layers):
    result = reference("attention_rollout")(layers)
    layers[0] = layers[0].double()
    return result


def wider_afterwards(weights):
    result = reference("attention_entropy")(weights)
    weights.data = weights.data.double()
    return result


def a_hook_stays(x, num_heads):
    heads = reference("split_heads")(x, num_heads).detach().clone()
    x.requires_grad_().register_hook(torch.zeros_like)
    return heads


def loses_its_gradient(weight):
    result = reference("quantize_int8")(weight)
    weight.requires_grad_(False)
    return result


def later(x, num_groups=None, *, given=[]):  # noqa: B006
    """Change what came in the call before."""
    for tensor in given:
        tensor.data.zero_()
    given[:] = [x]
    return reference("repeat_kv")(x, num_groups)


def second_copy_changed(ids, batch_size, length, generator, calls=[]):  # noqa: B006
    result = reference("random_batch")(ids, batch_size, length, generator)
    calls.append(1)
    if len(calls) % 7 == 0:
        ids.zero_()
    return result


def hook_by_a_later_call(mha):
    module = attn_lib.MultiHeadAttention(mha.embed_dim, mha.num_heads)
    made = reference("from_torch")(mha)
    module.load_state_dict(made.state_dict())
    module.register_forward_hook(
        lambda *_: mha.register_forward_hook(lambda *_: None) and None
    )
    return module


Named = type("ValueError", (Exception,), {})


def an_error_called_so(name):
    try:
        return reference("map_llama_name")(name)
    except ValueError as error:
        raise Named(str(error)) from None


def for_nobody_else(path):
    loaded = reference("load_checkpoint")(path)
    os.chmod(path, 0o711)
    return loaded


def another_file_of_the_same_bytes(path):
    loaded = reference("load_checkpoint")(path)
    said, data = Path(path).stat(), Path(path).read_bytes()
    other = Path(f"{path}.new")
    other.write_bytes(data)
    os.utime(other, ns=(said.st_mtime_ns, said.st_mtime_ns))
    other.replace(path)
    return loaded


@pytest.mark.parametrize(
    ("task", "answer", "said"),
    [
        ("stable_softmax", others_when_asked, "With inputs that ask for gradients, they are others"),
        ("merge_heads", another_dtype_when_asked, "dtype"),
        ("split_heads", a_list_when_asked, "With inputs that ask for gradients"),
        ("merge_heads", zeros_when_asked, "an argument has changed"),
        ("masked_softmax", no_training_in_half, "no training in half precision"),
        ("masked_softmax", another_gradient_in_half, "the gradient of `scores` is wrong"),
        ("attention_rollout", appends_none, "`layers[1]` is not the same"),
        ("attention_rollout", in_the_place_of_the_first, "`layers[0]` is not the same"),
        ("attention_entropy", wider_afterwards, "an argument has changed"),
        ("quantize_int8", loses_its_gradient, "an argument has changed"),
        ("repeat_kv", later, "an argument has changed"),
        ("random_batch", second_copy_changed, "an argument has changed"),
        ("from_torch", hook_by_a_later_call, "hook"),
        ("map_llama_name", an_error_called_so, "It should raise a ValueError here, but it raised"),
        ("load_checkpoint", for_nobody_else, "who may read it"),
        ("load_checkpoint", another_file_of_the_same_bytes, "which it should only read"),
    ],
)  # fmt: skip
def test_right_numbers_are_not_all(task, answer, said):
    verdict = judge(task, answer)
    assert verdict.status != "passed"
    assert said in verdict.message


def test_what_another_answer_did_to_its_inputs_is_not_held_against_the_next():
    """A cell that is run again makes a function, often at the place in memory of the old one."""
    for _ in range(4):
        wrong = lambda x, groups: reference("repeat_kv")(x.mul_(2) / 2, groups)  # noqa: E731
        assert judge("repeat_kv", wrong).status == "wrong"
        del wrong
        right = lambda x, groups: reference("repeat_kv")(x, groups)  # noqa: E731
        assert judge("repeat_kv", right).status == "passed"
        del right


def test_an_answer_whose_helper_was_mended_passes():
    used = [lambda x: x.mul_(2) / 2]
    answer = lambda x, groups: reference("repeat_kv")(used[0](x), groups)  # noqa: E731
    assert judge("repeat_kv", answer).status == "wrong"
    used[0] = lambda x: x
    assert judge("repeat_kv", answer).status == "passed"


PreNormBlock = find_task("PreNormBlock").reference


class OtherNames(PreNormBlock):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__(d_model, num_heads, d_ff)
        self.ln1, self.ln2 = self.norm1, self.norm2
        del self.norm1, self.norm2

    def forward(self, x, mask=None):
        x = x + self.attn(self.ln1(x), mask=mask)
        return x + self.ff(self.ln2(x))


class OneTooMany(PreNormBlock):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__(d_model, num_heads, d_ff)
        self.last = nn.LayerNorm(d_model)


class OverTheOtherWidth(PreNormBlock):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__(d_model, num_heads, d_ff)
        if d_ff != d_model:
            self.norm1 = nn.LayerNorm((1, d_model))


@pytest.mark.parametrize(
    ("module", "told"),
    [
        (OtherNames, "no parameter `norm1.bias`"),
        (OneTooMany, "a parameter `last.weight` too many"),
        (OverTheOtherWidth, "`norm1.bias` should have shape (6,), but has (1, 6)"),
    ],
)
def test_the_norms_of_a_new_block_are_named(module, told):
    run, (init, parameters) = two_new_norms, ((6, 2, 5), {})
    with pytest.raises(Wrong, match=re.escape(told)):
        run(module, init, parameters)


def test_a_cache_that_doubles_with_each_call_is_stopped():
    def twice(q, k, v, cache):
        if cache is not None:
            k, v = (
                torch.cat([old, old, new], 2)
                for old, new in zip(cache, (k, v), strict=True)
            )
        return v[:, :, -1:], (k, v)

    with pytest.raises(Wrong, match="The cache holds"):
        one_session(twice, *torch.ones(3, 1, 1, 26, 2), [1] * 26)
