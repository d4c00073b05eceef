"""Sources that are sparse in a frame: the l1-analysis sub-problem, solved to a duality gap.

ADMM in Douglas-Rachford form, with three parts that are all explicit: the quadratic term (an r x r
inverse, since W'W = 1), the coefficients, and the orthant. Its state, from which it can go on when G, C
or the weights have changed a little, is one array for the coefficients and one for the orthant.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ngmca._support.compiled import swift
from ngmca._support.threads import in_parts
from ngmca.domains.frame import Frame, analyse, plan, scratch, synthesise
from ngmca.domains.frame_kernels import analyse_row, synthesise_row
from ngmca.nnqp.pivoting import solve_rows

RELAXATION = 1.7  # of each step; 1 is plain ADMM
CHECK = 10  # steps from one look at the gap to the next, at least
GROWTH, GROWN = (
    1.3,
    20.0,
)  # the step grows at each look, up to so many largest eigenvalues: the tail is slow


@dataclass(frozen=True)
class Duals:
    """State of ADMM: values before the threshold (r, bands, period) and before the orthant (r, n)."""

    coefficients: NDArray
    samples: NDArray


@dataclass(frozen=True)
class Solution:
    """S >= 0 and its certificate: the objective at S is at most `gap` above its minimum."""

    S: NDArray
    objective: float  # without the constant 1/2 |Y|^2
    gap: float
    duals: Duals
    n_iter: int


def solve(
    G: NDArray,
    C: NDArray,
    W: Frame,
    Lam: NDArray,
    S0: NDArray | None = None,
    duals: Duals | None = None,
    *,
    direct: NDArray | float = 0.0,
    tol: float = 1e-6,
    max_iter: int = 2000,
    rho: float | None = None,
) -> Solution:
    """argmin_{S >= 0} 1/2 <S, GS> - <C, S> + sum |Lam * (S W')| + sum direct * S.

    Parameters
    ----------
    Lam
        Threshold of every coefficient, (r, bands, period) or what broadcasts to it. The last band, which
        is smooth, is as a rule not penalised: 0 there.
    direct
        A second threshold, on the samples themselves, (r, n) or what broadcasts to it.
    tol
        Ends once the gap is below this share of |objective|.
    """
    G, C = np.asarray(G, dtype=np.float64), np.asarray(C)
    shape = (len(G), W.bands, W.period)
    Lam = np.asarray(Lam, dtype=C.dtype)
    # `broadcast_to` makes it read-only, for which kernels would be compiled once more
    Lam = np.ascontiguousarray(Lam if Lam.shape == shape else np.broadcast_to(Lam, shape))
    shifted = (C - np.broadcast_to(direct, C.shape)).astype(C.dtype)
    rho = penalty(G) if rho is None else rho
    duals = start(W, C if S0 is None else S0, zero=S0 is None) if duals is None else duals
    state = Duals(duals.coefficients.copy(), duals.samples.copy())
    best: Solution | None = None
    done, current, most = 0, rho, max(rho, GROWN * float(np.linalg.eigvalsh(G)[-1]))
    while done < max_iter:
        steps = min(max(CHECK, done // 5), max_iter - done)
        descend(G, shifted, W, Lam, state, steps, current)
        done += steps
        found = certify(G, shifted, W, Lam, state, current, done)
        best = found if best is None or found.gap < best.gap else best
        if best.gap <= tol * abs(best.objective):
            break
        grown = min(GROWTH * current, most)
        rescale(state, Lam / current, current / grown)
        current = grown
    assert best is not None, "max_iter must be at least 1"
    rescale(state, Lam / current, current / rho)
    return replace(best, duals=state, n_iter=done)


def rescale(state: Duals, Lam: NDArray, factor: float) -> None:
    """The same multipliers in units of another step: the state's clipped part times the factor."""
    if factor == 1:
        return
    X, Z = state.coefficients, state.samples
    X += X.dtype.type(factor - 1) * np.clip(X, -Lam, Lam).astype(X.dtype)
    Z[Z < 0] *= Z.dtype.type(factor)


def start(W: Frame, S: NDArray, *, zero: bool = False) -> Duals:
    """The state at S >= 0, with multipliers of 0."""
    S = np.zeros_like(S) if zero else np.maximum(S, 0)
    return Duals(analyse(W, S), np.ascontiguousarray(S))


def penalty(G: NDArray) -> float:
    """Step of ADMM: the geometric mean of a large and of a small eigenvalue of G."""
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
) -> None:
    """So many steps of ADMM, in place of the state; the answer does not depend on the threads."""
    X, Z = state.coefficients, state.samples
    inverse = np.linalg.inv(G + 2 * rho * np.eye(len(G))).astype(C.dtype)
    scale = C.dtype.type(1 / rho)  # of the thresholds
    known, Q, relaxation = plan(W, C.dtype), np.empty_like(C, order="C"), C.dtype.type(RELAXATION)
    together = len(X) if threads == 1 else 1  # sources in one call

    def reflected(rows: range) -> None:
        part = slice(rows.start, rows.stop)
        reflect(X[part], Lam[part], scale, Q[part], known, *scratch(W, C.dtype))

    in_parts(reflected, len(X), together, threads)
    for k in range(steps):
        S = inverse @ (C + C.dtype.type(rho) * (Q + np.abs(Z)))  # 2 max(Z, 0) - Z = |Z|
        Z += relaxation * (S - np.maximum(Z, 0))

        def advanced(rows: range, S: NDArray = S, more: bool = k < steps - 1) -> None:
            part = slice(rows.start, rows.stop)
            moved = (S[part], X[part], Lam[part], scale, relaxation, more, Q[part])
            advance(*moved, known, *scratch(W, C.dtype))

        in_parts(advanced, len(X), together, threads)


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


def weigh(W: Frame, S: NDArray, noise: NDArray, tau: float) -> NDArray:
    """Thresholds tau noise / (1 + |S W'| / noise) for noise (r, bands); 0 in the last, smooth band."""
    S = np.ascontiguousarray(S)
    Lam = np.empty((len(S), W.bands, W.period), dtype=S.dtype)
    levels, buffers = noise.astype(S.dtype), scratch(W, S.dtype)[:2]
    weigh_rows(S, levels, S.dtype.type(tau), Lam, plan(W, S.dtype), *buffers)
    return Lam


@swift
def weigh_rows(S, noise, tau, Lam, plan, padded, smooth):
    """Lam := tau noise^2 / (noise + |W S|), the derivative of tau noise^2 log(1 + |W S| / noise)."""
    bands = Lam.shape[1]
    for i in range(S.shape[0]):
        analyse_row(S[i], Lam[i], plan, padded, smooth)
        for b in range(bands):
            row, level = Lam[i, b], noise[i, b]
            top = tau * level * level if b < bands - 1 else noise[i, b] * 0
            for t in range(row.size):
                below = level + abs(row[t])
                row[t] = top / below if below > 0 else 0


def certify(
    G: NDArray, C: NDArray, W: Frame, Lam: NDArray, state: Duals, rho: float, n_iter: int = 0
) -> Solution:
    """The sources of a state, and how far they are from optimal at most.

    Every P with |P| <= Lam bounds the minimum from below by that of 1/2 <V, GV> - <C - W'P, V> over
    V >= 0, which is solved exactly, sample by sample. The V of the state's multipliers P is a candidate,
    beside the state's own sources; the better of the two is returned.
    """
    B = C.copy()
    for i in np.flatnonzero(np.diagonal(G) > 0):  # nothing is known of other sources: they are 0
        P = np.clip(rho * state.coefficients[i : i + 1], -Lam[i : i + 1], Lam[i : i + 1])
        B[i] -= synthesise(W, P.astype(C.dtype))[0]  # one by one: all bands of all images are many
    V = np.ascontiguousarray(np.maximum(state.samples, 0).T)
    own = np.where((np.diagonal(G) > 0)[:, None], V.T, 0)
    solve_rows(G, np.ascontiguousarray(B.T), V)
    V = V.T.astype(np.float64)
    bound = float(np.vdot(V, G @ V) / 2 - np.vdot(B, V))
    candidates = [(objective(G, C, W, Lam, S), S) for S in (own, V)]
    value, S = min(candidates, key=lambda pair: pair[0])
    return Solution(S.astype(C.dtype), value, max(value - bound, 0.0), state, n_iter)


def objective(G: NDArray, C: NDArray, W: Frame, Lam: NDArray, S: NDArray) -> float:
    """1/2 <S, GS> - <C, S> + sum |Lam * (S W')| (a second threshold is part of C)."""
    S = np.asarray(S, dtype=np.float64)
    penalty = sum(
        float(np.vdot(lam, np.abs(analyse(W, row[None])[0]))) for lam, row in zip(Lam, S, strict=True)
    )
    return float(np.vdot(S, G @ S) / 2 - np.vdot(C, S)) + penalty
