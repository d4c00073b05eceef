"""A simulated mixture whose true factors are known."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ParamSpec

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca._support.seeds import Seed, generator
from ngmca._support.threads import one_blas_thread

Given = ParamSpec("Given")
SHARED = {  # in the docstrings of all simulators
    "{noise}": """snr : float or None
    White Gaussian noise is added at exactly this signal-to-noise ratio in dB; None adds no noise.
seed : int, SeedSequence, Generator or None
    The same integer or sequence gives the same mixture.""",
    "{mixing}": """mixing : {"uniform", "dirichlet"}
    Amounts between 0 and 1, or amounts that sum to 1 in each measurement.""",
    "{returns}": "Mixture\n    Y, the true factors A and S, and the noise.",
}


@dataclass(frozen=True, eq=False)
class Mixture:
    """A simulated mixture Y = A S + noise.

    Attributes
    ----------
    Y : ndarray of shape (m, n)
        Measurements x channels.
    A : ndarray of shape (m, r)
        True mixing.
    S : ndarray of shape (r, n)
        True sources.
    noise : ndarray of shape (m, n)
        Noise in Y.
    names : tuple of str
        Names of the sources, if they have any.
    axis : ndarray of shape (n,), optional
        Positions of the channels.
    axis_name : str
        What the axis shows, such as "ppm".
    sample_shape : (int, int), optional
        Shape of the sources, if they are images.

    Examples
    --------
    >>> import numpy as np
    >>> import ngmca
    >>> data = ngmca.simulate.sparse(m=5, n=20, r=2, snr=20, seed=0)
    >>> bool(np.allclose(data.Y, data.A @ data.S + data.noise)), round(data.snr)
    (True, 20)
    """

    Y: NDArray = field(repr=False)
    A: NDArray = field(repr=False)
    S: NDArray = field(repr=False)
    noise: NDArray = field(repr=False)
    names: tuple[str, ...] = ()
    axis: NDArray | None = field(default=None, repr=False)
    axis_name: str = ""
    sample_shape: tuple[int, int] | None = None

    @property
    def snr(self) -> float:
        """Signal-to-noise ratio of Y in dB, infinite without noise."""
        power = np.sum((self.A @ self.S) ** 2)
        noise = np.sum(self.noise**2)
        return float(10 * np.log10(power / noise)) if noise > 0 else np.inf


def simulator(draw: Callable[Given, Mixture]) -> Callable[Given, Mixture]:
    """Run a simulator with one BLAS thread, and write what all of them share into its docstring."""
    for mark, text in SHARED.items():
        draw.__doc__ = str(draw.__doc__).replace(mark, text.replace("\n", "\n    "))
    return one_blas_thread(draw)


def checked(snr: float | None, seed: Seed, **sizes: int) -> np.random.Generator:
    """Return the random numbers; raise an error if `snr` or a number of measurements is wrong."""
    for name, size in sizes.items():
        arguments.check_count(size, name)
    if snr is not None:
        arguments.check_number(snr, "snr", low=-300.0, high=300.0)
    return generator(seed)


def draw_mixing(mixing: str, m: int, r: int, rng: np.random.Generator) -> NDArray:
    """Return A (m, r): amounts between 0 and 1, or uniform shares that sum to 1 in each measurement."""
    arguments.check_choice(mixing, "mixing", ("uniform", "dirichlet"))
    return rng.random((m, r)) if mixing == "uniform" else rng.dirichlet(np.ones(r), m)


def mix(A: NDArray, S: NDArray, snr: float | None, rng: np.random.Generator) -> Mixture:
    """Return the mixture of A and S with white Gaussian noise at exactly `snr` dB; None is no noise."""
    clean = A @ S
    noise = np.zeros_like(clean)
    if snr is not None:
        noise = rng.standard_normal(clean.shape)
        noise *= np.linalg.norm(clean) / np.linalg.norm(noise) * 10 ** (-snr / 20)
    return Mixture(Y=clean + noise, A=A, S=S, noise=noise)
