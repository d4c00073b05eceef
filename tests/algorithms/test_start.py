"""First guesses and revived sources."""

import numpy as np
import pytest

import ngmca
from ngmca.algorithms import soft_and_hard
from ngmca.algorithms.first_guess import revive, unit_columns
from ngmca.engines import everything
from ngmca.engines.memory import MemoryEngine
from ngmca.nnqp import violation


def cosines(A):
    return np.triu(A.T @ A, 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_dead_source_gets_a_direction_of_its_own(dtype):
    """The strongest columns of the data are alike, and rounding leaves something of each."""
    data = ngmca.simulate.sparse(30, 400, 8, p_S=0.1, snr=30, seed=0)
    engine = MemoryEngine(data.Y.astype(dtype))
    A, S = revive(engine, np.zeros((30, 12), dtype), np.zeros((12, 400), dtype))
    np.testing.assert_allclose(np.linalg.norm(A, axis=0), 1, rtol=1e-5)
    assert cosines(A).max() < 0.9999
    assert not S.any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_where_nothing_is_left_over_directions_still_differ(dtype):
    engine = MemoryEngine(np.outer(np.arange(1.0, 9), np.ones(20)).astype(dtype))
    A, _ = revive(engine, np.zeros((8, 4), dtype), np.zeros((4, 20), dtype))
    assert (A >= 0).all()
    assert cosines(A).max() < 0.999


def test_a_dead_source_is_revived_from_what_the_fit_leaves_over():
    """Scales of S count: with columns of A of other norms the residual would be another one."""
    rng = np.random.default_rng(0)
    A, S = rng.random((40, 4)), np.zeros((4, 300))
    for i in range(4):
        S[i, 70 * i : 70 * i + 60] = rng.random(60)  # apart: what is left over is source 3 alone
    Y = A @ S
    states = ngmca.iterate(Y, ngmca.Task(4, method=ngmca.Soft(tau=0.0, n_iter=3), start=(A, S)))
    assert next(states).S.any(axis=1).all()
    scaled = A * np.array([5.0, 0.2, 3.0, 0.0])
    rows = S / np.array([5.0, 0.2, 3.0, 1.0])[:, None]
    found, sources = revive(MemoryEngine(Y), scaled, rows)
    found, sources = unit_columns(found, sources)
    assert found[:, 3] @ A[:, 3] / np.linalg.norm(A[:, 3]) > 0.999
    np.testing.assert_allclose(found[:, :3] @ sources[:3], A[:, :3] @ S[:3], atol=1e-12)


def test_a_source_that_dies_on_the_way_is_revived_from_the_true_residual(monkeypatch):
    """What it sees must be the answer of the A-step, whose product with S is the fit."""
    seen = []

    def watched(engine, A, S, known):
        if not A.any(axis=0).all():
            Y = everything(engine)
            seen.append(violation(S @ S.T, S @ Y.T, A.T))
        return revive(engine, A, S, known)

    monkeypatch.setattr(soft_and_hard, "revive", watched)
    for seed in range(3):
        data = ngmca.simulate.sparse(10, 50, 8, p_S=0.3, snr=0, seed=seed)
        for _ in ngmca.iterate(
            data.Y, ngmca.Task(8, method=ngmca.Soft(tau=3.0, bounded=False), seed=seed)
        ):
            pass
    assert seen, "no source died: the test shows nothing"
    assert max(seen) < 1e-9
