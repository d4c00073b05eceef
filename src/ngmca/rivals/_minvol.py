"""Minimum-volume NMF (Leplat, Ang and Gillis, 2019; Leplat, Gillis and Ang, 2020)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca.engines import back, times
from ngmca.nnqp.pivoting import solve_rows
from ngmca.rivals.alternation import Beginning, Factors, cost_of, moved, rival

SWEEPS_PER_PRODUCT = 5  # over the sources, for one product with the data
EXTRAPOLATION_GROWTH = 1.05  # while the objective falls
EXTRAPOLATION_CUT = 1.5  # after a step that would raise it


@rival
def minvol(
    problem: Beginning, *, volume: str = "sources", weight: float = 0.003, delta: float = 0.01
) -> Factors:
    """min_{A >= 0, S >= 0} 1/2 |Y - AS|^2 + lam/2 logdet(SS' + delta I), all rows of S of the same sum.

    Of all factors that fit, these are the ones whose sources span the smallest volume. If measurements
    come close to every face of the simplex of the sources, because some of them contain few compounds,
    this identifies the sources, even if they overlap strongly. A fixed sum of each source keeps the
    volume from vanishing by scale alone. (Rows of A are not fixed: without closure, amounts have no
    fixed sum.) The sum is chosen such that the sources at the start have a mean square norm of 1.

    logdet is replaced by its tangent, an upper bound. Each source is then minimised exactly with all
    others fixed, by a projection on the simplex, and the other factor exactly by pivoting. The latter is
    extrapolated between iterations; a step that would raise the objective is not taken. The objective
    never rises, but `cost`, the fit alone, may.

    Parameters
    ----------
    {shared}
    volume : {"sources", "mixing"}
        Factor whose volume is small. "mixing" does the same to the columns of A, with S free: for
        measurements that contain a little of everything, but sources with channels of their own.
    weight : float
        As in the paper, lam is `weight` times |Y - AS|^2 / |logdet| at the start (with a logdet of at
        least 1, because that of orthogonal sources is 0).
    delta : float
        Added to the Gram matrix of the sources, as a share of their mean square norm at the start.

    Returns
    -------
    {returns}

    References
    ----------
    Leplat, Ang and Gillis, Minimum-volume rank-deficient nonnegative matrix factorizations, ICASSP 2019.

    Leplat, Gillis and Ang, Blind audio source separation with minimum-volume beta-divergence NMF, IEEE
    Transactions on Signal Processing 2020.

    Examples
    --------
    >>> import ngmca
    >>> data = ngmca.simulate.sparse(m=10, n=40, r=2, snr=30, seed=0)
    >>> found = ngmca.rivals.minvol(data.Y, 2, n_iter=50, seed=0)
    >>> found.A.shape, found.S.shape
    ((10, 2), (2, 40))
    """
    of_sources = arguments.check_choice(volume, "volume", ("sources", "mixing")) == "sources"
    weight = arguments.check_number(weight, "weight")
    delta = arguments.check_number(delta, "delta", low=1e-12)
    model, first = _begin(problem, of_sources, weight, delta)
    A = model.factors(first)[0]
    cost: list[float] = []
    for point in model.points(first, problem.n_iter):
        before, A = A, model.factors(point)[0]
        cost.append(point.fit)
        if problem.tol > 0 and len(cost) > 1 and moved(before, A) <= problem.tol:
            break
    return problem.factors(*model.factors(point), cost, scale_in_A=of_sources)


@dataclass(frozen=True)
class _Point:
    """V, whose columns have a fixed sum and a small volume, the other factor U, and 1/2 |Y - AS|^2."""

    V: NDArray
    U: NDArray
    fit: float
    objective: float


@dataclass(frozen=True)
class _Model:
    """The problem for either factor: V is S' (n, r) and U is A, or V is A and U is S'."""

    problem: Beginning
    of_sources: bool
    total: float  # of each column of V
    delta: float
    lam: float = 0.0

    def factors(self, point: _Point) -> tuple[NDArray, NDArray]:
        """Return A and S'."""
        return (point.U, point.V) if self.of_sources else (point.V, point.U)

    def volume(self, V: NDArray) -> float:
        """Return logdet(V'V + delta I)."""
        return float(np.linalg.slogdet(self._inner(V))[1])

    def _inner(self, V: NDArray) -> NDArray:
        return V.T @ V + self.delta * np.eye(V.shape[1])

    def point(self, V: NDArray, guess: NDArray) -> _Point:
        """Return V with the best U for it; the guess helps to find its support."""
        engine = self.problem.engine
        C, U, VV = (times if self.of_sources else back)(engine, V), guess.copy(), V.T @ V
        solve_rows(VV, C, U)
        A, X = (U, V) if self.of_sources else (V, U)
        fit = cost_of(engine, A, X, np.vdot(C, U), np.vdot(U.T @ U, VV))
        return _Point(V, U, fit, fit + self.lam / 2 * self.volume(V))

    def step(self, V: NDArray, U: NDArray) -> NDArray:
        """Return a better V for U, by the tangent of logdet at V."""
        engine = self.problem.engine
        C = (back if self.of_sources else times)(engine, U)
        G = U.T @ U + self.lam * np.linalg.inv(self._inner(V))
        return _sweep(G, C, V, self.total)

    def points(self, point: _Point, n_iter: int) -> Iterator[_Point]:
        """Yield n_iter points with a falling objective."""
        beyond, ahead = 0.5, point.U
        for _ in range(n_iter):
            found = self.point(self.step(point.V, ahead), point.U)
            if found.objective > point.objective and ahead is not point.U:
                beyond /= EXTRAPOLATION_CUT
                found = self.point(self.step(point.V, point.U), point.U)
            else:
                beyond = min(1.0, beyond * EXTRAPOLATION_GROWTH)
            ahead = np.maximum(found.U + beyond * (found.U - point.U), 0)
            point = found
            yield point


def _begin(problem: Beginning, of_sources: bool, weight: float, delta: float) -> tuple[_Model, _Point]:
    """Return the model with the weight of its volume, and the start on the constraint."""
    V, U = (problem.X, problem.A) if of_sources else (problem.A, problem.X)
    V = V / (V.max(axis=0) + (V.max(axis=0) == 0))  # so that squares do not underflow
    V[:, ~V.any(axis=0)] = 1.0  # a zero source starts flat
    V = V / V.sum(axis=0)
    total = 1 / np.sqrt(np.mean(np.sum(V * V, axis=0)))
    model = _Model(problem, of_sources, total, delta)
    point = model.point(V * total, U)
    lam = weight * 2 * point.fit / max(abs(model.volume(point.V)), 1.0)
    model = replace(model, lam=lam)
    return model, model.point(point.V, point.U)


def _sweep(G: NDArray, C: NDArray, V: NDArray, total: float) -> NDArray:
    """Return V after exact minimisations of 1/2 <V, VG> - <C, V>, column by column, with this sum."""
    rows, wanted = V.T.copy(), np.ascontiguousarray(C.T)
    for _ in range(SWEEPS_PER_PRODUCT):
        for i in range(len(G)):
            if G[i, i] > 0:
                free = rows[i] + (wanted[i] - G[i] @ rows) / G[i, i]
                rows[i] = _on_simplex(free, total)
    return np.ascontiguousarray(rows.T)


def _on_simplex(x: NDArray, total: float) -> NDArray:
    """argmin_{z >= 0, sum(z) = total} |z - x|^2."""
    falling = np.sort(x)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, x.size + 1)
    last = np.flatnonzero(falling > excess)[-1]  # the smallest entry that stays above 0
    return np.maximum(x - excess[last], 0)
