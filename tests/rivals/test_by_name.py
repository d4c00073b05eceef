"""The rivals in use: unusual data, the shared start, `separate` and the estimator, and scikit-learn."""

import pickle

import numpy as np
import pytest
from cases import case
from sklearn.decomposition import NMF
from sklearn.utils.estimator_checks import check_estimator
from task_options import records

import ngmca
from ngmca import rivals
from ngmca.engines import mad
from ngmca.metrics import CEILING

METHODS = sorted(rivals.METHODS)
ITERATIVE = [name for name in METHODS if name not in rivals.DIRECT]
AT_ONCE = ("spa", "vca")  # no iterations, and no options about them


def iterations(name, count, **more):
    """Options for so many iterations, where there are any."""
    return {} if name in AT_ONCE else {"n_iter": count, **more}


def finite(found):
    return all(np.isfinite(array).all() for array in (found.A, found.S, found.cost))


UNUSUAL = {
    "zero": np.zeros((6, 9)),
    "one row": np.random.default_rng(0).random((1, 12)),
    "one column": np.random.default_rng(0).random((12, 1)),
    "one entry": np.ones((1, 1)),
    "all negative": -np.random.default_rng(1).random((8, 10)),
    "constant": np.ones((7, 8)),
    "constant rows": np.repeat(np.arange(6.0)[:, None], 9, axis=1),
    "one spike": np.eye(1, 63, 30).reshape(7, 9),
    "zero rows and columns": np.pad(np.random.default_rng(2).random((5, 6)), 3),
    "rank one": np.outer(np.arange(1.0, 8), np.arange(9.0)),
    "duplicate rows": np.tile(np.random.default_rng(3).random((2, 9)), (4, 1)),
    "noise": np.random.default_rng(4).standard_normal((10, 12)),
    "integers": np.random.default_rng(5).integers(0, 9, (8, 9)),
    "tiny": 1e-150 * np.random.default_rng(6).random((8, 9)),
    "huge": 1e150 * np.random.default_rng(6).random((8, 9)),
    "wide range": 10.0 ** np.random.default_rng(7).uniform(-12, 12, (8, 9)),
    "float32": np.random.default_rng(8).standard_normal((8, 9)).astype(np.float32),
    "Fortran order": np.asfortranarray(np.random.default_rng(9).standard_normal((8, 9))),
    "identity": np.eye(3),
    "list": np.random.default_rng(9).random((4, 5)).tolist(),
    "booleans": np.random.default_rng(9).random((8, 9)) > 0.5,
    "half precision": np.random.default_rng(9).random((8, 9)).astype(np.float16),
    "float32, tiny": np.random.default_rng(8).random((8, 9)).astype(np.float32) * np.float32(1e-30),
    "float32, huge": np.random.default_rng(8).random((8, 9)).astype(np.float32) * np.float32(1e30),
    "strided": np.random.default_rng(9).standard_normal((16, 18))[::2, ::2],
}


@pytest.mark.parametrize("name", METHODS)
def test_unusual_data(name):
    for kind in UNUSUAL:
        with case(kind):
            _try(name, kind)


def _try(name, kind):
    Y = UNUSUAL[kind]
    before = np.array(Y)
    if isinstance(Y, np.ndarray):
        Y.setflags(write=False)
    r = min(3, *before.shape)
    found = rivals.METHODS[name](Y, r, **iterations(name, 30), seed=0)
    assert finite(found)
    assert (found.cost >= 0).all()
    assert np.array_equal(before, Y)
    assert found.A.dtype == found.S.dtype == (np.float32 if "float32" in kind else np.float64)
    if name not in rivals.SIGNED:
        assert found.A.min() >= 0
        assert found.S.min() >= 0
    if kind == "zero":
        assert np.abs(found.A @ found.S).max() < 1e-6
    named = ngmca.separate(Y, r, **records(method=name, **iterations(name, 10)))
    np.testing.assert_allclose(np.linalg.norm(named.A, axis=0), 1, rtol=1e-5)
    assert all(np.isfinite(array).all() for array in (named.A, named.S, named.noise))


@pytest.mark.parametrize("name", METHODS)
def test_units_of_the_data_do_not_matter(name):
    """Nor where squares of the data are beyond the range of floats."""
    Y = ngmca.simulate.sparse(12, 20, 3, snr=20, seed=0).Y
    plain = ngmca.separate(Y, 3, **records(method=name, **iterations(name, 20, tol=0.0)))
    for unit in (1e300, 1e150, 7.0, 1e-150, 1e-300):
        scaled = ngmca.separate(Y * unit, 3, **records(method=name, **iterations(name, 20, tol=0.0)))
        np.testing.assert_allclose(scaled.A, plain.A, atol=1e-6)
        np.testing.assert_allclose(scaled.S / unit, plain.S, atol=1e-6 * np.abs(plain.S).max())
        np.testing.assert_allclose(scaled.noise / unit, plain.noise, rtol=1e-4)


def test_units_of_a_start_are_those_of_the_data():
    mixture = ngmca.simulate.sparse(12, 20, 3, snr=20, seed=0)
    plain = rivals.hals(mixture.Y, 3, n_iter=3, start=(mixture.A, mixture.S))
    for unit in (1e150, 1e-150):
        scaled = rivals.hals(mixture.Y * unit, 3, n_iter=3, start=(mixture.A, mixture.S * unit))
        np.testing.assert_allclose(scaled.A, plain.A, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(scaled.S / unit, plain.S, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", METHODS)
def test_more_sources_than_measurements_warn(name):
    Y = np.random.default_rng(0).random((2, 20))
    with pytest.warns(UserWarning, match="are more than the"):
        found = rivals.METHODS[name](Y, 4, **iterations(name, 20), seed=0)
    assert finite(found)


@pytest.mark.parametrize("name", ITERATIVE)
def test_zeros_in_the_start(name):
    Y = ngmca.simulate.sparse(12, 20, 3, snr=20, seed=0).Y
    for empty in ("a row of S", "a column of A", "all of S", "all of A"):
        rng = np.random.default_rng(0)
        A, S = rng.random((12, 3)), rng.random((3, 20))
        {"a row of S": S[0], "a column of A": A[:, 0], "all of S": S, "all of A": A}[empty][...] = 0
        start = A.copy(), S.copy()
        with case(empty):
            found = rivals.METHODS[name](Y, 3, n_iter=50, start=start)
            assert finite(found)
            assert found.cost[-1] < 0.8 * np.sum(Y**2) / 2
            if empty == "a row of S" and name != "hoyer":
                assert (np.abs(found.A @ found.S) > 0).any()
                assert found.S.any(axis=1).all()  # the source came back
            assert (start[0] == A).all()  # the start is left unchanged
            assert (start[1] == S).all()


def expected(error):
    return pytest.raises(error[0], match=error[1])


@pytest.mark.parametrize("name", METHODS)
def test_errors_name_the_wrong_argument(name):
    method = rivals.METHODS[name]
    Y = np.random.default_rng(0).random((6, 8))
    with pytest.raises(ValueError, match="Y contains NaN"):
        method(np.full((3, 3), np.nan), 2)
    with pytest.raises(ValueError, match="r=9"):
        method(Y, 9)
    unknown = (TypeError, "unexpected keyword")
    with expected(unknown if name in AT_ONCE else (ValueError, "n_iter must be at least 1")):
        method(Y, 2, n_iter=0)
    with expected(unknown if name in AT_ONCE else (ValueError, "tol must be")):
        method(Y, 2, tol=-1.0)
    with expected((ValueError, "S of start must have shape") if name in ITERATIVE else unknown):
        method(Y, 2, start=(np.ones((6, 2)), np.ones((3, 8))))


WRONG = [
    ("hals", {"alpha": -1.0}),
    ("sparse_hals", {"sparsity": 1.5}),
    ("hoyer", {"sparseness_S": 2.0}),
    ("hoyer", {"sparseness_A": -0.1}),
    ("kim_park", {"eta": -1.0}),
    ("kim_park", {"beta": -1.0}),
    ("nenmf", {"max_steps": 0}),
    ("projected_gradient", {"max_steps": 0}),
    ("zdunek_cichocki", {"beta": -1.0}),
    ("gmca", {"tau": -1.0}),
    ("gmca", {"refinement": 2.0}),
    ("minvol", {"volume": "samples"}),
    ("minvol", {"weight": -1.0}),
    ("minvol", {"delta": 0.0}),
]


def test_errors_name_the_wrong_option():
    for name, option in WRONG:
        with case((name, option)), pytest.raises(ValueError, match=next(iter(option))):
            rivals.METHODS[name](np.ones((4, 5)), 2, **option)


@pytest.mark.parametrize("name", METHODS)
def test_same_seed_same_answer_and_the_first_guess_is_that_of_separate(name):
    Y = ngmca.simulate.sparse(15, 20, 3, snr=20, seed=0).Y
    method, few = rivals.METHODS[name], iterations(name, 5)
    one, two = (method(Y, 3, **few, seed=4) for _ in range(2))
    assert (one.S == two.S).all()
    if name != "spa":  # which draws nothing
        assert any(not np.allclose(method(Y, 3, **few, seed=seed).S, one.S) for seed in (5, 6, 7))
    named = ngmca.separate(Y, 3, **records(method=name, seed=4, **iterations(name, 5, tol=0.0)))
    assert (named.history.cost == one.cost).all()


def test_a_separation_is_a_start():
    Y = ngmca.simulate.sparse(15, 20, 3, snr=20, seed=0).Y
    start = ngmca.separate(Y, 3, method=ngmca.Soft(n_iter=20), n_init=1)
    pair = rivals.hals(Y, 3, n_iter=5, start=(start.A, start.S))
    assert (rivals.hals(Y, 3, n_iter=5, start=start).S == pair.S).all()
    assert (rivals.hals(Y, 3, n_iter=5, start=pair).cost <= pair.cost[-1] * (1 + 1e-12)).all()


@pytest.mark.parametrize("name", METHODS)
def test_separate_by_name(name):
    Y = ngmca.simulate.sparse(15, 30, 3, snr=20, seed=0).Y
    found = ngmca.separate(Y, 3, **records(method=name, **iterations(name, 25, tol=0.0)))
    direct = rivals.METHODS[name](Y, 3, **iterations(name, 25), seed=0)
    np.testing.assert_allclose(np.linalg.norm(found.A, axis=0), 1)
    np.testing.assert_allclose(found.A @ found.S, direct.A @ direct.S, atol=1e-10)
    assert found.n_iter == (1 if name in AT_ONCE else 25)
    assert found.stopped == "iterations"
    assert np.isnan(found.lam).all()
    assert np.isnan(found.violation)
    assert found.history.threshold.shape == (found.n_iter, 3)
    assert found.history.active[-1] == np.mean(found.S != 0)
    np.testing.assert_allclose(found.noise, mad(Y - found.A @ found.S))


def test_separate_keeps_the_run_with_the_lowest_cost():
    Y = ngmca.simulate.sparse(15, 30, 4, p_S=0.8, snr=20, seed=0).Y
    found = ngmca.separate(Y, 4, method=ngmca.Rival("hals", n_iter=10, tol=0.0), n_init=5)
    costs = [restart.cost for restart in found.restarts]
    assert len(set(costs)) == 5
    assert found.history.cost[-1] == min(costs)
    assert found.restarts[int(np.argmin(costs))].agreement == CEILING
    alone = ngmca.separate(Y, 4, method=ngmca.Rival("hals", n_iter=10, tol=0.0), n_init=1)
    assert alone.history.cost[-1] == costs[0]


def test_separate_passes_known_noise_on_and_settles():
    Y = ngmca.simulate.sparse(15, 30, 3, snr=20, seed=0).Y
    found = ngmca.separate(Y, 3, method=ngmca.Rival("hals", n_iter=5000, tol=1e-6), noise=0.25, n_init=1)
    assert (found.noise == 0.25).all()
    assert found.stopped == "settled"
    assert found.n_iter < 5000
    assert ngmca.separate(Y, 3, method="hals", n_init=1).n_iter == 500  # its own default, to the end


def test_separate_refuses_what_a_rival_has_no_use_for():
    Y = np.random.default_rng(0).random((6, 8))
    for name in ("tau", "refinement", "bounded", "solver"):
        with case(name), pytest.raises(ValueError, match=f"method='hals' has no option {name}"):
            ngmca.Rival("hals", **{name: 1})
    with pytest.raises(ValueError, match=r"'soft'.*'gmca'.*'hals'"):
        ngmca.separate(Y, 2, method="halls", n_init=1)
    with pytest.raises(ValueError, match=r"start cannot be combined with n_init: a given start is one"):
        ngmca.separate(Y, 2, method="hals", n_init=2, start=(np.ones((6, 2)), np.ones((2, 8))))


def test_separate_gives_gmca_its_threshold():
    Y = ngmca.simulate.sparse(15, 60, 3, snr=10, seed=0).Y
    few = ngmca.separate(Y, 3, method=ngmca.Rival("gmca", tau=4.0, n_iter=50), n_init=1)
    many = ngmca.separate(Y, 3, method=ngmca.Rival("gmca", tau=0.5, n_iter=50), n_init=1)
    assert np.mean(few.S != 0) < np.mean(many.S != 0) - 0.1


@pytest.mark.parametrize("name", METHODS)
def test_estimator_by_name(name):
    X = ngmca.simulate.sparse(15, 30, 3, snr=30, seed=0).Y
    iterative = {} if name in AT_ONCE else {"n_iter": 30}
    model = ngmca.NGMCA(3, **records(method=name, **iterative))
    W = model.fit_transform(X)
    np.testing.assert_allclose(model.transform(X), W, atol=1e-10)
    assert model.reconstruction_err_ == pytest.approx(np.linalg.norm(X - W @ model.components_))
    found = ngmca.separate(X, 3, **records(method=name, **iterations(name, 30)))
    np.testing.assert_array_equal(model.components_, found.S)
    # the weights are the best ones for these components, so that no method is measured below its worth
    assert model.reconstruction_err_ <= np.linalg.norm(X - found.A @ found.S) * (1 + 1e-9)
    assert (pickle.loads(pickle.dumps(model)).transform(X) == model.transform(X)).all()


@pytest.mark.parametrize("name", ["hals", "gmca"])
def test_estimator_contract(name):
    check_estimator(ngmca.NGMCA(**records(method=name, n_iter=20)), on_skip=None)


@pytest.mark.parametrize(
    ("solver", "name", "n_iter"), [("cd", "hals", 2000), ("mu", "multiplicative", 8000)]
)
def test_costs_agree_with_scikit_learn(solver, name, n_iter):
    """After convergence, from the same start, on the same non-negative data."""
    Y = np.maximum(ngmca.simulate.sparse(25, 30, 3, p_S=0.5, snr=15, seed=0).Y, 0)
    ratios = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        A, S = rng.random((25, 3)), rng.random((3, 30))
        model = NMF(3, init="custom", solver=solver, tol=0.0, max_iter=n_iter)
        model.fit_transform(Y, W=A.copy(), H=S.copy())
        found = rivals.METHODS[name](Y, 3, n_iter=n_iter, start=(A, S))
        ratios.append(2 * found.cost[-1] / model.reconstruction_err_**2)
    assert abs(np.median(ratios) - 1) < 1e-3
    assert np.mean(np.abs(np.array(ratios) - 1) < 1e-3) > 0.7


def test_methods_without_iterations_do_not_support_options_about_them():
    for name in AT_ONCE:
        for option in ("n_iter", "tol"):
            wrong = f"method='{name}' has no option {option}: leave it out"
            with case((name, option)), pytest.raises(ValueError, match=wrong):
                ngmca.Rival(name, **{option: 1})


def test_the_best_of_several_runs_does_not_depend_on_units():
    """Costs overflow, or vanish, in the units of the data: the runs are compared in others."""
    Y = ngmca.simulate.sparse(20, 40, 4, p_S=0.3, snr=10, seed=1).Y
    chosen = []
    for unit in (1.0, 2.0**600, 2.0**-600):
        found = ngmca.separate(Y * unit, 4, method=ngmca.Rival("hals", n_iter=5), n_init=6, seed=3)
        chosen.append(found.A)
    first = ngmca.separate(Y, 4, method=ngmca.Rival("hals", n_iter=5), seed=3, n_init=1).A
    assert not np.array_equal(chosen[0], first)  # it is not the first run that is the best
    assert all(np.array_equal(A, chosen[0]) for A in chosen)
