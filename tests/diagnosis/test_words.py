"""Warnings: those that a specialist would give, and no others."""

from dataclasses import replace

import numpy as np
import pytest

import ngmca
from ngmca.diagnosis import diagnose, findings, percent, summary


def separated(r, *, m=24, n=1200, true=5, snr=18.0, n_iter=150, **options):
    mixture = ngmca.simulate.spectra(m=m, n=n, r=true, lines=7, width=3.0, snr=snr, seed=1)
    separation = ngmca.separate(mixture.Y, r, n_iter=n_iter, seed=0, **options)
    return mixture, separation


def kinds(Y, separation):
    return [found.kind for found in findings(separation, diagnose(Y, separation))]


@pytest.mark.parametrize("snr", [10.0, 18.0, 30.0])
def test_the_right_number_of_sources_gives_no_warning_and_a_wrong_one_does(snr):
    expected = {4: ["structure"], 5: [], 7: ["many"]}
    for r, kind in expected.items():
        mixture, separation = separated(r, snr=snr)
        found = kinds(mixture.Y, separation)
        assert found[: len(kind)] == kind
        more = {"noise", "copy", "empty"} if r > 5 else {"noise"}  # what sources too many may be, too
        assert set(found) <= {*kind, *more}


def test_pure_noise_is_called_noise():
    mixture, separation = separated(8, snr=10, domain="direct")
    found = kinds(mixture.Y, separation)
    assert found.count("noise") >= 2
    _, as_bands = separated(8, snr=10)  # there they are copies, or empty
    assert {"many", "copy"} <= set(kinds(mixture.Y, as_bands))


def test_copies_and_empty_sources_are_named():
    mixture, separation = separated(5)
    S = separation.S.copy()
    S[3] = 0.5 * S[0] * np.random.default_rng(0).uniform(0.9, 1.1, S.shape[1])
    S[4] = 0
    warned = findings(replace(separation, S=S), diagnose(mixture.Y, replace(separation, S=S)))
    assert any(f.kind == "copy" and f.title == "Sources 1 and 4 look alike" for f in warned)
    assert any(f.kind == "empty" and f.title == "Source 5 is empty" for f in warned)


def test_a_fit_closer_than_the_noise():
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((10, 60)) + 5
    separation = ngmca.separate(Y, 9, n_iter=300, tau=0, seed=0)
    assert "overfit" in kinds(Y, separation)
    assert "overfit" not in kinds(Y, ngmca.separate(Y, 2, n_iter=50, tau=0, seed=0))


def test_counts_without_a_noise_level():
    rng = np.random.default_rng(0)
    Y = rng.poisson(0.1, (30, 400)).astype(float)
    assert "no-noise" in kinds(Y, ngmca.separate(Y, 2, n_iter=20, seed=0))
    clean = ngmca.simulate.spectra(m=12, n=200, r=2, snr=None, seed=0).Y
    assert "no-noise" not in kinds(clean, ngmca.separate(clean, 2, n_iter=300, tau=0, seed=0))


def test_negative_parts_and_few_measurements():
    mixture = ngmca.simulate.spectra(m=4, n=400, r=4, lines=5, snr=30, seed=0)
    Y = mixture.Y.copy()
    Y[:, 100:110] -= 3 * Y.max()
    found = kinds(Y, ngmca.separate(Y, 4, n_iter=50, seed=0))
    assert "negative" in found
    assert "few" in found
    assert "negative" not in kinds(mixture.Y, ngmca.separate(mixture.Y, 4, n_iter=50, seed=0))


def test_the_threshold_of_emptiness_is_one_of_height_not_of_energy():
    mixture, separation = separated(5)

    def warned(height):
        S = separation.S.copy()
        S[1] *= height * np.linalg.norm(S[0]) / np.linalg.norm(S[1])
        changed = replace(separation, S=S)
        return [f for f in findings(changed, diagnose(mixture.Y, changed)) if f.kind == "empty"]

    assert not warned(0.01)  # 1e-4 of the energy: weak, and there
    assert [found.title for found in warned(0.001)] == ["Source 2 is almost empty"]
    assert "less than 0.001 % of the energy" in warned(0.001)[0].text


def test_clean_data_show_how_many_sources_there_are():
    for dtype in (np.float64, np.float32):
        Y = ngmca.simulate.spectra(m=16, n=300, r=4, snr=None, seed=0).Y.astype(dtype)
        found = {r: kinds(Y, ngmca.separate(Y, r, n_iter=60, seed=0)) for r in (4, 6)}
        assert "many" not in found[4]
        assert "many" in found[6]


def test_words_are_those_of_the_library_and_of_a_chemist():
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.1, (30, 400)).astype(float)
    noisy = rng.standard_normal((10, 60)) + 5
    negative = ngmca.simulate.spectra(m=4, n=400, r=4, lines=5, snr=30, seed=0).Y
    negative[:, 100:110] -= 3 * negative.max()
    told = []
    for Y, r, options in ((counts, 2, {}), (noisy, 9, {"tau": 0}), (negative, 3, {})):
        separation = ngmca.separate(Y, r, n_iter=100, seed=0, **options)
        numbers = diagnose(Y, separation)
        told += [f.text for f in findings(separation, numbers)] + summary(separation, numbers)
    text = " ".join(told)
    for word in ("noise=", "tau=", "Dataset.crop", "channels each"):
        assert word in text
    assert "--" not in text
    assert "samples" not in text


@pytest.mark.parametrize(
    ("share", "told"),
    [
        (0.0, "0 %"), (1e-9, "less than 0.001 %"), (2e-5, "0.002 %"), (0.034, "3.4 %"), (0.5, "50 %"),
        (0.99987, "99.99 %"), (1.0, "100 %"), (-0.25, "-25 %"),
    ],
)  # fmt: skip
def test_percent(share, told):
    assert percent(share) == told
