"""Undecimated tight frames for lines and for images: analysis W, its exact adjoint W', and W'W = 1.

The axis is reflected (x0 x0 x1 ... | xn xn), never wrapped. An orthonormal wavelet is not symmetric, so
its coefficients fill the doubled period: 2n for each scale, half of which belong to the wavelet and half
to its mirror image. A spline framelet is symmetric and has n coefficients. In both cases each level
splits the smooth part of the level before into a smooth part and details, and keeps the energy.

For an image, filters are products of two, across and down; only the product of both smooth ones is split
again. A wavelet has 4n coefficients for each band of an image. Framelets, which are shorter, are as good
on smooth images, and better on edges.

Channels of several techniques that follow each other are blocks: each has a frame of its own, with as
many levels as its length allows, and the axis is reflected at both ends of it.

Coefficients of a source have shape (bands, period): details from fine to coarse, and the smooth part
last.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ngmca.domains.frame_kernels import analyse_row, synthesise_row

TAPS_PER_PASS = 4  # filters are padded with zeros to a multiple of it
SYM4 = (
    -0.07576571478927333,
    -0.02963552764599851,
    0.49761866763201545,
    0.8037387518059161,
    0.29785779560527736,
    -0.09921954357684722,
    -0.012603967262037833,
    0.0322231006040427,
)
HAAR = (0.5**0.5, 0.5**0.5)
ORTHONORMAL = {"haar": HAAR, "sym4": SYM4}
SPLINES = {"linear": 2, "cubic": 4}  # power of the cosine in the low-pass filter


@dataclass(frozen=True, eq=False)
class Frame:
    """A tight frame for sources of n channels.

    Attributes
    ----------
    n : int
        Number of channels.
    levels : int
        Number of levels, of the block that has most.
    period : int
        Coefficients in each band.
    filters : ndarray of shape (filters, taps)
        Filters of one level, the smooth one last, applied at x[t + step * (tap - centre)].
    centre : int
        Index of the central tap.
    parity : ndarray of shape (filters,)
        Symmetry of the coefficients under reflection; 0 if the period is doubled.
    blocks : ndarray of shape (blocks + 1,)
        Where each block of channels begins, and the end.
    depths : ndarray of shape (blocks,)
        Number of levels of each block; its other bands are 0.
    height : int
        Rows of an image, whose pixels are the channels row by row; 0 for a spectrum.
    on : object or None
        What works on sources and coefficients that are on a GPU, `engines.gpu.frames.GpuFrame`; None
        for NumPy arrays.
    """

    n: int
    levels: int
    period: int
    filters: NDArray
    centre: int
    parity: NDArray
    blocks: NDArray
    depths: NDArray
    height: int = 0
    on: Any = None

    @property
    def bands(self) -> int:
        """Number of bands: the details, and one smooth band."""
        channels = len(self.filters)
        return self.levels * ((channels**2 if self.height else channels) - 1) + 1

    @property
    def shares(self) -> NDArray:
        """Share of each band that a basis would have: the frame is a mean over its bases."""
        return np.asarray(self.norms**2)

    @property
    def norms(self) -> NDArray:
        """Norm of the filter of each band: its output for white noise of standard deviation 1."""
        return _norms(self)


@lru_cache(maxsize=64)
def frame(
    n: int,
    wavelet: str = "sym4",
    levels: int = 5,
    shape: tuple[int, int] | None = None,
    borders: tuple[int, ...] = (),
) -> Frame:
    """Return the frame for n channels, or for images of a shape, with at most this many levels.

    There are fewer levels if a filter would be longer than the axis and its reflection, or than the
    longer axis of an image. A new block of channels begins at each border.
    """
    if n < 1 or levels < 0:
        raise ValueError(
            f"a frame needs at least one channel (n = {n}) and a number of levels of 0 or more "
            f"({levels})."
        )
    if wavelet in ORTHONORMAL:
        low = _polished(np.array(ORTHONORMAL[wavelet]))
        high = low[::-1] * (-1.0) ** np.arange(low.size)
        filters, parity = np.stack([high, low]) / np.sqrt(2), np.zeros(2, dtype=np.int64)
        centre = low.size // 2 - 1
    elif wavelet in SPLINES:
        filters, parity = _framelet(SPLINES[wavelet])
        centre = filters.shape[1] // 2
    else:
        raise ValueError(f"wavelet must be one of {[*ORTHONORMAL, *SPLINES]}, got {wavelet!r}.")
    if shape is not None and (min(shape) < 1 or shape[0] * shape[1] != n):
        raise ValueError(f"images of {shape[0]} x {shape[1]} pixels do not have {n} pixels.")
    blocks = np.array([0, *borders, n])
    sizes = np.diff(blocks) if shape is None else np.array([max(shape)])
    fitting = np.floor(np.log2(np.maximum(2 * sizes / (filters.shape[1] - 1), 1)))
    depths = np.minimum(levels, fitting.astype(np.int64))
    filters = np.pad(filters, ((0, 0), (0, -filters.shape[1] % TAPS_PER_PASS)))
    period = n * (1 if parity.any() else 4 if shape else 2)
    height = shape[0] if shape else 0
    filters = np.ascontiguousarray(filters)
    return Frame(n, int(depths.max()), period, filters, centre, parity, blocks, depths, height)


def _polished(low: NDArray) -> NDArray:
    """Return the filter, orthonormal to rounding: published taps are accurate to 1e-12 only."""
    size = low.size
    for _ in range(3):
        shifts = [np.concatenate([np.zeros(2 * k), low[: size - 2 * k]]) for k in range(size // 2)]
        ahead = [np.concatenate([low[2 * k :], np.zeros(2 * k)]) for k in range(size // 2)]
        wrong = np.array([low @ shift for shift in shifts] + [low.sum() - np.sqrt(2)])
        wrong[0] -= 1
        slope = np.stack([a + b for a, b in zip(shifts, ahead, strict=True)] + [np.ones(size)])
        low = low - np.linalg.lstsq(slope, wrong, rcond=1e-8)[0]
    return low


def _framelet(power: int) -> tuple[NDArray, NDArray]:
    """Return tight framelets of B-splines (Ron and Shen, 1997): sqrt(binomial) sin^k cos^(power-k)."""
    from math import comb

    filters = []
    for k in [*range(1, power + 1), 0]:
        taps = np.ones(1)
        for j in range(power):
            taps = np.convolve(taps, [0.5, -0.5] if j < k else [0.5, 0.5])
        filters.append(np.sqrt(comb(power, k)) * taps)
    parity = np.array([(-1) ** k for k in [*range(1, power + 1), 0]], dtype=np.int64)
    return np.stack(filters), parity


def analyse(frame: Frame, S: NDArray) -> NDArray:
    """Return W S: coefficients (r, bands, period) of the rows of S (r, n)."""
    if frame.on is not None:
        return frame.on.analyse(S)
    S = np.ascontiguousarray(S)
    coefficients = np.empty((len(S), frame.bands, frame.period), dtype=S.dtype)
    buffers = scratch(frame, S.dtype)[:2]
    for row, found in zip(S, coefficients, strict=True):
        analyse_row(row, found, plan(frame, S.dtype), *buffers)
    return coefficients


def synthesise(frame: Frame, coefficients: NDArray) -> NDArray:
    """Return W' c: the adjoint of `analyse`, and its inverse on the coefficients of a signal."""
    if frame.on is not None:
        return frame.on.synthesise(coefficients)
    S = np.empty((len(coefficients), frame.n), dtype=coefficients.dtype)
    buffers = scratch(frame, S.dtype)[:2]
    for row, given in zip(S, coefficients, strict=True):
        synthesise_row(np.array(given), row, plan(frame, S.dtype), *buffers)
    return S


def plan(frame: Frame, dtype: DTypeLike) -> tuple:
    """Return the arguments of the kernels for a frame; only images have a height, the last one."""
    line = frame.blocks, frame.depths, frame.filters.astype(dtype), frame.centre, frame.parity
    return (*line, frame.height) if frame.height else line


def scratch(frame: Frame, dtype: DTypeLike) -> tuple[NDArray, NDArray, NDArray]:
    """Return buffers for the kernels: an axis with margins, a band (two for an image), and all bands."""
    reach = (frame.filters.shape[1]) << max(frame.levels - 1, 0)
    axis = frame.period // (frame.height or 1)  # the doubled width of an image at least
    bands = frame.period * (2 if frame.height else 1)
    whole = np.empty((frame.bands, frame.period), dtype)
    return np.empty(axis + 2 * reach + 8, dtype), np.empty(bands, dtype), whole


def noise_under(frame: Frame, variance: NDArray) -> NDArray:
    """Return (r, bands, period) the noise of coefficients, for noise of a variance (r, n) in channels.

    Each coefficient has the mean variance of the channels under its wavelet. That channels beyond an
    end are reflections of those before it is left out.
    """
    if len(frame.depths) > 1:
        return _noise_under_blocks(frame, variance)
    doubled = not frame.parity.any()
    shape = (frame.height, frame.n // frame.height) if frame.height else (frame.n,)
    X = variance.reshape(len(variance), *shape)
    for axis in range(1, X.ndim):
        X = np.concatenate([X, np.flip(X, axis)], axis)
    axes = tuple(range(1, X.ndim))
    spectrum = np.fft.rfftn(X, axes=axes)
    found = np.empty((len(X), frame.bands, frame.period))
    shown = (slice(None), *(slice(None if doubled else size) for size in shape))
    for band, along in enumerate(_filters(frame)):
        weights = np.zeros(X.shape[1:])
        places = [np.arange(-before, taps.size - before) for taps, before in along]
        squares = [taps**2 for taps, _ in along]
        whole = squares[0] if len(along) == 1 else np.outer(*squares)
        np.add.at(
            weights,
            np.ix_(*(place % size for place, size in zip(places, X.shape[1:], strict=True))),
            whole,
        )
        there = np.fft.irfftn(spectrum * np.conj(np.fft.rfftn(weights)), s=X.shape[1:], axes=axes)
        found[:, band] = there[shown].reshape(len(X), -1)
    return np.sqrt(np.maximum(found, 0))


def _noise_under_blocks(given: Frame, variance: NDArray) -> NDArray:
    """Return the same for several blocks; bands that a block does not have keep the norm of a filter."""
    double = given.period // given.n
    found = np.empty((len(variance), given.bands, given.period))
    found[:] = given.norms[:, None]
    for first, end, depth in zip(given.blocks, given.blocks[1:], given.depths, strict=False):
        own = replace(given, n=end - first, levels=depth, period=double * (end - first),
                      blocks=np.array([0, end - first]), depths=np.array([depth]))  # fmt: skip
        there = noise_under(own, variance[:, first:end])
        place = slice(double * first, double * end)
        found[:, : own.bands - 1, place], found[:, -1, place] = there[:, :-1], there[:, -1]
    return found


@lru_cache(maxsize=64)
def _norms(given: Frame) -> NDArray:
    """Return the norms of the filters of each band."""
    return np.array([np.prod([np.linalg.norm(taps) for taps, _ in along]) for along in _filters(given)])


@lru_cache(maxsize=64)
def _filters(given: Frame) -> list[list[tuple[NDArray, int]]]:
    """Return the filters of each band along each axis, down first, and the place of their centre.

    They are the smooth filters of the levels before, and one of its own.
    """
    axes = 2 if given.height else 1
    smooth, before = np.ones(1) * (np.sqrt(0.5) if not given.parity.any() else 1.0), 0
    bands: list[list[tuple[NDArray, int]]] = [[(smooth, 0)] * axes]
    for level in range(given.levels):
        spread = np.zeros((len(given.filters), (given.filters.shape[1] << level) - (1 << level) + 1))
        spread[:, :: 1 << level] = given.filters
        before += given.centre << level
        own = [(np.convolve(smooth, taps), before) for taps in spread]
        found = (
            [[down, across] for across in own for down in own]
            if given.height
            else [[one] for one in own]
        )
        bands = [*bands[:-1], *found]
        smooth = own[-1][0]
    return bands
