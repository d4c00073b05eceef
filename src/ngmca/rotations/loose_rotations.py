"""How far sources can be exchanged: what their zeros leave open.

Shears a_k + c a_i, s_i - c s_k change nothing in A S. What decides about c is that sources are sparse
and that nothing is negative: a source is 0 somewhere, and a bit of another source shows there. How well
this decides is estimated from the answer itself, without a model of the sources:

f(c) = sum of |s_i| + 1/2 sum of the squares of negative entries, in units of their noise

is convex around the answer. Its curvature H is large where a source is 0 and others are not. Stretches
of channels, as long as the sources are correlated, are independent pieces of evidence. The covariance of
the slopes J between stretches, and of what the noise adds to them, gives the covariance of c as
H^-1 J H^-1: the sandwich formula for estimators whose model may be wrong. A slope that is left at the
answer counts as an error too. Two further rules make it safe:

- One stretch may be 0 by chance. For each pair of sources, the stretch that says most is left out of H,
  and so is the measurement that says most.
- A single shear can only be so large before something is more negative than noise explains. This limit
  is one more piece of evidence: its curvature is such that the slope and its chance moves reach it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf, gammaincinv, ndtr

LEVEL = 0.9  # of the quantile of chi-squared up to which noise explains negative entries
FARTHEST = 3.0  # largest shear, over the ratio of the norms of both sources
HALVINGS = 30  # in the search for the largest shear

OffShape = Callable[[int, NDArray], NDArray]  # (k, column of A): how far the column is off its shape


def negative_parts(k: int, column: NDArray) -> NDArray:
    """Return what is off the shape of a column without one: its negative entries."""
    return np.minimum(column, 0)


@dataclass(frozen=True, eq=False)
class Answer:
    """What is sheared.

    Attributes
    ----------
    A : ndarray of shape (m, r)
        Mixing.
    S : ndarray of shape (r, n)
        Sources.
    levels : ndarray of shape (m,)
        Noise level of each measurement.
    known : ndarray of bool of shape (r,)
        Sources that stay as they are, because they are known or belong to a baseline.
    fixed : ndarray of bool of shape (r,)
        Columns of A that stay as they are.
    kept : ndarray of bool of shape (r,)
        Columns of A that keep their scale; all others keep their norm.
    summed : int
        The sums over this many columns of A, the first ones, stay as they are; 0 if no sums are known.
    off_shape : callable
        How far a column of A is off its shape.
    """

    A: NDArray
    S: NDArray
    levels: NDArray
    known: NDArray
    fixed: NDArray
    kept: NDArray
    summed: int = 0
    off_shape: OffShape = negative_parts
    _norm: NDArray = field(init=False)
    _free: NDArray = field(init=False)  # (r, r), which shears are possible

    def __post_init__(self) -> None:
        norm = np.linalg.norm(self.A, axis=0)
        there = (norm > 0) & (np.linalg.norm(self.S, axis=1) > 0)
        free = (~self.known & there)[:, None] & ~self.fixed & there & ~np.eye(len(there), dtype=bool)
        norm = np.where(norm > 0, norm, 1.0)
        for name, value in {
            "_norm": norm, "A": self.A / norm, "S": self.S * norm[:, None], "_free": free,
        }.items():  # fmt: skip
            object.__setattr__(self, name, value)

    def spread(self) -> tuple[NDArray, NDArray]:
        """Return the standard deviations of A (m, r) and S (r, n) along all shears."""
        pairs = np.argwhere(self._free)
        A, S = np.zeros_like(self.A), np.zeros_like(self.S)
        if not len(pairs):
            return A, S
        covariance = self._sandwich(pairs)
        for k in range(len(S)):
            own = np.flatnonzero((pairs == k).any(axis=1))
            of_A, of_S = self._moves(k, pairs[own])
            part = covariance[np.ix_(own, own)]
            A[:, k] = np.sqrt(np.maximum(np.einsum("ja,ab,jb->j", of_A.T, part, of_A.T), 0))
            S[k] = np.sqrt(np.maximum(np.einsum("at,at->t", of_S, part @ of_S), 0))
        return A * self._norm, S / self._norm[:, None]

    def _moves(self, k: int, pairs: NDArray) -> tuple[NDArray, NDArray]:
        """Return how column k of A and source k move with each of these shears, (p, m) and (p, n)."""
        A, S, norm = self.A, self.S, self._norm
        of_A, of_S = np.zeros((len(pairs), len(A))), np.zeros((len(pairs), S.shape[1]))
        for a, (i, j) in enumerate(pairs):
            growth = 0.0  # of the source, against which the column shrinks
            if i == k:  # s_k - c s_j
                of_S[a] -= S[j]
                growth = norm[j] / norm[k] if max(j, k) < self.summed else 0.0
            else:  # a_k + c a_i
                of_A[a] += A[:, i]
                growth = 0.0 if self.kept[k] else float(A[:, i] @ A[:, k])
            of_A[a] -= growth * A[:, k]
            of_S[a] += growth * S[k]
        return of_A, of_S

    def _sandwich(self, pairs: NDArray) -> NDArray:
        """Return the covariance of the shears around the answer."""
        noise_S, noise_A = self._noise()
        length = correlation_length(self.S if self.known.all() else self.S[~self.known])
        starts = np.arange(0, self.S.shape[1], length)
        z = self.S / noise_S[:, None]
        slope, size = erf(z / np.sqrt(2)) / noise_S[:, None], np.where(self.known[:, None], 0, np.abs(z))
        bend_S = (2 * np.exp(-z * z / 2) / np.sqrt(2 * np.pi) + ndtr(-z)) / noise_S[:, None] ** 2
        bend_A = ndtr(-self.A / noise_A) / noise_A**2
        cosine = self.A.T @ self.A
        p = len(pairs)
        slopes, H, J = np.empty((len(starts), p)), np.zeros((p, p)), np.zeros((p, p))
        for a, (i, k) in enumerate(pairs):
            every = cosine[i, k] * size[k] - slope[i] * self.S[k]
            slopes[:, a] = np.add.reduceat(every, starts)
        one_by_one = np.arange(len(self.A))
        for i in range(len(self.S)):
            rows, columns = (np.flatnonzero(pairs[:, side] == i) for side in (0, 1))
            parts = (
                (rows, self.S[pairs[rows, 1]], bend_S[i], noise_S[i], starts),
                (columns, self.A[:, pairs[columns, 0]].T, bend_A[:, i], noise_A[:, i], one_by_one),
            )
            for which, others, bend, noise, stretches in parts:
                if which.size:
                    curvature, chance = _evidence(others, bend, noise, stretches)
                    H[np.ix_(which, which)] += curvature
                    J[np.ix_(which, which)] += chance
        centred, slope = slopes - slopes.mean(axis=0), slopes.sum(axis=0)
        J += centred.T @ centred
        H += np.diag(np.sqrt(np.diag(J) + slope**2) / self._largest()[tuple(pairs.T)])
        J += np.diag(np.diag(J))
        unit = 1 / np.sqrt(np.maximum(np.diag(H), np.finfo(float).tiny))  # sources may be weak or strong
        inverse = np.linalg.pinv(H * np.outer(unit, unit), hermitian=True) * np.outer(unit, unit)
        step = inverse @ slope
        return inverse @ J @ inverse + np.outer(step, step)

    def _noise(self) -> tuple[NDArray, NDArray]:
        """Return the noise of the sources (r,) and of A (m, r), without any prior."""
        weighted = self.A / self.levels[:, None]
        inverse = np.linalg.pinv(weighted.T @ weighted, hermitian=True)
        of_S = np.sqrt(np.maximum(np.diag(inverse), np.finfo(float).tiny))
        size = np.linalg.norm(self.S, axis=1)
        return of_S, self.levels[:, None] / np.where(size > 0, size, 1.0)

    def _largest(self) -> NDArray:
        """Return (r, r) the largest shear, up or down, after which noise explains what is negative."""
        r = len(self.S)
        limit = 2 * float(gammaincinv(max(r * (r - 1), 1) / 2, LEVEL))  # quantile of chi squared
        weighted, size = self.A / self.levels[:, None], np.linalg.norm(self.S, axis=1)
        strength, found = np.einsum("ji,ji->i", weighted, weighted), np.zeros((r, r))
        bound = FARTHEST * size[:, None] / np.where(size > 0, size, 1.0)
        for i in range(r):
            for sign in (-1.0, 1.0):
                low, high = np.zeros(r), bound[i].copy()
                for _ in range(HALVINGS):
                    c = (low + high) / 2
                    in_S = np.sum(np.minimum(self.S[i] - sign * c[:, None] * self.S, 0) ** 2, axis=1)
                    moved = (self.A + sign * c * self.A[:, [i]]) * self._norm
                    off = np.stack([self.off_shape(k, x) for k, x in enumerate(moved.T)], axis=1)
                    in_A = np.sum((off / self._norm / self.levels[:, None]) ** 2, axis=0)
                    fits = in_S * strength[i] + in_A * size**2 <= limit
                    low, high = np.where(fits, c, low), np.where(fits, high, c)
                found[i] = np.maximum(found[i], low)
        return np.maximum(found, np.finfo(float).eps)


def _evidence(
    others: NDArray, bend: NDArray, noise: float | NDArray, starts: NDArray
) -> tuple[NDArray, NDArray]:
    """Return the curvature along shears with other rows (q, n), and what noise adds to the slopes.

    For each of the others, the stretch with the largest curvature is left out.
    """
    lengths = np.diff(np.append(starts, others.shape[1]))
    by_stretch = np.add.reduceat(others**2 * bend, starts, axis=1)
    keep = np.ones_like(by_stretch)
    keep[np.arange(len(others)), by_stretch.argmax(axis=1)] = 0
    kept = others * np.repeat(keep, lengths, axis=1)
    by_noise = np.add.reduceat(kept * bend * noise, starts, axis=1)  # noise is alike within a stretch
    return (kept * bend) @ kept.T, by_noise @ by_noise.T


def correlation_length(S: NDArray) -> int:
    """Return the lag, in channels, at which the mean autocorrelation of the sources falls to 1/2."""
    X = S - S.mean(axis=1, keepdims=True)
    n = X.shape[1]
    covariance = np.fft.irfft(np.abs(np.fft.rfft(X, 2 * n, axis=1)) ** 2, 2 * n, axis=1)[:, :n]
    alive = covariance[:, 0] > 0
    if not alive.any():
        return 1
    below = np.flatnonzero(np.mean(covariance[alive] / covariance[alive, :1], axis=0) < 0.5)
    return int(below[0]) if below.size else n
