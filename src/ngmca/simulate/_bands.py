"""Mixtures of smooth bands, as in infrared, Raman or visible spectra."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca._support.seeds import Seed, generator
from ngmca._support.threads import one_blas_thread
from ngmca.simulate.mixing import MIXINGS, draw_mixing
from ngmca.simulate.mixture import Mixture, check_sizes, check_snr, mix

LOWEST = 0.1  # height of a band before its spectrum is scaled; the highest is 1


@one_blas_thread
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
    """m measurements of r spectra of smooth bands on n channels.

    Each spectrum is a sum of `bands` pseudo-Voigt bands at random places, with random heights and a
    largest value of 1. Their full widths at half maximum, in channels, are drawn between the two of
    `fwhm`, or are that number. `shape` is the share of the Lorentzian, 0 for Gaussians to 1 for
    Lorentzians; "voigt" draws one for every band. The amounts are drawn between 0 and 1
    (mixing="uniform"), or sum to 1 in every measurement ("dirichlet"). White Gaussian noise is added at
    exactly `snr` dB; None is noiseless.
    """
    check_sizes(m=m, n=n, r=r, bands=bands)
    check_snr(snr)
    widths = _check_widths(fwhm)
    share = None if shape == "voigt" else _check_share(shape)
    arguments.check_choice(mixing, "mixing", MIXINGS)
    rng = generator(seed)
    S = np.stack([_spectrum(rng, n, bands, widths, share) for _ in range(r)])
    A = draw_mixing(mixing, m, r, rng)
    return replace(mix(A, S, snr, rng), axis=np.arange(n, dtype=float), axis_name="channel")


def _check_widths(fwhm: Any) -> tuple[float, float]:
    ends = fwhm if isinstance(fwhm, tuple | list) else (fwhm, fwhm)
    if len(ends) != 2:
        raise ValueError(f"fwhm must be one width or two, the least and the largest, got {fwhm!r}.")
    low, high = (arguments.check_number(end, "fwhm", low=0.1) for end in ends)
    if low > high:
        raise ValueError(f"fwhm must begin with the smaller width, got {fwhm!r}.")
    return low, high


def _check_share(shape: Any) -> float:
    if isinstance(shape, str):
        raise ValueError(f'shape must be "voigt" or a number between 0 and 1, got {shape!r}.')
    return arguments.check_number(shape, "shape", high=1.0)


def _spectrum(
    rng: np.random.Generator, n: int, bands: int, widths: tuple[float, float], share: float | None
) -> NDArray:
    place, width = rng.uniform(0, n - 1, bands), rng.uniform(*widths, bands)
    height, drawn = rng.uniform(LOWEST, 1.0, bands), rng.random(bands)
    lorentzian = drawn if share is None else np.full(bands, share)
    spectrum = pseudo_voigt(np.arange(n)[:, None] - place, width, lorentzian) @ height
    return spectrum / spectrum.max()


def pseudo_voigt(distance: NDArray, fwhm: NDArray, lorentzian: NDArray) -> NDArray:
    """A Gaussian and a Lorentzian of the same width and of height 1, the latter with that share."""
    square = (2 * distance / fwhm) ** 2
    return (1 - lorentzian) * np.exp2(-square) + lorentzian / (1 + square)
