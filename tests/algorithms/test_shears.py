"""Longer steps along shears in wavelets, and the end of the iterations."""

import numpy as np
import pytest

import ngmca
from ngmca.algorithms.options import Options
from ngmca.algorithms.wavelets import wavelet_stage
from ngmca.algorithms.wavelets.shears import DAMPING, Shears
from ngmca.algorithms.wavelets.wavelet_data import WaveletData
from ngmca.domains import analysis, frame_of
from ngmca.engines import open_data

SETTINGS = {"domain": "wavelet", "n_init": 1, "seed": 0}


@pytest.fixture(scope="module")
def data():
    return ngmca.simulate.bands(m=24, n=400, r=3, bands=6, fwhm=(8.0, 30.0), snr=35.0, seed=1)


def model(data, S, threshold=0.0):
    """A model at sources S, for thresholds that are all alike, and what its step needs."""
    W = frame_of(S.shape[1])
    seen = WaveletData.of(open_data(data.Y), W, len(S))
    duals = analysis.start(W, S)
    Lam = np.full_like(duals.coefficients, threshold)

    def step(A, stepped, k, shears, variance=1.0):
        return shears.extrapolated(A, stepped, S @ S.T, k, seen, duals, Lam, variance)

    return step


def shorter(A, E, share=0.01):
    """A after a step along a shear."""
    stepped = A - share * A @ E
    return stepped / np.linalg.norm(stepped, axis=0)


def test_where_nothing_is_zero_a_step_is_as_long_as_the_damping_allows(data):
    A = data.A / np.linalg.norm(data.A, axis=0)
    S, E = data.S + 1.0, np.array([[0, 0.1, 0.0], [0.05, 0, 0.0], [0.0, -0.1, 0]])
    step, shears, stepped = model(data, S), Shears(), shorter(A, E)
    for k in range(1, 6):
        np.testing.assert_array_equal(step(A, stepped, k, shears), stepped)
    long = step(A, stepped, 6, shears)
    np.testing.assert_allclose(np.linalg.norm(long, axis=0), 1)
    longer = np.linalg.norm((long - A) @ S) / np.linalg.norm((stepped - A) @ S)
    assert 1.5 < longer < 1.05 / DAMPING


def test_where_all_coefficients_are_zero_a_step_is_not_longer(data):
    A = data.A / np.linalg.norm(data.A, axis=0)
    S = np.zeros_like(data.S)
    S[0, :100], S[1, 150:250], S[2, 300:] = 1, 1, 1  # no two in the same channel
    stepped = shorter(A, np.ones((3, 3)) - np.eye(3))
    step, shears = model(data, S), Shears()
    moves = [np.linalg.norm(step(A, stepped, k, shears) - A) for k in (1, 6)]
    assert moves[1] < 1.01 * moves[0]


def test_what_is_left_falls_to_nothing_and_does_not_depend_on_units(data):
    A = data.A / np.linalg.norm(data.A, axis=0)
    E = np.ones((3, 3)) - np.eye(3)
    left = []
    for unit in (1.0, 1e-6, 1e6):
        step, shears = model(data, unit * data.S), Shears()
        step(A, shorter(A, E), 6, shears, variance=unit**2)
        left.append(shears.left)
    np.testing.assert_allclose(left, left[0], rtol=1e-6)
    step, shears = model(data, data.S), Shears()
    step(A, A, 6, shears)
    assert shears.left == 0


def test_a_model_that_is_wrong_is_not_used_again(data):
    A = data.A / np.linalg.norm(data.A, axis=0)
    step, shears, E = model(data, data.S + 1.0), Shears(), np.ones((3, 3)) - np.eye(3)
    for k in range(6, 12):
        step(A, shorter(A, E, 0.001), k, shears)
    far = shorter(A, E, 0.1)
    np.testing.assert_array_equal(step(A, far, 12, shears), far)
    near = shorter(A, E, 0.001)
    np.testing.assert_array_equal(step(A, near, 13, shears), near)


def test_a_source_that_is_nowhere_keeps_its_column(data):
    A = data.A / np.linalg.norm(data.A, axis=0)
    S = data.S.copy()
    S[1] = 0
    step, shears = model(data, S), Shears()
    stepped = shorter(A, np.array([[0, 0, 0.1], [0, 0, 0], [0.1, 0, 0]]))
    for k in (1, 6):
        found = step(A, stepped, k, shears)
        assert np.isfinite(found).all()
    np.testing.assert_allclose(found[:, 1], stepped[:, 1], atol=1e-6)


def test_iterations_end_by_themselves_and_a_number_is_obeyed(data, monkeypatch):
    auto = ngmca.separate(data.Y, 3, **SETTINGS)
    few = ngmca.separate(data.Y, 3, method=ngmca.Soft(n_iter=30), **SETTINGS)
    many = ngmca.separate(data.Y, 3, method=ngmca.Soft(n_iter=450), **SETTINGS)
    counts = [one.n_iter - one.domain.begun for one in (few, auto, many)]
    assert counts[0] == 30
    assert counts[1] < 220
    assert 260 < counts[2] <= 450  # the former limit
    assert (few.stopped, auto.stopped) == ("iterations", "settled")
    assert Options(n_iter=450, domain="wavelet").most == 900
    monkeypatch.setattr(wavelet_stage, "MIN_MEASUREMENTS_FOR_SHEARS", np.inf)
    before = ngmca.separate(data.Y, 3, **SETTINGS)
    assert before.n_iter - before.domain.begun > counts[1]
    sdr = [ngmca.evaluate(data.S, one.S).mean_sdr for one in (before, auto)]
    assert sdr[1] > sdr[0] - 0.5


@pytest.mark.parametrize(
    ("m", "given"),
    [
        (6, {}),
        (24, {"constraints": [ngmca.Baseline("constant")]}),
        (24, {"noise": np.linspace(0.01, 0.02, 400)[None]}),
    ],
)
def test_few_measurements_constraints_and_weights_keep_their_steps(data, monkeypatch, m, given):
    def never(*args):
        raise AssertionError("no longer steps here")

    monkeypatch.setattr(Shears, "extrapolated", never)
    ngmca.separate(data.Y[:m], 3, method=ngmca.Soft(n_iter=3), **SETTINGS, **given)
