"""Two series of monthly means, kept beside this file: sunspots, and carbon dioxide in the air.

Sunspots: sunspots.csv, monthly mean sunspot numbers from January 1749 to December 2008, collected by
the National Geophysical Data Center of NOAA (ngdc.noaa.gov/stp/solar).

Carbon dioxide: co2.csv, parts per million at the Mauna Loa Observatory, Hawaii, from January 1965 to
December 2001. Here the weekly values of C. D. Keeling and T. P. Whorf (2004), published by the Carbon
Dioxide Information Analysis Center of Oak Ridge National Laboratory, are averaged for each month.

Both were taken from the data sets of statsmodels 0.15.0, which names them as public domain.
"""

import csv
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

FOLDER = Path(__file__).parent


def sunspots() -> tuple[Float[Tensor, " t"], Float[Tensor, " t"]]:
    """Return the dates in years, such as 1749.5, and the mean number of each month from 1749 to 2008."""
    return _read("sunspots.csv")


def co2() -> tuple[Float[Tensor, " t"], Float[Tensor, " t"]]:
    """Return the dates in years, and the mean ppm of each month from 1965 to 2001."""
    return _read("co2.csv")


def every_quarter(series: Float[Tensor, " t"]) -> Float[Tensor, " q"]:
    """Average three months at a time; months over at the end are dropped.

    Args:
        series: (T,), one value for each month.

    Returns:
        (T // 3,).
    """
    return series[: len(series) // 3 * 3].view(-1, 3).mean(dim=1)


def _read(name: str) -> tuple[Tensor, Tensor]:
    """Read a file with a row for each year: the year, and twelve values."""
    with open(FOLDER / name, encoding="ascii", newline="") as file:
        _, *rows = csv.reader(file)
    values = torch.tensor([[float(cell) for cell in row[1:]] for row in rows])
    start = int(rows[0][0])
    middle = (torch.arange(values.numel(), dtype=torch.float64) + 0.5) / 12  # of each month
    return (start + middle).float(), values.flatten()
