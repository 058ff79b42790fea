"""Answers to patchify that no row makes."""

import torch
import torch.nn.functional as F

from tests.checks.answers import Answers

answers = Answers(
    "patchify",
    spelled=dict(
        rows=["images.shape[2] // patch", "int(H / patch)"],
        columns=["images.shape[-1] // patch"],
        grid=[
            "images.unflatten(2, (-1, patch)).unflatten(4, (-1, patch))",
            "images.unflatten(-1, (columns, patch)).unflatten(2, (rows, patch))",
        ],
        ordered=[
            "grid.transpose(3, 4).permute(0, 2, 3, 1, 4, 5)",
            "torch.einsum('bcrpsq->brscpq', grid)",
            "grid.movedim((2, 4), (1, 2))",
        ],
        patches=[
            "ordered.flatten(3).flatten(1, 2)",
            "ordered.reshape(B, rows * columns, -1)",
        ],
    ),
)


@answers.right
def by_unfold(images, patch):
    return F.unfold(images, patch, stride=patch).mT


@answers.right
def cut_out_one_by_one(images, patch):
    cut = [
        images[:, :, i : i + patch, j : j + patch].flatten(1)
        for i in range(0, images.shape[2], patch)
        for j in range(0, images.shape[3], patch)
    ]
    return torch.stack(cut, dim=1)


@answers.right
def by_convolution(images, patch):
    """A filter for each number of a patch, which is 1 there and 0 elsewhere."""
    size = images.shape[1] * patch * patch
    filters = torch.eye(size, dtype=images.dtype).view(size, -1, patch, patch)
    return F.conv2d(images, filters, stride=patch).flatten(2).mT


# Shifted by half a patch, every other row turned round, the first picture for all, only two rows.
answers.wrong(
    lambda images, patch: by_unfold(images.roll(patch // 2, -1), patch),
    lambda images, patch: by_unfold(images.flip(-1), patch).flip(1),
    lambda images, patch: by_unfold(images[:, :3], patch),
    lambda images, patch: by_unfold(images[:1].expand_as(images), patch),
    lambda images, patch: by_unfold(images[:, :, : 2 * patch], patch),
)
