"""Signals of HyperSpy: its own decomposition with NGMCA, and signals with axes out."""

import numpy as np
import pytest
from other_tools import needed

import ngmca
import ngmca.tools.hyperspy

hs = needed("hyperspy.api")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
MIXTURE = ngmca.simulate.spectra(m=48, n=120, r=3, snr=25, seed=0)
OPTIONS = {"n_init": 1, "domain": "direct", "constraints": []}
hs.preferences.General.show_progressbar = False


def signal(Y=MIXTURE.Y, lazy=False):
    found = hs.signals.Signal1D(Y.reshape(6, 8, 120).copy())
    for axis, name, scale, offset in zip(
        found.axes_manager._axes, ("y", "x", "energy"), (2.0, 0.5, 10.0), (0, 1, 300), strict=True
    ):
        axis.name, axis.scale, axis.offset = name, scale, offset
    found.axes_manager["energy"].units = "eV"
    if lazy:
        found = found.as_lazy()
        found.data = found.data.rechunk((3, 8, 120))
    return found


def decomposed(one, *arguments, **options):
    one.decomposition(*arguments, algorithm=ngmca.NGMCA(3, n_init=1), print_info=False, **options)
    return one.learning_results


def counts():
    clean = MIXTURE.A @ MIXTURE.S
    return np.random.default_rng(0).poisson(500 * clean / clean.max()).astype(float)


def test_a_decomposition_is_that_of_the_estimator():
    found = decomposed(signal())
    model = ngmca.NGMCA(3, n_init=1)
    np.testing.assert_allclose(found.loadings, model.fit_transform(MIXTURE.Y))
    np.testing.assert_allclose(found.factors.T, model.components_)
    assert ngmca.evaluate(MIXTURE.S, found.factors.T).mean_sdr > 25


def test_masked_positions_and_channels_are_left_out():
    places, channels = np.zeros((8, 6), dtype=bool), np.zeros(120, dtype=bool)
    places[:3, 0] = channels[50:60] = True  # of x, y as HyperSpy counts them
    Y = MIXTURE.Y.copy()
    Y[:3] += 100
    Y[:, 50:60] += 50
    found = decomposed(signal(Y), navigation_mask=places, signal_mask=channels)
    kept = np.delete(MIXTURE.S, slice(50, 60), axis=1)
    assert ngmca.evaluate(kept, found.factors[~channels].T).mean_sdr > 20
    assert np.isnan(found.loadings[:3]).all()
    assert np.isfinite(found.loadings[3:]).all()


def test_counts_with_the_scaling_of_hyperspy():
    one = signal(counts())
    found = decomposed(one, True)
    assert ngmca.evaluate(MIXTURE.S, found.factors.T).mean_sdr > 18
    rest = one.get_decomposition_model().data - one.data
    assert np.abs(rest).mean() < 1.1 * np.sqrt(one.data).mean()


@pytest.mark.parametrize("poisson", [False, True])
def test_a_lazy_signal_is_a_stream(poisson):
    one = signal(counts() if poisson else MIXTURE.Y, lazy=True)
    found = decomposed(one, poisson, output_dimension=3)
    assert ngmca.evaluate(MIXTURE.S, np.asarray(found.factors).T).mean_sdr > 15


@pytest.mark.parametrize("lazy", [False, True])
def test_signals_with_axes_come_out(lazy):
    found = ngmca.tools.hyperspy.separate(signal(lazy=lazy), 3, **OPTIONS)
    expected = ngmca.separate(MIXTURE.Y, 3, **OPTIONS)
    np.testing.assert_allclose(found.sources.data, expected.S, atol=1e-6)
    np.testing.assert_allclose(found.amounts.data, expected.A.T.reshape(3, 6, 8), atol=1e-6)
    energy = found.sources.axes_manager["energy"]
    assert (energy.offset, energy.scale, energy.units) == (300, 10, "eV")
    assert found.sources.isig[310.0:330.0].data.shape == (3, 2)
    x = found.amounts.axes_manager["x"]
    assert (x.offset, x.scale, x.size) == (1, 0.5, 8)


def test_other_orders_of_axes_are_the_same_data():
    one = signal()
    turned = one.transpose(navigation_axes=["y", "x"], signal_axes=["energy"])
    assert turned.axes_manager.navigation_shape == (6, 8)
    found = ngmca.tools.hyperspy.separate(turned, 3, **OPTIONS)
    A = found.separation.A.reshape(*turned.axes_manager.navigation_shape[::-1], 3)
    fit = A @ found.separation.S
    assert np.abs(fit - turned.data).std() < 2 * MIXTURE.noise.std()
    assert found.amounts.axes_manager["x"].size == 8


def test_masks_and_levels_have_the_shape_of_the_signal():
    mask = np.zeros((6, 8, 120), dtype=bool)
    mask[2, 3, 40:60] = True
    spoilt = np.where(mask, 1e3, MIXTURE.Y.reshape(6, 8, 120))
    found = ngmca.tools.hyperspy.separate(signal(spoilt), 3, mask=mask, **OPTIONS)
    known = ngmca.separate(MIXTURE.Y, 3, mask=mask.reshape(48, 120), **OPTIONS)
    np.testing.assert_array_equal(found.sources.data, known.S)
    levels = np.full((6, 8, 120), 0.1)
    levels[:, :4] = 0.4
    found = ngmca.tools.hyperspy.separate(signal(), 3, noise=levels, **OPTIONS)
    np.testing.assert_allclose(found.separation.noise.reshape(6, 8), levels[..., 0])
    with pytest.raises(ValueError, match="mask has the shape"):
        ngmca.tools.hyperspy.separate(signal(spoilt), 3, mask=mask[1:], **OPTIONS)
    with pytest.raises(ValueError, match=r"mask has the shape \(6, 8\), but the signal \(6, 8, 120\)"):
        ngmca.tools.hyperspy.separate(signal(spoilt), 3, mask=mask[..., 0], **OPTIONS)
    with pytest.raises(TypeError, match="must be a signal of HyperSpy, got ndarray"):
        ngmca.tools.hyperspy.separate(MIXTURE.Y, 3)


def test_kinds_of_signals_stay():
    one = signal()
    line = one.inav[:, 2]
    found = ngmca.tools.hyperspy.separate(line, 2, **OPTIONS)
    assert found.amounts.data.shape == (2, 8)
    images = hs.signals.Signal2D(np.abs(MIXTURE.Y).reshape(48, 10, 12))
    found = ngmca.tools.hyperspy.separate(images, 2, n_init=1, constraints=[])
    assert found.sources.axes_manager.signal_shape == (12, 10)
    with pytest.raises(ValueError, match="has no signal axis"):
        ngmca.tools.hyperspy.separate(one.T.T.transpose(signal_axes=0), 2)
