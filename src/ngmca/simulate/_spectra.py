"""Mixtures of spectra with lines: what a spectrometer would record."""

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca._support.seeds import Seed, generator
from ngmca._support.threads import one_blas_thread
from ngmca.simulate.mixture import Mixture, check_sizes, check_snr, mix

PATTERNS = ([1], [1, 1], [1, 2, 1], [1, 3, 3, 1])  # heights in a multiplet


@one_blas_thread
def spectra(
    m: int = 40,
    n: int = 500,
    r: int = 5,
    *,
    lines: int = 8,
    width: float = 2.0,
    snr: float | None = 20.0,
    seed: Seed = None,
) -> Mixture:
    """m measurements of r spectra of Lorentzian lines on n channels.

    Each spectrum has `lines` lines of half width `width` channels, in groups as couplings make them;
    each measurement holds a random amount of every spectrum. White Gaussian noise is added at exactly
    `snr` dB, 20 unless told otherwise, as a spectrometer has some; None is noiseless.
    """
    check_sizes(m=m, n=n, r=r, lines=lines)
    check_snr(snr)
    if arguments.check_number(width, "width") == 0:
        raise ValueError("width must be above 0, or no channel would see a line.")
    rng = generator(seed)
    S = np.stack([_spectrum(rng, n, lines, width) for _ in range(r)])
    A = rng.gamma(1.5, size=(m, r))
    return mix(A, S, snr, rng)


def _spectrum(rng: np.random.Generator, n: int, lines: int, width: float) -> NDArray:
    """A sum of multiplets: groups of 1 to 4 lines at even distances, with binomial heights."""
    channels = np.arange(n)
    total = np.zeros(n)
    left = lines
    while left > 0:
        size = min(left, int(rng.integers(1, 5)))
        centre, height = rng.uniform(0.05 * n, 0.95 * n), rng.uniform(0.3, 1.0)
        heights = height * np.array(PATTERNS[size - 1]) / size
        for k, peak in enumerate(heights):
            place = centre + (k - (size - 1) / 2) * 6 * width
            total += peak / (1 + ((channels - place) / width) ** 2)
        left -= size
    return total
