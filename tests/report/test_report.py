"""The report: what it says, what it draws, and that it is one file that needs nothing else."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import ngmca
from ngmca.diagnosis import diagnose, percent
from ngmca.io import Dataset
from ngmca.report import drawing, figures, html, write
from ngmca.report.sections import peaks
from ngmca.saving.results import Run


def made_run(r=3, m=8, n=200, image=None, **fields):
    mixture = ngmca.simulate.spectra(m=m, n=n, r=r, lines=4, snr=20, seed=0)
    separation = ngmca.separate(mixture.Y, r, n_iter=20, seed=0)
    data = Dataset(mixture.Y, np.linspace(1, 9, n), image_shape=image, **fields)
    return Run(separation, diagnose(mixture.Y, separation), data)


@pytest.mark.parametrize(
    ("fields", "falling", "expected"),
    [
        ({"axis_unit": "ppm"}, False, True),
        ({"axis_unit": "cm-1"}, False, True),
        ({"axis_unit": "cm-1", "axis_name": "Raman shift"}, True, False),
        ({"axis_unit": "nm"}, False, False),
        ({"axis_unit": "Hz"}, True, True),
        ({"axis_unit": "keV"}, False, False),
    ],
)
def test_axes_are_drawn_as_the_field_draws_them(fields, falling, expected):
    axis = np.linspace(9, 1, 200) if falling else np.linspace(1, 9, 200)
    run = made_run()
    run = replace(run, data=replace(run.data, axis=axis, **fields))
    for figure in (figures.sources(run), figures.fit(run, 0), figures.along_axis(run)):
        left, right = figure.layout.xaxis.range
        assert (left > right) is expected


def test_long_lines_keep_their_peaks():
    y = np.zeros(200_003)
    y[[77_777, 150_001, 200_002]] = [5, -3, 2]
    x, thinned = drawing.thin(np.arange(len(y)), y)
    assert len(x) <= drawing.LONGEST + 100
    assert (np.diff(x) > 0).all()
    for place in (77_777, 150_001, 200_002):
        assert thinned[list(x).index(place)] == y[place]


def test_peaks_are_found_where_they_are():
    x = np.linspace(10, 0, 1001)
    y = sum(h / (1 + ((x - c) / 0.05) ** 2) for c, h in ((2.5, 3), (7.0, 5), (4.0, 1)))
    np.testing.assert_allclose(peaks(x, y), [7.0, 2.5, 4.0], atol=0.011)
    assert peaks(x, np.zeros(1001)) == []


def test_the_page_is_one_file_that_asks_for_nothing(tmp_path):
    run = made_run(meta={"title": "<script>alert(1)</script>"}, row_names=tuple("a</script>bcdefg"[:8]))
    page = html(run)
    head = page[: page.index("<script>")]
    assert "<script>alert(1)" not in page
    assert not re.search(r"(src|href)=['\"]?(https?:)?//", page.split("</script>", 1)[1])
    assert "://" not in head
    for text in re.findall(r"<script type='application/json'>(.*?)</script>", page, re.DOTALL):
        json.loads(text)


def test_names_that_are_not_utf_8_are_written_out(tmp_path):
    run = made_run(meta={"path": "/tmp/s\udce9.csv"}, row_names=("\udce9", *"bcdefgh"))
    page = write(tmp_path / "r.html", run.separation, run.data).read_text(encoding="utf-8")
    assert r"<h1>s\udce9.csv</h1>" in page


@pytest.mark.parametrize("shape", [None, (2, 4)])
def test_three_lines_of_python(tmp_path, shape):
    Y = ngmca.simulate.spectra(m=8, n=100, r=2, snr=20, seed=0).Y
    result = ngmca.separate(Y, 2, n_iter=10, seed=0)
    path = write(tmp_path / "r.html", result, Dataset(Y, image_shape=shape) if shape else Y, seed=0)
    page = path.read_text()
    assert ("Mixing maps" if shape else "Mixing weights") in page
    assert result.domain.name == "wavelet"  # there is one panel less about convergence
    assert page.count("<div class=plot") == 1 + (2 if shape else 1) + 4 + 4 + 3
    assert "in wavelets" in page


def test_methods_without_a_certificate_and_single_rows(tmp_path):
    Y = ngmca.simulate.spectra(m=5, n=60, r=2, snr=20, seed=0).Y
    assert "this method has none" in html_of(ngmca.separate(Y, 2, method="naive", n_iter=5, seed=0), Y)
    html_of(ngmca.separate(Y[:1], 1, n_iter=5, seed=0), Y[:1])
    html_of(ngmca.separate(np.zeros((3, 20)), 1, n_iter=3, seed=0), np.zeros((3, 20)))


def html_of(separation, Y):
    return html(Run(separation, diagnose(Y, separation), Dataset(Y)))


def test_the_page_of_many_sources_and_measurements_is_small_enough_to_send():
    rng = np.random.default_rng(0)
    A, S = rng.random((500, 50)), np.where(rng.random((50, 5000)) < 0.1, rng.random((50, 5000)), 0.0)
    Y = A @ S + 0.01 * rng.standard_normal((500, 5000))
    states = list(ngmca.iterate(Y[:, :200], 50, n_iter=2, seed=0))
    last = states[-1]
    separation = ngmca.Separation(
        A=A, S=S, lam=last.lam, noise=np.full(500, 0.01), n_iter=2, stopped="iterations", violation=0.0,
        history=ngmca.History(np.ones(2), np.ones((2, 50)), np.ones(2), np.ones(2), np.ones(2)),
    )  # fmt: skip
    page = html_of(separation, Y)
    assert len(page) < 12e6


def test_shares_are_told_as_shares_of_energy_and_the_axis_has_channels():
    run = made_run()
    page = html(run)
    body = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert "share of the energy of all sources" in body
    assert "<th>share of energy<th>" in body
    energy = np.sum(run.separation.S**2, axis=1)  # columns of A have norm 1
    for i, share in enumerate(energy / energy.sum()):
        assert f"{i + 1}<td>{percent(share)}<td>" in body
    assert "measurements x channels" in body
    assert "samples" not in body
    assert "--" not in re.sub(r"<style.*?</style>", "", body, flags=re.DOTALL)
