"""A CUDA device: its arrays, products and sums, and the solver of columns that stay there."""

from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.engines.gpu.cuda_driver import load_cupy
from ngmca.engines.gpu.cuda_sources import (
    BLOCKS,
    DOUBLE,
    SINGLE,
    Kernel,
    Shape,
    compiled,
    quick,
    thorough,
)
from ngmca.nnqp.certificate import equilibrate
from ngmca.nnqp.pivoting import solve_rows

MOST_SOURCES = 128  # that the kernels are written for
TOLERANCE = {SINGLE: 8e-6, DOUBLE: 2e-13}  # violation that is worked for
MAX_VIOLATION = {SINGLE: 1e-5, DOUBLE: 1e-11}  # above it, the CPU solves the column
MOVES = 1000  # of coordinate descent for each source, at most, where pivoting fails
MAX_SOURCES_OF_A_THREAD = 16  # that solves a column by itself, in single precision
TILE = 2048  # terms of a sum in the precision of the data; sums of tiles are in double precision
MAX_TALLY_BLOCKS = 1 << 11  # blocks of threads that add up sources
MEDIAN_OF = 2048  # entries at most, of medians in the shared memory of a block
MOST_IN_PRODUCTS = 16  # sources, in single precision, for which cuBLAS is not the fastest
BOUNDED_EACH = 32  # entries of the gradient of the bounded step, in the registers of each thread
_MOST_SHARED = 97  # CUDA's number for this property of a GPU


class Device:
    """A CUDA device: its arrays, products and kernels."""

    @cached_property
    def xp(self) -> Any:
        """CuPy; a `GpuError` if there is no GPU that it can use."""
        return load_cupy()

    def host(self, array: Any) -> NDArray:
        """Return a copy of an array in the memory of the host."""
        return np.asarray(self.xp.asnumpy(array))

    def free(self) -> int:
        """Return the number of free bytes, within the limit of CuPy (CUPY_GPU_MEMORY_LIMIT)."""
        pool = self.xp.get_default_memory_pool()
        left = self.xp.cuda.runtime.memGetInfo()[0] + pool.free_bytes()
        limit = pool.get_limit()
        return int(min(left, limit - pool.used_bytes()) if limit else left)

    @cached_property
    def most_shared(self) -> int:
        """Bytes of memory that a block of threads can share."""
        runtime = self.xp.cuda.runtime
        return int(runtime.deviceGetAttribute(_MOST_SHARED, runtime.getDevice()))

    def multiply(self, P: Any, Q: Any, out: Any) -> None:
        """out (k, a, b) := P (k, a, c) Q (k, c, b).

        In each array, the rows or the columns must be contiguous.
        """
        cublas = self.xp.cuda.cublas  # never in TF32: that has three digits
        call = cublas.sgemmStridedBatched if out.dtype == SINGLE else cublas.dgemmStridedBatched
        one, nothing = np.ones(1, out.dtype), np.zeros(1, out.dtype)
        batch, rows, columns = out.shape
        # row after row is column after column of the transposed, and that is Q'P'
        handle = self.xp.cuda.device.get_cublas_handle()
        (how_Q, long_Q, apart_Q), (how_P, long_P, apart_P) = layout(Q), layout(P)
        call(
            *(handle, how_Q, how_P, columns, rows, P.shape[2], one.ctypes.data),
            *(Q.data.ptr, long_Q, apart_Q, P.data.ptr, long_P, apart_P),
            *(nothing.ctypes.data, out.data.ptr, *layout(out)[1:], batch),
        )

    def run(self, kernel: Kernel, blocks: tuple[int, ...], shared: int, *given: Any) -> None:
        """Run a kernel in this many blocks of threads, each with this many bytes of shared memory."""
        function = compiled(kernel)
        if shared > 48 << 10:
            function.max_dynamic_shared_size_bytes = shared
        function(blocks, (kernel.threads,), given, shared_mem=shared)

    # The same on every GPU.

    def columns(self, r: int, n: int, dtype: Any) -> Any:
        """Return an empty array (r, n) whose columns are contiguous."""
        return self.xp.empty((n, r), dtype=dtype).T

    def product(self, P: Any, Q: Any, out: Any) -> None:
        """out (a, b) := P (a, c) Q (c, b)."""
        if not (out.strides[1] == out.itemsize or out.shape[1] == 1):
            P, Q, out = Q.T, P.T, out.T
        if P.shape[1] <= 4 * TILE:
            self.multiply(P[None], Q[None], out[None])
            return
        total, part = self.xp.zeros(out.shape), self.xp.empty(out.shape, dtype=out.dtype)
        for j in range(0, P.shape[1], TILE):
            some = slice(j, j + TILE)
            self.multiply(P[None, :, some], Q[None, some], part[None])
            total += part
        out[...] = total

    def correlate(self, A: Any, Y: Any, out: Any) -> None:
        """out := A'Y for A (m, r); the columns of out (r, n) are contiguous."""
        (m, r), n = A.shape, Y.shape[1]
        if not self._has_products(r, Y):
            self.product(A.T, Y, out)
            return
        assert min(r, n) == 1 or out.strides == (out.itemsize, r * out.itemsize)
        kernel = Kernel("products", "correlated", np.dtype(A.dtype), 128, (("R", r),))
        sizes = (np.int64(Y.strides[0] // Y.itemsize), np.int32(m), np.int64(n))
        blocks = min(-(-n // 512), BLOCKS)
        A = self.xp.ascontiguousarray(A)
        self.run(kernel, (blocks,), _wide(r) * m * A.itemsize, A, Y, *sizes, out)

    def tiles(self, P: Any, Q: Any, out: Any = None) -> Any:
        """Return P (a, c) Q (c, b) as partial sums (k, a, b) over TILE terms each."""
        (a, c), b = P.shape, Q.shape[1]
        whole, rest = c // TILE, c % TILE
        if out is None:
            out = self.xp.empty((whole + (rest > 0), a, b), dtype=P.dtype)
        if whole:
            long_P, long_Q = self._cut(P.T, whole).swapaxes(1, 2), self._cut(Q, whole)
            self.multiply(long_P, long_Q, out[:whole])
        if rest:
            self.multiply(P[None, :, -rest:], Q[None, -rest:], out[whole:])
        return out

    def _cut(self, Q: Any, whole: int) -> Any:
        """Return the rows of Q (c, b) as a stack of tiles, without a copy."""
        strides = (TILE * Q.strides[0], *Q.strides)
        as_strided = self.xp.lib.stride_tricks.as_strided
        return as_strided(Q, (whole, TILE, Q.shape[1]), strides)

    def solve(self, G: NDArray, C: Any, X: Any, shift: NDArray, guess: Any = None) -> float:
        """Solve argmin_{X >= 0} 1/2 <X, GX> - <C - shift, X> in place of X; return the violation.

        C and X have shape (r, n) with contiguous columns, G (r, r) and shift (r,); or all are stacks.
        Without a guess, the solver starts from X. If sources are nearly equal, the GPU may not solve a
        column accurately; the CPU then solves it.
        """
        xp, dtype = self.xp, np.dtype(X.dtype)
        problems = X.shape[0] if X.ndim == 3 else 1
        Gz, scale = equilibrate(G)
        small = tuple(xp.asarray(np.ascontiguousarray(part), dtype=dtype) for part in (Gz, scale, shift))
        violation = self._solved(small, C, X, X if guess is None else guess)
        worst = float(violation.max())
        if worst <= MAX_VIOLATION[dtype]:  # not so for NaN
            return worst
        return max(
            self._finish(*parts, violation=violation[k])
            for k, parts in enumerate(_each(problems, (G, C, X, shift), X.ndim == 3))
        )

    def solve_each(self, G: Any, C: Any, guess: Any, shift: Any = None) -> tuple[Any, NDArray]:
        """Solve the same for stacks G (k, r, r) and shift (k, r) on the GPU.

        C and the guess have shape (k, n, r). Returns X (k, n, r), and the violation of each problem.
        """
        xp, dtype = self.xp, np.dtype(C.dtype)
        shift = xp.zeros(G.shape[:2]) if shift is None else shift
        scaled, X = self._equilibrated(G, shift, dtype), xp.empty_like(C)
        violation = self._solved(scaled, C.swapaxes(1, 2), X.swapaxes(1, 2), guess.swapaxes(1, 2))
        worst = self.host(violation.max(axis=1)).astype(np.float64)
        for k in np.flatnonzero(~(worst <= MAX_VIOLATION[dtype])):
            small = (self.host(G[k]), C[k].T, X[k].T, self.host(shift[k]))
            worst[k] = self._finish(*small, violation=violation[k])
        return X, worst

    def _equilibrated(self, G: Any, shift: Any, dtype: np.dtype) -> tuple[Any, ...]:
        """Return `equilibrate` of a stack on the GPU, and the shifts, in the precision of the data."""
        (k, r), empty = shift.shape, self.xp.empty
        found = tuple(empty(shape, dtype=dtype) for shape in ((k, r, r), (k, r), (k, r)))
        kernel = Kernel("stacks", "equilibrated", dtype, 256)
        self.run(kernel, (k,), 0, G, shift, np.int32(r), *found)
        return found

    def moved(self, A: Any, last: Any = None, share: Any = None) -> tuple[Any, Any]:
        """Extrapolate a stack A (k, m, r) by shares (k,) of its last move; columns then get norm 1.

        If a share is 0, its A does not change. Without `last` there is no move. Returns A, and the norms
        (k, r) before the scaling.
        """
        k, m, r = A.shape
        last, share = (A, self.xp.ones(k)) if last is None else (last, share)
        found, norms = self.xp.empty_like(A), self.xp.empty((k, r), dtype=A.dtype)
        kernel = Kernel("stacks", "moved", np.dtype(A.dtype), 512)
        self.run(kernel, (k,), 0, A, last, share, np.int32(m), np.int32(r), found, norms)
        return found, norms

    def _solved(self, small: tuple[Any, ...], C: Any, X: Any, guess: Any) -> Any:
        """Run the kernel for G, scales and shifts, in place of X; return violations (problems, n)."""
        dtype = np.dtype(X.dtype)
        r, n = X.shape[-2:]
        problems = X.shape[0] if X.ndim == 3 else 1
        violation = self.xp.empty((problems, n), dtype=np.float32)
        assert C.strides[-2] == X.strides[-2] == X.itemsize
        assert r == 1 or guess.strides[-2] == X.itemsize
        arrays = (*small, C, guess, X, violation, np.int64(n))
        if dtype == DOUBLE or not self._solved_by_most(r, problems, arrays, violation):
            self._solve_in_teams(thorough(r), r, problems, arrays, again=dtype == SINGLE)
        return violation

    def _solved_by_most(self, r: int, problems: int, arrays: tuple[Any, ...], violation: Any) -> bool:
        """Solve all columns with the fastest kernel; return whether all are accurate."""
        if r <= MAX_SOURCES_OF_A_THREAD:
            kernel = Kernel("alone", "alone", SINGLE, 128, (("R", r),))
            self.run(kernel, (min(-(-int(arrays[-1]) // 128), BLOCKS), problems), 0, *arrays)
        else:
            self._solve_in_teams(quick(r), r, problems, arrays, moves=-1)
        return bool(violation.max() <= TOLERANCE[SINGLE])  # not so for NaN

    def _solve_in_teams(
        self,
        shape: Shape,
        r: int,
        problems: int,
        arrays: tuple[Any, ...],
        *,
        again: bool = False,
        moves: int | None = None,
    ) -> None:
        """Solve all columns, or with `again` those that are not accurate, with several threads each."""
        dtype = np.dtype(arrays[0].dtype)
        shape = shape.within(r, self.most_shared // dtype.itemsize)
        kernel = Kernel("columns", "solve", dtype, shape.threads, (("R", r), *shape.macros))
        blocks = (min(-(-int(arrays[-1]) * shape.lanes // shape.threads), shape.blocks), problems)
        moves = MOVES * r if moves is None else moves
        limits = (dtype.type(TOLERANCE[dtype]), np.int32(moves), np.int32(again))
        self.run(kernel, blocks, shape.shared(r) * dtype.itemsize, *arrays, *limits)

    def moments(self, Y: Any, X: Any) -> Any:
        """Return Y S' and below it S S' as tiles (k, m + r, r), for Y (m, n) and S = X (r, n)."""
        (m, n), r = Y.shape, len(X)
        out = self.xp.empty((-(-n // TILE), m + r, r), dtype=X.dtype)
        if not self._has_products(r, Y):
            self.tiles(Y, X.T, out[:, :m])
            self.tiles(X, X.T, out[:, m:])
            return out
        assert min(r, n) == 1 or X.strides == (X.itemsize, r * X.itemsize)
        kernel = Kernel("products", "tiled", np.dtype(X.dtype), 256, (("R", r),))
        blocks = len(out) * -(-(-(-m // 4) + _wide(r) // 4) // 8)
        sizes = (np.int32(m), np.int64(n), np.int32(TILE), out)
        apart = np.int64(Y.strides[0] // Y.itemsize)
        self.run(kernel, (blocks,), 128 * (_wide(r) + 4) * X.itemsize, Y, apart, X, *sizes)
        return out

    def _has_products(self, r: int, Y: Any) -> bool:
        """Return whether products.cu supports these data: contiguous rows, and A in shared memory."""
        fits = r <= MOST_IN_PRODUCTS and 2 * _wide(r) * len(Y) * 4 <= self.most_shared
        return bool(fits and Y.dtype == SINGLE and (Y.strides[1] == Y.itemsize or Y.shape[1] == 1))

    def tally(self, X: Any) -> tuple[NDArray, int]:
        """Return the sums of the rows of X (r, n), and the number of entries that are not 0."""
        r, n = X.shape
        blocks = min(MAX_TALLY_BLOCKS, -(-n * r // 256))
        found = self.xp.empty((blocks, 2, r), dtype=np.float64)
        kernel = Kernel("rows", "tally", np.dtype(X.dtype), 256)
        self.run(kernel, (blocks,), 512 * 8, X, np.int64(n), np.int32(r), found)
        sums, counts = self.added([found])
        return sums, int(counts.sum())

    def added(self, tiles: list[Any]) -> NDArray:
        """Return the sum of all tiles, in double precision; the order does not depend on pieces."""
        stack = tiles[0] if len(tiles) == 1 else self.xp.concatenate(tiles)
        found = self.xp.empty(stack.shape[1:], dtype=np.float64)
        kernel = Kernel("rows", "added", np.dtype(stack.dtype), 256)
        sizes = np.int32(len(stack)), np.int64(found.size)
        self.run(kernel, (-(-found.size // 32),), 256 * 8, stack, *sizes, found)
        return self.host(found)

    def deviations(self, X: Any) -> Any:
        """Return median and median absolute deviation of each row of X."""
        rows, n = X.shape
        found = self.xp.empty((2, rows), dtype=np.float64)
        if n > MEDIAN_OF:
            kernel = Kernel("rows", "long_deviations", np.dtype(X.dtype), 1024)
            X = self.xp.ascontiguousarray(X)
            self.run(kernel, (rows,), (32 + 1024) * 8, X, np.int64(n), found)
            return found
        kernel = Kernel("rows", "deviations", np.dtype(X.dtype), 256)
        self.run(kernel, (rows,), (n + 4) * 8, self.xp.ascontiguousarray(X), np.int32(n), found)
        return found

    def summary(self, A: Any, G: Any, X: Any, SS: Any, YS: Any, energy: float) -> Any:
        """Return cost, share of entries that are not 0, and sums (k, 2 + r) of sources X (k, n, r)."""
        (k, m, r), n = A.shape, X.shape[1]
        found = self.xp.empty((k, 2 + r))
        sizes = (np.int32(m), np.int32(n), np.int32(r), np.float64(energy))
        kernel = Kernel("stacks", "summary", np.dtype(X.dtype), 512)
        self.run(kernel, (k,), 32 * 8, A, G, X, SS, YS, *sizes, found)
        return found

    def levels(self, deviations: Any, A: Any, G: Any, C: Any, X: Any, every: int) -> Any:
        """Return `degrees_of_freedom.corrected` of a stack A (k, m, r), G = A'A, C = Y'A, X (k, n, r).

        `deviations` (k, m) are the median absolute deviations of the residual. Every so many samples are
        used.
        """
        (k, m, r), n = A.shape, X.shape[1]
        scratch = self.xp.empty((k, levels_room(r, -(-n // every))))
        found = self.xp.empty((k, m))
        sizes = (np.int32(m), np.int32(n), np.int32(r), np.int32(every))
        kernel = Kernel("stacks", "levels", np.dtype(X.dtype), 256)
        self.run(kernel, (k,), 32 * 8, deviations, A, G, C, X, *sizes, scratch, found)
        return found

    def fits_bounded(self, r: int, m: int) -> bool:
        """Return whether a block of threads has enough memory for the bounded step."""
        return _bounded_bytes(r, m) <= self.most_shared and -(-r // 8) * -(-m // 64) <= BOUNDED_EACH

    def bounded(self, G: Any, C: Any, bound: Any, X: Any, most: int, tol: float) -> Any:
        """Run `descend_rows` for a stack of problems (k, r, m); return rounds and changes (k, 2)."""
        k, r, m = X.shape
        told = self.xp.empty((k, 2), dtype=np.float64)
        kernel = Kernel("bounded", "bounded", DOUBLE, 512, (("R", r), ("M", m)))
        limits = (np.int32(most), np.float64(tol))
        self.run(kernel, (k,), _bounded_bytes(r, m), G, C, bound, X, *limits, told)
        return told

    def _finish(self, G: NDArray, C: Any, X: Any, shift: NDArray, *, violation: Any) -> float:
        """Solve on the CPU the columns that the GPU did not solve; return the largest violation."""
        found = self.host(violation)
        wrong = ~(found <= MAX_VIOLATION[np.dtype(X.dtype)])
        worst = float(found.max(where=~wrong, initial=0))
        if not wrong.any():
            return worst
        which = self.xp.asarray(np.flatnonzero(wrong))
        part = np.ascontiguousarray(self.host(X[:, which]).T)
        exact = solve_rows(G, np.ascontiguousarray(self.host(C[:, which]).T), part, shift)
        X[:, which] = self.xp.asarray(np.ascontiguousarray(part.T))
        return max(worst, exact)


def _each(problems: int, parts: tuple[Any, ...], stacked: bool) -> list[tuple[Any, ...]]:
    """Return the parts of each problem of a stack."""
    return [tuple(part[k] for part in parts) for k in range(problems)] if stacked else [parts]


def _wide(r: int) -> int:
    """Return the number of sources in products.cu, which is a multiple of 8."""
    return -(-r // 8) * 8


def _bounded_bytes(r: int, m: int) -> int:
    """Return the shared memory of the bounded step in bytes: A, S S' and a row."""
    return 8 * (r * m + r * r + m + 64 + 2 * r + 32)


def levels_room(r: int, b: int) -> int:
    """Return how many numbers `Device.levels` needs for each problem of b samples."""
    return (2 * b + 2) * r * r + (4 * b + 2) * r + 2 * b


def layout(M: Any) -> tuple[int, int, int]:
    """Return how cuBLAS sees a stack (k, a, b): 1 if transposed, its row length, and its stride."""
    apart, over, along = (stride // M.itemsize for stride in M.strides)
    if along == 1 or M.shape[2] == 1:
        return 0, max(over, M.shape[2]), apart
    assert over == 1 or M.shape[1] == 1
    return 1, max(along, M.shape[1]), apart


@cache
def open_device() -> Device:
    """Return the device; raise a `GpuError` if there is none."""
    device = Device()
    _ = device.xp
    return device
