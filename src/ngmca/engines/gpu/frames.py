"""A wavelet frame on a GPU: analysis, synthesis, thresholds, and the steps of ADMM."""

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.engines.gpu.columns import Columns
from ngmca.engines.gpu.cuda_sources import BLOCKS, Kernel
from ngmca.engines.gpu.device import Device
from ngmca.engines.gpu.stacks import ROOM
from ngmca.engines.protocol import Engine

TILE, SIDE = 1024, 32  # places of an axis, and of both axes of an image, that a block makes at once
THREADS = 256
KEPT, WEIGHED, ADVANCED = range(3)  # uses of a coefficient, as coefficients.h numbers them
ARRAYS = 8  # of coefficients of all sources, that there is to be room for


def placed(engine: Any, W: Any, r: int) -> Any:
    """Return the frame for r sources where the engine has them: on a GPU if it supports the frame.

    The frame stays in the memory of the host where the GPU has too little room for it.
    """
    if engine.place != "gpu" or not GpuFrame.supports(W):
        return W
    needed = ARRAYS * r * W.bands * W.period * engine.dtype.itemsize
    return replace(W, on=GpuFrame(engine.device, W)) if needed <= ROOM * engine.device.free() else W


class GpuFrame:
    """What is done in a frame, for sources (r, n) and coefficients (r, bands, period) on a GPU.

    Parameters
    ----------
    device : Device
        The GPU.
    W : Frame
        One that the kernels support.
    """

    def __init__(self, device: Device, W: Any) -> None:
        assert self.supports(W)
        self.device, self.xp, self._W = device, device.xp, W
        taps = 2 * W.centre + 1 if W.height else W.filters.shape[1]
        macros = [("TAPS", taps), ("LEVELS", W.levels)]
        around = (taps - 1) * ((1 << W.levels) - 1)  # places that the filters of a tile reach
        self._copies = 3 if W.height else 2  # of a tile, for coefficients
        if W.height:
            self._name, self._weight, self._room = "image", 0.5, (SIDE + around) ** 2
            macros += [("CHANNELS", len(W.filters)), ("SIDE", SIDE)]
        else:  # an axis and its reflection
            self._name, self._weight, self._room = "line", float(np.sqrt(0.5)), TILE + around
            macros += [("CENTRE", W.centre), ("TILE", TILE)]
        self._macros = tuple(macros)
        numbers = np.concatenate([W.filters[:, :taps].ravel(), W.parity])
        self._filters = {np.dtype(kind): self.xp.asarray(numbers, dtype=kind) for kind in "fd"}

    @staticmethod
    def supports(W: Any) -> bool:
        """Return whether there are kernels for a frame: wavelets of spectra, framelets of images."""
        return bool(W.parity.all() and W.levels) if W.height else not W.parity.any()

    def there(self, values: Any) -> Any:
        """Return an array on the GPU."""
        return self.xp.asarray(values)

    def shown(self, S: Any) -> Columns:
        """Return sources as the engine takes them."""
        return Columns(self.device, S)

    def correlate(self, engine: Engine, A: NDArray) -> Any:
        """Return A'Y (r, n) for the data of an engine on the same GPU."""
        return self.xp.ascontiguousarray(engine.correlated(A))  # type: ignore[attr-defined]

    def inner(self, X: Any, Y: Any) -> float:
        """Return the sum of products of all entries, in double precision."""
        return float((X * Y).sum(dtype=np.float64))

    def analyse(self, S: Any) -> Any:
        """Return W S."""
        out = self._empty(S)
        self._coefficients(S, KEPT, out)
        return out

    def synthesise(self, X: Any) -> Any:
        """Return W'X (r, n)."""
        folded, (near, far) = self._signal(X), self._places
        return X.dtype.type(self._weight) * (folded[:, near] + folded[:, far])

    def weigh(self, S: Any, noise: NDArray, tau: float, scale: float) -> Any:
        """Return the thresholds of `analysis.weigh`."""
        out = self._empty(S)
        levels = self.xp.ascontiguousarray(self.xp.asarray(noise, dtype=S.dtype))
        self._coefficients(S, WEIGHED, out, noise=levels, scale=scale, tau=tau)
        return out

    def descend(
        self, inverse: NDArray, C: Any, Lam: Any, state: Any, steps: int, rho: float, relaxation: float
    ) -> None:
        """Take steps of ADMM in place of the state, as `analysis.descend`.

        `inverse` (r, r) is that of the quadratic term with its penalty.
        """
        (r, n), kind = C.shape, C.dtype.type
        X, Z, S = state.coefficients, state.samples, self.xp.empty((r, n), dtype=C.dtype)
        assert X.dtype == Z.dtype == C.dtype
        C, small = self.xp.ascontiguousarray(C), self.xp.asarray(np.ascontiguousarray(inverse, C.dtype))
        kernel = Kernel("quadratic", "quadratic", np.dtype(C.dtype), THREADS, (("R", r),))
        blocks, shared = min(-(-n // THREADS), BLOCKS), r * r * C.dtype.itemsize
        for _ in range(steps):
            folded = self._signal(X, Lam, 1 / rho)
            self.device.run(
                *(kernel, (blocks,), shared, C, folded, *self._places, kind(self._weight)),
                *(np.int64(self._W.period), small, kind(rho), kind(relaxation), np.int64(n), Z, S),
            )
            self._coefficients(S, ADVANCED, X, Lam=Lam, scale=1 / rho, tau=relaxation)

    def solve_columns(self, G: NDArray, B: Any, V: Any) -> Any:
        """Return argmin_{V >= 0} 1/2 <V, GV> - <B, V> in double precision, from a guess of V (r, n)."""
        B, V = (self.xp.ascontiguousarray(X.T.astype(np.float64)).T for X in (B, V))
        self.device.solve(G, B, V, np.zeros(len(G)))
        return V

    def largest_near(self, S: Any, width: int) -> Any:
        """Return the largest entry in a window around each channel of each row of S (r, n)."""
        height = self._W.height
        found = S.reshape(len(S), height, -1) if height else S
        for _ in range(found.ndim - 1):  # along the last axis, which then becomes the first one
            found = self._largest_along(found, width)
            found = found.swapaxes(1, -1)
        return self.xp.ascontiguousarray(found).reshape(S.shape)

    def _largest_along(self, S: Any, width: int) -> Any:
        """Return the largest entry in a window along the last axis."""
        half, n = width // 2, S.shape[-1]
        padded = self.xp.pad(S, ((0, 0),) * (S.ndim - 1) + ((half, half),), mode="symmetric")
        found = padded[..., :n]
        for shift in range(1, width):
            found = self.xp.maximum(found, padded[..., shift : shift + n])
        return found

    # The kernels.

    def _empty(self, S: Any) -> Any:
        return self.xp.empty((len(S), self._W.bands, self._W.period), dtype=S.dtype)

    @cached_property
    def _places(self) -> tuple[Any, Any]:
        """Places (n,) of each channel among those of its block and of the reflection."""
        edges, channels = self._W.blocks, np.arange(self._W.n)
        if self._W.height:
            place = self.xp.asarray(channels.astype(np.int64))
            return place, place
        sizes = np.diff(edges)
        first, size = np.repeat(edges[:-1], sizes), np.repeat(sizes, sizes)
        places = channels + first, 3 * first + 2 * size - 1 - channels
        near, far = (self.xp.asarray(place.astype(np.int64)) for place in places)
        return near, far

    @cached_property
    def _tiles(self) -> Any:
        """(tiles, 4) where the block of a tile begins, its channels and levels, and the first place.

        For an image, the first row and column of a tile, and its height and width.
        """
        W = self._W
        if W.height:
            size = W.height, W.n // W.height
            starts = ((t, j) for t in range(0, size[0], SIDE) for j in range(0, size[1], SIDE))
            return self.xp.asarray(np.array([(*start, *size) for start in starts], dtype=np.int64))
        blocks = zip(W.blocks[:-1], np.diff(W.blocks), W.depths, strict=True)
        tiles = [(f, n, depth, begin) for f, n, depth in blocks for begin in range(0, 2 * n, TILE)]
        return self.xp.asarray(np.array(tiles, dtype=np.int64))

    def _coefficients(
        self, S: Any, use: int, out: Any, *, noise: Any = None, Lam: Any = None,
        scale: float = 1.0, tau: float = 1.0,
    ) -> None:  # fmt: skip
        """Make the coefficients of S, and do with each what is to be done."""
        S, kind = self.xp.ascontiguousarray(S), S.dtype.type
        noise, Lam = (S if part is None else part for part in (noise, Lam))  # which are not looked at
        tiles = len(self._tiles)
        assert {S.dtype, noise.dtype, Lam.dtype, out.dtype} == {S.dtype}  # kernels do not see types
        self.device.run(
            *(self._kernel("coefficients", S.dtype), (len(S) * tiles,)),
            *(self._copies * self._room * S.dtype.itemsize, S, self._filters[S.dtype], self._tiles),
            *(np.int32(tiles), np.int64(self._W.n), np.int32(self._W.bands), np.int32(use)),
            *(noise, Lam, kind(scale), kind(tau), out),
        )

    def _signal(self, X: Any, Lam: Any = None, scale: float = 1.0) -> Any:
        """Return W'X on axes and their reflections, (r, period); with Lam, of the reflected X."""
        X = self.xp.ascontiguousarray(X)
        assert Lam is None or Lam.dtype == X.dtype
        found = self.xp.empty((len(X), self._W.period), dtype=X.dtype)
        kernel, tiles = self._kernel("signal", X.dtype), len(self._tiles)
        shared = (self._copies + 1) * self._room * X.dtype.itemsize
        self.device.run(
            *(kernel, (len(X) * tiles,), shared, X, self._filters[X.dtype], self._tiles),
            *(np.int32(tiles), np.int64(self._W.n), np.int32(self._W.bands)),
            *(X if Lam is None else Lam, np.int32(Lam is not None), X.dtype.type(scale), found),
        )
        return found

    def _kernel(self, name: str, dtype: Any) -> Kernel:
        file, name = f"{self._name}s", f"{self._name}_{name}"
        return Kernel(file, name, np.dtype(dtype), THREADS, self._macros)
