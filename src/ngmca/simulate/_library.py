"""Mixtures of a user's own spectra of pure substances."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support import arguments
from ngmca._support.seeds import Seed, generator
from ngmca._support.threads import one_blas_thread
from ngmca.simulate.mixing import MIXINGS, draw_mixing
from ngmca.simulate.mixture import Mixture, check_sizes, check_snr, mix

WRONG = "spectra must be a list of data sets or of pairs (axis, values)"
FWHM = 2 * np.sqrt(2 * np.log(2))  # of a Gaussian, in standard deviations


@dataclass(frozen=True)
class _Spectrum:
    """Values on a rising axis."""

    name: str
    axis: NDArray
    values: NDArray
    falling: bool  # whether the axis fell before
    axis_name: str

    @property
    def ends(self) -> str:
        return f"{self.name} ({self.axis[0]:g} to {self.axis[-1]:g})"


@one_blas_thread
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
    """m measurements of r spectra, drawn out of those given, on n channels of their common range.

    Parameters
    ----------
    spectra
        What has been read: data sets of `ngmca.io.read`, each with one spectrum or more, pairs (axis,
        values), or a dictionary of such by name. Values must grow with the amount, as absorbance does:
        transmittance does not mix linearly.
    r
        How many of them are drawn, without repetition.
    fwhm
        Each is convolved with a Gaussian of that full width at half maximum, in channels, as a coarser
        instrument or a liquid would have it; 0 leaves them as they are.
    mixing
        Amounts between 0 and 1 ("uniform"), or such that sum to 1 in every measurement ("dirichlet").
    snr
        White Gaussian noise is added at exactly that many dB; None is noiseless.

    Each spectrum is interpolated, its smallest value is taken away as a baseline, and the largest is
    brought to 1. The axis runs as that of the first one drawn does.
    """
    check_sizes(m=m, n=n, r=r)
    arguments.check_count(n, "n", low=2)
    check_snr(snr)
    fwhm = arguments.check_number(fwhm, "fwhm", high=float(n))
    arguments.check_choice(mixing, "mixing", MIXINGS)
    pool = _unique(list(_all(spectra)))
    if r > len(pool):
        raise ValueError(f"r={r} of {len(pool)} spectra that there are: use a smaller r, or give more.")
    rng = generator(seed)
    chosen = [pool[i] for i in rng.permutation(len(pool))[:r]]
    axis = _common(chosen, n)
    S = np.stack([_drawn(spectrum, axis, fwhm) for spectrum in chosen])
    if chosen[0].falling:
        axis, S = axis[::-1].copy(), S[:, ::-1].copy()
    found = mix(draw_mixing(mixing, m, r, rng), S, snr, rng)
    names = tuple(spectrum.name for spectrum in chosen)
    return replace(found, names=names, axis=axis, axis_name=chosen[0].axis_name)


def _all(spectra: Any) -> Iterator[_Spectrum]:
    """Every single spectrum in what was given."""
    if isinstance(spectra, str | PathLike):
        raise TypeError(
            f"spectra must have been read, got {spectra!r}: pass [ngmca.io.read(path) for path in ...]."
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
            raise TypeError(f"{WRONG}, got {item!r} among them.") from None
        axis_name, rows = "", np.atleast_2d(arguments.as_array(values, "spectra"))
        names = [name or f"spectrum {number}"] * len(rows)
    for each, row in zip(names, rows, strict=True):
        yield _spectrum(str(each), axis, row, axis_name)


def _spectrum(name: str, positions: ArrayLike, values: NDArray, axis_name: str) -> _Spectrum:
    """A spectrum with its axis made to rise, without the channels that hold no number."""
    axis: NDArray = arguments.as_array(positions, "axis").astype(float)
    if axis.shape != values.shape:
        raise ValueError(
            f"{name} has {values.size} values on an axis of {axis.size}: give one position a value."
        )
    good = np.isfinite(axis) & np.isfinite(values)
    axis, values = axis[good], values[good].astype(float)
    if axis.size < 2 or np.ptp(axis) == 0:
        raise ValueError(f"{name} has fewer than two channels with numbers: leave it out.")
    order = np.argsort(axis, kind="stable")
    return _Spectrum(name, axis[order], values[order], bool(axis[0] > axis[-1]), axis_name)


def _unique(pool: list[_Spectrum]) -> list[_Spectrum]:
    """The same with a number behind names that occur more than once."""
    often, seen = Counter(spectrum.name for spectrum in pool), Counter[str]()
    for i, spectrum in enumerate(pool):
        if often[spectrum.name] > 1:
            seen[spectrum.name] += 1
            pool[i] = replace(spectrum, name=f"{spectrum.name} ({seen[spectrum.name]})")
    return pool


def _common(chosen: list[_Spectrum], n: int) -> NDArray:
    """n positions that all of the chosen spectra cover."""
    first = max(chosen, key=lambda spectrum: spectrum.axis[0])
    last = min(chosen, key=lambda spectrum: spectrum.axis[-1])
    if first.axis[0] >= last.axis[-1]:
        raise ValueError(
            f"the spectra have no common range: {first.ends} and {last.ends} do not overlap. Leave one "
            "of them out, or bring both to one unit."
        )
    return np.linspace(first.axis[0], last.axis[-1], n)


def _drawn(spectrum: _Spectrum, axis: NDArray, fwhm: float) -> NDArray:
    """The spectrum on the axis, from 0 to 1."""
    values = np.interp(axis, spectrum.axis, spectrum.values)
    values = values - values.min()
    if fwhm:
        from scipy.ndimage import gaussian_filter1d  # only here: it takes long to load

        values = np.maximum(gaussian_filter1d(values, fwhm / FWHM, mode="reflect"), 0)
    if not values.max() > 0:
        raise ValueError(
            f"{spectrum.name} is flat from {axis[0]:g} to {axis[-1]:g}, where all of the spectra are "
            "known: leave it out."
        )
    return values / values.max()
