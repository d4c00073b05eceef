"""A simulated measurement whose true factors are known."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments


@dataclass(frozen=True, eq=False)
class Mixture:
    """Y = A S + noise, with Y (m, n), A (m, r), S (r, n) and noise (m, n).

    Where sources and channels mean something, `names` says what the sources are and `axis` where the n
    channels lie, in terms of `axis_name`. Where sources are images, `sample_shape` is their shape.
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
        """SNR_Y in dB, infinite without noise."""
        power = np.sum((self.A @ self.S) ** 2)
        noise = np.sum(self.noise**2)
        return float(10 * np.log10(power / noise)) if noise > 0 else np.inf


def check_sizes(**sizes: int) -> None:
    """Refuse numbers of measurements, channels, sources and the like that are no counts."""
    for name, size in sizes.items():
        arguments.check_count(size, name)


def check_snr(snr: float | None) -> None:
    """Refuse what is neither a ratio in dB nor None."""
    if snr is not None:
        arguments.check_number(snr, "snr", low=-300.0, high=300.0)


def mix(A: NDArray, S: NDArray, snr: float | None, rng: np.random.Generator) -> Mixture:
    """A S with white Gaussian noise at exactly `snr` dB; None is noiseless."""
    clean = A @ S
    noise = np.zeros_like(clean)
    if snr is not None:
        noise = rng.standard_normal(clean.shape)
        noise *= np.linalg.norm(clean) / np.linalg.norm(noise) * 10 ** (-snr / 20)
    return Mixture(Y=clean + noise, A=A, S=S, noise=noise)
