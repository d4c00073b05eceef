"""How many sources there are: as many as were put in, whatever the precision, shape and noise."""

import tracemalloc

import numpy as np
import pytest

import ngmca
from ngmca.answers.how_many import singular_values as rank
from ngmca.answers.how_many.singular_values import noise_edge, spectrum
from ngmca.engines import derived, open_data, smaller_gram


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(20, 400), (400, 20), (60, 60), (1100, 1050)])
@pytest.mark.parametrize("kind", [ngmca.simulate.sparse, ngmca.simulate.spectra])
def test_four_sources_are_found_in_clean_data(dtype, shape, kind):
    Y = kind(*shape, 4, snr=None, seed=1).Y.astype(dtype)
    found = spectrum(Y)
    assert found.above == 4
    assert np.count_nonzero(found.values > noise_edge(*shape, found.noise)) == 4
    assert found.noise == 0
    expected = np.linalg.svd(Y.astype(float), compute_uv=False)[:4]
    np.testing.assert_allclose(found.values[:4], expected, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("snr", [15, 40, 70, 95, 105, 110, 115, 120, 125, 140])
def test_four_sources_are_found_at_every_level_of_noise(dtype, snr):
    for shape in ((20, 400), (60, 60)):
        assert spectrum(ngmca.simulate.sparse(*shape, 4, snr=snr, seed=1).Y.astype(dtype)).above == 4


def test_the_noise_is_that_of_the_data_in_both_precisions():
    mixture = ngmca.simulate.sparse(30, 400, 3, snr=60, seed=0)
    double, single = spectrum(mixture.Y), spectrum(mixture.Y.astype(np.float32))
    np.testing.assert_allclose(single.values, double.values, rtol=1e-4)
    assert double.noise == pytest.approx(mixture.noise.std(), rel=0.05)
    assert double.edge == noise_edge(30, 400, double.noise)


def test_noise_before_is_near_the_truth():
    for kind, options in ((ngmca.simulate.sparse, {}), (ngmca.simulate.spectra, {"lines": 8})):
        for m, n in ((30, 400), (400, 30), (1200, 1100)):
            mixture = kind(m=m, n=n, r=3, snr=20, seed=0, **options)
            assert spectrum(mixture.Y).noise == pytest.approx(mixture.noise.std(), rel=0.12)


def test_large_and_small_matrices_have_the_same_singular_values():
    Y = np.random.default_rng(0).standard_normal((1100, 1050))
    expected = np.linalg.svd(Y, compute_uv=False)[:20]
    np.testing.assert_allclose(spectrum(Y).values, expected, rtol=1e-8)


def test_engines_and_other_units():
    Y = ngmca.simulate.sparse(20, 90, 3, snr=30, seed=0).Y
    expected = spectrum(Y)
    for unit in (2.0**600, 2.0**-600):
        found = spectrum(open_data(Y * unit))
        np.testing.assert_allclose(found.values, expected.values * unit)
        assert found.noise == pytest.approx(expected.noise * unit)
        assert found.above == 3
        assert spectrum(Y * unit).noise == found.noise


def test_nothing_at_all():
    found = spectrum(np.zeros((6, 30)))
    assert found.above == 0
    assert found.noise == 0
    assert spectrum(np.ones((1, 3))).above <= 1


@pytest.mark.parametrize("shape", [(80, 20_000), (20_000, 80), (700, 1200)])
def test_of_large_data_a_part_tells_the_same(monkeypatch, shape):
    Y = ngmca.simulate.sparse(*shape, 4, snr=10, seed=2).Y
    whole = spectrum(Y)
    monkeypatch.setattr(rank, "MAX_ENTRIES", Y.size // 2)
    monkeypatch.setattr(rank, "MAX_GRAM_SIZE", 500)
    part = spectrum(Y)
    assert part.above == whole.above == 4
    np.testing.assert_allclose(part.values[:4], whole.values[:4], rtol=0.05)
    assert (part.values[:4] != whole.values[:4]).all()  # it was a part
    assert part.noise == pytest.approx(whole.noise, rel=0.01)
    ratios = [found.values[4] / found.edge for found in (part, whole)]  # how far noise reaches
    assert ratios[0] == pytest.approx(ratios[1], rel=0.02)


def test_neighbours_tell_the_noise_of_smooth_spectra_in_a_part_too(monkeypatch):
    """Channels of a part are no neighbours: bands without a gap would pass for noise."""
    axis = np.linspace(0, 40, 4000)
    rng = np.random.default_rng(0)
    Y = (3 + np.sin(axis)) * rng.random((6, 1)) + 0.01 * rng.standard_normal((6, 4000))
    monkeypatch.setattr(rank, "MAX_ENTRIES", 6 * 1500)
    monkeypatch.setattr(rank, "MIN_VALUES_FOR_MEDIAN", 10)  # singular values do not help
    assert spectrum(Y).noise == pytest.approx(0.01, rel=0.05)


def test_no_more_than_a_part_is_looked_at():
    for shape in ((500, 250_000), (250_000, 500), (11_000, 11_000), (3, 10**8)):
        rows, columns = rank.examined_part(shape)
        m, n = (
            size if isinstance(choice, slice) else len(choice)
            for choice, size in zip((rows, columns), shape, strict=True)
        )
        assert m * n <= rank.MAX_ENTRIES
        assert min(m, n) == min(*shape, rank.MAX_GRAM_SIZE)
        assert m * n > 0.99 * rank.MAX_ENTRIES
    assert rank.examined_part((1500, 5000)) == (slice(None), slice(None))


def test_singular_values_of_single_data_are_found_without_a_copy_of_them(monkeypatch):
    monkeypatch.setattr(derived, "BLOCK_ENTRIES", 1 << 18)
    rng = np.random.default_rng(0)
    Y = (rng.random((30, 3)) @ rng.random((3, 90_000)) + rng.standard_normal((30, 90_000))).astype("f4")
    engine = open_data(Y)
    tracemalloc.start()
    found = np.sqrt(np.linalg.eigvalsh(smaller_gram(engine))[::-1])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < Y.nbytes
    exact = np.linalg.eigvalsh(Y.astype(float) @ Y.T.astype(float))[::-1]
    np.testing.assert_allclose(found, np.sqrt(exact), rtol=1e-10)
