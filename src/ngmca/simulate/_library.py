"""Mixtures of given spectra of pure substances."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support import arguments
from ngmca._support.messages import ArgumentError, ArgumentTypeError, option
from ngmca._support.seeds import Seed
from ngmca.simulate.mixture import Mixture, checked, draw_mixing, mix, simulator

GAUSSIAN_FWHM = 2 * np.sqrt(2 * np.log(2))  # in standard deviations


@dataclass(frozen=True)
class _Spectrum:
    """Values on a rising axis, and whether the axis was falling before."""

    name: str
    axis: NDArray
    values: NDArray
    falling: bool
    axis_name: str

    @property
    def ends(self) -> str:
        return f"{self.name} ({self.axis[0]:g} to {self.axis[-1]:g})"


@simulator
def library(
    spectra: Any,
    m: int = 40,
    n: int = 1024,
    r: int = 5,
    *,
    fwhm: float = 0.0,
    mixing: str = "uniform",
    snr: float | None = 25.0,
    seed: Seed = None,
) -> Mixture:
    """Simulate measurements of given spectra, on channels of their common range.

    Each spectrum is interpolated, its smallest value is subtracted as a baseline, and its largest value
    is scaled to 1. The axis has the direction of the first spectrum.

    Parameters
    ----------
    spectra : sequence or mapping
        Data sets of `ngmca.io.read`, each with one spectrum or more, pairs (axis, values), or a
        dictionary of these by name. Values must be proportional to the amount, as absorbance is:
        transmittance does not mix linearly.
    m, n : int
        Numbers of measurements and channels.
    r : int
        Number of spectra that are drawn, without repetition.
    fwhm : float
        Full width at half maximum, in channels, of a Gaussian with which each spectrum is convolved, as
        a coarser instrument or a liquid would do; 0 is no convolution.
    {mixing}
    {noise}

    Returns
    -------
    {returns}

    Raises
    ------
    ValueError
        If there are fewer than r spectra, or if they have no common range.

    Examples
    --------
    >>> import numpy as np
    >>> import ngmca
    >>> axis = np.linspace(400, 700, 50)
    >>> dyes = [(axis, np.exp(-(((axis - peak) / 40) ** 2))) for peak in (480, 600)]
    >>> ngmca.simulate.library(dyes, m=6, n=100, r=2, seed=0).Y.shape
    (6, 100)
    """
    rng = checked(snr, seed, m=m, n=n, r=r)
    arguments.check_count(n, "n", low=2)
    fwhm = arguments.check_number(fwhm, "fwhm", high=float(n))
    pool = _unique(list(_all(spectra)))
    if r > len(pool):
        raise ArgumentError(
            "{} is more than the {} spectra that were given: use a smaller {}, or give more spectra.",
            *(option("r", r), len(pool), option("r")),
        )
    chosen = [pool[i] for i in rng.permutation(len(pool))[:r]]
    axis = _common(chosen, n)
    S = np.stack([_drawn(spectrum, axis, fwhm) for spectrum in chosen])
    if chosen[0].falling:
        axis, S = axis[::-1].copy(), S[:, ::-1].copy()
    found = mix(draw_mixing(mixing, m, r, rng), S, snr, rng)
    names = tuple(spectrum.name for spectrum in chosen)
    return replace(found, names=names, axis=axis, axis_name=chosen[0].axis_name)


def _all(spectra: Any) -> Iterator[_Spectrum]:
    """Yield the single spectra."""
    if isinstance(spectra, str | PathLike):
        raise ArgumentTypeError(
            "{} is the name of a file, {!r}: pass [ngmca.io.read(path) for path in ...].",
            *(option("spectra"), str(spectra)),
        )
    if hasattr(spectra, "Y"):
        spectra = [spectra]
    named = spectra.items() if isinstance(spectra, Mapping) else ((None, item) for item in spectra)
    for number, (name, item) in enumerate(named, 1):
        yield from _one(item, name, number)


def _one(item: Any, name: str | None, number: int) -> Iterator[_Spectrum]:
    if hasattr(item, "Y"):
        axis = item.positions if hasattr(item, "positions") else item.axis
        axis_name = getattr(item, "axis_label", getattr(item, "axis_name", ""))
        rows = np.atleast_2d(arguments.as_array(item.Y, "spectra"))
        names: Sequence[str] = tuple(getattr(item, "names", ())) or tuple(
            map(str, range(1, len(rows) + 1))
        )
        if name is not None:
            names = [name] if len(rows) == 1 else [f"{name} {each}" for each in names]
    else:
        try:
            axis, values = item
        except (TypeError, ValueError):
            raise ArgumentTypeError(
                "{} must be a list of data sets or of pairs (axis, values), but contains {!r}.",
                *(option("spectra"), item),
            ) from None
        axis_name, rows = "", np.atleast_2d(arguments.as_array(values, "spectra"))
        names = [name or f"spectrum {number}"] * len(rows)
    for each, row in zip(names, rows, strict=True):
        yield _spectrum(str(each), axis, row, axis_name)


def _spectrum(name: str, positions: ArrayLike, values: NDArray, axis_name: str) -> _Spectrum:
    """Return a spectrum with a rising axis, without channels that are not finite."""
    axis: NDArray = arguments.as_array(positions, "axis").astype(float)
    if axis.shape != values.shape:
        raise ValueError(
            f"{name} has {values.size} values and an axis of {axis.size}: give one position for each "
            f"value."
        )
    good = np.isfinite(axis) & np.isfinite(values)
    axis, values = axis[good], values[good].astype(float)
    if axis.size < 2 or np.ptp(axis) == 0:
        raise ValueError(f"{name} has fewer than two channels with numbers: leave it out.")
    order = np.argsort(axis, kind="stable")
    return _Spectrum(name, axis[order], values[order], bool(axis[0] > axis[-1]), axis_name)


def _unique(pool: list[_Spectrum]) -> list[_Spectrum]:
    """Return the spectra with a number after names that occur more than once."""
    often, seen = Counter(spectrum.name for spectrum in pool), Counter[str]()
    for i, spectrum in enumerate(pool):
        if often[spectrum.name] > 1:
            seen[spectrum.name] += 1
            pool[i] = replace(spectrum, name=f"{spectrum.name} ({seen[spectrum.name]})")
    return pool


def _common(chosen: list[_Spectrum], n: int) -> NDArray:
    """Return n positions that all chosen spectra cover."""
    first = max(chosen, key=lambda spectrum: spectrum.axis[0])
    last = min(chosen, key=lambda spectrum: spectrum.axis[-1])
    if first.axis[0] >= last.axis[-1]:
        raise ValueError(
            f"the spectra have no common range: {first.ends} and {last.ends} do not overlap. Leave out "
            "one of them, or convert both to the same unit."
        )
    return np.linspace(first.axis[0], last.axis[-1], n)


def _drawn(spectrum: _Spectrum, axis: NDArray, fwhm: float) -> NDArray:
    """Return the spectrum on the axis, scaled from 0 to 1."""
    values = np.interp(axis, spectrum.axis, spectrum.values)
    values = values - values.min()
    if fwhm:
        from scipy.ndimage import gaussian_filter1d  # slow to import

        values = np.maximum(gaussian_filter1d(values, fwhm / GAUSSIAN_FWHM, mode="reflect"), 0)
    if not values.max() > 0:
        raise ValueError(
            f"{spectrum.name} is flat from {axis[0]:g} to {axis[-1]:g}, the common range of the "
            "spectra: leave it out."
        )
    return values / values.max()
