"""The report: what it says, what it draws, and that it is one file that needs nothing else."""

import json
import re
import time
from dataclasses import replace

import numpy as np
import pytest

import ngmca
from ngmca import diagnostics, findings
from ngmca.io import Dataset
from ngmca.report import drawing, figures, html, write
from ngmca.report.sections import peaks
from ngmca.results import Run


def separated(r, *, m=24, n=1200, true=5, snr=18.0, n_iter=150, **options):
    mixture = ngmca.simulate.spectra(m=m, n=n, r=true, lines=7, width=3.0, snr=snr, seed=1)
    separation = ngmca.separate(mixture.Y, r, n_iter=n_iter, seed=0, **options)
    return mixture, separation


def kinds(Y, separation):
    return [found.kind for found in findings.findings(separation, diagnostics.diagnose(Y, separation))]


def made_run(r=3, m=8, n=200, image=None, **fields):
    mixture = ngmca.simulate.spectra(m=m, n=n, r=r, lines=4, snr=20, seed=0)
    separation = ngmca.separate(mixture.Y, r, n_iter=20, seed=0)
    data = Dataset(mixture.Y, np.linspace(1, 9, n), image_shape=image, **fields)
    return Run(separation, diagnostics.diagnose(mixture.Y, separation), data)


@pytest.mark.parametrize("snr", [10.0, 18.0, 30.0])
def test_the_right_number_of_sources_gives_no_warning_and_a_wrong_one_does(snr):
    expected = {4: ["structure"], 5: [], 7: ["many"]}
    for r, kind in expected.items():
        mixture, separation = separated(r, snr=snr)
        found = kinds(mixture.Y, separation)
        assert found[: len(kind)] == kind
        assert set(found) <= {*kind, "noise"}  # sources too many may be noise, too


def test_pure_noise_is_called_noise():
    mixture, separation = separated(8, snr=10)
    found = kinds(mixture.Y, separation)
    assert found.count("noise") >= 2


def test_copies_and_empty_sources_are_named():
    mixture, separation = separated(5)
    S = separation.S.copy()
    S[3] = 0.5 * S[0] * np.random.default_rng(0).uniform(0.9, 1.1, S.shape[1])
    S[4] = 0
    warned = findings.findings(
        replace(separation, S=S), diagnostics.diagnose(mixture.Y, replace(separation, S=S))
    )
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


def test_diagnostics_are_those_of_the_residual():
    mixture, separation = separated(5, n=300)
    d = diagnostics.diagnose(mixture.Y, separation)
    R = mixture.Y - separation.A @ separation.S
    assert d.explained == pytest.approx(1 - np.sum(R**2) / np.sum(mixture.Y**2))
    np.testing.assert_allclose(d.row_rms, np.sqrt(np.mean(R**2, axis=1)))
    Z = R / d.sigma[:, None]
    np.testing.assert_allclose(d.column_rms, np.sqrt(np.mean(Z**2, axis=0)))
    W = separation.A / d.sigma[:, None]
    outside = Z - W @ np.linalg.lstsq(W, Z, rcond=None)[0]
    np.testing.assert_allclose(d.singular, np.linalg.svd(outside, compute_uv=False)[: len(d.singular)])
    assert d.share.sum() == pytest.approx(1)
    share = np.sum(R**2, axis=1) / np.sum(mixture.Y**2, axis=1)
    assert d.picks[0] == share.argmin()
    assert d.picks[-1] == share.argmax()
    np.testing.assert_array_equal(d.picked, mixture.Y[d.picks])


def test_blocks_do_not_change_the_diagnostics(monkeypatch):
    mixture, separation = separated(5, n=300)
    whole = diagnostics.diagnose(mixture.Y, separation)
    monkeypatch.setattr(diagnostics, "BLOCK", 700)
    parts = diagnostics.diagnose(mixture.Y, separation)
    for name, value in vars(whole).items():
        np.testing.assert_allclose(getattr(parts, name), value, rtol=1e-9, atol=1e-12)


def test_noise_before_is_near_the_truth():
    for kind, options in ((ngmca.simulate.sparse, {}), (ngmca.simulate.spectra, {"lines": 8})):
        for m, n in ((30, 400), (400, 30), (1200, 1100)):
            mixture = kind(m=m, n=n, r=3, snr=20, seed=0, **options)
            assert diagnostics.noise_before(mixture.Y) == pytest.approx(mixture.noise.std(), rel=0.12)


def test_large_and_small_matrices_have_the_same_singular_values():
    Y = np.random.default_rng(0).standard_normal((1100, 1050))
    expected = np.linalg.svd(Y, compute_uv=False)[:20]
    np.testing.assert_allclose(diagnostics.singular_values(Y), expected, rtol=1e-8)


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
    assert "http" not in head
    for text in re.findall(r"<script type='application/json'>(.*?)</script>", page, re.DOTALL):
        json.loads(text)


@pytest.mark.parametrize("shape", [None, (2, 4)])
def test_three_lines_of_python(tmp_path, shape):
    Y = ngmca.simulate.spectra(m=8, n=100, r=2, snr=20, seed=0).Y
    result = ngmca.separate(Y, 2, n_iter=10, seed=0)
    path = write(tmp_path / "r.html", result, Dataset(Y, image_shape=shape) if shape else Y, seed=0)
    page = path.read_text()
    assert ("Mixing maps" if shape else "Mixing weights") in page
    assert page.count("<div class=plot") == 1 + (2 if shape else 1) + 4 + 4 + 4


def test_methods_without_a_certificate_and_single_rows(tmp_path):
    Y = ngmca.simulate.spectra(m=5, n=60, r=2, snr=20, seed=0).Y
    assert "this method has none" in html_of(ngmca.separate(Y, 2, method="naive", n_iter=5, seed=0), Y)
    html_of(ngmca.separate(Y[:1], 1, n_iter=5, seed=0), Y[:1])
    html_of(ngmca.separate(np.zeros((3, 20)), 1, n_iter=3, seed=0), np.zeros((3, 20)))


def html_of(separation, Y):
    return html(Run(separation, diagnostics.diagnose(Y, separation), Dataset(Y)))


def test_it_is_fast_for_many_sources_and_measurements():
    rng = np.random.default_rng(0)
    A, S = rng.random((500, 50)), np.where(rng.random((50, 5000)) < 0.1, rng.random((50, 5000)), 0.0)
    Y = A @ S + 0.01 * rng.standard_normal((500, 5000))
    states = list(ngmca.iterate(Y[:, :200], 50, n_iter=2, seed=0))
    last = states[-1]
    separation = ngmca.Separation(
        A=A, S=S, lam=last.lam, noise=np.full(500, 0.01), n_iter=2, stopped="iterations", violation=0.0,
        history=ngmca.History(np.ones(2), np.ones((2, 50)), np.ones(2), np.ones(2)),
    )  # fmt: skip
    begun = time.perf_counter()
    page = html_of(separation, Y)
    assert time.perf_counter() - begun < 30  # 3 s alone on one core
    assert len(page) < 12e6
