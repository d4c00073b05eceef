"""The choice between channels and wavelets: what the sources of `soft` look like, and why."""

import numpy as np
from numpy.typing import NDArray

from ngmca.algorithms.options import Options
from ngmca.domains import analyse, frame_of
from ngmca.engines import in_gradient
from ngmca.engines.blocks import row_blocks
from ngmca.result import Domain, State

MIN_CHANNELS_FOR_BANDS, MIN_CHANNELS_FOR_LINES = 12, 64
MAX_CORRELATION_OF_NOISE = 0.12  # of neighbouring channels: up to it the sources have no order
MIN_CORRELATION_OF_BANDS = 0.2
MIN_CORRELATION_OF_IMAGES = 0.3  # of neighbouring pixels, both across and down
MAX_PEAKS_OF_LINES = 0.06  # share of the channels that are peaks
MAX_ACTIVE_WITHOUT_NOISE = 0.9  # share of the entries of S that are not 0
PEAK_LEVEL = 3.0  # noise levels above which a local maximum is a peak
MAX_LENGTH_OF_BANDS = 0.95  # numbers needed in wavelets over those needed in channels
MAX_COEFFICIENTS = 1 << 27  # several GB in all, unless wavelets are asked for
ENTRIES_AT_ONCE = 1 << 20  # of sources


def decide(state: State, options: Options) -> Domain:
    """Return the domain in which the sources of `soft` are sparse, and the reason."""
    if not isinstance(state.S, np.ndarray):
        return Domain("direct", "the sources stay on the workers of the cluster")
    free, shape = options.known.free, options.sample_shape
    A, S = state.A[:, free], state.S[free]
    correlated = correlation(S, shape)
    reason = _reason_for_channels(S, options, correlated)
    if options.noiseless and options.domain == "auto" and state.active < MAX_ACTIVE_WITHOUT_NOISE:
        reason = "there is no noise, and the channels in which the sources are 0 determine them"
    if reason:
        return Domain("direct", reason, correlated)
    if options.domain != "auto":
        return Domain(options.domain, "it was asked for", correlated)
    level = in_gradient(A, state.noise)
    ordered = correlated > (MIN_CORRELATION_OF_IMAGES if shape else MIN_CORRELATION_OF_BANDS)
    if ordered and code(S, level, shape, options.borders) < MAX_LENGTH_OF_BANDS:
        what = "the sources are smooth images" if shape else "the spectra are smooth bands"
        return Domain("wavelet", what, correlated)
    if S.shape[1] >= MIN_CHANNELS_FOR_LINES and peaks(S, level) < MAX_PEAKS_OF_LINES:
        what = "the sources are small spots" if shape else "the spectra are a few separate lines"
        return Domain("wavelet", what, correlated)
    return Domain("direct", "wavelets do not describe the sources with fewer numbers", correlated)


def _reason_for_channels(S: NDArray, options: Options, correlated: float) -> str:
    """Return why wavelets are not considered, or nothing if they are."""
    known, n = options.known, S.shape[1]
    if not len(S):
        return "all sources are known"
    if known.closes_known:
        return "a closure with known sources needs exact values in every channel"
    if options.domain != "auto":
        return ""
    if options.warm:
        return "data of this size are fitted in wavelets only if asked for"
    if known.zero_sources is not None or known.windows.any():
        return "channels in which a source is known are given one by one"
    if n < MIN_CHANNELS_FOR_BANDS:
        return f"fewer than {MIN_CHANNELS_FOR_BANDS} channels are too few to show bands"
    if not correlated > MAX_CORRELATION_OF_NOISE:
        return "neighbouring channels of the sources are hardly related"
    W = frame_of(n, options.sample_shape, options.borders)
    if len(S) * W.bands * W.period > MAX_COEFFICIENTS:
        return "wavelets of these sources would need too much memory"
    return ""


def peaks(S: NDArray, level: NDArray) -> float:
    """Return the share of the channels that are local maxima well above the noise `level` (r,)."""
    inside = S[:, 1:-1]
    top = (inside >= S[:, :-2]) & (inside > S[:, 2:]) & (inside > PEAK_LEVEL * level[:, None])
    return float(top.mean())


def code(
    S: NDArray,
    level: NDArray,
    shape: tuple[int, int] | None = None,
    borders: tuple[int, ...] = (),
) -> float:
    """Return how many numbers S needs in wavelets, over how many it needs in channels.

    The measure is the sum of log(1 + (value / noise)^2) over coefficients, and over channels; `level`
    (r,) is the noise. A band of the frame counts by the share of it that a basis would have: the mean
    over the bases in the frame.
    """
    W = frame_of(S.shape[1], shape, borders)
    if not W.levels or not S.any():
        return 1.0
    inside = direct = 0.0
    for row, noise in zip(S, level, strict=True):  # one by one: coefficients take much memory
        x = row.astype(np.float64)[None]
        least = 1e-4 * np.sqrt(np.mean(x**2))  # clean data: the answer must not depend on units
        x /= max(noise, least) or 1.0
        inside += float(W.shares @ np.log1p((analyse(W, x)[0] / W.norms[:, None]) ** 2).sum(axis=1))
        direct += float(np.log1p(x**2).sum())
    return inside / direct


def correlation(S: NDArray, shape: tuple[int, int] | None = None) -> float:
    """Return the mean correlation of neighbouring channels over the sources; 0 if none varies.

    For pixels it is the smaller of the correlations to the right and below.
    """
    if not len(S):  # all of them are known
        return 0.0
    found = np.zeros((len(S), 2))
    for rows, some in row_blocks(S, ENTRIES_AT_ONCE):
        x = some - some.mean(axis=1, dtype=np.float64, keepdims=True)
        x = x.reshape(len(x), *(shape or (1, -1)))
        energy = np.einsum("ijk,ijk->i", x, x)
        live = energy > 0
        for axis, (one, other) in enumerate(((x[:, :, 1:], x[:, :, :-1]), (x[:, 1:], x[:, :-1]))):
            both = np.einsum("ijk,ijk->i", one, other)
            found[rows, axis] = np.divide(both, energy, out=np.zeros(len(x)), where=live)
    return float(found.mean(axis=0).min() if shape else found[:, 0].mean())
