"""The paper's synthetic data: |Bernoulli x generalised Gaussian| factors."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ngmca._support import arguments
from ngmca._support.messages import ArgumentError, option
from ngmca._support.seeds import Seed
from ngmca.simulate.mixture import Mixture, checked, mix, simulator


@simulator
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
    """Simulate measurements of sparse sources; the defaults are the paper's standard settings.

    The entries of A and S are |B G|, with B Bernoulli and G generalised Gaussian of variance 1.

    Parameters
    ----------
    m, n, r : int
        Numbers of measurements, channels and sources.
    p_A, p_S : float
        Share of entries of A and of S that are not 0.
    alpha_A, alpha_S : float
        Shape of the generalised Gaussian: 2 is Gaussian, 1 is Laplacian, smaller values are sparser.
    {noise}

    Returns
    -------
    {returns}

    Examples
    --------
    >>> import ngmca
    >>> ngmca.simulate.sparse(m=8, n=50, r=3, snr=20, seed=0).Y.shape
    (8, 50)
    """
    rng = checked(snr, seed, m=m, n=n, r=r)
    for name, rate in (("p_A", p_A), ("p_S", p_S)):
        if arguments.check_number(rate, name, high=1.0) == 0:
            raise ArgumentError("{} must be above 0, otherwise every entry is 0.", option(name))
    for name, shape in (("alpha_A", alpha_A), ("alpha_S", alpha_S)):
        arguments.check_number(shape, name, low=0.1, high=100.0)
    S = modulus(rng, (r, n), p_S, alpha_S)
    A = modulus(rng, (m, r), p_A, alpha_A)
    return mix(A, S, snr, rng)


def modulus(rng: np.random.Generator, shape: tuple[int, int], rate: float, alpha: float) -> NDArray:
    """Draw |B G|: G has a density proportional to exp(-|x/b|^alpha), with b for a variance of 1."""
    b = np.exp((gammaln(1 / alpha) - gammaln(3 / alpha)) / 2)
    G = b * rng.gamma(1 / alpha, size=shape) ** (1 / alpha)
    return np.where(rng.random(shape) < rate, G, 0.0)
