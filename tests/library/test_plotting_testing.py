"""The figures of lesson 12: who finds whom, a gap on a logarithmic line, and how runs end."""

import pytest

from attn_lib.plotting import mutant_table, outcomes, strips

KINDS = {"scale": ["missing", "twice"], "mask": ["ignored"]}
ACCUSED = {"shape": set(), "parity": {"missing", "twice"}, "loose": {"ignored", "fused"}}


def dots(axes, color):
    """The places of all dots of a color: (column, row)."""
    return {
        (x, y)
        for line in axes.lines
        if line.get_color() == color
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
    }


def test_a_dark_cell_for_each_find_and_a_cross_for_each_false_alarm():
    (axes,) = mutant_table(ACCUSED, KINDS, ["einsum", "fused"]).figure.axes
    dark, orange, pale = (dots(axes, c) for c in ("#0b3c6f", "#d95f02", "#e4e4e4"))
    columns = sorted({x for x, _ in dark | orange | pale})
    assert len(columns) == 5
    assert {(columns.index(x), y) for x, y in dark if y < 3} == {(0, 1), (1, 1), (2, 2)}
    assert {(columns.index(x), y) for x, y in orange if y < 3} == {(4, 2)}
    assert len(dark | orange | pale) == 4 * 5


def test_groups_stand_apart_and_the_last_row_is_all_tests_together():
    (axes,) = mutant_table(ACCUSED, KINDS, ["einsum", "fused"]).figure.axes
    every = dots(axes, "#0b3c6f") | dots(axes, "#e4e4e4") | dots(axes, "#d95f02")
    one, two, three, four, _ = sorted({x for x, _ in every})
    assert two - one == 1 < three - two == pytest.approx(four - three)
    last = max(y for _, y in every)
    assert {x for x, y in dots(axes, "#0b3c6f") if y == last} == {one, two, three}


def test_the_text_counts_what_each_test_finds_and_names_the_wrongly_accused():
    assert mutant_table(ACCUSED, KINDS, ["einsum", "fused"]).alt == (
        "How many of 3 mutants each test finds: shape 0; parity 2; loose 1; together 3. "
        "Right ones accused: fused."
    )
    assert mutant_table({"shape": set()}, KINDS, ["fused"]).alt.endswith(
        "No right one accused."
    )


@pytest.mark.parametrize("accused", [{}, {"shape": {"nobody"}}])
def test_a_table_needs_a_test_and_knows_everybody_in_it(accused):
    with pytest.raises(ValueError, match="expected tests of the given implementations"):
        mutant_table(accused, KINDS, ["fused"])


def test_a_strip_has_a_dot_for_each_value_and_infinite_ones_stand_beside_it():
    panels = {
        "a": {"right": [1e-7, 1e-6], "wrong": [0.1, 20.0, float("inf")]},
        "b": {"right": [1e-20]},
    }
    picture = strips(panels, xlabel="difference", limits=(1e-9, 10), lines={"limit": 1e-2})
    upper, lower = picture.figure.axes
    right, wrong, line = upper.lines
    assert list(right.get_xdata()) == [1e-7, 1e-6]
    edge, beside = wrong.get_xdata()[1:]
    assert wrong.get_xdata()[0] == 0.1
    assert edge == 10 < beside
    assert [text.get_text() for text in upper.texts] == ["limit", "not comparable"]
    assert list(line.get_xdata()) == [1e-2, 1e-2]
    assert list(lower.lines[0].get_xdata()) == [1e-9]
    assert upper.get_xscale() == "log"
    assert right.get_color() != wrong.get_color()
    assert right.get_marker() != wrong.get_marker()
    assert picture.alt == (
        "Dots of difference. a: right, 2 from 1e-07 to 1e-06; wrong, 3 from 1e-01 to inf. "
        "b: right, 1 from 1e-20 to 1e-20. Lines: limit at 1e-02."
    )


@pytest.mark.parametrize("panels", [{}, {"a": {}}])
def test_strips_need_rows(panels):
    with pytest.raises(ValueError, match="at least one row"):
        strips(panels, xlabel="x", limits=(1, 2), lines={})


def test_outcomes_have_a_dot_for_each_run_and_a_line_where_a_guess_is():
    points = {"good": [(0.1, 0.2), (0.2, 0.1)], "stuck": [(1.0, 2.8)]}
    picture = outcomes(points, xlabel="norm", ylabel="loss", chance=2.77)
    good, stuck, guess = picture.figure.axes[0].lines
    assert list(zip(good.get_xdata(), good.get_ydata(), strict=True)) == points["good"]
    assert good.get_marker() != stuck.get_marker()
    assert list(guess.get_ydata()) == [2.77, 2.77]
    assert picture.alt == (
        "Dots of loss over norm: good (0.1, 0.2), (0.2, 0.1); stuck (1, 2.8). A guess: 2.77."
    )


@pytest.mark.parametrize("count", [0, 5])
def test_outcomes_need_one_to_four_settings(count):
    with pytest.raises(ValueError, match="1 to 4 settings"):
        outcomes({str(i): [(1, 1)] for i in range(count)}, xlabel="x", ylabel="y", chance=1)
