"""Bounded row norms: coordinate descent over whole rows, compiled.

With all rows but one fixed, the best row is the projection of its unconstrained optimum on the orthant
and on the ball: explicit, since the quadratic term weighs all entries of a row alike. Where every
column has its own G it does not, and the row is found by a search for the multiplier of its bound.
"""

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca._support.compiled import compiled
from ngmca.nnqp.certificate import Solution, check_level, check_problem


def bounded(
    G: NDArray,
    C: NDArray,
    bound: NDArray,
    X0: NDArray | None = None,
    *,
    max_iter: int = 80,
    tol: float = 1e-7,
) -> Solution:
    """argmin_{X >= 0} 1/2 <X, GX> - <C, X> with the norm of row i of X at most bound[i].

    Ends after `max_iter` rounds over the rows, or when a round moves X by less than `tol` of its norm.
    The objective falls at every row. The violation is what one more round would change, relative to the
    largest entry of X before or after it: 0 exactly at the minimum. `shaped` with "free" rows does the
    same where some are fixed, or where every column has its own G.
    """
    G, C, X0 = check_problem(G, C, X0)
    X = np.zeros_like(C) if X0 is None else np.maximum(X0, 0).copy(order="C")
    bound = np.ascontiguousarray(np.broadcast_to(check_level(bound, "bound"), (len(G),)))
    arguments.check_count(max_iter, "max_iter", low=0)
    C = np.ascontiguousarray(C)
    rounds, _ = descend_rows(G, C, bound, X, max_iter, tol)
    further = X.copy()
    descend_rows(G, C, bound, further, 1, 0.0)
    moved = float(np.abs(further - X).max(initial=0))
    peak = float(max(X.max(initial=0), further.max(initial=0)))
    return Solution(X=X, violation=moved / peak if peak > 0 else 0.0, n_iter=rounds)


@compiled
def descend_rows(G, C, bound, X, max_iter, tol):
    """Rounds of exact row updates in place of X (r, m); their number, and the last largest change."""
    r, m = X.shape
    row = np.empty(m)
    largest = 0.0
    rounds = 0
    while rounds < max_iter:
        rounds += 1
        moved = 0.0
        total = 0.0
        largest = 0.0
        for i in range(r):
            if G[i, i] <= 0.0:
                for t in range(m):
                    X[i, t] = 0.0
                continue
            for t in range(m):
                row[t] = C[i, t]
            for j in range(r):
                g = G[i, j]
                if j != i and g != 0.0:
                    other = X[j]
                    for t in range(m):
                        row[t] -= g * other[t]
            size = 0.0
            for t in range(m):
                row[t] = max(row[t], 0.0) / G[i, i]
                size += row[t] * row[t]
            size = np.sqrt(size)
            shrink = bound[i] / size if size > bound[i] else 1.0
            target = X[i]
            for t in range(m):
                value = row[t] * shrink
                change = value - target[t]
                moved += change * change
                total += value * value
                largest = max(largest, abs(change))
                target[t] = value
        if moved <= tol * tol * total:
            break
    return rounds, largest
