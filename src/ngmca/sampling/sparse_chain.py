"""A chain of the sparse model: a sweep draws S, the parameters and A, each given the others."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.nnqp.gram import Gram
from ngmca.sampling import sparse_kernels as kernels
from ngmca.sampling import sparse_model as model
from ngmca.sampling.sampled_data import SampledData
from ngmca.sampling.shearing import shear
from ngmca.sampling.sparse_model import Noise, Parameters, Priors

PASSES = 3  # draws of each entry of S in a sweep; an entry of A is drawn once
SHEAR_EVERY = 4  # sweeps between two moves for sources that are active only together with others
NO_SUMS = np.empty((3, 0, 0))  # the samples are not summed up


@dataclass(frozen=True, eq=False)
class Held:
    """Entries that stay fixed at their start, as booleans; empty arrays if there are none.

    Attributes
    ----------
    sources : ndarray of bool of shape (n, r)
        Fixed entries of S, transposed.
    mixing : ndarray of bool of shape (m, r)
        Fixed entries of A.
    sized : ndarray of bool of shape (r,), optional
        Columns of A that keep their scale, because the source or the column is known.
    """

    sources: NDArray = field(default_factory=lambda: kernels.NONE_HELD)
    mixing: NDArray = field(default_factory=lambda: kernels.NONE_HELD)
    sized: NDArray | None = None

    def shearable(self, r: int) -> tuple[NDArray, NDArray]:
        """Return the columns of A (r,) and the rows of S (r,) without fixed entries."""
        if not self.sources.size:
            return np.ones(r, bool), np.ones(r, bool)
        return ~np.any(self.mixing, axis=0), ~np.any(self.sources, axis=0)


@dataclass(frozen=True)
class Rules:
    """What a chain samples.

    Attributes
    ----------
    noise : Noise
        Noise model.
    priors : Priors
        Priors of the parameters.
    fixed : bool
        Whether the whole mixing is known.
    unit : bool
        Whether columns of A are scaled to norm 1.
    held : Held
        Single entries that are fixed.
    """

    noise: Noise
    priors: Priors
    fixed: bool = False
    unit: bool = True
    held: Held = field(default_factory=Held)


class SparseChain:
    """The current sample of A, S and the parameters, from which `sweep` draws the next.

    Single entries are drawn in turn. Given S, the rows of A are independent. Given A, a column of S
    depends only on its neighbours, so every second block of columns is drawn at the same time, and the
    result does not depend on threads. S is stored transposed, X (n, r).
    """

    def __init__(
        self,
        data: SampledData,
        A: NDArray,
        X: NDArray,
        parameters: Parameters,
        rules: Rules,
        *,
        seed: np.random.SeedSequence,
    ) -> None:
        self._data, self._rules = data, rules
        self._rng = np.random.default_rng(seed)
        self._sweeps = 0
        self.X = np.array(X, dtype=np.float64, order="C")
        self.A = np.array(A, dtype=np.float64, order="C")
        self._C = np.empty(self.X.shape)
        self.parameters = parameters
        self._shearable = rules.held.shearable(self.A.shape[1])

    def sweep(self, sums: "SparseSums | None" = None, threads: int = 1) -> None:
        """Draw everything once, and add the sample to `sums`."""
        noise, priors, held = self._rules.noise, self._rules.priors, self._rules.held
        n = self._data.shape[1]
        totals, SS, YS = self._draw_sources(sums, threads)
        now, level = self.parameters, model.noise_level(self.parameters.variance, noise)
        bound = replace(priors, beta_most=priors.beta_most / level)
        now = model.draw_sources_law(self._rng, totals, n, now, bound)
        energy, count = self._data.row_energy, self._data.observed
        if self._rules.fixed:
            squares = model.residual_squares(energy, self.A, SS, YS)
        else:
            now = model.draw_scale(self._rng, self.A, now, priors, held.mixing, held.sized)
            squares = self._draw_mixing(SS, YS, now, energy)
        if noise.kind != "given":
            variance = model.draw_variance(self._rng, squares, count, priors, noise)
            now = replace(now, variance=variance)
        self.parameters = now
        if self._rules.unit and not self._rules.fixed:
            self._to_unit_columns()
        if sums is not None:
            sums.add(None if self._rules.fixed else self.A, self.parameters.variance)

    @property
    def traced(self) -> NDArray:
        """The current scalar parameters: noise level, then pi, stay and beta of each source."""
        now = self.parameters
        return np.concatenate([[np.sqrt(np.mean(now.variance))], now.pi, now.stay, now.beta])

    def _draw_sources(self, sums: "SparseSums | None", threads: int) -> tuple[NDArray, Gram, NDArray]:
        """Draw the sources; return what `transitions` counts in them, S S' and Y S'."""
        r, C = self.A.shape[1], self._C
        G, which = self._correlate(threads)
        odds = kernels.neighbour_odds(self.parameters.start, self.parameters.stay)
        key, shear_key = self._rng.integers(2**64, size=2, dtype=np.uint64)

        entries = NO_SUMS if sums is None else sums.sources

        def update(block: slice) -> None:
            given = (odds, PASSES, key, block.start, entries, which, self._rules.held.sources)
            kernels.sample_sources(G, C[block], self.X, self.parameters.beta, *given)

        self._sweeps += 1
        if not self._rules.fixed and r > 1 and self._sweeps % SHEAR_EVERY == 0:
            now = self.parameters
            law = now.beta, now.start, now.stay, now.scale**-2.0
            shear(G, C, self.X, self.A, *law, shear_key, which, *self._shearable)
            if self._rules.unit:
                norm = self._to_unit_columns()
                C /= norm
                G /= np.outer(norm, norm)
        SS, YS = self._data.update_columns(self.X, update, threads)
        if self._data.weights is not None:  # and every measurement its own S S'
            return kernels.transitions(self.X), *self._data.moments(self.X.T)
        return kernels.transitions(self.X), Gram(SS), YS

    def _correlate(self, threads: int) -> tuple[NDArray, NDArray]:
        """Return A'WA, one for each channel or one for all, with W the inverse variances; C := Y'WA."""
        sigma = np.sqrt(self.parameters.variance)[:, None]
        if self._data.weights is not None:
            grams = self._data.grams(self.A / sigma)
            self._data.correlate_into(self._C, self.A / sigma**2, threads)
            assert grams.which is not None
            return grams.values, grams.which
        weighted = self.A / self.parameters.variance[:, None]
        self._data.correlate_into(self._C, weighted, threads)
        return (self.A.T @ weighted)[None], kernels.ALIKE

    def _draw_mixing(self, SS: Gram, YS: NDArray, now: Parameters, energy: NDArray) -> NDArray:
        """Draw A in place; return the sums of squares of the rows of the residual."""
        squares = energy.copy()
        key = self._rng.integers(2**64, dtype=np.uint64)
        which = kernels.ALIKE if SS.which is None else SS.which
        law = (1 / now.variance, now.scale**-2.0, key)
        kernels.sample_mixing(SS.stack, YS, self.A, *law, squares, which, self._rules.held.mixing)
        return np.maximum(squares, 0)

    def _to_unit_columns(self) -> NDArray:
        """Scale columns of A to norm 1, and S, beta and the scales of A to match; return the norms."""
        norm = np.sqrt(np.einsum("ij,ij->j", self.A, self.A))
        if self._rules.held.sized is not None:
            norm[self._rules.held.sized] = 1
        self.A /= norm
        self._scale_sources(norm)
        now = self.parameters
        self.parameters = replace(now, beta=now.beta / norm, scale=now.scale / norm)
        return norm

    def _scale_sources(self, norm: NDArray) -> None:
        """Multiply each source by a number (r,)."""
        self.X *= norm


class SparseSums:
    """Sums over samples: moments of each entry of S given the others, and values of A and the noise.

    For A the samples themselves are summed, not moments given the other entries: an entry of A is
    divided by the norm of its column, which depends on that entry.

    Attributes
    ----------
    count : int
        Number of samples.
    sources : ndarray of shape (3, n, r)
        Probability to be active, mean and second moment.
    mixing : ndarray of shape (2, m, r)
        Value and its square.
    noise : ndarray of shape (2, m)
        Noise level and its square.
    """

    def __init__(
        self, shape: tuple[int, int], r: int, zeros: Callable[[tuple[int, ...]], Any] = np.zeros
    ) -> None:
        m, n = shape
        self.count = 0
        self.sources = zeros((3, n, r))
        self.mixing = np.zeros((2, m, r))
        self.noise = np.zeros((2, m))

    def add(self, mixing: NDArray | None, variance: NDArray) -> None:
        """Add a sample; the kernel adds its sources while it draws them."""
        self.count += 1
        if mixing is not None:
            self.mixing += mixing, mixing**2
        self.noise[0] += np.sqrt(variance)
        self.noise[1] += variance

    def merge(self, other: "SparseSums") -> None:
        """Take over the samples of another, and empty it."""
        self.count += other.count
        self.sources += other.sources
        self.mixing += other.mixing
        self.noise += other.noise
        other.clear()

    def clear(self) -> None:
        """Set everything to 0."""
        self.count = 0
        for total in (self.sources, self.mixing, self.noise):
            total[:] = 0
