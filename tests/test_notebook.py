"""What notebooks show of data and results: well-formed HTML that no name from a file can break."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

import ngmca
from ngmca._support.html_cards import HEIGHT, POINTS, curves
from ngmca.io import Dataset
from ngmca.result import Marginals, Posterior

BAD = "<script>alert('x')</script> & \"quoted\""


def parsed(page):
    """Also a proof that it is well-formed: ElementTree refuses anything else."""
    return ElementTree.fromstring(page)


def heights(svg):
    """The y of all points of the first curve."""
    path = parsed(svg)[0].get("d").replace("L", " ").replace("M", " ")
    return np.array([float(point.split(",")[1]) for point in path.split()])


def test_a_curve_is_as_high_as_its_values_and_keeps_narrow_lines():
    y = heights(curves([0.0, 1.0, 2.0]))
    np.testing.assert_allclose(y, [HEIGHT - 2, HEIGHT / 2, 2])
    line = np.zeros(100 * POINTS)
    line[4567] = 1.0
    assert heights(curves(line)).min() == 2
    assert len(heights(curves(line))) <= 2 * POINTS


def test_gaps_and_empty_curves_are_drawn():
    path = parsed(curves([1.0, 2.0, np.nan, 4.0, 5.0]))[0].get("d")
    assert path.count("M") == 2
    assert "nan" not in path
    assert len(parsed(curves(np.zeros(5)))) == 0
    assert len(parsed(curves(np.full(5, np.nan)))) == 0


@pytest.fixture(scope="module")
def found():
    Y = ngmca.simulate.spectra(m=8, n=100, r=2, snr=20, seed=0).Y
    return ngmca.separate(Y, 2, n_init=1, domain="direct", constraints=[])


def test_a_separation_shows_every_source_and_its_share(found):
    page = found._repr_html_()
    tree = parsed(page)
    assert len(tree.findall("table/tr")) == 3
    assert len(tree.findall(".//{http://www.w3.org/2000/svg}svg")) == 4
    assert f"{100 * found.shares[:, 0].mean():.1f} %" in page


def test_many_sources_are_some_rows(found):
    many = replace(found, A=np.ones((3, 40)), S=np.ones((40, 5)))
    assert "28 more are not shown." in many._repr_html_()
    assert len(parsed(many._repr_html_()).findall("table/tr")) == 13


def test_sources_on_disk_are_not_read(found):
    class Store:
        shape = (2, 100)

        def __getitem__(self, key):
            raise AssertionError("read")

    assert "not in memory" in found.with_sources(Store())._repr_html_()


def test_names_and_notes_of_files_are_escaped():
    data = Dataset(np.ones((2, 5)), axis_name=BAD, row_names=(BAD, "b"), notes=(BAD,))
    page = data._repr_html_()
    assert "<script" not in page
    assert next(cell.text for cell in parsed(page).iter("td")) == BAD


def test_some_measurements_of_many_are_shown_and_none_on_disk(tmp_path):
    data = Dataset(np.ones((50, 5)))
    assert "6 of 50 measurements are shown." in data._repr_html_()
    np.save(tmp_path / "y.npy", np.ones((50, 5)))
    mapped = Dataset(np.load(tmp_path / "y.npy", mmap_mode="r"))
    assert "<svg" not in mapped._repr_html_()


def test_a_number_of_sources_shows_its_criteria():
    choice = ngmca.choose_rank(ngmca.simulate.spectra(m=20, n=200, r=2, snr=30, seed=0).Y, 4, seed=0)
    tree = parsed(choice._repr_html_())
    assert tree[0].text == "2 sources"
    assert [row[1].text for row in tree.findall("table/tr")[1:]] == ["2", "2", "2"]
    assert choice.advice in choice._repr_html_()


def test_error_bars_are_drawn_unless_the_model_is_refuted():
    bars = Marginals(np.array([[1.0, 2.0, 3.0]]), np.array([[0.1, 0.1, 0.1]]))
    one = Marginals(np.ones(2), np.ones(2))
    found = Posterior(
        S=bars, A=bars, noise=one, pi=None, stay=None, beta=None, traces={"noise": np.ones((2, 4))},
        rhat={"S": np.array([1.02])}, ess={}, n_samples=4, burn=1, error=0.1, settled=True,
        warnings=(BAD,),
    )  # fmt: skip
    page = found._repr_html_()
    assert "<polygon" in page
    assert "1.020" in page
    assert "<script" not in page
    refuted = replace(found, refuted=True)._repr_html_()
    assert "<polygon" not in refuted
    assert "contradict" in refuted
