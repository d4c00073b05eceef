"""Numbers about what is left over, beside those of plain NumPy."""

import numpy as np
import pytest
from peak_memory import peak_memory

import ngmca
from ngmca.answers.how_many import singular_values as rank
from ngmca.answers.how_sure import diagnose, negative_share, signal_to_noise
from ngmca.answers.how_sure import residual_pass as residual
from ngmca.answers.how_sure.diagnostics import energy_shares
from ngmca.answers.how_sure.residual_structure import structure
from ngmca.engines import derived, open_data


def separated(n=300):
    mixture = ngmca.simulate.spectra(m=24, n=n, r=5, lines=7, width=3.0, snr=18, seed=1)
    return mixture, ngmca.separate(mixture.Y, 5, method=ngmca.Soft(n_iter=150), n_init=1)


def test_diagnostics_are_those_of_the_residual():
    mixture, separation = separated()
    d = diagnose(mixture.Y, separation)
    R = mixture.Y - separation.A @ separation.S
    assert d.explained == pytest.approx(1 - np.sum(R**2) / np.sum(mixture.Y**2))
    np.testing.assert_allclose(d.row_rms, np.sqrt(np.mean(R**2, axis=1)))
    Z = R / d.sigma[:, None]
    np.testing.assert_allclose(d.column_rms, np.sqrt(np.mean(Z**2, axis=0)))
    W = separation.A / d.sigma[:, None]
    outside = Z - W @ np.linalg.lstsq(W, Z, rcond=None)[0]
    np.testing.assert_allclose(d.singular, np.linalg.svd(outside, compute_uv=False)[: len(d.singular)])
    assert d.share.sum() == pytest.approx(1)
    share = np.sum(R**2, axis=1) / np.sum(mixture.Y**2, axis=1)
    assert d.picks[0] == share.argmin()
    assert d.picks[-1] == share.argmax()
    np.testing.assert_array_equal(d.picked, mixture.Y[d.picks])


def test_blocks_do_not_change_the_diagnostics(monkeypatch):
    mixture, separation = separated()
    whole = diagnose(mixture.Y, separation)
    monkeypatch.setattr(derived, "BLOCK_ENTRIES", 700)
    monkeypatch.setattr(residual, "MIN_TILE_ROWS", 5)
    monkeypatch.setattr(residual, "TILE_ENTRIES", 35)  # neither rows nor columns fit
    parts = diagnose(mixture.Y, separation)
    for name, value in vars(whole).items():
        np.testing.assert_allclose(getattr(parts, name), value, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("tile", [1, 40, 10_000])
def test_neighbours_signs_and_bins_are_counted_once(monkeypatch, tile):
    """Beside plain NumPy, also where one piece of the data ends and the next begins."""
    mixture, separation = separated()
    Y = mixture.Y.copy()
    Y[3, 7:9], Y[5, 8] = 0, -9 * Y.max()
    monkeypatch.setattr(residual, "MIN_TILE_ROWS", 5)
    monkeypatch.setattr(residual, "TILE_ENTRIES", tile)
    d = diagnose(Y, separation)
    Z = (Y - separation.A @ separation.S) / d.sigma[:, None]
    assert d.autocorrelation == pytest.approx(np.sum(Z[:, 1:] * Z[:, :-1]) / np.sum(Z**2))
    assert d.negative == np.mean(Y < 0)
    assert d.zeros == np.mean(Y == 0)
    far = -residual.FAR_BELOW_ZERO * d.sigma[:, None] > Y
    assert d.negative_energy == pytest.approx(np.sum(Y[far] ** 2) / np.sum(Y**2))
    counts = np.histogram(Z, residual.HISTOGRAM_BINS)[0]
    np.testing.assert_allclose(d.histogram, counts / Z.size / 0.1)
    assert d.outside == pytest.approx(1 - counts.sum() / Z.size, abs=1e-12)


def test_threads_do_not_change_a_bit(monkeypatch):
    mixture, separation = separated()
    monkeypatch.setattr(derived, "WORTH_THREADS", 0)
    monkeypatch.setattr(residual, "TILE_ENTRIES", 40)
    one, two = (diagnose(open_data(mixture.Y, threads=n), separation) for n in (1, 2))
    for name, value in vars(one).items():
        np.testing.assert_array_equal(getattr(two, name), value, err_msg=name)


def test_the_residual_is_never_held_whole():
    A, S, Y = np.ones((40, 2)), np.ones((2, 100_000)), np.ones((40, 100_000))
    engine = open_data(Y, threads=1)
    assert peak_memory(lambda: residual.row_residuals(engine, A, S)) < Y.nbytes / 8


@pytest.mark.parametrize("turned", [False, True])
def test_of_large_data_a_part_tells_the_same(monkeypatch, turned):
    """Weak structure that is left over included: one source too few is asked for."""
    mixture = ngmca.simulate.spectra(m=60, n=4000, r=4, lines=30, width=3.0, snr=10, seed=1)
    Y = np.ascontiguousarray(mixture.Y.T) if turned else mixture.Y
    separation = ngmca.separate(Y, 3, method=ngmca.Soft(n_iter=60), n_init=1)
    whole = diagnose(Y, separation)
    monkeypatch.setattr(rank, "MAX_ENTRIES", 100_000)
    monkeypatch.setattr(residual, "MAX_ENTRIES", 100_000)
    part = diagnose(Y, separation)
    ratio, expected = (d.singular / d.singular_edge for d in (part, whole))
    assert ratio[0] == pytest.approx(expected[0], rel=0.12)  # the edge is farther out for a part
    assert expected[0] > 1.15 > max(expected[1], ratio[1])
    assert part.singular[0] == pytest.approx(whole.singular[0], rel=0.08)
    assert part.singular[0] != whole.singular[0]
    assert part.directions == whole.directions
    assert part.rough_noise == pytest.approx(whole.rough_noise, rel=0.03)
    np.testing.assert_allclose(part.histogram, whole.histogram, atol=0.02)
    assert part.outside == pytest.approx(whole.outside, abs=0.002)
    exact = (
        "autocorrelation",
        "explained",
        "negative",
        "zeros",
        "row_rms",
        "column_rms",
        "share",
        "picks",
        "sigma",
    )
    for name in exact:  # these are of all entries
        np.testing.assert_array_equal(getattr(part, name), getattr(whole, name))


def test_an_engine_is_as_good_as_an_array():
    mixture, separation = separated()
    engine = open_data(mixture.Y)
    same(diagnose(engine, separation), diagnose(mixture.Y, separation))
    assert negative_share(engine) == np.mean(mixture.Y < 0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("sign", [-1, 1])
def test_the_units_of_the_data_do_not_matter(dtype, sign):
    unit = 2.0 ** (sign * (600 if dtype == np.float64 else 60))  # squares overflow, or vanish
    Y = ngmca.simulate.spectra(m=10, n=120, r=2, snr=20, seed=0).Y.astype(dtype)
    separation = ngmca.separate(Y, 2, method=ngmca.Soft(n_iter=20), n_init=1)
    expected = diagnose(Y, separation).scaled(unit)
    assert expected.sigma.max() == diagnose(Y, separation).sigma.max() * unit
    same(diagnose(Y * dtype(unit), separation.scaled(unit)), expected, rtol=1e-4)
    snr = signal_to_noise(Y, 0.1)
    assert signal_to_noise(Y * dtype(unit), 0.1 * unit) == pytest.approx(snr, abs=1e-3)


def same(one, other, rtol=1e-12):
    for name, value in vars(other).items():
        scale = np.abs(value).max(initial=0)
        np.testing.assert_allclose(getattr(one, name), value, rtol=rtol, atol=rtol * scale, err_msg=name)


def test_shares_are_shares_of_energy():
    A = np.eye(2)
    S = np.array([[3.0, 0, 0], [1, 1, 1]])  # equal sums, energies of 9 and 3
    np.testing.assert_allclose(energy_shares(A, S), [0.75, 0.25])
    np.testing.assert_array_equal(energy_shares(A, 0 * S), [0, 0])


def test_signal_to_noise():
    mixture = ngmca.simulate.sparse(m=40, n=500, r=3, snr=20, seed=0)
    assert signal_to_noise(mixture.Y, mixture.noise.std()) == pytest.approx(20, abs=0.1)
    assert signal_to_noise(mixture.Y, 0.0) == np.inf


def test_what_thresholds_removed_from_the_sources_is_no_structure():
    """It lies in the span of A, and the residual is looked at outside of it."""
    x = ngmca.simulate.sparse(m=24, n=300, r=3, snr=20, seed=0)
    engine, sigma = open_data(x.Y), np.full(24, x.noise.std())
    whole, shrunk = (structure(engine, x.A, share * x.S, sigma, 3).strength for share in (1.0, 0.7))
    assert whole < 1.2
    assert shrunk == pytest.approx(whole, rel=1e-6)
