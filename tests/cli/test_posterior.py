"""`ngmca separate --posterior`: what is written, loaded, and kept at a stop."""

import json
import tomllib

import numpy as np
import pytest
from command_line import run
from plotly_figures import checked

import ngmca
from ngmca import sampling
from ngmca.cli import pipeline
from ngmca.report import figures
from ngmca.report.mixing_figures import weights
from ngmca.saving.results import load_run


def arrays(found):
    parts = (found.S, found.A, found.noise, found.pi, found.stay, found.beta)
    return [x for part in parts for x in (part.mean, part.sd, *part.interval())] + [found.S.active]


@pytest.fixture(scope="module")
def Y():
    return ngmca.simulate.sparse(m=40, n=100, r=4, p_S=0.2, snr=15, seed=0).Y


@pytest.fixture(scope="module")
def folder(Y, tmp_path_factory):
    """The data, and a run with error bars beside them."""
    folder = tmp_path_factory.mktemp("posterior")
    np.save(folder / "Y.npy", Y)
    told = run("separate", folder / "Y.npy", "-r", 4, "-o", folder / "out", "--posterior").stdout
    assert "Error bars come from 2 chains" in told
    return folder


@pytest.fixture(scope="module")
def expected(Y):
    return ngmca.posterior(Y, ngmca.separate(Y, 4), seed=0)


@pytest.mark.starts  # as many as in the fixtures of the module
def test_error_bars_load_again(folder, expected, Y):
    separation = ngmca.load(folder / "out")
    at_once = ngmca.separate(Y, 4, posterior=True)
    np.testing.assert_array_equal(separation.S, at_once.S)
    np.testing.assert_array_equal(at_once.posterior.S.mean, expected.S.mean)
    found = separation.posterior
    for mine, its in zip(arrays(found), arrays(expected), strict=True):
        np.testing.assert_array_equal(mine, its)
    assert found.traces["pi"].shape == expected.traces["pi"].shape
    assert found.settled is expected.settled
    record = tomllib.loads((folder / "out" / "run.toml").read_text())
    assert record["separate"]["posterior"] is True


def test_error_bars_are_in_the_tables(folder, expected):
    path = folder / "out" / "sources.csv"
    table = np.genfromtxt(path, delimiter=",", names=True, deletechars="")
    np.testing.assert_allclose(table["source_2_upper_90_%"], expected.S.interval(0.9)[1][1], rtol=1e-5)
    np.testing.assert_allclose(table["source_4_active"], expected.S.active[3], rtol=1e-5)
    assert "source 1 lower 90 %" in (folder / "out" / "mixing.csv").read_text().splitlines()[0]


@pytest.mark.draws
def test_error_bars_are_drawn(folder, expected):
    drawn = checked(weights(load_run(folder / "out")))
    bars = [trace for trace in drawn.data if trace.name == "90 % interval"]
    low, high = expected.A.interval(0.9)
    np.testing.assert_allclose(bars[2].y + bars[2].error_y.array, high[:, 2])
    np.testing.assert_allclose(bars[2].y - bars[2].error_y.array, low[:, 2], atol=1e-12)
    assert drawn.layout.yaxis3.range[1] > high[:, 2].max()
    sources = checked(figures.sources(load_run(folder / "out")))
    assert sources.layout.yaxis3.range[1] > expected.S.interval(0.9)[1][2].max()
    page = (folder / "out" / "report.html").read_text()
    assert page.count("The answer is the mean of the posterior") == 2  # sources and weights


def test_sources_of_any_sign_are_refused(Y, folder, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="can give negative spectra"):
        ngmca.separate(Y, 4, method="gmca", posterior=True, n_init=1)
    monkeypatch.setattr(pipeline, "_found", None)  # it is not run first
    options = ("-r", 4, "-o", tmp_path / "out", "--posterior", "--method", "gmca")
    assert "can give negative spectra" in run("separate", folder / "Y.npy", *options, code=2).stderr


@pytest.mark.parametrize("method", ["soft", "hals"])
def test_a_stop_while_sampling_keeps_the_separation(Y, folder, tmp_path, monkeypatch, method):
    out = tmp_path / "out"

    def press_ctrl_c(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(sampling, "posterior", press_ctrl_c)
        command = ("separate", folder / "Y.npy", "-r", 4, "-o", out, "--posterior", "--method", method)
        told = run(*command, code=130).stderr
    assert f"is kept. Continue with: ngmca separate --resume {out}" in told
    with monkeypatch.context() as patched:
        patched.setattr(pipeline, "_found", None)  # it is not separated again
        spoken = json.loads(run("separate", "--resume", out, "--json").stdout)["posterior"]
    expected = ngmca.separate(Y, 4, method=method, posterior=True)
    found = ngmca.load(out)
    np.testing.assert_array_equal(found.S, expected.S)
    np.testing.assert_array_equal(found.posterior.S.mean, expected.posterior.S.mean)
    np.testing.assert_array_equal(found.history.cost, expected.history.cost)
    assert spoken["n_samples"] == expected.posterior.n_samples
    assert spoken["n_chains"] == 2
    assert spoken["settled"] is True
    assert 1 <= spoken["worst_rhat"] < 1.2
