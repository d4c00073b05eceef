"""Random non-negative quadratic problems, some singular or badly scaled: X is finite, >= 0 and exact."""

import numpy as np
from outcome import ACCEPTED, ERROR, expect
from scipy.optimize import nnls

from ngmca.nnqp import fista, objective, pivot, violation


def prepare():
    """Compile the solver."""
    pivot(np.eye(3), np.ones((3, 4)))


def case(rng, folder):
    """Solve a random problem."""
    A, definite = _matrix(rng)
    m, r = A.shape
    n = int(rng.integers(1, 9))
    y = rng.standard_normal((m, n)) * (rng.random((m, n)) < rng.choice([0.2, 1.0])) + rng.choice(
        [0, 0.3]
    )
    lam = rng.choice([0.0, 0.0, 0.3]) * rng.random()
    norms = np.linalg.norm(A, axis=0)
    G, C = A.T @ A, A.T @ y - lam * norms[:, None]
    X0 = rng.choice([0.0, 1.0, -1.0, 1e30]) * rng.random((r, n)) if rng.random() < 0.5 else None
    if rng.random() < 0.1:
        return _wrong(G, C, rng, folder)
    np.savez(folder / "problem.npz", A=A, y=y, lam=lam, G=G, C=C, X0=np.zeros(0) if X0 is None else X0)
    before = G.copy(), C.copy()
    found = pivot(G, C, X0)
    expect(np.array_equal(G, before[0]) and np.array_equal(C, before[1]), "the problem was changed")
    _check(found, C)
    actual = violation(G, C, found.X)
    expect(actual <= found.violation, f"pivot: violation {actual:.1e}, it says {found.violation:.1e}")
    if definite:
        expect(found.violation <= 1e-8, f"pivot: violation {found.violation:.1e} of a definite problem")
    if not lam:
        _check_minimum(A / np.where(norms > 0, norms, 1), y, norms, found.X)
    _check(fista(G, C, None if X0 is None else np.abs(X0), max_iter=int(rng.integers(1, 200))), C)
    return ACCEPTED


def _matrix(rng):
    """Return a matrix, and whether its Gram matrix is well conditioned."""
    r = int(rng.integers(1, 30))
    m = r + int(rng.integers(0, 10))
    A = rng.standard_normal((m, r)) if rng.random() < 0.5 else rng.random((m, r))
    kind = rng.choice(["plain", "deficient", "scaled", "duplicated", "near", "few", "integer", "zero"])
    if kind == "deficient":
        k = max(1, r // 2)
        A = A[:, :k] @ rng.random((k, r))
    elif kind == "scaled":
        A = A * 2.0 ** rng.integers(-400, 400, r)
    elif kind == "duplicated":
        A = A[:, rng.integers(r, size=r)] * rng.choice([0.0, 1.0, 2.0], r)
    elif kind == "near":
        A[:, -1] = A[:, 0] + 10.0 ** rng.integers(-16, -5) * rng.standard_normal(m)
    elif kind == "few":
        A = A[: max(1, m // 3)]
    elif kind == "integer":
        A = rng.integers(-2, 3, (m, r)).astype(float)
    elif kind == "zero":
        A *= rng.random((m, r)) < 0.1
    definite = kind in ("plain", "scaled") and np.linalg.cond(A / np.linalg.norm(A, axis=0)) < 1e4
    return A, definite


def _check(found, C):
    expect(found.X.shape == C.shape, f"X is {found.X.shape}, C {C.shape}")
    expect(np.isfinite(found.X).all(), "X is not finite")
    expect((found.X >= 0).all(), "X is negative")
    expect(found.violation >= 0, f"the violation is {found.violation}")


def _check_minimum(A, y, norms, X):
    """Compare with another solver; if A is nearly singular, half of the digits are lost."""
    for column, x in zip(y.T, X.T, strict=True):
        try:
            other = nnls(A, column, maxiter=100 * A.shape[1])[0]
        except RuntimeError:  # it does not converge
            continue
        G, C = A.T @ A, A.T @ column[:, None]
        least, found = (objective(G, C, z[:, None])[0] for z in (other, x * norms))
        size = abs(least) + 1e-6 * (column @ column)
        expect(found - least <= 1e-6 * size, f"pivot: objective {found}, nnls {least}")


def _wrong(G, C, rng, folder):
    """Check that an invalid problem gives an error."""
    G = G.copy()
    kind = rng.choice(["nan", "asymmetric", "negative", "shape"])
    if kind == "nan":
        G[0, 0] = rng.choice([np.nan, np.inf])
    elif kind == "asymmetric" and len(G) > 1 and G[0, 0] > 0 and G[1, 1] > 0:
        G[0, 1] += np.sqrt(G[0, 0]) * np.sqrt(G[1, 1])
    elif kind == "shape":
        C = C[:-1]
    else:
        G[0, 0] = -1.0
    np.savez(folder / "problem.npz", G=G, C=C)
    try:
        pivot(G, C)
    except ValueError as error:
        expect(str(error).endswith("."), f"no sentence: {error}")
        return ERROR
    expect(False, f"a wrong problem ({kind}) was solved")
    return ACCEPTED
