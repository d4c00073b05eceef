"""The sequel: its formulations, its images, and its labels."""

import os
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from paper_measures import one_thread
from typer.testing import CliRunner

from ngmca import evaluate, separate, simulate
from ngmca.algorithms.options import Options
from ngmca.algorithms.wavelets.wavelet_data import noise_and_weights
from ngmca.algorithms.wavelets.wavelet_stage import ANALYSIS_STEP, weighted
from ngmca.cli import app
from ngmca.domains import analyse, frame_of
from ngmca.paper import EXPERIMENTS, Size, runner, sequel
from ngmca.paper.claims import HOLDS
from ngmca.paper.experiment_figures import STYLES
from ngmca.paper.methods import METHODS, Trial
from ngmca.paper.runner import plan, run
from ngmca.paper.standing import SEQUEL, Result, load
from ngmca.paper.wavelet_forms import analysis_form, synthesis_form

FORMS = (*sequel.PLAIN, *sequel.REWEIGHTED)


@pytest.fixture(scope="module")
def trial():
    return Trial(simulate.bands(16, 256, 2, bands=4, fwhm=(8.0, 20.0), snr=20.0, seed=0), 1.0, 0)


@pytest.mark.parametrize("name", FORMS)
def test_every_formulation_finds_bands(trial, name):
    found = METHODS[name].run(trial)
    assert found.domain.name == "wavelet"
    assert (found.S >= 0).all()
    assert (found.A >= 0).all()
    np.testing.assert_allclose(np.linalg.norm(found.A, axis=0), 1, rtol=1e-5)
    assert found.violation < (2e-3 if name.startswith("synthesis") else 1e-4)
    assert evaluate(trial.mixture.S, found.S).mean_sdr > 10


def test_formulations_differ_and_the_librarys_own_is_not_among_them(trial):
    sources = [METHODS[name].run(trial).S for name in FORMS]
    for i, S in enumerate(sources):
        assert all(not np.allclose(S, other, rtol=1e-3) for other in sources[:i])
    own = separate(trial.mixture.Y, trial.r, threads=1, n_init=1)
    np.testing.assert_array_equal(METHODS["auto"].run(trial).S, own.S)


@pytest.mark.parametrize("form", [analysis_form, synthesis_form])
@pytest.mark.parametrize("reweighted", [False, True])
def test_thresholds_of_a_formulation(form, reweighted):
    """Noise of 1 in the gradient: thresholds of 2 norms, over 1 + |coefficient| if reweighted."""
    W = frame_of(64)
    S = np.abs(np.random.default_rng(0).standard_normal((2, 64))) * 5
    A, sigma = np.eye(2), np.ones(2)
    found = weighted(
        W, S, noise_and_weights(A, sigma, None), Options(), form(reweighted=reweighted, tau=2.0)
    )
    norms = W.norms[:, None]
    expected = 2 * norms * np.ones((2, W.bands, W.period))
    if reweighted:
        expected /= 1 + np.abs(analyse(W, S)) / norms
    if form is analysis_form:
        expected[:, -1] = 0
    np.testing.assert_allclose(found.Lam, expected, rtol=1e-10)
    assert (found.Lam.min() > 0) == (form is synthesis_form)
    assert not found.direct.any()


def test_only_the_librarys_own_step_has_a_threshold_on_channels():
    S = np.zeros((1, 64))
    S[0, 30] = 50.0
    with_lines, without = (
        weighted(frame_of(64), S, (np.ones((1, 1)),) * 2, Options(), step).direct
        for step in (ANALYSIS_STEP, replace(ANALYSIS_STEP, channels=False))
    )
    assert with_lines.max() > 0
    assert not without.any()


def test_images_are_sparse_and_keep_their_shape():
    data = simulate.images(6, (20, 30), 4, snr=25.0, seed=1)
    assert data.sample_shape == (20, 30)
    assert data.S.shape == (4, 600)
    assert (data.S >= 0).all()
    assert (data.S == 0).any(axis=1).all()
    np.testing.assert_allclose(np.linalg.norm(data.S, axis=1), 1)
    assert data.snr == pytest.approx(25.0)
    np.testing.assert_array_equal(data.Y, simulate.images(6, (20, 30), 4, snr=25.0, seed=1).Y)
    assert not np.array_equal(data.S, simulate.images(6, (20, 30), 4, seed=2).S)
    for wrong in ((20,), 20, (20, 3)):
        with pytest.raises(ValueError, match="shape"):
            simulate.images(6, wrong)


def test_methods_are_told_the_shape_of_images():
    made = simulate.images(8, (16, 16), 2, snr=30.0, seed=0)
    for name in ("auto", "analysis", "synthesis_reweighted"):
        found = METHODS[name].run(Trial(made, 1.0, 0))
        assert found.S.shape == (2, 256)
        flat = METHODS[name].run(Trial(replace(made, sample_shape=None), 1.0, 0))
        assert name == "auto" or not np.allclose(found.S, flat.S)


def tiny(study):
    """The same declaration on small data."""
    small = {"m": 20, "n": 128, "r": 3, "shape": (12, 12)}
    fixed = {key: small.get(key, value) for key, value in study.fixed.items()}
    value = {"m": 18, "r": 3}.get(study.varies, study.values[0])
    return replace(study, fixed=fixed, values=(value,))


# one of spectra, one of images; the others are the same study of other numbers: `make studies` runs all
RUN = sorted(SEQUEL) if os.environ.get("NGMCA_STUDIES") else ["sequel_snr"]


@pytest.mark.parametrize("label", RUN)
def test_a_label_runs_is_judged_and_drawn(label, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "ProcessPoolExecutor", one_thread)
    experiment = replace(EXPERIMENTS[label], study=tiny(EXPERIMENTS[label].study))
    assert not run(plan([experiment.study], tmp_path, Size(2)), tmp_path, workers=1)
    result = load(experiment, tmp_path)
    assert result.done == "2"
    assert np.isfinite(result.table["sdr"]).all()
    assert all(result.judge(claim).verdict for claim in experiment.claims)
    assert result.draw(tmp_path / "figures").stat().st_size > 5_000


@pytest.mark.parametrize("label", sorted(SEQUEL))
def test_declarations_are_whole_and_chance_does_not_fulfil_them(label):
    experiment = EXPERIMENTS[label]
    assert set(experiment.study.methods) <= set(METHODS) & set(STYLES)
    assert experiment.study.varies not in experiment.study.fixed
    for i, claim in enumerate(experiment.claims):
        rng = np.random.default_rng(i)
        verdicts = []
        for _ in range(3):
            rows = [
                {experiment.study.varies: x, "sim": k, "method": m, "sdr": rng.uniform(-1e3, 1e3)}
                for x in experiment.study.values
                for k in range(12)
                for m in experiment.study.methods
            ]
            verdicts.append(Result(experiment, pd.DataFrame(rows), None).judge(claim).verdict)
        assert verdicts.count(HOLDS) < 2


def test_labels_may_be_a_pattern(tmp_path):
    result = CliRunner().invoke(app, ["paper", "show", "sequel_*", "sequel_m", "-o", str(tmp_path)])
    assert result.exit_code == 0
    for label in SEQUEL:
        assert result.output.count(f"{label}: ") == 1
    assert "12 with --full" in result.output
