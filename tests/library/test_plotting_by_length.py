"""Panels of losses by length share one scale, and shade what is longer than in training."""

import pytest

from attn_lib.plotting import by_length

CURVES = {
    "plain": [[4.0, 3.0, 5.0], [4.2, 3.1, 9.0]],
    "steady": [[4.0, 3.5, 3.5]],
    "third": [[4.0, 3.5, 3.6]],
}


def draw(**options):
    options = {"trained": 32, "ylabel": "bits", "xlabel": "characters", **options}
    return by_length([8, 32, 128], CURVES, **options)


def test_every_run_is_drawn_in_the_panel_of_its_model():
    panels = draw(columns=2).figure.axes
    assert [axes.get_title() for axes in panels[:3]] == list(CURVES)
    assert [[list(line.get_ydata()) for line in axes.lines] for axes in panels[:3]] == list(
        CURVES.values()
    )
    assert not panels[3].axison


def test_what_is_longer_than_in_training_is_shaded_and_the_scale_is_shared():
    panels = draw().figure.axes
    for axes in panels:
        left, right = (axes.patches[0].get_extents().x0, axes.patches[0].get_extents().x1)
        inverse = axes.transData.inverted()
        assert inverse.transform((left, 0))[0] == pytest.approx(32)
        assert inverse.transform((right, 0))[0] > 128
        assert axes.get_ylim() == panels[0].get_ylim()
        assert axes.get_ylim()[1] > 9


def test_nothing_is_shaded_where_nothing_is_longer():
    picture = draw(trained=128)
    assert picture.figure.axes[0].patches[:] == []
    assert picture.figure.get_supxlabel() == "characters"


def test_a_scale_may_end_below_the_highest_value():
    assert draw(top=6.0).figure.axes[0].get_ylim()[1] < 7


def test_the_text_gives_the_ends_and_the_trained_length_of_every_run():
    assert draw(title="Lengths").alt == (
        "Lengths. Lines of bits over characters 8, 32 and 128, trained at 32. "
        "plain: 4.00 to 3.00 to 5.00, 4.20 to 3.10 to 9.00; steady: 4.00 to 3.50 to 3.50; "
        "third: 4.00 to 3.50 to 3.60."
    )


def test_it_looks_the_same_on_every_run():
    first = draw()._repr_mimebundle_()
    assert draw()._repr_mimebundle_() == first
    assert "image/svg+xml" not in first
    assert draw().figure.get_supxlabel() == "characters (gray: longer than in training)"


@pytest.mark.parametrize(
    ("curves", "columns", "match"),
    [
        ({}, 4, "at least 1 model and 1 column, got 0 and 4"),
        (CURVES, 0, "got 3 and 0"),
        ({"a": [[1.0]]}, 4, r"a: expected runs of 3 values, got \[1\]"),
        ({"a": []}, 4, r"a: expected runs of 3 values, got \[\]"),
    ],
)
def test_what_cannot_be_drawn_is_a_value_error(curves, columns, match):
    with pytest.raises(ValueError, match=match):
        by_length([8, 32, 128], curves, trained=32, ylabel="bits", columns=columns)
