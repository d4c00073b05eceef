"""`ngmca watch`: spectra of an instrument, while it writes them."""

import csv
import os

import numpy as np
import pytest
from command_line import run

import ngmca
from ngmca.cli.arrivals import Arrivals

MIXTURE = ngmca.simulate.sparse(m=30, n=120, r=2, snr=25, seed=0)
AXIS = np.linspace(400, 700, 120).round(3)


def write(folder, i, axis=AXIS, values=None):
    row = MIXTURE.Y[i] if values is None else values
    ngmca.io.write_table(folder / f"scan{i:03d}.csv", {"wavelength [nm]": axis, "signal": row})


@pytest.fixture
def instrument(tmp_path, monkeypatch):
    """A folder, and what happens in it at each pause between two looks; then Ctrl-C."""
    folder = tmp_path / "spectra"
    folder.mkdir()
    events = []

    def sleep(seconds):
        if not events:
            raise KeyboardInterrupt
        events.pop(0)()

    monkeypatch.setattr("ngmca.cli.commands.watch.time.sleep", sleep)
    return folder, events


def amounts(out):
    with (out / "amounts.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_amounts_follow_the_instrument(instrument, tmp_path):
    folder, events = instrument
    out = tmp_path / "live"
    pages = []
    for i in range(30):
        events.append(lambda i=i: (write(folder, i), pages.append((out / "live.html").exists())))
    events += [lambda: None, lambda: None]
    told = run("watch", folder, "-r", 2, "-o", out, "--first", 8).stdout
    table = amounts(out)
    assert [row["measurement"] for row in table] == [f"scan{i:03d}.csv" for i in range(30)]
    assert pages.index(True) in (9, 10)  # eight files, and one look at each without a change
    found = ngmca.io.read(out / "sources.csv")
    assert ngmca.evaluate(MIXTURE.S, found.Y).mean_sdr > 12
    np.testing.assert_allclose(found.axis, AXIS)
    share = np.array([[float(row[f"source {k} share (%)"]) for k in (1, 2)] for row in table])
    truth = MIXTURE.A * MIXTURE.S.sum(axis=1)
    truth = 100 * truth / truth.sum(axis=1, keepdims=True)
    best = min(np.abs(share - truth).mean(), np.abs(share[:, ::-1] - truth).mean())
    assert best < 5
    page = (out / "live.html").read_text()
    assert "<svg" in page
    assert "has ended" in page
    assert "http-equiv=refresh" not in page
    assert "30 measurements, 2 sources, latest scan029.csv" in told


def test_half_a_file_waits(instrument, tmp_path):
    folder, events = instrument
    for i in range(8):
        write(folder, i)
    text = (folder / "scan007.csv").read_text()
    half = text[: len(text) // 2]
    (folder / "scan007.csv").write_text(half)
    growing = folder / "scan007.csv"
    events += [lambda k=k: growing.write_text(half + text[len(half) :][: 10 * k]) for k in range(1, 4)]
    events += [lambda: growing.write_text(text), lambda: None, lambda: None]
    run("watch", folder, "-r", 2, "-o", tmp_path / "live", "--first", 8)
    table = amounts(tmp_path / "live")
    assert len(table) == 8
    assert table[-1]["measurement"] == "scan007.csv"


def test_files_that_cannot_be_read_or_do_not_fit_are_left_out_until_they_change(instrument, tmp_path):
    folder, events = instrument
    for i in range(10):
        write(folder, i)
    (folder / "scan003.csv").write_text("an instrument was here\n")
    write(folder, 4, axis=AXIS + 5000)
    write(folder, 5, values=np.full(120, np.nan))
    finer = np.linspace(399, 701, 500)
    write(folder, 6, axis=finer, values=np.interp(finer, AXIS, MIXTURE.Y[6]))
    (folder / "notes").mkdir()
    events += [lambda: None, lambda: None, lambda: write(folder, 3), lambda: None, lambda: None]
    told = run("watch", folder, "-r", 2, "-o", tmp_path / "live", "--first", 5).stderr
    names = [row["measurement"] for row in amounts(tmp_path / "live")]
    assert sorted(names) == [f"scan{i:03d}.csv" for i in (0, 1, 2, 3, 6, 7, 8, 9)]
    assert told.count("scan003.csv is left out until it changes") == 1
    assert "does not cover that of the first file" in told
    assert "scan005.csv" in told


def test_a_file_is_given_when_it_has_been_still_and_once(tmp_path):
    arrivals, path = Arrivals(tmp_path), tmp_path / "a.txt"
    path.write_text("")
    assert arrivals.look() == arrivals.look() == []  # nothing in it yet
    path.write_text("half")
    assert arrivals.look() == []
    path.write_text("more than half")
    assert arrivals.look() == []
    assert arrivals.look() == [path]
    assert arrivals.look() == []
    os.utime(path, ns=(1, 1))  # same size, written again
    assert arrivals.look() == []
    assert arrivals.look() == [path]
    arrivals.taken(path)
    assert arrivals.changed() == []
    path.write_text("something else")
    assert arrivals.look() == arrivals.look() == []
    assert arrivals.changed() == [path]
    path.write_text("once more")
    assert arrivals.changed() == []
    arrivals.taken(path)
    path.unlink()
    assert arrivals.changed() == []


def test_a_file_that_was_read_too_early_is_named(instrument, tmp_path):
    folder, events = instrument
    for i in range(8):
        write(folder, i)
    late = folder / "scan007.csv"
    text = late.read_text()
    late.write_text(text.rstrip()[:-2])  # stops inside its last number
    events += [lambda: None, lambda: late.write_text(text), lambda: None, lambda: None]
    told = run("watch", folder, "-r", 2, "-o", tmp_path / "live", "--first", 8).stderr
    assert told.count("scan007.csv changed after it was read") == 1
    assert "more seconds as --every" in told


def test_few_spectra_leave_no_half_result(instrument, tmp_path):
    folder, events = instrument
    write(folder, 0)
    events += [lambda: None, lambda: None]
    told = run("watch", folder, "-r", 2, "-o", tmp_path / "live").stdout
    assert "1 measurement; 9 more to begin." in told
    assert list((tmp_path / "live").iterdir()) == []


def test_folders_of_others_are_refused(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    told = run("watch", tmp_path, "-r", 2, "-o", tmp_path, code=2).stderr
    assert "holds mine.txt" in told
    assert "is not a folder" in run("watch", tmp_path / "none", "-r", 2, "-o", "x", code=2).stderr


def test_it_ends_after_a_number_of_spectra(instrument, tmp_path):
    folder, events = instrument
    for i in range(12):
        write(folder, i)
    events += [lambda: None]
    run("watch", folder, "-r", 2, "-o", tmp_path / "live", "--stop-after", 12)
    assert len(amounts(tmp_path / "live")) == 12
    assert events == []
