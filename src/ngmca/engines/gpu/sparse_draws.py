"""Draws of sparse sources on a GPU, whose model and laws are those of `ngmca.sampling`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.engines.gpu.columns import Columns
from ngmca.engines.gpu.cuda_sources import BLOCKS, DOUBLE, Kernel
from ngmca.engines.gpu.device import Device
from ngmca.nnqp.gram import Gram

THREADS = 128
MOST_SUMS = 1 << 10  # blocks of threads that add up a density


class SumsThere:
    """An array of sums on a GPU, whose parts come to the memory of the host when they are looked at."""

    def __init__(self, device: Device, shape: tuple[int, ...]) -> None:
        self._device, self.array = device, device.xp.zeros(shape)

    def __getitem__(self, which: Any) -> NDArray:
        return self._device.host(self.array[which])

    def __setitem__(self, which: Any, value: float) -> None:
        self.array[which] = value

    def __iadd__(self, other: "SumsThere") -> "SumsThere":
        self.array += other.array
        return self


class SparseDraws:
    """Draws for data on a GPU; sources X are (n, r), in double precision.

    Parameters
    ----------
    engine : Engine
        The data, on a GPU.
    tables : tuple of ndarray
        Those of `sampling.random_draws`: the Mills ratio, and ends and heights of layers.
    """

    def __init__(self, engine: Any, tables: tuple[NDArray, ...]) -> None:
        self._engine, self.device = engine, engine.device
        self.xp = self.device.xp
        self._tables = self.xp.asarray(np.concatenate(tables))

    def there(self, values: NDArray) -> Any:
        """Return a copy of an array on the GPU."""
        return self.xp.array(values, dtype=np.float64, order="C")

    def zeros(self, shape: tuple[int, ...]) -> SumsThere:
        """Return sums that are 0."""
        return SumsThere(self.device, shape)

    def correlate(self, A: NDArray) -> Any:
        """Return Y'A (n, r), in double precision."""
        C = self._engine.correlated(A.astype(self._engine.dtype))
        return self.xp.ascontiguousarray(C.T.astype(np.float64))

    def moments(self, X: Any) -> tuple[Gram, NDArray]:
        """Return S S' and Y S' for S = X'."""
        S: tuple[Gram, NDArray] = self._engine.moments(
            Columns(self.device, X.astype(self._engine.dtype).T)
        )
        return S

    def transitions(self, X: Any) -> NDArray:
        """Return `sparse_kernels.transitions`."""
        on = X > 0
        counts = [on.sum(axis=0), X.sum(axis=0), (on[1:] & on[:-1]).sum(axis=0), on[-1]]
        return self.device.host(self.xp.stack([one.astype(np.float64) for one in counts]))

    def longest_run(self, X: Any) -> int:
        """Return the largest number of neighbouring channels in all of which a source is active."""
        xp, n, longest = self.xp, len(X), 0
        for k in range(X.shape[1]):
            idle = xp.flatnonzero(~(X[:, k] > 0))
            ends = xp.concatenate([xp.asarray([-1]), idle, xp.asarray([n])])
            longest = max(longest, int(xp.diff(ends).max()) - 1)
        return longest

    def sources(
        self, G: NDArray, C: Any, X: Any, rate: NDArray, root: NDArray, ratio: NDArray, passes: int,
        key: np.uint64, sums: SumsThere | None,
    ) -> None:  # fmt: skip
        """Draw each entry of X in place: first those of even channels, then those of odd ones."""
        n, r = X.shape
        kernel = Kernel("sparse", "drawn", DOUBLE, THREADS, (("R", r),))
        small = (self.there(part) for part in (G, rate, root, ratio))
        g, *law = small
        total = X if sums is None else sums.array  # X is not looked at
        for parity in (0, 1):
            self.device.run(
                *(kernel, (_blocks(-(-n // 2)),), r * r * 8, g, C, *law, self._tables, np.int32(passes)),
                *(key, np.int32(parity), np.int64(n), np.int32(sums is not None), X, total),
            )

    def rest(self, G: NDArray, C: Any, X: Any, k: int, i: int) -> Any:
        """Return what the data say of source i, (n,), where source k is active."""
        n, found = len(X), self.xp.empty(len(X))
        given = self.there(G), C, X, np.int32(k), np.int32(i), np.int64(n), found
        self.device.run(self._kernel("rest_of", X), (_blocks(n),), 0, *given)
        return found

    def density(self, k: int, i: int, law: Any, X: Any, u: Any, c: float) -> float:
        """Return `shearing._forwards`."""
        blocks = min(_blocks(len(X)), MOST_SUMS)
        found = self.xp.empty(blocks)
        given = np.int32(k), np.int32(i), law, self._tables, X, u, np.int64(len(X)), np.float64(c), found
        self.device.run(self._kernel("density", X), (blocks,), 32 * 8, *given)
        return float(self.device.host(found).sum())

    def runs(self, k: int, i: int, law: Any, X: Any, u: Any, c: float, key: np.uint64) -> None:
        """Draw source i where source k is active, in place."""
        given = np.int32(k), np.int32(i), law, self._tables, u, np.int64(len(X)), np.float64(c), key
        kernel = self._kernel("drawn_runs", X)
        self.device.run(kernel, (_blocks(len(X)),), 0, *given, self.xp.empty(len(X)), X)

    @staticmethod
    def _kernel(name: str, X: Any) -> Kernel:
        return Kernel("sparse", name, DOUBLE, THREADS, (("R", X.shape[1]),))


def _blocks(threads: int) -> int:
    return min(-(-threads // THREADS), BLOCKS)
