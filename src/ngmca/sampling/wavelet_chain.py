"""A chain for lines and bands: samples of A and S around an answer that was found in wavelets.

The model, in an orthonormal wavelet basis that is shifted at random before each sweep:

Y = A S + noise        noise_jt ~ N(0, sigma_j^2), one sigma for all measurements or one for each
coefficient of S_i     Cauchy, with a scale that is learnt for each source and each scale of the basis
A_ji                   flat on A_ji >= 0, columns scaled to norm 1

A Cauchy variable is a normal variable whose variance V is random. Given A and V, the r coefficients at
one place are normal and independent of all others, and are drawn together from A'Y. Given S, A is drawn
entry by entry from SS' and YS'. The shears a_k + c a_i, s_i - c s_k do not change A S: the data say
nothing about them, and the steps above move slowly along them. For pairs (i, k), c is therefore drawn
from the prior along the shear, with V integrated out, and with a penalty where s_i - c s_k is below 0 by
more than its noise.

Along the shears, prior and penalty are raised to the power EVIDENCE. Coefficients of one band, at
neighbouring places and scales, are correlated, and so are negative entries of a smooth source: if they
counted as independent, the intervals would be too narrow. The power was measured, not derived
(`python bench/bands_bars.py`). The samples are therefore not the exact posterior of one model.
"""

import math

import numpy as np
from numpy.typing import NDArray

from ngmca.nnqp.gram import Gram
from ngmca.sampling import wavelet_kernels as kernels
from ngmca.sampling.parallel_chains import Length
from ngmca.sampling.sampled_data import Filled, SampledData
from ngmca.sampling.sparse_chain import Rules, SparseSums
from ngmca.sampling.sparse_kernels import ALIKE, NONE_HELD, sample_mixing
from ngmca.sampling.sparse_model import draw_variance, residual_squares

EVIDENCE = 0.25  # power of prior and penalty along shears: share of independent evidence in an entry
MIN_SCALE = 0.1  # of coefficients, over their noise: with smaller scales a chain hardly moves
SLACK = 1.0  # how far below 0 an entry may be without a penalty, in units of its noise
MAX_PARTNERS = 4  # shears of a source in a sweep, with partners drawn at random
MAX_LEVELS, MIN_COARSE_PLACES = 5, 16  # of the wavelet basis
FIRST_SLICE_WIDTH = 0.01
FIRST_CAUCHY_SCALE = 0.3  # over the mean size of the coefficients
WAVELET_LENGTH = Length(burn=300, first=300, most=3000)


class WaveletChain:
    """The current sample of A, S and the noise, from which `sweep` draws the next.

    S (r, size) continues beyond the n channels as a mirror image, so that its length suits all scales.
    This part is ignored when A and the noise are drawn.
    """

    def __init__(
        self,
        data: SampledData,
        A: NDArray,
        S: NDArray,
        variance: NDArray,
        rules: Rules,
        *,
        seed: np.random.SeedSequence,
    ) -> None:
        self._data, self._rules = data, rules
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
        self._width = np.full((r, r), FIRST_SLICE_WIDTH)
        self._squares = self._first_scales()

    @property
    def traced(self) -> NDArray:
        """The noise level of the current sample."""
        return np.array([np.sqrt(np.mean(self.variance))])

    def sweep(self, sums: "WaveletSums | None" = None, threads: int = 1) -> None:
        """Draw everything once, and add the sample to `sums`; without `sums` learn the slice widths."""
        if isinstance(self._data, Filled):
            key, n = self._rng.integers(2**64, dtype=np.uint64), self._data.shape[1]
            self._data.fill(self.A, self.S[:, :n], self.variance, key)
        shift = int(self._rng.integers(len(self._mirror)))
        keys = self._rng.integers(2**64, size=5, dtype=np.uint64)
        self._draw_law(shift, keys[0])
        if not self._rules.fixed and self.A.shape[1] > 1:
            self._shear(adapt=sums is None, key=keys[1])
        kernels.draw_variances(
            self._C, self._squares, self._scale, keys[2], self._V, np.empty_like(self._squares)
        )
        self._draw_sources(shift, keys[3], threads)
        self._draw_mixing(keys[4], threads)
        if sums is not None:
            sums.add_sources(np.maximum(self.S[:, : self._data.shape[1]], 0))
            sums.add(None if self._rules.fixed else self.A, self.variance)

    def _first_scales(self) -> NDArray:
        """Return squared scales (r, levels + 1) of the coefficients at the start."""
        kernels.to_basis(self.S, self._levels, 0, self._C)
        sums = np.stack([np.bincount(self._scale, np.abs(row)) for row in self._C])
        return (FIRST_CAUCHY_SCALE * sums / self._places) ** 2

    @property
    def _noise(self) -> NDArray:
        """The noise (r,) of the entries of S in the least-squares solution, without a prior."""
        G = self.A.T @ (self.A / self.variance[:, None])
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

    def _shear(self, *, adapt: bool, key: np.uint64) -> None:
        """Move A, S and its coefficients along shears."""
        r = self.A.shape[1]
        others = self._rng.permuted(np.tile(np.arange(r - 1), (r, 1)), axis=1)[:, :MAX_PARTNERS]
        partners = others + (others >= np.arange(r)[:, None])
        kernels.draw_shears(
            self.A, self.S, self._C, self._squares, self._scale, self._noise, (EVIDENCE, SLACK),
            np.ascontiguousarray(partners), self._width, adapt, key,
        )  # fmt: skip

    def _draw_sources(self, shift: int, key: np.uint64, threads: int) -> None:
        """Draw S from A'Y, which is mirrored in the same way as S."""
        weighted = self.A / self.variance[:, None]
        self._data.correlate_into(self._right, weighted, threads)
        right = np.ascontiguousarray(self._right.T[:, self._mirror])
        kernels.to_basis(right, self._levels, shift, self._B)
        kernels.draw_coefficients(self.A.T @ weighted, self._B, self._V, key, self._C)
        kernels.from_basis(self._C, self._levels, shift, self.S)

    def _draw_mixing(self, key: np.uint64, threads: int) -> None:
        """Draw A and the noise, and scale the columns of A to norm 1."""
        n, noise = self._data.shape[1], self._rules.noise
        self._X[:] = self.S[:, :n].T
        SS, YS = self._data.update_columns(self._X, lambda block: None, threads)
        if self._rules.fixed:
            squares = residual_squares(self._data.row_energy, self.A, Gram(SS), YS)
        else:
            squares = self._data.row_energy.copy()
            given = (1 / self.variance, np.zeros(len(SS)), key, squares, ALIKE, NONE_HELD)
            sample_mixing(SS[None], YS, self.A, *given)
        if noise.kind != "given":
            squares = np.maximum(squares, 0)
            self.variance = draw_variance(self._rng, squares, n, self._rules.priors, noise)
        if not self._rules.fixed:
            norm = np.sqrt(np.einsum("ij,ij->j", self.A, self.A))
            self.A /= norm
            self.S *= norm[:, None]
            self._squares *= norm[:, None] ** 2


class WaveletSums(SparseSums):
    """Sums over samples: of S clipped at 0, of A and of the noise, each with their squares."""

    def __init__(self, shape: tuple[int, int], r: int) -> None:
        super().__init__(shape, r)
        self.sources = np.zeros((2, r, shape[1]))

    def add_sources(self, S: NDArray) -> None:
        """Add a sample of the sources."""
        self.sources[0] += S
        self.sources[1] += S * S


def _scale_of_place(size: int, levels: int) -> NDArray:
    """Return the scale of each coefficient: 0 is the finest, `levels` the smooth part."""
    scale = np.full(size, levels)
    for j in range(levels):
        half = size >> (j + 1)
        scale[half : 2 * half] = j
    return scale
