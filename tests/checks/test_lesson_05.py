"""What the checks of lesson 05 say where numbers alone do not tell."""

import torch
import torch.nn.functional as F

import attn_lib
from attn_lib.checks.judge import judge
from tests.checks.told import told


def loss(nothing, logits, ids, pad_id):
    """Return the right loss, or another one of nothing."""
    if (ids[:, 1:] == pad_id).all():
        return nothing
    return F.cross_entropy(logits[:, :-1].mT, ids[:, 1:], ignore_index=pad_id)


@told("next_token_loss", None, "nothing leads from this loss back to", unsaid="Wrong")
def test_a_loss_of_nothing_must_lead_back_to_the_logits(logits, ids, pad_id):
    return loss(logits.new_zeros(()), logits, ids, pad_id)


@told("next_token_loss", "constant-for-nothing", "float64")
def test_a_loss_of_nothing_must_have_the_dtype_of_the_logits(logits, ids, pad_id):
    return loss(torch.tensor(0.0), logits, ids, pad_id)


@told("greedy_decode", "other-than-ids", "a tuple or list of one")
def test_a_list_of_ids_is_not_called_a_tuple(*args):
    return attn_lib.greedy_decode(*args).tolist()


def test_a_step_to_try_by_hand_says_what_the_model_said():
    def one_step(step, batch_size, bos_id, eos_id, max_len):
        return step(torch.full((batch_size, 1), bos_id))[:, -1:].argmax(-1)

    verdict = judge("greedy_decode", one_step)
    assert verdict.mistake == "one-step-only"
    made = {"torch": torch, "F": F}
    exec(verdict.by_hand, made)
    written = attn_lib.greedy_decode(made["step"], 1, 1, 2, 4)
    assert "writes 4, 5, and then eos" in verdict.where
    assert list(verdict.inputs) == ["says"]
    assert written.tolist() == [[4, 5, 2]]
