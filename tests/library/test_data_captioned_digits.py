import torch

from attn_lib.data.captioned_digits import NAMES, captioned_digits, scans

IMAGES, LABELS = scans()


def pairs(seed=0, count=50):
    return captioned_digits(
        IMAGES, LABELS, count, generator=torch.Generator().manual_seed(seed)
    )


def test_the_scans_are_gray_values_of_all_ten_digits():
    assert IMAGES.shape == (1797, 8, 8)
    assert (IMAGES.min(), IMAGES.max()) == (0, 1)
    assert LABELS.unique().tolist() == list(range(len(NAMES)))


def test_each_named_digit_stands_in_its_field():
    data = pairs()
    for i in range(50):
        for digit, field in zip(data.captions[i], data.fields[i], strict=True):
            row, column = divmod(field.item(), 3)
            scan = data.images[i, 0, 8 * row :, 8 * column :][:8, :8]
            assert ((scan == IMAGES).all(-1).all(-1) & (digit == LABELS)).any()


def test_four_of_nine_fields_hold_ink_and_three_different_digits_of_theirs_are_named():
    data = pairs()
    fields = data.images[:, 0].unflatten(1, (3, 8)).unflatten(3, (3, 8))
    assert ((fields.amax((2, 4)) > 0).sum((1, 2)) == 4).all()
    for caption, digits in zip(data.captions.tolist(), data.digits.tolist(), strict=True):
        assert len(set(digits)) == 4
        assert len(set(caption)) == 3
        assert set(caption) <= set(digits)
