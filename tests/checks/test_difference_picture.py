"""The small picture of a difference: its colors, and what it leaves out."""

import base64
import re

import pytest
import torch

from attn_lib.checks.difference_picture import difference_picture

NAN = float("nan")


def drawn(expected, actual):
    """Return the picture's SVG."""
    picture = difference_picture(torch.tensor(expected), torch.tensor(actual))
    return base64.b64decode(re.search(r"base64,([^\"]+)", picture)[1]).decode()


def test_values_run_from_pale_to_dark_and_what_differs_is_marked():
    svg = drawn([[0.0, 1.0], [2.0, 4.0]], [[0.0, 1.0], [2.0, NAN]])
    fills = re.findall(r'fill="([^"]+)" stroke', svg)
    grays = ["rgb(232,238,246)", "rgb(174,191,211)", "rgb(116,144,176)", "rgb(0,51,105)"]
    same = "#eeeeee"
    assert fills == [*grays, *grays[:3], "#d1495b", same, same, same, "#1b1b1b"]
    assert re.search(r'width="(\d+)" height="(\d+)"', svg).groups() == ("284", "68")
    titles = re.findall(r'<text x="(\d+)" y="14">(\w+)</text>', svg)
    assert titles == [("6", "expected"), ("106", "yours"), ("206", "differs")]
    cells = re.findall(r'<rect x="(\d+)" y="(\d+)" width="36" height="20"', svg)
    grid = [(x, y) for y in (20, 40) for x in (0, 36)]
    assert cells == [(str(left + x), str(y)) for left in (6, 106, 206) for x, y in grid]
    assert '<rect width="100%" height="100%" fill="#ffffff"/>' in svg


def test_small_grids_have_numbers_dark_on_pale_and_white_on_dark():
    svg = drawn([[0.0, 1.0], [2.0, 4.0]], [[-0.001, 12.345], [-2.0, NAN]])
    numbers = re.findall(r'fill="(#\w+)" font-size="11" text-anchor="middle">(.+?)<', svg)
    black, white = "#000000", "#ffffff"
    inks = [black, black, black, white, black, white, black, white]
    shown = ["0.00", "1.00", "2.00", "4.00", "0.00", "12.3", "-2.00", "nan"]
    assert numbers == list(zip(inks, shown, strict=True))


def test_wide_grids_stand_apart_without_numbers_and_are_said_in_words():
    picture = difference_picture(torch.zeros(2, 6), torch.eye(2, 6))
    assert 'alt="Grids of the expected and your values; 2 of 12 cells differ."' in picture
    assert 'width="356" height="60" style' in picture
    svg = drawn([[0.0] * 6] * 2, [[1.0] * 6] * 2)
    assert re.findall(r'<text x="(\d+)"', svg) == ["6", "130", "254"]


def test_where_nothing_is_finite_there_are_no_shades():
    svg = drawn([[NAN, NAN]], [[NAN, float("inf")]])
    fills = re.findall(r'fill="([^"]+)" stroke', svg)
    assert fills == ["#d1495b"] * 4 + ["#eeeeee", "#1b1b1b"]


def test_equal_values_are_neither_pale_nor_dark():
    assert "rgb(116,144,176)" in drawn([[3.0, 3.0]], [[3.0, 3.0]])


@pytest.mark.parametrize("shape", [(1, 1), (13, 2), (2, 13)])
def test_what_is_too_small_or_too_large_has_no_picture(shape):
    assert difference_picture(torch.zeros(shape), torch.ones(shape)) == ""
    assert difference_picture(torch.zeros(2, 12), None) == ""
    assert difference_picture(torch.zeros(2, 12), torch.ones(2, 12))
