"""Curves over the layers of deep models."""

import pytest

from attn_lib.plotting import by_layer

CURVES = {"pre": [[1.0, 2.0, 4.0], [1.5, 2.5, 4.5]], "post": [[0.01, 0.1, 1.0]]}


def test_each_value_stands_at_its_layer():
    (axes,) = by_layer({"": CURVES}, ylabel="norm").figure.axes
    assert list(axes.lines[0].get_xdata()) == [1, 2, 3]
    assert list(axes.lines[0].get_ydata()) == [1.0, 2.0, 4.0]
    (axes,) = by_layer({"": CURVES}, ylabel="norm", first=0).figure.axes
    assert list(axes.lines[0].get_xdata()) == [0, 1, 2]


def test_runs_of_one_setting_look_alike_and_settings_differ_in_more_than_color():
    one, two, other = by_layer({"": CURVES}, ylabel="norm").figure.axes[0].lines
    assert one.get_color() == two.get_color() != other.get_color()
    assert one.get_linestyle() == two.get_linestyle() != other.get_linestyle()
    assert one.get_marker() == two.get_marker() != other.get_marker()


def test_a_setting_looks_the_same_in_every_panel_and_the_panels_share_one_scale():
    panels = {"before": CURVES, "after": {"post": [[10.0, 1.0, 1.0]]}}
    left, right = by_layer(panels, ylabel="norm").figure.axes
    assert [left.get_title(), right.get_title()] == ["before", "after"]
    assert left.lines[2].get_color() == right.lines[0].get_color()
    assert left.get_ylim() == right.get_ylim()


def test_the_scale_begins_at_zero_or_holds_at_least_two_powers_of_ten():
    assert by_layer({"": CURVES}, ylabel="norm").figure.axes[0].get_ylim()[0] == 0
    for run in ([1.0, 1.5], [1e-6, 10.0]):
        (axes,) = by_layer({"": {"a": [run]}}, ylabel="norm", log=True).figure.axes
        low, high = axes.get_ylim()
        assert axes.get_yscale() == "log"
        assert low < min(run) < max(run) < high
        assert high / low >= 99.9


def test_a_legend_only_where_settings_differ():
    (legend,) = by_layer({"": CURVES}, ylabel="norm").figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["pre", "post"]
    assert not by_layer({"": {"pre": CURVES["pre"]}}, ylabel="norm").figure.legends


def test_the_text_says_where_every_run_begins_and_ends():
    assert by_layer({"Depth": CURVES}, ylabel="norm").alt == (
        "Lines of norm over layers 1 to 3. Depth: pre, 2 runs, from 1 to 4, from 1.5 to 4.5; "
        "post, 1 runs, from 0.01 to 1."
    )


@pytest.mark.parametrize(
    ("panels", "match"),
    [
        ({}, "at least 1 panel"),
        ({"": {}}, "1 to 4 settings, got 0"),
        ({"": {str(i): [[1.0]] for i in range(5)}}, "1 to 4 settings, got 5"),
        ({"": {"a": [[1.0], [1.0, 2.0]]}}, r"one length, got \[1, 2\]"),
    ],
)
def test_what_cannot_be_drawn_is_a_value_error(panels, match):
    with pytest.raises(ValueError, match=match):
        by_layer(panels, ylabel="norm")
