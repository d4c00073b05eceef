"""A dataset says what it is in one line, and public names have examples."""

import numpy as np
import pytest

from ngmca import io
from ngmca.io import Dataset


def test_repr_is_one_short_line():
    data = Dataset(
        np.zeros((6, 500)), np.linspace(9, 1, 500), "chemical shift", "ppm", image_shape=(2, 3)
    )
    assert repr(data) == "Dataset: 6 x 500, chemical shift [ppm] from 9 to 1, an image of 2 x 3"
    assert repr(Dataset(np.zeros((2, 3)))) == "Dataset: 2 x 3, channel"


@pytest.mark.parametrize("name", io.__all__)
def test_public_names_have_examples(name):
    text = getattr(io, name).__doc__
    assert "Examples\n" in text
    assert "Parameters\n" in text or "Attributes\n" in text
