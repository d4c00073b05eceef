"""Mixtures of smooth bands, as in infrared, Raman or visible spectra."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca._support.messages import ArgumentError, option
from ngmca._support.seeds import Seed
from ngmca.simulate.mixture import Mixture, checked, draw_mixing, mix, simulator

MIN_HEIGHT = 0.1  # of a band before its spectrum is scaled; the largest is 1


@simulator
def bands(
    m: int = 40,
    n: int = 1024,
    r: int = 5,
    *,
    bands: int = 8,
    fwhm: float | tuple[float, float] = (10.0, 60.0),
    shape: str | float = "voigt",
    mixing: str = "uniform",
    snr: float | None = 25.0,
    seed: Seed = None,
) -> Mixture:
    """Simulate measurements of spectra with smooth bands.

    Each spectrum is a sum of pseudo-Voigt bands at random places with random heights. Its largest value
    is 1.

    Parameters
    ----------
    m, n, r : int
        Numbers of measurements, channels and sources.
    bands : int
        Number of bands in each spectrum.
    fwhm : float or (float, float)
        Full width at half maximum of the bands in channels, or the range from which it is drawn.
    shape : float or "voigt"
        Share of the Lorentzian, from 0 (Gaussian) to 1 (Lorentzian); "voigt" draws it for each band.
    {mixing}
    {noise}

    Returns
    -------
    {returns}

    Examples
    --------
    >>> import ngmca
    >>> ngmca.simulate.bands(m=8, n=100, r=2, seed=0).Y.shape
    (8, 100)
    """
    rng = checked(snr, seed, m=m, n=n, r=r, bands=bands)
    widths = _check_widths(fwhm)
    share = None if shape == "voigt" else _check_share(shape)
    S = np.stack([_spectrum(rng, n, bands, widths, share) for _ in range(r)])
    A = draw_mixing(mixing, m, r, rng)
    return replace(mix(A, S, snr, rng), axis=np.arange(n, dtype=float), axis_name="channel")


def _check_widths(fwhm: float | tuple[float, float]) -> tuple[float, float]:
    ends = fwhm if isinstance(fwhm, tuple | list) else (fwhm, fwhm)
    if len(ends) != 2:
        raise ArgumentError(
            "{} must be one width, or the smallest and the largest, got {!r}.", option("fwhm"), fwhm
        )
    low, high = (arguments.check_number(end, "fwhm", low=0.1) for end in ends)
    if low > high:
        raise ArgumentError("{} must start with the smaller width, got {!r}.", option("fwhm"), fwhm)
    return low, high


def _check_share(shape: str | float) -> float:
    if isinstance(shape, str):
        raise ArgumentError(
            "{} must be 'voigt' or a number between 0 and 1, got {!r}.", option("shape"), shape
        )
    return arguments.check_number(shape, "shape", high=1.0)


def _spectrum(
    rng: np.random.Generator, n: int, bands: int, widths: tuple[float, float], share: float | None
) -> NDArray:
    place, width = rng.uniform(0, n - 1, bands), rng.uniform(*widths, bands)
    height, drawn = rng.uniform(MIN_HEIGHT, 1.0, bands), rng.random(bands)
    lorentzian = drawn if share is None else np.full(bands, share)
    spectrum = pseudo_voigt(np.arange(n)[:, None] - place, width, lorentzian) @ height
    return spectrum / spectrum.max()


def pseudo_voigt(distance: NDArray, fwhm: NDArray, lorentzian: NDArray) -> NDArray:
    """Return the sum of a Gaussian and a Lorentzian of the same width, with this share of the latter."""
    square = (2 * distance / fwhm) ** 2
    return (1 - lorentzian) * np.exp2(-square) + lorentzian / (1 + square)
