"""Backgrounds, outliers and several data sets, kept and brought back; gaps counted nowhere."""

from dataclasses import replace

import numpy as np
import pytest
from plotly_figures import checked

import ngmca
from ngmca.answers.how_sure import defects, diagnose
from ngmca.answers.run import Run
from ngmca.report import figures, plotly_style
from ngmca.saving.results import described


@pytest.fixture(scope="module")
def data():
    mixture = ngmca.simulate.sparse(m=20, n=120, r=3, p_S=0.2, snr=20, seed=0)
    hills = np.outer(np.linspace(1, 2, 20), ngmca.backgrounds.polynomial(120)[2]) * mixture.Y.max()
    Y = mixture.Y + hills
    Y[4, 60] += 100 * mixture.noise.std()
    Y[7, 30:40] = np.nan
    return Y


@pytest.fixture(scope="module")
def found(data):
    parts = [data[:8], data[8:]]
    return ngmca.separate(
        parts, 3, constraints=[ngmca.Baseline("polynomial")], robust=True, domain="direct", n_init=1
    )


def test_all_of_it_comes_back(tmp_path, data, found):
    assert [tuple(place) for place in found.outliers] == [(4, 60)]
    again = ngmca.load(ngmca.save(tmp_path / "a.nc", found, data))
    np.testing.assert_array_equal(again.background.values, found.background.values)
    np.testing.assert_array_equal(again.outliers, found.outliers)
    assert again.parts == found.parts == (slice(0, 8), slice(8, 20))


def test_figures_are_about_what_was_observed(data, found):
    numbers = diagnose(data, found)
    seen = ~np.isnan(data)
    seen[4, 60] = False
    rest = np.where(seen, np.nan_to_num(data) - found.A @ found.S - found.background.values, 0)
    energy = (data[seen] ** 2).sum()
    assert numbers.explained == pytest.approx(1 - (rest**2).sum() / energy)
    np.testing.assert_allclose(numbers.row_rms**2, (rest**2).sum(axis=1) / seen.sum(axis=1))
    z = rest / numbers.sigma[:, None]
    np.testing.assert_allclose(numbers.column_rms**2, (z**2).sum(axis=0) / seen.sum(axis=0))
    assert numbers.missing == pytest.approx(10 / data.size)
    np.testing.assert_array_equal(numbers.outlying, [data[4, 60]])


def test_a_gap_is_no_defect():
    rng = np.random.default_rng(0)
    Y = 10 + rng.random((12, 1)) * np.sin(np.linspace(0, 9, 100)) + 0.01 * rng.standard_normal((12, 100))
    Y[3, 20:23] = Y[3, 24:27] = np.nan  # what is left between them stands out of nothing
    Y[:, 50] = np.nan
    assert defects(Y) == []


def test_gaps_are_drawn_as_gaps_and_outliers_as_crosses(data, found):
    numbers = replace(diagnose(data, found), picks=np.array([4, 7]), picked=data[[4, 7]])
    run = Run(found, numbers, described(found, data))
    for pick, i in enumerate((4, 7)):
        traces = {trace.name: trace for trace in checked(figures.fit(run, pick)).data}
        np.testing.assert_array_equal(np.isnan(traces["measured"].y), np.isnan(data[i]))
        np.testing.assert_allclose(traces["background"].y, found.background.values[i], rtol=1e-5)
        assert ("outlier" in traces) == (i == 4)


def test_long_lines_with_gaps_keep_their_extremes():
    y = np.zeros(20_000)
    y[5_000], y[10_000:12_000], y[10_500] = 3.0, np.nan, np.nan
    x, thinned = plotly_style.thin(np.arange(20_000.0), y)
    assert np.nanmax(thinned) == 3
    assert np.isnan(thinned[(x > 10_050) & (x < 11_950)]).all()
    assert np.isfinite(thinned[(x < 9_900) | (x > 12_100)]).all()
