"""NMF with sparseness constraints (Hoyer, 2004)."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca.rivals._multiplicative import rescaling
from ngmca.rivals._sparseness import project_rows
from ngmca.rivals.alternation import Beginning, Factors, Step, alternate, rival

STEP_GROWTH = 1.2  # after every success
SMALLEST_STEP = 1e-15  # in units of 1 / trace(G): nothing moves any more


@rival
def hoyer(
    problem: Beginning, *, sparseness_S: float | None = 0.5, sparseness_A: float | None = None
) -> Factors:
    """min_{A >= 0, S >= 0} 1/2 |Y - AS|^2 with sparseness(S_i) = sparseness_S, and the same for A.

    A factor with a constraint takes a gradient step, shortened until the cost falls, followed by the
    exact projection on the sparseness. A factor without one is updated as in `multiplicative`. Rows of
    a constrained S have norm 1, and A carries the scale. Negative entries of Y enter the gradient
    unchanged, and the multiplicative step as in `multiplicative`.

    Parameters
    ----------
    {shared}
    sparseness_S, sparseness_A : float or None
        Sparseness of each row of S and of each column of A, from 0 to 1, as `sparseness` computes it.
        None is no constraint.

    Returns
    -------
    {returns}

    References
    ----------
    Hoyer, Non-negative matrix factorization with sparseness constraints, Journal of Machine Learning
    Research 2004.

    Examples
    --------
    >>> import ngmca
    >>> data = ngmca.simulate.sparse(m=10, n=40, r=2, snr=30, seed=0)
    >>> found = ngmca.rivals.hoyer(data.Y, 2, n_iter=50, seed=0)
    >>> found.A.shape, found.S.shape
    ((10, 2), (2, 40))
    """
    m, n = problem.engine.shape
    A, X = problem.A, problem.X
    l1_S, l1_A = _l1(sparseness_S, "sparseness_S", n), _l1(sparseness_A, "sparseness_A", m)
    if l1_S is not None:
        X, A = _on_constraint(X, A, l1_S, fixed=True)
    if l1_A is not None:
        A, _ = _on_constraint(A, X, l1_A, fixed=False)
    problem = replace(problem, A=A, X=X)
    a_step = rescaling(A) if l1_A is None else _constrained(l1_A, fixed=False)
    s_step = rescaling(X) if l1_S is None else _constrained(l1_S, fixed=True)
    return alternate(problem, a_step, s_step, scale_in_A=l1_S is not None)


def _l1(sparseness: float | None, name: str, n: int) -> float | None:
    """Return the l1 norm of a vector of n entries with l2 norm 1 and this sparseness."""
    if sparseness is None:
        return None
    return np.sqrt(n) - arguments.check_number(sparseness, name, high=1.0) * (np.sqrt(n) - 1)


def _on_constraint(X: NDArray, other: NDArray, l1: float, *, fixed: bool) -> tuple[NDArray, NDArray]:
    """Return X with the sparseness, and with `fixed` of norm 1, and the other factor to match."""
    norm = np.linalg.norm(X, axis=0)
    if fixed:
        X = np.divide(X, norm, out=np.ones_like(X), where=norm > 0)
        other = other * np.where(norm > 0, norm, 1.0)
    return _project(X, l1, fixed=fixed), other


def _project(X: NDArray, l1: float, *, fixed: bool) -> NDArray:
    """Return the columns of X projected on the sparseness of l1, with norm 1 or their own norm."""
    rows = np.ascontiguousarray(X.T)
    norm = np.ones(len(rows)) if fixed else np.linalg.norm(rows, axis=1)
    out = np.empty_like(rows)
    project_rows(rows, l1 * norm, norm, out)
    return np.ascontiguousarray(out.T)


def _constrained(l1: float, *, fixed: bool) -> Step:
    """Return a projected gradient step whose size is halved until the cost falls, and raised after."""
    size = 1.0  # in units of 1 / trace(G)

    def step(G: NDArray, C: NDArray, X: NDArray) -> NDArray:
        nonlocal size
        curvature = np.trace(G)
        if not curvature > 0:
            return X
        XG = X @ G
        cost = np.vdot(XG / 2 - C, X)
        gradient = (XG - C) / curvature
        while size > SMALLEST_STEP:
            new = _project(X - size * gradient, l1, fixed=fixed)
            if np.vdot(new @ G / 2 - C, new) <= cost:
                size *= STEP_GROWTH
                return new
            size /= 2
        size = 1e6 * SMALLEST_STEP
        return X

    return step
