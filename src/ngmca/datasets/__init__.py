"""Small sample data sets that are part of the package, with their true answers.

Both are simulated by formulas of this module. Their truth is known, and anybody may redistribute
them (BSD-3-Clause, like ngmca). Real data sets are not part of the package:
``bench/real_mixtures.py`` of the repository reads them out of other packages.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ngmca.io import Dataset, read

__all__ = ["NAMES", "Sample", "mixtures", "path", "reaction"]

NAMES = ("mixtures", "reaction")
Bands = dict[int, list[tuple[float, float, float]]]  # position, standard deviation, height


@dataclass(frozen=True)
class Sample:
    """A data set with its true answer.

    Attributes
    ----------
    data : Dataset
        The measurements, read from the file.
    A, S : array
        True amounts (m, r) and true spectra (r, n).
    substances : tuple of str
        Names of the sources.
    """

    data: Dataset
    A: NDArray
    S: NDArray
    substances: tuple[str, ...]


def path(name: str) -> Path:
    """Return the file of a sample.

    Parameters
    ----------
    name : {"mixtures", "reaction"}
        Name of the sample.

    Returns
    -------
    Path
        A table of text: one row for each measurement, one column for each channel.

    Examples
    --------
    >>> path("reaction").name
    'reaction.csv'
    """
    if name not in NAMES:
        raise ValueError(f"there is no sample {name!r}. Choose one of {', '.join(NAMES)}.")
    return Path(__file__).with_name(f"{name}.csv")


def reaction() -> Sample:
    """Load a reaction A -> B -> C, followed in the ultraviolet: 30 times, 141 wavelengths.

    Returns
    -------
    Sample
        The data, and the concentrations and spectra of A, B and C.

    Examples
    --------
    >>> reaction().data
    Dataset: 30 x 141, wavelength [nm] from 220 to 500
    """
    A, S, _, _ = reaction_formulas()
    return Sample(read(path("reaction")), A, S, ("A", "B", "C"))


def mixtures() -> Sample:
    """Load 25 mixtures of three substances on a sloping baseline, in the infrared: 241 wavenumbers.

    Returns
    -------
    Sample
        The data, and the amounts and spectra of the three substances.

    Examples
    --------
    >>> mixtures().data
    Dataset: 25 x 241, wavenumber [cm-1] from 800 to 2000
    """
    A, S, _, _ = mixtures_formulas()
    return Sample(read(path("mixtures")), A, S, ("alcohol", "acid", "ester"))


def reaction_formulas() -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Return amounts, spectra, wavelengths and times (min) of two steps of first order."""
    axis, times = np.arange(220.0, 501.0, 2.0), np.arange(0.0, 60.0, 2.0)
    a = np.exp(-0.12 * times)
    b = 0.12 / (0.12 - 0.04) * (np.exp(-0.04 * times) - np.exp(-0.12 * times))
    bands: Bands = {
        0: [(255, 12, 1.0), (310, 16, 0.4)],
        1: [(285, 14, 0.9), (370, 20, 0.7)],
        2: [(240, 10, 0.6), (430, 24, 0.8)],
    }
    return np.column_stack([a, b, 1 - a - b]), _spectra(axis, bands), axis, times


def mixtures_formulas() -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Return amounts, spectra, wavenumbers and baselines of the mixtures."""
    axis, number = np.arange(800.0, 2001.0, 5.0), np.arange(25)
    A = np.column_stack([0.5 + 0.5 * np.cos(number * step) for step in (0.7, 1.9, 3.1)])
    bands: Bands = {
        0: [(1050, 25, 1.0), (1340, 30, 0.3)],
        1: [(1280, 22, 0.6), (1415, 18, 0.4), (1710, 16, 1.0)],
        2: [(1090, 20, 0.4), (1240, 20, 0.9), (1745, 14, 1.0)],
    }
    slope = (axis - 800) / 1200
    return A, _spectra(axis, bands), axis, np.outer(0.2 + 0.3 * np.sin(number) ** 2, 1.2 - slope**2)


def _spectra(axis: NDArray, bands: Bands) -> NDArray:
    """Gaussian bands, each with its position, standard deviation and height."""
    S = np.zeros((len(bands), len(axis)))
    for i, rows in bands.items():
        for at, sd, height in rows:
            S[i] += height * np.exp(-0.5 * ((axis - at) / sd) ** 2)
    return S
