"""A small table of spectra, and a result; what takes long is done only in tests that look at it."""

import numpy as np
import pytest
from command_line import run

import ngmca


@pytest.fixture(autouse=True)
def _a_report_is_drawn_where_it_is_looked_at(request, monkeypatch):
    """Drawing takes longer than all the rest of a small run."""
    if not request.node.get_closest_marker("draws"):
        monkeypatch.setattr("ngmca.report.html", lambda run, show: "mark the test with draws")


@pytest.fixture(autouse=True)
def _other_settings_are_tried_where_it_is_looked_at(request, monkeypatch):
    """A next step is up to three more runs after each that has warnings."""
    if not request.node.get_closest_marker("tries"):
        monkeypatch.setattr("ngmca.cli.pipeline.next_step", lambda *given, **options: None)


@pytest.fixture(autouse=True)
def _all_starts_are_made_where_it_is_looked_at(request, monkeypatch):
    """Five starts are half of the time of a small run; two of them take the same way."""
    if not request.node.get_closest_marker("starts"):
        monkeypatch.setattr("ngmca.task.task.AUTOMATIC_STARTS", 2)


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
