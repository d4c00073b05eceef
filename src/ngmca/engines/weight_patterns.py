"""Gram matrices under weights: rows of a problem with equal weights share one.

With weights w (m, n) every sample has its own Gram matrix, A' diag(w_j) A, and every measurement,
S diag(w_i) S'. They are found for all samples at once, as a product of w with the products of pairs of
columns. If few entries are missing, those are subtracted from the matrix of all entries.
"""

import numpy as np
from numpy.typing import NDArray

from ngmca._support.compiled import compiled
from ngmca.engines.blocks import Choice, gram
from ngmca.nnqp.gram import Gram

MAX_SHARE_SUBTRACTED = 0.2  # share of missing entries up to which they are subtracted one by one
MAX_SHARE_OF_PATTERNS = 0.25  # patterns for each row up to which rows share Gram matrices


class WeightPatterns:
    """Weights of the rows of a problem, samples or measurements, and Gram matrices under them.

    Parameters
    ----------
    W : array of shape (rows, m)
        One row of weights for each row of the problem.
    """

    def __init__(self, W: NDArray) -> None:
        first = self._which = np.arange(len(W))
        if _alike(W):
            keys = np.ascontiguousarray(W).view(np.dtype((np.void, W.shape[1] * W.itemsize)))[:, 0]
            _, patterns, which = np.unique(keys, return_index=True, return_inverse=True)
            if len(patterns) <= MAX_SHARE_OF_PATTERNS * len(W):
                first, self._which = patterns, which
        self._each = len(first) == len(W)  # has a pattern of its own
        self._W = W if self._each else np.ascontiguousarray(W[first])
        self._few = _few_changes(self._W)

    def grams(self, A: NDArray, rows: Choice = slice(None), Q: NDArray | None = None) -> Gram:
        """Return A' diag(w) A for some rows of the problem; Q holds `pairs(A)`, if known already."""
        r = A.shape[1]
        in_order = self._each and isinstance(rows, slice)
        if in_order:
            needed = self._which[rows]
            which = np.arange(len(needed))
        else:
            needed, which = np.unique(self._which[rows], return_inverse=True)
        if self._few is None:
            W = self._W[rows if in_order else needed]  # a slice is no copy
            upper = W @ (pairs(A) if Q is None else Q)
        else:
            most, ends, places, changes = self._few
            upper = most[needed, None] * gram(A)[np.triu_indices(r)]
            _add_pairs(ends, places, changes, needed, A, upper)
        stack = np.empty((len(needed), r, r))
        i, j = np.triu_indices(r)
        stack[:, i, j] = upper
        stack[:, j, i] = upper
        return Gram(stack, which)


def _alike(W: NDArray) -> bool:
    """Whether rows may be equal in large numbers: their sums are, which are soon found."""
    return len(np.unique(np.einsum("ij->i", W))) <= MAX_SHARE_OF_PATTERNS * len(W)


def _few_changes(W: NDArray) -> tuple[NDArray, ...] | None:
    """Return how weights differ from a common 0 or 1 of their row, if few do."""
    most = np.count_nonzero(W == 1, axis=1) > np.count_nonzero(W == 0, axis=1)
    other = most[:, None] != W  # fewer than half: what is subtracted does not cancel what is left
    if np.count_nonzero(other) > MAX_SHARE_SUBTRACTED * other.size:
        return None
    places = np.nonzero(other)
    ends = np.concatenate([[0], np.cumsum(other.sum(axis=1))])
    return most, ends, places[1], W[places] - most[places[0]]


def pairs(A: NDArray) -> NDArray:
    """Return products of every pair of columns of A (m, r), each once, (m, r (r + 1) / 2)."""
    i, j = np.triu_indices(A.shape[1])
    return A[:, i] * A[:, j]


@compiled
def _add_pairs(ends, places, changes, needed, A, upper):
    """upper[p] += change * products of pairs of row `place` of A, for each change of pattern p."""
    r = A.shape[1]
    for p in range(needed.size):
        row = upper[p]
        for t in range(ends[needed[p]], ends[needed[p] + 1]):
            a = A[places[t]]
            k = 0
            for i in range(r):
                share = changes[t] * a[i]
                for j in range(i, r):
                    row[k] += share * a[j]
                    k += 1
