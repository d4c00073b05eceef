"""The widget of Orange, without a screen: `make test-tools` runs it with the newest Orange."""

import os
import pickle
import warnings

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np
import pytest
from other_tools import needed

import ngmca

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    needed("Orange.widgets")
    needed("orangecontrib.spectroscopy")
    from Orange.data import ContinuousVariable, DiscreteVariable, Domain, StringVariable, Table
    from Orange.widgets.data.owtransform import OWTransform
    from Orange.widgets.tests import base
    from orangecontrib.spectroscopy.widgets.owhyper import OWHyper
    from orangecontrib.spectroscopy.widgets.owspectra import OWSpectra

    from ngmca.tools.orange.owunmix import OWUnmix

pytestmark = pytest.mark.filterwarnings("ignore")
MIXTURE = ngmca.simulate.spectra(m=24, n=100, r=2, snr=25, seed=0)


def a_map(falling=True):
    """A map of 4 x 6 pixels, with coordinates, a target and names."""
    axis = np.linspace(1800, 900, 100).round(3)
    Y = MIXTURE.Y if falling else MIXTURE.Y[:, ::-1]
    columns = [ContinuousVariable(f"{x:g}") for x in (axis if falling else axis[::-1])]
    metas = [ContinuousVariable("map_x"), ContinuousVariable("map_y"), StringVariable("name")]
    domain = Domain(columns, DiscreteVariable("kind", ("a", "b")), metas)
    y, x = np.indices((4, 6)).reshape(2, -1)
    told = np.array([[*place, f"pixel {i}"] for i, place in enumerate(zip(x, y, strict=True))], object)
    return Table.from_numpy(domain, Y, np.arange(24) % 2, told)


class TestUnmix(base.WidgetTest):
    def setUp(self):
        self.widget = self.create_widget(OWUnmix, stored_settings={"n_components": 2})

    def sent(self, data):
        self.send_signal("Data", data, widget=self.widget)
        self.wait_until_finished(self.widget, timeout=120_000)
        outputs = self.widget.Outputs
        names = (outputs.amounts, outputs.sources, outputs.residuals, outputs.model)
        return [self.get_output(one, widget=self.widget) for one in names]

    def test_a_map(self):
        data = a_map()
        amounts, sources, residuals, model = self.sent(data)
        np.testing.assert_array_equal(amounts.metas, data.metas)
        np.testing.assert_array_equal(amounts.Y, data.Y)
        assert ngmca.evaluate(MIXTURE.S, sources.X).mean_sdr > 20
        fit = amounts.X @ sources.X
        np.testing.assert_allclose(data.X - fit, residuals.X, atol=1e-8)
        assert residuals.X.std() < 1.1 * MIXTURE.noise.std()
        np.testing.assert_array_equal(model(data).X, amounts.X)
        hyper = self.create_widget(OWHyper)
        self.send_signal("Data", amounts, widget=hyper)
        offered = [one.name for one in hyper.imageplot.xy_model if hasattr(one, "name")]
        assert {"map_x", "map_y"} <= set(offered)

    def test_the_order_of_columns_does_not_matter(self):
        there = self.sent(a_map())
        back = self.sent(a_map(falling=False))
        np.testing.assert_allclose(back[0].X, there[0].X)
        np.testing.assert_allclose(back[1].X, there[1].X[:, ::-1])
        np.testing.assert_allclose(back[2].X, there[2].X[:, ::-1])

    def test_other_spectra_get_amounts_from_apply_domain_and_after_pickling(self):
        data = a_map()
        amounts, *_ = self.sent(data[:16])
        expected = amounts.domain.attributes[0].compute_value.compute_shared.model.transform(
            data.X[16:, ::-1]
        )
        apply = self.create_widget(OWTransform)
        self.send_signal("Data", data[16:], widget=apply)
        self.send_signal("Template Data", amounts, widget=apply)
        np.testing.assert_allclose(self.get_output("Transformed Data", widget=apply).X, expected)
        kept = pickle.loads(pickle.dumps(amounts.domain))
        np.testing.assert_allclose(data[16:].transform(kept).X, expected)

    def test_residuals_have_no_background(self):
        bent = a_map().copy()
        with bent.unlocked(bent.X):
            bent.X += np.outer(1 + np.arange(24) / 24, MIXTURE.Y.max() * np.linspace(1, 2, 100) ** 2)
        self.widget.background = 2
        _, _, residuals, _ = self.sent(bent)
        assert residuals.X.std() < 1.3 * MIXTURE.noise.std()

    def test_shares_in_percent(self):
        weights, sources, *_ = self.sent(a_map())
        self.widget.controls.amounts_as.setCurrentIndex(1)
        self.widget.controls.amounts_as.activated.emit(1)
        shares = self.get_output(self.widget.Outputs.amounts, widget=self.widget)
        signal = weights.X * sources.X.sum(axis=1)
        np.testing.assert_allclose(shares.X, 100 * signal / signal.sum(axis=1, keepdims=True))

    def test_the_number_is_chosen_and_told(self):
        self.widget.controls.automatic.click()
        amounts, *_ = self.sent(a_map())
        assert amounts.X.shape[1] == 2
        assert "2 sources" in self.widget.told.text()

    def test_gaps_are_not_filled_in(self):
        data = a_map().copy()
        with data.unlocked(data.X):
            data.X[3, 20:40] = np.nan
        amounts, _, residuals, _ = self.sent(data)
        assert np.isfinite(amounts.X).all()
        assert np.isnan(residuals.X[3, 20:40]).all()
        assert np.isfinite(residuals.X[4]).all()

    def test_errors_and_warnings_are_those_of_orange(self):
        self.sent(
            Table.from_numpy(
                Domain([], metas=a_map().domain.metas), np.ones((24, 0)), metas=a_map().metas
            )
        )
        assert self.widget.Error.no_spectra.is_shown()
        damaged = a_map().copy()
        with damaged.unlocked(damaged.X):
            damaged.X[3, 4] = np.inf
        assert self.sent(damaged)[0] is None
        assert self.widget.Error.failed.is_shown()
        named = Domain([ContinuousVariable(f"band {i}") for i in range(100)])
        amounts, *_ = self.sent(Table.from_numpy(named, MIXTURE.Y))
        assert amounts is not None
        assert not self.widget.Error.failed.is_shown()
        assert self.widget.Warning.no_positions.is_shown()
        assert self.sent(None) == [None] * 4

    def test_a_wrong_number_of_sources_is_a_warning(self):
        self.widget.n_components = 1
        self.sent(a_map())
        assert self.widget.Warning.doubtful.is_shown()

    def test_a_run_can_be_cancelled(self):
        self.send_signal("Data", Table("collagen"), widget=self.widget)
        assert self.widget.stop.isEnabled()
        self.widget.stop.click()
        self.wait_until_finished(self.widget, timeout=120_000)
        assert self.widget.Information.cancelled.is_shown()
        assert self.get_output(self.widget.Outputs.amounts, widget=self.widget) is None
        assert self.sent(a_map())[0] is not None
        assert not self.widget.Information.cancelled.is_shown()

    def test_collagen(self):
        """Tissue spectra of four kinds: their sources tell the kinds apart."""
        data = Table("collagen")[::12]
        self.widget.n_components = 4
        _, sources, residuals, _ = self.sent(data)
        assert (residuals.X**2).sum() < 0.05 * (data.X**2).sum()
        self.widget.controls.amounts_as.setCurrentIndex(1)
        self.widget.controls.amounts_as.activated.emit(1)
        shares = self.get_output(self.widget.Outputs.amounts, widget=self.widget).X
        means = np.array([shares[kind == data.Y].mean(axis=0) for kind in range(4)])
        nearest = ((shares[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)
        assert (nearest == data.Y).mean() > 0.8
        view = self.create_widget(OWSpectra)
        self.send_signal("Data", sources, widget=view)
        self.widget.send_report()


def test_orange_finds_the_widget_its_icon_and_its_help():
    from importlib import resources

    import ngmca.tools.orange as package

    files = resources.files(package)
    assert b"<svg" in files.joinpath(OWUnmix.icon).read_bytes()
    assert OWUnmix.name in files.joinpath("help", "index.html").read_text()
    assert package.WIDGET_HELP_PATH[0][0].endswith("index.html")
