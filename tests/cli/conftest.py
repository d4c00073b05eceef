"""A small table of spectra, and a result."""

import numpy as np
import pytest
from command_line import run

import ngmca


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
