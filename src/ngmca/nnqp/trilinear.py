"""Columns whose parts are multiples of one profile: the trilinear sub-problem.

The measurements are parts of equal length, one for each data set. Entry i of part p of column k is
c_pk b_ik: the same profile b_k in every part, in the amount c_pk. For fixed amounts the profiles solve
`min_{B >= 0} 1/2 <B, BH> - <D, B>` with H = G * (c'c), entry by entry, and D the sum of c_p * C_p over
the parts. For fixed profiles the amounts solve the same problem. Both are solved exactly, in turn, until
they do not move. Columns outside are free, and are a third problem of that kind.
"""

import numpy as np
from numpy.typing import NDArray

from ngmca.nnqp.gram import Gram

ROUNDS = 300  # over profiles, amounts and free columns, at most
TOLERANCE = 1e-9  # of the norm of X: a smaller move ends the rounds


def solve_trilinear(
    G: Gram, C: NDArray, X: NDArray, parts: int, inside: NDArray, rounds: int = ROUNDS
) -> float:
    """Solve argmin_{X >= 0} 1/2 <X, XG> - <C, X> with trilinear columns, in place of X.

    Parameters
    ----------
    G : Gram
        The matrix of each row.
    C, X : ndarray of shape (m, r)
        Correlations, and the guess, then the solution.
    parts : int
        Number of parts of m / parts rows each.
    inside : ndarray of bool of shape (r,)
        The columns that are trilinear; the others are free.
    rounds : int
        Largest number of rounds.

    Returns
    -------
    float
        How far profiles, amounts or free columns can still be improved, each for fixed others: the
        largest violation of the three. The problem is not convex, so another minimum may be lower.
    """
    m = len(X)
    bound, free = np.flatnonzero(inside), np.flatnonzero(~inside)
    amounts, profiles = _nearest(X[:, bound].reshape(parts, m // parts, len(bound)))
    violation = 0.0
    for _ in range(rounds):
        before = X.copy()
        X[:, bound] = np.einsum("pk,ik->pik", amounts, profiles).reshape(m, len(bound))
        if free.size:
            violation = _solve_others(G, C, X, bound, free)
        H, rest = _among(G, C, X, bound, free, parts)
        violation = max(violation, _solve(H, rest, amounts, profiles))
        size = np.linalg.norm(profiles, axis=0)
        profiles /= np.where(size > 0, size, 1)
        amounts *= size
        _solve(*_swapped(H, rest), profiles, amounts)
        X[:, bound] = np.einsum("pk,ik->pik", amounts, profiles).reshape(m, len(bound))
        if np.linalg.norm(X - before) <= TOLERANCE * np.linalg.norm(X):
            break
    # both were solved in turn: what the last amounts leave of the profiles is the certificate
    H, rest = _among(G, C, X, bound, free, parts)
    again = profiles.copy()
    _solve(H, rest, amounts, again)
    peak = float(np.abs(again).max(initial=0))
    moved = float(np.abs(again - profiles).max(initial=0)) / peak if peak else 0.0
    if free.size:
        others = X[:, free].copy()
        violation = _solve_others(G, C, X, bound, free)
        peak = float(X.max(initial=0)) or 1.0
        moved = max(moved, float(np.abs(X[:, free] - others).max()) / peak)
    return max(violation, moved)


def _nearest(X: NDArray) -> tuple[NDArray, NDArray]:
    """Return amounts (parts, q) and profiles of norm 1 (rows, q) whose products are nearest to X."""
    amounts, profiles = np.empty((len(X), X.shape[2])), np.empty(X.shape[1:])
    for k in range(X.shape[2]):
        u, s, v = np.linalg.svd(X[:, :, k], full_matrices=False)
        amounts[:, k], profiles[:, k] = np.abs(u[:, 0]) * s[0], np.abs(v[0])
    return amounts, profiles


def _solve_others(G: Gram, C: NDArray, X: NDArray, bound: NDArray, free: NDArray) -> float:
    """Solve for the free columns of X, in place, for fixed others; the violation."""
    fixed = X.copy()
    fixed[:, free] = 0
    rest, part = (C - G.times(fixed))[:, free], np.ascontiguousarray(X[:, free])
    violation = G.among(free).solve(np.ascontiguousarray(rest), part)
    X[:, free] = part
    return violation


def _among(
    G: Gram, C: NDArray, X: NDArray, bound: NDArray, free: NDArray, parts: int
) -> tuple[NDArray, NDArray]:
    """Return the matrices (parts, rows, q, q), or one (q, q), and correlations of trilinear columns."""
    fixed = np.zeros_like(X)
    fixed[:, free] = X[:, free]
    rest = (C - G.times(fixed) if free.size else C)[:, bound]
    H, q = G.among(bound), len(bound)
    if H.which is None:
        return H.values, rest.reshape(parts, -1, q)
    return H.values[H.which].reshape(parts, -1, q, q), rest.reshape(parts, -1, q)


def _swapped(H: NDArray, C: NDArray) -> tuple[NDArray, NDArray]:
    """Return the same with parts and rows exchanged."""
    return H if H.ndim == 2 else H.swapaxes(0, 1), C.swapaxes(0, 1)


def _solve(H: NDArray, C: NDArray, factors: NDArray, X: NDArray) -> float:
    """Solve for X (rows, q) for factors (parts, q) of it, exactly, in place; the violation."""
    D = np.einsum("pk,pik->ik", factors, C)
    if H.ndim == 2:
        return Gram(H * (factors.T @ factors)).solve(D, X)
    each = np.einsum("pk,pl,pikl->ikl", factors, factors, H)
    return Gram(each, np.arange(len(X))).solve(D, X)
