"""Warnings: those that a specialist would give, and no others."""

import re
from dataclasses import replace

import numpy as np
import pytest
from task_options import records

import ngmca
from ngmca._support.messages import rendered
from ngmca.answers.how_many.singular_values import spectrum
from ngmca.answers.how_sure import diagnose, findings, summary
from ngmca.answers.wording import GRADES, percent
from ngmca.io import Dataset
from ngmca.settings.option_names import as_flag


def separated(r, *, m=24, n=1200, true=5, snr=18.0, n_iter=150, **options):
    mixture = ngmca.simulate.spectra(m=m, n=n, r=true, lines=7, width=3.0, snr=snr, seed=1)
    separation = ngmca.separate(mixture.Y, r, **records(n_iter=n_iter, **options))
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


def test_what_is_too_much_is_told_in_one_warning_with_one_advice():
    mixture, separation = separated(8, snr=10, domain="direct")
    (found,) = findings(separation, diagnose(mixture.Y, separation))
    assert found.kind == "many"
    named = re.search(r"Sources ([\d, and]+) look like noise\.", found.text)[1]
    assert len(re.findall(r"\d", named)) >= 2
    assert found.text.count("Try") == 1
    _, as_bands = separated(8, snr=10)  # there they are copies, or empty
    (found,) = findings(as_bands, diagnose(mixture.Y, as_bands))
    assert re.search(r"look alike\.|are almost empty\.", found.text)
    assert found.text.count("Try") == 1


def test_a_number_that_was_chosen_from_the_data_is_not_contradicted():
    mixture, separation = separated(8, snr=10, domain="direct")
    found = findings(separation, diagnose(mixture.Y, separation), chosen_number=True)
    assert found  # sources that look like noise are still named
    assert all("Try" not in one.text and one.kind != "many" for one in found)
    mixture, separation = separated(4)
    (left,) = findings(separation, diagnose(mixture.Y, separation), chosen_number=True)
    assert left.kind == "structure"
    assert "Try" not in left.text


def test_copies_and_empty_sources_are_named():
    mixture, separation = separated(5)
    S, A = separation.S.copy(), separation.A.copy()
    S[3] = 0.5 * S[0] * np.random.default_rng(0).uniform(0.9, 1.1, S.shape[1])
    S[4] = 0

    def warned(A):
        changed = replace(separation, A=A, S=S)
        return {(f.kind, f.title) for f in findings(changed, diagnose(mixture.Y, changed))}

    copied = A.copy()
    copied[:, 3] = A[:, 0]
    assert ("copy", "Sources 1 and 4 look alike") in warned(copied)
    assert ("empty", "Source 5 is empty") in warned(A)
    assert "copy" not in {kind for kind, _ in warned(A)}  # weights of their own: two of a kind


def test_warnings_are_in_the_order_of_what_they_cost():
    mixture, separation = separated(4)
    Y = mixture.Y.copy()
    Y[:, 100:110] -= 5 * Y.max()
    found = findings(separation, diagnose(Y, separation))
    assert {"negative", "structure"} <= {f.kind for f in found}
    order = [(GRADES.index(f.grade), -f.cost) for f in found]
    assert order == sorted(order)
    assert found[0].cost > 0.01


def test_structure_is_graded_beside_the_weakest_source():
    mixture, separation = separated(5, snr=35)
    signs = np.random.default_rng(0).standard_normal(24)
    pattern = np.outer(signs, np.cos(np.arange(1200) / 4))

    def found(size):
        Y = mixture.Y + size * np.linalg.norm(mixture.Y) / np.linalg.norm(pattern) * pattern
        numbers = diagnose(Y, separation)
        assert numbers.structure > 1.2
        return next(f for f in findings(separation, numbers) if f.kind == "structure")

    assert found(0.06).title == "The residual has weak structure"
    assert found(0.2).title == "The residual has structure: maybe more sources"
    assert found(0.2).grade == "amber"
    assert found(2.0).grade == "red"


def test_noise_of_counts_is_no_sign_of_more_sources():
    mixture = ngmca.simulate.bands(m=40, n=400, r=2, snr=None, seed=0)
    Y = np.random.default_rng(0).poisson(30 * mixture.Y / mixture.Y.mean()).astype(float)
    separation = ngmca.separate(Y, 2, method=ngmca.Soft(n_iter=60), noise=1.0, n_init=1)
    found = {f.kind: f for f in findings(separation, diagnose(Y, separation))}
    assert "structure" not in found
    assert "in proportion to it" in found["growing"].text


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("size", [1.0, 1e25, 1e-25])
def test_noise_of_counts_is_told_however_low_the_noise_was_said_to_be(kind, size):
    mixture = ngmca.simulate.bands(m=40, n=400, r=2, snr=None, seed=0)
    Y = np.random.default_rng(0).poisson(30 * mixture.Y / mixture.Y.mean()) * kind(size)
    separation = ngmca.separate(Y, 2, method=ngmca.Soft(n_iter=60), noise=size, n_init=1)
    low = replace(separation, noise=np.full(40, 1e-300))
    assert "growing" in kinds(Y, low)


def test_a_source_of_one_measurement_is_named():
    mixture, separation = separated(5)
    A = separation.A.copy()
    A[:, 2] = 1e-3
    A[11, 2] = 1
    alone = replace(separation, A=A)
    data = Dataset(mixture.Y, row_names=tuple(f"tube {i}" for i in range(24)))
    found = {f.kind: f for f in findings(alone, diagnose(mixture.Y, alone), data)}
    assert found["alone"].title == "Source 3 is in one measurement only"
    assert "measurement tube 11" in found["alone"].text
    assert "alone" not in kinds(mixture.Y, separation)


def test_a_fit_closer_than_the_noise():
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((10, 60)) + 5
    separation = ngmca.separate(Y, 9, method=ngmca.Soft(tau=0, n_iter=300), n_init=1)
    assert "overfit" in kinds(Y, separation)
    assert "overfit" not in kinds(Y, ngmca.separate(Y, 2, method=ngmca.Soft(tau=0, n_iter=50), n_init=1))


def test_counts_without_a_noise_level():
    rng = np.random.default_rng(0)
    Y = rng.poisson(0.1, (30, 400)).astype(float)
    assert "no-noise" in kinds(Y, ngmca.separate(Y, 2, method=ngmca.Soft(n_iter=20), n_init=1))
    clean = ngmca.simulate.spectra(m=12, n=200, r=2, snr=None, seed=0).Y
    assert "no-noise" not in kinds(
        clean, ngmca.separate(clean, 2, method=ngmca.Soft(tau=0, n_iter=300), n_init=1)
    )


def test_negative_parts_and_few_measurements():
    mixture = ngmca.simulate.spectra(m=4, n=400, r=4, lines=5, snr=30, seed=0)
    Y = mixture.Y.copy()
    Y[:, 100:110] -= 3 * Y.max()
    found = kinds(Y, ngmca.separate(Y, 4, method=ngmca.Soft(n_iter=50), n_init=1))
    assert "negative" in found
    assert "few" in found
    assert "negative" not in kinds(
        mixture.Y, ngmca.separate(mixture.Y, 4, method=ngmca.Soft(n_iter=50), n_init=1)
    )


def test_as_many_sources_as_measurements_need_more_starts_and_error_bars():
    mixture = ngmca.simulate.sparse(m=6, n=150, r=6, p_S=0.1, snr=15, seed=0)
    separation = ngmca.separate(mixture.Y, 6, n_init=1)

    def advice(separation):
        found = findings(separation, diagnose(mixture.Y, separation))
        return next(one.text for one in found if one.kind == "few")

    text = advice(separation)
    assert "Try more starts (n_init=8) and error bars (posterior=True), whose means" in text
    assert rendered(text, as_flag).count("--n-init 8) and error bars (--posterior)") == 1
    assert "Try error bars (posterior=True)" in advice(ngmca.separate(mixture.Y, 6, n_init=8))
    assert "few" not in kinds(mixture.Y, ngmca.separate(mixture.Y, 5, n_init=1))


@pytest.mark.parametrize("snr", [20, 30])
def test_thresholds_for_sources_that_are_hardly_ever_0(snr):
    """`bench/right_answers.py "19 "` has the gain of what it advises."""
    mixture = ngmca.simulate.sparse(m=30, n=300, r=4, p_S=1.0, snr=snr, seed=0)
    soft, anls = (ngmca.separate(mixture.Y, 4, method=one, n_init=1) for one in ("soft", "anls"))
    (found,) = (one for one in findings(soft, diagnose(mixture.Y, soft)) if one.kind == "dense")
    assert "try method='anls', which has none" in found.text
    assert ngmca.evaluate(mixture.S, anls.S).mean_sdr > ngmca.evaluate(mixture.S, soft.S).mean_sdr + 3
    assert "dense" not in kinds(mixture.Y, anls)


def ordinary():
    """Data as the methods are made for."""
    for seed in range(2):
        for share in (0.1, 0.2, 0.3):
            for snr in (10, 20, 30):
                yield ngmca.simulate.sparse(m=20, n=200, r=4, p_S=share, snr=snr, seed=seed)
        yield ngmca.simulate.bands(m=20, n=128, r=4, seed=seed)
        yield ngmca.simulate.nmr(m=20, r=4, seed=seed)


@pytest.mark.parametrize("domain", ["auto", "direct"])
def test_ordinary_data_get_no_advice_on_thresholds_or_starts(domain):
    for mixture in ordinary():
        separation = ngmca.separate(mixture.Y, 4, n_init=1, domain=domain)
        assert {"dense", "few"}.isdisjoint(kinds(mixture.Y, separation))


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
        found = {
            r: kinds(Y, ngmca.separate(Y, r, method=ngmca.Soft(n_iter=60), n_init=1)) for r in (4, 6)
        }
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
        separation = ngmca.separate(Y, r, **records(n_iter=100, **options))
        numbers = diagnose(Y, separation)
        told += [f.text for f in findings(separation, numbers)] + summary(separation, numbers)
    text = " ".join(told)
    for word in ("noise=", "tau", "Dataset.crop", "channels each"):
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


def test_each_noise_level_is_told_with_what_it_is():
    """The noise found, all that is left over, and the guess before any separation are three numbers."""
    mixture, separation = separated(4, n_iter=30)
    numbers = diagnose(mixture.Y, separation)
    (told,) = (one for one in summary(separation, numbers) if one.startswith("The noise"))
    assert f"level is {np.median(separation.noise):.3g} (standard deviation, median" in told
    residual = np.sqrt(np.mean(numbers.row_rms**2))
    assert f"The residual has a standard deviation of {residual:.3g}; it contains noise" in told
    assert f"was estimated as {spectrum(mixture.Y).noise:.3g} (as in `ngmca info`)" in told
    assert "Before" not in " ".join(summary(separation, replace(numbers, rough_noise=0.0)))
