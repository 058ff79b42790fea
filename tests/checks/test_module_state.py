"""Whatever an answer changes in a module that it should only read is seen: also what is private."""

from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn.modules import module as globally

from attn_lib.checks.judge import judge
from attn_lib.checks.module_state import changed_in, state_of_module
from attn_lib.checks.task import find_task


def some_module():
    module = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    module.notes = ["a"]
    return module


CHANGES = {
    "class": lambda m: setattr(m, "__class__", nn.ModuleList),
    "0.class": lambda m: setattr(m[0], "__class__", nn.Identity),
    "1.training": lambda m: m[1].eval(),
    "0.weight": lambda m: m[0].weight.data.mul_(2),
    "0.bias": lambda m: m[0].bias.requires_grad_(False),
    "1.weight": lambda m: setattr(m[1].weight, "grad", torch.ones(3)),
    "1.bias": lambda m: m[1].bias.register_hook(lambda grad: None),
    "1.running_mean": lambda m: m[1].running_mean.add_(1),
    "0._forward_hooks": lambda m: m[0].register_forward_hook(lambda *_: None),
    "_global_forward_hooks": lambda m: globally.register_module_forward_hook(
        lambda *_: None
    ),
    "notes": lambda m: m.notes.append("b"),
    "0._seen": lambda m: setattr(m[0], "_seen", 1),
    "1._non_persistent_buffers_set": lambda m: m[1]._non_persistent_buffers_set.add("a"),
}


@pytest.mark.parametrize("path", CHANGES)
def test_every_change_of_a_module_is_named_by_its_path(path):
    module, hooks = some_module(), dict(globally._global_forward_hooks)
    before = state_of_module(module)
    assert changed_in(module, before) == ""
    try:
        CHANGES[path](module)
        assert changed_in(module, before) == path
    finally:
        globally._global_forward_hooks.clear()
        globally._global_forward_hooks.update(hooks)


def test_numbers_that_are_nan_or_missing_are_no_change():
    module = nn.Linear(2, 2)
    module.weight.data[:] = torch.nan
    module.register_buffer("empty", torch.zeros(0, dtype=torch.bool))
    module.register_buffer("one", torch.tensor(1.0, dtype=torch.bfloat16))
    before = state_of_module(module)
    module(torch.ones(1, 2))
    assert changed_in(module, before) == ""


def leaves_a_note(task):
    """The right answer, which notes something in a part of the module that it is given."""
    right = find_task(task).reference

    def answer(module, *rest):
        next(module.children(), module)._seen = True
        return right(module, *rest)

    return answer


@pytest.mark.parametrize(
    "task", ["from_torch", "masked_heads", "gated_heads", "save_checkpoint"]
)
def test_a_note_in_a_part_of_a_given_module_is_a_change(task):
    verdict = judge(task, leaves_a_note(task))
    assert verdict.status == "wrong"
    assert "_seen" in verdict.message
    assert "not the same after the call" in verdict.message


@pytest.mark.parametrize("leave", [Path.mkdir, lambda path: path.symlink_to("nowhere")])
def test_a_folder_or_a_link_that_is_left_is_one_thing_too_many(leave):
    right = find_task("save_checkpoint").reference

    def leaving(module, config, path):
        right(module, config, path)
        leave(Path("kept"))

    assert "kept" in judge("save_checkpoint", leaving).message
