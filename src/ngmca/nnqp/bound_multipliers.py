"""Bounded column norms, exactly: Newton's method for the multipliers of the bounds.

With a multiplier mu_k >= 0 on the diagonal of G for every bounded column, the plain problem
`min_{X >= 0} 1/2 <X, XG> - <C, X>` is solved row by row, exactly. The best multipliers maximise the dual
function, which is concave: its gradient has the norms of the columns over their bounds, and its
curvature follows from the supports of the rows.
"""

import numpy as np
from numpy.typing import NDArray

from ngmca.nnqp.per_row_grams import blocks, solve_each
from ngmca.nnqp.pivoting import solve_rows

NEWTON_STEPS = 25  # at most; a handful are made
SQUARE_TOLERANCE = 1e-10  # of the square of a norm from that of its bound, relative to it
ROUNDING_OF_DUAL = 1e-14  # by which the dual value may fall in a step, relative to it
SHORTEST_STEP = 1e-6  # of Newton's, where the dual function does not rise
HOLD = 1e-9  # of the diagonal of G: holds X where it is, so that equal sources have one solution


def solve_bounded_columns(
    H: NDArray, which: NDArray | None, C: NDArray, bound: NDArray, X: NDArray
) -> None:
    """Solve argmin_{X >= 0} 1/2 <X, XG> - <C, X> with column norms of at most `bound`, in place of X.

    Row i of C and X (m, r) has the matrix H[which[i]] of a stack, or all rows share H (r, r). X on entry
    is a guess of the solution.
    """
    diagonal = np.diagonal(H, axis1=-2, axis2=-1)
    unit = np.sqrt(diagonal if which is None else diagonal.max(axis=0))
    unit = np.where(unit > 0, unit, 1.0)
    dual = _Dual(H / np.outer(unit, unit), which, C / unit, bound * unit, X * unit)
    X[:] = dual.maximised() / unit


class _Dual:
    """The dual function of the multipliers, and X where it is largest."""

    def __init__(
        self, H: NDArray, which: NDArray | None, C: NDArray, bound: NDArray, X: NDArray
    ) -> None:
        self._H, self._which = H + HOLD * np.eye(len(bound)), which
        self._C, self._bound = C + HOLD * X, bound
        self._limited = np.isfinite(bound)
        self._square = np.where(self._limited, bound, 0.0) ** 2
        self._X = np.array(X, order="C")
        size = np.einsum("ik,ik->k", X, X)
        pull = np.einsum("ik,ik->k", X, self._C - self._times(X))
        tight = self._limited & (size >= 0.99 * self._square)
        guess = np.divide(pull, size, out=np.zeros_like(size), where=tight & (size > 0))
        self._mu = np.maximum(guess, 0.0)

    def maximised(self) -> NDArray:
        """Return X for the multipliers with the largest dual value."""
        value, X = self._at(self._mu)
        for _ in range(NEWTON_STEPS):
            slope = np.where(self._limited, (np.einsum("ik,ik->k", X, X) - self._square) / 2, 0.0)
            rising = self._limited & ((self._mu > 0) | (slope > 0))
            if (np.abs(slope[rising]) <= SQUARE_TOLERANCE * self._square[rising]).all():
                break
            step = self._newton(X, slope, rising)
            share = 1.0
            while share > SHORTEST_STEP:
                mu = np.maximum(self._mu + share * step, 0.0)
                found, other = self._at(mu)
                if found >= value - ROUNDING_OF_DUAL * abs(value):
                    break
                share /= 2
            else:
                break  # the dual value rises no more, to its rounding error
            self._mu, value, X = mu, found, other
        norm = np.sqrt(np.einsum("ik,ik->k", X, X))
        shrink = np.divide(self._bound, norm, out=np.ones_like(norm), where=norm > self._bound)
        return np.asarray(X * shrink)

    def _at(self, mu: NDArray) -> tuple[float, NDArray]:
        """Return the dual value at mu, and the minimum over X >= 0 there."""
        H, X = self._H + np.diag(mu), self._X
        if self._which is None:
            solve_rows(H, self._C, X, grouped=True)
        else:
            solve_each(H, self._which, self._C, X)
        return -float(np.vdot(self._C, X) + mu @ self._square) / 2, X.copy()

    def _newton(self, X: NDArray, slope: NDArray, rising: NDArray) -> NDArray:
        """Return Newton's step for the multipliers that may move."""
        H, curvature = self._H + np.diag(self._mu), np.zeros((len(slope), len(slope)))
        for rows in blocks(X):
            part = X[rows]
            on = part > 0
            own = H if self._which is None else H[self._which[rows]]
            inside = on[:, :, None] & on[:, None, :]
            inverse = np.linalg.inv(np.where(inside, own, np.eye(len(slope))))
            curvature += np.einsum("ik,ikl,il->kl", part, inverse, part)
        some = np.flatnonzero(rising)
        small = curvature[np.ix_(some, some)]
        small[np.diag_indices(len(some))] += 1e-14 * np.trace(small) + 1e-300
        step = np.zeros_like(slope)
        step[some] = np.linalg.solve(small, slope[some])
        return step

    def _times(self, X: NDArray) -> NDArray:
        if self._which is None:
            return np.asarray(X @ self._H)
        return np.einsum("ik,ikl->il", X, self._H[self._which])
