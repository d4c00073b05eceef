"""One chain: a sweep draws S, the parameters and A, each given the rest."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ngmca.sampling import model
from ngmca.sampling.kernels import (
    neighbour_odds,
    sample_mixing,
    sample_sources,
    transitions,
)
from ngmca.sampling.model import Noise, Parameters, Priors
from ngmca.sampling.shearing import shear
from ngmca.threads import in_parts

BLOCK_BYTES = 400_000  # a block of Y and what is made from it stay in a core's cache
PASSES = 3  # through the entries of a column of S, for one through those of a row of A
SHEAR_EVERY = 4  # sweeps: a move for sources that are active only together with others
NOTHING = np.empty((3, 0, 0))


class Data:
    """Y (m, n) and the sums of squares of its rows."""

    def __init__(self, Y: NDArray) -> None:
        self.Y = Y
        self.shape = Y.shape
        self.step = max(32, BLOCK_BYTES // (Y.itemsize * len(Y)))
        rows = (row.astype(np.float64, copy=False) for row in Y)  # one at a time: no copy of Y
        self.energy = np.array([np.vdot(row, row) for row in rows])


@dataclass(frozen=True)
class Rules:
    """What a chain is to sample."""

    noise: Noise
    priors: Priors
    fixed: bool = False  # A is known
    unit: bool = True  # columns of A are brought to norm 1


class Chain:
    """The current draw of A, S and the parameters, and the next one from it.

    Single entries are drawn in turn. The rows of A are independent given S, and a column of S depends,
    given A, on the ones beside it alone: every second block of columns is drawn at a time, so that what
    is drawn does not depend on threads. S is stored transposed, X (n, r).
    """

    def __init__(
        self,
        data: Data,
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

    def sweep(self, sums: "Sums | None" = None, threads: int = 1) -> None:
        """Draw everything once; add to `sums` what the draws say."""
        noise, priors, n = self._rules.noise, self._rules.priors, self._data.shape[1]
        totals, SS, YS = self._draw_sources(sums, threads)
        now, level = self.parameters, model.noise_level(self.parameters.variance, noise)
        bound = replace(priors, beta_most=priors.beta_most / level)
        now = model.draw_sources_law(self._rng, totals, n, now, bound)
        if self._rules.fixed:
            squares = model.residual_squares(self._data.energy, self.A, SS, YS)
        else:
            now = model.draw_scale(self._rng, self.A, now, priors)
            squares = self._draw_mixing(SS, YS, now)
        self.parameters = model.draw_noise(self._rng, squares, n, now, priors, noise)
        if self._rules.unit and not self._rules.fixed:
            self._to_unit_columns()
        if sums is not None:
            sums.add(None if self._rules.fixed else self.A, self.parameters)

    def _draw_sources(self, sums: "Sums | None", threads: int) -> tuple[NDArray, NDArray, NDArray]:
        """New sources; what `transitions` counts in them, S S' and Y S'."""
        (Y, step), (m, r) = (self._data.Y, self._data.step), self.A.shape
        weighted = self.A / self.parameters.variance[:, None]
        G, C = self.A.T @ weighted, self._C
        weighted = weighted.astype(Y.dtype, copy=False)
        odds = neighbour_odds(self.parameters.start, self.parameters.stay)
        key, shear_key = self._rng.integers(2**64, size=2, dtype=np.uint64)

        def correlate(starts: range) -> None:
            for start in starts:
                block = slice(start, start + step)
                C[block] = Y[:, block].T @ weighted

        def part(starts: Iterable[int]) -> tuple[NDArray, NDArray]:
            SS, YS = np.zeros((r, r)), np.zeros((m, r))
            for start in starts:
                block = slice(start, start + step)
                entries = NOTHING if sums is None else sums.sources[:, block]
                beta = self.parameters.beta
                sample_sources(G, C[block], self.X, beta, odds, PASSES, key, start, entries)
                Xb = self.X[block].astype(Y.dtype, copy=False)
                YS += Y[:, block] @ Xb
                Xb = Xb.astype(np.float64, copy=False)  # rounded alike in both sums
                SS += Xb.T @ Xb
            return SS, YS

        def every_second(first: int) -> list[tuple[NDArray, NDArray]]:
            length = max(len(self.X) - first, 0)
            return in_parts(lambda starts: part(first + s for s in starts), length, 2 * step, threads)

        in_parts(correlate, len(C), step, threads)
        self._sweeps += 1
        if not self._rules.fixed and r > 1 and self._sweeps % SHEAR_EVERY == 0:
            now = self.parameters
            law = now.beta, now.start, now.stay, now.scale**-2.0
            shear(G, C, self.X, self.A, *law, shear_key)
            if self._rules.unit:
                norm = self._to_unit_columns()
                C /= norm
                G /= np.outer(norm, norm)
        parts = every_second(0) + every_second(step)
        SS, YS = (np.sum(column, axis=0) for column in zip(*parts, strict=True))
        return transitions(self.X), SS, YS

    def _draw_mixing(self, SS: NDArray, YS: NDArray, now: Parameters) -> NDArray:
        """A new A in place; sums of squares of the rows of the residual."""
        squares = self._data.energy.copy()
        key = self._rng.integers(2**64, dtype=np.uint64)
        sample_mixing(SS, YS, self.A, 1 / now.variance, now.scale**-2.0, key, squares)
        return np.maximum(squares, 0)

    def _to_unit_columns(self) -> NDArray:
        """Columns of A of norm 1, and the scale moved to S, beta and the scales of A; their norms."""
        norm = np.sqrt(np.einsum("ij,ij->j", self.A, self.A))
        self.A /= norm
        self.X *= norm
        now = self.parameters
        self.parameters = replace(now, beta=now.beta / norm, scale=now.scale / norm)
        return norm


class Sums:
    """Sums over draws: of the moments of each entry of S given the others, of A, and of the noise.

    An entry of A has no moments given the others that could be summed up: it is divided by the norm of
    its column, of which it is a part.
    """

    def __init__(self, shape: tuple[int, int], r: int) -> None:
        m, n = shape
        self.count = 0
        self.sources = np.zeros((3, n, r))  # probability to be active, mean, second moment
        self.mixing = np.zeros((2, m, r))  # value, and its square
        self.noise = np.zeros((2, m))  # level, and its square

    def add(self, mixing: NDArray | None, parameters: Parameters) -> None:
        """One more draw; its sources are added as they are drawn."""
        self.count += 1
        if mixing is not None:
            self.mixing += mixing, mixing**2
        self.noise[0] += np.sqrt(parameters.variance)
        self.noise[1] += parameters.variance

    def merge(self, other: "Sums") -> None:
        """Take over the draws of another, which is empty then."""
        self.count += other.count
        self.sources += other.sources
        self.mixing += other.mixing
        self.noise += other.noise
        other.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.count = 0
        for total in (self.sources, self.mixing, self.noise):
            total[:] = 0
