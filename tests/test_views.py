"""A separation in the hands of Python: a picture, tables, shares, and which answer is shown."""

import sys
from dataclasses import replace

import numpy as np
import pytest

import ngmca
from ngmca.io import Dataset

MIXTURE = ngmca.simulate.spectra(m=6, n=80, r=2, lines=4, snr=25, seed=0)
DATA = Dataset(
    MIXTURE.Y, np.linspace(9, 1, 80), "chemical shift", "ppm", tuple(f"tube {i}" for i in range(6))
)


@pytest.fixture(scope="module")
def separation():
    return ngmca.separate(MIXTURE.Y, 2, method=ngmca.Soft(n_iter=20), domain="direct", n_init=1)


def test_shares_are_those_of_the_signal(separation):
    expected = separation.A * separation.S.sum(axis=1)
    expected /= (separation.A @ separation.S).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(separation.shares, expected)
    np.testing.assert_allclose(separation.scaled(1e300).shares, expected)
    np.testing.assert_allclose(replace(separation, S=0 * separation.S).shares, 0)
    # they do not depend on how the scale is divided between A and S, as the columns of A do
    other = replace(separation, A=separation.A * [2, 1], S=separation.S / [[2], [1]])
    np.testing.assert_allclose(other.shares, expected)


@pytest.mark.filterwarnings("ignore")
def test_the_answer_is_the_mean_of_a_sparse_posterior_that_holds(separation):
    assert separation.answer[1] is separation.S
    found = ngmca.posterior(MIXTURE.Y, separation, n_samples=10, burn=5, domain="direct", seed=0)
    for refuted, model, mean in (
        (False, "sparse", True),
        (True, "sparse", False),
        (False, "bands", False),
    ):
        with_bars = replace(separation, posterior=replace(found, refuted=refuted, model=model))
        A, S = with_bars.answer
        assert S is (found.S.mean if mean else separation.S)
        assert A is (found.A.mean if mean else separation.A)


def test_tables_have_axis_names_and_shares(separation):
    sources, mixing = separation.to_pandas(DATA)
    assert sources.index.name == "chemical shift [ppm]"
    np.testing.assert_array_equal(sources.index, DATA.axis)
    np.testing.assert_array_equal(sources["source 2"], separation.S[1])
    assert list(mixing.index) == list(DATA.names)
    assert list(mixing.columns) == ["source 1", "source 2", "source 1 share (%)", "source 2 share (%)"]
    np.testing.assert_array_equal(mixing["source 1"], separation.A[:, 0])
    np.testing.assert_allclose(mixing[["source 1 share (%)", "source 2 share (%)"]].sum(axis=1), 100)


def test_tables_of_a_frame_and_of_nothing(separation):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(MIXTURE.Y, columns=pd.Index(DATA.axis, name="ppm"), index=list("abcdef"))
    sources, mixing = separation.to_pandas(frame)
    assert (sources.index.name, list(mixing.index)) == ("chemical shift [ppm]", list("abcdef"))
    np.testing.assert_array_equal(sources.index, DATA.axis)
    sources, mixing = separation.to_pandas()
    assert (list(sources.index)[-1], list(mixing.index)[-1]) == (79, "6")


@pytest.mark.parametrize("shape", [None, (2, 3)])
def test_the_picture_has_the_sources_and_their_shares(separation, shape):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    figure = separation.plot(replace(DATA, image_shape=shape))
    drawn = [axes for axes in figure.axes if axes.lines]
    assert len(drawn) == 2
    for axes, row in zip(drawn, separation.S, strict=True):
        np.testing.assert_array_equal(axes.lines[0].get_xdata(), DATA.axis)
        np.testing.assert_array_equal(axes.lines[0].get_ydata(), row)
    assert drawn[-1].get_xlim() == (9, 1)  # as the axis of the data
    assert drawn[-1].get_xlabel() == "chemical shift [ppm]"
    if shape:
        maps = [axes.images[0].get_array() for axes in figure.axes if axes.images]
        np.testing.assert_allclose(maps[1], 100 * separation.shares[:, 1].reshape(shape))
    else:
        bars = [[bar.get_height() for bar in axes.patches] for axes in figure.axes if axes.patches]
        np.testing.assert_allclose(np.transpose(bars), 100 * separation.shares)
    figure.canvas.draw()
    pyplot.close(figure)


@pytest.mark.parametrize(("library", "use"), [("pandas", "to_pandas"), ("matplotlib", "plot")])
def test_a_missing_library_is_named(separation, monkeypatch, library, use):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=f"{use} needs {library}, which is not installed: pip install"):
        getattr(separation, use)()


@pytest.mark.parametrize("use", ["plot", "to_pandas"])
def test_data_of_another_shape_are_named(separation, use):
    with pytest.raises(
        ValueError, match=r"data have the shape 80 x 6, but 6 x 80 were separated .* transposed"
    ):
        getattr(separation, use)(Dataset(MIXTURE.Y.T))
