"""Shears: mixtures of two sources that leave A S as it is, searched for a lower cost.

A_j + e A_i together with S_i - e S_j leaves the fit unchanged, apart from entries that would be negative
and are set to 0. Alternation between A and S is slow along these directions, because each factor alone
can move only as far as the noise allows. The search tries all ordered pairs of sources and changes both
factors at once. Coefficients are computed once: a shear adds them up as it adds up the sources.
"""

import numpy as np
from numpy.typing import NDArray

from ngmca._support.compiled import swift
from ngmca.domains import Frame, analyse, analysis
from ngmca.engines import Engine

SWEEPS = 2  # over all pairs
FIRST_STEP = 0.005  # e of the first try, for columns of norm 1
MAX_DOUBLINGS = 6  # of a step that lowers the cost


def sheared(
    engine: Engine,
    W: Frame,
    A: NDArray,
    duals: analysis.Duals,
    Lam: NDArray,
    direct: NDArray,
    noise: NDArray,
    tau: float,
    rho: float,
) -> NDArray | None:
    """Return A after shears that lower the log cost, and update the state of ADMM; None without any.

    The cost is 1/2 |Y - AS|^2 + tau sum noise^2 log(1 + |W S| / noise) + sum direct * S, with noise
    (r, bands). `Lam` are the thresholds of the coefficients, `rho` is the step of ADMM.
    """
    X, Z = duals.coefficients, duals.samples
    A, S = np.array(A, order="C"), np.ascontiguousarray(np.maximum(Z, 0))
    SS, YS = engine.moments(S)
    gram = SS.matrix
    residual_A = np.ascontiguousarray(
        engine.correlate(A.astype(S.dtype)) - (A.T @ A).astype(S.dtype) @ S
    )
    residual_S = np.ascontiguousarray(YS - A @ gram, dtype=np.float64)
    energy = np.diagonal(gram).astype(np.float64)
    coefficients = analyse(W, S)
    steps = np.full(gram.shape, FIRST_STEP)
    T = np.eye(len(S))
    direct = np.ascontiguousarray(np.broadcast_to(direct, S.shape))
    noise = noise.astype(np.float64)
    for _ in range(SWEEPS):
        sweep(A, S, T, coefficients, residual_A, residual_S, energy, noise, tau, direct, steps)
    if (np.eye(len(S)) == T).all():
        return None
    multipliers = np.clip(X, -Lam / rho, Lam / rho).astype(X.dtype)
    X[:] = multipliers + np.tensordot(T.astype(X.dtype), X - multipliers, 1)
    Z[:] = S + np.minimum(Z, 0)
    return A


@swift
def sweep(A, S, T, coefficients, residual_A, residual_S, energy, noise, tau, direct, steps):
    """Search all ordered pairs once and shear in place; T collects the shears, S = max(T S, 0)."""
    r = A.shape[1]
    for i in range(r):
        for j in range(r):
            if i == j:
                continue
            lowest, e, norm = 0.0, 0.0, 1.0
            for sign in (1.0, -1.0):
                step = sign * steps[i, j]
                for _ in range(MAX_DOUBLINGS + 1):
                    found = change(
                        i,
                        j,
                        step,
                        A,
                        S,
                        coefficients,
                        residual_A,
                        residual_S,
                        energy,
                        noise,
                        tau,
                        direct,
                    )
                    if not (found[0] < lowest and found[1] > 0):
                        break
                    lowest, e, norm = found[0], step, found[1]
                    step *= 2
                if e != 0:
                    break
            if e == 0:
                steps[i, j] /= 2
                continue
            steps[i, j] = abs(e)
            small, size = S.dtype.type(e), S.dtype.type(norm)
            for k in range(A.shape[0]):
                A[k, j] = max(A[k, j] + e * A[k, i], 0) / norm
                residual_S[k, i] -= e * residual_S[k, j]
                residual_S[k, j] *= norm
            for t in range(S.shape[1]):
                S[i, t] = max(S[i, t] - small * S[j, t], S.dtype.type(0))
                S[j, t] *= size
                residual_A[j, t] = (residual_A[j, t] + small * residual_A[i, t]) / size
            for b in range(coefficients.shape[1]):
                for t in range(coefficients.shape[2]):
                    coefficients[i, b, t] -= small * coefficients[j, b, t]
                    coefficients[j, b, t] *= size
            energy[i] = 0.0
            for t in range(S.shape[1]):
                energy[i] += S[i, t] * S[i, t]
            energy[j] *= norm * norm
            for k in range(r):
                T[i, k] -= e * T[j, k]
                T[j, k] *= norm


@swift
def change(i, j, e, A, S, coefficients, residual_A, residual_S, energy, noise, tau, direct):
    """Return what a shear adds to the cost, and the norm of the new column j of A.

    Entries below 0 are set to 0, which changes the fit by A_i s + a S_j for their amounts a and s.
    """
    norm = aa = ra = ia = 0.0
    for k in range(A.shape[0]):
        value = A[k, j] + e * A[k, i]
        if value < 0:
            aa += value * value
            ra -= residual_S[k, j] * value
            ia -= A[k, i] * value
        else:
            norm += value * value
    norm = np.sqrt(norm)
    ss = rs = sj = thresholds = 0.0
    small, size = S.dtype.type(e), S.dtype.type(norm)
    for t in range(S.shape[1]):
        value = S[i, t] - small * S[j, t]
        if value < 0:
            ss += value * value
            rs -= residual_A[i, t] * value
            sj -= S[j, t] * value
            value = S.dtype.type(0)
        thresholds += direct[i, t] * (value - S[i, t]) + direct[j, t] * (size - 1) * S[j, t]
    total = ss / 2 - rs + energy[j] * aa / 2 - ra + ia * sj + thresholds
    for b in range(coefficients.shape[1] - 1):  # the last band is smooth and has no threshold
        x, y = coefficients[i, b], coefficients[j, b]
        p, q = S.dtype.type(1 / noise[i, b]), S.dtype.type(1 / noise[j, b])
        log_i = log_j = 0.0
        for first in range(0, x.size, 4):  # one logarithm for four coefficients
            i_after = i_before = j_after = j_before = 1.0
            for t in range(first, min(first + 4, x.size)):
                i_after *= np.float64(1 + p * abs(x[t] - small * y[t]))
                i_before *= np.float64(1 + p * abs(x[t]))
                j_after *= np.float64(1 + q * size * abs(y[t]))
                j_before *= np.float64(1 + q * abs(y[t]))
            log_i += np.log(i_after / i_before)
            log_j += np.log(j_after / j_before)
        total += tau * (noise[i, b] ** 2 * log_i + noise[j, b] ** 2 * log_j)
    return total, norm
