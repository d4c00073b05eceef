"""Several techniques, one chemistry: matrices of the same measurements on different axes share A."""

import numpy as np
import pandas as pd
import pytest
from command_line import run

import ngmca
from ngmca._support.messages import ArgumentError
from ngmca.io import Dataset
from ngmca.settings.run_file import from_file
from ngmca.simulate.mixture import mix

NAMES = tuple(f"sample {i}" for i in range(24))
SMALL = {"domain": "direct", "n_init": 1}


def pair(seed=0, m=24, r=3, channels=(60, 90), factor=1000.0, snr=(12.0, 12.0)):
    """Two techniques of the same samples, in different units."""
    rng = np.random.default_rng(seed)
    A = rng.random((m, r))
    sources = [ngmca.simulate.sparse(m, n, r, p_S=0.3, snr=None, seed=rng).S for n in channels]
    scales = zip(sources, (1.0, factor), snr, strict=True)
    return [mix(A, scale * S, level, rng) for S, scale, level in scales]


def sdr(true, found):
    return ngmca.evaluate(true, found).mean_sdr


@pytest.fixture(scope="module")
def both():
    return pair()


@pytest.fixture(scope="module")
def found(both):
    return ngmca.separate([x.Y for x in both], 3, shared="mixing", **SMALL)


def test_amounts_are_better_than_those_of_either_technique():
    gains = []
    for seed in range(3):
        x, y = pair(seed)
        alone = [sdr(x.A.T, ngmca.separate(one.Y, 3, **SMALL).A.T) for one in (x, y)]
        found = ngmca.separate([x.Y, y.Y], 3, shared="mixing", **SMALL)
        gains.append(sdr(x.A.T, found.A.T) - max(alone))
        for one, part in zip((x, y), found.techniques, strict=True):
            assert sdr(one.S, part.S) > 12
    assert np.mean(gains) > 2


def test_each_technique_counts_by_its_noise():
    """A technique with much more noise costs nothing, although its numbers are larger."""
    x, y = pair(snr=(20.0, -10.0))
    alone = sdr(x.A.T, ngmca.separate(x.Y, 3, **SMALL).A.T)
    found = ngmca.separate([x.Y, y.Y], 3, shared="mixing", **SMALL)
    plain = ngmca.separate(np.hstack([x.Y, y.Y]), 3, **SMALL)
    assert sdr(x.A.T, found.A.T) > alone - 0.5
    assert sdr(x.A.T, plain.A.T) < alone - 10


def test_units_do_not_change_the_answer(both, found):
    x, y = both
    exact = ngmca.separate([x.Y, 1024 * y.Y], 3, shared="mixing", **SMALL)
    np.testing.assert_array_equal(exact.A, found.A)
    np.testing.assert_array_equal(exact.techniques[1].S, 1024 * found.techniques[1].S)
    other = ngmca.separate([x.Y, 1e-9 * y.Y], 3, shared="mixing", **SMALL)
    np.testing.assert_allclose(other.A, found.A, atol=1e-9)
    np.testing.assert_allclose(other.techniques[0].S, found.techniques[0].S, atol=1e-8)


def test_parts_of_the_answer_are_in_the_units_of_their_technique(both, found):
    assert repr(found).startswith("Separation: 3 sources in 24 x 150 data of 2 techniques")
    assert [one.name for one in found.joined] == ["technique 1", "technique 2"]
    for x, part, one in zip(both, found.techniques, found.joined, strict=True):
        assert part.A is found.A
        assert one.unit == pytest.approx(x.noise.std(), rel=0.15)
        assert np.median(part.noise) == pytest.approx(x.noise.std(), rel=0.1)
        np.testing.assert_array_equal(part.S, found.S[:, one.channels] * one.unit)
        residual = x.Y - part.A @ part.S
        assert residual.std() == pytest.approx(x.noise.std(), rel=0.1)
    single = ngmca.separate(both[0].Y, 3, **SMALL)
    assert single.techniques == (single,)


def test_error_bars_and_ranges_are_cut_with_the_sources(both):
    given = {"posterior": ngmca.Sampling(n_samples=4, burn=2), "robust": True}
    Y = [x.Y.copy() for x in both]
    Y[1][3, 7] += 1e3 * both[1].noise.std()
    with pytest.warns(UserWarning, match="chains"):
        found = ngmca.separate(Y, 3, shared="mixing", **SMALL, **given)
    ir, raman = found.techniques
    for one, part in zip(found.joined, (ir, raman), strict=True):
        for name in ("mean", "sd"):
            whole = getattr(found.posterior.S, name)[:, one.channels]
            np.testing.assert_array_equal(getattr(part.posterior.S, name), whole * one.unit)
    assert [3, 7] in raman.outliers.tolist()
    assert [3, 67] in found.outliers.tolist()
    assert len(ir.outliers) + len(raman.outliers) == len(found.outliers)


def test_a_measurement_may_be_missing_in_one_technique(both):
    x, y = both
    gone = y.Y.copy()
    gone[[4, 11]] = np.nan
    found = ngmca.separate([x.Y, gone], 3, shared="mixing", **SMALL)
    error = ngmca.evaluate(x.A.T, found.A.T)
    there = error.S.T - x.A
    assert np.abs(there[[4, 11]]).max() < 0.25  # from the other technique alone
    assert error.mean_sdr > 15
    masked = ngmca.separate(
        [x.Y, y.Y], 3, shared="mixing", mask=[np.zeros(x.Y.shape), np.isnan(gone)], **SMALL
    )
    np.testing.assert_array_equal(masked.A, found.A)
    other = ngmca.separate([x.Y, np.ma.masked_array(y.Y, np.isnan(gone))], 3, shared="mixing", **SMALL)
    np.testing.assert_array_equal(other.A, found.A)


def test_measurements_are_matched_by_their_names(both):
    x, y = both
    order = np.random.default_rng(0).permutation(24)[:20]
    turned = Dataset(y.Y[order], row_names=tuple(NAMES[i] for i in order))
    joined = ngmca.join_techniques({"ir": Dataset(x.Y, row_names=NAMES), "raman": turned})
    assert joined.names == NAMES
    back, other = joined.split()
    np.testing.assert_allclose(back.Y, x.Y)
    np.testing.assert_allclose(other.Y[order], y.Y[order])
    assert np.isnan(other.Y[np.setdiff1d(np.arange(24), order)]).all()
    assert any(note.startswith("raman has no measurement sample ") for note in joined.notes)
    added = ngmca.join_techniques([turned, Dataset(x.Y, row_names=NAMES)])
    assert added.names == (*turned.row_names, *(name for name in NAMES if name not in turned.row_names))


def test_other_names_are_matched_by_number_with_a_note(both):
    x, y = both
    joined = ngmca.join_techniques(
        [Dataset(x.Y, row_names=NAMES), Dataset(y.Y, row_names=tuple(f"r{i}" for i in range(24)))]
    )
    assert "the names of the measurements differ: they are matched by their number." in joined.notes
    np.testing.assert_allclose(joined.split()[1].Y, y.Y)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda x, y: {"data": [x, y[:20]]}, "24 and 20 measurements, and not all .* rows of NaN"),
        (lambda x, y: {"data": x}, "shared='mixing' needs a list or a dict .* from 2 to 9 of them"),
        (lambda x, y: {"data": [x] * 10}, "from 2 to 9 of them, got 10"),
        (lambda x, y: {"noise": [1.0]}, "shared='mixing' cannot be combined with one noise level"),
        (lambda x, y: {"noise": [1.0, 0.0]}, "noise must be above 0 in every technique"),
        (lambda x, y: {"noise": [1.0, np.ones(7)]}, r"of 24 x 90 .* got the shape \(7,\)"),
        (lambda x, y: {"mask": [x > 0]}, "mask must be a list with one array for each technique"),
        (lambda x, y: {"mask": [x > 0, x > 0]}, "mask of a technique must have the shape of its data"),
        (lambda x, y: {"shared": "rows"}, "shared must be"),
        (lambda x, y: {"data": [x[0], y]}, "measurements x channels, got the shape"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(both, change, words):
    x, y = (one.Y for one in both)
    given = {"data": [x, y], "shared": "mixing"} | change(x, y)
    with pytest.raises((ArgumentError, TypeError), match=words):
        ngmca.separate(r=3, **given)


def test_given_noise_is_used_as_it_is(both):
    x, y = both
    levels = [2 * x.noise.std(), 3 * y.noise.std()]
    found = ngmca.separate([x.Y, y.Y], 3, shared="mixing", noise=levels, **SMALL)
    assert [one.unit for one in found.joined] == pytest.approx(levels)
    np.testing.assert_allclose(found.noise, 1)
    rows = np.where(np.arange(24) < 12, levels[1], 4 * levels[1])
    found = ngmca.separate([x.Y, y.Y], 3, shared="mixing", noise=[levels[0], rows], **SMALL)
    second = np.sqrt(np.mean(rows**2))
    assert found.joined[1].unit == pytest.approx(second)
    ratio = found.noise[-1] ** 2 - found.noise[0] ** 2  # means over the 150 channels
    assert ratio == pytest.approx(0.6 * 15 * (levels[1] / second) ** 2)


def test_levels_do_not_depend_on_the_kind_of_spectra():
    """Noise that is smooth along the axis, channels that are always 0, few measurements, gaps."""
    rng = np.random.default_rng(0)
    A, t = rng.random((30, 3)), np.arange(400)
    S = np.exp(-0.5 * ((t - np.array([[80], [200], [320]])) / 20) ** 2)
    white = 0.05 * rng.standard_normal((30, 440))
    smooth = np.stack([np.convolve(row, np.ones(8) / np.sqrt(8), "same")[20:-20] for row in white])
    lines = np.where(t % 4 == 0, 1.0, 0.0)
    data = [A @ S + white[:, :400], A @ S + smooth, (A @ S + white[:, :400]) * lines]
    levels = [one.unit for one in ngmca.join_techniques(data).techniques]
    assert levels[0] == pytest.approx(0.05, rel=0.05)
    assert levels[1] == pytest.approx(0.05, rel=0.25)
    assert levels[2] == pytest.approx(0.025, rel=0.2)  # root mean square over all channels
    few = ngmca.join_techniques([data[0][:6], np.where(white[:6, :400] > 0.1, np.nan, data[0][:6])])
    assert [one.unit for one in few.techniques] == pytest.approx([0.05, 0.05], rel=0.15)
    clean = [one.unit for one in ngmca.join_techniques([A @ S, 1e5 * A @ S]).techniques]
    assert clean[1] == pytest.approx(1e5 * clean[0])


def test_each_technique_has_its_own_baseline():
    rng = np.random.default_rng(1)
    x, y = pair(1, snr=(25.0, 25.0))
    slopes = rng.random((24, 1)) * np.linspace(1, 0, 60)
    Y = [x.Y + 3 * x.S.max() * slopes, y.Y]
    plain = [ngmca.Baseline("polynomial")]
    found = ngmca.separate(Y, 3, shared="mixing", constraints=plain, **SMALL)
    first, second = (part.background for part in found.techniques)
    assert (first.basis.shape, second.basis.shape) == ((5, 60), (5, 90))
    scale = 3 * x.S.max()
    assert np.sqrt(np.mean((first.values / scale - slopes) ** 2)) < 0.1
    assert np.sqrt(np.mean(second.values**2)) < 0.1 * y.Y.max()
    # a curve over the joined axis would make the end of the one depend on the beginning of the other
    assert not (
        found.background.basis[:, :60].any(axis=1) & found.background.basis[:, 60:].any(axis=1)
    ).any()
    assert sdr(x.A.T, found.A.T) > 15


def test_other_functions_take_joined_data(both, found):
    joined = ngmca.join_techniques([x.Y for x in both])
    again = ngmca.separate(joined, 3, **SMALL)
    np.testing.assert_array_equal(again.A, found.A)
    assert again.joined == found.joined
    *_, last = ngmca.iterate(joined, ngmca.Task(3, domain="direct"))
    np.testing.assert_array_equal(last.S, found.S)
    assert ngmca.choose_rank(joined, 5, seed=0).rank == 3
    assert ngmca.judge(joined, found).colour
    with pytest.raises(ngmca.io.ReadError, match="crop the data of each before"):
        joined.crop(0, 10)


def test_views(both, found):
    joined = ngmca.join_techniques({"ir": both[0].Y, "raman": both[1].Y})
    found = ngmca.separate(joined, 3, **SMALL)
    sources, mixing = found.to_pandas(joined)
    assert (sources.index.names, mixing.shape) == (["technique", "position"], (24, 6))
    np.testing.assert_array_equal(sources.loc["raman"].to_numpy().T, found.techniques[1].S)
    figure = found.plot(joined)
    assert len(figure.axes) == 9
    assert [axes.get_title() for axes in figure.axes[:2]] == ["ir", "raman"]
    with pytest.raises(ArgumentError, match="join_techniques"):
        found.plot([x.Y for x in both])
    assert len(found.techniques[0].plot(both[0].Y).axes) == 6


@pytest.fixture(scope="module")
def files(tmp_path_factory, both):
    """Two tables with names of measurements in another order, and one missing."""
    folder = tmp_path_factory.mktemp("files")
    axes = {
        "ir": ("wavenumber [cm-1]", np.linspace(3800, 600, 60)),
        "raman": ("Raman shift [cm-1]", np.arange(90.0)),
    }
    for (stem, (label, axis)), x in zip(axes.items(), both, strict=True):
        rows = np.arange(24) if stem == "ir" else np.arange(23)[::-1]
        table = pd.DataFrame(x.Y[rows].T, pd.Index(axis, name=label), [NAMES[i] for i in rows])
        table.to_csv(folder / f"{stem}.csv")
    return [folder / "ir.csv", folder / "raman.csv"]  # fmt: skip


def test_command_and_python_give_the_same_bits(files, tmp_path):
    out = tmp_path / "out"
    told = run(
        *("separate", *files, "-r", 3, "--shared", "mixing", "--axis", "first-column"),
        *("--baseline", "polynomial", "--n-init", 1, "--domain", "direct", "-o", out),
    )
    assert "2 techniques have the same amounts: ir (60 channels, divided by" in told.output.replace(
        "\n", " "
    )
    assert sorted(one.name for one in out.iterdir()) == [
        *("background_1.csv", "background_2.csv", "mixing.csv", "report.html", "result.nc"),
        *("run.toml", "sources_1.csv", "sources_2.csv"),
    ]
    data = [ngmca.io.read(one, axis="first-column") for one in files]
    known = [ngmca.Baseline("polynomial")]
    expected = ngmca.separate(data, 3, shared="mixing", constraints=known, **SMALL)
    found, seen = ngmca.load(out, with_data=True)
    for name in ("A", "S", "noise", "lam", "joined"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    for part, one, written in zip(
        found.techniques, seen.split(), ("sources_1", "sources_2"), strict=True
    ):
        table = pd.read_csv(out / f"{written}.csv", index_col=0)
        assert table.index.name == one.axis_label
        np.testing.assert_array_equal(table.index, one.positions)
        np.testing.assert_array_equal(table[[f"source {i + 1}" for i in range(3)]].T, part.S)
    page = (out / "report.html").read_text()
    assert "highest peaks at ir: wavenumber [cm-1]<th>highest peaks at raman: Raman shift [cm-1]" in page
    assert from_file(out / "run.toml")[0].shared == "mixing"


def test_saved_and_loaded_with_the_list_of_data(both, found, tmp_path):
    file = ngmca.save(tmp_path / "both.nc", found, [x.Y for x in both])
    again = ngmca.load(file)
    assert again.joined == found.joined
    for one, other in zip(again.techniques, found.techniques, strict=True):
        np.testing.assert_array_equal(one.S, other.S)
    page = ngmca.report.write(tmp_path / "report.html", found, [x.Y for x in both]).read_text()
    assert "highest peaks at technique 2: channel" in page
    ngmca.save(file, found)
    assert ngmca.load(file).joined == found.joined


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ["--noise", "0.1"],
            "--shared mixing cannot be combined with one noise level for all techniques",
        ),
        (["--library", "x.csv"], "--library cannot be combined with --shared mixing"),
        (["--range", "0:9,1:3,2:4"], "has 3 ranges for 2 techniques"),
        (["--shared", "rows"], "--shared must be"),
    ],
)
def test_wrong_options_are_named(files, tmp_path, options, words):
    told = run(
        "separate", *files, "-r", 3, "--shared", "mixing", *options, "-o", tmp_path / "out", code=2
    )
    assert words in told.output.replace("\n", " ").replace("  ", " ")


def test_ranges_and_rank_on_the_command_line(files):
    told = run(
        "rank",
        *files,
        "--shared",
        "mixing",
        "--axis",
        "first-column",
        "--range",
        "600:3000,0:80",
        "--json",
    )
    assert '"rank": 3' in told.stdout
