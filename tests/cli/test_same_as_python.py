"""The command and Python give the same default answer, to the bit, for real files of other packages."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import real_data
from command_line import run

import ngmca

FILES = {
    "digits": ("sklearn", "datasets/data/digits.csv.gz"),  # images of digits
    "wine": ("sklearn", "datasets/data/wine_data.csv"),  # chemical analyses
    "cells": ("sklearn", "datasets/data/breast_cancer.csv"),
    "diabetes": ("sklearn", "datasets/data/diabetes_data_raw.csv.gz"),
    "heights": ("matplotlib", "mpl-data/sample_data/jacksboro_fault_dem.npz"),  # a terrain
}

# Their columns are different quantities without names: the reader asks which of them are data.
UNNAMED = ("wine", "breast", "diabetes")


def path_of(name):
    package, inside = FILES[name]
    return Path(find_spec(package).origin).parent / inside


def check_same(data, out, *options, **words):
    """One start where it takes long: the small files show that as many are made."""
    if "n_init" in words:
        options = (*options, "--n-init", words["n_init"])
    axis = "none" if data.name.startswith(UNNAMED) else None
    options = (*options, "--axis", axis) if axis else options
    run("separate", data, "-r", 3, "-o", out, *options)
    found, expected = ngmca.load(out), ngmca.separate(ngmca.io.read(data, axis=axis), 3, **words)
    for name in ("A", "S", "noise", "lam"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert (found.n_iter, found.stopped, found.domain) == (
        expected.n_iter,
        expected.stopped,
        expected.domain,
    )
    assert len(found.restarts) == len(expected.restarts)
    return found, expected


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.starts] if name == "wine" else []) for name in FILES],
)
def test_the_answer_is_the_same(tmp_path, name):
    found, _ = check_same(
        path_of(name), tmp_path / "out", **({"n_init": 1} if name == "heights" else {})
    )
    assert np.isfinite(found.S).all()
    assert (found.S > 0).any()
    if name == "wine":
        assert len(found.restarts) >= 5  # as many as users get


@pytest.mark.filterwarnings("ignore::UserWarning")  # such data are not what the sampler is for
def test_error_bars_are_the_same(tmp_path):
    words = {"posterior": True, "n_init": 1}
    found, expected = check_same(path_of("wine"), tmp_path / "out", "--posterior", **words)
    for factor in ("A", "S"):
        mine, its = getattr(found.posterior, factor), getattr(expected.posterior, factor)
        np.testing.assert_array_equal(mine.mean, its.mean)
        np.testing.assert_array_equal(mine.interval(), its.interval())


def test_spectra_are_the_same(tmp_path):
    check_same(real_data.infrared(), tmp_path / "out", n_init=1)
