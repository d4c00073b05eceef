"""Mixtures of spectra with lines."""

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca._support.messages import ArgumentError, option
from ngmca._support.seeds import Seed
from ngmca.simulate.mixture import Mixture, checked, mix, simulator

MULTIPLETS = ([1], [1, 1], [1, 2, 1], [1, 3, 3, 1])  # relative heights of the lines


@simulator
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
    """Simulate measurements of spectra with Lorentzian lines, in groups as from couplings.

    Each measurement contains a random amount of each spectrum.

    Parameters
    ----------
    m, n, r : int
        Numbers of measurements, channels and sources.
    lines : int
        Number of lines in each spectrum.
    width : float
        Half width at half maximum of a line in channels.
    {noise}

    Returns
    -------
    {returns}

    Examples
    --------
    >>> import ngmca
    >>> ngmca.simulate.spectra(m=8, n=100, r=2, seed=0).Y.shape
    (8, 100)
    """
    rng = checked(snr, seed, m=m, n=n, r=r, lines=lines)
    if arguments.check_number(width, "width") == 0:
        raise ArgumentError("{} must be above 0.", option("width"))
    S = np.stack([_spectrum(rng, n, lines, width) for _ in range(r)])
    A = rng.gamma(1.5, size=(m, r))
    return mix(A, S, snr, rng)


def _spectrum(rng: np.random.Generator, n: int, lines: int, width: float) -> NDArray:
    """Return a sum of multiplets: groups of 1 to 4 equidistant lines with binomial heights."""
    channels = np.arange(n)
    total = np.zeros(n)
    left = lines
    while left > 0:
        size = min(left, int(rng.integers(1, 5)))
        centre, height = rng.uniform(0.05 * n, 0.95 * n), rng.uniform(0.3, 1.0)
        heights = height * np.array(MULTIPLETS[size - 1]) / size
        for k, peak in enumerate(heights):
            place = centre + (k - (size - 1) / 2) * 6 * width
            total += peak / (1 + ((channels - place) / width) ** 2)
        left -= size
    return total
