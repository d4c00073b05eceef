"""What the outer loop asks of the data, and the engine that answers from an array in memory.

The sources are kept transposed, one sample a row, in arrays of shape (n, r): everything that concerns
a sample is then contiguous. `S` is the transposed view.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from ngmca import noise
from ngmca.nnqp.pivot import solve_rows
from ngmca.threads import available, in_parts

# Solves the S-step for one block: (G, C (b, r), X (b, r) in place) -> violation
Solve = Callable[[NDArray, NDArray, NDArray], float]

BLOCK_BYTES = 400_000  # a block of Y and what is made from it stay in a core's cache
SMALL_PRODUCT = 800_000  # multiplications: below a million OpenBLAS has faster kernels for thin factors
TOGETHER = 8  # blocks of columns in one call
ROWS_AT_ONCE = 2048  # of A, solved together
WORTH_THREADS = 10_000_000  # multiplications in a sweep below which threads cost more than they save
NOISE_ENTRIES = 1 << 17  # of the residual tell the noise in the gradient to 0.3 %
NOISE_ROWS = 1 << 11  # at most, and then for unequal measurements to better than 1 %
NOISE_COLUMNS = 1 << 14  # for the final level of a measurement: a standard error of 0.9 %


@dataclass(frozen=True)
class Sweep:
    """New sources for given mixing directions, and all that the A-step needs of them."""

    S: NDArray  # (r, n)
    SS: NDArray  # S S', (r, r)
    YS: NDArray  # Y S', (m, r)
    cost: float  # 1/2 |Y - A S|^2, to the rounding error of |Y|^2 in the precision of Y
    active: float  # share of entries of S that are not 0
    violation: float


class InMemory:
    """Y (m, n) as an array, asked in blocks: of columns, or of rows where there are more of those."""

    def __init__(self, Y: NDArray, *, threads: int | None = None, seed: int = 0) -> None:
        self.Y = Y
        self.shape = Y.shape
        self.dtype = Y.dtype
        self.energy = _energy(Y if Y.flags.c_contiguous else Y.T)
        self._threads = threads
        self._seed = seed
        self._probe = _Probe(Y, seed)

    def sweep(self, A: NDArray, S: NDArray, solve: Solve) -> Sweep:
        """Solve the S-step from the support of S, and collect S S' and Y S'."""
        G = _gram(A)
        X = np.empty((self.shape[1], A.shape[1]), dtype=self.dtype)
        sweep = self._sweep_tall if self.shape[0] > self.shape[1] else self._sweep_wide
        SS, YS, active, worst = sweep(A, G, S.T, X, solve)
        return Sweep(X.T, SS, YS, self.cost(A, SS, YS), active / X.size, worst)

    def cost(self, A: NDArray, SS: NDArray, YS: NDArray) -> float:
        """1/2 |Y - A S|^2 from S S' and Y S', without another look at the data."""
        return float(max(self.energy / 2 - np.vdot(A, YS) + np.vdot(_gram(A), SS) / 2, 0.0))

    def _sweep_wide(
        self, A: NDArray, G: NDArray, old: NDArray, X: NDArray, solve: Solve
    ) -> tuple[NDArray, NDArray, int, float]:
        """One pass over blocks of columns: each is read once, for A'Y and for Y S'.

        A few blocks are handed over together, so that threads seldom meet at the interpreter's lock.
        """
        m, r = A.shape
        step = self._step(r)

        def part(starts: range) -> tuple[NDArray, NDArray, int, float]:
            SS, YS, active, worst = np.zeros((r, r)), np.zeros((m, r)), 0, 0.0
            for columns in _runs(starts, self.shape[1], step):
                Yb, Xb = _stacked(self.Y[:, columns], step), X[columns]
                Xb[:] = old[columns]
                worst = max(worst, solve(G, np.matmul(Yb.mT, A).reshape(Xb.shape), Xb))
                SS += Xb.T @ Xb
                product = np.matmul(Yb, Xb.reshape(len(Yb), -1, r))
                YS += product[0] if len(product) == 1 else product.sum(axis=0)
                active += int(np.count_nonzero(Xb))
            return SS, YS, active, worst

        parts = in_parts(part, self.shape[1], step * TOGETHER, self._threads_for(r))
        if len(parts) == 1:
            return parts[0]
        SS, YS, active, worst = zip(*parts, strict=True)
        return np.sum(SS, axis=0), np.sum(YS, axis=0), sum(active), max(worst)

    def _sweep_tall(
        self, A: NDArray, G: NDArray, old: NDArray, X: NDArray, solve: Solve
    ) -> tuple[NDArray, NDArray, int, float]:
        """A'Y over blocks of rows, the S-step of the few columns, and Y S' over blocks of rows."""
        threads, step = self._threads_for(A.shape[1]), self._step(A.shape[1])
        C = sum(in_parts(lambda starts: self._correlate(A, starts, step), len(A), step, threads))
        C = np.ascontiguousarray(C, dtype=self.dtype)

        def solved(starts: range) -> tuple[float, int]:
            worst, active = 0.0, 0
            for start in starts:
                block = slice(start, start + ROWS_AT_ONCE)
                X[block] = old[block]
                worst = max(worst, solve(G, C[block], X[block]))
                active += int(np.count_nonzero(X[block]))
            return worst, active

        def product(starts: range) -> None:
            for start in starts:
                np.dot(self.Y[start : start + step], X, out=YS[start : start + step])

        worst, active = zip(*in_parts(solved, len(X), ROWS_AT_ONCE, threads), strict=True)
        YS = np.empty(A.shape, dtype=self.dtype)
        in_parts(product, len(A), step, threads)
        return _gram(X), YS.astype(np.float64, copy=False), sum(active), max(worst)

    def _correlate(self, A: NDArray, starts: range, step: int) -> NDArray:
        """Y'A over some blocks of rows, (n, r)."""
        C = np.zeros((self.shape[1], A.shape[1]))
        for start in starts:
            block = slice(start, start + step)
            C += self.Y[block].T @ A[block]
        return C

    def solve_mixing(self, G: NDArray, C: NDArray, X: NDArray) -> None:
        """The A-step argmin_{X >= 0} 1/2 <X, XG> - <C, X> for the rows of C (m, r), in place of X."""

        def part(starts: range) -> None:
            for start in starts:
                block = slice(start, start + ROWS_AT_ONCE)
                solve_rows(G, C[block], X[block], grouped=True)

        in_parts(part, len(C), ROWS_AT_ONCE, self._threads_for(X.shape[1]))

    def correlate(self, A: NDArray) -> NDArray:
        """A'Y, (r, n)."""
        return np.dot(self.Y.T, A).T

    def moments(self, S: NDArray) -> tuple[NDArray, NDArray]:
        """S S' and Y S'."""
        return _gram(S.T), np.dot(self.Y, S.T)

    def peak(self, A: NDArray, S: NDArray) -> float:
        """Largest entry of |A'(AS - Y)|."""
        G, peak, step = _gram(A).astype(self.dtype), 0.0, self._step(A.shape[1])
        for start in range(0, self.shape[1], step):
            block = slice(start, start + step)
            peak = max(peak, float(np.abs(S.T[block] @ G - self.Y[:, block].T @ A).max()))
        return peak

    def noise(self, A: NDArray, S: NDArray, *, final: bool = False) -> NDArray:
        """Robust noise level of each measurement, from a seeded set of the residual's entries.

        Along the way a bounded number of entries is looked at, enough for the noise in the gradient to
        1 % where sources are spread over many measurements; measurements that are not among them (above
        2,048) get the mean level of those that are. The final levels have a standard error of 1 % for
        every single measurement, or come from all of its samples.
        """
        if not final or self._probe.exhaustive:
            return self._probe.levels(A, S)
        m, n = self.shape
        columns = _picks(n, NOISE_COLUMNS, np.random.default_rng(self._seed))
        sources = S[:, columns]
        step = max(1, 10 * BLOCK_BYTES // (8 * sources.shape[1]))
        blocks = [slice(i, i + step) for i in range(0, m, step)]
        found = [noise.deviations(self.Y[b][:, columns], A[b] @ sources)[1] for b in blocks]
        return noise.GAUSSIAN * np.concatenate(found)

    def leftover(self, A: NDArray, S: NDArray, k: int) -> NDArray:
        """k directions (m, k) of unit norm that the residual points to most strongly, or zeros.

        Each is a column of the residual's positive part, the strongest once the directions before it
        are taken away from all of them.
        """
        step = max(1, BLOCK_BYTES // (self.Y.itemsize * len(A)))
        blocks = [slice(j, j + step) for j in range(0, self.shape[1], step)]
        energy = np.concatenate([_energies(self._rest(A, S, block)) for block in blocks])
        strongest = np.sort(np.argsort(energy, kind="stable")[::-1][: 32 * k])
        columns = self._rest(A, S, strongest)
        found = np.zeros((len(A), k), dtype=self.dtype)
        rest = columns
        for i in range(k):
            pick = _energies(rest).argmax()
            if not rest[:, pick].any():
                break
            found[:, i] = columns[:, pick] / np.linalg.norm(columns[:, pick])
            rest = np.maximum(rest - np.outer(found[:, i], found[:, i] @ rest), 0)
        return found

    def _rest(self, A: NDArray, S: NDArray, columns: slice | NDArray) -> NDArray:
        return np.maximum(self.Y[:, columns] - A @ S[:, columns], 0)

    def _step(self, r: int) -> int:
        """How many columns (or rows, of tall data) make a block."""
        side = min(self.shape)
        return max(32, min(BLOCK_BYTES // (self.dtype.itemsize * side), SMALL_PRODUCT // (side * r)))

    def _threads_for(self, r: int) -> int:
        """None for small problems, however many there are."""
        m, n = self.shape
        if m * n * r < WORTH_THREADS:
            return 1
        return available() if self._threads is None else self._threads


class _Probe:
    """Seeded rows and columns of Y whose residual tells the noise."""

    def __init__(self, Y: NDArray, seed: int) -> None:
        m, n = Y.shape
        rng = np.random.default_rng(seed)
        rows = min(m, NOISE_ROWS)
        columns = min(n, max(256, NOISE_ENTRIES // rows))
        self._m = m
        self.exhaustive = rows == m and columns == n
        self._rows = _picks(m, rows, rng)
        self._columns = _picks(n, columns, rng)
        self._Y = np.ascontiguousarray(Y[self._rows][:, self._columns])
        self._last: NDArray | None = None
        self._guess: NDArray | None = None

    def levels(self, A: NDArray, S: NDArray) -> NDArray:
        """The level of each of the m measurements."""
        model = np.ascontiguousarray(A[self._rows]) @ S[:, self._columns]
        last, self._last = self._last, noise.deviations(self._Y, model, self._guess)
        # on the way down levels change steadily: expect the same change again
        self._guess = self._last if last is None else 2 * self._last - last
        found = noise.GAUSSIAN * self._last[1]
        if len(found) == self._m:
            return found
        levels = np.full(self._m, np.sqrt(np.mean(found**2)))
        levels[self._rows] = found
        return levels


def _picks(length: int, count: int, rng: np.random.Generator) -> slice | NDArray:
    """A sorted random choice, or everything."""
    if count >= length:
        return slice(None)
    return np.sort(rng.choice(length, count, replace=False))


def _runs(starts: range, n: int, step: int) -> Iterator[slice]:
    """Columns from each start to the next: whole blocks, and at the end of the data what is left."""
    for start in starts:
        stop = min(start + starts.step, n)
        whole = stop - (stop - start) % step
        if whole > start:
            yield slice(start, whole)
        if stop > whole:
            yield slice(whole, stop)


def _stacked(Y: NDArray, step: int) -> NDArray:
    """Columns of Y as a stack of blocks (blocks, m, step), without a copy."""
    m, n = Y.shape
    if n <= step or n % step:
        return Y[None]
    strides = (step * Y.strides[1], *Y.strides)
    return as_strided(Y, (n // step, m, step), strides, writeable=False)


def _energy(Y: NDArray) -> float:
    """Sum of squares, in double precision, some rows at a time."""
    step = max(1, BLOCK_BYTES // (8 * Y.shape[1]))
    blocks = (Y[i : i + step].astype(np.float64, copy=False) for i in range(0, len(Y), step))
    return float(sum(np.vdot(block, block) for block in blocks))


def _energies(X: NDArray) -> NDArray:
    return np.einsum("ij,ij->j", X, X)


def _gram(A: NDArray) -> NDArray:
    A = A.astype(np.float64, copy=False)
    return A.T @ A
