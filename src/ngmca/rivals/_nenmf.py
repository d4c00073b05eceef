"""NeNMF: alternating optimal gradients (Guan, Tao, Luo and Yuan, 2012)."""

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca.rivals._projected_gradient import ROUNDING, Tolerance, projected_norm
from ngmca.rivals.alternation import Beginning, Factors, Step, alternate, rival


@rival
def nenmf(problem: Beginning, *, max_steps: int = 1000) -> Factors:
    """min_{A >= 0, S >= 0} 1/2 |Y - AS|^2, each sub-problem by Nesterov's method; the cost never rises.

    Steps have length 1 / L, with L the norm of the Gram matrix, and momentum, which is dropped whenever
    the cost would rise. A sub-problem ends when its projected gradient falls below a tolerance, or after
    `max_steps` steps. The tolerance becomes ten times smaller whenever it is reached within 10 steps. If
    it is not reached within 1,000 steps, as when the data have fewer dimensions than sources, it becomes
    larger again. Negative entries of Y enter the least squares unchanged. A source whose column of A
    becomes zero gets a new direction from the residual, which does not change the cost.

    Parameters
    ----------
    {shared}
    max_steps : int
        Largest number of steps in a sub-problem.

    Returns
    -------
    {returns}

    References
    ----------
    Guan, Tao, Luo and Yuan, NeNMF: an optimal gradient method for nonnegative matrix factorization,
    IEEE Transactions on Signal Processing 2012.

    Examples
    --------
    >>> import ngmca
    >>> data = ngmca.simulate.sparse(m=10, n=40, r=2, snr=30, seed=0)
    >>> found = ngmca.rivals.nenmf(data.Y, 2, n_iter=20, seed=0)
    >>> found.A.shape, found.S.shape
    ((10, 2), (2, 40))
    """
    max_steps = arguments.check_count(max_steps, "max_steps")
    return alternate(problem, _nesterov(max_steps), _nesterov(max_steps), rescue=True)


def _nesterov(max_steps: int) -> Step:
    """Return optimal gradient steps until the tolerance is reached; the step remembers the tolerance."""
    tolerance = Tolerance()

    def step(G: NDArray, C: NDArray, X: NDArray) -> NDArray:
        L = np.linalg.norm(G, 2)
        if not L > 0:
            return X
        G, C = G / L, C / L
        tolerance.begin(projected_norm(X @ G - C, X))
        asked = max(tolerance.value, ROUNDING * float(np.linalg.norm(C)))
        X, steps = _solve(G, C, X, asked, max_steps)
        if steps <= 10:  # the tolerance has become too easy
            tolerance.lower()
        elif steps == max_steps:
            tolerance.miss(asked, steps)
        return X

    return step


def _solve(G: NDArray, C: NDArray, X: NDArray, tolerance: float, max_steps: int) -> tuple[NDArray, int]:
    """Minimise for G of norm 1 until the projected gradient is below the tolerance; X and the steps.

    Unlike `nnqp.fista`, which never looks at the cost, a step that raises it is not taken.
    """
    XG = X @ G
    cost = np.vdot(XG / 2 - C, X)
    R, RG, t = X, XG, 1.0
    for k in range(max_steps):
        if projected_norm(XG - C, X) <= tolerance:
            return X, k
        new = np.maximum(R - RG + C, 0)
        newG = new @ G
        new_cost = np.vdot(newG / 2 - C, new)
        if new_cost > cost:
            if t == 1.0:  # a step without momentum cannot raise the cost: only rounding can
                return X, k
            R, RG, t = X, XG, 1.0
            continue
        t_next = (1 + np.sqrt(1 + 4 * t * t)) / 2
        momentum = (t - 1) / t_next
        R, RG, t = new + momentum * (new - X), newG + momentum * (newG - XG), t_next
        X, XG, cost = new, newG, new_cost
    return X, max_steps
