import torch

from attn_lib.data.monthly import every_quarter, sunspots


def test_sunspots_are_there_for_every_month_of_260_years():
    dates, values = sunspots()
    assert dates.shape == values.shape == (260 * 12,)
    assert 1749 < dates[0] < 1749.1
    assert 2008.9 < dates[-1] < 2009
    assert values[:2].tolist() == [58.0, torch.tensor(62.6).item()]
    assert values.min() >= 0


def test_sunspots_rise_and_fall_in_about_eleven_years():
    _, values = sunspots()
    values = values - values.mean()
    likeness = [float((values[lag:] * values[:-lag]).mean()) for lag in range(60, 180)]
    assert 120 < 60 + max(range(120), key=likeness.__getitem__) < 140


def test_a_quarter_is_the_mean_of_three_months():
    assert every_quarter(torch.arange(8.0)).tolist() == [1, 4]
