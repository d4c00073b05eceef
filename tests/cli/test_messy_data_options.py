"""Data as they come, on the command line: gaps, levels, counts, spikes, what is known, backgrounds."""

import csv
import json
import os
import tomllib

import numpy as np
import pytest
from command_line import FILES, run

import ngmca
from ngmca.settings.known_amounts import known_amounts

pytestmark = pytest.mark.draws

R, M, N = 3, 16, 200
AXIS = np.linspace(9, 1, N).round(6)
QUICK = ("-r", R, "--n-init", 1, "--domain", "direct")


@pytest.fixture(scope="module")
def truth():
    return ngmca.simulate.spectra(m=M, n=N, r=R, lines=5, snr=25, seed=1)


def spectra(path, rows, names="tube {}", axis=AXIS):
    """A table with channels in rows and an axis in ppm."""
    columns = {names.format(i): row for i, row in enumerate(rows)}
    ngmca.io.write_table(path, {"ppm": axis} | columns)
    return path


def column(path, values):
    ngmca.io.write_table(path, {"tube": [f"tube {i}" for i in range(len(values))], "value": values})
    return path


def quality(out, truth):
    return ngmca.evaluate(truth.S, ngmca.load(out).S).mean_sdr


def test_empty_cells_are_missing_entries(tmp_path, truth):
    gone = np.random.default_rng(0).random(truth.Y.shape) < 0.2
    table = spectra(tmp_path / "a.csv", np.where(gone, np.nan, truth.Y))
    table.write_text(table.read_text().replace("nan", ""))
    told = run("info", table).stdout
    assert f"missing      {100 * gone.mean():.1f} % of the entries" in told
    assert json.loads(run("info", table, "--json").stdout)["missing"] == pytest.approx(gone.mean())
    assert f"has {gone.sum()} missing entries" in run("info", table).stderr
    told = run("separate", table, *QUICK, "-o", tmp_path / "out", "--json")
    assert quality(tmp_path / "out", truth) > 15
    found, figures = ngmca.load(tmp_path / "out"), json.loads(told.stdout)
    rest = ((truth.Y - found.A @ found.S)[~gone] ** 2).sum() / (truth.Y[~gone] ** 2).sum()
    assert figures["explained"] == pytest.approx(1 - rest)
    assert figures["missing"] == pytest.approx(gone.mean())
    page = (tmp_path / "out" / "report.html").read_text()
    assert "of the entries are missing" in page


def test_levels_from_a_file_are_those_of_the_library(tmp_path, truth):
    levels = np.geomspace(0.02, 0.5, M) * truth.Y.std()
    Y = truth.A @ truth.S + levels[:, None] * np.random.default_rng(0).standard_normal((M, N))
    table = spectra(tmp_path / "a.csv", Y)
    run("separate", table, *QUICK, "--iterations", 300, "-o", tmp_path / "plain")
    run(
        "separate",
        table,
        *QUICK,
        "-o",
        tmp_path / "weighted",
        "--noise",
        column(tmp_path / "n.csv", levels),
    )
    assert quality(tmp_path / "weighted", truth) > quality(tmp_path / "plain", truth) + 1
    expected = ngmca.separate(Y, R, noise=levels, domain="direct", n_init=1)
    np.testing.assert_allclose(ngmca.load(tmp_path / "weighted").S, expected.S, rtol=1e-6, atol=1e-9)


def test_counts_with_their_gain(tmp_path, truth):
    clean = truth.A @ truth.S
    clean *= 20 / clean.mean()
    counts = 3.0 * np.random.default_rng(0).poisson(clean)
    table = spectra(tmp_path / "a.csv", counts)
    run("separate", table, *QUICK, "-o", tmp_path / "out", "--noise", "poisson", "--gain", 3)
    expected = ngmca.separate(counts, R, noise=ngmca.Counts(3.0), domain="direct", n_init=1)
    np.testing.assert_allclose(ngmca.load(tmp_path / "out").S, expected.S, rtol=1e-6, atol=1e-6)
    settings = tomllib.loads((tmp_path / "out" / "run.toml").read_text())["separate"]
    assert (settings["noise"], settings["gain"]) == ("poisson", 3.0)


def test_spikes_are_listed_and_drawn(tmp_path, truth):
    Y, rng = truth.Y.copy(), np.random.default_rng(2)
    places = {(int(i), int(rng.integers(N))) for i in rng.integers(0, M, 5)}
    for i, j in places:
        Y[i, j] += 60 * truth.noise.std()
    out = tmp_path / "out"
    told = run("separate", spectra(tmp_path / "a.csv", Y), *QUICK, "-o", out, "--robust").stdout
    assert f"{len(places)} outliers had no weight in the fit." in told
    assert "! " not in told  # nothing to warn of
    assert sorted(os.listdir(out)) == sorted([*FILES, "outliers.csv"])
    with (out / "outliers.csv").open() as file:
        head, *rows = csv.reader(file)
    assert head == ["measurement", "chemical shift [ppm]", "value"]
    found = {(name, float(place)): float(value) for name, place, value in rows}
    assert found == {(f"tube {i}", AXIS[j]): Y[i, j] for i, j in places}
    assert quality(out, truth) > 18
    page = (out / "report.html").read_text()
    assert ">Outliers<" in page
    run("report", out)  # drawn again, without the data
    assert ">Outliers<" in (out / "report.html").read_text()


def test_known_spectra_are_brought_to_the_axis_of_the_data(tmp_path, truth):
    fine = np.linspace(0.9, 9.1, 1500)
    known = spectra(tmp_path / "k.csv", [np.interp(fine, AXIS[::-1], truth.S[1][::-1])], axis=fine)
    out = tmp_path / "out"
    run("separate", spectra(tmp_path / "a.csv", truth.Y), *QUICK, "-o", out, "--known-sources", known)
    found = ngmca.load(out)
    np.testing.assert_allclose(found.S[0], truth.S[1], atol=0.05 * truth.S[1].max())
    assert np.corrcoef(found.A[:, 0], truth.A[:, 1])[0, 1] > 0.99
    assert found.A[:, 0].sum() == pytest.approx(truth.A[:, 1].sum(), rel=0.2)
    page = (out / "report.html").read_text()
    assert "Columns have norm 1" not in page
    run("separate", "--config", out / "run.toml", "-o", tmp_path / "again")
    np.testing.assert_array_equal(ngmca.load(tmp_path / "again").S, found.S)
    spectra(tmp_path / "k.csv", [np.interp(fine, AXIS[::-1], truth.S[0][::-1])], axis=fine)
    told = run("separate", "--config", out / "run.toml", "-o", tmp_path / "third").stderr
    assert "the file of --known-sources has changed since that run.toml was written" in told
    told = run("posterior", out, code=2).stderr
    assert f"the file of --known-sources has changed since {out} was made. " in told


def test_error_bars_heed_what_is_known(tmp_path, truth):
    out, known = tmp_path / "out", spectra(tmp_path / "k.csv", truth.S[:1])
    run("separate", spectra(tmp_path / "a.csv", truth.Y), *QUICK, "-o", out, "--known-sources", known)
    run("posterior", out, "--samples", 20)
    found = ngmca.load(out).posterior
    np.testing.assert_array_equal(found.S.sd[0], 0)
    assert (found.S.sd[1:].max(axis=1) > 0).all()


def test_a_closure_makes_weights_concentrations(tmp_path, truth):
    A = truth.A / truth.A.sum(axis=1, keepdims=True)
    totals = np.linspace(1, 2, M)
    Y = totals[:, None] * (A @ truth.S) + truth.noise / 3
    table, out = spectra(tmp_path / "a.csv", Y), tmp_path / "out"
    run("separate", table, *QUICK, "-o", out, "--closure", column(tmp_path / "t.csv", totals))
    found = ngmca.load(out)
    np.testing.assert_allclose(found.A.sum(axis=1), totals)
    assert "concentrations" in (out / "report.html").read_text()
    run("separate", table, *QUICK, "-o", tmp_path / "one", "--closure", 1, "--iterations", 20)
    np.testing.assert_allclose(ngmca.load(tmp_path / "one").A.sum(axis=1), 1)


def test_known_weights(tmp_path, truth):
    table, known = spectra(tmp_path / "a.csv", truth.Y), column(tmp_path / "k.csv", truth.A[:, 2])
    run("separate", table, *QUICK, "-o", tmp_path / "out", "--known-mixing", known)
    np.testing.assert_allclose(ngmca.load(tmp_path / "out").A[:, 0], truth.A[:, 2], rtol=1e-6)


def test_empty_cells_of_known_amounts_are_unknown(tmp_path, truth):
    table, known = spectra(tmp_path / "a.csv", truth.Y), tmp_path / "k.csv"
    cells = np.full((M, 2), "", dtype=object)
    cells[3], cells[7, 1] = truth.A[3, :2], truth.A[7, 1]
    rows = (",".join(map(str, row)) for row in cells)
    known.write_text("acid,base\n" + "\n".join(rows) + "\n")
    options = ("--known-mixing", known, "--iterations", 20)
    run("separate", table, *QUICK, "-o", tmp_path / "exact", *options)
    found = ngmca.load(tmp_path / "exact").A
    np.testing.assert_allclose([*found[3, :2], found[7, 1]], [*truth.A[3, :2], truth.A[7, 1]], rtol=1e-6)
    run("separate", table, *QUICK, "-o", tmp_path / "about", *options, "--known-mixing-sd", 0.05)
    about = ngmca.load(tmp_path / "about").A
    assert np.abs(about[[3, 7], 1] / truth.A[[3, 7], 1] - 1).max() > 1e-6
    np.testing.assert_allclose(about[[3, 7], 1], truth.A[[3, 7], 1], atol=0.2)


def test_known_amounts_are_found_by_their_times(tmp_path):
    """As in a table of a chromatograph: some measurements, with their times in the first column."""
    (tmp_path / "known.csv").write_text("time [min],A,B\n1.001,0.2,\n2.5,0.7,0.9\n")
    (tmp_path / "all.csv").write_text("measurement,A\n2,0.5\n4,0.25\n")
    data = ngmca.io.Dataset(np.ones((6, 5)), row_axis=np.arange(6) / 2, row_label="time [min]")
    found = known_amounts(str(tmp_path / "known.csv"), data)
    assert np.isnan(found[[0, 1, 3, 4]]).all()
    np.testing.assert_array_equal(found[[2, 5]], [[0.2, np.nan], [0.7, 0.9]])
    found = known_amounts(str(tmp_path / "all.csv"), ngmca.io.Dataset(np.ones((4, 5))))
    np.testing.assert_array_equal(found[:, 0], [np.nan, 0.5, np.nan, 0.25])
    (tmp_path / "late.csv").write_text("time,A\n99,1\n")
    with pytest.raises(ngmca.io.ReadError, match="no measurement was made at 99"):
        known_amounts(str(tmp_path / "late.csv"), data)


def test_common_profiles_of_several_files(tmp_path):
    x = ngmca.simulate.bands(m=12, n=80, r=2, seed=0)
    rng = np.random.default_rng(0)
    sets = [x.A * rng.random(2) @ x.S + 0.01 * rng.standard_normal((12, 80)) for _ in range(3)]
    files = [spectra(tmp_path / f"{i}.csv", Y, axis=np.arange(80)) for i, Y in enumerate(sets)]
    options = ("-r", 2, "--n-init", 1, "--domain", "direct", "--iterations", 20, "--trilinear")
    run("separate", *files, *options, "-o", tmp_path / "out")
    profiles = ngmca.load(tmp_path / "out").A.reshape(3, 12, 2)
    assert all(np.linalg.matrix_rank(profiles[:, :, k], tol=1e-6) == 1 for k in range(2))


def test_rate_constants_are_found_kept_and_told(tmp_path):
    rng, times = np.random.default_rng(0), np.linspace(0, 6, 30)
    A = np.column_stack([np.exp(-0.5 * times), 1 - np.exp(-0.5 * times)])
    S = np.exp(-0.5 * ((np.arange(60) - np.array([[20], [35]])) / 8) ** 2)
    Y = A @ S + 0.01 * rng.standard_normal((30, 60))
    table = spectra(tmp_path / "a.csv", Y, axis=np.arange(60))
    clock = column(tmp_path / "t.csv", times)
    options = ("-r", 2, "--n-init", 1, "--domain", "direct", "--kinetics", "A -> B", "--times", clock)
    told = run("separate", table, *options, "-o", tmp_path / "out").stdout
    found = ngmca.load(tmp_path / "out").rates
    assert found.names == ("A -> B",)
    assert found.low[0] < 0.5 < found.high[0]
    assert "A -> B: 0.5" in told
    head, line = (tmp_path / "out" / "rates.csv").read_text().splitlines()
    assert head == "step,rate constant,standard deviation,lower 90 %,upper 90 %"
    assert [float(x) for x in line.split(",")[1:4:2]] == pytest.approx(
        [found.values[0], found.low[0]], rel=1e-4
    )
    assert "A -&gt; B: 0.5" in (tmp_path / "out" / "report.html").read_text()
    told = run("separate", table, *options, "-o", tmp_path / "x", "--kinetics-start", "C=1", code=2)
    assert "names C, but the species are A, B" in told.stderr


def test_a_background_is_kept_apart(tmp_path, truth):
    hills = np.outer(np.linspace(1, 2, M), ngmca.backgrounds.polynomial(N)[1]) * truth.Y.max()
    table, out = spectra(tmp_path / "a.csv", truth.Y + hills), tmp_path / "out"
    run("separate", table, *QUICK, "-o", out, "--baseline", "polynomial")
    assert quality(out, truth) > 10
    assert "background.csv" in os.listdir(out)
    kept = np.loadtxt(out / "background.csv", delimiter=",", skiprows=1)
    np.testing.assert_allclose(kept[:, 0], AXIS)
    np.testing.assert_allclose(kept[:, 1:].T, ngmca.load(out).background.values, rtol=1e-6)
    np.testing.assert_allclose(kept[:, 1:].T, hills, atol=0.05 * hills.max())
    page = (out / "report.html").read_text()
    assert ">Background<" in page
    given = spectra(tmp_path / "b.csv", ngmca.backgrounds.polynomial(N))
    run("separate", table, *QUICK, "-o", tmp_path / "file", "--baseline", given)
    np.testing.assert_allclose(ngmca.load(tmp_path / "file").S, ngmca.load(out).S, rtol=1e-4, atol=1e-4)


def test_files_share_sources_and_profiles_hold_within_each(tmp_path, truth):
    t = np.linspace(-1, 1, M)[:, None]
    A = np.exp(-(((t - [-0.5, 0.0, 0.5]) / 0.4) ** 2))
    rng, files = np.random.default_rng(0), []
    for name in ("first", "second"):
        noise = 0.02 * truth.S.max() * rng.standard_normal((M, N))
        files.append(spectra(tmp_path / f"{name}.csv", A @ truth.S + noise, names="run {}"))
    out = tmp_path / "out"
    run("separate", *files, *QUICK, "-o", out, "--profiles", "unimodal")
    found, data = ngmca.saving.load(out, with_data=True)
    assert quality(out, truth) > 10
    assert found.parts == (slice(0, M), slice(M, 2 * M))
    assert data.row_names[0] == "first: run 0"
    for part in found.parts:
        for weights in found.A[part].T:
            top = weights.argmax()
            assert (np.diff(weights[: top + 1]) >= -1e-9).all()
            assert (np.diff(weights[top:]) <= 1e-9).all()
    page = (out / "report.html").read_text()
    assert "Mean shares of each file" in page
    assert "<th>second" in page


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--closure", 1, "--trilinear"], "--trilinear cannot be combined with --closure: "),
        (["--trilinear"], "--trilinear needs several data sets with equally many measurements"),
        (["--closure-kind", "at most"], "--closure-kind needs --closure"),
        (["--kinetics", "A B"], "--kinetics cannot read 'A B': write steps as "),
        (
            ["--penalised", "A", "--baseline", "splines"],
            "--penalised A cannot be combined with --baseline: ",
        ),
        (["--profiles", "round"], "--profiles must be one of"),
        (["--gain", 2], "--gain needs --noise poisson"),
        (["--noise", "loud"], "--noise loud: this file does not exist, and it is neither a number nor"),
        (["--closure", "all"], "--closure all: this file does not exist, and it is not a number"),
        (["--known-sources", "part.csv"], "Cut the data with --range 4.9799:9"),
        (["--known-sources", "other.csv"], "the axes hardly overlap"),
        (["--known-sources", "short.npy"], "needs the same channels, or an axis in both files"),
        (["--known-mixing", "short.npy"], "--known-mixing must have shape (16, k)"),
        (
            ["--closure", "short.npy"],
            "short.npy has 10 numbers: --closure needs one total for each of 16 measurements",
        ),
        (["--noise", "short.npy"], "has 2 rows of noise levels: --noise needs one number"),
        (["--method", "hals", "--robust"], "--method hals cannot be combined with --robust: "),
        (
            ["--method", "naive", "--baseline", "splines"],
            "--method naive cannot be combined with --baseline: ",
        ),
    ],
)
def test_what_cannot_be_is_told_in_one_line(tmp_path, truth, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    table = spectra(tmp_path / "a.csv", truth.Y)
    spectra(tmp_path / "part.csv", truth.S[:1, :101], axis=AXIS[:101])
    spectra(tmp_path / "other.csv", truth.S[:1], axis=AXIS + 20)
    np.save(tmp_path / "short.npy", np.ones((2, 5)))
    told = run("separate", table, *QUICK, "-o", tmp_path / "out", *options, code=2).stderr
    assert message in told.splitlines()[-1]
    assert not (tmp_path / "out").exists()
