"""A dataset says what it is in one line, and its example is right."""

import doctest

import numpy as np

from ngmca.io import Dataset, dataset


def test_repr_is_one_short_line():
    data = Dataset(
        np.zeros((6, 500)), np.linspace(9, 1, 500), "chemical shift", "ppm", image_shape=(2, 3)
    )
    assert repr(data) == "Dataset: 6 x 500, chemical shift [ppm] from 9 to 1, an image of 2 x 3"
    assert repr(Dataset(np.zeros((2, 3)))) == "Dataset: 2 x 3, channel"


def test_the_example_of_a_dataset():
    tried = doctest.testmod(dataset)
    assert tried.attempted >= 1
    assert not tried.failed
