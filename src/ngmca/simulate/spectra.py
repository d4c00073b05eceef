"""Mixtures of spectra with lines: what a spectrometer would record."""

import numpy as np
from numpy.typing import NDArray

from ngmca.simulate.mixture import Mixture, mix

PATTERNS = ([1], [1, 1], [1, 2, 1], [1, 3, 3, 1])  # heights in a multiplet


def spectra(
    *,
    m: int,
    n: int,
    r: int,
    lines: int = 8,
    width: float = 2.0,
    snr: float | None = 20.0,
    seed: int | np.random.Generator | None = None,
) -> Mixture:
    """A noisy mixture of r spectra of Lorentzian lines.

    Each spectrum has about `lines` lines of half width `width` samples, in groups as couplings make
    them; each measurement holds a random amount of every spectrum.
    """
    for name, size in (("m", m), ("n", n), ("r", r), ("lines", lines)):
        if size < 1:
            raise ValueError(f"{name} must be at least 1, got {size}.")
    if not width > 0:
        raise ValueError(f"width must be positive, got {width}.")
    rng = np.random.default_rng(seed)
    S = np.stack([_spectrum(rng, n, lines, width) for _ in range(r)])
    A = rng.gamma(1.5, size=(m, r))
    return mix(A, S, snr, rng)


def _spectrum(rng: np.random.Generator, n: int, lines: int, width: float) -> NDArray:
    """A sum of multiplets: groups of 1 to 4 lines at even distances, with binomial heights."""
    samples = np.arange(n)
    total = np.zeros(n)
    left = lines
    while left > 0:
        size = min(left, int(rng.integers(1, 5)))
        centre, height = rng.uniform(0.05 * n, 0.95 * n), rng.uniform(0.3, 1.0)
        heights = height * np.array(PATTERNS[size - 1]) / size
        for k, peak in enumerate(heights):
            place = centre + (k - (size - 1) / 2) * 6 * width
            total += peak / (1 + ((samples - place) / width) ** 2)
        left -= size
    return total
