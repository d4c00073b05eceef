"""The paper's synthetic data: |Bernoulli x generalised Gaussian| factors."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ngmca._support import arguments
from ngmca._support.seeds import Seed, generator
from ngmca._support.threads import one_blas_thread
from ngmca.simulate.mixture import Mixture, check_sizes, check_snr, mix


@one_blas_thread
def sparse(
    m: int = 200,
    n: int = 200,
    r: int = 15,
    *,
    p_A: float = 1.0,
    alpha_A: float = 2.0,
    p_S: float = 0.3,
    alpha_S: float = 1.0,
    snr: float | None = None,
    seed: Seed = None,
) -> Mixture:
    """m measurements of r sources with n channels; the defaults are the paper's standard settings.

    The entries of A are |B G| with B Bernoulli of rate `p_A` and G generalised Gaussian of shape
    `alpha_A` (2 is Gaussian, 1 Laplacian, smaller is sparser) and unit variance; likewise for S. White
    Gaussian noise is added at exactly `snr` dB; None is noiseless.
    """
    check_sizes(m=m, n=n, r=r)
    check_snr(snr)
    for name, rate in (("p_A", p_A), ("p_S", p_S)):
        if arguments.check_number(rate, name, high=1.0) == 0:
            raise ValueError(f"{name} must be above 0, or every entry would be 0.")
    for name, shape in (("alpha_A", alpha_A), ("alpha_S", alpha_S)):
        arguments.check_number(shape, name, low=0.1, high=100.0)
    rng = generator(seed)
    S = modulus(rng, (r, n), p_S, alpha_S)
    A = modulus(rng, (m, r), p_A, alpha_A)
    return mix(A, S, snr, rng)


def modulus(rng: np.random.Generator, shape: tuple[int, int], rate: float, alpha: float) -> NDArray:
    """|B G|: G has density proportional to exp(-|x/b|^alpha), with b such that its variance is 1."""
    b = np.exp((gammaln(1 / alpha) - gammaln(3 / alpha)) / 2)
    G = b * rng.gamma(1 / alpha, size=shape) ** (1 / alpha)
    return np.where(rng.random(shape) < rate, G, 0.0)
