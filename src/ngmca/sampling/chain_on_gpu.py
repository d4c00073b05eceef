"""A chain of the sparse model for data on a GPU, where its sources stay.

The laws are those of `sparse_chain`. The order is another one: the sources of even channels are drawn at
the same time, then those of odd ones, each given its neighbours. A and the parameters are drawn on the
CPU.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.engines import WORTH_THREADS, Engine, SparseDraws
from ngmca.nnqp.gram import Gram
from ngmca.sampling import random_draws
from ngmca.sampling import sparse_kernels as kernels
from ngmca.sampling.shearing import ROUNDS, STEPS_OUT, WIDTH, shear
from ngmca.sampling.sparse_chain import PASSES, SHEAR_EVERY, Rules, SparseChain, SparseSums

LONGEST_RUN = (
    2048  # channels in which a source is active throughout; of longer ones the CPU takes shears
)
ARRAYS = 10  # as large as S, of each chain
ROOM = 0.8  # share of the free memory of the GPU that is used


def kinds(
    engine: Engine, r: int, rules: Rules, n_chains: int
) -> tuple[Callable[..., SparseChain], Callable[..., SparseSums]]:
    """Return how chains and sums are made: those on a GPU if the data are large and there is room."""
    (m, n), held = engine.shape, rules.held
    free = not held.sources.size and not held.mixing.size and held.sized is None
    if engine.place != "gpu" or not free or m * n * r < WORTH_THREADS:
        return SparseChain, SparseSums
    draws = SparseDraws(engine, random_draws.TABLES)
    if ARRAYS * n_chains * n * r * 8 > ROOM * draws.device.free():
        return SparseChain, SparseSums
    return partial(GpuChain, draws=draws), partial(SparseSums, zeros=draws.zeros)


class GpuChain(SparseChain):
    """A chain whose sources are on a GPU; the arguments are those of `SparseChain`, and the GPU."""

    def __init__(self, *given: Any, draws: SparseDraws, seed: np.random.SeedSequence) -> None:
        super().__init__(*given, seed=seed)
        self._draws = draws
        self.X: Any = draws.there(self.X)

    def _draw_sources(self, sums: SparseSums | None, threads: int) -> tuple[NDArray, Gram, NDArray]:
        draws, r = self._draws, self.A.shape[1]
        weighted = self.A / self.parameters.variance[:, None]
        G, C = self.A.T @ weighted, draws.correlate(weighted)
        key, shear_key = self._rng.integers(2**64, size=2, dtype=np.uint64)
        self._sweeps += 1
        if not self._rules.fixed and r > 1 and self._sweeps % SHEAR_EVERY == 0:
            self._shear(G, C, shear_key)
            if self._rules.unit:
                norm = self._to_unit_columns()
                C /= draws.there(norm)
                G /= np.outer(norm, norm)
        now = self.parameters
        odds = kernels.neighbour_odds(now.start, now.stay)
        root = _root(np.diagonal(G), now.beta)
        ratio = np.exp(np.minimum(odds + np.log(now.beta) + np.log(root), 700.0))
        total: Any = None if sums is None else sums.sources
        draws.sources(G, C, self.X, now.beta, root, ratio, PASSES, key, total)
        return draws.transitions(self.X), *draws.moments(self.X)

    def _scale_sources(self, norm: NDArray) -> None:
        self.X *= self._draws.there(norm)

    def _shear(self, G: NDArray, C: Any, key: np.uint64) -> None:
        """Make the moves of `shearing.shear`, on the CPU if sources are active for too long."""
        now, draws = self.parameters, self._draws
        if draws.longest_run(self.X) > LONGEST_RUN:
            here = [draws.device.host(one) for one in (C, self.X)]
            law = now.beta, now.start, now.stay, now.scale**-2.0
            shear(G[None], *here, self.A, *law, key, kernels.ALIKE, *self._shearable)
            C[...], self.X[...] = (draws.there(one) for one in here)
            return
        rng = np.random.default_rng(int(key))
        for k in range(self.A.shape[1]):
            self._shear_one(G, C, k, rng)

    def _shear_one(self, G: NDArray, C: Any, k: int, rng: np.random.Generator) -> None:
        """Draw c in a_k + c a_i for another source i, and then source i, in place."""
        draws, now, A, X = self._draws, self.parameters, self.A, self.X
        i = int(rng.integers(A.shape[1] - 1))
        i += i >= k
        square = float((X[:, k] ** 2).sum())
        if not square > 0:
            return
        g = max(float(G[i, i]), kernels.MIN_CURVATURE * float(now.beta[i]) ** 2)
        root = float(_root(G[i, i], now.beta[i]))
        scale = np.log(now.beta[i]) + np.log(root)
        law = draws.there(np.array([now.beta[i], now.start[i], now.stay[i], g, root, scale]))
        u, weak = draws.rest(G, C, X, k, i), now.scale[k] ** -2.0
        lean, own = weak * float(A[:, k] @ A[:, i]), weak * float(A[:, i] @ A[:, i])
        there = A[:, i] > 0
        low = float(np.max(-A[there, k] / A[there, i], initial=-np.inf))

        def density(c: float) -> float:
            return draws.density(k, i, law, X, u, c) - c * (lean + 0.5 * c * own)

        c = _slice(rng, density, low, WIDTH / np.sqrt(g * square))
        A[:, k] = np.maximum(A[:, k] + c * A[:, i], 0)
        C[:, k] += c * C[:, i]
        G[k, k] += c * (2 * G[i, k] + c * G[i, i])
        others = np.arange(len(G)) != k
        G[k, others] += c * G[i, others]
        G[others, k] = G[k, others]
        draws.runs(k, i, law, X, u, c, rng.integers(2**64, dtype=np.uint64))


def _root(g: Any, rate: Any) -> Any:
    """Return the standard deviation of an entry for a curvature g of its likelihood."""
    return 1 / np.sqrt(np.maximum(g, kernels.MIN_CURVATURE * rate**2))


def _slice(
    rng: np.random.Generator, density: Callable[[float], float], low: float, width: float
) -> float:
    """Return c >= low as `random_draws.slice_draw` does, which is for compiled densities."""
    level = density(0.0) + np.log(rng.random())
    left = -width * rng.random()
    right = left + width
    leftwards = int(rng.random() * STEPS_OUT)
    for _ in range(leftwards):
        if left <= low or density(left) <= level:
            break
        left -= width
    for _ in range(STEPS_OUT - 1 - leftwards):
        if density(right) <= level:
            break
        right += width
    left = max(left, low)
    for _ in range(ROUNDS):
        c = left + rng.random() * (right - left)
        if density(c) >= level or right - left < 1e-12 * width:
            return float(c)
        left, right = (c, right) if c < 0 else (left, c)
    return 0.0
