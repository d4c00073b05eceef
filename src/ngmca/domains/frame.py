"""Undecimated tight frames for lines and for images: analysis W, its exact adjoint W', and W'W = 1.

The axis is reflected (x0 x0 x1 ... | xn xn), never wrapped. An orthonormal wavelet has no symmetry to
keep the reflection, so that its coefficients fill the doubled period: 2n per scale, half of which belong
to the wavelet and half to its mirror image. A spline framelet is symmetric, so that n do. In both cases
each level splits what the level before left over into a smooth part and details, and keeps the energy.

An image has the products of two filters, across and down; only the product of both smooth ones is split
again. A wavelet has 4n per band there; framelets, which are shorter, do as well on what is smooth, and
better on edges.

Coefficients of a source are (bands, period): details from fine to coarse, and last what is smooth.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ngmca.domains.frame_kernels import analyse_row, synthesise_row

BLOCK = 4  # taps that are applied in one pass; filters are filled up with zeros
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
SYM8 = (
    -0.0033824159510061256,
    -0.0005421323317911481,
    0.03169508781149298,
    0.007607487324917605,
    -0.1432942383508097,
    -0.061273359067658524,
    0.4813596512583722,
    0.7771857517005235,
    0.3644418948353314,
    -0.05194583810770904,
    -0.027219029917056003,
    0.049137179673607506,
    0.003808752013890615,
    -0.01495225833704823,
    -0.0003029205147213668,
    0.0018899503327594609,
)
HAAR = (0.5**0.5, 0.5**0.5)
ORTHONORMAL = {"haar": HAAR, "sym4": SYM4, "sym8": SYM8}
SPLINES = {"linear": 2, "cubic": 4}  # power of the cosine in the low-pass filter


@dataclass(frozen=True, eq=False)
class Frame:
    """A tight frame for sources of n samples: the filters of one level, the smooth one last."""

    n: int
    levels: int
    period: int  # coefficients per band
    filters: NDArray  # (channels, taps), applied at x[t + step * (tap - centre)]
    centre: int
    parity: NDArray  # of each channel's coefficients under reflection; 0 where the period is doubled
    height: int = 0  # rows of an image, whose pixels are the samples row by row; 0 for a line

    @property
    def bands(self) -> int:
        """Bands of details, and one of what is smooth."""
        channels = len(self.filters)
        return self.levels * ((channels**2 if self.height else channels) - 1) + 1

    @property
    def shares(self) -> NDArray:
        """How much of each band a basis would have, n in all: the frame is a mean over its bases."""
        return np.asarray(self.norms**2)

    @property
    def norms(self) -> NDArray:
        """Norm of the filter of each band: what it makes of white noise of deviation 1."""
        return _norms(self)


@lru_cache(maxsize=64)
def frame(n: int, wavelet: str = "sym4", levels: int = 5, shape: tuple[int, int] | None = None) -> Frame:
    """The frame for n samples, or for images of a shape, with at most so many levels.

    No filter is longer than the axis and its reflection, or the longer axis of an image.
    """
    if n < 1 or levels < 0:
        raise ValueError(
            f"a frame needs samples (n = {n}) and a number of levels ({levels}), 0 or more."
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
        raise ValueError(f"images of {shape[0]} x {shape[1]} pixels do not have {n}.")
    fitting = int(np.floor(np.log2(max(2 * max(shape or (n,)) / (filters.shape[1] - 1), 1))))
    filters = np.pad(filters, ((0, 0), (0, -filters.shape[1] % BLOCK)))
    period = n * (1 if parity.any() else 4 if shape else 2)
    height = shape[0] if shape else 0
    return Frame(n, min(levels, fitting), period, np.ascontiguousarray(filters), centre, parity, height)


def _polished(low: NDArray) -> NDArray:
    """The filter made orthonormal to rounding: published taps are so to 1e-12 only."""
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
    """Tight framelets of B-splines (Ron and Shen, 1997): sqrt(binomial) sin^k cos^(power-k)."""
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
    """W S: coefficients (r, bands, period) of the rows of S (r, n)."""
    S = np.ascontiguousarray(S)
    coefficients = np.empty((len(S), frame.bands, frame.period), dtype=S.dtype)
    buffers = scratch(frame, S.dtype)[:2]
    for row, found in zip(S, coefficients, strict=True):
        analyse_row(row, found, plan(frame, S.dtype), *buffers)
    return coefficients


def synthesise(frame: Frame, coefficients: NDArray) -> NDArray:
    """W' c: the adjoint of `analyse`, which is also its inverse on the coefficients of a signal."""
    S = np.empty((len(coefficients), frame.n), dtype=coefficients.dtype)
    buffers = scratch(frame, S.dtype)[:2]
    for row, given in zip(S, coefficients, strict=True):
        synthesise_row(np.array(given), row, plan(frame, S.dtype), *buffers)
    return S


def plan(frame: Frame, dtype: DTypeLike) -> tuple:
    """What the kernels ask to know of a frame; the height last, of an image only."""
    line = frame.levels, frame.filters.astype(dtype), frame.centre, frame.parity
    return (*line, frame.height) if frame.height else line


def scratch(frame: Frame, dtype: DTypeLike) -> tuple[NDArray, NDArray, NDArray]:
    """Buffers for the kernels: an axis with both margins, a band (two of an image), and all bands."""
    reach = (frame.filters.shape[1]) << max(frame.levels - 1, 0)
    axis = frame.period // (frame.height or 1)  # the doubled width of an image at least
    bands = frame.period * (2 if frame.height else 1)
    whole = np.empty((frame.bands, frame.period), dtype)
    return np.empty(axis + 2 * reach + 8, dtype), np.empty(bands, dtype), whole


@lru_cache(maxsize=64)
def _norms(given: Frame) -> NDArray:
    """Norms of the filters of all levels before one, and of one of its own, convolved."""
    if not given.levels:
        return np.ones(1)
    doubled = not given.parity.any()
    norms: list[float] = []
    smooth = np.ones(1) * (np.sqrt(0.5) if doubled else 1.0)  # a doubled axis is scaled
    for level in range(given.levels):
        spread = np.zeros((len(given.filters), (given.filters.shape[1] << level) - (1 << level) + 1))
        spread[:, :: 1 << level] = given.filters
        along = np.array([np.linalg.norm(np.convolve(smooth, taps)) for taps in spread])
        found = np.outer(along, along).ravel() if given.height else along
        norms.extend(found[:-1])
        smooth = np.convolve(smooth, spread[-1])
    return np.array([*norms, found[-1]])
