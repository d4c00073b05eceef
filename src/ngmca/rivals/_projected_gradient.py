"""Alternating projected gradients (Lin, 2007)."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support import arguments
from ngmca._support.threads import one_blas_thread
from ngmca.rivals.alternation import Factors, Seed, Step, alternate, prepare

DECREASE = 0.01  # share of the decrease that the gradient promises which a step must bring
FACTOR = 0.1  # between one step size and the next one tried
TRIALS = 20
FIRST_TOLERANCE = 1e-3  # of the projected gradient to begin with
ROUNDING = 1e-15  # a projected gradient below this share of the correlations is zero
MANY = 1000  # steps that a sub-problem may take
MISSES = 5  # sub-problems that take so many, and do not come to their tolerance, before it is enlarged


@one_blas_thread
def projected_gradient(
    Y: ArrayLike,
    r: int,
    *,
    n_iter: int = 500,
    start: Any = None,
    seed: Seed = None,
    tol: float = 0.0,
    max_steps: int = MANY,
) -> Factors:
    """min_{A >= 0, S >= 0} 1/2 |Y - AS|^2, sub-problems by projected gradients; the cost never rises.

    Step sizes follow the Armijo rule along the projection arc. A sub-problem ends when its projected
    gradient falls below a tolerance, which becomes ten times smaller whenever it is met at once, or
    after `max_steps` steps; one that stays out of reach for 1,000, as where the data have fewer
    dimensions than sources, becomes larger again. Negative entries of Y enter the least squares as they
    are. A source that loses its direction gets a new one out of the residual, which leaves the cost as
    it is.

    Lin, Projected gradient methods for nonnegative matrix factorization, Neural Computation 2007.
    """
    problem = prepare(Y, r, n_iter, start, seed, tol)
    max_steps = arguments.check_count(max_steps, "max_steps")
    return alternate(problem, _armijo(max_steps), _armijo(max_steps), rescue=True)


def projected_norm(gradient: NDArray, X: NDArray) -> float:
    """Norm of the part of the gradient that does not push against the bound: 0 at a solution."""
    free = np.where(X > 0, gradient, np.minimum(gradient, 0))
    return float(np.linalg.norm(free))


class Tolerance:
    """How small the projected gradients of a factor are to become, from the first one on."""

    def __init__(self) -> None:
        self.value = -1.0
        self._least = 0.0
        self._missed = 0

    def begin(self, norm: float) -> None:
        """Take the first of all projected gradients for a measure."""
        if self.value < 0:
            self.value = FIRST_TOLERANCE * norm

    def lower(self) -> None:
        """It was met at once: ask for more, but not for what has been out of reach."""
        self.value = max(self.value * FACTOR, self._least)

    def miss(self, asked: float, steps: int) -> None:
        """All steps that there are were taken without coming to what was asked for."""
        self._missed += steps >= MANY  # fewer say little about what is within reach
        if self._missed == MISSES:
            self.value = self._least = asked / FACTOR
            self._missed = 0


def _armijo(max_steps: int) -> Step:
    """Projected gradient steps until the tolerance is met; step size and tolerance are remembered."""
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
    """The longest step among size * 10^k that lowers the cost enough, and its size; X if none does."""

    def attempt(size: float) -> NDArray | None:
        new = np.maximum(X - size * gradient, 0)
        return new if _enough(G, gradient, new - X) else None

    found = attempt(size)
    if found is None:
        for _ in range(TRIALS):
            size *= FACTOR
            found = attempt(size)
            if found is not None:
                return found, size
        return X, size
    for _ in range(TRIALS):
        longer = attempt(size / FACTOR)
        if longer is None or np.array_equal(longer, found):
            break
        found, size = longer, size / FACTOR
    return found, size


def _enough(G: NDArray, gradient: NDArray, move: NDArray) -> bool:
    promised = np.vdot(gradient, move)
    return bool((1 - DECREASE) * promised + np.vdot(move @ G, move) / 2 <= 0)
