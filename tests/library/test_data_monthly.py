import torch

from attn_lib.data.monthly import co2, every_quarter, sunspots


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


def test_carbon_dioxide_rises_and_has_its_low_in_autumn():
    dates, values = co2()
    assert dates.shape == values.shape == (37 * 12,)
    years = values.view(-1, 12)
    assert (years[1:].mean(1) > years[:-1].mean(1)).all()
    assert set(years.argmin(1)[1:].tolist()) <= {0, 7, 8, 9}
    assert 319 < values[0] < 320


def test_a_quarter_is_the_mean_of_three_months():
    assert every_quarter(torch.arange(8.0)).tolist() == [1, 4]
