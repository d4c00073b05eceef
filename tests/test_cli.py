"""The command line, as a user meets it."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

import ngmca
from ngmca import results
from ngmca.cli import app
from ngmca.cli.running import load_checkpoint
from ngmca.cli.separating import ALL_METHODS
from ngmca.io import ReadError, read
from ngmca.simulate import lines

FILES = ["mixing.csv", "report.html", "result.nc", "run.toml", "sources.csv"]
NGMCA = [sys.executable, "-c", "from ngmca.cli import main; main()"]


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result


@pytest.fixture
def mixture():
    return ngmca.simulate.spectra(m=12, n=300, r=3, lines=4, snr=25, seed=1)


@pytest.fixture
def table(tmp_path, mixture):
    """Twelve spectra with samples in rows and an axis in ppm."""
    axis = np.linspace(9, 1, 300).round(6)
    names = {f"tube {i}": row for i, row in enumerate(mixture.Y)}
    ngmca.io.write_table(tmp_path / "tubes.csv", {"ppm": axis} | names)
    return tmp_path / "tubes.csv"


@pytest.fixture
def out(tmp_path, table):
    run("separate", table, "-r", 3, "-o", tmp_path / "out", "--iterations", 60, "--seed", 4)
    return tmp_path / "out"


def test_one_command_from_a_file_to_the_sources(out, table, mixture):
    assert sorted(os.listdir(out)) == FILES
    assert not out.with_name("out.unfinished").exists()
    found = ngmca.load(out)
    expected = ngmca.separate(read(table).Y, 3, n_iter=60, seed=4)
    for name in ("A", "S", "lam", "noise"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    for name in ("cost", "threshold", "active", "violation"):
        np.testing.assert_array_equal(getattr(found.history, name), getattr(expected.history, name))
    assert (found.n_iter, found.stopped) == (expected.n_iter, expected.stopped)
    assert ngmca.evaluate(mixture.S, found.S).mean_sdr > 15


def test_tables_hold_axis_and_names_and_every_digit(out):
    separation = ngmca.load(out)
    sources = read(out / "sources.csv")
    np.testing.assert_array_equal(sources.Y, separation.S)
    assert sources.row_names == ("source 1", "source 2", "source 3")
    assert (sources.axis_unit, sources.axis[0], sources.axis[-1]) == ("ppm", 9, 1)
    first = (out / "mixing.csv").read_text().splitlines()[:2]
    assert first[0] == "measurement,source 1,source 2,source 3"
    assert first[1].split(",")[0] == "tube 0"
    assert float(first[1].split(",")[2]) == separation.A[0, 1]


def test_the_result_file_is_open_to_xarray(out):
    with xr.open_dataset(out / "result.nc") as stored:
        assert stored["A"].dims == ("measurement", "source")
        assert stored["axis"].attrs["units"] == "ppm"
        assert stored["name"].values[3] == "tube 3"


def test_run_toml_repeats_the_run(out, table, tmp_path):
    content = tomllib.loads((out / "run.toml").read_text())
    assert content["separate"]["seed"] == 4
    assert content["record"]["ngmca"] == ngmca.__version__
    import hashlib

    assert content["record"]["sha256"] == hashlib.sha256(table.read_bytes()).hexdigest()
    again = run("separate", "--config", out / "run.toml", "-o", tmp_path / "again")
    np.testing.assert_array_equal(ngmca.load(tmp_path / "again").S, ngmca.load(out).S)
    assert "changed" not in again.stderr
    table.write_text(table.read_text().replace("\n9.0,", "\n9.0,1"))
    changed = run("separate", "--config", out / "run.toml", "-o", tmp_path / "third", "--tau", 2)
    assert "the data have changed" in changed.stderr
    assert tomllib.loads((tmp_path / "third" / "run.toml").read_text())["separate"]["tau"] == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[separate]\nsorces = 3\n", "knows no 'sorces'"),
        ("[separate]\nsources = 'three'\n", "sources = 'three' in [separate] is of the wrong kind"),
        ("[separate\n", "is not a TOML file"),
        ("[other]\n", "has no table [separate]"),
    ],
)
def test_wrong_configurations(tmp_path, text, message):
    (tmp_path / "c.toml").write_text(text)
    assert (
        message in run("separate", "--config", tmp_path / "c.toml", "-o", tmp_path / "x", code=2).stderr
    )


def test_an_existing_result_is_not_overwritten(out, table):
    before = (out / "result.nc").read_bytes()
    refused = run("separate", table, "-r", 2, "-o", out, code=2)
    assert "--force replaces it" in refused.stderr
    assert (out / "result.nc").read_bytes() == before
    run("separate", table, "-r", 2, "-o", out, "--iterations", 5, "--force")
    assert len(ngmca.load(out).S) == 2
    assert sorted(os.listdir(out)) == FILES


def test_force_never_removes_what_ngmca_did_not_write(out, table, tmp_path):
    (out / "notes.txt").write_text("mine")
    refused = run("separate", table, "-r", 2, "-o", out, "--force", code=2)
    assert "notes.txt, which ngmca did not write" in refused.stderr
    assert (out / "notes.txt").read_text() == "mine"
    refused = run("separate", table, "-r", 2, "-o", tmp_path, "--force", code=2)
    assert "did not write" in refused.stderr
    refused = run("separate", table, "-r", 2, "-o", table, "--force", code=2)
    assert "is a file" in refused.stderr
    assert table.exists()


def test_json_is_json_and_quiet_is_quiet(table, tmp_path):
    separate = ("separate", table, "-r", 3, "--iterations", 20, "-o")
    spoken = json.loads(run(*separate, tmp_path / "a", "--json").stdout)
    assert spoken["sources"] == 3
    assert spoken["explained"] > 0.9
    assert spoken["warnings"] == []
    silent = run(*separate, tmp_path / "b", "--quiet")
    assert silent.stdout == ""
    assert silent.stderr == ""


def test_warnings_reach_the_terminal(table, tmp_path):
    told = run("separate", table, "-r", 2, "--iterations", 60, "-o", tmp_path / "a").stdout
    assert "residual has structure: maybe more sources" in told


def test_range_and_transpose(table, tmp_path):
    run("separate", table, "-r", 2, "--iterations", 5, "--range", "2:5", "-o", tmp_path / "a")
    axis = read(tmp_path / "a" / "sources.csv").axis
    assert axis.min() >= 2
    assert axis.max() <= 5
    np.save(tmp_path / "d.npy", np.random.default_rng(0).random((50, 7)))
    run("separate", tmp_path / "d.npy", "-r", 2, "--iterations", 5, "--transpose", "-o", tmp_path / "b")
    assert ngmca.load(tmp_path / "b").A.shape == (7, 2)


def test_info(table):
    told = run("info", table).stdout
    assert "12 measurements x 300 samples" in told
    assert "chemical shift [ppm], 9 to 1" in told
    assert "3 singular values stand above the noise" in told
    facts = json.loads(run("info", table, "--json").stdout)
    assert facts["above_noise"] == 3
    assert abs(facts["snr"] - 25) < 1.5


def test_info_finds_noise_and_rank(tmp_path):
    mixture = ngmca.simulate.sparse(m=40, n=500, r=5, snr=15, seed=0)
    np.save(tmp_path / "d.npy", mixture.Y)
    facts = json.loads(run("info", tmp_path / "d.npy", "--json").stdout)
    assert abs(facts["noise"] / mixture.noise.std() - 1) < 0.1
    assert facts["above_noise"] == 5
    assert abs(facts["negative"] - np.mean(mixture.Y < 0)) < 1e-12


def test_simulate_separate_evaluate(tmp_path):
    run("simulate", tmp_path / "d.npz", "-r", 3, "-m", 20, "-n", 200, "--seed", 2)
    assert "exists" in run("simulate", tmp_path / "d.npz", code=2).stderr
    run("separate", tmp_path / "d.npz", "-r", 3, "-o", tmp_path / "out", "--iterations", 100)
    score = json.loads(run("evaluate", tmp_path / "out", tmp_path / "d.npz", "--json").stdout)
    with np.load(tmp_path / "d.npz") as truth:
        expected = ngmca.evaluate(truth["S"], ngmca.load(tmp_path / "out").S)
    np.testing.assert_allclose(score["sdr"], expected.sdr)
    shown = run("evaluate", tmp_path / "out" / "sources.csv", tmp_path / "d.npz").stdout
    assert f"{expected.sdr[0]:.1f}" in shown
    other = tmp_path / "other.csv"
    other.write_text("1,2,3\n4,1,0\n")
    assert "do not fit" in run("evaluate", tmp_path / "out", other, code=2).stderr


def test_simulate_compounds_with_names_and_axis(tmp_path):
    path = tmp_path / "d.npz"
    options = ("--kind", "nmr", "-n", 600, "-m", 5, "--snr", 12, "--seed", 2)
    told = run("simulate", path, *options, "--compounds", "lactate, Gaba").stdout
    assert "5 x 600 mixture of 2 sources (lactate, GABA) at 12.0 dB" in told
    expected = ngmca.simulate.nmr(m=5, n=600, compounds=["lactate", "GABA"], snr=12.0, seed=2)
    with np.load(path) as stored:
        assert stored["names"].tolist() == ["lactate", "GABA"]
        np.testing.assert_array_equal(stored["S"], expected.S)
    data = read(path)
    np.testing.assert_array_equal(data.Y, expected.Y)
    np.testing.assert_array_equal(data.axis, expected.axis)
    assert data.axis_unit == "ppm"
    assert "15 x 1200 mixture of 15" in run("simulate", path, "--kind", "nmr", "--force").stdout
    peaks = tmp_path / "peaks.csv"
    peaks.write_text("compound,ppm,intensity\nmine,2,1\n")
    run("simulate", path, "--kind", "nmr", "--peaks", peaks, "--force")
    with np.load(path) as stored:
        assert stored["names"].tolist() == ["mine"]
    peaks.write_text("compound,ppm,intensity\nmine,two,1\n")
    for wrong, error in [
        (("--kind", "nmr", "--compounds", "lactat"), "did you mean lactate"),
        (("--kind", "nmr", "--peaks", peaks), "peaks.csv, line 2"),
        (("--kind", "nmr", "--peaks", tmp_path / "no.csv"), "no.csv does not exist"),
        (("--compounds", "lactate"), "--kind nmr"),
        (("--kind", "nonsense"), "sparse or spectra or nmr"),
    ]:
        assert error in run("simulate", tmp_path / "e.npz", *wrong, code=2).stderr
    assert not (tmp_path / "e.npz").exists()


def test_simulate_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "nmrsim", None)
    lines._peaks.cache_clear()
    error = run("simulate", tmp_path / "d.npz", "--kind", "nmr", code=2).stderr
    assert 'pip install "ngmca[paper]"' in error


def test_report_is_drawn_again_from_the_result_alone(out, table):
    table.unlink()
    first = (out / "report.html").read_text()
    (out / "report.html").unlink()
    run("report", out)
    assert (out / "report.html").read_text() == first


def test_demo_goes_all_the_way(tmp_path):
    told = run("demo", "-o", tmp_path / "demo").stdout
    report = Path(re.search(r"report: (.*)", told)[1])
    assert report.is_file()
    assert float(re.search(r"mean ([\d.]+) dB", told)[1]) > 15
    assert "exists" in run("demo", "-o", tmp_path / "demo", code=2).stderr
    run("demo", "-o", tmp_path / "demo", "--force")


@pytest.mark.parametrize("command", ["separate", "info", "report", "evaluate", "simulate", "demo"])
def test_help_has_examples(command):
    told = run(command, "--help").stdout
    assert f"ngmca {command}" in told
    assert "Example" in told


def test_help_loses_no_word_to_markup():
    told = " ".join(run("separate", "--help").stdout.replace("│", " ").split())
    assert "'ngmca[io]'" in told
    assert "(estimated)" in told
    assert "(found out)" in told


def test_completion_is_offered():
    environment = os.environ | {
        "_NGMCA_COMPLETE": "complete_bash",
        "COMP_WORDS": "ngmca sep",
        "COMP_CWORD": "1",
    }
    script = "import sys; sys.argv=['ngmca']; from ngmca.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    assert "separate" in done.stdout


def slow(table, out):
    """Arguments of a run that takes much longer than a test."""
    return [*NGMCA, "separate", str(table), "-r", "3", "-o", str(out), "--iterations", "2000000"]


def wait_for(path, process):
    for _ in range(600):
        if path.exists() or process.poll() is not None:
            return
        time.sleep(0.05)


def test_ctrl_c_keeps_the_last_state_and_says_how_to_go_on(table, tmp_path):
    out = tmp_path / "out"
    process = subprocess.Popen(slow(table, out), stderr=subprocess.PIPE, text=True)
    wait_for(tmp_path / "out.unfinished" / "run.toml", process)
    time.sleep(2.0)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"ngmca separate --resume {out}" in told
    assert "Traceback" not in told
    assert not out.exists()
    with pytest.raises(ReadError, match="unfinished"):
        ngmca.load(out)
    checkpoint = load_checkpoint(tmp_path / "out.unfinished")
    assert checkpoint.done > 10
    run("separate", "--resume", out, "--iterations", checkpoint.done + 40)
    assert sorted(os.listdir(out)) == FILES
    found = ngmca.load(out)
    assert found.n_iter <= checkpoint.done + 40
    assert len(found.history.cost) == found.n_iter
    np.testing.assert_array_equal(
        found.history.cost[: checkpoint.done], [line[0] for line in checkpoint.recorder.lines]
    )


def test_resuming_goes_on_where_it_stopped(tmp_path):
    from ngmca.cli import running

    Y = ngmca.simulate.spectra(m=12, n=300, r=3, lines=4, snr=25, seed=1).Y
    options = {"method": "soft", "tau": 1.0, "n_iter": 200, "refinement": 0.2, "seed": 0}
    whole = ngmca.separate(Y, 3, **options)
    recorder = running.Recorder()
    for state in ngmca.iterate(Y, 3, **options):
        recorder.add(state)
        if state.k == 100:
            break
    recorder.save(tmp_path)
    checkpoint = running.load_checkpoint(tmp_path)
    left = running.remaining(options, checkpoint)
    assert left["n_iter"] == 100
    assert ngmca.records.Options(n_iter=100, refinement=left["refinement"]).schedule.n_decrease == 60
    states = list(ngmca.iterate(Y, 3, **left))
    assert states[0].lam.max() < 1.2 * recorder.last.lam.max()  # the threshold does not start anew
    assert abs(states[-1].cost / whole.history.cost[-1] - 1) < 0.02


@pytest.mark.parametrize("stop", [30, 70])
def test_resuming_an_automatic_run(tmp_path, stop):
    from ngmca.cli import running

    Y = ngmca.simulate.spectra(m=12, n=300, r=3, lines=4, snr=25, seed=1).Y
    options = {
        "method": "soft",
        "tau": 1.0,
        "n_iter": "auto",
        "refinement": 0.2,
        "seed": 0,
        "tol": 1e-12,
    }
    whole = ngmca.separate(Y, 3, **options)
    recorder = running.Recorder()
    for state in ngmca.iterate(Y, 3, **options):
        recorder.add(state)
        if state.k == stop:
            break
    recorder.save(tmp_path)
    left = running.remaining(options, running.load_checkpoint(tmp_path))
    assert left["n_iter"] == ("auto" if stop == 30 else 430)
    states = list(ngmca.iterate(Y, 3, **left))
    assert states[0].lam.max() < 1.3 * recorder.last.lam.max()
    assert abs(states[-1].cost / whole.history.cost[-1] - 1) < 0.02


def test_resuming_needs_something_to_resume(table, out, tmp_path):
    assert "nothing to go on with" in run("separate", "--resume", out, code=2).stderr
    told = run("separate", "--resume", out, "-o", tmp_path / "b", code=2).stderr
    assert "leave out -o" in told


def test_the_hash_covers_the_data_beside_a_header(tmp_path):
    (tmp_path / "a.hdr").write_text("ENVI")
    (tmp_path / "a.img").write_bytes(b"1")
    before = ngmca.io.fingerprint([tmp_path / "a.hdr"])
    (tmp_path / "a.img").write_bytes(b"2")
    assert ngmca.io.fingerprint([tmp_path / "a.hdr"]) != before
    assert ngmca.io.fingerprint([tmp_path]) != ngmca.io.fingerprint([tmp_path / "a.img"])


def test_single_precision_stays_single(tmp_path):
    Y = ngmca.simulate.sparse(m=10, n=60, r=2, snr=20, seed=0).Y.astype("float32")
    np.save(tmp_path / "d.npy", Y)
    run("separate", tmp_path / "d.npy", "-r", 2, "-o", tmp_path / "out")
    found, expected = ngmca.load(tmp_path / "out"), ngmca.separate(Y, 2, seed=0)
    assert found.S.dtype == expected.S.dtype == np.float32
    np.testing.assert_array_equal(found.S, expected.S)


@pytest.mark.parametrize("method", ALL_METHODS)
def test_every_method_has_a_report(table, tmp_path, method):
    run("separate", table, "-r", 2, "--method", method, "--iterations", 8, "-o", tmp_path / "out")
    assert tomllib.loads((tmp_path / "out" / "run.toml").read_text())["separate"]["method"] == method
    assert ngmca.load(tmp_path / "out").n_iter <= 8


def test_two_runs_for_one_folder(table, tmp_path):
    process = subprocess.Popen(slow(table, tmp_path / "out"), stderr=subprocess.DEVNULL)
    try:
        wait_for(tmp_path / "out.unfinished" / "run.toml", process)
        refused = run("separate", table, "-r", 2, "-o", tmp_path / "out", code=2)
        assert "another run of ngmca is working on" in refused.stderr
    finally:
        process.kill()
        process.wait()


def test_a_full_disk_leaves_nothing(table, tmp_path):
    def little_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))  # less than a report

    arguments = [
        *NGMCA,
        "separate",
        str(table),
        "-r",
        "2",
        "-o",
        str(tmp_path / "out"),
        "--iterations",
        "5",
    ]
    signal_free = {"preexec_fn": little_room, "capture_output": True, "text": True}
    done = subprocess.run(arguments, check=False, **signal_free)
    assert done.returncode == 1, done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2
    assert "Traceback" not in done.stderr
    assert os.listdir(tmp_path) == ["tubes.csv"]


def test_kill_9_leaves_no_result_that_looks_whole(table, tmp_path):
    rng = np.random.default_rng(0)
    for i in range(4):
        out = tmp_path / f"out{i}"
        arguments = [*NGMCA, "separate", str(table), "-r", "3", "-o", str(out), "--iterations", "100"]
        process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(out.with_name(out.name + ".unfinished"), process)
        time.sleep(rng.uniform(0, 2.0))
        process.kill()
        process.wait()
        if out.exists():
            assert sorted(os.listdir(out)) == FILES
            ngmca.load(out)
        else:
            with pytest.raises(ReadError, match="unfinished"):
                ngmca.load(out)
            run("separate", table, "-r", 3, "-o", out, "--iterations", 5)  # the way is free
            ngmca.load(out)
    assert sorted(os.listdir(tmp_path)) == ["out0", "out1", "out2", "out3", "tubes.csv"]


def test_importing_ngmca_stays_light():
    heavy = "plotly typer xarray h5py sklearn zarr rich"
    script = f"import ngmca, sys; print([m for m in {heavy.split()} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_loading_what_is_no_result(tmp_path):
    with pytest.raises(ReadError, match="does not exist"):
        ngmca.load(tmp_path / "no")
    with pytest.raises(ReadError, match=r"is no result of ngmca: it has no result\.nc"):
        ngmca.load(tmp_path)
    (tmp_path / "result.nc").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(30))
    with pytest.raises(ReadError, match="is not a whole result"):
        ngmca.load(tmp_path)
    assert results.source_names(2) == ["source 1", "source 2"]
