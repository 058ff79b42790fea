"""Panels of runs share one axis of steps, however often each was measured."""

import pytest

from attn_lib.plotting import stacked_runs

PANELS = {
    "loss (nats)": {"two": [[3.0, 1.0, 0.5, 0.25]], "one": [[3.0, 2.5, 2.0, 1.5]] * 2},
    "score": {"two": [[0.1, 0.9]]},
}


def test_a_value_stands_in_the_middle_of_the_steps_it_is_for():
    rows = stacked_runs(PANELS, steps=8).figure.axes
    assert list(rows[0].lines[0].get_xdata()) == [1, 3, 5, 7]
    assert list(rows[1].lines[0].get_xdata()) == [2, 6]
    assert list(rows[1].lines[0].get_ydata()) == [0.1, 0.9]


def test_the_panels_have_one_axis_of_steps_and_a_legend_where_settings_differ():
    upper, lower = stacked_runs(PANELS, steps=8).figure.axes
    assert upper.get_shared_x_axes().joined(upper, lower)
    assert (upper.get_xlabel(), lower.get_xlabel()) == ("", "step")
    assert [upper.get_ylabel(), lower.get_ylabel()] == list(PANELS)
    assert [text.get_text() for text in upper.get_legend().get_texts()] == ["two", "one"]
    assert lower.get_legend() is None


def test_runs_of_one_setting_look_alike_and_settings_differ_in_color_and_dashes():
    two, *one = stacked_runs(PANELS, steps=8).figure.axes[0].lines
    assert one[0].get_color() == one[1].get_color() != two.get_color()
    assert one[0].get_linestyle() == one[1].get_linestyle() != two.get_linestyle()


def test_the_text_says_where_every_run_ends():
    picture = stacked_runs(PANELS, steps=8, title="Growth")
    assert picture.alt == (
        "Growth. Lines over 8 steps. loss (nats): two, 1 runs, ends at 0.25; "
        "one, 2 runs, ends at 1.50, 1.50. score: two, 1 runs, ends at 0.90."
    )
    assert "image/svg+xml" not in picture._repr_mimebundle_()


@pytest.mark.parametrize(
    ("panels", "match"),
    [
        ({}, "at least 1 panel"),
        ({"loss": {}}, "1 to 4 settings, got 0"),
        ({"loss": {str(i): [[1.0]] for i in range(5)}}, "1 to 4 settings, got 5"),
        ({"loss": {"a": [[]]}}, "1 to 8 values, got 0"),
        ({"loss": {"a": [[1.0] * 9]}}, "1 to 8 values, got 9"),
    ],
)
def test_what_cannot_be_drawn_is_a_value_error(panels, match):
    with pytest.raises(ValueError, match=match):
        stacked_runs(panels, steps=8)
