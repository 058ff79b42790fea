import torch

from attn_lib import greedy_decode

BOS, EOS = 3, 0


def follows(*rows):
    """A model that writes the given rows, whatever it is shown."""
    table = torch.tensor(rows)

    def step(ids):
        assert ids[:, 0].eq(BOS).all()
        logits = torch.zeros(len(ids), ids.shape[1], 5)
        now = table[:, ids.shape[1] - 1]
        logits[:, -1].scatter_(1, now[:, None], 1.0)
        return logits

    return step


def test_a_row_that_has_ended_holds_nothing_but_the_end():
    ids = greedy_decode(follows([1, 0, 4, 4], [2, 2, 1, 0]), 2, BOS, EOS, 9)
    assert ids.tolist() == [[1, 0, 0, 0], [2, 2, 1, 0]]


def test_it_stops_at_max_len():
    ids = greedy_decode(follows([1, 2, 1, 2]), 1, BOS, EOS, 3)
    assert ids.tolist() == [[1, 2, 1]]


def test_it_sees_all_it_has_written():
    """A model that counts: the next token is the number of tokens, so the last only is not enough."""

    def step(ids):
        logits = torch.zeros(*ids.shape, 5)
        logits[:, -1, min(ids.shape[1], 4)] = 1
        return logits

    assert greedy_decode(step, 1, BOS, EOS, 4).tolist() == [[1, 2, 3, 4]]
