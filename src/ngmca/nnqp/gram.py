"""The Gram matrix of a problem with one unknown vector in each row, and the solvers that use it.

All rows share one matrix, or, if entries of the data are missing or have weights, each row has its own.
The unknowns X are a NumPy array with one row for each problem, or an object that keeps them on a device
and solves there in place (`engines.gpu.Columns`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.nnqp.bound_multipliers import solve_bounded_columns
from ngmca.nnqp.bounded_rows import descend_rows, residual_rows
from ngmca.nnqp.forward_backward import accelerated
from ngmca.nnqp.per_row_grams import solve_each
from ngmca.nnqp.pivoting import solve_rows
from ngmca.nnqp.profile_shapes import descend_shaped, residual_shaped

BOUNDED_ROUNDS = 30  # of descent at most; it ends when a round moves X by less than
BOUNDED_TOL = 1e-6  # of its norm
FAR_FROM_MINIMUM = 1e-5  # of the largest entry of A: from there on, Newton's method follows the descent
SMALLEST_EIGENVALUE = 1e-6  # a smaller one counts as this: sources are equal, and the minimum is wide
PSEUDO_INVERSE_CUT = 1e-10  # eigenvalues below this share of the largest count as 0

# Rounds of exact row updates (G, C, bound, X in place, max_iter, tol) -> their number, the last change
DescendRows = Callable[[NDArray, NDArray, NDArray, NDArray, int, float], tuple[Any, float]]


# Solves the problem of the unknowns of some rows: (G, C, X in place) -> violation
Inner = Callable[["Gram", NDArray, NDArray], float]


@dataclass(frozen=True, eq=False)
class Gram:
    """One Gram matrix for all rows of a problem, or one for each row.

    Attributes
    ----------
    values : array of shape (r, r) or (p, r, r)
        The matrix, or a stack of matrices if `which` is given.
    which : array of shape (rows,), optional
        Row i has the matrix `values[which[i]]`. None: all rows share one matrix.
    noise : array of shape (rows, r), optional
        Noise of the correlations of each row, in units of the common noise level. Thresholds are
        multiplied by it. None stands for 1.
    """

    values: NDArray
    which: NDArray | None = None
    noise: NDArray | None = None

    @property
    def shared(self) -> bool:
        """Whether all rows share one matrix."""
        return self.which is None

    @property
    def matrix(self) -> NDArray:
        """The matrix (r, r) that all rows share."""
        assert self.which is None, "each row has a matrix of its own"
        return self.values

    @property
    def stack(self) -> NDArray:
        """The matrix or matrices as a stack (p, r, r)."""
        return self.values[None] if self.which is None else self.values

    @property
    def diagonals(self) -> NDArray:
        """The diagonal of the matrix, (r,), or of each row's matrix, (rows, r)."""
        if self.which is None:
            return np.diagonal(self.values)
        return np.einsum("pkk->pk", self.values)[self.which]

    def times(self, X: NDArray) -> NDArray:
        """Return each row of X (rows, r) times its matrix."""
        if self.which is None:
            return X @ self.values
        return np.einsum("ik,ikl->il", X, self.values[self.which])

    def energy(self, X: NDArray) -> float:
        """Return <X, X G>, in double precision."""
        X = X.astype(np.float64, copy=False)
        if self.which is None:
            return float(np.vdot(X.T @ X, self.values))
        return float(np.vdot(X, self.times(X)))

    def among(self, sources: NDArray) -> "Gram":
        """Return the matrices among some of the unknowns (indices)."""
        noise = None if self.noise is None else self.noise[:, sources]
        part = self.values[..., sources[:, None], sources]
        return Gram(np.ascontiguousarray(part), self.which, noise)

    def scaled(self, factors: NDArray) -> "Gram":
        """Return the matrix of row i times factors[i]."""
        if self.which is None:
            different, which = np.unique(factors, return_inverse=True)
            return Gram(self.values * different[:, None, None], which)
        return Gram(self.values[self.which] * factors[:, None, None], np.arange(len(factors)))

    def with_diagonal(self, extra: NDArray) -> "Gram":
        """Return the matrix of row i with extra[i] added to its diagonal; extra has shape (rows, r)."""
        own = np.zeros(len(extra), dtype=np.intp) if self.which is None else self.which
        kinds, which = np.unique(np.column_stack([own, extra]), axis=0, return_inverse=True)
        added = kinds[:, 1:, None] * np.eye(extra.shape[1])
        return Gram(self.stack[kinds[:, 0].astype(np.intp)] + added, which.ravel(), self.noise)

    def in_units(self, unit: NDArray) -> "Gram":
        """Return the matrices for unknowns in these units (r,)."""
        return Gram(self.values * np.outer(unit, unit), self.which)

    def solve(
        self,
        C: Any,
        X: Any,
        shift: NDArray | None = None,
        *,
        unit: bool = False,
        grouped: bool = False,
    ) -> float:
        """argmin_{X >= 0} 1/2 <X, XG> - <C - shift, X>, exactly, in place of X; the violation.

        X (rows, r) holds a guess of the support. The shift (r,) of a row is multiplied by its noise.
        `unit` and `grouped` are those of `solve_rows`.
        """
        if not isinstance(X, np.ndarray):
            return float(X.solve(self.matrix, C, shift))
        if self.which is None:
            return solve_rows(self.values, C, X, shift, unit=unit, grouped=grouped)
        if shift is not None and self.noise is not None:
            shift = shift * self.noise
        return solve_each(self.values, self.which, C, X, shift)

    def solve_reweighted(self, C: Any, X: Any, level: NDArray, tau: float) -> float:
        """argmin_{X >= 0} 1/2 <X, XG> - <C, X> + <Lam, X>, exactly, in place of X; the violation.

        The thresholds Lam = tau level / (1 + X / level) follow from X as it was before. The
        level (r,) of a row is multiplied by its noise.
        """
        if not isinstance(X, np.ndarray):
            return float(X.solve_reweighted(self.matrix, C, level, tau))
        level = np.asarray(level if self.noise is None else level * self.noise, dtype=X.dtype)
        level = np.maximum(level, np.finfo(X.dtype).tiny)
        return self.solve(C - X.dtype.type(tau) * level * level / (level + X), X)

    def project(self, C: Any, X: Any) -> float:
        """X := [C G^+]_+, least squares projected on the orthant; returns 0, there is no certificate."""
        inverse = pseudo_inverse(self.matrix)
        if not isinstance(X, np.ndarray):
            return float(X.project(inverse, C))
        np.maximum(C @ inverse, 0, out=X)
        return 0.0

    def descend(self, C: Any, X: Any, threshold: NDArray, *, hard: bool, max_iter: int) -> float:
        """Make accelerated forward-backward steps in place of X; returns the violation."""
        if not isinstance(X, np.ndarray):
            return float(X.descend(self.matrix, C, threshold, hard=hard, max_iter=max_iter))
        solution = accelerated(self.matrix, C.T, X.T, threshold=threshold, hard=hard, max_iter=max_iter)
        X[:] = solution.X.T
        return solution.violation

    def solve_bounded(
        self, C: NDArray, A: NDArray, bounded: NDArray, descend: DescendRows = descend_rows
    ) -> tuple[NDArray, float]:
        """argmin_{X >= 0} 1/2 <X, XG> - <C, X> with norms of at most 1 of the `bounded` columns of X.

        It starts at A. Returns X and its `distance`. `descend` makes the first rounds if all rows share
        one matrix. Where these are slow, as for sources that are nearly equal, Newton's method follows.
        """
        bound = np.where(bounded, 1.0, np.inf)
        if self.which is None:
            G, rest, rows, size, inverse = unit_rows(self.values, C, A)
            limits = bound * np.where(size > 0, size, 1)
            descend(G, rest, limits, rows, BOUNDED_ROUNDS, BOUNDED_TOL)
            X = (rows * inverse[:, None]).T
            far = float(residual_rows(G, rest, limits, rows, inverse)) / _least_eigenvalue(G)
        else:
            X = np.array(A, dtype=np.float64, order="C")
            given: dict[str, Any] = {"bound": bound, "which": self.which}
            given |= {"max_iter": BOUNDED_ROUNDS, "tol": BOUNDED_TOL}
            descend_shaped(self.values, C, X, "free", **given)
            far = self.distance(C, X, bound)
        return X, far if far <= FAR_FROM_MINIMUM else self.finish_bounded(C, X, bounded)

    def finish_bounded(self, C: NDArray, X: NDArray, bounded: NDArray) -> float:
        """Solve the same by Newton's method, in place of X; returns its `distance`."""
        bound = np.where(bounded, 1.0, np.inf)
        solve_bounded_columns(self.values, self.which, C, bound, X)
        return self.distance(C, X, bound)

    def distance(
        self,
        C: NDArray,
        X: NDArray,
        bound: NDArray,
        shapes: str | Sequence[str] = "free",
        points: NDArray | None = None,
    ) -> float:
        """How far X may be from the minimum with columns within their bounds and in their shapes.

        It is the move of a step down the gradient and back, divided by the least eigenvalue: where
        sources are nearly equal, the gradient is small far from the minimum too.
        """
        given: dict[str, Any] = {"bound": bound, "which": self.which, "points": points}
        wrong = residual_shaped(self.values, C, X, shapes, **given)
        return wrong / self.least_eigenvalue

    @property
    def least_eigenvalue(self) -> float:
        """`_least_eigenvalue` of the mean matrix, scaled to a diagonal of 1."""
        mean = self.values if self.which is None else self.values[self.which].mean(axis=0)
        unit = np.sqrt(np.diagonal(mean))
        unit[unit == 0] = 1.0
        return _least_eigenvalue(mean / unit / unit[:, None])


def held_at(values: NDArray, known: NDArray, G: Gram, C: NDArray, X: NDArray, inner: Inner) -> float:
    """Solve for X, in place, where the known entries have their values; `values` are 0 elsewhere.

    What is left of them gets a negative correlation, which leads to 0, because X and G are not negative.
    """
    rest = C - G.times(values).astype(C.dtype) if values.any() else C.copy()
    rest[known] = -np.abs(rest[known])
    X[known] = 0
    worst = inner(G, rest, X)
    X += values.astype(X.dtype)
    return worst


def _least_eigenvalue(G: NDArray) -> float:
    """The smallest eigenvalue of a matrix with a diagonal of 1, at least `SMALLEST_EIGENVALUE`.

    Sources that are 0, with a diagonal of 0, do not count.
    """
    diagonal = np.diagonal(G)
    if not diagonal.all():
        G = G + np.diag(diagonal == 0)
    return max(float(np.linalg.eigvalsh(G)[0]), SMALLEST_EIGENVALUE) if len(G) else 1.0


def pseudo_inverse(G: NDArray) -> NDArray:
    """Return G^+. A row and column of zeros stay exactly 0, so that an absent source has no direction.

    Without this, rounding gives it a direction, which is that of another source.
    """
    live = np.flatnonzero(np.diagonal(G))
    among, found = np.ix_(live, live), np.zeros_like(G)
    found[among] = np.linalg.pinv(G[among], rcond=PSEUDO_INVERSE_CUT, hermitian=True)
    return found


def unit_rows(SS: NDArray, YS: NDArray, A: NDArray) -> tuple[NDArray, ...]:
    """Return G, C and X = A' for sources scaled to norm 1, with their norms and the inverse norms.

    A column of A of norm at most 1 is then a row of X of norm at most that of its source.
    """
    size = np.sqrt(np.diagonal(SS))
    inverse = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
    G = SS * inverse * inverse[:, None]
    C = np.multiply(YS.T, inverse[:, None], order="C")
    X = np.multiply(A.T, size[:, None], order="C", dtype=np.float64)
    return G, C, X, size, inverse
