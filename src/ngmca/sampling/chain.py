"""One chain: a sweep draws S, the parameters and A, each given the rest."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ngmca.data import InMemory
from ngmca.sampling import model
from ngmca.sampling.kernels import (
    neighbour_odds,
    sample_mixing,
    sample_sources,
    transitions,
)
from ngmca.sampling.model import Noise, Parameters, Priors
from ngmca.sampling.shearing import shear

PASSES = 3  # through the entries of a column of S, for one through those of a row of A
SHEAR_EVERY = 4  # sweeps: a move for sources that are active only together with others
NOTHING = np.empty((3, 0, 0))


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
        engine: InMemory,
        A: NDArray,
        X: NDArray,
        parameters: Parameters,
        rules: Rules,
        *,
        seed: np.random.SeedSequence,
    ) -> None:
        self._engine, self._rules = engine, rules
        self._rng = np.random.default_rng(seed)
        self._sweeps = 0
        self.X = np.array(X, dtype=np.float64, order="C")
        self.A = np.array(A, dtype=np.float64, order="C")
        self._C = np.empty(self.X.shape)
        self.parameters = parameters

    def sweep(self, sums: "Sums | None" = None, threads: int = 1) -> None:
        """Draw everything once; add to `sums` what the draws say."""
        noise, priors, n = self._rules.noise, self._rules.priors, self._engine.shape[1]
        totals, SS, YS = self._draw_sources(sums, threads)
        now, level = self.parameters, model.noise_level(self.parameters.variance, noise)
        bound = replace(priors, beta_most=priors.beta_most / level)
        now = model.draw_sources_law(self._rng, totals, n, now, bound)
        if self._rules.fixed:
            squares = model.residual_squares(self._engine.row_energy, self.A, SS, YS)
        else:
            now = model.draw_scale(self._rng, self.A, now, priors)
            squares = self._draw_mixing(SS, YS, now)
        self.parameters = model.draw_noise(self._rng, squares, n, now, priors, noise)
        if self._rules.unit and not self._rules.fixed:
            self._to_unit_columns()
        if sums is not None:
            sums.add(None if self._rules.fixed else self.A, self.parameters.variance)

    @property
    def traced(self) -> NDArray:
        """The scalar parameters as they are: the noise, and pi, stay and beta of every source."""
        now = self.parameters
        return np.concatenate([[np.sqrt(np.mean(now.variance))], now.pi, now.stay, now.beta])

    def _draw_sources(self, sums: "Sums | None", threads: int) -> tuple[NDArray, NDArray, NDArray]:
        """New sources; what `transitions` counts in them, S S' and Y S'."""
        r = self.A.shape[1]
        weighted = self.A / self.parameters.variance[:, None]
        G, C = self.A.T @ weighted, self._C
        odds = neighbour_odds(self.parameters.start, self.parameters.stay)
        key, shear_key = self._rng.integers(2**64, size=2, dtype=np.uint64)

        def update(block: slice) -> None:
            entries = NOTHING if sums is None else sums.sources[:, block]
            beta = self.parameters.beta
            sample_sources(G, C[block], self.X, beta, odds, PASSES, key, block.start, entries)

        self._engine.correlate_into(C, weighted, threads)
        self._sweeps += 1
        if not self._rules.fixed and r > 1 and self._sweeps % SHEAR_EVERY == 0:
            now = self.parameters
            law = now.beta, now.start, now.stay, now.scale**-2.0
            shear(G, C, self.X, self.A, *law, shear_key)
            if self._rules.unit:
                norm = self._to_unit_columns()
                C /= norm
                G /= np.outer(norm, norm)
        SS, YS = self._engine.update_columns(self.X, update, threads)
        return transitions(self.X), SS, YS

    def _draw_mixing(self, SS: NDArray, YS: NDArray, now: Parameters) -> NDArray:
        """A new A in place; sums of squares of the rows of the residual."""
        squares = self._engine.row_energy.copy()
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

    def add(self, mixing: NDArray | None, variance: NDArray) -> None:
        """One more draw; its sources are added as they are drawn."""
        self.count += 1
        if mixing is not None:
            self.mixing += mixing, mixing**2
        self.noise[0] += np.sqrt(variance)
        self.noise[1] += variance

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
