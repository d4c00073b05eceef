"""The formulations of sparsity in wavelets that the sequel compares, as S-steps of the library.

In the analysis form the coefficients that a source has are sparse. In the synthesis form the
coefficients that a source is made of are sparse, and every one of them needs a threshold, the smooth
ones too. There are smooth atoms at every channel: without a threshold they could represent almost any
signal, and nothing would be penalised. The library itself uses the reweighted analysis form, with a
threshold on channels besides.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ngmca.algorithms.wavelets.wavelet_stage import TAU, SourceStep
from ngmca.domains import analysis
from ngmca.domains.analysis import MIN_STEPS_PER_CHECK, RELAXATION, Duals, penalty
from ngmca.domains.frame import Frame, analyse, synthesise
from ngmca.nnqp.pivoting import solve_rows


@dataclass(frozen=True)
class Solution:
    """Coefficients with S = W' coefficients >= 0: objective - gap bounds the minimum.

    The objective is without the constant 1/2 |Y|^2.
    """

    S: NDArray
    coefficients: NDArray
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
) -> Solution:
    """argmin_{a: aW >= 0} 1/2 <aW, G aW> - <C, aW> + sum |Lam * a|, all of Lam above 0.

    Stops when the gap is below `tol` of |objective|. ADMM for coefficients and channels; the quadratic
    step W (G + rho) W' + rho is inverted through W'W = 1.
    """
    G, C = np.asarray(G, dtype=np.float64), np.asarray(C)
    shape = (len(G), W.bands, W.period)
    Lam = np.ascontiguousarray(np.broadcast_to(np.asarray(Lam, dtype=C.dtype), shape))
    if not Lam.min() > 0:
        raise ValueError(
            "synthesis needs a threshold above 0 in every band: smooth atoms without one fit any signal."
        )
    rho = penalty(G) if rho is None else rho
    state = Duals(np.zeros(shape, C.dtype), np.zeros_like(C)) if duals is None else duals
    state = Duals(state.coefficients.copy(), state.samples.copy())
    best: Solution | None = None
    done = 0
    while done < max_iter:
        steps = min(max(MIN_STEPS_PER_CHECK, done // 5), max_iter - done)
        descend(G, C, W, Lam, state, steps, rho)
        done += steps
        found = certify(G, C, W, Lam, state, rho, done)
        best = found if best is None or found.gap < best.gap else best
        if best.gap <= tol * abs(best.objective):
            break
    assert best is not None, "max_iter must be at least 1"
    return replace(best, duals=state, n_iter=done)


def descend(
    G: NDArray,
    C: NDArray,
    W: Frame,
    Lam: NDArray,
    state: Duals,
    steps: int,
    rho: float,
    threads: int = 1,
    weights: None = None,
) -> None:
    """Take this many ADMM steps and update the state in place; one thread is always used."""
    X, Z = state.coefficients, state.samples
    inner = np.linalg.inv(G + 2 * rho * np.eye(len(G)))  # of G + rho + rho, in the range of the frame
    lam = Lam / rho
    for _ in range(steps):
        U = X - np.clip(X, -lam, lam)
        T = np.maximum(Z, 0)
        b = 2 * U - X  # the part outside the range of the frame does not change
        seen = synthesise(W, b)
        S = (inner @ (C + rho * (2 * T - Z) + rho * seen)).astype(C.dtype)
        a = b + analyse(W, S - seen)
        X += X.dtype.type(RELAXATION) * (a - U)
        Z += Z.dtype.type(RELAXATION) * (S - T)


def certify(
    G: NDArray, C: NDArray, W: Frame, Lam: NDArray, state: Duals, rho: float, n_iter: int
) -> Solution:
    """Return feasible coefficients near those of the state, and a bound of their distance to the
    minimum.

    Every R with |RW'| <= Lam bounds the minimum from below by that of 1/2 <V, GV> - <C - R, V>, V >= 0.
    R comes from the multipliers, scaled into that set row by row. The coefficients are those after the
    threshold, plus the few that bring the signal back to the orthant.
    """
    U = state.coefficients - np.clip(state.coefficients, -Lam / rho, Lam / rho)
    S = synthesise(W, U)
    U = U + analyse(W, np.maximum(S, 0) - S)  # W'W = 1: the signal becomes max(S, 0) exactly
    S = np.maximum(S, 0)
    R = synthesise(W, rho * np.clip(state.coefficients, -Lam / rho, Lam / rho)).astype(C.dtype)
    excess = (np.abs(analyse(W, R)) / Lam).max(axis=(1, 2))
    R = R / np.maximum(excess, 1)[:, None].astype(C.dtype)
    R[~(np.diagonal(G) > 0)] = 0
    V = np.ascontiguousarray(S.T)
    solve_rows(G, np.ascontiguousarray((C - R).T), V)
    V = V.T.astype(np.float64)
    bound = float(np.vdot(V, G @ V) / 2 - np.vdot(C - R, V))
    value = objective(G, C, W, Lam, U)
    return Solution(S, U, value, max(value - bound, 0.0), state, n_iter)


def objective(G: NDArray, C: NDArray, W: Frame, Lam: NDArray, coefficients: NDArray) -> float:
    """Return 1/2 <aW, G aW> - <C, aW> + sum |Lam * a|."""
    S = synthesise(W, coefficients).astype(np.float64)
    return float(np.vdot(S, G @ S) / 2 - np.vdot(C, S) + np.vdot(Lam, np.abs(coefficients)))


CONSTANT_TAU = 1.0  # threshold in standard deviations of the noise, where all coefficients have the same


def analysis_form(*, reweighted: bool, tau: float | None = None) -> SourceStep:
    """Return the S-step with sparse coefficients of S; the smooth band has no threshold."""
    weigh = analysis.weigh if reweighted else _constant
    return SourceStep(weigh=weigh, tau=_tau(reweighted, tau), channels=False)


def synthesis_form(*, reweighted: bool, tau: float | None = None) -> SourceStep:
    """Return the S-step with S made of sparse coefficients; the smooth band has a threshold too."""

    def weigh(W: Frame, S: NDArray, noise: NDArray, tau: float, scale: float) -> NDArray:
        thresholds = analysis.weigh if reweighted else _constant
        Lam = thresholds(W, S, noise, tau, scale)
        smooth = np.abs(analyse(W, S)[:, -1]) if reweighted else np.zeros(1, S.dtype)
        Lam[:, -1] = tau * noise[:, -1:] / (1 + smooth / (scale * noise[:, -1:]))
        return Lam

    return SourceStep(weigh, descend, solve, _tau(reweighted, tau), channels=False)


def _tau(reweighted: bool, tau: float | None) -> float:
    if tau is not None:
        return tau
    return TAU if reweighted else CONSTANT_TAU


def _constant(W: Frame, S: NDArray, noise: NDArray, tau: float, scale: float) -> NDArray:
    """Return thresholds tau * noise that do not depend on S, and 0 in the smooth band."""
    Lam = np.repeat(noise.dtype.type(tau) * noise[:, :, None], W.period, axis=2)
    Lam[:, -1] = 0
    return Lam
