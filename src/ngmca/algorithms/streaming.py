"""Sources of a stream of measurements: sums over all that came by, and nothing else, are kept."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ngmca.algorithms.mixing_for_sources import weights_of
from ngmca.engines import Engine, Levels, everything, gram, mad
from ngmca.nnqp.pivoting import solve_rows

ROUNDS_PER_BATCH = 3  # of weights and sources in turn


@dataclass(frozen=True, eq=False)
class Stream:
    """What is known of a stream Y ~ A S after some batches of its rows.

    The threshold of a source is tau times the noise in its correlations: it weighs less and less as
    the sums grow.
    """

    S: NDArray  # (r, n), rows of norm 1
    AA: NDArray  # (r, r) sum of A'A
    AY: NDArray  # (r, n) sum of A'Y
    noise: float = 0.0  # root mean square level
    rows: float = 0.0  # that the sums stand for

    @classmethod
    def begun(cls, S: NDArray) -> "Stream":
        """A stream with these sources, before anything came by."""
        r, n = S.shape
        norm = np.linalg.norm(S, axis=1)
        S = S.astype(np.float64) / np.where(norm > 0, norm, 1)[:, None]
        return cls(S, np.zeros((r, r)), np.zeros((r, n)))

    def after(self, engine: Engine, tau: float, forgetting: float) -> "Stream":
        """The stream after a batch of rows; what came before counts `forgetting` times as much."""
        m, kept = engine.shape[0], forgetting * self.rows
        found = self
        for _ in range(ROUNDS_PER_BATCH):
            W = weights_of(engine, found.S, Levels())
            level = self._level(engine, W, found.S)
            noise = float(np.sqrt((kept * self.noise**2 + m * level**2) / (kept + m)))
            # the sums before belong to sources of norm 1 as they are now: only S has changed
            AA = forgetting * self.AA + gram(W)
            AY = forgetting * self.AY + engine.correlate(W).astype(np.float64)
            found = replace(found, S=_sources(AA, AY, found.S, tau * noise))
        norm = np.linalg.norm(found.S, axis=1)
        norm[norm == 0] = 1
        return Stream(
            found.S / norm[:, None], AA * np.outer(norm, norm), AY * norm[:, None], noise, kept + m
        )

    @staticmethod
    def _level(engine: Engine, W: NDArray, S: NDArray) -> float:
        """The noise of a batch: the median over its rows of their robust levels."""
        rest = everything(engine) - W @ S
        return float(np.median(mad(rest))) if rest.size else 0.0


def _sources(AA: NDArray, AY: NDArray, S: NDArray, level: float) -> NDArray:
    """argmin_{S >= 0} 1/2 <S, AA S> - <AY, S> + sum_i level sqrt(AA_ii) |S_i|_1."""
    X = np.ascontiguousarray(S.T)
    solve_rows(AA, np.ascontiguousarray(AY.T), X, level * np.sqrt(np.diagonal(AA)))
    return X.T
