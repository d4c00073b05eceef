"""Alternating projected gradients (Lin, 2007)."""

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca.rivals.alternation import Beginning, Factors, Step, alternate, rival

MIN_DECREASE = 0.01  # of the cost in a step, as a share of the decrease that the gradient predicts
STEP_FACTOR = 0.1  # between a step size and the next one that is tried
MAX_TRIALS = 20  # of step sizes
FIRST_TOLERANCE = 1e-3  # of the projected gradient at the start
ROUNDING = 1e-15  # a projected gradient below this share of the correlations is zero
MIN_STEPS_OF_A_MISS = 1000  # in a sub-problem that does not reach its tolerance
MAX_MISSES = 5  # sub-problems before the tolerance becomes larger


@rival
def projected_gradient(problem: Beginning, *, max_steps: int = 1000) -> Factors:
    """min_{A >= 0, S >= 0} 1/2 |Y - AS|^2, sub-problems by projected gradients; the cost never rises.

    Step sizes follow the Armijo rule along the projection arc. A sub-problem ends when its projected
    gradient falls below a tolerance, or after `max_steps` steps. The tolerance becomes ten times smaller
    whenever it is reached at once. If it is not reached within 1,000 steps, as when the data have fewer
    dimensions than sources, it becomes larger again. Negative entries of Y enter the least squares
    unchanged. A source whose column of A becomes zero gets a new direction from the residual, which does
    not change the cost.

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
    Lin, Projected gradient methods for nonnegative matrix factorization, Neural Computation 2007.

    Examples
    --------
    >>> import ngmca
    >>> data = ngmca.simulate.sparse(m=10, n=40, r=2, snr=30, seed=0)
    >>> found = ngmca.rivals.projected_gradient(data.Y, 2, n_iter=20, seed=0)
    >>> found.A.shape, found.S.shape
    ((10, 2), (2, 40))
    """
    max_steps = arguments.check_count(max_steps, "max_steps")
    return alternate(problem, _armijo(max_steps), _armijo(max_steps), rescue=True)


def projected_norm(gradient: NDArray, X: NDArray) -> float:
    """Return the norm of the gradient without parts that point out of X >= 0; 0 at a solution."""
    free = np.where(X > 0, gradient, np.minimum(gradient, 0))
    return float(np.linalg.norm(free))


class Tolerance:
    """Norm of the projected gradient at which the sub-problems of a factor end."""

    def __init__(self) -> None:
        self.value = -1.0
        self._least = 0.0
        self._missed = 0

    def begin(self, norm: float) -> None:
        """Set the tolerance from the first projected gradient."""
        if self.value < 0:
            self.value = FIRST_TOLERANCE * norm

    def lower(self) -> None:
        """Lower a tolerance that was reached at once, but not to values that could not be reached."""
        self.value = max(self.value * STEP_FACTOR, self._least)

    def miss(self, asked: float, steps: int) -> None:
        """Note that all steps were taken without reaching the tolerance; raise it after some misses."""
        self._missed += steps >= MIN_STEPS_OF_A_MISS
        if self._missed == MAX_MISSES:
            self.value = self._least = asked / STEP_FACTOR
            self._missed = 0


def _armijo(max_steps: int) -> Step:
    """Return projected gradient steps that remember step size and tolerance."""
    size = 1.0  # in units of 1 / trace(G)
    tolerance = Tolerance()

    def step(G: NDArray, C: NDArray, X: NDArray) -> NDArray:
        nonlocal size
        curvature = np.trace(G)
        if not curvature > 0:
            return X
        G, C = G / curvature, C / curvature
        smallest = ROUNDING * float(np.linalg.norm(C))
        for k in range(max_steps):
            gradient = X @ G - C
            norm = projected_norm(gradient, X)
            tolerance.begin(norm)
            if norm <= max(tolerance.value, smallest):
                if k == 0:
                    tolerance.lower()
                break
            new, size = _search(G, X, gradient, size)
            if new is X:
                size = 1.0
                break
            X = new
        else:
            tolerance.miss(max(tolerance.value, smallest), max_steps)
        return X

    return step


def _search(G: NDArray, X: NDArray, gradient: NDArray, size: float) -> tuple[NDArray, float]:
    """Return the longest step among size * 10^k that lowers the cost enough, or X, and its size."""

    def attempt(size: float) -> NDArray | None:
        new = np.maximum(X - size * gradient, 0)
        return new if _enough(G, gradient, new - X) else None

    found = attempt(size)
    if found is None:
        for _ in range(MAX_TRIALS):
            size *= STEP_FACTOR
            found = attempt(size)
            if found is not None:
                return found, size
        return X, size
    for _ in range(MAX_TRIALS):
        longer = attempt(size / STEP_FACTOR)
        if longer is None or np.array_equal(longer, found):
            break
        found, size = longer, size / STEP_FACTOR
    return found, size


def _enough(G: NDArray, gradient: NDArray, move: NDArray) -> bool:
    promised = np.vdot(gradient, move)
    return bool((1 - MIN_DECREASE) * promised + np.vdot(move @ G, move) / 2 <= 0)
