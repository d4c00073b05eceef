"""The slow part of the iterations in wavelets: exchanges of sources, extrapolated by a model of them.

Shears A - A E, S + E S with a small E (r, r) change nothing in A S. The data do not decide about them,
only what is 0 in the sources does. The step for A keeps S as it is, as if the data decided about all of
A, and is therefore far too short along shears. They are what is left to gain after a few dozen
iterations.

If S followed A, the objective would have, along shears, at most the curvature H of those coefficients
and channels that are 0 in a source: others can follow for nothing. The step along shears is that of
Newton's method for H + DAMPING T, where T is the curvature of the step for A. It is at most 1 / DAMPING
times as long as that step: a few steps of ADMM do not let S follow a longer one. The decrease of
the objective that this model predicts is what there is still to gain.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ngmca.algorithms.wavelets.wavelet_data import WaveletData
from ngmca.domains import analysis

DAMPING = 0.4  # share of the curvature of the step for A
MAX_SOURCES = 20  # the model has a matrix of r^4 entries
LOOKED_AT = 1 << 14  # coefficients and channels of a source, among which
COEFFICIENTS, CHANNELS = 512, 256  # of a source that are not 0 tell the curvature
BEGIN = 5  # iterations before the first long step
OFTEN, EVERY = 25, 20  # iterations in which the model is renewed every 5, and how often after that
FADING = 0.7  # of the largest decrease seen, in an iteration
LEAST_NORM = 0.1  # of a column of norm 1 after the longer step, with less it is not made
WRONG = 100.0  # predicted decrease over the smallest one, from which on the model is not used


@dataclass
class Shears:
    """The model for one run.

    Attributes
    ----------
    left : float
        The predicted decrease of the objective for each shear, in squared noise levels: the largest of
        the last iterations.
    """

    left: float = np.inf
    _least: float = np.inf
    _used: bool = True
    _inverse: NDArray = field(default_factory=lambda: np.zeros((0, 0)))

    def start_again(self) -> None:
        """Forget what was left for other thresholds."""
        self.left, self._least = np.inf, np.inf

    def extrapolated(
        self, A: NDArray, stepped: NDArray, SS: NDArray, k: int, data: WaveletData,
        duals: analysis.Duals, Lam: NDArray, variance: float,
    ) -> NDArray:  # fmt: skip
        """Return A after a longer step than that from A to `stepped`, in iteration k.

        `SS` (r, r) is S S', `Lam` are the thresholds, and `variance` is that of the noise.
        """
        if k <= BEGIN:
            return stepped
        G, r = A.T @ A, A.shape[1]
        if k % EVERY == 1 or (k < OFTEN and k % 5 == 1):
            self._inverse = _inverse(_curvature(data, duals, Lam, G) + DAMPING * np.kron(G, SS))
        off = ~np.eye(r, dtype=bool)
        projected = A.T @ (stepped - A)
        slope, short = projected @ SS, np.linalg.solve(G + 1e-10 * np.eye(r), projected)
        E = np.zeros((r, r))
        E[off] = self._inverse @ slope[off]
        decrease = float(slope[off] @ E[off]) / (2 * max(variance, 1e-300) * r * (r - 1))
        self.left = decrease if np.isinf(self.left) else max(FADING * self.left, decrease)
        self._least = min(self._least, decrease)
        self._used = self._used and (k <= 2 * BEGIN or decrease <= WRONG * self._least)
        if not self._used:
            return stepped
        E[off] -= short[off]
        ahead = np.maximum(stepped + A @ E, 0)
        norm = np.linalg.norm(ahead, axis=0)
        return np.asarray(np.where(norm > LEAST_NORM, ahead / np.maximum(norm, LEAST_NORM), stepped))


def _curvature(data: WaveletData, duals: analysis.Duals, Lam: NDArray, G: NDArray) -> NDArray:
    """Return H (r r, r r): G_ij times the sum of x_k x_l where sources i and j are 0, for E_ik and E_jl.

    The x are coefficients and, as not all zeros of bands and lines are among these, channels too. H is
    then at most twice as large as it should be, and steps are at least half as long.
    """
    r, (_, bands, period) = len(G), duals.coefficients.shape
    details, n = (bands - 1) * period, duals.samples.shape[1]
    some, where = (slice(0, size, max(1, size // LOOKED_AT) | 1) for size in (details, n))
    X, limit = (data.here(Y.reshape(r, -1)[:, some]) for Y in (duals.coefficients, Lam))
    limit = limit / data.rho
    parts = [
        _living(X - np.clip(X, -limit, limit), COEFFICIENTS) * some.step**0.5,
        _living(np.maximum(data.here(duals.samples[:, where]), 0), CHANNELS) * where.step**0.5,
    ]
    x = np.concatenate(parts, axis=1, dtype=np.float64)
    zero, H = x == 0, np.empty((r, r, r, r))
    for i in range(r):
        H[i, :, i:] = ((x * zero[i]) * zero[i:, None] @ x.T).swapaxes(0, 1) * G[i, i:, None]
        H[i:, :, i] = H[i, :, i:].swapaxes(0, 1)
    return H.reshape(r * r, r * r)


def _living(X: NDArray, most: int) -> NDArray:
    """Return about this many of the columns that are not 0, for sums over all of them."""
    live = np.flatnonzero(X.any(axis=0))
    step = max(1, len(live) // most) | 1
    return np.asarray(X[:, live[::step]] * step**0.5)


def _inverse(K: NDArray) -> NDArray:
    """Return the inverse of K (r r, r r) for E that are 0 on the diagonal; sources may be 0."""
    r = round(len(K) ** 0.5)
    off = np.flatnonzero(~np.eye(r, dtype=bool))
    K = K[np.ix_(off, off)]
    size = np.diagonal(K)
    unit = 1 / np.sqrt(np.maximum(size, max(1e-12 * float(size.max(initial=0)), 1e-300)))
    return np.asarray(
        np.linalg.inv(K * np.outer(unit, unit) + 1e-6 * np.eye(len(K))) * np.outer(unit, unit)
    )
