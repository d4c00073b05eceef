"""The size of numbers does not matter: data that are a power of 2 as large give the same answers."""

import re

import numpy as np
import pytest
from cases import case
from task_options import records

import ngmca
from ngmca import metrics, rivals
from ngmca.answers import how_sure as diagnosis
from ngmca.answers.how_many import singular_values

EXPONENTS = [-1000, -600, 600, 1000]
DATA = ngmca.simulate.sparse(20, 40, 3, p_S=0.3, snr=20, seed=0)
BANDS = ngmca.simulate.bands(12, 64, 2, snr=30, seed=0)


WAYS = {
    "soft": {"n_iter": 20, "n_init": 2},
    "hard": {"method": "hard", "n_iter": 20},
    "naive": {"method": "naive", "n_iter": 20},
    "anls": {"method": "anls", "n_iter": 20},
    "fista": {"solver": "fista", "n_iter": 10},
    **{name: {"method": name, "n_iter": 10, "n_init": 3} for name in rivals.METHODS},
    **{name: {"method": name, "n_init": 3} for name in ("spa", "vca")},
}


def separated(Y, r, unit, **options):
    found = ngmca.separate(Y * unit, r, **records(**options))
    agreement = np.array([one.agreement for one in found.restarts])
    history = found.history
    same = (found.A, history.active, history.violation, agreement)
    return same, (found.S, found.lam, found.noise, history.threshold)


@pytest.mark.parametrize("way", WAYS)
def test_separations(way):
    plain, with_plain_units = separated(DATA.Y, 3, 1.0, **WAYS[way])
    for exponent in EXPONENTS:
        unit = 2.0**exponent
        least = np.finfo(float).tiny / unit if exponent < 0 else 0.0  # what vanishes, vanishes
        with case(exponent):
            same, with_units = separated(DATA.Y, 3, unit, **WAYS[way])
            for one, other in zip(same, plain, strict=True):
                np.testing.assert_array_equal(one, other)
            for one, other in zip(with_units, with_plain_units, strict=True):
                np.testing.assert_allclose(one / unit, other, rtol=0, atol=least)


def test_lines_and_bands():
    options = {"domain": "wavelet", "n_iter": 10, "n_init": 2}
    plain, with_plain_units = separated(BANDS.Y, 2, 1.0, **options)
    for exponent in EXPONENTS:
        unit = 2.0**exponent
        with case(exponent):
            same, with_units = separated(BANDS.Y, 2, unit, **options)
            for one, other in zip(same, plain, strict=True):
                np.testing.assert_array_equal(one, other)
            for one, other in zip(with_units, with_plain_units, strict=True):
                np.testing.assert_array_equal(one / unit, other)


def sampled(data, r, unit, **options):
    found = ngmca.separate(data.Y * unit, r, **records(n_iter=10, **options))
    drawn = ngmca.posterior(data.Y * unit, found, n_samples=10, burn=10, seed=0)
    low, high = drawn.S.interval()
    same = (drawn.A.mean, drawn.A.sd, *drawn.rhat.values(), *drawn.ess.values())
    return same, (drawn.S.mean, drawn.S.sd, drawn.noise.mean, low, high), drawn.warnings


@pytest.mark.filterwarnings("ignore:the chains disagree")
@pytest.mark.filterwarnings("ignore:these data are not")
@pytest.mark.filterwarnings("ignore:the data hardly determine")
@pytest.mark.parametrize(
    ("data", "r", "options"), [(DATA, 3, {}), (BANDS, 2, {"domain": "wavelet"})], ids=["sparse", "bands"]
)
def test_posteriors(data, r, options):
    plain, with_plain_units, plain_words = sampled(data, r, 1.0, **options)
    for exponent in EXPONENTS:
        unit = 2.0**exponent
        with case(exponent):
            same, with_units, words = sampled(data, r, unit, **options)
            assert words == plain_words
            for one, other in zip(same, plain, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-9)  # logarithms of rates are rounded
            for one, other in zip(with_units, with_plain_units, strict=True):
                np.testing.assert_allclose(one / unit, other, rtol=1e-9, atol=1e-9 * other.max())


def test_diagnoses():
    answers = []
    for size in (1.0, *(2.0**exponent for exponent in EXPONENTS)):
        Y = DATA.Y * size
        found = ngmca.separate(Y, 3, method=ngmca.Soft(n_iter=10), n_init=1)
        numbers = diagnosis.diagnose(Y, found)
        seen = singular_values.spectrum(Y)
        answers.append(
            [
                *(numbers.explained, numbers.negative, numbers.zeros, numbers.negative_energy),
                *(numbers.directions, numbers.column_rms, numbers.histogram, numbers.outside),
                *(numbers.autocorrelation, numbers.singular, numbers.singular_edge, numbers.share),
                *(numbers.picks, numbers.sigma / size, numbers.row_rms / size, numbers.picked / size),
                *(seen.values / size, seen.noise / size, seen.edge / size, seen.above),
                *(singular_values.spectrum(Y).noise / size, diagnosis.signal_to_noise(Y, seen.noise)),
                [finding.kind for finding in diagnosis.findings(found, numbers)],
                len(diagnosis.summary(found, numbers)),
            ]
        )
    for exponent, scaled in zip(EXPONENTS, answers[1:], strict=True):
        for one, other in zip(answers[0], scaled, strict=True):
            with case(exponent):
                np.testing.assert_array_equal(one, other)


def test_a_summary_of_huge_residuals_is_finite():
    Y = DATA.Y * 2.0**600
    found = ngmca.separate(Y, 3, method=ngmca.Soft(n_iter=5), n_init=1)
    told = diagnosis.summary(found, diagnosis.diagnose(Y, found))[1]
    assert not set(re.findall(r"[a-z]+", told)) & {"inf", "nan"}


@pytest.mark.parametrize("exponent", [*EXPONENTS, 1022])
def test_metrics(exponent):
    unit = 2.0**exponent
    estimate = DATA.S + 0.1
    plain = metrics.evaluate(DATA.S, estimate, noise=DATA.noise)
    scaled = metrics.evaluate(DATA.S * unit, estimate * unit, noise=DATA.noise * unit)
    for name in ("sdr", "sir", "snr", "sar"):
        np.testing.assert_array_equal(getattr(scaled, name), getattr(plain, name))
    np.testing.assert_array_equal(scaled.S / unit, plain.S)


@pytest.mark.parametrize("method", ["soft", "gmca"])
def test_estimators(method):
    plain, scaled = (ngmca.NGMCA(3, **records(method=method, n_iter=10)) for _ in range(2))
    W = plain.fit_transform(DATA.Y)
    for exponent in EXPONENTS:
        unit = 2.0**exponent
        with case(exponent):
            np.testing.assert_array_equal(scaled.fit_transform(DATA.Y * unit), W)
            again = scaled.transform(DATA.Y[:4] * unit)
            np.testing.assert_array_equal(again, plain.transform(DATA.Y[:4]))
            assert scaled.reconstruction_err_ / unit == plain.reconstruction_err_


def test_costs_in_the_units_of_the_data_overflow_to_infinity_and_vanish_to_0():
    for exponent, cost in ((600, np.inf), (-600, 0.0)):
        found = ngmca.separate(DATA.Y * 2.0**exponent, 3, method=ngmca.Soft(n_iter=3), n_init=1)
        assert (found.history.cost == cost).all()


@pytest.mark.parametrize(("size", "side"), [(1e307, "above 1e+303"), (1e-310, "below 1e-303")])
def test_data_at_the_end_of_the_range_are_refused_and_the_entry_named(size, side):
    Y = DATA.Y / np.abs(DATA.Y).max() * size
    i, j = np.unravel_index(np.abs(Y).argmax(), Y.shape)
    for call in (
        lambda: ngmca.separate(Y, 3, n_init=1),
        lambda: singular_values.spectrum(Y),
        lambda: rivals.hals(Y, 3),
    ):
        with pytest.raises(ValueError, match="largest entry of Y") as caught:
            call()
        assert f"{size:.3g} at row {i}, column {j}" in str(caught.value)
        assert side in str(caught.value)


@pytest.mark.parametrize(
    ("dtype", "noise"), [(np.float64, 1e30), (np.float64, 1e100), (np.float32, 1e12)]
)
@pytest.mark.parametrize("method", ["soft", "hard", "wavelet"])
def test_noise_far_above_the_data_leaves_no_sources(method, dtype, noise):
    chosen = {"domain": "wavelet"} if method == "wavelet" else {"method": method}
    found = ngmca.separate(DATA.Y.astype(dtype), 3, **records(noise=noise, n_iter=5, **chosen))
    assert not found.S.any()
    assert np.isfinite(found.lam).all()


@pytest.mark.parametrize("noise", [1e-300, 1e-200])
def test_noise_far_below_the_data_is_no_noise(noise):
    found = ngmca.separate(DATA.Y, 3, method=ngmca.Soft(n_iter=20), noise=noise, n_init=1)
    clean = ngmca.separate(DATA.Y, 3, method=ngmca.Soft(n_iter=20), noise=1e-30, n_init=1)
    np.testing.assert_allclose(found.S, clean.S, atol=1e-6)
    np.testing.assert_allclose(found.lam, noise, rtol=1e-6)


@pytest.mark.parametrize("noise", [1e160, 1e200, 1e308])
def test_noise_beyond_all_measure_is_refused(noise):
    found = ngmca.separate(DATA.Y, 3, method=ngmca.Soft(n_iter=3), n_init=1)
    for call in (
        lambda: ngmca.separate(DATA.Y, 3, noise=noise, n_init=1),
        lambda: ngmca.separate(DATA.Y, 3, method="hals", noise=noise, n_init=1),
        lambda: ngmca.posterior(DATA.Y, found, noise=noise),
        lambda: rivals.oracle(DATA.Y, DATA.A, noise=noise),
    ):
        with pytest.raises(ValueError, match="noise is too large"):
            call()
    assert diagnosis.signal_to_noise(DATA.Y, noise) == -30.0
    with pytest.raises(ValueError, match=r"tau must be between 0 and 1e\+06"):
        ngmca.separate(DATA.Y, 3, method=ngmca.Soft(tau=noise), n_init=1)


@pytest.mark.parametrize("factor", [1e160, 1e300])
def test_a_start_for_other_data_is_refused(factor):
    A, S = DATA.A, DATA.S
    for start in ((A * factor, S), (A, S * factor)):
        for method in ("soft", "hals"):
            with pytest.raises(ValueError, match="start is far larger than Y"):
                ngmca.separate(DATA.Y, 3, method=method, start=start, n_init=1)
    with pytest.raises(ValueError, match="A_ref is too large or too small"):
        rivals.oracle(DATA.Y, A * factor)
    wrong = ngmca.separate(DATA.Y * factor, 3, method=ngmca.Soft(n_iter=3), n_init=1)
    with pytest.raises(ValueError, match="separation is far larger than Y"):
        ngmca.posterior(DATA.Y, wrong)


def test_chains_that_are_no_numbers_disagree():
    from ngmca.sampling.posterior_warnings import disagreement

    assert "disagree about 1 of 2" in disagreement({"S": np.array([np.nan, 1.0]), "A": np.ones(2)})[0]


def test_residuals_far_beyond_the_noise_of_their_row_have_finite_numbers():
    Y = DATA.Y.copy()
    Y[3, 5] = -1e153  # no source explains it, and its square in units of the noise overflows
    numbers = diagnosis.diagnose(Y, ngmca.separate(Y, 3, method=ngmca.Soft(n_iter=5), n_init=1))
    assert np.isfinite([numbers.autocorrelation, *numbers.column_rms]).all()
