"""Measurements on their way to a GPU, on a stream of their own, while others are worked on."""

import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

COPYING = 8  # threads that copy rows of an array that cannot be pinned
LONGEST_ROW = (1 << 31) - 1  # bytes from row to row that CUDA copies at once
TO_DEVICE = 1  # the direction, in CUDA's numbering


class Transfers:
    """Pieces of Y (m, n), two of which have a place on the GPU: one in use, one on its way.

    The memory of Y is pinned where the system allows it, and the GPU fetches from it directly; pieces
    of other arrays, as of files that are mapped to memory, are copied to pinned memory first.
    """

    def __init__(self, xp: Any, Y: NDArray, width: int) -> None:
        import cupyx

        self._cuda, self._Y = xp.cuda, Y
        self._stream = xp.cuda.Stream(non_blocking=True)
        self._arrived, self._done = ([xp.cuda.Event() for _ in range(2)] for _ in range(2))
        near = Y.strides[0] <= LONGEST_ROW
        self._pinned = Y.flags.c_contiguous and near and _pin(xp.cuda.runtime, Y, self)
        self._stages: list[NDArray] = []
        if not self._pinned:
            self._stages = [cupyx.empty_pinned((len(Y), width), dtype=Y.dtype) for _ in range(2)]
        for event in self._done:
            event.record()  # what is asked so far may still be at work in the places

    def send(self, k: int, columns: slice, target: Any) -> None:
        """Begin to copy piece k to its place (m, width) on the GPU, once that is free."""
        self._stream.wait_event(self._done[k % 2])
        source = self._Y[:, columns]
        if not self._pinned:
            self._arrived[k % 2].synchronize()  # the copy before is out of this stage
            stage = self._stages[k % 2][:, : source.shape[1]]
            _copy(source, stage)
            source = stage
        self._cuda.runtime.memcpy2DAsync(
            *(target.data.ptr, target.strides[0], source.ctypes.data, source.strides[0]),
            *(source.shape[1] * source.itemsize, len(source), TO_DEVICE, self._stream.ptr),
        )
        self._arrived[k % 2].record(self._stream)

    def arrived(self, k: int) -> None:
        """Let what follows on the GPU wait for piece k."""
        self._cuda.get_current_stream().wait_event(self._arrived[k % 2])

    def done(self, k: int) -> None:
        """The place of piece k is free once all that was asked so far is done."""
        self._done[k % 2].record()

    def given_up(self) -> None:
        """A pass ends before its time: what follows waits for what is on its way."""
        for k in range(2):
            self.arrived(k)
            self.done(k)


def _pin(runtime: Any, Y: NDArray, owner: Any) -> bool:
    """Keep the memory of Y in its place for as long as its owner lives; whether that can be done."""
    try:
        runtime.hostRegister(Y.ctypes.data, Y.nbytes, 0)
    except runtime.CUDARuntimeError:
        return False
    weakref.finalize(owner, runtime.hostUnregister, Y.ctypes.data)
    return True


def _copy(source: NDArray, target: NDArray) -> None:
    """target := source, some rows in each of several threads."""
    rows = [part for part in np.array_split(np.arange(len(source)), COPYING) if part.size]
    with ThreadPoolExecutor(len(rows)) as pool:
        parts = [slice(part[0], part[-1] + 1) for part in rows]
        list(pool.map(lambda part: np.copyto(target[part], source[part]), parts))
