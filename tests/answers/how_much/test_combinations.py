"""Amounts out of several sources together: as good as regressions can be, and open about it."""

from dataclasses import replace

import numpy as np
import pytest

import ngmca
from ngmca import io
from ngmca.answers.how_much import regression
from ngmca.result import Background

M, N = 30, 120
MIXED = np.array([[1.0, 0.6], [0.5, 1.0]])  # weights of two sources for one unit of two substances


@pytest.fixture(scope="module")
def blank():
    """A separation whose fields are replaced by those that a test is about."""
    return ngmca.separate(
        np.random.default_rng(0).random((4, 30)), 1, method=ngmca.Soft(n_iter=2), n_init=1
    )


def mixed(blank, seed, sd=0.005):
    """Sources that are mixtures of two substances, a third one besides, and the concentrations."""
    rng = np.random.default_rng(seed)
    C, S = rng.random((M, 3)), rng.random((3, N)) ** 4
    A = np.column_stack([C[:, :2] @ MIXED, C[:, 2]]) + sd * rng.standard_normal((M, 3))
    return replace(blank, A=A, S=S, noise=np.full(M, sd)), C


def table_of(C, rows, names="abc"):
    return {"measurement": [int(i) + 1 for i in rows]} | {
        name: C[rows, j].tolist() for j, name in enumerate(names)
    }


def test_substances_that_share_sources_are_combined_and_one_alone_is_not(blank):
    separation, C = mixed(blank, 1)
    found = ngmca.quantify(separation, table_of(C, range(10)))
    assert found.sources == (0, 1, 2)
    assert found.by == (*(f"source {i}, corrected by the others" for i in (1, 2)), "source 3")
    rest = slice(10, None)
    assert np.sqrt(np.mean((found.values - C)[rest] ** 2)) < 0.02
    lines = C[rest, 0] - separation.A[rest, 0] * (
        C[:10, 0] @ separation.A[:10, 0] / (separation.A[:10, 0] @ separation.A[:10, 0])
    )
    assert np.sqrt(np.mean(lines**2)) > 0.1  # what one source alone would give
    assert "its weights were corrected by those of the other sources" in found.words[1]
    assert np.isnan(found.factors[:2]).all()
    np.testing.assert_allclose(found.predicted[:10], C[:10], atol=0.1)


def test_one_column_at_a_time_says_the_same(blank):
    separation, C = mixed(blank, 2)
    whole = ngmca.quantify(separation, table_of(C, range(10)))
    alone = ngmca.quantify(separation, table_of(C[:, 1:2], range(10), "b"))
    assert alone.by == ("source 2, corrected by the others",)
    np.testing.assert_allclose(alone.values[:, 0], whole.values[:, 1])


def test_few_standards_are_not_combined_but_refused(blank):
    separation, C = mixed(blank, 3)
    names = ["a", "b", "c"]
    found = ngmca.quantify(separation, table_of(C, range(5)), names=names)
    assert found.sources == (0, 1, 2)
    with pytest.raises(ValueError, match=r"4 substances .* give at least 6 standards of each"):
        ngmca.quantify(separation, table_of(np.column_stack([C, C[:, 0]]), range(5), "abcd"))


def test_more_substances_than_sources_are_calculated_from_all(blank):
    separation, C = mixed(blank, 4)
    both = np.column_stack([C, C[:, 0] + C[:, 2]])
    found = ngmca.quantify(separation, table_of(both, range(12), "abcd"))
    assert found.by[3] == "all sources"
    assert np.sqrt(np.mean((found.values - both)[12:, 3] ** 2)) < 0.03


@pytest.mark.parametrize("sd", [0.002, 0.05])
def test_intervals_hold_about_as_often_as_they_say(blank, sd):
    held = []
    for seed in range(25):
        separation, C = mixed(blank, seed, sd)
        found = ngmca.quantify(separation, table_of(C[:, :2], range(8), "ab"), level=0.8)
        held.append(np.mean(((found.low <= C[:, :2]) & (C[:, :2] <= found.high))[8:]))
    assert 0.72 < np.mean(held) < 0.92


def test_what_the_spectra_do_not_show_is_told(blank):
    separation = mixed(blank, 5)[0]
    rng = np.random.default_rng(1)
    hidden = 3 + 0.1 * rng.random(M)
    found = ngmca.quantify(separation, table_of(hidden[:, None], range(9), "h"))
    assert found.hidden.all()
    np.testing.assert_allclose(found.values[:, 0], hidden[:9].mean(), atol=0.06)
    assert np.mean((found.low[9:, 0] <= hidden[9:]) & (hidden[9:] <= found.high[9:, 0])) > 0.7
    assert np.isnan(found.detection).all()
    assert dict(found.table())["h remark"][20] == "not shown by the spectra"
    assert any(word.startswith("h: the spectra do not show it.") for word in found.warnings)


def test_background_and_residual_serve_if_the_sources_do_not(blank):
    separation = mixed(blank, 6, 0.001)[0]
    rng = np.random.default_rng(2)
    basis = ngmca.backgrounds.polynomial(N, 2)
    smooth = 0.3 * rng.random((M, len(basis)))
    own, hidden = rng.random(N), rng.random(M)
    Y = separation.A @ separation.S + smooth @ basis + 0.01 * np.outer(hidden, own)
    separation = replace(separation, background=Background(smooth, basis))
    known = np.column_stack([smooth[:, 0], hidden])
    found = ngmca.quantify(separation, table_of(known, range(12), "bh"), data=Y)
    assert found.by == ("all sources and the background", "all sources, the background and the residual")
    assert np.abs(found.values - known)[12:].max() < 0.1
    told = " ".join(found.warnings)
    assert "b: part of its amounts comes from the background" in told
    assert "h: part of its amounts comes from the residual" in told
    without = ngmca.quantify(separation, table_of(known, range(12), "bh"))  # the residual is not known
    assert without.hidden.tolist() == [False, True]


def groups_of(rng, rows, free=None):
    """Two sets of variables, and the same for fewer standards."""
    F, G = rng.random((20, 4)), rng.random((20, 30))
    both = [regression.products(part, rows, centred=free is None) for part in (F, G)]
    return [both[0], both[0] + both[1]]


@pytest.mark.parametrize("line", [False, True])
def test_leave_one_out_is_that_of_fits_without_the_standard(line):
    rng = np.random.default_rng(3)
    y, rows, free = rng.random(9), np.arange(9), 1 + rng.random(20) if line else None
    noise = 0.5 + rng.random(20)
    sets = groups_of(rng, rows, free)
    found = regression.fitted(sets, rows, y, free=free, noises=[noise])
    assert found.shares.sum() == pytest.approx(1)
    for i in rows:
        others = np.delete(rows, i)
        some = [regression.Products(one.inner[:, others], one.own, one.groups) for one in sets]
        without = regression.fitted(some, others, y[others], free=free, noises=[noise])
        assert found.errors[i] == pytest.approx(without.values[i] - y[i], abs=1e-5)


@pytest.mark.parametrize("line", [False, True])
def test_a_regression_is_that_of_its_normal_equations(monkeypatch, line):
    monkeypatch.setattr(regression, "PENALTIES", np.array([0.1]))
    rng = np.random.default_rng(4)
    F, y, rows = rng.random((15, 3)), rng.random(8), np.arange(2, 10)
    free, noise = 1 + rng.random(15) if line else np.ones(15), 0.5 + rng.random(15)
    given = [regression.products(F, rows, centred=not line)]
    found = regression.fitted(given, rows, y, free=free if line else None, noises=[noise])
    Z = F if line else F - F.mean(axis=0)
    Z = np.column_stack([free, Z / np.sqrt(np.mean(np.sum(Z**2, axis=1)))])
    X, w, penalty = Z[rows], 1 / noise[rows], np.diag([0, 0.1, 0.1, 0.1])
    inverse = np.linalg.inv(X.T * w @ X + penalty)
    b = inverse @ X.T @ (w * y)
    np.testing.assert_allclose(found.values, Z @ b)
    assert found.used == pytest.approx(np.trace(X @ inverse @ X.T * w))
    scale = (np.sum(w * (y - X @ b) ** 2) + b @ penalty @ b) / 0.1 / 7  # restricted maximum likelihood
    spread = 0.1 * (noise + np.einsum("mp,pq,mq->m", Z, inverse, Z))
    np.testing.assert_allclose(found.sd**2, scale * spread)
    blank = np.linalg.inv((X.T * w @ X + penalty)[1:, 1:])
    spread = 0.1 * (noise + np.einsum("mp,pq,mq->m", Z[:, 1:], blank, Z[:, 1:]))
    np.testing.assert_allclose(found.blank**2, scale * spread)


def test_probabilities_are_those_of_the_restricted_likelihood(monkeypatch):
    monkeypatch.setattr(regression, "PENALTIES", np.array([0.1, 1.0]))
    rng = np.random.default_rng(5)
    y, rows = rng.random(7), np.arange(7)
    sets, logs = groups_of(rng, rows), []
    contrasts = np.linalg.qr(np.column_stack([np.ones(7), rng.random((7, 6))]))[0][:, 1:]
    for one in sets:
        for penalty in (0.1, 1.0):
            V = contrasts.T @ (one.inner[rows] + penalty * np.eye(7)) @ contrasts
            left = y @ contrasts @ np.linalg.solve(V, contrasts.T @ y)
            logs.append(-0.5 * np.linalg.slogdet(V)[1] - 3 * np.log(left) - one.groups * np.log(2))
    expected = np.exp(np.array(logs) - max(logs))
    expected = expected.reshape(2, 2).sum(axis=1) / expected.sum()
    np.testing.assert_allclose(regression.fitted(sets, rows, y).shares, expected)


def test_far_measurements_have_wider_intervals_and_unrelated_concentrations_are_told():
    rng = np.random.default_rng(5)
    F, rows = rng.random((30, 3)), np.arange(10)
    F[20] = 5.0
    given, y = regression.products(F, rows), F[:10].sum(axis=1) + 0.02 * rng.standard_normal(10)
    found = regression.fitted([given], rows, y)
    assert found.sd[20] > 2 * np.median(found.sd)
    assert found.chance < 0.01
    chances = [regression.fitted([given], rows, rng.random(10)).chance for _ in range(40)]
    assert 0.25 < np.mean(chances) < 0.75


def test_amounts_keep_the_coordinates_of_the_measurements(blank, tmp_path):
    separation, C = mixed(blank, 7)
    hours = np.arange(M) / 2
    data = io.Dataset(separation.A @ separation.S, row_axis=hours, row_label="time [h]")
    found = ngmca.quantify(separation, table_of(C, range(10)), data=data)
    assert [name for name, _ in found.table()][:2] == ["measurement", "time [h]"]
    np.testing.assert_array_equal(found.places, hours)
    picture = found.plot()
    assert picture.axes[-1].get_xlabel() == "time [h]"
    np.testing.assert_array_equal(picture.axes[1].lines[0].get_xdata(), hours)
    few = io.Dataset(blank.A @ blank.S, row_axis=hours[:4], row_label="time [h]")
    _, known = ngmca.load(ngmca.save(tmp_path / "a.nc", blank, few), with_data=True)
    np.testing.assert_array_equal(known.row_axis, hours[:4])
    assert known.row_label == "time [h]"


def test_standards_of_pure_substances_show_a_source_with_less_than_nothing_of_others(blank):
    """Weights of 0 hide that a source has too little of another substance; the data show it."""
    rng = np.random.default_rng(8)
    pure = rng.random((3, N)) ** 4
    S = pure + np.array([[0, 0.06, -0.05], [0.08, 0, 0.05], [-0.06, 0.05, 0]]) @ pure
    C = np.vstack([np.repeat(np.eye(3), 3, axis=0), rng.random((M - 9, 3))])
    Y = C @ pure + 0.001 * rng.standard_normal((M, N))
    A = np.maximum(Y @ np.linalg.pinv(S), 0)
    separation = replace(blank, A=A, S=S, noise=np.full(M, 0.001))
    errors = [
        np.abs(ngmca.quantify(separation, table_of(C, range(9)), data=data).values - C)[9:].max()
        for data in (None, Y)
    ]
    assert errors[1] < 0.01 < 0.03 < errors[0]
    gaps = np.where(rng.random(Y.shape) < 0.1, np.nan, Y)
    found = ngmca.quantify(separation, table_of(C, range(9)), data=gaps)
    assert np.abs(found.values - C)[9:].max() < 0.01
