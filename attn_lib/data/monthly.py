"""A series of monthly means, kept beside this file: sunspots.

Sunspots: sunspots.csv, monthly mean sunspot numbers from January 1749 to December 2008, collected by
the National Geophysical Data Center of NOAA (ngdc.noaa.gov/stp/solar).

They were taken from the data sets of statsmodels 0.15.0, which names them as public domain.
"""

import csv
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

FOLDER = Path(__file__).parent


def sunspots() -> tuple[Float[Tensor, " t"], Float[Tensor, " t"]]:
    """Return the dates in years, such as 1749.5, and the mean number of each month from 1749 to 2008."""
    with open(FOLDER / "sunspots.csv", encoding="ascii", newline="") as file:
        _, *rows = csv.reader(file)  # a row for each year: the year, and twelve values
    values = torch.tensor([[float(cell) for cell in row[1:]] for row in rows])
    start = int(rows[0][0])
    middle = (torch.arange(values.numel(), dtype=torch.float64) + 0.5) / 12  # of each month
    return (start + middle).float(), values.flatten()


def every_quarter(series: Float[Tensor, " t"]) -> Float[Tensor, " q"]:
    """Average three months at a time; months over at the end are dropped.

    Args:
        series: (T,), one value for each month.

    Returns:
        (T // 3,).
    """
    return series[: len(series) // 3 * 3].view(-1, 3).mean(dim=1)
