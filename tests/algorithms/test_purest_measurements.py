"""Sources that the data do not settle: those near the purest measurements are taken, and it is said."""

import warnings

import numpy as np
import pytest
import real_data

import ngmca
from ngmca.task import purest_measurements


def edges(seed, *, pure=True):
    """Mixtures of three absorption edges, which are nowhere 0 and much alike."""
    rng, t = np.random.default_rng([seed, 3]), np.linspace(0, 1, 300)
    S = []
    for _ in range(3):
        edge = 1 / (1 + np.exp(-(t - 0.3 - rng.uniform(-0.02, 0.02)) / 0.02))
        white_line = rng.uniform(0.2, 0.6) * np.exp(-0.5 * ((t - rng.uniform(0.36, 0.4)) / 0.03) ** 2)
        waves = rng.uniform(0.02, 0.08) * np.cos(rng.uniform(20, 40) * t)
        S.append(edge * (1 + white_line) * (1 + waves) + 0.05)
    A = rng.dirichlet(np.full(3, 1.0 if pure else 8.0), 8 if pure else 30)
    if pure:
        A[:3] = 0.9 * np.eye(3) + 0.1 / 3
    clean = A @ np.array(S)
    return clean + 0.003 * np.sqrt(np.mean(clean**2)) * rng.standard_normal(clean.shape), np.array(S)


@pytest.mark.parametrize("seed", range(3))
def test_nearly_pure_measurements_settle_what_starts_do_not(seed):
    Y, S = edges(seed)
    assert np.corrcoef(S).min() > 0.9
    with pytest.warns(UserWarning, match="the data do not determine the sources: 5 starts"):
        found = ngmca.separate(Y, 3)
    assert ngmca.evaluate(S, found.S).mean_sdr > 38
    assert found.others is not None  # the report shows what else would fit
    assert len(found.restarts) == 6
    assert (found.A >= 0).all()
    np.testing.assert_allclose(np.linalg.norm(found.A, axis=0), 1)
    residual = np.sqrt(np.mean((Y - found.A @ found.S) ** 2))
    assert residual < 1.1 * np.sqrt(np.mean(found.noise**2))


def test_without_pure_measurements_nothing_is_replaced(monkeypatch):
    """The purest measurements do not explain the others then."""
    Y, _ = edges(0, pure=False)
    monkeypatch.setattr(purest_measurements, "DIFFERENT", (np.inf, np.inf))
    with warnings.catch_warnings(action="error"):
        found = ngmca.separate(Y, 3)
    assert len(found.restarts) == 5


@pytest.mark.parametrize(("sparse", "starts"), [(False, 6), (True, 5)])
def test_unrelated_starts_of_dense_sources_are_settled(monkeypatch, sparse, starts):
    """Sparsity can choose among unrelated answers only if the sources have zeros."""
    monkeypatch.setattr(purest_measurements, "UNRELATED", np.inf)
    monkeypatch.setattr(purest_measurements, "DIFFERENT", (np.inf, np.inf))
    Y = ngmca.simulate.nmr(m=20, n=300, r=3, snr=30, seed=0).Y if sparse else edges(0, pure=False)[0]
    with warnings.catch_warnings(action="ignore"):
        assert len(ngmca.separate(Y, 3).restarts) == starts


def test_infrared_spectra_of_a_fermentation():
    """Starts found unrelated sources, and the chosen one followed the glucose by 0.3."""
    folder = real_data.folder_of("chemotools") / "chemotools/datasets/data"
    table = np.genfromtxt(folder / "train_spectra.csv", delimiter=",")
    Y = table[1:, (table[0] > 950) & (table[0] < 1550)]
    glucose = np.genfromtxt(folder / "train_hplc.csv", skip_header=1)
    with pytest.warns(UserWarning, match="the data do not determine the sources"):
        found = ngmca.separate(Y, 4, constraints=[])
    assert max(np.corrcoef(column, glucose)[0, 1] for column in found.A.T) > 0.75


@pytest.mark.parametrize("kind", ["bands", "spectra", "sparse"])
def test_starts_that_agree_are_kept(kind):
    Y = getattr(ngmca.simulate, kind)(m=30, n=300, r=3, snr=25, seed=0).Y
    with warnings.catch_warnings(action="error"):
        assert len(ngmca.separate(Y, 3).restarts) == 5


def test_as_many_measurements_as_sources_are_not_all_pure():
    """Each measurement would explain itself, noise included."""
    x = ngmca.simulate.sparse(m=15, n=200, r=15, p_S=0.1, snr=15, seed=1000)
    with warnings.catch_warnings(action="ignore"):
        found, once = (ngmca.separate(x.Y, 15, n_init=n_init) for n_init in ("auto", 1))
    assert ngmca.evaluate(x.S, found.S).mean_sdr > ngmca.evaluate(x.S, once.S).mean_sdr - 1
    assert found.noise.mean() > 0
