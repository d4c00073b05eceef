"""Single precision is as good as double, for every method that takes it."""

import numpy as np
import pytest
from task_options import records

import ngmca
from ngmca import rivals

SETTINGS = [(0.1, 30.0, 1), (0.3, 15.0, 0)]


def sdr(data, method, dtype):
    found = ngmca.separate(data.Y.astype(dtype), 15, method=method, seed=data_seed(data), n_init=1)
    assert found.A.dtype == found.S.dtype == dtype
    score = ngmca.evaluate(data.S, found.S).mean_sdr
    cosines = np.triu(found.A.T @ found.A, 1)
    return score, float(cosines.max())


def data_seed(data):
    return 1 if data.snr > 20 else 0


@pytest.mark.parametrize(("p_S", "snr", "seed"), SETTINGS)
@pytest.mark.parametrize("method", ["soft", "hard", "naive", "anls"])
def test_float32_finds_the_same_sources(method, p_S, snr, seed):
    data = ngmca.simulate.sparse(r=15, p_S=p_S, snr=snr, seed=seed)
    single, alike = sdr(data, method, np.float32)
    double, _ = sdr(data, method, np.float64)
    assert alike < 0.999
    assert single > double - 0.5


def test_naive_in_float32_finds_the_same_sources_of_many_mixtures():
    """Sources have one entry at first. Two sources with the same entry must not stay alike."""
    lost, alike = [], []
    for seed in range(15):
        data = ngmca.simulate.sparse(60, 60, 10, p_S=0.1, snr=30, seed=seed)
        double, single = (
            ngmca.separate(data.Y.astype(dtype), 10, **records(method="naive", n_iter=100, seed=0))
            for dtype in (np.float64, np.float32)
        )
        scores = [ngmca.evaluate(data.S, found.S).mean_sdr for found in (double, single)]
        lost.append(scores[0] - scores[1])
        alike.append(np.triu(single.A.T @ single.A, 1).max())
    assert np.abs(lost).max() < 0.5
    assert np.max(alike) < 0.999


@pytest.mark.parametrize("method", sorted(rivals.METHODS))
def test_rivals_find_the_same_factors_in_float32(method):
    data = ngmca.simulate.sparse(60, 80, 4, p_S=0.3, snr=20, seed=0)
    scores, options = [], {} if method in ("spa", "vca") else {"n_iter": 60}
    for dtype in (np.float32, np.float64):
        found = ngmca.separate(data.Y.astype(dtype), 4, **records(method=method, **options))
        assert found.S.dtype == dtype
        scores.append(ngmca.evaluate(data.S, found.S).mean_sdr)
    assert scores[0] > scores[1] - 0.5


def test_the_posterior_of_float32_data_is_as_good():
    data = ngmca.simulate.sparse(60, 80, 4, p_S=0.3, snr=20, seed=0)
    scores = []
    for dtype in (np.float32, np.float64):
        Y = data.Y.astype(dtype)
        found = ngmca.posterior(Y, ngmca.separate(Y, 4, n_init=1), n_samples=100, seed=0)
        scores.append(ngmca.evaluate(data.S, found.S.mean).mean_sdr)
    assert scores[0] > scores[1] - 0.5


@pytest.mark.parametrize("method", ["soft", "hard", "anls"])
def test_iterations_on_single_data_of_rank_one(method):
    """Rounding leaves a singular Gram matrix of single precision with eigenvalues below 0."""
    for seed in range(25):
        rng = np.random.default_rng(seed)
        Y = np.outer(rng.random(6), rng.random(12)).astype(np.float32)
        for r in (2, 3):
            found = ngmca.separate(Y, r, **records(method=method, n_iter=8, solver="fista", seed=seed))
            assert np.linalg.norm(Y - found.A @ found.S) < 0.1 * np.linalg.norm(Y)
