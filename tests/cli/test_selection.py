"""Parts of the axis and measurements that are left out, and the file that says how far a run is."""

import json

import numpy as np
import pytest
from command_line import run

import ngmca
from ngmca.settings import Settings


def test_parts_of_the_axis_and_measurements_are_left_out(table):
    whole = ngmca.io.read(table)
    part = Settings(
        (str(table),), leave_out="2:3, 6.5:6", range="1.5:8", leave_rows="tube 3,1,11-12"
    ).read()
    axis = whole.positions
    keep = (axis >= 1.5) & (axis <= 8) & ~((axis >= 2) & (axis <= 3)) & ~((axis >= 6) & (axis <= 6.5))
    rows = [1, 2, 4, 5, 6, 7, 8, 9]
    assert (whole.Y[np.ix_(rows, keep)] == part.Y).all()
    assert (part.axis == axis[keep]).all()
    assert part.row_names == tuple(f"tube {i}" for i in rows)


def test_measurements_without_names_keep_their_numbers(tmp_path):
    np.save(tmp_path / "Y.npy", np.arange(12.0).reshape(4, 3))
    part = Settings((str(tmp_path / "Y.npy"),), leave_rows="2").read()
    assert part.names == ("1", "3", "4")


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--leave-out", "20:30", "--leave-out 20:30 has no channel: the axis goes from 1 to 9"),
        ("--leave-out", "0:10", "leaves no channel"),
        ("--leave-out", "3", "--leave-out 3 is not a range"),
        ("--leave-rows", "13", "--leave-rows 13: there is no such measurement"),
        ("--leave-rows", "1-12", "leaves no measurement"),
        ("--leave-rows", "tube", "there is no such measurement"),
    ],
)
def test_what_cannot_be_left_out_is_told(tmp_path, table, option, value, words):
    assert words in run("separate", table, "-r", 2, "-o", tmp_path / "x", option, value, code=2).stderr


def test_pixels_are_not_left_out(tmp_path):
    np.save(tmp_path / "cube.npy", np.random.default_rng(0).random((4, 5, 60)))
    with pytest.raises(ngmca.io.ReadError, match="pixels of an image"):
        Settings((str(tmp_path / "cube.npy"),), axes="y,x,channel", leave_rows="1").read()


def test_a_file_says_how_far_a_run_is(tmp_path, table, monkeypatch):
    monkeypatch.setattr("ngmca.cli.progress_file.SECONDS", 0.0)
    path = tmp_path / "progress.json"
    run(
        "separate",
        table,
        "-r",
        3,
        "-o",
        tmp_path / "o",
        "--iterations",
        9,
        "--n-init",
        2,
        "--progress",
        path,
    )
    told = json.loads(path.read_text())
    assert told["stage"] == "drawing the report"
    assert told["other_iterations"] > 0
    assert told["starts"] == 2
    assert told["iteration"] <= told["iterations"]
    assert np.shape(told["sources"]) == (3, 300)
    assert told["axis"] == pytest.approx(ngmca.io.read(table).positions)
    assert 0 < told["residual"] < 1
    assert not list(tmp_path.glob("*.part"))


def test_a_progress_file_that_cannot_be_written_stops_nothing(tmp_path, table):
    run(
        "separate",
        table,
        "-r",
        2,
        "-o",
        tmp_path / "o",
        "--iterations",
        5,
        "--progress",
        "/no/such/file",
    )
    assert (tmp_path / "o" / "result.nc").exists()
