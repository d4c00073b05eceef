"""Sources with sparse coefficients in a frame: the l1-analysis sub-problem, solved to a duality gap.

ADMM in Douglas-Rachford form, with three explicit parts: the quadratic term (an r x r inverse, because
W'W = 1; weights of channels need the eigenvectors of G), the coefficients, and the orthant. Its state is
one array for the coefficients and one for the orthant; ADMM can continue from it after small changes of
G, C or the thresholds.

Arrays are NumPy's, or with a frame that is on a GPU all but G are there (`Frame.on`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support.compiled import swift
from ngmca._support.threads import in_parts
from ngmca.domains.frame import Frame, analyse, plan, scratch, synthesise
from ngmca.domains.frame_kernels import analyse_row, synthesise_row
from ngmca.nnqp.pivoting import solve_rows

RELAXATION = 1.7  # of each step; 1 is plain ADMM
MIN_STEPS_PER_CHECK = 10  # of the duality gap
STEP_GROWTH = 1.3  # of rho at each check, because the last digits converge slowly
MAX_STEP = 20.0  # of rho, over the largest eigenvalue of G


@dataclass(frozen=True)
class Duals:
    """State of ADMM.

    Attributes
    ----------
    coefficients : ndarray of shape (r, bands, period)
        Coefficients before the threshold.
    samples : ndarray of shape (r, n)
        Sources before the projection on the orthant.
    """

    coefficients: NDArray
    samples: NDArray


@dataclass(frozen=True)
class Solution:
    """S >= 0 and its certificate: the objective at S is at most `gap` above its minimum.

    Attributes
    ----------
    S : ndarray of shape (r, n)
        Sources.
    objective : float
        Value at S, without the constant 1/2 |Y|^2.
    gap : float
        Duality gap.
    duals : Duals
        State from which ADMM can continue.
    n_iter : int
        ADMM steps.
    """

    S: NDArray
    objective: float
    gap: float
    duals: Duals
    n_iter: int


def solve(
    G: NDArray,
    C: NDArray,
    W: Frame,
    Lam: NDArray,
    duals: Duals | None = None,
    *,
    tol: float = 1e-6,
    max_iter: int = 2000,
    rho: float | None = None,
    weights: NDArray | None = None,
) -> Solution:
    """argmin_{S >= 0} 1/2 <S, G S diag(weights)> - <C, S> + sum |Lam * (S W')|.

    Parameters
    ----------
    G : ndarray of shape (r, r)
        Gram matrix A'A.
    C : ndarray of shape (r, n)
        Correlations A'Y.
    W : Frame
        The frame.
    Lam : array_like that broadcasts to (r, bands, period)
        Threshold of each coefficient, usually 0 in the last, smooth band.
    duals : Duals, optional
        State to continue from.
    tol : float
        Stop when the gap is below this share of |objective|.
    max_iter : int
        Largest number of ADMM steps.
    rho : float, optional
        Step of ADMM; None chooses it from the eigenvalues of G.
    weights : ndarray of shape (n,), optional
        Weight of each channel, above 0; None is 1.

    Returns
    -------
    Solution
        S with its certificate.
    """
    G = np.asarray(G, dtype=np.float64)
    if W.on is not None:
        Lam = Lam.astype(C.dtype, copy=False)
    else:
        C, shape = np.asarray(C), (len(G), W.bands, W.period)
        Lam = np.asarray(Lam, dtype=C.dtype)
        # `broadcast_to` returns a read-only array, for which kernels would be compiled again
        Lam = np.ascontiguousarray(Lam if Lam.shape == shape else np.broadcast_to(Lam, shape))
    rho = penalty(G) if rho is None else rho
    duals = start(W, np.zeros_like(C)) if duals is None else duals
    state = Duals(duals.coefficients.copy(), duals.samples.copy())
    best: Solution | None = None
    done, current, most = 0, rho, max(rho, MAX_STEP * float(np.linalg.eigvalsh(G)[-1]))
    while done < max_iter:
        steps = min(max(MIN_STEPS_PER_CHECK, done // 5), max_iter - done)
        descend(G, C, W, Lam, state, steps, current, weights=weights)
        done += steps
        found = certify(G, C, W, Lam, state, current, done, weights)
        best = found if best is None or found.gap < best.gap else best
        if best.gap <= tol * abs(best.objective):
            break
        grown = min(STEP_GROWTH * current, most)
        rescale(state, Lam / current, current / grown)
        current = grown
    assert best is not None, "max_iter must be at least 1"
    rescale(state, Lam / current, current / rho)
    return replace(best, duals=state, n_iter=done)


def rescale(state: Duals, Lam: NDArray, factor: float) -> None:
    """Convert the multipliers to another step: multiply the clipped part of the state by the factor."""
    if factor == 1:
        return
    X, Z = state.coefficients, state.samples
    X += X.dtype.type(factor - 1) * np.clip(X, -Lam, Lam).astype(X.dtype)
    Z *= np.where(Z < 0, Z.dtype.type(factor), Z.dtype.type(1))


def start(W: Frame, S: NDArray) -> Duals:
    """Return the state at S >= 0 with multipliers of 0."""
    S = np.maximum(S, 0)
    return Duals(analyse(W, S), S.copy())


def penalty(G: NDArray) -> float:
    """Return the step of ADMM: half the geometric mean of a large and a small eigenvalue of G."""
    values = np.linalg.eigvalsh(G)
    top = max(float(values[-1]), 1e-300)
    return 0.5 * float(np.sqrt(top * max(values[0], 1e-2 * top)))


def descend(
    G: NDArray,
    C: NDArray,
    W: Frame,
    Lam: NDArray,
    state: Duals,
    steps: int,
    rho: float,
    threads: int = 1,
    weights: NDArray | None = None,
) -> None:
    """Take this many ADMM steps and update the state in place; the result does not depend on threads."""
    if W.on is not None:
        assert weights is None
        inverse = np.linalg.inv(G + 2 * rho * np.eye(len(G)))
        W.on.descend(inverse, C, Lam, state, steps, rho, RELAXATION)
        return
    X, Z = state.coefficients, state.samples
    quadratic = _quadratic_step(G, rho, weights, C.dtype)
    scale = C.dtype.type(1 / rho)  # of the thresholds
    known, Q, relaxation = plan(W, C.dtype), np.empty_like(C, order="C"), C.dtype.type(RELAXATION)
    together = len(X) if threads == 1 else 1  # sources in one call

    def reflected(rows: range) -> None:
        part = slice(rows.start, rows.stop)
        reflect(X[part], Lam[part], scale, Q[part], known, *scratch(W, C.dtype))

    in_parts(reflected, len(X), together, threads)
    for k in range(steps):
        S = quadratic(C + C.dtype.type(rho) * (Q + np.abs(Z)))  # 2 max(Z, 0) - Z = |Z|
        Z += relaxation * (S - np.maximum(Z, 0))

        def advanced(rows: range, S: NDArray = S, more: bool = k < steps - 1) -> None:
            part = slice(rows.start, rows.stop)
            moved = (S[part], X[part], Lam[part], scale, relaxation, more, Q[part])
            advance(*moved, known, *scratch(W, C.dtype))

        in_parts(advanced, len(X), together, threads)


def _quadratic_step(
    G: NDArray, rho: float, weights: NDArray | None, dtype: np.dtype
) -> Callable[[NDArray], NDArray]:
    """Return the function B -> (w_j G + 2 rho)^-1 B_j for the columns of B."""
    if weights is None:
        inverse = np.linalg.inv(G + 2 * rho * np.eye(len(G))).astype(dtype)
        return lambda B: inverse @ B
    values, vectors = np.linalg.eigh(G)
    scale = (1 / (np.maximum(values, 0)[:, None] * weights + 2 * rho)).astype(dtype)
    U = vectors.astype(dtype)
    return lambda B: U @ (scale * (U.T @ B))


@swift
def reflect(X, Lam, scale, Q, plan, padded, smooth, band):
    """Q := W'(2 soft(X, scale Lam) - X)."""
    for i in range(X.shape[0]):
        for b in range(X.shape[1]):
            for t in range(X.shape[2]):
                x, lam = X[i, b, t], scale * Lam[i, b, t]
                band[b, t] = x - 2 * min(max(x, -lam), lam)
        synthesise_row(band, Q[i], plan, padded, smooth)


@swift
def advance(S, X, Lam, scale, relaxation, more, Q, plan, padded, smooth, band):
    """X += relaxation (W S - soft(X, scale Lam)); if more, also Q := W'(2 soft(X, scale Lam) - X)."""
    for i in range(X.shape[0]):
        analyse_row(S[i], band, plan, padded, smooth)
        for b in range(X.shape[1]):
            row, thresholds, values = X[i, b], Lam[i, b], band[b]
            for t in range(X.shape[2]):
                x, lam = row[t], scale * thresholds[t]
                x += relaxation * (values[t] - x + min(max(x, -lam), lam))
                row[t] = x
                values[t] = x - 2 * min(max(x, -lam), lam)
        if more:
            synthesise_row(band, Q[i], plan, padded, smooth)


def weigh(W: Frame, S: NDArray, noise: NDArray, tau: float, scale: float = 1.0) -> NDArray:
    """Return thresholds tau noise / (1 + |S W'| / (scale noise)) for noise (r, bands).

    They are 0 in the smooth band.
    """
    if W.on is not None:
        return W.on.weigh(S, noise, tau, scale)
    S = np.ascontiguousarray(S)
    Lam = np.empty((len(S), W.bands, W.period), dtype=S.dtype)
    levels, buffers = noise.astype(S.dtype), scratch(W, S.dtype)[:2]
    factors = S.dtype.type(scale), S.dtype.type(tau)
    weigh_rows(S, levels, *factors, Lam, plan(W, S.dtype), *buffers)
    return Lam


@swift
def weigh_rows(S, noise, scale, tau, Lam, plan, padded, smooth):
    """Lam := tau noise / (1 + |W S| / (scale noise)), the derivative of a logarithm of |W S|."""
    bands = Lam.shape[1]
    for i in range(S.shape[0]):
        analyse_row(S[i], Lam[i], plan, padded, smooth)
        for b in range(bands):
            row, level = Lam[i, b], scale * noise[i, b]
            top = tau * level * noise[i, b] if b < bands - 1 else noise[i, b] * 0
            for t in range(row.size):
                below = level + abs(row[t])
                row[t] = top / below if below > 0 else 0


def certify(
    G: NDArray,
    C: NDArray,
    W: Frame,
    Lam: NDArray,
    state: Duals,
    rho: float,
    n_iter: int = 0,
    weights: NDArray | None = None,
) -> Solution:
    """Return the sources of a state, and a bound of their distance to the minimum.

    Every P with |P| <= Lam bounds the minimum from below by that of 1/2 <V, GV> - <C - W'P, V> over
    V >= 0, which is solved exactly, channel by channel. Candidates are the V for the multipliers P of
    the state and the sources of the state; the better one is returned.
    """
    B, live = C.copy(), np.diagonal(G) > 0
    for i in np.flatnonzero(live):  # sources without a column in A are 0
        P = np.clip(rho * state.coefficients[i : i + 1], -Lam[i : i + 1], Lam[i : i + 1])
        B[i] -= synthesise(W, P.astype(C.dtype))[0]  # one by one, to save memory
    there, inner = _there(W)
    V = np.maximum(state.samples, 0)
    own = np.where(there(live[:, None]), V, 0)
    w = 1.0 if weights is None else weights
    V = _columns(G, B / w, V).astype(np.float64) if W.on is None else W.on.solve_columns(G, B, V)
    bound = inner(V, there(G) @ V * w) / 2 - inner(B, V)
    candidates = [(objective(G, C, W, Lam, S, w), S) for S in (own, V)]
    value, S = min(candidates, key=lambda pair: pair[0])
    return Solution(S.astype(C.dtype), value, max(value - bound, 0.0), state, n_iter)


def _there(W: Frame) -> tuple[Callable[[Any], Any], Callable[[Any, Any], float]]:
    """Return what brings a small array to where the sources are, and their inner product."""
    if W.on is not None:
        return W.on.there, W.on.inner
    return lambda values: values, lambda X, Y: float(np.vdot(X, Y))


def _columns(G: NDArray, B: NDArray, guess: NDArray) -> NDArray:
    """Return argmin_{V >= 0} 1/2 <V, GV> - <B, V>, channel by channel."""
    V = np.ascontiguousarray(guess.T)
    solve_rows(G, np.ascontiguousarray(B.T, dtype=V.dtype), V)
    return V.T


def objective(
    G: NDArray, C: NDArray, W: Frame, Lam: NDArray, S: NDArray, weights: NDArray | float = 1.0
) -> float:
    """Return 1/2 <S, G S diag(weights)> - <C, S> + sum |Lam * (S W')|."""
    there, inner = _there(W)
    S = S.astype(np.float64, copy=False)
    penalty = sum(inner(lam, abs(analyse(W, row[None])[0])) for lam, row in zip(Lam, S, strict=True))
    return inner(S, there(G) @ S * weights) / 2 - inner(C, S) + penalty
