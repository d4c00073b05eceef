"""Minimum volume, pure measurements and independence: data for which the answer of each is known."""

import numpy as np
import pytest
from scipy.optimize import minimize, nnls

import ngmca
from ngmca import rivals
from ngmca.nnqp import violation
from ngmca.rivals._minvol import _begin, _on_simplex
from ngmca.rivals._nonnegative_ica import _turned, _whitened
from ngmca.rivals._spa import _farthest
from ngmca.rivals.alternation import prepare
from ngmca.rivals.subspace import without_start

R = 4


def sdr(data, found):
    return ngmca.evaluate(data.S, found.S).sdr.min()


def mixture(A, S, snr=None, seed=0):
    return ngmca.simulate.mixture.mix(A, S, snr, np.random.default_rng(seed))


@pytest.fixture(scope="module")
def pure():
    """Overlapping sources, each once measured alone, in amounts of any size."""
    rng = np.random.default_rng(0)
    A = rng.dirichlet(np.ones(R), 30)
    A[[3, 8, 11, 20]] = np.eye(R)
    return mixture(A * rng.uniform(0.05, 3, (30, 1)), rng.random((R, 60)) + 0.2)


def scattered(snr=None):
    """Dense sources, none ever alone, but in every measurement one of them is missing."""
    rng = np.random.default_rng(1)
    A = rng.dirichlet(2 * np.ones(R), 80)
    A[np.arange(80), np.arange(80) % R] = 0
    assert A.max() / A.sum(axis=1).max() < 0.95
    return mixture(A * rng.uniform(0.5, 2, (80, 1)), rng.random((R, 60)) + 0.2, snr)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", ["spa", "vca"])
def test_pure_measurements_are_the_sources(pure, name, seed):
    found = rivals.METHODS[name](pure.Y, R, seed=seed)
    assert sdr(pure, found) > 200
    assert sdr(pure, rivals.hals(pure.Y, R, seed=0)) < 40  # what fits is not what is true
    A = found.A @ found.S @ np.linalg.pinv(pure.S)
    np.testing.assert_allclose(A, pure.A, atol=1e-9)


@pytest.mark.parametrize("name", ["spa", "vca"])
def test_without_pure_measurements_the_sources_are_not_found(name):
    data = scattered()
    assert sdr(data, rivals.METHODS[name](data.Y, R, seed=0)) < 25


@pytest.mark.parametrize("name", ["spa", "vca", "nonnegative_ica"])
def test_amounts_are_exact_least_squares(name):
    Y = ngmca.simulate.sparse(30, 40, R, snr=10, seed=3).Y
    found = rivals.METHODS[name](Y, R, seed=0)
    expected = np.stack([nnls(found.S.T, y)[0] for y in Y])
    assert (expected == 0).mean() > 0.1
    assert (np.linalg.lstsq(found.S.T, Y.T, rcond=None)[0] < 0).mean() > 0.1
    np.testing.assert_allclose(found.A, expected, atol=1e-9)
    assert violation(found.S @ found.S.T, found.S @ Y.T, found.A.T) < 1e-12
    assert found.cost[-1] == pytest.approx(np.sum((Y - found.A @ found.S) ** 2) / 2)


def test_a_blank_measurement_is_not_picked(pure, monkeypatch):
    """Divided by its sum, noise is long in any direction."""
    rng = np.random.default_rng(0)
    Y = np.concatenate([pure.Y, np.zeros((20, 60))]) + 1e-3 * rng.standard_normal((50, 60))
    assert sdr(pure, rivals.spa(Y, R)) > 25
    monkeypatch.setattr("ngmca.rivals._spa.MIN_ENERGY", 0.0)
    assert sdr(pure, rivals.spa(Y, R)) < 10


def test_the_farthest_are_those_of_qr_with_pivots():
    from scipy.linalg import qr

    points = np.random.default_rng(0).standard_normal((50, 6))
    assert _farthest(points, 6) == qr(points.T, pivoting=True)[2][:6].tolist()


@pytest.mark.parametrize("snr", [40, 5])
def test_vca_projects_as_the_noise_asks(snr):
    """With amounts that sum to 1 both projections find nearly pure measurements."""
    rng = np.random.default_rng(0)
    A = np.concatenate([np.eye(3)] * 5 + [rng.dirichlet(np.ones(3), 100)])
    data = mixture(A, rng.random((3, 400)) * (rng.random((3, 400)) < 0.5), snr)
    problem = without_start(data.Y, 3, seed=0)
    assert ngmca.rivals._vca._clean(problem) == (snr == 40)
    scores = [sdr(data, rivals.vca(data.Y, 3, seed=seed)) for seed in range(5)]
    assert min(scores) > (25 if snr == 40 else 8)


@pytest.mark.parametrize("name", ["spa", "vca"])
def test_fewer_dimensions_than_sources(pure, name):
    found = rivals.METHODS[name](pure.Y, R + 2, seed=0)
    assert not found.S[R:].any()
    assert not found.A[:, R:].any()
    assert sdr(pure, found) > 200


def test_a_start_is_refused_by_name(pure):
    for name in rivals.DIRECT:
        with pytest.raises(ValueError, match=f"method='{name}' does not use start"):
            ngmca.separate(pure.Y, R, method=name, start=(pure.A, pure.S), n_init=1)


def test_the_subspace_is_that_of_the_singular_value_decomposition():
    for shape in ((30, 50), (50, 30)):
        Y = np.random.default_rng(0).standard_normal(shape)
        Y = Y @ np.diag(10.0 ** -np.linspace(0, 9, shape[1]))  # beyond the reach of the Gram matrix
        P, V = without_start(Y, 3).subspace
        U, s, W = np.linalg.svd(Y)
        np.testing.assert_allclose(P @ V.T, (U[:, :3] * s[:3]) @ W[:3], atol=1e-3 * s[2])
        np.testing.assert_allclose(V.T @ V, np.eye(3), atol=1e-12)


def independent(r, n=4000, seed=0):
    rng = np.random.default_rng(seed)
    S = rng.exponential(size=(r, n)) * (rng.random((r, n)) < 0.6)
    return mixture(rng.random((12, r)), S)


@pytest.mark.parametrize("r", [1, 2, 5])
@pytest.mark.parametrize("seed", [0, 1])
def test_independent_sources_are_found(r, seed):
    data = independent(r)
    found = rivals.nonnegative_ica(data.Y, r, n_iter=100, seed=seed)
    assert sdr(data, found) > 30
    assert found.cost[-1] < 1e-3 * np.sum(data.Y**2)


def test_dependent_sources_are_not():
    rng = np.random.default_rng(0)
    common = rng.exponential(size=(1, 4000))
    data = mixture(rng.random((12, 3)), common + 0.3 * rng.exponential(size=(3, 4000)))
    assert sdr(data, rivals.nonnegative_ica(data.Y, 3, seed=0)) < 20


def test_whitening_leaves_the_mean_and_rotations_lower_the_negative_part():
    problem = without_start(independent(4, 500).Y, 4, seed=0)
    Z = _whitened(problem)
    np.testing.assert_allclose(np.cov(Z, bias=True), np.eye(4), atol=1e-9)
    assert np.linalg.norm(Z.mean(axis=1)) > 0.5
    W = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
    parts = []
    for _ in range(30):
        parts.append(np.sum(np.minimum(W @ Z, 0) ** 2))
        W = _turned(W, Z)
        np.testing.assert_allclose(W @ W.T, np.eye(4), atol=1e-12)
    assert np.diff(parts).max() <= 1e-9 * parts[0]
    assert parts[-1] < 0.1 * parts[0]


def test_the_smallest_simplex_is_the_true_one():
    data = scattered()
    found = rivals.minvol(data.Y, R, n_iter=1000, seed=0, weight=1e-3)
    plain = rivals.hals(data.Y, R, n_iter=1000, seed=0)
    assert 2 * plain.cost[-1] < 1e-6 * np.sum(data.Y**2)  # both fit
    assert 2 * found.cost[-1] < 1e-3 * np.sum(data.Y**2)
    assert sdr(data, plain) < 20
    assert sdr(data, found) > 30
    np.testing.assert_allclose(found.S.sum(axis=1), found.S[0].sum())


def test_volume_of_the_mixing_is_the_same_for_the_transposed_data():
    data = scattered(40)
    start = rivals.hals(data.Y, R, n_iter=3, seed=0)
    one = rivals.minvol(data.Y, R, n_iter=50, start=start)
    two = rivals.minvol(data.Y.T, R, n_iter=50, start=(start.S.T, start.A.T), volume="mixing")
    np.testing.assert_allclose(two.A @ two.S, (one.A @ one.S).T, atol=1e-6)
    np.testing.assert_allclose(two.cost, one.cost, rtol=1e-6)
    np.testing.assert_allclose(two.A.sum(axis=0), two.A[:, 0].sum())
    other = rivals.minvol(data.Y, R, n_iter=50, start=start, volume="mixing")
    assert not np.allclose(other.cost, one.cost, rtol=1e-3)


@pytest.mark.parametrize("volume", ["sources", "mixing"])
def test_the_objective_never_rises(volume):
    data = ngmca.simulate.bands(20, 100, 3, snr=20, seed=0)
    problem = prepare(data.Y, 3, n_iter=200, seed=0)
    model, first = _begin(problem, volume == "sources", 0.05, 0.01)

    def objective(point):
        A, X = model.factors(point)
        V = X if volume == "sources" else A
        fit = np.sum((data.Y - A @ X.T) ** 2) / 2
        return fit + model.lam / 2 * np.log(np.linalg.det(V.T @ V + 0.01 * np.eye(3)))

    values = [objective(point) for point in (first, *model.points(first, 200))]
    assert values[-1] < values[0] - 0.01 * abs(values[0])
    assert np.diff(values).max() <= 1e-9 * abs(values[0])


def test_minvol_is_stationary_for_its_own_objective():
    """No small feasible move lowers it, written out; without the volume some do."""
    data = ngmca.simulate.bands(12, 30, 3, fwhm=8.0, snr=15, seed=0)
    problem = prepare(data.Y, 3, n_iter=1, seed=0)
    model, first = _begin(problem, True, 0.05, 0.01)
    for last in model.points(first, 3000):  # noqa: B007
        pass
    rng = np.random.default_rng(0)
    falls = {True: 0, False: 0}
    for with_volume in falls:
        lam = model.lam if with_volume else 0.0

        def objective(A, X, lam=lam):
            return np.sum((data.Y - A @ X.T) ** 2) / 2 + lam / 2 * model.volume(X)

        best = objective(last.U, last.V)
        for _ in range(300):
            X = last.V + 1e-4 * rng.standard_normal(last.V.shape)
            X = np.stack([_on_simplex(x, model.total) for x in X.T], axis=1)
            A = np.stack([nnls(X, y)[0] for y in data.Y])
            falls[with_volume] += objective(A, X) < best - 1e-7 * abs(best)
    assert falls == {True: 0, False: pytest.approx(300, abs=299)}


def test_projection_on_the_simplex():
    x = np.random.default_rng(0).standard_normal(6)
    limits = {"type": "eq", "fun": lambda z: z.sum() - 1.5}
    expected = minimize(lambda z: np.sum((z - x) ** 2), np.full(6, 0.25), bounds=[(0, None)] * 6,
                        constraints=limits, options={"ftol": 1e-14})  # fmt: skip
    assert (expected.x < 1e-7).any()
    np.testing.assert_allclose(_on_simplex(x, 1.5), expected.x, atol=1e-6)
