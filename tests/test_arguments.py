"""Bad input raises an error that says what to do; unusual input works."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cases import case
from scipy import sparse as scipy_sparse
from task_options import records

import ngmca
from ngmca import rivals
from ngmca.answers import how_sure as diagnosis
from ngmca.answers.how_many import singular_values

Y = ngmca.simulate.sparse(m=12, n=30, r=3, snr=20, seed=0).Y


def changed(**entries):
    data = Y.copy()
    for name, value in entries.items():
        i, j = (int(part) for part in name[1:].split("_"))
        data[i, j] = value
    return data


BAD_DATA = [
    ((changed(_0_2=-np.inf), 3), ValueError, r"Y contains infinity, first at row 0, column 2"),
    ((Y[0], 3), ValueError, r"Y must be two-dimensional.*Y\[None, :\]"),
    ((Y[None], 3), ValueError, r"Y must be two-dimensional"),
    ((Y[:0], 1), ValueError, r"Y is empty, shape \(0, 30\)"),
    ((Y[:, :0], 1), ValueError, r"Y is empty"),
    (([["a", "b"], ["c", "d"]], 1), TypeError, r"Y must hold numbers only"),
    (([["1", "2"], ["3", "4"]], 1), TypeError, r"Y must hold numbers only"),
    (([[1, 2], [3]], 1), TypeError, r"Y must hold numbers only, in rows of equal length"),
    ((np.zeros((3, 4), dtype="datetime64[s]"), 1), TypeError, r"Y must hold numbers only"),
    ((Y + 1j, 3), ValueError, r"Y is complex.*real part"),
    ((scipy_sparse.csr_matrix(Y), 3), TypeError, r"Y is a sparse matrix: pass Y.toarray\(\)"),
    ((np.full((3, 4), np.nan), 1), ValueError, r"all entries of Y are missing"),
    ((Y, 0), ValueError, r"r must be at least 1, got 0"),
    ((Y, 31), ValueError, r"r=31 .* so use at most 30"),
    ((Y, 2.0), TypeError, r"r must be an integer, got 2.0"),
    ((Y, "3"), TypeError, r"r must be an integer"),
]


def test_bad_data_and_rank():
    for arguments, error, message in BAD_DATA:
        with case(message), pytest.raises(error, match=message):
            ngmca.separate(*arguments)


BAD_OPTIONS = [
    ({"tau": -1}, ValueError, r"tau must be between 0 and"),
    ({"tau": "1"}, TypeError, r"tau must be a number"),
    ({"tau": np.nan}, ValueError, r"tau"),
    ({"noise": -0.1}, ValueError, r"noise holds .* not negative"),
    ({"noise": np.full(12, np.nan)}, ValueError, r"noise holds .* finite"),
    (
        {"noise": np.ones(5)},
        ValueError,
        r"noise must be one number, or one for each measurement \(12\), each channel \(30\)",
    ),
    ({"noise": "low"}, ValueError, r"noise must be one of 'poisson'"),
    ({"noise": 1j}, ValueError, r"noise is complex"),
    ({"bounded": "no"}, TypeError, r"bounded must be True or False"),
    ({"tau": np.inf}, ValueError, r"tau must be finite"),
    ({"seed": -1}, TypeError, r"seed must be a non-negative integer"),
    ({"seed": np.random.RandomState(0)}, TypeError, r"seed must be .* a Generator"),
    ({"start": ("a", "b")}, TypeError, r"A of start must hold numbers"),
    ({"threads": 0}, ValueError, r"threads must be at least 1"),
    ({"method": "sfot"}, ValueError, r"method='sfot' does not exist. Do you mean 'soft'"),
    ({"solver": "cg"}, ValueError, r"solver must be one of"),
    ({"n_iter": 0}, ValueError, r"n_iter must be at least 1"),
    ({"n_init": 0}, ValueError, r"n_init must be at least 1"),
    ({"refinement": 1.5}, ValueError, r"refinement must be between 0 and 1"),
    ({"max_sub_iter": 0}, ValueError, r"max_iter must be at least 1"),
    ({"tol": -1.0}, ValueError, r"tol"),
    ({"start": 3}, TypeError, r"start must be a pair \(A, S\)"),
    ({"start": (np.ones((12, 2)), np.ones((3, 30)))}, ValueError, r"A of start .* \(12, 3\)"),
    ({"start": (np.ones((12, 3)), np.ones((30, 3)))}, ValueError, r"S of start .* \(3, 30\)"),
    ({"start": (-np.ones((12, 3)), np.ones((3, 30)))}, ValueError, r"A of start has negative"),
    (
        {"start": (np.ones((12, 3)), np.full((3, 30), np.nan))},
        ValueError,
        r"S of start contains NaN",
    ),
    ({"start": (np.ones((12, 3)), np.ones((3, 30))), "n_init": 2}, ValueError, r"start cannot be"),
]


def test_bad_options():
    for options, error, message in BAD_OPTIONS:
        with case(options), pytest.raises(error, match=message):
            ngmca.separate(Y, 3, **records(**options))


def test_iterate_checks_before_the_first_state():
    with pytest.raises(ValueError, match="tau"):
        ngmca.iterate(Y, ngmca.Task(3, method=ngmca.Soft(tau=-1)))
    with pytest.raises(TypeError, match="unexpected keyword argument 'n_itr'"):
        ngmca.iterate(Y, ngmca.Task(3, n_itr=10))


def test_more_sources_than_measurements_work_with_a_warning():
    with pytest.warns(UserWarning, match="r=5 sources are more than the 4 measurements"):
        result = ngmca.separate(Y[:4], 5, method=ngmca.Soft(n_iter=30), n_init=1)
    assert np.isfinite(result.S).all()


def works(data, r=2, **options):
    before = np.array(data, copy=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = ngmca.separate(data, r, **records(n_iter=40, **options))
    np.testing.assert_array_equal(np.asarray(data), before)
    m, n = np.shape(data)
    assert result.A.shape == (m, r)
    assert result.S.shape == (r, n)
    for values in (result.A, result.S, result.lam, result.noise, result.history.cost):
        assert np.isfinite(values).all()
    assert (result.A >= 0).all()
    assert (result.S >= 0).all()
    np.testing.assert_allclose(np.linalg.norm(result.A, axis=0), 1, rtol=1e-5)
    return result


@pytest.mark.parametrize("method", ["soft", "hard", "naive"])
def test_odd_data_work(method):
    options = {"method": method}
    assert not works(np.zeros((5, 9)), **options).S.any()
    works(np.ones((5, 9)), **options)
    works(np.repeat(np.arange(5.0)[:, None], 9, axis=1), **options)
    works(-np.abs(Y), **options)
    works(Y[:1], r=1, **options)
    works(Y[:, :1], r=1, **options)
    works(np.eye(6), r=6, **options)
    works(Y[:, :3], r=3, **options)
    works(np.outer(np.arange(4.0), np.arange(7.0)), r=3, **options)


@pytest.mark.parametrize("r", [3, 12])  # with 12 measurements of 12 sources, rounding decides the answer
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_layouts_give_the_same_bits(kind, r):
    data = Y.astype(kind)
    expected = works(data, r).S
    read_only = data.copy()
    read_only.flags.writeable = False
    layouts = {
        "read-only": read_only,
        "columns first": np.asfortranarray(data),
        "every second entry": np.repeat(data, 2, axis=1)[:, ::2],
        "the first columns": np.hstack([data, data])[:, : data.shape[1]],
        "last row first": data[::-1].copy()[::-1],
    }
    for name, same in layouts.items():
        np.testing.assert_array_equal(works(same, r).S, expected, err_msg=name)
    gaps = np.where(data > np.quantile(data, 0.9), np.nan, data)
    np.testing.assert_array_equal(works(np.asfortranarray(gaps), r).S, works(gaps, r).S)


def test_lists_give_the_same_answer():
    np.testing.assert_allclose(works(Y.tolist(), 3).S, works(Y, 3).S)


def test_integers_and_small_floats():
    counts = np.random.default_rng(0).poisson(5, (10, 40))
    np.testing.assert_allclose(works(counts).S, works(counts.astype(float)).S)
    single = works(Y.astype(np.float32), 3)
    assert single.S.dtype == single.A.dtype == np.float32
    assert ngmca.evaluate(works(Y, 3).S, single.S).mean_sdr > 40
    works((Y > 1).astype(bool))
    works(Y.astype(np.float16), 3)
    works(Y.astype(np.longdouble), 3)


@pytest.mark.parametrize("unit", [1e-300, 1e-150, 1e-30, 1e30, 1e150, 1e300])
def test_units_do_not_matter(unit):
    plain, scaled = works(Y, 3), works(Y * unit, 3) if unit < 1e150 else scaled_only(Y * unit)
    np.testing.assert_allclose(scaled.A, plain.A, atol=1e-6)
    np.testing.assert_allclose(scaled.S / unit, plain.S, atol=1e-6 * plain.S.max())
    np.testing.assert_allclose(scaled.noise / unit, plain.noise, rtol=1e-6)


def scaled_only(data):
    """The cost of such data is beyond the largest float; the factors are not."""
    return ngmca.separate(data, 3, method=ngmca.Soft(n_iter=40), n_init=1)


def test_float32_units():
    data = Y.astype(np.float32)
    for unit in (1e-30, 1e30):
        np.testing.assert_allclose(works(data * np.float32(unit), 3).A, works(data, 3).A, atol=1e-3)


MASKED = np.ma.masked_less(Y, np.quantile(Y, 0.1))
OBJECTS = {
    "masked": (MASKED, ValueError, "masked entries"),
    "masked rows in a list": (list(MASKED), ValueError, "masked entries"),
    "complex": (Y + 1j, ValueError, "complex"),
    "complex without imaginary parts": (Y.astype(complex), ValueError, "complex"),
    "sparse": (scipy_sparse.csr_array(Y), TypeError, "sparse matrix: pass"),
    "text": (Y.astype(str), TypeError, "numbers only"),
    "text as objects": (Y.astype(str).astype(object), TypeError, "is text"),
    "complex objects": ((Y + 1j).astype(object), TypeError, "numbers only"),
    "dates": (np.zeros(Y.shape, "datetime64[s]"), TypeError, "numbers only"),
    "huge integers": (np.full(Y.shape, 10**400, dtype=object), TypeError, "numbers only"),
    "text in a table": (pd.DataFrame(Y.astype(str)), TypeError, "numbers only"),
    "names in a table": (pd.DataFrame(Y).assign(name="a"), TypeError, r"set_index\('name'\)"),
}
SEPARATED = ngmca.separate(Y, 3, method=ngmca.Soft(n_iter=3), n_init=1)
FITTED = ngmca.NGMCA(3, method=ngmca.Soft(n_iter=3), n_init=1).fit(Y)
CALLS = {
    "separate": lambda X: ngmca.separate(X, 3, method=ngmca.Soft(n_iter=3), n_init=1),
    "iterate": lambda X: ngmca.iterate(X, ngmca.Task(3, method=ngmca.Soft(n_iter=3))),
    "posterior": lambda X: ngmca.posterior(X, SEPARATED, n_samples=20, seed=0),
    "posterior, A": lambda X: ngmca.posterior(Y, None, A=X),
    "fit": lambda X: ngmca.NGMCA(3, method=ngmca.Soft(n_iter=3), n_init=1).fit(X),
    "fit_transform": lambda X: ngmca.NGMCA(3, method=ngmca.Soft(n_iter=3), n_init=1).fit_transform(X),
    "transform": lambda X: FITTED.transform(X),
    "inverse_transform": lambda X: FITTED.inverse_transform(X),
    "start": lambda X: ngmca.separate(Y, 3, start=(X, np.ones((3, 30))), n_init=1),
    "noise": lambda X: ngmca.separate(Y, 3, noise=X, n_init=1),
    "evaluate": lambda X: ngmca.evaluate(X, Y),
    "evaluate, estimate": lambda X: ngmca.evaluate(Y, X),
    "evaluate, noise": lambda X: ngmca.evaluate(Y, Y, noise=X),
    "sdr_matrix": lambda X: ngmca.metrics.sdr_matrix(X, Y),
    "diagnose": lambda X: diagnosis.diagnose(X, SEPARATED),
    "spectrum": lambda X: singular_values.spectrum(X),
    "library": lambda X: ngmca.simulate.library([(np.arange(30.0), X)], r=1),
    "oracle": lambda X: rivals.oracle(X, np.ones((12, 2))),
    "oracle, A": lambda X: rivals.oracle(Y, X),
    "pivot": lambda X: ngmca.nnqp.pivot(np.eye(12), X),
    "fista, start": lambda X: ngmca.nnqp.fista(np.eye(12), Y, X),
    "bounded": lambda X: ngmca.nnqp.bounded(np.eye(12), X, 1.0),
    "sparseness": lambda X: rivals.sparseness(X),
    **{name: lambda X, method=method: method(X, 3) for name, method in rivals.METHODS.items()},
}


GAPS = ("separate", "iterate", "posterior", "fit", "fit_transform", "transform", "diagnose", "spectrum")


def test_a_mask_the_wrong_way_round_is_told():
    with pytest.raises(ValueError, match="True where an entry is missing"):
        ngmca.separate(Y, 3, mask=np.ones(Y.shape, dtype=bool))


@pytest.mark.filterwarnings("ignore:the chains:UserWarning")
def test_masked_entries_are_missing():
    for name in GAPS:
        with case(name):
            assert CALLS[name](MASKED) is not None


@pytest.mark.parametrize("kind", OBJECTS)
def test_only_arrays_of_real_numbers_are_accepted(kind):
    values, error, message = OBJECTS[kind]
    for name, call in CALLS.items():
        if kind == "masked" and name in GAPS:
            continue
        with case(name), pytest.raises(error, match=message):
            call(values)


def test_a_masked_array_without_masked_entries_is_an_array():
    full = np.ma.masked_array(Y, mask=np.zeros(Y.shape, bool))
    np.testing.assert_array_equal(
        ngmca.separate(full, 3, method=ngmca.Soft(n_iter=3), n_init=1).S, SEPARATED.S
    )
    ngmca.NGMCA(3, method=ngmca.Soft(n_iter=3), n_init=1).fit(full)
    assert ngmca.evaluate(full, full).mean_sdr > 200


@pytest.mark.parametrize("dtype", ["float64", "Float64", "Int64", "object"])
def test_missing_values_of_pandas_are_nan(dtype):
    table = pd.DataFrame(np.round(Y)).astype(dtype)
    table.iloc[3, 7] = None if dtype == "float64" else pd.NA
    holes = np.round(Y)
    holes[3, 7] = np.nan
    expected = ngmca.separate(holes, 3, method=ngmca.Soft(n_iter=3), n_init=1)
    np.testing.assert_array_equal(
        ngmca.separate(table, 3, method=ngmca.Soft(n_iter=3), n_init=1).S, expected.S
    )
    with pytest.raises(ValueError, match="Y contains NaN, first at row 3, column 7"):
        rivals.hals(table, 3)


def test_the_error_about_a_file_name_says_how_to_read_the_file():
    for name in ("spectra.csv", Path("spectra.csv")):
        for call in (ngmca.separate, ngmca.iterate, rivals.hals):
            with case(call), pytest.raises(TypeError, match=r"ngmca\.io\.read\('spectra\.csv'\)"):
                call(name, 3)


def test_warnings_point_to_the_caller():
    few = Y[:2]
    for call in (
        lambda: ngmca.separate(few, 3, method=ngmca.Soft(n_iter=2)),
        lambda: ngmca.iterate(few, 3),
        lambda: rivals.hals(few, 3, n_iter=2, seed=0),
    ):
        with pytest.warns(UserWarning, match="are more than the") as caught:
            call()
        assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="the chains disagree") as caught:
        ngmca.posterior(Y, SEPARATED, n_samples=4, burn=0, seed=0)
    assert {one.filename for one in caught} == {__file__}
