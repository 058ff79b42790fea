"""A result that no known mistake makes is asked about what its failing inputs have in common."""

import pytest
import torch

from attn_lib.checks import judge


def sinusoidal(length, d_model, angles=lambda a: a, rows=10**9):
    i = torch.arange(d_model // 2, dtype=torch.float64)
    table = angles(
        torch.arange(length, dtype=torch.float64)[:, None] * 10000 ** (-2 * i / d_model)
    )
    table[rows:] = 0
    return torch.stack([table.sin(), table.cos()], -1).flatten(1).float()


def patches(images, patch):
    """Read the numbers of a picture as they lie in memory, as if it were contiguous."""
    B, C, H, W = images.shape
    lies = images.untyped_storage()
    flat = torch.tensor([], dtype=images.dtype).set_(lies)[: images.numel()].clone()
    grid = flat.reshape(B, C, H // patch, patch, W // patch, patch)
    return grid.permute(0, 2, 4, 1, 3, 5).reshape(B, -1, C * patch * patch)


@pytest.mark.parametrize(
    ("task", "answer", "mistake"),
    [
        (
            "sinusoidal_positions",
            lambda n, E: sinusoidal(n, E, lambda a: a + 1e-3),
            "rounded",
        ),
        (
            "sinusoidal_positions",
            lambda n, E: sinusoidal(n, E, rows=1500),
            "larger-ones-only",
        ),
        ("sinusoidal_positions", lambda n, E: sinusoidal(n, E, lambda a: 1.5 * a), None),
        ("patchify", patches, "read-as-it-lies"),
    ],
)
def test_what_failing_inputs_share_is_asked_about(task, answer, mistake):
    verdict = judge(task, answer)
    assert verdict.status == "wrong"
    assert verdict.mistake == mistake
    assert bool(verdict.question) == (mistake is not None)


def test_nothing_is_said_of_size_where_an_input_raises():
    def refuses(length, d_model):
        if length > 1500:
            raise OverflowError("too long")
        return sinusoidal(length, d_model)

    assert judge("sinusoidal_positions", refuses).mistake != "larger-ones-only"
    assert judge("sinusoidal_positions", sinusoidal).status == "passed"
