"""A chain for lines and bands: samples of S for a mixing that is known or was found in wavelets.

The model, in an orthonormal wavelet basis that is shifted at random before each sweep:

Y = A S + noise        noise_jt ~ N(0, sigma_j^2), one sigma for all measurements or one for each
coefficient of S_i     Cauchy, with a scale that is learnt for each source and each scale of the basis

A Cauchy variable is a normal variable whose variance V is random. Given V, the r coefficients at one
place are normal and independent of all others, and are drawn together from A'Y.

Noise that is correlated along the channels is larger in the coarse scales, where the sources are. There
it counts `growth` times (`ngmca.engines.variance_growth`).
"""

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ngmca.nnqp.gram import Gram
from ngmca.sampling import wavelet_kernels as kernels
from ngmca.sampling.sampled_data import Filled, SampledData
from ngmca.sampling.sparse_chain import Rules, SparseSums
from ngmca.sampling.sparse_model import draw_variance, residual_squares

MIN_SCALE = 0.1  # of coefficients, over their noise: with smaller scales a chain hardly moves
MAX_LEVELS, MIN_COARSE_PLACES = 5, 16  # of the wavelet basis
FIRST_CAUCHY_SCALE = 0.3  # over the mean size of the coefficients


class Sampled(Protocol):
    """What the chain must know about its problem."""

    @property
    def rules(self) -> Rules:
        """Noise model and priors."""

    @property
    def growth(self) -> float:
        """How much larger correlated noise counts."""


class WaveletChain:
    """The current sample of S and the noise, from which `sweep` draws the next.

    S (r, size) continues beyond the n channels as a mirror image, so that its length suits all scales.
    This part is ignored when the noise is drawn. `places` (r,) are the rows of the sums to which the
    sources belong.
    """

    def __init__(
        self,
        data: SampledData,
        A: NDArray,
        S: NDArray,
        variance: NDArray,
        problem: Sampled,
        places: NDArray,
        *,
        seed: np.random.SeedSequence,
    ) -> None:
        self._data, self._rules, self._growth = data, problem.rules, problem.growth
        self._rows = places
        self._rng = np.random.default_rng(seed)
        r, n = S.shape
        self._levels = max(min(MAX_LEVELS, int(math.log2(max(n / MIN_COARSE_PLACES, 1)))), 1)
        self._mirror = np.pad(np.arange(n), (0, -n % 2**self._levels), mode="reflect")
        self.A, self.variance = np.array(A, order="C"), variance
        self.S = S[:, self._mirror]
        size = len(self._mirror)
        self._C, self._B, self._V = (np.empty((r, size)) for _ in range(3))
        self._X, self._right = np.empty((n, r)), np.empty((n, r))
        self._scale = _scale_of_place(size, self._levels)
        self._places = np.bincount(self._scale)
        self._squares = self._first_scales()

    @property
    def traced(self) -> NDArray:
        """The noise level of the current sample."""
        return np.array([np.sqrt(np.mean(self.variance))])

    def sweep(self, sums: "WaveletSums | None" = None, threads: int = 1) -> None:
        """Draw everything once, and add the sample to `sums`."""
        if isinstance(self._data, Filled):
            key, n = self._rng.integers(2**64, dtype=np.uint64), self._data.shape[1]
            self._data.fill(self.A, self.S[:, :n], self.variance, key)
        shift = int(self._rng.integers(len(self._mirror)))
        keys = self._rng.integers(2**64, size=3, dtype=np.uint64)
        self._draw_law(shift, keys[0])
        kernels.draw_variances(
            self._C, self._squares, self._scale, keys[1], self._V, np.empty_like(self._squares)
        )
        self._draw_sources(shift, keys[2], threads)
        self._draw_noise(threads)
        if sums is not None:
            sums.add_sources(np.maximum(self.S[:, : self._data.shape[1]], 0), self._rows)
            sums.add(None, self.variance)

    def _first_scales(self) -> NDArray:
        """Return squared scales (r, levels + 1) of the coefficients at the start."""
        kernels.to_basis(self.S, self._levels, 0, self._C)
        sums = np.array([np.bincount(self._scale, np.abs(row)) for row in self._C])
        sums = sums.reshape(len(self._C), self._levels + 1)
        return (FIRST_CAUCHY_SCALE * sums / self._places) ** 2

    @property
    def _noise(self) -> NDArray:
        """The noise (r,) of the entries of S in the least-squares solution, without a prior."""
        G = self.A.T @ (self.A / (self._growth * self.variance[:, None]))
        inverse = np.linalg.inv(G + 1e-10 * np.trace(G) * np.eye(len(G)))
        return np.sqrt(np.maximum(np.diag(inverse), 0.0))

    def _draw_law(self, shift: int, key: np.uint64) -> None:
        """Compute the coefficients of S for this shift, and draw the scales of their distribution."""
        least = (MIN_SCALE * self._noise[:, None]) ** 2
        kernels.to_basis(self.S, self._levels, shift, self._C)
        self._squares = np.maximum(self._squares, least)
        precision = np.empty_like(self._squares)
        kernels.draw_variances(self._C, self._squares, self._scale, key, self._V, precision)
        drawn = self._rng.standard_gamma(np.broadcast_to(self._places / 2, precision.shape))
        self._squares = np.maximum(drawn / (precision / 2), least)

    def _draw_sources(self, shift: int, key: np.uint64, threads: int) -> None:
        """Draw S from A'Y, which is mirrored in the same way as S."""
        weighted = self.A / (self._growth * self.variance[:, None])
        self._data.correlate_into(self._right, weighted, threads)
        right = np.ascontiguousarray(self._right.T[:, self._mirror])
        kernels.to_basis(right, self._levels, shift, self._B)
        kernels.draw_coefficients(self.A.T @ weighted, self._B, self._V, key, self._C)
        kernels.from_basis(self._C, self._levels, shift, self.S)

    def _draw_noise(self, threads: int) -> None:
        """Draw the noise levels that are not given."""
        n, noise = self._data.shape[1], self._rules.noise
        if noise.kind == "given":
            return
        self._X[:] = self.S[:, :n].T
        SS, YS = self._data.update_columns(self._X, lambda block: None, threads)
        squares = np.maximum(residual_squares(self._data.row_energy, self.A, Gram(SS), YS), 0)
        self.variance = draw_variance(self._rng, squares, n, self._rules.priors, noise)


class WaveletSums(SparseSums):
    """Sums over samples: of S clipped at 0 and of the noise, each with their squares."""

    def __init__(self, shape: tuple[int, int], r: int) -> None:
        super().__init__(shape, r)
        self.sources = np.zeros((2, r, shape[1]))

    def add_sources(self, S: NDArray, rows: NDArray) -> None:
        """Add a sample of the sources that belong to these rows."""
        self.sources[0][rows] += S
        self.sources[1][rows] += S * S


def _scale_of_place(size: int, levels: int) -> NDArray:
    """Return the scale of each coefficient: 0 is the finest, `levels` the smooth part."""
    scale = np.full(size, levels)
    for j in range(levels):
        half = size >> (j + 1)
        scale[half : 2 * half] = j
    return scale
