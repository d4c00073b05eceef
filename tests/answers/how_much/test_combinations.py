"""Amounts out of several sources together: as good as regressions can be, and open about it."""

from dataclasses import replace

import numpy as np
import pytest

import ngmca
from ngmca import io
from ngmca.answers.how_much import regression
from ngmca.answers.how_much.amounts import MEAN
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
    assert found.sources == (None, None, 2)
    assert found.by == ("all sources", "all sources", "source 3")
    rest = slice(10, None)
    assert np.sqrt(np.mean((found.values - C)[rest] ** 2)) < 0.02
    lines = C[rest, 0] - separation.A[rest, 0] * (
        C[:10, 0] @ separation.A[:10, 0] / (separation.A[:10, 0] @ separation.A[:10, 0])
    )
    assert np.sqrt(np.mean(lines**2)) > 0.1  # what one source alone would give
    assert "a was calculated from all sources, by a ridge regression" in " ".join(found.words)
    assert np.isnan(found.factors[:2]).all()
    np.testing.assert_allclose(found.predicted[:10], C[:10], atol=0.1)


def test_one_column_at_a_time_says_the_same(blank):
    separation, C = mixed(blank, 2)
    whole = ngmca.quantify(separation, table_of(C, range(10)))
    alone = ngmca.quantify(separation, table_of(C[:, 1:2], range(10), "b"))
    assert alone.by == ("all sources",)
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


def test_what_the_spectra_do_not_show_is_the_mean_and_a_warning(blank):
    separation = mixed(blank, 5)[0]
    rng = np.random.default_rng(1)
    hidden = 3 + 0.1 * rng.random(M)
    found = ngmca.quantify(separation, table_of(hidden[:, None], range(9), "h"))
    assert found.by == (MEAN,)
    np.testing.assert_allclose(found.values[:, 0], hidden[:9].mean())
    assert np.mean((found.low[9:, 0] <= hidden[9:]) & (hidden[9:] <= found.high[9:, 0])) > 0.7
    assert np.isnan(found.detection).all()
    assert dict(found.table())["h remark"][20] == MEAN
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
    assert without.by[1] == MEAN


def test_leave_one_out_is_that_of_fits_that_choose_their_penalty_without_the_standard(monkeypatch):
    monkeypatch.setattr(regression, "FEWEST_LEFT", 0.0)
    rng = np.random.default_rng(3)
    F, y, rows = rng.random((20, 4)), rng.random(9), np.arange(9)
    given = regression.products(F, rows)
    found = regression.fitted(given, rows, y)
    for i in rows:
        others = np.delete(rows, i)
        some = regression.Products(given.inner[:, others], given.own)
        without = regression.fitted(some, others, y[others])
        assert found.errors[i] == pytest.approx(without.values[i] - y[i], abs=1e-9)


def test_a_regression_is_that_of_its_normal_equations(monkeypatch):
    monkeypatch.setattr(regression, "PENALTIES", np.array([0.1]))
    rng = np.random.default_rng(4)
    F, y, rows = rng.random((15, 3)), rng.random(8), np.arange(2, 10)
    found = regression.fitted(regression.products(F, rows), rows, y)
    Z = F - F.mean(axis=0)
    Z = Z / np.sqrt(np.mean(np.sum(Z**2, axis=1)))
    X = np.column_stack([np.ones(8), Z[rows]])
    b = np.linalg.solve(X.T @ X + np.diag([0, 0.1, 0.1, 0.1]), X.T @ y)
    np.testing.assert_allclose(found.values, np.column_stack([np.ones(15), Z]) @ b)
    hat = X @ np.linalg.solve(X.T @ X + np.diag([0, 0.1, 0.1, 0.1]), X.T)
    assert found.used == pytest.approx(np.trace(hat))


def test_far_measurements_have_wider_intervals_and_unrelated_concentrations_are_told():
    rng = np.random.default_rng(5)
    F, rows = rng.random((30, 3)), np.arange(10)
    F[20] = 5.0
    given, y = regression.products(F, rows), F[:10].sum(axis=1) + 0.02 * rng.standard_normal(10)
    found = regression.fitted(given, rows, y)
    assert found.variance[20] > 4 * np.median(found.variance)
    assert found.chance < 0.01
    chances = [regression.fitted(given, rows, rng.random(10)).chance for _ in range(40)]
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
