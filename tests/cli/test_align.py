"""`--align`: measurements are aligned before they are separated, and all files say so."""

import json
import shlex

import numpy as np
import pytest
from command_line import run

import ngmca
from ngmca import simulate
from ngmca.domains.shifts import Movable


@pytest.fixture(scope="module")
def shifted(tmp_path_factory):
    """A table of measurements whose lines moved, and by how much."""
    mixture = simulate.spectra(m=30, n=400, r=2, snr=30, seed=1)
    moves = np.random.default_rng(0).normal(0, 1.5, 30)
    moves -= np.median(moves)
    clean = mixture.A @ mixture.S
    Y = Movable.of(clean).moved(moves) + mixture.Y - clean
    path = tmp_path_factory.mktemp("shifted") / "raman.csv"
    axis = np.linspace(200, 1000, 400)
    ngmca.io.write_table(path, [("Raman shift [cm-1]", axis), *((f"s{i}", y) for i, y in enumerate(Y))])
    return path, moves


@pytest.mark.draws
def test_every_file_of_an_aligned_result_has_the_shifts(shifted, tmp_path):
    table, moves = shifted
    out = tmp_path / "out"
    told = run("separate", table, "-r", "2", "--align", "-o", out, "--json").stdout
    facts = json.loads(told)
    assert np.abs(np.array(facts["shifts"]) - moves).max() < 0.1
    assert facts["verdict"]["colour"] == "green"
    columns = (out / "mixing.csv").read_text().splitlines()[0]
    assert "shift (channels)" in columns
    separation, data = ngmca.load(out, with_data=True)
    assert data.meta["shifts"] == facts["shifts"]
    assert separation.S.shape[1] == facts["channels"] < 400
    page = (out / "report.html").read_text()
    assert "were moved along the axis" in page
    assert "--align</span> did this" in page
    run("posterior", out, "--samples", "20")  # reads the data again, and aligns them in the same way
    assert "source 1 lower 90 %" in (out / "mixing.csv").read_text().splitlines()[0]
    again = tmp_path / "again"
    run("separate", "--config", out / "run.toml", "--no-align", "-o", again)
    assert "shift (channels)" not in (again / "mixing.csv").read_text()


@pytest.mark.tries
def test_the_next_step_can_be_copied(shifted, tmp_path):
    out = tmp_path / "out"
    facts = json.loads(run("separate", shifted[0], "-r", "2", "-o", out, "--json").stdout)
    command = shlex.split(facts["verdict"]["command"])
    assert facts["verdict"]["colour"] != "green"
    assert "--align" in command
    better = json.loads(run(*command[1:], "--json").stdout)
    assert better["verdict"]["colour"] == "green"


def test_a_number_of_sources_is_needed(shifted, tmp_path):
    found = run("separate", shifted[0], "-r", "auto", "--align", "-o", tmp_path / "out", code=2)
    assert "--align cannot be combined with -r auto" in found.stderr
    assert "Give a number of sources." in found.stderr
