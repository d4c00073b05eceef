"""The engine that answers from a CUDA card: measurements and sources there, small matrices here.

The measurements lie on the card where they fit. Where they do not, they stay in the memory of the host
(or in a file that is mapped to it), and every pass brings them piece by piece: while one is worked on,
the next is on its way.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.engines.blocks import Choice, gram, row_blocks
from ngmca.engines.checksum import checksum, told
from ngmca.engines.gpu import MEDIAN_OF, MOST_SOURCES, TILE, Card, CardError, Columns
from ngmca.engines.gpu.transfers import Transfers
from ngmca.engines.grams import Grams
from ngmca.engines.memory import LARGE, InMemory
from ngmca.engines.noise_sample import Probe, Sources
from ngmca.engines.sweep import Solve, Sweep
from ngmca.engines.units import check_range, unit_of

PIECE = 1 << 28  # bytes that travel at once
ROOM = 0.9  # share of the free memory that is used
WORTH_THE_WAY = 100_000  # multiplications a round, in the A-step, from which on the card makes it
RESIDUAL = 1 << 18  # columns of a residual on the card at once


class OnGpu(InMemory):
    """Y (m, n), an array in memory or on the card, asked on the card.

    What is asked seldom (rivals, diagnoses, weights of new measurements) is answered from memory.
    """

    place = "gpu"

    def __init__(self, Y: Any, card: Card, unit: float = 1.0, *, seed: int = 0) -> None:
        self.card = card
        self.unit = unit
        self.shape: tuple[int, int] = tuple(Y.shape)
        self.dtype = np.dtype(Y.dtype)
        self._given = Y
        self.on_card = not isinstance(Y, np.ndarray)  # so are the answers then
        self._threads = None
        self._seed = seed
        self._room: int | None = None  # sources that there is room for
        self._pieces_of: Any = None
        self._probe = _CardProbe(self, seed)

    @cached_property
    def _Y(self) -> NDArray:  # type: ignore[override]
        return self.card.host(self._given) if self.on_card else self._given

    @cached_property
    def energy(self) -> float:  # type: ignore[override]
        """Sum of squares of Y, in double precision."""
        total = 0.0
        for _, Y in self._pieces(1):
            blocks = (block.astype(np.float64) for _, block in row_blocks(Y, LARGE))  # no copy of Y
            total += sum(float((block * block).sum()) for block in blocks)
        return total

    @property
    def exhaustive(self) -> bool:
        """Whether the noise along the way is told by all entries of Y."""
        return self._probe.exhaustive

    @property
    def every(self) -> int:
        """Every so many columns tell how much of the noise a fit follows, where all tell the noise."""
        supports = self._probe.supports
        assert isinstance(supports, slice)
        return int(supports.step)

    def all_there(self, r: int) -> Any:
        """All of Y on the card, where it fits beside r sources."""
        ((_, Y),) = self._pieces(r)
        return Y

    @property
    def block(self) -> int:  # type: ignore[override]
        """Columns that `update_columns` takes."""
        return InMemory(self._Y[:, :1]).block

    # The measurements on the card.

    def _pieces(self, r: int) -> Iterator[tuple[slice, Any]]:
        """Columns of Y on the card, with their place: all at once, or piece by piece."""
        check_sources(r)
        if self._room is None or r > self._room:
            self._place(r)
        return iter(self._pieces_of)

    def _place(self, r: int) -> None:
        """Bring Y to the card, or decide to do so piece by piece; a `CardError` if S has no room."""
        m, n = self.shape
        item, self._pieces_of = self.dtype.itemsize, None
        free = self.card.free()
        sources = 4 * r * n * item + (n // TILE + 1) * (m + r) * r * item  # S twice, C, sums and more
        whole = 0 if self.on_card else m * n * item
        self._room = r
        if sources + whole <= ROOM * free:
            Y = self.card.xp.asarray(self._given)
            self._pieces_of = [(slice(0, n), Y)]
            return
        width = max(1, min(PIECE, int(ROOM * free - sources) // 3) // (m * item))
        width = max(width // TILE * TILE, TILE) if n > TILE else n
        if self.on_card or sources + 3 * width * m * item > free:
            self._room = None
            raise CardError(
                f"the card has {free / 1e9:.2g} GB free, and {r} sources in {m} x {n} data need about "
                f"{(sources + width * m * item * 3) / 1e9:.2g} GB there: close what else uses it, or "
                "take device='cpu'."
            )
        self._pieces_of = _Streamed(self.card, self._given, width)

    def pick(self, rows: Choice, columns: Choice) -> NDArray:
        """Some measurements at some columns, in memory."""
        if not (isinstance(rows, slice) or isinstance(columns, slice)):
            rows = np.asarray(rows)[:, None]  # both at once: no rows, or columns, as a whole
        if not self.on_card:
            return np.asarray(self._given[rows, columns])
        rows, columns = (
            which if isinstance(which, slice) else self.card.xp.asarray(which)
            for which in (rows, columns)
        )
        return self.card.host(self._given[rows, columns])

    # What the outer loop asks.

    def sweep(self, A: NDArray, S: Any, solve: Solve) -> Sweep:
        """Solve the S-step from S, and collect S S' and Y S'."""
        card, r = self.card, A.shape[1]
        pieces = self._pieces(r)
        X, guess = card.columns(r, self.shape[1], self.dtype), self._there(S)
        G, small = gram(A), card.xp.asarray(A, dtype=self.dtype)
        moments, worst = [], 0.0
        for columns, Y in pieces:
            C, part = card.columns(r, Y.shape[1], self.dtype), X[:, columns]
            card.correlate(small, Y, C)
            there: Any = Columns(card, part, guess=guess[:, columns])
            correlations: Any = Columns(card, C)
            worst = max(worst, solve(G, correlations, there, columns))
            moments.append(card.moments(Y, part))
        YS, SS = np.split(card.added(moments), [self.shape[0]])
        sums, active = card.tally(X)
        found: Any = Columns(card, X, sums)
        return Sweep(found, SS, YS, self.cost(A, SS, YS), active / X.size, worst, sums)

    def _there(self, S: Any) -> Any:
        """S on the card, each column in one piece."""
        if isinstance(S, Columns):
            return S.array
        xp = self.card.xp
        return xp.ascontiguousarray(xp.asarray(S, dtype=self.dtype).T).T

    def solve_mixing(self, G: Any, C: NDArray, X: NDArray) -> float:
        """The A-step for the rows of C (m, r), in place of X; on the card if that is worth the way."""
        if isinstance(G, Grams) or X.shape[1] ** 2 * len(X) < WORTH_THE_WAY:
            return super().solve_mixing(G, C, X)
        card = self.card
        there = card.xp.asarray(np.ascontiguousarray(X))
        worst = card.solve(G, card.xp.asarray(np.ascontiguousarray(C)).T, there.T, np.zeros(len(G)))
        X[:] = card.host(there)
        return worst

    def bounded_rows(
        self, G: NDArray, C: NDArray, bound: NDArray, X: NDArray, max_iter: int, tol: float
    ) -> float:
        """The bounded A-step in place of X (r, m), on the card where it has room; the last change."""
        r, m = X.shape
        if 8 * r * r * m < WORTH_THE_WAY or not self.card.fits_bounded(r, m):  # many rounds
            return super().bounded_rows(G, C, bound, X, max_iter, tol)
        card = self.card
        there = card.xp.asarray(X[None])
        small = [card.xp.asarray(np.ascontiguousarray(part[None])) for part in (G, C, bound)]
        told = card.bounded(small[0], small[1], small[2], there, max_iter, tol)
        X[:] = card.host(there[0])
        return float(told[0, 1])

    def correlate(self, A: NDArray) -> NDArray:
        """A'Y, (r, n)."""
        small = self.card.xp.asarray(A, dtype=self.dtype)
        found = np.empty((A.shape[1], self.shape[1]), dtype=self.dtype)
        for columns, Y in self._pieces(A.shape[1]):
            C = self.card.xp.empty((A.shape[1], Y.shape[1]), dtype=self.dtype)
            self.card.product(small.T, Y, C)
            found[:, columns] = self.card.host(C)
        return found

    def moments(self, S: Any) -> tuple[Any, NDArray]:
        """S S' and Y S'."""
        r = S.shape[0]
        pieces = self._pieces(r)
        X = self._there(S)
        moments = [self.card.moments(Y, X[:, columns]) for columns, Y in pieces]
        YS, SS = np.split(self.card.added(moments), [self.shape[0]])
        return SS, YS

    def peak(self, A: NDArray, S: Any) -> float:
        """Largest entry of |A'(AS - Y)|."""
        xp, peak, r = self.card.xp, 0.0, A.shape[1]
        pieces = self._pieces(r)
        small, X = xp.asarray(A, dtype=self.dtype), self._there(S)
        G = xp.asarray(gram(A), dtype=self.dtype)
        for columns, Y in pieces:
            C = self.card.columns(r, Y.shape[1], self.dtype)
            self.card.correlate(small, Y, C)
            C -= G @ X[:, columns]
            peak = max(peak, float(abs(C).max()))
        return peak

    def _rest_energies(self, A: NDArray, S: Any) -> NDArray:
        xp, found = self.card.xp, []
        pieces = self._pieces(A.shape[1])
        small, X = xp.asarray(A, dtype=self.dtype), self._there(S)
        for columns, Y in pieces:
            for start in range(0, Y.shape[1], RESIDUAL):
                part = Y[:, start : start + RESIDUAL]
                first = columns.start + start
                rest = xp.maximum(part - small @ X[:, first : first + part.shape[1]], 0)
                found.append(self.card.host((rest * rest).sum(axis=0)))
        return np.concatenate(found)

    def fetched(self, S: Any) -> NDArray:
        """Sources of a sweep as an array in memory."""
        return np.asarray(S)

    def returned(self, found: Any) -> Any:
        """A result with A and S where the data came from."""
        if not self.on_card:
            return found
        return replace(found, A=self.card.xp.asarray(found.A), S=self.card.xp.asarray(found.S))

    def fingerprint(self) -> str:
        """A checksum of all numbers, in words, to tell other data from these."""
        starts = range(0, self.shape[1], RESIDUAL)
        parts = (self.pick(slice(None), slice(j, j + RESIDUAL)) for j in starts)
        return told(sum(checksum(Y, 0, j) for j, Y in zip(starts, parts, strict=True)), self.unit)

    # The same data otherwise.

    def _like(self, engine: InMemory) -> "OnGpu":
        return OnGpu(engine._Y, self.card, engine.unit, seed=engine._seed)

    def _in_memory(self) -> InMemory:
        return InMemory(self._Y, unit=self.unit, seed=self._seed)

    def transposed(self) -> "OnGpu":
        """The data with measurements and samples exchanged."""
        return self._like(self._in_memory().transposed())

    def whitened(self, rows: NDArray | None, columns: NDArray | None) -> "OnGpu":
        """The same data in units of rows (m,) and columns (n,)."""
        return self._like(self._in_memory().whitened(rows, columns))

    def part(self, rows: Choice, columns: Choice) -> "OnGpu":
        """Some of the measurements at some of the channels; this engine itself where it is all."""
        if isinstance(rows, slice) and isinstance(columns, slice):
            return self
        Y = np.ascontiguousarray(self.pick(rows, columns))
        return OnGpu(Y, self.card, self.unit, seed=self._seed)

    def single(self) -> "OnGpu":
        """The same data in single precision, in units of their largest entry, noise as it is."""
        return self._like(self._in_memory().single()).by_residual()


class _CardProbe(Probe):
    """The noise along the way, from a residual on the card."""

    def __init__(self, engine: OnGpu, seed: int) -> None:
        super().__init__(engine, seed)
        self._card = engine.card

    @cached_property
    def _there(self) -> Any:
        """The chosen entries."""
        return self._card.xp.asarray(self._Y)

    def _deviations(self, A: NDArray, S: Sources) -> NDArray:
        if self._Y.shape[1] > MEDIAN_OF:
            return super()._deviations(A, S)
        xp = self._card.xp
        rest = self._there - xp.asarray(A) @ xp.asarray(S(self._columns))
        return self._card.host(self._card.deviations(rest))


class _Streamed:
    """Y in the memory of the host, brought to the card piece by piece, again for every pass."""

    def __init__(self, card: Card, Y: NDArray, width: int) -> None:
        self._card, self._Y = card, Y
        m, n = Y.shape
        self._blocks = [slice(j, min(j + width, n)) for j in range(0, n, width)]
        self._there = [card.xp.empty((m, width), dtype=Y.dtype) for _ in range(2)]
        self._way = _transfers(card, Y, width)

    def __iter__(self) -> Iterator[tuple[slice, Any]]:
        way, blocks = self._way, self._blocks
        try:
            way.send(0, blocks[0], self._there[0])
            for k, block in enumerate(blocks):
                if k + 1 < len(blocks):
                    way.send(k + 1, blocks[k + 1], self._there[(k + 1) % 2])
                way.arrived(k)
                yield block, self._there[k % 2][:, : block.stop - block.start]
                way.done(k)
        except BaseException:  # also where nobody goes on with it
            way.given_up()
            raise


def _transfers(card: Card, Y: NDArray, width: int) -> Any:
    return Transfers(card.xp, Y, width)


def there_in_own_units(Y: Any, card: Card) -> tuple[Any, Card, float]:
    """A matrix on the card, checked, in units in which squares neither overflow nor vanish."""
    xp = card.xp
    Y = xp.asarray(Y)
    if Y.ndim != 2 or not Y.size or Y.dtype.kind not in "fiu":
        raise ValueError(f"Y must be a matrix of numbers, got {Y.dtype} of shape {Y.shape}.")
    Y = xp.ascontiguousarray(Y, dtype=Y.dtype if Y.dtype in (np.float32, np.float64) else np.float64)
    low, high = float(Y.min()), float(Y.max())
    if not np.isfinite([low, high]).all():
        raise ValueError("Y has NaN or infinite entries, which device='cuda' cannot do without.")
    unit = unit_of(np.array([[low, high]], dtype=Y.dtype))
    check_range(max(high, -low), Y.dtype, unit)
    return (Y if unit == 1.0 else Y / Y.dtype.type(unit)), card, unit


def check_sources(r: int) -> None:
    """Refuse more sources than the kernels are written for."""
    if r > MOST_SOURCES:
        raise ValueError(f"device='cuda' is for {MOST_SOURCES} sources at most, got r={r}: take 'cpu'.")
