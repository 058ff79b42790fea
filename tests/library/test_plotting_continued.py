import pytest

from attn_lib.plotting import continued

AFTER = {"mean": [3.0, 1.5], "random": [4.0, 2.5]}


def test_curves_look_the_same_on_every_run():
    first = continued([5, 2, 1], AFTER, every=10, ylabel="loss")._repr_mimebundle_()
    assert continued([5, 2, 1], AFTER, every=10, ylabel="loss")._repr_mimebundle_() == first
    for text in ("mean", "random", "training step", "loss"):
        assert f">{text}</text>" in first["image/svg+xml"]


def test_the_others_begin_where_the_run_ends():
    axes = continued([5, 2, 1], AFTER, every=10, ylabel="loss").figure.axes
    starts = {line.get_label(): line.get_xdata()[0] for line in axes[1].lines}
    assert axes[0].lines[0].get_xdata()[-1] == 20
    assert starts["mean"] == starts["random"] == 20


def test_the_text_alternative_gives_both_ends_of_each_curve():
    alt = repr(continued([5, 2, 1], AFTER, every=10, ylabel="loss"))
    assert "from 5.00 to 1.00 in 20 steps" in alt
    assert "mean from 3.00 to 1.50; random from 4.00 to 2.50" in alt


def test_value_error_names_expected_and_actual():
    with pytest.raises(ValueError, match=r"expected 1 to 4 ways of going on, got 0"):
        continued([1], {}, every=1, ylabel="loss")
