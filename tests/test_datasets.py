"""Sample files are what their formulas say, and their true answers are found."""

import sys
from pathlib import Path

import numpy as np
import pytest

import ngmca
from ngmca import datasets

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))


@pytest.mark.parametrize("name", datasets.NAMES)
def test_files_come_from_formulas(name):
    import sample_data

    assert datasets.path(name).read_text() == sample_data.table(name)


@pytest.mark.parametrize(("name", "shape"), [("reaction", (30, 141)), ("mixtures", (25, 241))])
def test_true_answers_fit(name, shape):
    sample = getattr(datasets, name)()
    assert sample.data.Y.shape == shape
    assert sample.A.shape[1] == len(sample.S) == len(sample.substances) == 3
    known = [ngmca.Baseline("splines")] if name == "mixtures" else []
    found = ngmca.separate(sample.data, 3, constraints=known)
    close = np.abs(np.corrcoef(sample.S, found.S)[:3, 3:])
    assert close.max(axis=1).min() > 0.98


def test_another_name_is_refused():
    with pytest.raises(ValueError, match="Choose one of mixtures, reaction"):
        datasets.path("meats")
