"""The figures of lesson 13: numbers beside their levels, and repeated runs over one axis."""

import pytest

from attn_lib.plotting import levels, repeated

ROWS = {"fine": ([-1.0, 0.4, 0.6, 3.0], 1.0), "coarse": ([-1.0, 0.4], 2.0)}
CURVES = {"row": [[2.0, 3.0], [2.5, 3.5]], "matrix": [[2.0, 6.0]]}


def test_a_line_leads_from_each_number_to_its_nearest_level():
    (axes,) = levels(ROWS, bits=3, xlabel="weight").figure.axes
    ends = [tuple(line.get_xdata()) for line in axes.lines if len(line.get_xdata()) == 2]
    assert ends[:4] == [(-1.0, -1.0), (0.4, 0.0), (0.6, 1.0), (3.0, 3.0)]
    assert ends[4] in {(-1.0, -2.0), (-1.0, 0.0)}  # in the middle of two levels


def test_the_levels_are_those_that_the_bits_hold_symmetric_around_zero():
    (axes,) = levels(ROWS, bits=3, xlabel="weight").figure.axes
    fine, coarse = axes.collections
    assert [path.vertices[0, 0] for path in fine.get_paths()] == [-3, -2, -1, 0, 1, 2, 3]
    assert [path.vertices[0, 0] for path in coarse.get_paths()][-1] == 6


def test_no_number_is_rounded_beyond_the_last_level():
    picture = levels({"": ([5.0, 4.0], 1.0)}, bits=3, xlabel="weight", limit=6)
    (axes,) = picture.figure.axes
    assert tuple(axes.lines[0].get_xdata()) == (5.0, 3.0)
    assert "2 numbers on 1 of 7 levels" in picture.alt


def test_what_is_beyond_the_limit_is_left_out_and_the_text_counts_what_is_shown():
    picture = levels(ROWS, bits=8, xlabel="activation", limit=2.5)
    assert picture.figure.axes[0].get_xlim() == (-2.5, 2.5)
    assert picture.alt == (
        "Number lines of activation, from -2.5 to 2.5, 8 bits. "
        "fine: 3 numbers on 3 of 5 levels; coarse: 2 numbers on 1 of 3 levels."
    )


@pytest.mark.parametrize("rows", [{}, {"a": ([], 1.0)}, {"a": ([1.0], 0.0)}])
def test_rows_that_have_no_levels_are_a_value_error(rows):
    with pytest.raises(ValueError, match="numbers and a positive scale"):
        levels(rows, bits=8, xlabel="weight")


def test_the_runs_of_one_setting_look_alike_and_settings_differ_in_more_than_color():
    axes = repeated([8, 2], CURVES, xlabel="bits", ylabel="loss").figure.axes[0]
    one, two, other = axes.lines
    for style in ("get_color", "get_linestyle", "get_marker"):
        values = [getattr(line, style)() for line in (one, two, other)]
        assert values[0] == values[1] != values[2]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["row", "matrix"]


def test_places_are_evenly_spaced_in_the_given_order_or_by_powers_of_two():
    even = repeated([8, 4, 2], {"": [[1, 2, 3]]}, xlabel="bits", ylabel="loss").figure.axes[
        0
    ]
    assert list(even.lines[0].get_xdata()) == [0, 1, 2]
    assert [text.get_text() for text in even.get_xticklabels()] == ["8", "4", "2"]
    assert even.get_legend() is None
    log = repeated(
        [1, 4, 64], {"": [[1, 2, 3]]}, xlabel="size", ylabel="loss", x_log=True, lowest=0.5
    ).figure.axes[0]
    assert list(log.lines[0].get_xdata()) == [1, 4, 64]
    assert log.get_xscale() == "log"
    assert log.get_ylim()[0] == 0.5


def test_the_text_alternative_names_the_ends_of_every_run():
    assert repeated([8, 2], CURVES, xlabel="bits", ylabel="loss").alt == (
        "Lines of loss over bits, 8 to 2: row, 2 runs, from 2.00 to 3.00, from 2.50 to 3.50; "
        "matrix, 1 runs, from 2.00 to 6.00."
    )


@pytest.mark.parametrize(
    ("curves", "match"),
    [
        ({}, "1 to 4 settings, got 0"),
        ({str(i): [[1.0, 2.0]] for i in range(5)}, "1 to 4 settings, got 5"),
        ({"a": []}, r"runs of 2 values, got \[\]"),
        ({"a": [[1.0, 2.0], [1.0]]}, r"runs of 2 values, got \[2, 1\]"),
    ],
)
def test_runs_that_cannot_be_drawn_are_a_value_error(curves, match):
    with pytest.raises(ValueError, match=match):
        repeated([8, 2], curves, xlabel="bits", ylabel="loss")
