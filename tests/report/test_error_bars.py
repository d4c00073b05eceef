"""Error bars where they are shown: of bands around the answer, and none where the model is refuted."""

from dataclasses import replace

import numpy as np
import pytest
from plotly_figures import checked

import ngmca
from ngmca.answers.how_sure import diagnose
from ngmca.answers.run import Run
from ngmca.io import Dataset
from ngmca.report import figures
from ngmca.report.mixing_figures import weights
from ngmca.report.sections import mixing, sections, sources
from ngmca.result import Domain, Marginals
from ngmca.sampling.posterior_warnings import disagreement
from ngmca.saving.results import _write_tables, describe

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def found():
    """Data, and a separation with error bars of both kinds."""
    data = ngmca.simulate.spectra(m=12, n=120, r=2, lines=4, width=3.0, snr=25, seed=0)
    separation = ngmca.separate(data.Y, 2, method=ngmca.Soft(n_iter=20), domain="direct", n_init=1)
    brief = {"n_samples": 10, "burn": 5, "seed": 0}
    sparse = ngmca.posterior(data.Y, separation, domain="direct", **brief)
    bands = ngmca.posterior(data.Y, separation, domain="wavelet", **brief)
    return data.Y, separation, sparse, bands


def run_of(found, posterior):
    Y, separation, *_ = found
    separation = replace(separation, posterior=posterior, domain=Domain("wavelet"))
    return Run(separation, diagnose(Y, separation), Dataset(Y=Y))


def names(figure):
    return {trace.name for trace in checked(figure).data}


def drawn(figure, name):
    return next(trace.y for trace in checked(figure).data if trace.name == name)


def test_bands_have_an_interval_around_the_answer(found):
    run = run_of(found, found[3])
    assert {"lower 90 %", "upper 90 %", "source 1"} <= names(figures.sources(run))
    np.testing.assert_allclose(drawn(figures.sources(run), "source 1"), found[1].S[0], rtol=1e-6)
    assert "90 % interval" in names(weights(run))
    assert "90 % intervals around the answer" in sources(run).body
    assert any("They are 90 % intervals around the sources" in words for words in run.summary)
    assert describe(run)["posterior"]["model"] == "bands"


def test_a_refuted_posterior_is_not_drawn(found):
    refuted = replace(found[2], refuted=True, warnings=("these data are not so.", "chains."))
    run = run_of(found, refuted)
    assert names(figures.sources(run)) == names(weights(run)) == {"source 1", "source 2"}
    assert "There are no error bars" in sources(run).body
    assert "There are no error bars" in mixing(run).body
    assert any("They are not shown" in words for words in run.summary)
    told = [finding for finding in run.findings if finding.kind == "chains"]
    assert [finding.title for finding in told] == ["The error bars are not valid"]
    assert told[0].text == "These data are not so."
    np.testing.assert_allclose(drawn(figures.sources(run), "source 1"), found[1].S[0], rtol=1e-6)


def test_one_curve_is_the_answer_and_the_text_says_which(found):
    sparse = replace(found[2], refuted=False)
    run = run_of(found, sparse)
    figure = figures.sources(run)
    assert names(figure) == {"source 1", "source 2", "lower 90 %", "upper 90 %"}
    np.testing.assert_allclose(drawn(figure, "source 2"), sparse.S.mean[1], rtol=1e-6)
    np.testing.assert_allclose(drawn(weights(run), "source 2"), sparse.A.mean[:, 1])
    low, _ = sparse.S.interval(0.9)
    np.testing.assert_allclose(drawn(figure, "lower 90 %"), low[0], rtol=1e-5, atol=1e-9)
    assert "The answer is the mean of the posterior" in sources(run).body
    assert "The answer is the mean of the posterior" in mixing(run).body
    for trace in checked(weights(run)).data:
        if trace.name == "90 % interval":
            assert trace.marker.opacity == 0  # no second mark beside that of the answer


def test_many_measurements_have_a_band(found):
    """Bars of many measurements would be too narrow to be seen."""
    Y, separation, _, bars = found
    many = replace(separation, A=np.tile(separation.A, (50, 1)), noise=np.tile(separation.noise, 50))
    bars = replace(bars, A=bars.A.each(lambda values: np.tile(values, (50, 1))))
    run = run_of((np.tile(Y, (50, 1)), many), bars)
    low, high = bars.A.interval(0.9)
    figure = weights(run)
    assert names(figure) == {"source 1", "source 2", "lower 90 %", "upper 90 %"}
    np.testing.assert_allclose(drawn(figure, "lower 90 %"), low[:, 0])
    np.testing.assert_allclose(drawn(figure, "upper 90 %"), high[:, 0])
    assert "90 % intervals around the answer" in mixing(run).body


def test_maps_have_a_second_map_of_the_spread(found):
    run = run_of(found, replace(found[2], refuted=False))
    run = replace(run, data=replace(run.data, image_shape=(3, 4)))
    plain = replace(run, separation=replace(run.separation, posterior=None))
    assert len(mixing(plain).plots) == 2
    maps = [checked(plot) for plot in mixing(run).plots]
    assert len([checked(plot) for section in sections(run) for plot in section.plots]) > 10
    assert len(maps) == 4
    np.testing.assert_allclose(maps[3].data[0].z.ravel(), found[2].A.sd[:, 1], rtol=1e-6)
    assert "spread" in maps[3].layout.title.text
    assert "spread" in mixing(run).body


def test_warnings_name_arguments_as_the_command_line_can_translate_them():
    told = disagreement({"S": np.array([3.0, 1.0]), "A": np.ones(2)})[0]
    assert "source 1;" in told
    assert set(told.names) == {"n_samples", "seed"}


def test_columns_of_the_tables(found, tmp_path):
    def columns(posterior):
        _write_tables(tmp_path, run_of(found, posterior))
        heads = [
            (tmp_path / f"{name}.csv").read_text().splitlines()[0] for name in ("sources", "mixing")
        ]
        return [
            {part.replace('"', "").partition("source 1 ")[2] for part in h.split(",")} - {""}
            for h in heads
        ]

    assert columns(found[3]) == [{"lower 90 %", "upper 90 %"}, {"share (%)", "lower 90 %", "upper 90 %"}]
    assert columns(replace(found[2], refuted=False)) == [
        {"mean", "lower 90 %", "upper 90 %", "active"},
        {"share (%)", "mean", "lower 90 %", "upper 90 %"},
    ]
    assert columns(replace(found[2], refuted=True)) == [{"mean", "active"}, {"share (%)", "mean"}]


def test_scaled_and_repr(found):
    for posterior in found[2:]:
        other = posterior.scaled(8.0)
        np.testing.assert_array_equal(other.S.sd, 8 * posterior.S.sd)
        np.testing.assert_array_equal(other.traces["noise"], 8 * posterior.traces["noise"])
        assert isinstance(other.A, Marginals)
    np.testing.assert_array_equal(found[2].scaled(8.0).beta.mean, found[2].beta.mean / 8)
