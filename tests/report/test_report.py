"""The report: what it says, what it draws, and that it is one file that needs nothing else."""

import json
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from plotly_figures import checked

import ngmca
from ngmca._support.messages import message, option
from ngmca.answers.how_sure import diagnose
from ngmca.answers.run import Run
from ngmca.answers.wording import Finding, percent
from ngmca.io import Dataset
from ngmca.report import figures, html, html_page, write
from ngmca.report import plotly_style as drawing
from ngmca.report import quality_figures as residual_figures
from ngmca.report.answer_sections import source_answers
from ngmca.report.mixing_figures import image, shares, weights
from ngmca.report.peaks import peaks
from ngmca.report.plotly_figure import Figure
from ngmca.report.sections import composition, fits, sources
from ngmca.result import Others, Restart
from ngmca.saving.results import _write_tables


@cache
def separated(r, m, n):
    Y = ngmca.simulate.spectra(m=m, n=n, r=r, lines=4, snr=20, seed=0).Y
    found = ngmca.separate(Y, r, method=ngmca.Soft(n_iter=20), n_init=1)
    return Y, found, diagnose(Y, found)


def made_run(r=3, m=8, n=200, image=None, **fields):
    Y, separation, numbers = separated(r, m, n)
    data = Dataset(Y.copy(), np.linspace(1, 9, n), image_shape=image, **fields)
    return Run(separation, numbers, data)


def test_a_fit_is_drawn_with_its_background():
    Y = made_run().data.Y + np.linspace(1, 3, 200)
    method = ngmca.Soft(n_iter=5)
    found = ngmca.separate(Y, 3, method=method, constraints=[ngmca.Baseline("polynomial")], n_init=1)
    run = Run(found, diagnose(Y, found), Dataset(Y))
    i = run.diagnostics.picks[0]
    model = found.A[i] @ found.S + found.background.weights[i] @ found.background.basis
    drawn = {trace.name: np.asarray(trace.y) for trace in checked(figures.fit(run, 0)).data}
    np.testing.assert_allclose(drawn["fit"], model, rtol=1e-5)
    np.testing.assert_allclose(drawn["residual"], Y[i] - model, rtol=1e-5, atol=1e-5)


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
    for figure in (figures.sources(run), figures.fit(run, 0), residual_figures.along_axis(run)):
        left, right = checked(figure).layout.xaxis.range
        assert (left > right) is expected


@pytest.mark.parametrize("shape", [None, (2, 4)])
@pytest.mark.parametrize("exponent", [-600, 600])
def test_numbers_of_any_size_are_drawn(exponent, shape):
    Y = ngmca.simulate.spectra(m=8, n=200, r=3, lines=4, snr=20, seed=0).Y
    told = []
    for unit in (1.0, 2.0**exponent):
        separation = ngmca.separate(unit * Y, 3, method=ngmca.Soft(n_iter=20), n_init=1)
        run = Run(separation, diagnose(unit * Y, separation), Dataset(unit * Y, image_shape=shape))
        told.append(re.search(r"<b>([\d.]+ dB)</b><span>signal to noise", html(run))[1])
        for found, drawn in zip(separation.S, checked(figures.sources(run)).data, strict=True):
            np.testing.assert_allclose(drawn.y / unit, found / unit, rtol=1e-6)
    assert told[0] == told[1]


def test_long_lines_keep_their_peaks():
    y = np.zeros(200_003)
    y[[77_777, 150_001, 200_002]] = [5, -3, 2]
    x, thinned = drawing.thin(np.arange(len(y)), y)
    assert len(x) <= drawing.MAX_POINTS + 100
    assert (np.diff(x) > 0).all()
    for place in (77_777, 150_001, 200_002):
        assert thinned[list(x).index(place)] == y[place]


def test_peaks_are_found_where_they_are():
    x = np.linspace(10, 0, 1001)
    y = sum(h / (1 + ((x - c) / 0.05) ** 2) for c, h in ((2.5, 3), (7.0, 5), (4.0, 1)))
    np.testing.assert_allclose(peaks(x, y), [7.0, 2.5, 4.0], atol=0.011)
    assert peaks(x, np.zeros(1001)) == []


def test_a_band_with_wiggles_is_one_peak():
    rng = np.random.default_rng(0)
    x = np.linspace(0, 10, 2000)
    bands = 5 * np.exp(-((x - 3) ** 2)) + 2 * np.exp(-((x - 7) ** 2))
    wiggles = 1 + 0.05 * np.sin(12 * x) + 0.01 * rng.standard_normal(2000)
    found = peaks(x, bands * wiggles)
    np.testing.assert_allclose(found, [3, 7], atol=0.3)


def test_an_end_of_the_axis_is_no_peak():
    x = np.linspace(350, 700, 176)
    band = np.exp(-(((x - 600) / 30) ** 2))
    edge = 3 * np.exp(-(x - 350) / 40)
    for rising in (edge, edge[::-1], np.minimum(edge, 2.5), edge * (1 + 1e-3 * np.cos(x))):
        assert peaks(x, rising) == []
    np.testing.assert_allclose(peaks(x, edge + band), [600], atol=3)
    np.testing.assert_allclose(peaks(x, 10 + np.exp(-(((x - 500) / 30) ** 2))), [500], atol=3)


def test_shares_are_drawn_and_written_in_percent(tmp_path):
    run = made_run()
    figure = checked(shares(run))
    assert figure.layout.barmode == "stack"
    stacked = np.array([trace.y for trace in figure.data])
    np.testing.assert_allclose(stacked.T, 100 * run.separation.shares, rtol=1e-6)
    np.testing.assert_allclose(stacked.sum(axis=0), 100, rtol=1e-6)
    _write_tables(tmp_path, run)
    head, first, *_ = (tmp_path / "mixing.csv").read_text().splitlines()
    expected = [
        "measurement",
        *(f"source {i}" for i in (1, 2, 3)),
        *(f"source {i} share (%)" for i in (1, 2, 3)),
    ]
    assert head.split(",") == expected
    np.testing.assert_array_equal(
        np.array(first.split(",")[1:], float),
        [*run.separation.A[0], *(100 * run.separation.shares[0])],
    )
    plots = composition(replace(run, data=replace(run.data, image_shape=(2, 4)))).plots
    maps = [checked(plot) for plot in plots]
    np.testing.assert_allclose(maps[1].data[0].z.ravel(), 100 * run.separation.shares[:, 1], rtol=1e-6)


AQUATION = [f"Aquation of trans-[Co(en)2Cl2]+ (t{i})" for i in range(1, 6)]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (AQUATION, ["…(t1)", "…(t2)", "…(t3)", "…(t4)", "…(t5)"]),
        (["short", "names"], ["short", "names"]),
        (["early a longish name", "later, a longish name"], ["early a longi…", "later, a long…"]),
        ([f"run_of_the_mill_0{i}_on_monday.csv" for i in (1, 2)], ["…01…", "…02…"]),
        (["x" * 40 + "1", "x" * 40 + "2"], ["…xxxxxxxxxxxx1", "…xxxxxxxxxxxx2"]),
        (["x" * 40 + i + "y" * 40 for i in "ab"], ["1: xxxxxxxxxx…", "2: xxxxxxxxxx…"]),
        (["the very same name"] * 2, ["the very same…"] * 2),
    ],
)
def test_short_names_differ_where_the_names_do(names, expected):
    assert drawing.shortened_all(names) == expected


def test_fits_of_names_that_begin_alike_have_titles_of_their_own():
    run = made_run(row_names=(*AQUATION, *(name.replace("t", "u") for name in AQUATION[:3])))
    titles = [checked(plot).layout.title.text for plot in fits(run).plots]
    assert len(set(titles)) == len(titles) > 1


def test_warnings_are_told_in_the_words_of_the_reader():
    run = made_run()
    told = Finding("chains", "Care", message("Sample longer ({}).", option("n_samples", 500)))
    vars(run)["findings"] = [told]  # a cached property
    assert "Sample longer (n_samples=500)." in html(run)
    page = html(run, lambda one: f"--{one.name} {one.value}")
    assert "Sample longer (<span class=option>--n_samples</span> 500)." in page
    assert "n_samples=" not in page


def test_names_that_have_no_room_side_by_side_stand_upright():
    short = made_run(row_names=tuple("abcdefgh"))
    long = made_run(row_names=tuple(f"a name for {i}, too long" for i in range(8)))
    assert checked(shares(short)).layout.xaxis.tickangle is None
    assert checked(shares(long)).layout.xaxis.tickangle == -90
    assert len(checked(shares(long)).layout.xaxis.ticktext) == 8


@pytest.mark.parametrize("every_pixel", [False, True])
def test_maps_have_the_coordinates_of_the_file(every_pixel):
    x, y = np.array([10.0, 20.0, 30.0, 40.0]), np.array([-5.0, 5.0])
    if every_pixel:
        x, y = (grid.ravel().tolist() for grid in np.meshgrid(x, y))
    data = Dataset(np.zeros((8, 3)), image_shape=(2, 4), meta={"x": x, "y": y, "x_unit": "um"})
    figure = checked(image(np.arange(8.0), data))
    np.testing.assert_array_equal(figure.data[0].x, [10, 20, 30, 40])
    np.testing.assert_array_equal(figure.data[0].y, [-5, 5])
    assert figure.layout.xaxis.title.text == "x [um]"
    assert figure.layout.yaxis.autorange == "reversed"
    falling = replace(data, meta={"y": [5.0, -5.0], "x": ["a", "b"]})
    figure = checked(image(np.arange(8.0), falling))
    assert figure.layout.yaxis.autorange is True  # the first row stays on top
    np.testing.assert_array_equal(figure.data[0].x, range(4))
    assert figure.layout.xaxis.title.text == "column"


def test_a_thinned_map_keeps_its_coordinates():
    data = Dataset(np.zeros((600 * 500, 1)), image_shape=(600, 500), meta={"x": np.arange(500.0) * 2})
    figure = checked(image(np.zeros(600 * 500), data))
    step = 3
    assert figure.data[0].z.shape == (200, 166)
    np.testing.assert_allclose(figure.data[0].x[:2], [2 * (step - 1) / 2, 2 * (step + 1)])


def test_several_files_are_called_by_their_folder():
    run = made_run(meta={"path": "/data/series/first.csv"})
    assert "<h1>first.csv</h1>" in html(run)
    several = {"separate": {"data": ["/data/series/first.csv", "/data/series/second.csv"]}}
    assert "<h1>series: 2 files</h1>" in html(replace(run, record=several))
    one = {"separate": {"data": ["/data/series/first.csv"]}}
    assert "<h1>first.csv</h1>" in html(replace(run, record=one))


def test_certificates_and_thresholds_are_folded_away():
    page = html(made_run())
    inside = re.search(r"<details>(.*?)</details>", page, re.DOTALL)[1]
    assert "The sources are optimal to" in inside
    assert "Threshold of each source" in inside
    assert "The sources are optimal to" not in page.replace(inside, "")


@pytest.mark.parametrize(
    ("low", "high"), [(1e-17, 1e-5), (1.6e17, 2.6e19), (0.3, 4), (1e-6, 1), (2, 900)]
)
def test_logarithmic_axes_have_a_few_round_ticks(low, high):
    figure = Figure()
    drawing.logarithmic(figure, low, high)
    axis = checked(figure).layout.yaxis
    assert 2 <= len(axis.tickvals) <= 6
    assert len(set(axis.ticktext)) == len(axis.tickvals)
    for value, text in zip(axis.tickvals, axis.ticktext, strict=True):
        digits, _, power = text.replace("</sup>", "").partition("10<sup>")
        told = float(digits.strip("·") or 1) * 10.0 ** int(power) if power else float(text)
        assert told == pytest.approx(value)
        assert low <= value <= high


def test_frames_and_arrays_with_names_keep_their_axis(tmp_path):
    pd, xr = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    Y = ngmca.simulate.spectra(m=6, n=60, r=2, snr=20, seed=0).Y
    result, axis = (
        ngmca.separate(Y, 2, method=ngmca.Soft(n_iter=5), n_init=1),
        np.linspace(4000, 400, 60),
    )
    frame = pd.DataFrame(
        Y, columns=pd.Index(axis, name="wavenumber"), index=[f"day {i}" for i in range(6)]
    )
    array = xr.DataArray(
        Y.T, dims=("wavenumber", "day"), coords={"wavenumber": axis, "day": list("abcdef")}
    )
    for data, name in ((frame, "day 3"), (array, "d")):
        page = write(tmp_path / "r.html", result, data).read_text()
        assert "wavenumber [cm-1]" in page
        assert f"measurement {name}" in page or f'"{name}"' in page
    names = pd.DataFrame(Y, columns=[f"gene {i}" for i in range(60)])
    assert "channel" in write(tmp_path / "r.html", result, names).read_text()


def test_data_of_another_shape_are_named(tmp_path):
    Y = ngmca.simulate.spectra(m=6, n=60, r=2, snr=20, seed=0).Y
    result = ngmca.separate(Y, 2, method=ngmca.Soft(n_iter=5), n_init=1)
    for wrong, told in (
        (Y.T, "60 x 6, but 6 x 60"),
        (Y[:, 1:], "6 x 59, but 6 x 60"),
        (Y[0], "60, but 6 x 60"),
    ):
        with pytest.raises(ValueError, match=f"data have the shape {told} were separated"):
            write(tmp_path / "r.html", result, wrong)


def test_other_starts_stand_beside_their_source():
    run = made_run()
    assert "other starts" not in sources(run).body
    starts = (
        Restart(1.0, 250.0, (250.0,) * 3, equal=True),
        Restart(1.001, 20.0, (48.0, 12.4, -7.6), equal=True),
    )
    body = sources(replace(run, separation=replace(run.separation, restarts=starts))).body
    assert "<th>other starts<th>" in body
    assert re.findall(r"<td>(the same|-?\d+ dB)<td>", body) == ["the same", "12 dB", "-8 dB"]


def test_equally_good_answers_are_drawn_around_the_sources_that_differ():
    run = made_run()
    assert "dotted" not in sources(run).body
    assert len(figures.sources(run).data) == 3
    S, A = run.separation.S, run.separation.A
    high = S.copy()
    high[1, 7] += 2 * S.max()
    others = Others(2, S_low=0.5 * (high > S) * S + (high == S) * S, S_high=high, A_low=A, A_high=A)
    run = replace(run, separation=replace(run.separation, others=others))
    assert "in 2 starts that fit equally well" in sources(run).body
    figure = checked(figures.sources(run))
    assert [trace.name for trace in figure.data] == [
        "source 1", "source 2", "lowest", "highest", "source 3",
    ]  # fmt: skip
    low, top = figure.data[2:4]
    assert {low.yaxis, top.yaxis} == {figure.data[1].yaxis}
    np.testing.assert_allclose(top.y, high[1], rtol=1e-6)
    np.testing.assert_allclose(low.y, others.S_low[1], rtol=1e-6)
    assert top.fill == "tonexty"
    assert figure.layout.yaxis2.range[1] > high[1].max()


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
    result = ngmca.separate(Y, 2, method=ngmca.Soft(n_iter=10), n_init=1)
    path = write(tmp_path / "r.html", result, Dataset(Y, image_shape=shape) if shape else Y, seed=0)
    page = path.read_text()
    assert ("Mixing maps" if shape else "Mixing weights") in page
    assert result.domain.name == "wavelet"  # there is one panel less about convergence
    assert page.count("<div class=plot") == 1 + 2 * (2 if shape else 1) + 4 + 4 + 3
    assert "with wavelets" in page


@pytest.mark.filterwarnings("ignore:the fit in wavelets follows the noise")
def test_methods_without_a_certificate_and_single_rows(tmp_path):
    Y = ngmca.simulate.spectra(m=5, n=60, r=2, snr=20, seed=0).Y
    assert "not available for this method" in html_of(
        ngmca.separate(Y, 2, method=ngmca.Naive(n_iter=5), n_init=1), Y
    )
    html_of(ngmca.separate(Y[:1], 1, method=ngmca.Soft(n_iter=5), n_init=1), Y[:1])
    html_of(
        ngmca.separate(np.zeros((3, 20)), 1, method=ngmca.Soft(n_iter=3), n_init=1), np.zeros((3, 20))
    )


def html_of(separation, Y):
    return html(Run(separation, diagnose(Y, separation), Dataset(Y)))


def test_the_page_of_many_sources_and_measurements_is_small_enough_to_send():
    rng = np.random.default_rng(0)
    A, S = rng.random((500, 50)), np.where(rng.random((50, 5000)) < 0.1, rng.random((50, 5000)), 0.0)
    Y = A @ S + 0.01 * rng.standard_normal((500, 5000))
    states = list(ngmca.iterate(Y[:, :200], ngmca.Task(50, method=ngmca.Soft(n_iter=2))))
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


def test_a_direction_that_was_asked_for_is_drawn():
    for unit, asked, falls in (("nm", "falling", True), ("cm-1", "rising", False)):
        data = Dataset(np.ones((2, 3)), np.arange(3.0), "x", unit, meta={"axis_direction": asked})
        assert drawing.is_reversed(data) is falls


def test_twenty_four_sources_have_colours_of_their_own():
    assert len({drawing.colour(i) for i in range(24)}) == 24
    assert all(re.fullmatch(r"#[0-9A-Fa-f]{6}", drawing.colour(i)) for i in range(24))


def test_masses_are_drawn_as_sticks():
    run = made_run()
    y = np.where(np.arange(200) % 5 == 0, 1.0, 0.0)
    data = replace(run.data, axis_name="m/z")
    stick = drawing.line(data, y, "a", "#000000", width=1, fill="tozeroy")
    assert len(stick["x"]) == 3 * 40
    np.testing.assert_array_equal(stick["y"][:2], [0, 1])
    assert np.isnan(stick["y"][2])
    assert stick["fill"] is None
    assert len(drawing.line(run.data, y, "a", "#000000", width=1)["x"]) == 200


@pytest.mark.parametrize(
    ("names", "expected", "title"),
    [
        (("0", "0.5", "1", "2", "5", "9", "20", "60"), [0, 0.5, 1, 2, 5, 9, 20, 60], "measurement"),
        (tuple(f"time (s)={2.5 * i:g}" for i in range(8)), 2.5 * np.arange(8), "time (s)"),
        (tuple("12345678"), np.arange(1, 9), None),
        (tuple("abcdefgh"), np.arange(1, 9), None),
        (("3", "1", "2", "5", "4", "7", "6", "8"), np.arange(1, 9), None),
    ],
)
def test_amounts_are_drawn_against_the_coordinates_of_measurements(names, expected, title):
    run = made_run(row_names=names)
    for figure in map(checked, (shares(run), weights(run))):
        np.testing.assert_allclose(figure.data[0].x, expected)
        axes = [axis.title.text for axis in figure.select_xaxes()]
        assert title is None or title in axes


def test_there_are_no_empty_columns_without_a_library():
    page = source_answers(made_run())
    assert "similarity" not in page
    assert "substance" not in page
    assert page.count("<th>") == 4 + 3  # of the head with the highest peaks, and one for each source


def test_an_option_is_not_broken_after_its_hyphens():
    text = "<p class='a--b'>no standards (--standards), --baseline splines</p><pre>x --noise 1</pre>"
    found = html_page.unbroken(text)
    assert "(<span class=option>--standards</span>)" in found
    assert "<span class=option>--baseline</span> splines" in found
    assert "class='a--b'" in found
    assert re.sub("</?span[^>]*>", "", found) == text


def test_tables_scroll_where_they_are_too_wide(tmp_path):
    run = made_run()
    page = write(tmp_path / "r.html", run.separation, run.data).read_text(encoding="utf-8")
    assert page.count("<table") == page.count("<div class=wide><table") > 1
    assert ".wide{overflow-x:auto}" in page
