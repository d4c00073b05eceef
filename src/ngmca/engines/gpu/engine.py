"""The engine that answers from a CUDA device: measurements and sources there, small matrices here.

The measurements lie on the GPU where they fit. Where they do not, they stay in the memory of the host
(or in a file that is mapped to it), and every pass brings them piece by piece: while one is worked on,
the next is on its way.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import ArgumentError, message, option
from ngmca.engines.blocks import Choice, gram, row_blocks
from ngmca.engines.derived import BLOCK_ENTRIES, cost
from ngmca.engines.gpu.columns import Columns
from ngmca.engines.gpu.cuda_driver import GpuError
from ngmca.engines.gpu.device import MEDIAN_OF, MOST_SOURCES, TILE, Device
from ngmca.engines.gpu.stacks import ROOM, Stacks
from ngmca.engines.gpu.transfers import Transfers
from ngmca.engines.memory import InMemory
from ngmca.engines.noise_sample import NoiseSample, SourcesAt
from ngmca.engines.protocol import DType, Place, Solve, Sources, Sweep, Units
from ngmca.engines.robust_noise import GAUSSIAN
from ngmca.engines.units import check_range, unit_of
from ngmca.nnqp.bounded_rows import descend_rows
from ngmca.nnqp.gram import Gram

PIECE = 1 << 28  # bytes that travel at once
MIN_PRODUCTS_ON_GPU = 100_000  # multiplications in a round of the A-step; smaller ones run on the CPU
RESIDUAL_COLUMNS_AT_ONCE = 1 << 18


class GpuEngine(InMemory):
    """The engine for Y (m, n), an array in memory or on the GPU, that answers on the GPU.

    Questions that are seldom asked are answered from memory.

    Parameters
    ----------
    Y : NumPy or CuPy array of shape (m, n)
        The measurements in their unit.
    device : Device
        The GPU.
    unit, seed
        Those of `MemoryEngine`.
    """

    place: Place = "gpu"

    def __init__(self, Y: Any, device: Device, unit: float = 1.0, *, seed: int = 0) -> None:
        self.device, self.unit, self.seed = device, unit, seed
        self.shape, self.dtype = tuple(Y.shape), np.dtype(Y.dtype)
        self._given = Y
        self.on_device = not isinstance(Y, np.ndarray)
        self.array_module = device.xp if self.on_device else np
        self._room: int | None = None  # sources that there is room for
        self._pieces_of: Any = None
        self._sample: _DeviceSample = _DeviceSample(self, seed)

    @cached_property
    def _Y(self) -> NDArray:  # type: ignore[override]
        """All of Y in memory."""
        return self.device.host(self._given) if self.on_device else self._given

    @cached_property
    def energy(self) -> float:  # type: ignore[override]
        """Sum of squares of Y, in double precision."""
        total = 0.0
        for _, Y in self._pieces(1):
            blocks = (block.astype(np.float64) for _, block in row_blocks(Y, BLOCK_ENTRIES))
            total += sum(float((block * block).sum()) for block in blocks)
        return total

    def stacks(self, r: int) -> Stacks | None:
        """Return the same questions for many starts at once; None if data are not small.

        Data are small if every entry of the residual is used for the noise: medians are then of few.
        """
        if not (self._sample.exhaustive and self.corrected):
            return None
        supports = self._sample.supports
        assert isinstance(supports, slice)
        return Stacks(self, r, every=int(supports.step))

    def all_there(self, r: int) -> Any:
        """Return all of Y on the GPU, if it fits beside r sources."""
        ((_, Y),) = self._pieces(r)
        return Y

    # The measurements on the GPU.

    def _pieces(self, r: int) -> Iterator[tuple[slice, Any]]:
        """Columns of Y on the GPU, with their place: all at once, or piece by piece."""
        check_sources(r)
        if self._room is None or r > self._room:
            self._place(r)
        return iter(self._pieces_of)

    def _whole(self, r: int) -> Any:
        """Return Y on the GPU, None if it comes there piece by piece."""
        self._pieces(r)
        return self._pieces_of[0][1] if isinstance(self._pieces_of, list) else None

    def _place(self, r: int) -> None:
        """Bring Y to the GPU, or decide to do so piece by piece; a `GpuError` if S has no room."""
        m, n = self.shape
        item, self._pieces_of = self.dtype.itemsize, None
        free = self.device.free()
        sources = 4 * r * n * item + (n // TILE + 1) * (m + r) * r * item  # S twice, C, sums and more
        whole = 0 if self.on_device else m * n * item
        self._room = r
        if sources + whole <= ROOM * free:
            Y = self.device.xp.asarray(self._given)
            self._pieces_of = [(slice(0, n), Y)]
            return
        width = max(1, min(PIECE, int(ROOM * free - sources) // 3) // (m * item))
        width = max(width // TILE * TILE, TILE) if n > TILE else n
        if self.on_device or sources + 3 * width * m * item > free:
            self._room = None
            needed = sources + width * m * item * 3
            raise GpuError(
                message(
                    "the GPU has {} GB free, and {} sources in {} x {} data need about {} GB there. "
                    "Close other programs that use it, or use {}.",
                    *(f"{free / 1e9:.2g}", r, m, n, f"{needed / 1e9:.2g}", option("device", "cpu")),
                )
            )
        self._pieces_of = _Streamed(self.device, self._given, width)

    def pick(self, rows: Choice, columns: Choice) -> NDArray:
        """Return some measurements at some columns, in memory."""
        if not (isinstance(rows, slice) or isinstance(columns, slice)):
            rows = np.asarray(rows)[:, None]  # both at once: no whole rows or columns are copied
        if all(isinstance(which, slice) and which == slice(None) for which in (rows, columns)):
            return self._Y
        if not self.on_device:
            return np.asarray(self._given[rows, columns])
        rows, columns = (
            which if isinstance(which, slice) else self.device.xp.asarray(which)
            for which in (rows, columns)
        )
        return self.device.host(self._given[rows, columns])

    def divided(
        self, rows: Units = None, columns: Units = None, *, unit: float = 1.0, dtype: DType | None = None
    ) -> Self:
        """Return the data divided by units; on the GPU, if all of Y is there and has room once more."""
        (m, n), there = self.shape, self._pieces_of
        kind = self.dtype if dtype is None else np.dtype(dtype)
        room = ROOM * self.device.free() > m * n * kind.itemsize + 8 * (self._room or 0) * n * 8
        if not (isinstance(there, list) and room and rows is columns is None):
            return super().divided(rows, columns, unit=unit, dtype=dtype)
        Y = self.device.xp.empty((m, n), dtype=kind)
        for which, block in row_blocks(there[0][1], BLOCK_ENTRIES):  # no other copy of the data
            Y[which] = block / self.dtype.type(unit)
        found = self._like(Y, unit)
        found.array_module = self.array_module
        return found

    @property
    def there(self) -> Any:
        """Y on the GPU, None if it comes there piece by piece."""
        return self._whole(1)

    @cached_property
    def magnitude(self) -> float:
        """Largest absolute value in Y."""
        return max(max(float(Y.max()), -float(Y.min())) for _, Y in self._pieces(1))

    @cached_property
    def second_differences(self) -> tuple[NDArray, NDArray, NDArray] | None:
        """What `neighbouring_channels` asks about each row; None if Y is not on the GPU as a whole."""
        whole, xp = self._whole(1), self.device.xp
        (m, n), found = self.shape, []
        if whole is None or n < 4:
            return None
        at_once = max(1, int(self.device.free()) // (16 * n * max(8, self.dtype.itemsize)))
        for start in range(0, m, at_once):
            Y = whole[start : start + at_once]
            second = Y[:, :-2] - 2 * Y[:, 1:-1] + Y[:, 2:]
            level = GAUSSIAN * self.device.deviations(second)[1]
            limit = (3 * level).astype(self.dtype)[:, None]
            xp.clip(second, -limit, limit, out=second)
            pairs = (second[:, 1:] * second[:, :-1]).sum(axis=1, dtype=np.float64)
            squares = (second[:, 1:] ** 2).sum(axis=1, dtype=np.float64)
            found.append(self.device.host(xp.stack([level, pairs, squares])))
        level, pairs, squares = np.concatenate(found, axis=1)
        return level, pairs, squares

    # What the outer loop asks.

    def sweep(self, A: NDArray, S: Any, solve: Solve) -> Sweep:
        """Solve the S-step from S, and collect S S' and Y S'."""
        device, r = self.device, A.shape[1]
        pieces = self._pieces(r)
        X, guess = device.columns(r, self.shape[1], self.dtype), self._there(S)
        G, small = Gram(gram(A)), device.xp.asarray(A, dtype=self.dtype)
        moments, worst = [], 0.0
        for columns, Y in pieces:
            C, part = device.columns(r, Y.shape[1], self.dtype), X[:, columns]
            device.correlate(small, Y, C)
            there: Any = Columns(device, part, guess=guess[:, columns])
            correlations: Any = Columns(device, C)
            worst = max(worst, solve(G, correlations, there, columns))
            moments.append(device.moments(Y, part))
        YS, total = np.split(device.added(moments), [self.shape[0]])
        SS = Gram(total)
        sums, active = device.tally(X)
        found: Any = Columns(device, X, sums)
        return Sweep(found, SS, YS, cost(self, A, SS, YS), active / X.size, worst, sums)

    def _there(self, S: Any) -> Any:
        """S on the GPU, each column in one piece."""
        xp = self.device.xp
        array = S.array if isinstance(S, Columns) else xp.asarray(S, dtype=self.dtype)
        return xp.ascontiguousarray(array.T).T

    def solve_mixing(
        self, G: Gram, C: NDArray, A: NDArray, bounded: NDArray | None = None
    ) -> tuple[NDArray, float]:
        """The A-step for the rows of C (m, r), on the GPU if that is worth the transfer."""
        if bounded is not None:
            return G.solve_bounded(C, A, bounded, self._bounded_rows)
        if A.shape[1] ** 2 * len(A) < MIN_PRODUCTS_ON_GPU:
            return super().solve_mixing(G, C, A)
        device, SS = self.device, G.matrix
        there = device.xp.asarray(np.ascontiguousarray(A))
        worst = device.solve(
            SS, device.xp.asarray(np.ascontiguousarray(C)).T, there.T, np.zeros(len(SS))
        )
        return device.host(there), worst

    def _bounded_rows(
        self, G: NDArray, C: NDArray, bound: NDArray, X: NDArray, max_iter: int, tol: float
    ) -> tuple[int, float]:
        """`descend_rows`, on the GPU if it has room and the problem is worth the transfer."""
        r, m = X.shape
        if 8 * r * r * m < MIN_PRODUCTS_ON_GPU or not self.device.fits_bounded(r, m):  # many rounds
            return descend_rows(G, C, bound, X, max_iter, tol)
        device = self.device
        there = device.xp.asarray(X[None])
        small = [device.xp.asarray(np.ascontiguousarray(part[None])) for part in (G, C, bound)]
        told = device.bounded(small[0], small[1], small[2], there, max_iter, tol)
        rounds, moved = device.host(told[0])
        X[:] = device.host(there[0])
        return int(rounds), float(moved)

    def correlate(self, A: NDArray) -> NDArray:
        """A'Y, (r, n)."""
        return np.ascontiguousarray(self.device.host(self.correlated(A)))

    def correlated(self, A: NDArray) -> Any:
        """A'Y (r, n) on the GPU, whose columns are contiguous."""
        r = A.shape[1]
        pieces = self._pieces(r)
        small = self.device.xp.asarray(A, dtype=self.dtype)
        C = self.device.columns(r, self.shape[1], self.dtype)
        for columns, Y in pieces:
            self.device.correlate(small, Y, C[:, columns])
        return C

    def moments(self, S: Any) -> tuple[Gram, NDArray]:
        """S S' and Y S'."""
        r = S.shape[0]
        pieces = self._pieces(r)
        X = self._there(S)
        moments = [self.device.moments(Y, X[:, columns]) for columns, Y in pieces]
        YS, SS = np.split(self.device.added(moments), [self.shape[0]])
        return Gram(SS), YS

    def peak(self, A: NDArray, S: Any) -> float:
        """Largest entry of |A'(AS - Y)|."""
        xp, peak, r = self.device.xp, 0.0, A.shape[1]
        pieces = self._pieces(r)
        small, X = xp.asarray(A, dtype=self.dtype), self._there(S)
        G = xp.asarray(gram(A), dtype=self.dtype)
        for columns, Y in pieces:
            C = self.device.columns(r, Y.shape[1], self.dtype)
            self.device.correlate(small, Y, C)
            C -= G @ X[:, columns]
            peak = max(peak, float(abs(C).max()))
        return peak

    def _final_deviations(self, A: NDArray, S: NDArray, columns: Choice, step: int) -> NDArray:
        """Return the median absolute deviation of each row of the residual at some columns."""
        Y, xp = self._whole(A.shape[1]), self.device.xp
        if Y is None:
            return super()._final_deviations(A, S, columns, step)
        where, X = columns if isinstance(columns, slice) else xp.asarray(columns), xp.asarray(S)
        step, found = max(step, int(self.device.free()) // (64 * X.shape[1])), []
        for start in range(0, len(A), step):
            rows = slice(start, start + step)
            rest = Y[rows, where] - xp.asarray(A[rows]) @ X
            found.append(self.device.host(self.device.deviations(rest)[1]))
        return np.concatenate(found)

    def _rest_energies(self, A: NDArray, S: Sources) -> NDArray:
        """Return the sum of squares of each column of the residual's positive part."""
        xp, found = self.device.xp, []
        pieces = self._pieces(A.shape[1])
        small, X = xp.asarray(A, dtype=self.dtype), self._there(S)
        for columns, Y in pieces:
            for start in range(0, Y.shape[1], RESIDUAL_COLUMNS_AT_ONCE):
                part = Y[:, start : start + RESIDUAL_COLUMNS_AT_ONCE]
                first = columns.start + start
                rest = xp.maximum(part - small @ X[:, first : first + part.shape[1]], 0)
                found.append(self.device.host((rest * rest).sum(axis=0)))
        return np.concatenate(found)

    def _like(self, Y: NDArray, unit: float = 1.0) -> Self:
        return type(self)(Y, self.device, self.unit * unit, seed=self.seed)


class _DeviceSample(NoiseSample):
    """The sample for noise levels, with its residual on the GPU."""

    def __init__(self, engine: GpuEngine, seed: int) -> None:
        super().__init__(engine, seed)
        self._device = engine.device

    @cached_property
    def _there(self) -> Any:
        """The chosen entries."""
        return self._device.xp.asarray(self._Y)

    def _deviations(self, A: NDArray, S: SourcesAt) -> NDArray:
        if self._Y.shape[1] > MEDIAN_OF:
            return super()._deviations(A, S)
        xp = self._device.xp
        rest = self._there - xp.asarray(A) @ xp.asarray(S(self._columns))
        return self._device.host(self._device.deviations(rest))


class _Streamed:
    """Y in the memory of the host, brought to the GPU piece by piece, again for every pass."""

    def __init__(self, device: Device, Y: NDArray, width: int) -> None:
        self._device, self._Y = device, Y
        m, n = Y.shape
        self._blocks = [slice(j, min(j + width, n)) for j in range(0, n, width)]
        self._there = [device.xp.empty((m, width), dtype=Y.dtype) for _ in range(2)]
        self._way = _transfers(device, Y, width)

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


def _transfers(device: Device, Y: NDArray, width: int) -> Any:
    return Transfers(device.xp, Y, width)


def there_in_own_units(Y: Any, device: Device) -> tuple[Any, Device, float]:
    """A matrix on the GPU, checked, in units in which squares neither overflow nor vanish."""
    xp = device.xp
    Y = xp.asarray(Y)
    if Y.ndim != 2 or not Y.size or Y.dtype.kind not in "fiu":
        raise ArgumentError("Y must be a matrix of numbers, got {} of shape {}.", Y.dtype, Y.shape)
    Y = xp.ascontiguousarray(Y, dtype=Y.dtype if Y.dtype in (np.float32, np.float64) else np.float64)
    low, high = float(Y.min()), float(Y.max())
    if not np.isfinite([low, high]).all():
        raise ArgumentError(
            "Y has NaN or infinite entries, which {} does not support.", option("device", "cuda")
        )
    unit = unit_of(np.array([[low, high]], dtype=Y.dtype))
    check_range(max(high, -low), Y.dtype, unit)
    return (Y if unit == 1.0 else Y / Y.dtype.type(unit)), device, unit


def check_sources(r: int) -> None:
    """Raise an error if there are more sources than the kernels are written for."""
    if r > MOST_SOURCES:
        raise ArgumentError(
            "{} supports at most {} sources, got {}. Use {}.",
            *(option("device", "cuda"), MOST_SOURCES, option("r", r), option("device", "cpu")),
        )
